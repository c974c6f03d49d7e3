import { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import type { TimeLimits } from '../time-limits.ts';

const PAUSE_AFTER_FAILURE_MS = 2_000;

/** A Redis connection. After a failure, Redis is not used for a while, so that no request waits for it. */
export interface SharedRedis {
  readonly client: Redis;
  /** False while Redis is not connected, and for 2 s after a failed command. */
  isUsable(): boolean;
  /** Must be called after each failed command. */
  pauseAfterFailure(): void;
  /** Waits at most `redisMs` for the answer of a command. See `withRedisTimeout`. */
  inTime<T>(answer: Promise<T>): Promise<T>;
  ping(): Promise<boolean>;
  close(): void;
}

export function openRedis(
  url: string,
  { redisMs }: Pick<TimeLimits, 'redisMs'>,
  log: Pick<Log, 'info' | 'warn'>,
): SharedRedis {
  const client = new Redis(url, {
    enableOfflineQueue: false, // while Redis is down, commands fail at once instead of waiting
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  });
  let pausedUntil = 0;
  let isReachable = true;
  client.on('error', () => {
    // ioredis reports each failed attempt to reconnect. Log only changes.
    if (isReachable)
      log.warn('Redis cannot be reached. Until it is back, each instance counts rate limits alone.');
    isReachable = false;
  });
  client.on('ready', () => {
    if (!isReachable) log.info('Redis is back. Instances share rate limits again.');
    isReachable = true;
  });

  return {
    client,
    isUsable: () => client.status === 'ready' && Date.now() >= pausedUntil,
    pauseAfterFailure: () => {
      pausedUntil = Date.now() + PAUSE_AFTER_FAILURE_MS;
    },
    inTime: (answer) => withRedisTimeout(answer, redisMs),
    async ping() {
      if (client.status !== 'ready') return false;
      try {
        return (await withRedisTimeout(client.ping(), redisMs)) === 'PONG';
      } catch {
        return false; // The health check needs no reason.
      }
    },
    close: () => client.disconnect(),
  };
}

/**
 * Waits at most `timeoutMs` for Redis. If this process was busy, Node runs timers before it reads answers that have already arrived.
 * So the time-out waits one more turn of the event loop.
 */
export function withRedisTimeout<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error('Redis did not answer in time.')));
    }, timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
