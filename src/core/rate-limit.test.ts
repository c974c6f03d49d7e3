import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppError } from './errors.ts';
import { createLimiter } from './rate-limit.ts';
import type { SharedRedis } from './redis.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error(`It was not refused: ${String(error)}`);
  return error;
}

describe('a limiter without Redis', () => {
  it('counts down to nothing and then refuses, saying when to come back', async () => {
    const limiter = createLimiter('test', 2, 60);
    expect(await limiter.count('a')).toEqual({ limit: 2, remaining: 1, resetSeconds: 60 });
    vi.advanceTimersByTime(20_500);
    expect(await limiter.count('a')).toEqual({ limit: 2, remaining: 0, resetSeconds: 40 });
    expect(await refusal(limiter.count('a'))).toMatchObject({
      code: 'RATE_LIMITED',
      status: 429,
      retryAfterSeconds: 40,
      message: 'Too many requests: at most 2 a minute. Try again in 40 s.',
    });
  });

  it('starts the window with the first call, and anew when it has passed', async () => {
    const limiter = createLimiter('test', 1, 60);
    vi.advanceTimersByTime(30_000);
    await limiter.count('a');
    vi.advanceTimersByTime(59_000);
    await refusal(limiter.count('a'));
    vi.advanceTimersByTime(1_001);
    expect(await limiter.count('a')).toMatchObject({ remaining: 0 });
  });

  it('counts every key for itself, and forgets one when told', async () => {
    const limiter = createLimiter('test', 1, 900);
    await limiter.count('a');
    await limiter.count('b');
    expect((await refusal(limiter.count('a'))).message).toContain('at most 1 in 15 minutes');
    await limiter.forget('a');
    await limiter.count('a');
    await refusal(limiter.count('b'));
  });
});

describe('a limiter whose Redis fails', () => {
  function brokenRedis(): { redis: SharedRedis; failures: () => number } {
    let failures = 0;
    const refuse = () => Promise.reject(new Error('Command timed out'));
    const client = {
      status: 'ready',
      defineCommand: () => {},
      rlflxIncr: refuse,
      multi: refuse,
      del: refuse,
    };
    const redis = {
      client: client as unknown as SharedRedis['client'],
      usable: () => failures === 0,
      failed: () => {
        failures += 1;
      },
      ping: async () => false,
      close: () => {},
    };
    return { redis, failures: () => failures };
  }

  it('counts in the process instead, and asks Redis once', async () => {
    const { redis, failures } = brokenRedis();
    const limiter = createLimiter('test', 2, 60, redis);
    expect(await limiter.count('a')).toMatchObject({ remaining: 1 });
    expect(await limiter.count('a')).toMatchObject({ remaining: 0 });
    expect(await refusal(limiter.count('a'))).toMatchObject({ code: 'RATE_LIMITED' });
    expect(failures()).toBe(1);
  });
});
