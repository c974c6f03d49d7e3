import { Redis } from 'ioredis';
import type { Log } from '../log.ts';

const REDIS_TIMEOUT_MS = 200;
const PAUSE_AFTER_FAILURE_MS = 2_000;

/** A Redis that may go away: after a failure it is left alone for a while, so that nobody waits on it. */
export interface SharedRedis {
  readonly client: Redis;
  /** Whether it is worth asking now. */
  usable(): boolean;
  /** To be told of each failed command. */
  failed(): void;
  ping(): Promise<boolean>;
  close(): void;
}

export function openRedis(url: string, log: Pick<Log, 'info' | 'warn'>): SharedRedis {
  const client = new Redis(url, {
    enableOfflineQueue: false, // while it is down, commands fail at once instead of piling up
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  });
  let pausedUntil = 0;
  let reachable = true;
  client.on('error', () => {
    // Each lost connection and each failed attempt to reconnect comes here; one line a change is enough.
    if (reachable) log.warn('Redis cannot be reached; rate limits are counted by each instance alone.');
    reachable = false;
  });
  client.on('ready', () => {
    if (!reachable) log.info('Redis is back; rate limits are shared again.');
    reachable = true;
  });

  return {
    client,
    usable: () => client.status === 'ready' && Date.now() >= pausedUntil,
    failed: () => {
      pausedUntil = Date.now() + PAUSE_AFTER_FAILURE_MS;
    },
    async ping() {
      if (client.status !== 'ready') return false;
      try {
        return (await inTime(client.ping())) === 'PONG';
      } catch {
        return false; // The answer to "is it there?" is no; why does not matter here.
      }
    },
    close: () => client.disconnect(),
  };
}

/**
 * The answer of Redis, if it comes within 200 ms. After a while in which this process was busy, Node runs timers
 * before it reads what has arrived meanwhile; one turn later says whether Redis was late or only we were.
 */
export function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error('Redis did not answer in time.')));
    }, REDIS_TIMEOUT_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
