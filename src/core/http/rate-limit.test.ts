import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { clientKey } from './addresses.ts';
import { createLimiter } from './rate-limit.ts';
import type { SharedRedis } from './redis.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a limiter without Redis', () => {
  it('counts down to 0, then refuses calls and returns the time to wait', async () => {
    const limiter = createLimiter('test', 2, 60);
    expect(await limiter.count('a')).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, isExceeded: false });
    vi.advanceTimersByTime(20_500);
    expect(await limiter.count('a')).toEqual({ limit: 2, remaining: 0, resetSeconds: 40, isExceeded: false });
    expect(await limiter.count('a')).toEqual({ limit: 2, remaining: 0, resetSeconds: 40, isExceeded: true });
  });

  it('starts a window with the first call, and a new window after its end', async () => {
    const limiter = createLimiter('test', 1, 60);
    vi.advanceTimersByTime(30_000);
    await limiter.count('a');
    vi.advanceTimersByTime(59_000);
    expect(await limiter.count('a')).toMatchObject({ isExceeded: true });
    vi.advanceTimersByTime(1_001);
    expect(await limiter.count('a')).toMatchObject({ remaining: 0, isExceeded: false });
  });

  it('counts each key separately, and can forget the calls of one key', async () => {
    const limiter = createLimiter('test', 1, 900);
    await limiter.count('a');
    await limiter.count('b');
    await limiter.forget('a');
    expect(await limiter.count('a')).toMatchObject({ isExceeded: false });
    expect(await limiter.count('b')).toMatchObject({ isExceeded: true });
  });

  it('checks without counting, and refuses once the budget is used up', async () => {
    const limiter = createLimiter('test', 1, 900);
    await limiter.check('a');
    await limiter.check('a');
    await limiter.count('a');
    await expect(limiter.check('a')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      status: 429,
      retryAfterSeconds: 900,
      message: 'Too many requests: at most 1 in 15 minutes. Try again in 900 s.',
      details: { limit: 1, remaining: 0, resetSeconds: 900 },
    });
    await limiter.check('b');
  });
});

describe('a limiter whose Redis fails', () => {
  function brokenRedis(): { redis: SharedRedis; failures: () => number } {
    let failures = 0;
    const refuse = () => Promise.reject(new Error('Command timed out'));
    // Only the methods of ioredis that the limiter calls.
    const client = {
      status: 'ready',
      defineCommand: () => {},
      rlflxIncr: refuse,
      multi: refuse,
      del: refuse,
    };
    const redis = {
      client: client as unknown as SharedRedis['client'],
      isUsable: () => failures === 0,
      reportFailure: () => {
        failures += 1;
      },
      inTime: <T>(answer: Promise<T>) => answer,
      state: async () => 'down' as const,
      close: () => {},
    };
    return { redis, failures: () => failures };
  }

  it('counts in the process, and asks Redis only once', async () => {
    const { redis, failures } = brokenRedis();
    const limiter = createLimiter('test', 2, 60, redis);
    expect(await limiter.count('a')).toMatchObject({ remaining: 1 });
    expect(await limiter.count('a')).toMatchObject({ remaining: 0 });
    expect(await limiter.count('a')).toMatchObject({ isExceeded: true });
    expect(failures()).toBe(1);
  });
});

describe('the rate limit key', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['192.0.2.1:49152', '192.0.2.1'],
    ['[2001:db8:1:2::1]:49152', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
    ['[::ffff:192.0.2.1]:49152', '192.0.2.1'],
    ['unknown', 'unknown'],
    ['unknown:49152', 'unknown:49152'],
  ])('of the address %s is %s', (address, key) => {
    expect(clientKey(address)).toBe(key);
  });
});
