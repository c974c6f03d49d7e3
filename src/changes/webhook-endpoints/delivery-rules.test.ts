import { describe, expect, it } from 'vitest';
import {
  healthAfter,
  isDelivered,
  MAX_FAILING_MS,
  MAX_IN_FLIGHT,
  nextAttemptAt,
  orderKeyOf,
  reasonToDisable,
  slotsOf,
} from './delivery-rules.ts';

const START = new Date('2026-11-02T08:00:00Z');
const secondsLater = (seconds: number) => new Date(START.getTime() + seconds * 1000);
const healthy = { failuresInARow: 0, failingSince: null, pausedUntil: null };
const failed = { status: 500, retryAfterSeconds: null };
const delivered = { status: 204, retryAfterSeconds: null };

describe('an answer', () => {
  it.each([
    [200, true],
    [204, true],
    [299, true],
    [199, false],
    [301, false],
    [410, false],
    [500, false],
    [null, false],
  ])('with the status %s means that the event was delivered: %s', (status, expected) => {
    expect(isDelivered({ status })).toBe(expected);
  });
});

describe('an event that fails', () => {
  it('is tried again after 5 s, 30 s, 2 min, 10 min, 1 h, 3 h and every 8 h, the last time after three days', () => {
    let now = START;
    const delays: number[] = [];
    for (let attempts = 1; ; attempts++) {
      const next = nextAttemptAt(attempts, START, failed, now, 0.5);
      if (!next) break;
      delays.push((next.getTime() - now.getTime()) / 1000);
      now = next;
    }
    expect(delays.slice(0, 6)).toEqual([5, 30, 120, 600, 3600, 10_800]);
    expect(delays.slice(6, -1)).toEqual(Array(8).fill(8 * 3600));
    expect(now.getTime() - START.getTime()).toBe(MAX_FAILING_MS);
  });

  it('waits up to a tenth less or more than the delay', () => {
    const delay = (random: number) =>
      (nextAttemptAt(2, START, failed, START, random)?.getTime() ?? 0) - START.getTime();
    expect([delay(0), delay(0.5), delay(1)]).toEqual([27_000, 30_000, 33_000]);
  });
});

describe('an answer with Retry-After', () => {
  const asked = (status: number, retryAfterSeconds: number) => ({ status, retryAfterSeconds });

  it.each([
    [asked(503, 60), 60],
    [asked(429, 60), 60],
    [asked(429, 1), 5],
    [asked(429, 86_400), 3_600],
    [asked(500, 60), 5],
  ])('%j: the event is sent again after %i s', (answer, seconds) => {
    expect(nextAttemptAt(1, START, answer, START, 0.5)).toEqual(secondsLater(seconds));
  });

  it('pauses the endpoint for that time, whatever the outcome of requests that were already running', () => {
    const first = healthAfter(healthy, [asked(429, 60), delivered], START);
    expect(first.pausedUntil).toBe(secondsLater(60).toISOString());
    expect(slotsOf(first, secondsLater(59))).toBe(0);
    const second = healthAfter(first, [delivered], secondsLater(1));
    expect(second.pausedUntil).toBe(secondsLater(60).toISOString());
    expect(healthAfter(second, [delivered], secondsLater(60))).toEqual(healthy);
  });
});

describe('the health of an endpoint', () => {
  it('keeps the time of the first failure since the latest success', () => {
    const first = healthAfter(healthy, [failed], START);
    expect(first).toEqual({ failuresInARow: 1, failingSince: START.toISOString(), pausedUntil: null });
    const second = healthAfter(first, [failed], secondsLater(60));
    expect(second).toMatchObject({ failuresInARow: 2, failingSince: START.toISOString() });
    expect(healthAfter(second, [failed, delivered], secondsLater(90))).toEqual(healthy);
    expect(healthAfter(second, [delivered, failed], secondsLater(90))).toMatchObject({
      failuresInARow: 1,
      failingSince: secondsLater(90).toISOString(),
    });
    expect(healthAfter(second, [], secondsLater(90))).toEqual(second);
  });

  it('pauses it after five failures, for half the time since the first failure, from 5 s to 10 min', () => {
    const pause = (seconds: number) => {
      const health = { failuresInARow: 4, failingSince: START.toISOString(), pausedUntil: null };
      const { pausedUntil } = healthAfter(health, [failed], secondsLater(seconds));
      return (new Date(pausedUntil ?? 0).getTime() - secondsLater(seconds).getTime()) / 1000;
    };
    expect([pause(0), pause(60), pause(86_400)]).toEqual([5, 30, 600]);
  });

  it('allows many requests, none in a pause, and one after it', () => {
    const paused = healthAfter(healthy, Array(5).fill(failed), START);
    expect(slotsOf(healthy, START)).toBe(MAX_IN_FLIGHT);
    expect(slotsOf(paused, secondsLater(4))).toBe(0);
    expect(slotsOf(paused, secondsLater(5))).toBe(1);
  });

  it('disables it after three days of failures, and at once for the answer 410', () => {
    const failing = healthAfter(healthy, [failed], START);
    expect(reasonToDisable(failing, [failed], secondsLater(3 * 86_400 - 1))).toBeUndefined();
    expect(reasonToDisable(failing, [failed], secondsLater(3 * 86_400))).toBe('failing');
    expect(reasonToDisable(failing, [failed, { status: 410, retryAfterSeconds: null }], START)).toBe('gone');
    expect(reasonToDisable(healthy, [delivered], START)).toBeUndefined();
  });
});

describe('the key of the order', () => {
  it('is the account, or else the resource', () => {
    expect(orderKeyOf({ accountId: 5, resource: 'payment', resourceId: 7 })).toBe('account 5');
    expect(orderKeyOf({ accountId: null, resource: 'customer', resourceId: 7 })).toBe('customer 7');
  });
});
