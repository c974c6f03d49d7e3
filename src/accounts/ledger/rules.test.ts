import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import { SYSTEM } from '../../core/context.ts';
import { AppError } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { LARGEST_EXACT_MINOR } from '../../core/values/money.ts';
import type { Movement } from './money-on-account-rules.ts';
import {
  type BooksRow,
  type MoneyEvent,
  openBooks,
  type PaidMonth,
  paidMonthAfter,
  postEvent,
} from './rules.ts';

describe('the latest month with money', () => {
  const october: PaidMonth = { month: '2026-10-01' as PlainDate, minor: 500n };

  it.each<[string, PaidMonth, string, bigint, PaidMonth]>([
    ['begins with the first money', { month: null, minor: 0n }, '2026-10-31', 7n, { ...october, minor: 7n }],
    ['adds money of the same month', october, '2026-10-01', 20n, { ...october, minor: 520n }],
    [
      'subtracts money of the same month that is reversed',
      october,
      '2026-10-15',
      -520n,
      { ...october, minor: -20n },
    ],
    [
      'changes with money of a later month',
      october,
      '2026-11-01',
      9n,
      { month: '2026-11-01' as PlainDate, minor: 9n },
    ],
    ['does not change when earlier money is recorded or reversed', october, '2026-09-30', -9n, october],
    ['does not change without money', october, '2026-11-02', 0n, october],
  ])('%s', (_, before, day, amountMinor, after) => {
    expect(paidMonthAfter(before, day as PlainDate, amountMinor)).toEqual(after);
  });
});

