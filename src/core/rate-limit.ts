import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from './errors.ts';
import type { SharedRedis } from './redis.ts';

export interface LimitState {
  limit: number;
  remaining: number;
  resetSeconds: number;
}

/** A number of calls per key within a window that starts with the key's first call. */
export interface Limiter {
  /** Counts one call. @throws AppError RATE_LIMITED when the budget of the window is used up. */
  count(key: string): Promise<LimitState>;
  /** Forgets the key's calls. */
  forget(key: string): Promise<void>;
}

/**
 * Counts in Redis where there is one that answers, else in this process. A call never waits on Redis
 * for longer than the client's command time-out, and not at all for a while after a failure.
 */
export function createLimiter(
  name: string,
  limit: number,
  windowSeconds: number,
  redis?: SharedRedis,
): Limiter {
  const options = { keyPrefix: `ams:limit:${name}`, points: limit, duration: windowSeconds };
  const local = new RateLimiterMemory(options);
  const shared =
    redis && new RateLimiterRedis({ ...options, storeClient: redis.client, useRedisPackage: false });

  async function consume(key: string): Promise<RateLimiterRes> {
    if (redis?.usable() && shared) {
      try {
        return await shared.consume(key);
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) throw refusal;
        redis.failed(); // Redis did not answer: the caller is counted here instead.
      }
    }
    return local.consume(key);
  }

  return {
    async count(key) {
      try {
        return stateOf(limit, await consume(key));
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        throw limited(limit, windowSeconds, stateOf(limit, refusal));
      }
    },
    async forget(key) {
      await local.delete(key);
      if (redis?.usable() && shared) await shared.delete(key).catch(() => redis.failed());
    },
  };
}

function stateOf(limit: number, result: RateLimiterRes): LimitState {
  return {
    limit,
    remaining: result.remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  };
}

function limited(limit: number, windowSeconds: number, state: LimitState): AppError {
  const window = windowSeconds === 60 ? 'a minute' : `in ${windowSeconds / 60} minutes`;
  const message = `Too many requests: at most ${limit} ${window}. Try again in ${state.resetSeconds} s.`;
  return new AppError('RATE_LIMITED', message, {
    details: { ...state },
    retryAfterSeconds: state.resetSeconds,
  });
}
