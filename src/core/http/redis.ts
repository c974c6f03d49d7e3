import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Log } from '../log.ts';
import type { TimeLimits } from '../time-limits.ts';

const PAUSE_AFTER_FAILURE_MS = 2_000;
/**
 * A Redis that has refused a command is reported for this time, because other commands can succeed: a node of a cluster refuses
 * only the keys of other nodes.
 */
const REFUSAL_REPORTED_MS = 60_000;

/** `refuses commands`: Redis answers, but refuses commands of the rate limits. */
export type RedisState = 'up' | 'refuses commands' | 'down';

/** A Redis connection. After a failure, Redis is not used for a while, so that no request waits for it. */
export interface SharedRedis {
  readonly client: Redis;
  /** False while Redis is not connected, and for 2 s after a failed command. */
  isUsable(): boolean;
  /** Must be called with the error of each failed command. */
  reportFailure(error: unknown): void;
  /** Waits at most `redisMs` for the answer of a command. See `withRedisTimeout`. */
  inTime<T>(answer: Promise<T>): Promise<T>;
  /** Tries the commands of the rate limits. */
  state(): Promise<RedisState>;
  close(): void;
}

export function openRedis(
  url: string,
  { redisConnectMs, redisMs }: Pick<TimeLimits, 'redisConnectMs' | 'redisMs'>,
  log: Pick<Log, 'info' | 'warn'>,
): SharedRedis {
  const client = new Redis(url, {
    enableOfflineQueue: false, // while Redis is down, commands fail at once instead of waiting
    connectTimeout: redisConnectMs,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  });
  const trial = new RateLimiterRedis({
    keyPrefix: 'ams:limit:health',
    points: Number.MAX_SAFE_INTEGER,
    duration: 60,
    storeClient: client,
    useRedisPackage: false,
  });
  let pausedUntil = 0;
  /** Why Redis could not be reached. ioredis reports each failed attempt to reconnect, and each reason is logged once. */
  const reasons = new Set<string>();
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  const isRefusing = () => performance.now() - refusedAtMs < REFUSAL_REPORTED_MS;

  client.on('error', (error) => {
    const reason = reasonOf(error);
    if (!reasons.has(reason))
      log.warn(
        { reason },
        'Redis cannot be reached. Until it is back, each instance counts rate limits alone.',
      );
    reasons.add(reason);
  });
  client.on('ready', () => {
    if (reasons.size > 0) log.info('Redis is back. Instances share rate limits again.');
    reasons.clear();
  });

  function noteRefusal(error: unknown): void {
    if (!isRefusal(error)) return;
    if (!isRefusing())
      log.warn(
        { reason: reasonOf(error) },
        'Redis refuses a command, so each instance counts rate limits alone. docs/operations.md lists the rights that the service needs.',
      );
    refusedAtMs = performance.now();
  }

  async function tryCommands(): Promise<void> {
    await trial.consume('trial');
    await trial.get('trial');
    await trial.delete('trial');
  }

  return {
    client,
    isUsable: () => client.status === 'ready' && Date.now() >= pausedUntil,
    reportFailure(error) {
      noteRefusal(error);
      pausedUntil = Date.now() + PAUSE_AFTER_FAILURE_MS;
    },
    inTime: (answer) => withRedisTimeout(answer, redisMs),
    async state() {
      if (client.status !== 'ready') return 'down';
      try {
        await withRedisTimeout(tryCommands(), redisMs);
        return isRefusing() ? 'refuses commands' : 'up';
      } catch (error) {
        noteRefusal(error);
        return isRefusal(error) ? 'refuses commands' : 'down';
      }
    },
    close: () => client.disconnect(),
  };
}

/** Whether Redis itself sent the error. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** The words of Redis, of TLS or of the network. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If a command of a transaction was refused, Redis then refuses the whole transaction without a reason.
  const [first] = (error as { previousErrors?: Error[] }).previousErrors ?? [];
  // A connection to a host with several addresses fails with a code, and without a message.
  return first?.message || error.message || String((error as NodeJS.ErrnoException).code);
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
