import { describe, expect, it } from 'vitest';
import type { Terms } from '../../accounts/schedule/rules.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { allocationOf, compareMoney, type MoneyMove, sumOf } from './allocation-rules.ts';

const START = '2026-11-02' as PlainDate;
/** A deposit of 100 (item 0), then three instalments of 50. */
const TERMS: Terms = {
  depositMinor: 100n,
  instalmentMinor: 50n,
  instalmentCount: 3,
  frequency: 'weekly',
  graceDays: 0,
  activationDate: START,
};

const payment = (paymentId: number, amount: number): MoneyMove => ({
  type: 'payment',
  paymentId,
  creditMoveId: null,
  date: START,
  amountMinor: BigInt(amount),
  reversedOn: null,
  otherAccountId: null,
  transactionRef: null,
  paymentMethod: null,
  ledgerEventId: null,
  reversalEventId: null,
});
const move = (type: 'transfer_in' | 'transfer_out' | 'refund', id: number, amount: number): MoneyMove => ({
  ...payment(id, amount),
  type,
  paymentId: null,
  creditMoveId: id,
});

/** What each payment or transfer covers, by its id: `[item, amount]`. */
function covered(...money: MoneyMove[]): Record<number, [number, number][]> {
  const { ofMoney, ofItem } = allocationOf(TERMS, money);
  const covers = [...ofMoney.values()].flat();
  expect([...ofItem.values()].flat()).toHaveLength(covers.length);
  return Object.fromEntries(
    [...ofMoney].map(([source, list]) => [
      source.paymentId ?? source.creditMoveId ?? 0,
      list.map(({ item, amountMinor }) => [item, Number(amountMinor)]),
    ]),
  );
}

describe('the money of an account', () => {
  it('covers the items in their order', () => {
    expect(covered(payment(1, 60), payment(2, 100))).toEqual({
      1: [[0, 60]],
      2: [
        [0, 40],
        [1, 50],
        [2, 10],
      ],
    });
  });

  it('is reduced by outgoing credit, the latest money first', () => {
    expect(covered(payment(1, 100), payment(2, 100), move('refund', 3, 50))).toEqual({
      1: [[0, 100]],
      2: [[1, 50]],
    });
    expect(covered(payment(1, 60), payment(2, 40), move('transfer_out', 3, 70))).toEqual({ 1: [[0, 30]] });
    expect(covered(payment(1, 60), move('transfer_in', 2, 40), move('refund', 3, 40))).toEqual({
      1: [[0, 60]],
    });
  });

  it('covers nothing after all of it has left', () => {
    expect(covered(payment(1, 60), move('refund', 2, 60))).toEqual({});
  });

  it('replaces missing credit first, if credit left whose payment was reversed', () => {
    expect(covered(move('refund', 1, 30), payment(2, 100))).toEqual({ 2: [[0, 70]] });
    expect(covered(payment(1, 20), move('refund', 2, 50), payment(3, 20), payment(4, 20))).toEqual({
      4: [[0, 10]],
    });
  });

  it('is taken back once by several outgoing moves', () => {
    const moves = [payment(1, 100), move('refund', 2, 30), move('transfer_out', 3, 30), payment(4, 10)];
    expect(covered(...moves)).toEqual({ 1: [[0, 40]], 4: [[0, 10]] });
    expect(sumOf(moves)).toBe(50n);
  });
});

describe('the order of money', () => {
  it('is by day, then payments before credit moves, then by id', () => {
    const later = { ...payment(1, 1), date: '2026-11-03' as PlainDate };
    const ordered = [payment(2, 1), payment(9, 1), move('refund', 1, 1), move('refund', 4, 1), later];
    expect(ordered.toReversed().sort(compareMoney)).toEqual(ordered);
    expect([...ordered].sort(compareMoney)).toEqual(ordered);
  });
});
