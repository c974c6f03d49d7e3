import { describe, expect, it } from 'vitest';
import type { Terms } from '../../accounts/schedule/rules.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { quoteOf } from './quote-rules.ts';

/** 250 in total: a deposit of 100 on 2 November, then 50 on 9, 16 and 23 November. */
const TERMS: Terms = {
  depositMinor: 100n,
  instalmentMinor: 50n,
  instalmentCount: 3,
  frequency: 'weekly',
  graceDays: 0,
  activationDate: '2026-11-02' as PlainDate,
};

function quote(paid: number, day: number, amount: number | null = null, status: AccountStatus = 'active') {
  const date = `2026-11-${String(day).padStart(2, '0')}` as PlainDate;
  const amountMinor = amount === null ? null : BigInt(amount);
  return quoteOf({ terms: TERMS, status, paidMinor: BigInt(paid) }, { date, amountMinor });
}

describe('the debt on a date', () => {
  it.each<[paid: number, day: number, overdue: bigint, dueOnDate: bigint]>([
    [0, 2, 0n, 100n],
    [0, 3, 100n, 0n],
    [0, 9, 100n, 50n],
    [100, 9, 0n, 50n],
    [120, 9, 0n, 30n],
    [120, 16, 30n, 50n],
    [200, 16, 0n, 0n],
    [230, 16, 0n, 0n],
    [120, 30, 130n, 0n],
  ])('after payments of %i, on %i November, is %s overdue and %s due', (paid, day, overdue, dueOnDate) => {
    expect(quote(paid, day)).toMatchObject({
      overdueMinor: overdue,
      dueOnDateMinor: dueOnDate,
      amountDueMinor: overdue + dueOnDate,
      payoffMinor: BigInt(250 - paid),
      after: null,
    });
  });

  it('is nothing before the activation date, and still paid off by the whole balance', () => {
    expect(quote(0, 1, null, 'pending')).toMatchObject({ amountDueMinor: 0n, payoffMinor: 250n });
  });

  it('of a pending account begins on the activation date', () => {
    expect(quote(0, 2, null, 'pending')).toMatchObject({ dueOnDateMinor: 100n });
  });

  it('is nothing after a write-off, although the balance is still owed', () => {
    expect(quote(0, 16, null, 'written_off')).toMatchObject({
      overdueMinor: 0n,
      dueOnDateMinor: 0n,
      amountDueMinor: 0n,
      payoffMinor: 250n,
    });
  });
});

describe('the effect of a payment', () => {
  it.each<[string, paid: number, amount: number, items: number, remainder: bigint]>([
    ['completes the deposit', 0, 100, 1, 0n],
    ['completes the deposit and begins an instalment', 0, 120, 1, 20n],
    ['begins the deposit', 0, 99, 0, 99n],
    ['continues an instalment', 120, 10, 0, 10n],
    ['completes an instalment and begins the next one', 120, 40, 1, 10n],
    ['completes several items', 120, 80, 2, 0n],
    ['completes all items', 0, 250, 4, 0n],
    ['completes the last item', 200, 50, 1, 0n],
    ['completes no item of a paid account', 250, 10, 0, 0n],
  ])('%s', (_, paid, amount, itemsCovered, remainderMinor) => {
    expect(quote(paid, 9, amount).after).toMatchObject({ itemsCovered, remainderMinor });
  });

  it('is a smaller balance, and credit above the balance', () => {
    expect(quote(0, 9, 240).after).toMatchObject({ balanceMinor: 10n, creditMinor: 0n, completes: false });
    expect(quote(0, 9, 250).after).toMatchObject({ balanceMinor: 0n, creditMinor: 0n, completes: true });
    expect(quote(0, 9, 280).after).toMatchObject({ balanceMinor: 0n, creditMinor: 30n, completes: true });
  });

  it('is a later due date', () => {
    const { position, after } = quote(0, 9, 150);
    expect(position).toMatchObject({ paymentState: 'late', nextDueDate: '2026-11-02' });
    expect(after?.position).toMatchObject({ paymentState: 'current', nextDueDate: '2026-11-16' });
  });

  it('on a cancelled account is only credit', () => {
    expect(quote(20, 9, 100, 'cancelled')).toMatchObject({
      payoffMinor: 0n,
      after: { itemsCovered: 0, remainderMinor: 0n, balanceMinor: 0n, creditMinor: 120n, completes: false },
    });
  });
});
