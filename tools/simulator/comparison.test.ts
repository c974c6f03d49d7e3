import { describe, expect, it } from 'vitest';
import { compare, type Growth, type Sent, type ShownPayment } from './comparison.ts';
import { createRandom, planTraffic } from './traffic.ts';

const sent = (transId: string, amountMinor: bigint, accountId: number | null, acknowledged = true): Sent => ({
  transaction: { transId, amountMinor, accountId, kind: 'account number', body: {} },
  isAcknowledged: acknowledged,
  isReturned: false,
});
const SENT = [sent('A', 10_050n, 1), sent('B', 500n, null), sent('C', 700n, 1, false)];
const SHOWN: ShownPayment[] = [
  { id: 1, transactionRef: 'A', amount: 100.5, status: 'matched', accountId: 1 },
  { id: 2, transactionRef: 'B', amount: 5, status: 'unmatched', accountId: null },
];
const GROWN: Growth[] = [
  { accountId: 1, accountNumber: 'ACC10000012', beforeMinor: 40n, afterMinor: 10_090n },
];
const [first, second] = SHOWN as [ShownPayment, ShownPayment];
const grownTo = (afterMinor: bigint) => GROWN.map((growth) => ({ ...growth, afterMinor }));

describe('compare', () => {
  it('finds no difference if all payments are as sent, and allows a payment or none for an unacknowledged transaction', () => {
    expect(compare(SENT, SHOWN, GROWN, 2).differences).toEqual([]);
    const arrived: ShownPayment = { ...first, id: 3, transactionRef: 'C', amount: 7 };
    expect(compare(SENT, [...SHOWN, arrived], grownTo(10_790n), 2).differences).toEqual([]);
  });

  it.each<[string, ShownPayment[], Growth[], RegExp]>([
    ['a payment that is missing', [first], GROWN, /^B: acknowledged, but there is no payment$/],
    ['a doubled payment', [first, { ...second, id: 3 }, second], GROWN, /^B: 2 payments$/],
    ['another amount', [first, { ...second, amount: 5.01 }], GROWN, /^B: sent 5\.00, shown 5\.01$/],
    [
      'a reversed payment',
      [{ ...first, status: 'reversed' }, second],
      GROWN,
      /^A: should be matched to account 1/,
    ],
    ['another account', [{ ...first, accountId: 2 }, second], GROWN, /^A: .*, is matched to account 2$/],
    [
      'an impossible match',
      [first, { ...second, status: 'matched', accountId: 1 }],
      GROWN,
      /^B: should be unmatched/,
    ],
    [
      'a payment that was never sent',
      [...SHOWN, { ...second, id: 9, transactionRef: 'D' }],
      GROWN,
      /^payment 9: D was never sent$/,
    ],
    [
      'a wrong balance',
      SHOWN,
      grownTo(10_091n),
      /^account ACC10000012: payments of 100\.50 were sent, but its paid amount grew by 100\.51$/,
    ],
  ])('reports %s', (_, shown, growth, reported) => {
    expect(compare(SENT, shown, growth, 2).differences).toEqual([expect.stringMatching(reported)]);
  });
});

describe('planTraffic', () => {
  const plan = (seed: number, roomMinor: bigint) =>
    planTraffic(createRandom(seed), {
      rate: 20,
      seconds: 10,
      accounts: [
        {
          id: 1,
          accountNumber: 'ACC10000012',
          roomMinor,
          soleHolder: { phone: '+254712345678', nationalId: 'SIM1' },
          sharedPhone: null,
        },
      ],
      prefix: 'SIM',
      shortCode: '600638',
      decimals: 2,
      now: new Date('2026-11-02T09:00:00Z'),
    });

  it('makes the same choices for the same seed, and other choices for another seed', () => {
    expect(plan(1, 10_000_000n)).toEqual(plan(1, 10_000_000n));
    expect(plan(2, 10_000_000n)).not.toEqual(plan(1, 10_000_000n));
  });

  it('never pays an account in full, so that the customer always has an open account', () => {
    const room = 100_000n;
    const known = plan(3, room).filter(({ type, transaction }) => type === 'first' && transaction.accountId);
    const total = known.reduce((sum, { transaction }) => sum + transaction.amountMinor, 0n);
    expect(total > 0n && total < room).toBe(true);
  });

  it('posts at the given rate, which includes repeats', () => {
    const deliveries = plan(4, 10_000_000n);
    expect(Math.abs(deliveries.length - 200)).toBeLessThan(3);
    expect(deliveries.some(({ type }) => type === 'repeat')).toBe(true);
  });
});
