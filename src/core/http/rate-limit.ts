import { setImmediate as afterThisTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import type { Config } from '../context.ts';
import { AppError } from './errors.ts';
import type { SharedRedis } from './redis.ts';

const WINDOW_SECONDS = 60;
/** The maximum number of failed sign-ins for one e-mail address. */
export const GUESSES = { limit: 10, windowSeconds: 15 * 60 } as const;

/** A budget is the number of calls per minute of one caller, from the setting RATE_LIMIT_… with the same name. */
type Budget = 'api_key' | 'auth' | 'browser' | 'bulk' | 'general' | 'pages' | 'webhook';
/** `session`: the route counts the calls itself, by session. `none`: nothing counts the calls. */
export type RateClass = Budget | 'session' | 'none';
export type Limiters = Record<RateClass, Limiter | undefined>;

interface LimitState {
  limit: number;
  remaining: number;
  resetSeconds: number;
  /** Whether the budget of the window was used up before this call. */
  isExceeded: boolean;
}

/** Limits the calls of each key in a window of time, which starts with the key's first call. */
export interface Limiter {
  /** Counts one call and returns the new state. */
  count(key: string): Promise<LimitState>;
  /** Checks without counting a call. @throws AppError RATE_LIMITED if the budget of the window is used up. */
  check(key: string): Promise<void>;
  /** Forgets the key's calls. */
  forget(key: string): Promise<void>;
}

/** The calls of one key in one turn of the event loop. One Redis command counts them all. */
interface Turn {
  calls: number;
  /** Resolves when the calls are counted, after the turn. */
  counted: Promise<RateLimiterRes>;
}

/**
 * Counts in Redis if Redis is configured and answers, otherwise in this process. A call waits for Redis only until the time-out of
 * `SharedRedis.inTime`. For a while after a failure, calls do not use Redis.
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

  /** Asks Redis, or this process if Redis does not answer. A thrown `RateLimiterRes` is an answer: the limit is exceeded. */
  async function ask<T>(question: (limiter: RateLimiterAbstract) => Promise<T>): Promise<T> {
    if (redis?.isUsable() && shared) {
      try {
        return await redis.inTime(question(shared));
      } catch (error) {
        if (error instanceof RateLimiterRes) throw error;
        redis.reportFailure(error);
      }
    }
    return question(local);
  }

  async function consume(key: string, calls: number): Promise<RateLimiterRes> {
    try {
      return await ask((limiter) => limiter.consume(key, calls));
    } catch (error) {
      if (error instanceof RateLimiterRes) return error;
      throw error;
    }
  }

  const turns = new Map<string, Turn>();

  function nextTurn(key: string): Turn {
    const turn: Turn = {
      calls: 0,
      counted: afterThisTurn().then(() => {
        turns.delete(key);
        return consume(key, turn.calls);
      }),
    };
    turns.set(key, turn);
    return turn;
  }

  return {
    async count(key) {
      const turn = turns.get(key) ?? nextTurn(key);
      turn.calls += 1;
      const callsUntilThis = turn.calls;
      const { consumedPoints, msBeforeNext } = await turn.counted;
      return stateOf(limit, consumedPoints - (turn.calls - callsUntilThis), msBeforeNext);
    },
    async check(key) {
      const state = await ask((limiter) => limiter.get(key));
      if (state && state.consumedPoints >= limit) {
        throw limited(stateOf(limit, state.consumedPoints, state.msBeforeNext), windowSeconds);
      }
    },
    async forget(key) {
      await local.delete(key);
      await ask((limiter) => limiter.delete(key));
    },
  };
}

/** @param config - the calls per minute. 0 means no limit. */
export function createLimiters(
  config: Pick<Config, `RATE_LIMIT_${Uppercase<Budget>}`>,
  redis: SharedRedis | undefined,
): Limiters {
  const limiter = (name: RateClass, perMinute: number) =>
    perMinute === 0 ? undefined : createLimiter(name, perMinute, WINDOW_SECONDS, redis);
  return {
    api_key: limiter('api_key', config.RATE_LIMIT_API_KEY),
    auth: limiter('auth', config.RATE_LIMIT_AUTH),
    browser: limiter('browser', config.RATE_LIMIT_BROWSER),
    bulk: limiter('bulk', config.RATE_LIMIT_BULK),
    general: limiter('general', config.RATE_LIMIT_GENERAL),
    pages: limiter('pages', config.RATE_LIMIT_PAGES),
    webhook: limiter('webhook', config.RATE_LIMIT_WEBHOOK),
    session: undefined,
    none: undefined,
  };
}

/** Sets the rate-limit headers of the answer. @throws AppError RATE_LIMITED if the budget was used up. */
export function announceLimit(reply: FastifyReply, rate: RateClass, state: LimitState): void {
  reply.header('ratelimit-policy', `"${rate}";q=${state.limit};w=${WINDOW_SECONDS}`);
  reply.header('ratelimit', `"${rate}";r=${state.remaining};t=${state.resetSeconds}`);
  if (state.isExceeded) throw limited(state, WINDOW_SECONDS);
}

function stateOf(limit: number, consumed: number, msBeforeNext: number): LimitState {
  return {
    limit,
    remaining: Math.max(0, limit - consumed),
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
    isExceeded: consumed > limit,
  };
}

export function limited({ limit, remaining, resetSeconds }: LimitState, windowSeconds: number): AppError {
  const window = windowSeconds === 60 ? 'a minute' : `in ${windowSeconds / 60} minutes`;
  const message = `Too many requests: at most ${limit} ${window}. Try again in ${resetSeconds} s.`;
  return new AppError('RATE_LIMITED', message, {
    details: { limit, remaining, resetSeconds },
    retryAfterSeconds: resetSeconds,
  });
}
