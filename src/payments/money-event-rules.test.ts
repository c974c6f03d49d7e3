import { describe, expect, it } from 'vitest';
import { accountRow } from '../../test/support/account-row.ts';
import { type MoneyEvent, openBooks, postEvent } from '../accounts/ledger/rules.ts';
import { SYSTEM } from '../core/context.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { assignedEvent, receivedEvent, reversedEvent, unassignedEvent } from './money-event-rules.ts';

const ACTOR = { ...SYSTEM, name: 'clerk' };
const PAYMENT = {
  id: 31,
  account_id: 7,
  amount_minor: 500,
  payment_date: '2026-11-02' as PlainDate,
  payment_method_id: 2,
};
const UNMATCHED = { ...PAYMENT, account_id: null };

/** The ledger entries of an event, on an account that owes 3,500 of 3,600. */
function entriesOf(event: MoneyEvent) {
  const account = accountRow({ paid_minor: 100, receivable_minor: 3500 });
  const books = openBooks(new Map([[7, account]]));
  postEvent(books, event);
  return books.entries;
}

const sumsOf = (event: MoneyEvent) =>
  Object.fromEntries(
    entriesOf(event).map(({ ledger_account, amount_minor }) => [ledger_account, amount_minor]),
  );

describe('the ledger entries of a payment', () => {
  it.each<[string, typeof receivedEvent, typeof PAYMENT | typeof UNMATCHED, Record<string, number>]>([
    [
      'from clearing to the debt, when it is received',
      receivedEvent,
      PAYMENT,
      { clearing: 500, receivable: -500 },
    ],
    [
      'from clearing to unmatched, when it is received without an account',
      receivedEvent,
      UNMATCHED,
      { clearing: 500, unmatched: -500 },
    ],
    [
      'from unmatched to the debt, when it is assigned',
      assignedEvent,
      PAYMENT,
      { unmatched: 500, receivable: -500 },
    ],
    [
      'from the debt to unmatched, when its assignment is undone',
      unassignedEvent,
      PAYMENT,
      { unmatched: -500, receivable: 500 },
    ],
    [
      'from the debt to clearing, when it is reversed',
      reversedEvent,
      PAYMENT,
      { clearing: -500, receivable: 500 },
    ],
    [
      'from unmatched to clearing, when it is reversed without an account',
      reversedEvent,
      UNMATCHED,
      { clearing: -500, unmatched: 500 },
    ],
  ])('move its amount %s', (_, eventOf, payment, sums) => {
    expect(sumsOf(eventOf(payment, ACTOR))).toEqual(sums);
  });

  it('have the payment, its account and its date, and are made by the actor of the change', () => {
    for (const eventOf of [receivedEvent, assignedEvent, unassignedEvent, reversedEvent]) {
      const event = eventOf(PAYMENT, ACTOR);
      expect(event.actor).toBe(ACTOR);
      for (const entry of entriesOf(event))
        expect(entry).toMatchObject({ account_id: 7, payment_id: 31, value_date: '2026-11-02' });
    }
  });

  it('have the payment method only on clearing', () => {
    const methods = [receivedEvent(PAYMENT, ACTOR), reversedEvent(UNMATCHED, ACTOR)].map((event) =>
      entriesOf(event).map(({ ledger_account, payment_method_id }) => [ledger_account, payment_method_id]),
    );
    expect(methods).toEqual([
      [
        ['clearing', 2],
        ['receivable', null],
      ],
      [
        ['clearing', 2],
        ['unmatched', null],
      ],
    ]);
  });
});