describe('the events of a batch', () => {
  const VALUE_DATE = '2026-11-02' as PlainDate;
  const account = accountRow({ id: 7, total_minor: 1000, receivable_minor: 1000 });
  const accounts = new Map([[7, account]]);

  const eventWith = (fields: Partial<MoneyEvent>): MoneyEvent => ({
    event: 'payment_received',
    actor: SYSTEM,
    valueDate: VALUE_DATE,
    movements: [],
    contra: [],
    ...fields,
  });
  const on = (accountId: number, movement: Movement) => ({ accountId, movement });
  const received = (amountMinor: bigint, paymentId = 1) =>
    eventWith({
      paymentId,
      movements: [on(7, { kind: 'money_in', amountMinor })],
      contra: [{ ledgerAccount: 'clearing', amountMinor, paymentMethodId: 2 }],
    });
  function applyEvents(locked: ReadonlyMap<number, BooksRow>, events: readonly MoneyEvent[]) {
    const running = openBooks(locked);
    const refusals = events.map((event) => postEvent(running, event));
    return { refusals, entries: running.entries, books: running.changed };
  }
  const outline = ({ entries }: ReturnType<typeof applyEvents>) =>
    entries.map(({ position, ledger_account, amount_minor }) => [position, ledger_account, amount_minor]);

  it('become ledger entries with a position, a payment, a value date and an account, and without amounts of 0', () => {
    const { refusals, entries, books } = applyEvents(accounts, [received(400n, 31)]);
    const entry = {
      position: 1,
      event: 'payment_received',
      account_id: 7,
      payment_id: 31,
      credit_move_id: null,
      value_date: '2026-11-02',
      payment_method_id: null,
    };
    expect(refusals).toEqual([undefined]);
    expect(entries).toEqual([
      { ...entry, ledger_account: 'clearing', amount_minor: 400, payment_method_id: 2 },
      { ...entry, ledger_account: 'receivable', amount_minor: -400 },
    ]);
    const after = {
      id: 7,
      paid_minor: 400,
      receivable_minor: 600,
      credit_minor: 0,
      written_off_minor: 0,
      paid_month: '2026-11-01',
      paid_month_minor: 400,
    };
    expect(books).toEqual(new Map([[7, after]]));
  });

  it('are applied to the books that the earlier events of the batch have left', () => {
    const applied = applyEvents(accounts, [received(700n, 1), received(500n, 2)]);
    expect(outline(applied)).toEqual([
      [1, 'clearing', 700],
      [1, 'receivable', -700],
      [2, 'clearing', 500],
      [2, 'receivable', -300],
      [2, 'customer_credit', -200],
    ]);
    expect(applied.books.get(7)).toMatchObject({
      paid_minor: 1200,
      receivable_minor: 0,
      credit_minor: 200,
      paid_month_minor: 1200,
    });
  });

  it('are applied without the events that an account refuses', () => {
    const refund = eventWith({ movements: [on(7, { kind: 'credit_out', amountMinor: 1n })] });
    const applied = applyEvents(accounts, [received(300n, 1), refund, received(100n, 2)]);
    expect(applied.refusals).toEqual([undefined, expect.any(AppError), undefined]);
    expect(outline(applied)).toEqual([
      [1, 'clearing', 300],
      [1, 'receivable', -300],
      [3, 'clearing', 100],
      [3, 'receivable', -100],
    ]);
    expect(applied.books.get(7)?.paid_minor).toBe(400);
  });

  it('move credit from one account to another', () => {
    const giver = accountRow({ id: 8, receivable_minor: 0, paid_minor: 3750, credit_minor: 150 });
    const transfer = eventWith({
      event: 'credit_transferred',
      creditMoveId: 4,
      movements: [
        on(8, { kind: 'credit_out', amountMinor: 150n }),
        on(7, { kind: 'money_in', amountMinor: 150n }),
      ],
    });
    const { entries, books } = applyEvents(new Map([...accounts, [8, giver]]), [transfer]);
    const moved = { position: 1, event: 'credit_transferred', credit_move_id: 4, payment_id: null };
    expect(entries).toMatchObject([
      { ...moved, account_id: 8, ledger_account: 'customer_credit', amount_minor: 150 },
      { ...moved, account_id: 7, ledger_account: 'receivable', amount_minor: -150 },
    ]);
    expect(books.get(8)).toMatchObject({ paid_minor: 3600, credit_minor: 0, receivable_minor: 0 });
    expect(books.get(7)).toMatchObject({ paid_minor: 150, receivable_minor: 850 });
  });

  it('change no account if one of their accounts refuses its movement', () => {
    const giver = accountRow({ id: 8, receivable_minor: 0, paid_minor: 3750, credit_minor: 150 });
    const full = accountRow({ id: 9, paid_minor: Number(LARGEST_EXACT_MINOR) });
    const transfer = eventWith({
      movements: [
        on(8, { kind: 'credit_out', amountMinor: 150n }),
        on(9, { kind: 'money_in', amountMinor: 150n }),
      ],
    });
    const both = new Map([giver, full].map((row) => [row.id, row]));
    expect(applyEvents(both, [transfer])).toEqual({
      refusals: [expect.any(AppError)],
      entries: [],
      books: new Map(),
    });
  });

  it('have no account if a payment is unmatched', () => {
    const unmatched = eventWith({
      contra: [
        { ledgerAccount: 'clearing', amountMinor: 90n, paymentMethodId: 2 },
        { ledgerAccount: 'unmatched', amountMinor: -90n },
      ],
    });
    const { entries, books } = applyEvents(new Map(), [unmatched]);
    expect(entries).toMatchObject([
      { account_id: null, payment_id: null, ledger_account: 'clearing', amount_minor: 90 },
      { account_id: null, payment_id: null, ledger_account: 'unmatched', amount_minor: -90 },
    ]);
    expect(books.size).toBe(0);
  });

  it('fail if one of their accounts is not locked', () => {
    expect(() => applyEvents(new Map(), [received(1n)])).toThrow('Account 7 is not locked.');
  });

  it('fail for an unexpected error, which is not a refusal', () => {
    const broken = new Map([[7, { ...account, receivable_minor: 0.5 }]]);
    expect(() => applyEvents(broken, [received(1n)])).toThrow(RangeError);
  });
});
