import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import { event, eventRow } from '../../changes/events/change-rules.ts';
import { type Actor, SYSTEM } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { numberChanges } from './close-books-rules.ts';
import type { AccountRow, MoneyEvent, NewBooks } from './rules.ts';

const DAY = '2026-11-02' as PlainDate;
const ACTOR: Actor = { ...SYSTEM, name: 'clerk', requestId: 'r-1' };

function received(accountId: number | null, fields: Partial<MoneyEvent> = {}): MoneyEvent {
  return {
    event: 'payment_received',
    actor: ACTOR,
    valueDate: DAY,
    movements: accountId === null ? [] : [{ accountId, movement: { kind: 'money_in', amountMinor: 1n } }],
    contra: [],
    ...fields,
  };
}

function booksAfter(account: AccountRow, fields: Partial<NewBooks>): NewBooks {
  const { id, paid_minor, receivable_minor, credit_minor, written_off_minor, paid_month, paid_month_minor } =
    account;
  return {
    ...{ id, paid_minor, receivable_minor, credit_minor, written_off_minor, paid_month, paid_month_minor },
    ...fields,
  };
}

/** The changes that follow from new books of one account. */
function changesOf(account: AccountRow, fields: Partial<NewBooks>, posted = [received(account.id)]) {
  const books = new Map([[account.id, booksAfter(account, fields)]]);
  return numberChanges(new Map([[account.id, account]]), books, posted).changes;
}

const recorded = (accountId: number | null) =>
  eventRow(
    ACTOR,
    { resource: 'payment', resourceId: 31 },
    event('payment.received', {} as never, accountId === null ? undefined : { id: accountId }),
  );

describe('a change of the paid amount', () => {
  it.each<[string, Partial<AccountRow>, number, string | null]>([
    ['is the activation date until the deposit is paid', {}, 1999, '2026-10-19'],
    ['is the date of the first instalment when the deposit is paid', {}, 2000, '2026-10-26'],
    ['does not change when a part of an instalment is paid', {}, 2399, '2026-10-26'],
    ['is the date of the next instalment when an instalment is paid', {}, 2400, '2026-11-02'],
    ['is the date of the last instalment until the total is paid', {}, 3599, '2026-11-16'],
    ['is null when the total is paid', {}, 3600, null],
    ['is null when more than the total is paid', {}, 3700, null],
    ['is null on a cancelled account', { status: 'cancelled' }, 2000, null],
    ['is null on a written-off account', { status: 'written_off' }, 2000, null],
    ['keeps the day of the month on a monthly plan', { frequency: 'monthly' }, 2800, '2027-01-19'],
  ])('gives an event with the next due date, which %s', (_, fields, paid, nextDueDate) => {
    // The account has another due date before, so that each case has an event.
    const account = accountRow({ ...fields, next_due_date: '2026-09-01' as PlainDate });
    expect(changesOf(account, { paid_minor: paid })).toMatchObject([
      {
        type: 'account.paid_until_changed',
        data: { nextDueDate, previousNextDueDate: '2026-09-01' },
      },
    ]);
  });

  it('gives no event if the next due date and the credit stay the same', () => {
    expect(changesOf(accountRow(), { paid_minor: 500 })).toEqual([]);
  });

  it('gives an event with the credit if the credit changes', () => {
    const account = accountRow({ paid_minor: 3650, credit_minor: 50, next_due_date: null });
    expect(changesOf(account, { paid_minor: 3700, credit_minor: 100 })).toMatchObject([
      { type: 'account.credit_changed', data: { creditMinor: 100, previousCreditMinor: 50 } },
    ]);
  });

  it('gives events about the account, by the actor of the last event of this account', () => {
    const posted = [
      received(7, { actor: SYSTEM }),
      received(7),
      received(8, { actor: { ...SYSTEM, name: 'somebody else' } }),
      received(null, { actor: { ...SYSTEM, name: 'somebody else' } }),
    ];
    const changes = changesOf(accountRow(), { paid_minor: 4000, credit_minor: 400 }, posted);
    const subject = { resource: 'account', resource_id: 7, account_id: 7, actor: 'clerk', request_id: 'r-1' };
    expect(changes).toMatchObject([
      { ...subject, type: 'account.paid_until_changed', account_version: 6 },
      { ...subject, type: 'account.credit_changed', account_version: 7 },
    ]);
  });

  it('names the second account of a transfer, too', () => {
    const both = received(7, {
      movements: [
        { accountId: 7, movement: { kind: 'credit_out', amountMinor: 1n } },
        { accountId: 8, movement: { kind: 'money_in', amountMinor: 1n } },
      ],
    });
    expect(changesOf(accountRow({ id: 8 }), { paid_minor: 2000 }, [both])).toHaveLength(1);
  });

  it('gives no event if none of the posted events is about the account', () => {
    expect(changesOf(accountRow(), { paid_minor: 2000 }, [received(8)])).toEqual([]);
  });
});

describe('the version of an account', () => {
  it('is counted up by each of its changes: recorded changes first, and then events that follow from them', () => {
    const seventh = accountRow({ id: 7, event_count: 5 });
    const eighth = accountRow({ id: 8, event_count: 20 });
    const { changes, books } = numberChanges(
      new Map([seventh, eighth].map((account) => [account.id, account])),
      new Map([
        [7, booksAfter(seventh, { paid_minor: 2000 })],
        [8, booksAfter(eighth, { paid_minor: 100 })],
      ]),
      [
        received(7, { rows: { changes: [recorded(7)] } }),
        received(8, { rows: { changes: [recorded(8)] } }),
        received(null, { rows: {} }),
      ],
      [recorded(null)],
    );
    expect(
      changes.map(({ type, account_id, account_version }) => [type, account_id, account_version]),
    ).toEqual([
      ['payment.received', null, null],
      ['payment.received', 7, 6],
      ['payment.received', 8, 21],
      ['account.paid_until_changed', 7, 7],
    ]);
    expect(books.get(7)).toEqual({ ...booksAfter(seventh, { paid_minor: 2000 }), event_count: 7 });
    expect(books.get(8)).toEqual({ ...booksAfter(eighth, { paid_minor: 100 }), event_count: 21 });
  });

  it('cannot be set if the books of the account do not change', () => {
    expect(() => numberChanges(new Map(), new Map(), [], [recorded(7)])).toThrow(
      'The change payment.received names account 7, whose books do not change.',
    );
  });
});
