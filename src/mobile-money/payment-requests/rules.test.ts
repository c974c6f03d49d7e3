import { describe, expect, it } from 'vitest';
import type { PaymentRequestStatus } from '../../core/database/tables.ts';
import { END_REASONS, END_STATUS, exceededLimit, mayMove, nextQueryAt, nextSendAt } from './rules.ts';

/** Does not use the table of the rules, so that an accidental change of that table fails the tests. */
const MOVES: Readonly<Record<PaymentRequestStatus, readonly PaymentRequestStatus[]>> = {
  requested: ['sent', 'unknown', 'paid', 'declined', 'expired'],
  sent: ['unknown', 'paid', 'declined', 'expired'],
  unknown: ['paid', 'declined', 'expired'],
  declined: ['paid'],
  expired: ['paid'],
  paid: [],
};
const STATUSES = Object.keys(MOVES) as PaymentRequestStatus[];
const NOW = new Date('2026-11-02T09:00:00Z');
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000).toISOString();
const secondsUntil = (at: Date | null) => at && (at.getTime() - NOW.getTime()) / 1_000;

describe('the status of a payment request', () => {
  it.each(STATUSES)('changes from %s only to the statuses of the model', (from) => {
    expect(STATUSES.filter((to) => mayMove(from, to))).toEqual(
      STATUSES.filter((to) => MOVES[from].includes(to)),
    );
  });

  it('does not change after a payment, and after an end without a payment only to paid', () => {
    expect(STATUSES.filter((to) => mayMove('paid', to))).toEqual([]);
    for (const ended of new Set(END_REASONS.map((reason) => END_STATUS[reason])))
      expect(STATUSES.filter((to) => mayMove(ended, to))).toEqual(['paid']);
  });
});

describe('a request that was certainly not sent', () => {
  it.each([
    [0, 2],
    [1, 2],
    [2, 4],
    [3, 8],
    [4, 15],
    [9, 15],
  ])('is sent again after %i attempts in %i s', (attempts, seconds) => {
    const row = { created_at: ago(10), send_attempts: attempts };
    expect(secondsUntil(nextSendAt(row, NOW))).toBe(seconds);
  });

  it('is not sent later than two minutes after it was made', () => {
    expect(secondsUntil(nextSendAt({ created_at: ago(118), send_attempts: 1 }, NOW))).toBe(2);
    expect(nextSendAt({ created_at: ago(119), send_attempts: 1 }, NOW)).toBeNull();
  });
});

describe('the outcome of a request', () => {
  const WEEK = 7 * 86_400;
  const sent = (query_attempts: number, seconds = 10) => ({
    provider_request_id: 'ws_CO_1',
    query_attempts,
    send_started_at: ago(seconds),
  });

  it.each([
    [0, 30],
    [1, 30],
    [2, 60],
    [3, 120],
    [4, 300],
    [5, 600],
    [6, 1_800],
    [7, 3_600],
    [20, 3_600],
  ])('is asked for after %i calls in %i s', (attempts, seconds) => {
    expect(secondsUntil(nextQueryAt(sent(attempts), NOW))).toBe(seconds);
  });

  it('is asked for within a week, and only if the provider’s id of a sent request is known', () => {
    expect(nextQueryAt(sent(0, WEEK), NOW)).not.toBeNull();
    expect(nextQueryAt(sent(0, WEEK + 1), NOW)).toBeNull();
    expect(nextQueryAt({ ...sent(0), provider_request_id: null }, NOW)).toBeNull();
    expect(nextQueryAt({ ...sent(0), send_started_at: null }, NOW)).toBeNull();
  });
});

describe('the limits of a phone', () => {
  const LIMITS = { intervalSeconds: 60, sameAmountSeconds: 120, perDay: 3 };
  const earlier = (...requests: [secondsAgo: number, amount: number][]) =>
    requests.map(([seconds, amount], id) => ({ id, amount_minor: amount, created_at: ago(seconds) }));
  const limitOf = (...requests: [number, number][]) => exceededLimit(earlier(...requests), 400n, LIMITS, NOW);

  it.each<[string, [number, number][], number | undefined]>([
    ['no earlier request', [], undefined],
    ['one of another amount a minute ago', [[60, 300]], undefined],
    ['one of another amount less than a minute ago', [[59, 300]], 1],
    ['one of the same amount two minutes ago', [[120, 400]], undefined],
    ['one of the same amount less than two minutes ago', [[119, 400]], 1],
    [
      'one less than the limit of a day',
      [
        [200, 1],
        [300, 2],
      ],
      undefined,
    ],
    [
      'as many as the limit of a day',
      [
        [200, 1],
        [300, 2],
        [86_000, 3],
      ],
      400,
    ],
  ])('after %s', (_earlier, requests, resetSeconds) => {
    expect(limitOf(...requests)?.resetSeconds).toBe(resetSeconds);
  });
});
