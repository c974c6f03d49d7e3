import { describe, expect, it } from 'vitest';
import {
  type AccountName,
  type Happened,
  locksOfReport,
  processStoredWithout,
  RECORDERS,
  type Recorder,
  type Report,
  report,
  rowsOfReport,
  TRANSACTION,
} from '../../../test/support/decisions.ts';
import { STATUS_MODEL, STATUSES, statusesWhere } from '../../../test/support/status-model.ts';
import type { KnownNotification, KnownPayment, Notification } from '../posting/rules.ts';
import { isUntouched } from '../posting/rules.ts';
import { disclosesAll, repeats } from './repeat-rules.ts';
import { asFlags, readableColumns } from './rules.ts';

// Unless a row says otherwise, a stranger pays 400 with the number of account A, and 400 are the amount of all that is known.

type Case = [statement: string, known: Report, happens: Happened];

function check(_statement: string, known: Report, happens: Happened): void {
  expect(report(known)).toEqual(happens);
}

function matched(account: AccountName, by: string, more: Partial<Happened> = {}): Happened {
  return {
    outcome: 'matched',
    payment: 'new',
    account,
    by,
    ledger: { clearing: 400, receivable: -400 },
    stores: 'a notification',
    publishes: ['payment.received', 'payment.matched'],
    ...more,
  };
}

function unmatched(more: Partial<Happened> = {}): Happened {
  return {
    outcome: 'unmatched',
    payment: 'new',
    ledger: { clearing: 400, unmatched: -400 },
    stores: 'a notification',
    publishes: ['payment.received', 'payment.unmatched'],
    ...more,
  };
}

/** The notification is stored, and credits nothing. */
function repeated(more: Partial<Happened> = {}): Happened {
  return { outcome: 'repeated', stores: 'a notification', ...more };
}

function differs(more: Partial<Happened> = {}): Happened {
  return { outcome: 'differs', flags: ['differs_from_first'], stores: 'a notification', ...more };
}

function linked(payment: number, more: Partial<Happened> = {}): Happened {
  return {
    outcome: 'linked',
    payment,
    givesTransactionTo: payment,
    stores: 'a notification',
    publishes: ['payment.linked'],
    ...more,
  };
}

function conflict(conflictsWith: number, more: Partial<Happened> = {}): Happened {
  return {
    outcome: 'conflict',
    conflictsWith,
    stores: 'a notification',
    publishes: ['notification.conflict'],
    ...more,
  };
}

/** The provider returns the money to the payer. */
function refused(refusal: string): Happened {
  return { outcome: 'refused', refusal };
}

/** The notification is stored already. */
function again(happens: Happened): Happened {
  return { ...happens, stores: 'the outcome of notification 50' };
}

const OTHER_ACCOUNT = { flags: ['other_account'] };

describe('the account of a payment', () => {
  it.each<Case>([
    ['is the account whose number was typed', { typed: 'the number of A' }, matched('A', 'account_number')],
    [
      'is the account whose number was typed, even if the phone of another customer pays',
      { typed: 'the number of A', payer: 'the phone of B' },
      matched('A', 'account_number'),
    ],
    [
      'is the one open account of the customer with the typed national id',
      { typed: 'the national id of A' },
      matched('A', 'national_id'),
    ],
    [
      'is the one open account of the customer with the typed phone number',
      { typed: 'the phone of B' },
      matched('B', 'phone'),
    ],
    [
      'is the account with the typed id if the phone of its customer pays',
      { typed: 'the id of A', payer: 'the phone of A' },
      matched('A', 'account_id'),
    ],
    [
      'is the one open account of the payer’s phone if nothing was typed',
      { typed: 'nothing', payer: 'the phone of B' },
      matched('B', 'payer_phone'),
    ],
    [
      'is the other account of a customer if one of two is cancelled',
      { typed: 'the national id of A', accounts: { A: { status: 'cancelled' }, A2: {} } },
      matched('A2', 'national_id'),
    ],
    [
      'is the account to which staff have assigned the same reference from the same payer',
      { typed: 'words that name nobody', learned: { on: 'B' } },
      matched('B', 'learned', {
        matchReason: 'the same reference from the same payer was assigned to ACC10001382 on 2026-10-12',
      }),
    ],
    [
      'is the learned account if the reference leads to the account that staff overruled',
      { typed: 'the national id of A', learned: { on: 'B', insteadOf: 'A' } },
      matched('B', 'learned', {
        matchReason: 'the same reference from the same payer was assigned to ACC10001382 on 2026-10-12',
      }),
    ],
    [
      'is the account of the payment request that the payment answers',
      { typed: 'the number of A', answersRequest: true },
      matched('A', 'payment_request'),
    ],
    [
      'is not the account of the payer’s phone if something was typed',
      { typed: 'words that name nobody', payer: 'the phone of A' },
      unmatched(),
    ],
    ['is unknown if a stranger typed the id of an account', { typed: 'the id of A' }, unmatched()],
    ['is unknown if a stranger typed nothing', { typed: 'nothing' }, unmatched()],
    [
      'is unknown if nothing was typed and the payer’s phone is masked',
      { typed: 'nothing', payer: 'the masked phone of A' },
      unmatched(),
    ],
    [
      'is unknown if the typed number has a wrong check digit',
      { typed: 'the number of A with a typing error' },
      unmatched(),
    ],
    [
      'is unknown if the typed national id leads to two open accounts',
      { typed: 'the national id of A', accounts: { A2: {} } },
      unmatched(),
    ],
    [
      'is unknown if the payer’s phone has two open accounts',
      { typed: 'nothing', payer: 'the phone of A', accounts: { A2: {} } },
      unmatched(),
    ],
    [
      'is unknown if the typed number and the learned account are two open accounts',
      { typed: 'the number of A', learned: { on: 'B', insteadOf: 'A' } },
      unmatched(),
    ],
    [
      'is unknown if the money went to a short code of another business, and the notification is flagged',
      { typed: 'the number of A', payer: 'the phone of A', toAnotherBusiness: true },
      unmatched({ flags: ['other_short_code'] }),
    ],
    [
      'is not searched by phone or learned references if the payment answers a payment request',
      { typed: 'the phone of A', payer: 'the phone of A', answersRequest: true, learned: { on: 'A' } },
      unmatched(),
    ],
  ])('%s', check);

  it.each(STATUSES)('can be %s if its number was typed', (status) => {
    expect(report({ typed: 'the number of A', accounts: { A: { status } } })).toMatchObject({
      outcome: 'matched',
      account: 'A',
      by: 'account_number',
    });
  });

  it.each(statusesWhere(({ isOpen }) => isOpen))('can be %s if only its customer was named', (status) => {
    expect(report({ typed: 'the phone of A', accounts: { A: { status } } }).account).toBe('A');
  });

  it.each(STATUSES.filter((status) => !STATUS_MODEL[status].isOpen))(
    'cannot be %s if only its customer was named',
    (status) => {
      expect(report({ typed: 'the phone of A', accounts: { A: { status } } })).toEqual(unmatched());
    },
  );

  it.each<Case>([
    [
      'keeps a flag about the time that the parsing of the notification has set',
      { parsedWith: ['unreadable_time'] },
      matched('A', 'account_number', { flags: ['unreadable_time'] }),
    ],
    [
      'keeps this flag beside a flag of the decision',
      { parsedWith: ['future_time'], payments: [{ amount: 450 }] },
      conflict(7, { flags: ['future_time'] }),
    ],
  ])('%s', check);
});

describe('an account without room below 10^15 minor units', () => {
  const ALMOST_FULL = { accounts: { A: { paid: 9_999_999_999_600 } } };

  it.each<Case>([
    [
      'still takes a payment that reaches the largest amount exactly',
      { amount: 399.99, ...ALMOST_FULL },
      matched('A', 'account_number', {
        ledger: { clearing: 399.99, customer_credit: -399.99 },
        accountBecomes: 'completed',
      }),
    ],
    [
      'leaves a payment beyond that unmatched, with a flag',
      { amount: 400, ...ALMOST_FULL },
      unmatched({ flags: ['account_full'] }),
    ],
    [
      'leaves a payment unmatched if earlier payments of the batch have filled the account',
      { amount: 400, accounts: { A: { paid: 9_999_999_999_200 } }, earlierInBatch: [300, 100] },
      unmatched({ flags: ['account_full'] }),
    ],
    [
      'leaves the answer to a payment request unmatched, too',
      { amount: 400, answersRequest: true, ...ALMOST_FULL },
      unmatched({ flags: ['account_full'] }),
    ],
    [
      'keeps the flags of the parsing',
      { amount: 400, parsedWith: ['future_time'], ...ALMOST_FULL },
      unmatched({ flags: ['future_time', 'account_full'] }),
    ],
    [
      'is no obstacle for another account',
      { typed: 'the number of B', ...ALMOST_FULL },
      matched('B', 'account_number'),
    ],
  ])('%s', check);
});

describe('a provider that returns refused money', () => {
  it.each<Case>([
    [
      'has a payment accepted if its account is certain',
      { isRefusable: true },
      matched('A', 'account_number'),
    ],
    [
      'has a payment refused if no account is found',
      { isRefusable: true, typed: 'words that name nobody' },
      refused('wrong_account'),
    ],
    [
      'has a payment refused if two accounts are found',
      { isRefusable: true, typed: 'the national id of A', accounts: { A2: {} } },
      refused('wrong_account'),
    ],
    [
      'has a payment to the short code of another business refused',
      { isRefusable: true, toAnotherBusiness: true },
      refused('wrong_short_code'),
    ],
    [
      'has a payment refused if the account has no room for it',
      { isRefusable: true, accounts: { A: { paid: 9_999_999_999_600 } } },
      refused('wrong_amount'),
    ],
    [
      'has a payment refused if earlier payments of the batch have filled the account',
      { isRefusable: true, accounts: { A: { paid: 9_999_999_999_200 } }, earlierInBatch: [400] },
      refused('wrong_amount'),
    ],
    [
      'gets the first outcome again if it repeats a notification',
      {
        isRefusable: true,
        typed: 'words that name nobody',
        earlier: [{ was: 'linked', payment: 7, fields: 'equal' }],
        payments: [{ kind: 'linked' }],
      },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'has a payment that staff recorded first linked, even if its reference leads to no account',
      { isRefusable: true, typed: 'words that name nobody', payments: [{}] },
      linked(7),
    ],
    [
      'has a stored notification posted as unmatched, because the service had accepted the payment',
      { isRefusable: true, typed: 'words that name nobody', storedAs: 'pending' },
      again(unmatched()),
    ],
  ])('%s', check);
});

describe('a transaction that was reported before', () => {
  const POSTED: Pick<Report, 'payments'> = { payments: [{ kind: 'reported' }] };
  const REVERSED: Pick<Report, 'payments'> = { payments: [{ kind: 'reported', isReversed: true }] };

  it.each<Case>([
    [
      'is acknowledged if the fields are equal, and nothing is stored',
      { ...POSTED, earlier: [{ was: 'matched', payment: 7, fields: 'equal' }] },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'is acknowledged if the fields are equal to those of a repeat that differed',
      {
        ...POSTED,
        earlier: [
          { was: 'matched', payment: 7 },
          { id: 11, was: 'differs', payment: 7, fields: 'equal' },
        ],
      },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'is acknowledged without a payment if the equal notification could not be posted yet',
      { earlier: [{ was: 'pending', fields: 'equal' }] },
      { outcome: 'repeated' },
    ],
    [
      'is acknowledged without a payment if the equal notification is in conflict',
      { payments: [{ amount: 450 }], earlier: [{ was: 'conflict', conflictsWith: 7, fields: 'equal' }] },
      { outcome: 'repeated' },
    ],
    [
      'is flagged and credits nothing if a field differs',
      { ...POSTED, earlier: [{ was: 'matched', payment: 7 }] },
      differs({ payment: 7 }),
    ],
    [
      'is flagged and credits nothing if the amount differs',
      { amount: 900, ...POSTED, earlier: [{ was: 'matched', payment: 7 }] },
      differs({ payment: 7 }),
    ],
    [
      'is flagged if a field differs from the notification of a linked manual payment',
      { payments: [{ kind: 'linked' }], earlier: [{ was: 'linked', payment: 7 }] },
      differs({ payment: 7 }),
    ],
    [
      'is flagged if a field differs from an unmatched payment',
      { payments: [{ kind: 'reported', on: null }], earlier: [{ was: 'unmatched', payment: 7 }] },
      differs({ payment: 7 }),
    ],
    [
      'is flagged if a field differs and the first notification could not be posted yet',
      { earlier: [{ was: 'pending' }] },
      differs(),
    ],
    [
      'is flagged if a field differs and the first notification is in conflict',
      { amount: 450, payments: [{}], earlier: [{ was: 'conflict', conflictsWith: 7 }] },
      differs(),
    ],
    [
      'is flagged if a field differs and an earlier repeat belongs to a payment',
      { earlier: [{ was: 'repeated', payment: 7 }] },
      differs(),
    ],
    [
      'is not credited again after the reversal of its payment, and the first notification is flagged',
      { ...REVERSED, earlier: [{ was: 'matched', payment: 7, fields: 'equal' }] },
      { outcome: 'repeated', payment: 7, flagsNotifications: [10] },
    ],
    [
      'is not credited again after the reversal of its payment if a field differs, and has both flags',
      { ...REVERSED, earlier: [{ was: 'matched', payment: 7 }] },
      differs({ payment: 7, flags: ['repeated_after_reversal', 'differs_from_first'] }),
    ],
    [
      'is posted if the first notification could not be read',
      { earlier: [{ was: 'rejected' }] },
      matched('A', 'account_number'),
    ],
    [
      'is posted if only a repeat without a payment came before, because the repeated notification counts',
      { earlier: [{ was: 'repeated' }] },
      matched('A', 'account_number'),
    ],
    [
      'is posted if only a notification that differed came before, because it differed from another one',
      { earlier: [{ was: 'differs' }] },
      matched('A', 'account_number'),
    ],
    [
      'is another transaction if another provider reported it',
      {
        payments: [{ kind: 'reported', ofOtherProvider: true }],
        earlier: [{ was: 'matched', payment: 7, fields: 'equal', ofOtherProvider: true }],
      },
      matched('A', 'account_number'),
    ],
    [
      'is another transaction if its id is another one',
      { payments: [{ kind: 'reported', transactionId: 'SKB0000000' }] },
      matched('A', 'account_number'),
    ],
  ])('%s', check);
});

describe('a notification that could not be posted at first', () => {
  it.each<Case>([
    ['is posted by a retry', { storedAs: 'pending' }, again(matched('A', 'account_number'))],
    [
      'is posted although a later one with other fields waits, because it is the first',
      { storedAs: 'pending', earlier: [{ id: 51, was: 'pending' }] },
      again(matched('A', 'account_number')),
    ],
    [
      'is posted although a later one differed from it',
      { storedAs: 'pending', earlier: [{ id: 51, was: 'differs' }] },
      again(matched('A', 'account_number')),
    ],
    [
      'differs from an earlier one that still waits',
      { storedAs: 'pending', earlier: [{ id: 49, was: 'pending' }] },
      again(differs()),
    ],
    [
      'keeps the outcome that another transaction has stored since it was read',
      {
        storedAs: 'pending',
        payments: [{ kind: 'reported' }],
        earlier: [{ id: 50, was: 'matched', payment: 7, fields: 'equal' }],
      },
      { outcome: 'matched', payment: 7 },
    ],
    [
      'differs from a later one that was posted first',
      {
        storedAs: 'pending',
        payments: [{ kind: 'reported' }],
        earlier: [{ id: 51, was: 'matched', payment: 7 }],
      },
      again(differs({ payment: 7 })),
    ],
    [
      'differs from a later one that is in conflict',
      {
        storedAs: 'pending',
        payments: [{ amount: 450 }],
        earlier: [{ id: 51, was: 'conflict', conflictsWith: 7 }],
      },
      again(differs()),
    ],
    [
      'is linked to the payment that staff have recorded in the meantime',
      { storedAs: 'pending', payments: [{}] },
      again(linked(7)),
    ],
    [
      'becomes a conflict, which is announced, if staff have recorded another amount in the meantime',
      { storedAs: 'pending', payments: [{ amount: 450 }] },
      again(conflict(7)),
    ],
    [
      'keeps the flag of the short code, and is not matched',
      { storedAs: 'pending', toAnotherBusiness: true },
      again(unmatched({ flags: ['other_short_code'] })),
    ],
  ])('%s', check);
});

describe('a payment that is reported in two forms', () => {
  const AFTER_REVERSAL = { flags: ['repeated_after_reversal'] };

  it.each<Case>([
    [
      'is posted once if a pull found it before its notification',
      {
        payments: [{ kind: 'reported', form: 'pulled payment' }],
        earlier: [{ was: 'matched', payment: 7, form: 'pulled payment' }],
      },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if a pull finds it after its notification',
      {
        form: 'pulled payment',
        payments: [{ kind: 'reported' }],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if a statement had it before its notification',
      {
        payments: [{ kind: 'reported', form: 'statement line' }],
        earlier: [{ was: 'matched', payment: 7, form: 'statement line' }],
      },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if a statement has it after its notification',
      {
        form: 'statement line',
        payments: [{ kind: 'reported' }],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if a statement line was linked to its manual payment before the notification',
      {
        payments: [{ kind: 'linked' }],
        earlier: [{ was: 'linked', payment: 7, form: 'statement line' }],
      },
      repeated({ payment: 7 }),
    ],
    [
      'differs if the amounts of the pull and the notification differ',
      {
        amount: 450,
        payments: [{ kind: 'reported', form: 'pulled payment' }],
        earlier: [{ was: 'matched', payment: 7, form: 'pulled payment' }],
      },
      differs({ payment: 7 }),
    ],
    [
      'differs if the amounts of the statement and the notification differ',
      {
        form: 'statement line',
        amount: 450,
        payments: [{ kind: 'reported' }],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      differs({ payment: 7 }),
    ],
    [
      'differs from its notification although a statement line belongs to another payment',
      {
        payments: [{ kind: 'reported' }],
        earlier: [
          { was: 'matched', payment: 7 },
          { id: 11, was: 'repeated', payment: 8, form: 'statement line' },
        ],
      },
      differs({ payment: 7 }),
    ],
    [
      'is not credited again after its reversal, and the second report is flagged',
      {
        form: 'pulled payment',
        payments: [{ kind: 'reported', isReversed: true }],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      repeated({ payment: 7, ...AFTER_REVERSAL }),
    ],
    [
      'is posted once if the books have its payment from a statement without a stored line',
      { payments: [{ kind: 'reported', form: 'statement line' }] },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if a pull finds it, and its notification is not stored',
      { form: 'pulled payment', payments: [{ kind: 'reported' }] },
      repeated({ payment: 7 }),
    ],
    [
      'differs if the books have its payment with another amount, and no report of it is stored',
      { amount: 450, payments: [{ kind: 'reported', form: 'statement line' }] },
      differs({ payment: 7 }),
    ],
    [
      'differs if both are calls, and the first one is not stored',
      { payments: [{ kind: 'reported' }] },
      differs({ payment: 7 }),
    ],
    [
      'is compared only with the reports of its payment, not with one that waits to be posted',
      {
        payments: [{ kind: 'reported', form: 'pulled payment' }],
        earlier: [
          { was: 'matched', payment: 7, form: 'pulled payment' },
          { id: 11, was: 'pending', amount: 450 },
        ],
      },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if it is retried after a pull has found it',
      {
        storedAs: 'pending',
        payments: [{ kind: 'reported', form: 'pulled payment' }],
        earlier: [{ id: 51, was: 'matched', payment: 7, form: 'pulled payment' }],
      },
      again(repeated({ payment: 7 })),
    ],
  ])('%s', check);
});

describe('a report that discloses less or more than the first one', () => {
  const FIRST = {
    was: 'matched',
    payment: 7,
    time: '2026-11-02T07:15:30Z',
    payer: 'the phone of A',
  } as const;
  const POSTED: Pick<Report, 'payments' | 'earlier'> = { payments: [{ kind: 'reported' }], earlier: [FIRST] };

  it.each<[string, Report]>([
    ['the payer’s number is masked now', { payer: 'the masked phone of A' }],
    ['the payer’s number is hashed now', { payer: 'the hashed phone of A' }],
    ['the payer’s number is missing now', { payer: 'nobody' }],
    [
      'the reference has another letter case',
      { payer: 'the phone of A', typed: 'the number of A in lower case' },
    ],
    ['the reference is missing now', { payer: 'the phone of A', typed: 'nothing' }],
    [
      'the first payer’s number was missing',
      { payer: 'the phone of A', earlier: [{ ...FIRST, payer: 'nobody', typed: 'nothing' }] },
    ],
    [
      'the first payer’s number was hashed, and is masked now',
      { payer: 'the masked phone of A', earlier: [{ ...FIRST, payer: 'the hashed phone of A' }] },
    ],
    [
      'the provider sends no times',
      { payer: 'the masked phone of A', withoutTimes: true, time: '2026-11-02T08:00:00Z' },
    ],
  ])('is a repeat if %s', (_statement, known) => {
    expect(report({ ...POSTED, ...known })).toEqual(repeated({ payment: 7 }));
  });

  it.each<[string, Report]>([
    ['the payer is another one', { payer: 'the phone of B' }],
    ['the masked number cannot be that of the payer', { payer: 'the masked phone of B' }],
    ['the hashed number cannot be that of the payer', { payer: 'the hashed phone of B' }],
    ['the reference is another one', { payer: 'the phone of A', typed: 'the number of B' }],
    ['the amount is another one', { payer: 'the masked phone of A', amount: 450 }],
    ['the time is another one', { payer: 'the masked phone of A', time: '2026-11-02T07:15:31Z' }],
    ['the time is unreadable now', { payer: 'the masked phone of A', parsedWith: ['unreadable_time'] }],
    [
      'the first time was unreadable',
      { payer: 'the masked phone of A', earlier: [{ ...FIRST, parsedWith: ['unreadable_time'] }] },
    ],
    [
      'the short code is another one',
      { payer: 'the masked phone of A', earlier: [{ ...FIRST, toAnotherBusiness: true }] },
    ],
    [
      'it contradicts an earlier repeat that disclosed more than the first report',
      {
        payer: 'the phone of B',
        earlier: [
          { ...FIRST, payer: 'nobody' },
          { ...FIRST, id: 11, was: 'repeated' },
        ],
      },
    ],
  ])('differs if %s', (_statement, known) => {
    const flags = [...(known.parsedWith ?? []), 'differs_from_first'];
    expect(report({ ...POSTED, ...known })).toEqual(differs({ payment: 7, flags }));
  });

  it.each<Case>([
    [
      'differs if a statement line names another payer than the call',
      { form: 'statement line', payer: 'the phone of B', ...POSTED },
      differs({ payment: 7 }),
    ],
    [
      'differs if a pulled payment has another reference than the call',
      { form: 'pulled payment', payer: 'the phone of A', typed: 'the number of B', ...POSTED },
      differs({ payment: 7 }),
    ],
    [
      'differs if a call after a pull has another reference',
      {
        typed: 'the number of B',
        payments: [{ kind: 'reported', form: 'pulled payment' }],
        earlier: [{ was: 'matched', payment: 7, form: 'pulled payment' }],
      },
      differs({ payment: 7 }),
    ],
    [
      'is a repeat if a statement line rounds the time and has another short code of the business',
      {
        form: 'statement line',
        payer: 'the masked phone of A',
        time: '2026-11-02T07:15:00Z',
        toAnotherBusiness: true,
        ...POSTED,
      },
      repeated({ payment: 7, flags: ['other_short_code'] }),
    ],
    [
      'differs if the answer to a payment request names another payer',
      { answersRequest: true, payer: 'the phone of B', ...POSTED },
      differs({ payment: 7 }),
    ],
    [
      'is a repeat if the answer to a payment request has another reference, which no payer typed',
      { answersRequest: true, payer: 'the phone of A', typed: 'the number of B', ...POSTED },
      repeated({ payment: 7 }),
    ],
    [
      'repeats a notification that could not be posted yet',
      { payer: 'nobody', earlier: [{ ...FIRST, was: 'pending', payment: undefined }] },
      repeated(),
    ],
    [
      'repeats a notification in conflict',
      {
        payer: 'nobody',
        payments: [{ amount: 450 }],
        earlier: [{ ...FIRST, was: 'conflict', payment: undefined, conflictsWith: 7 }],
      },
      repeated(),
    ],
  ])('%s', check);
});

describe('an unmatched payment whose repeat discloses more', () => {
  const FIRST = {
    was: 'unmatched',
    payment: 7,
    time: '2026-11-02T07:15:30Z',
    payer: 'the masked phone of B',
    typed: 'nothing',
  } as const;
  const UNMATCHED = { kind: 'reported', on: null } as const;
  const KNOWN: Report = {
    payer: 'the phone of B',
    typed: 'nothing',
    payments: [UNMATCHED],
    earlier: [FIRST],
  };
  const REMATCHED = repeated({
    payment: 7,
    rematches: 7,
    account: 'B',
    by: 'payer_phone',
    ledger: { unmatched: 400, receivable: -400 },
    publishes: ['payment.assigned'],
  });

  it.each<Case>([
    ['is matched by the payer’s number', KNOWN, REMATCHED],
    [
      'is matched by the reference',
      { ...KNOWN, typed: 'the number of A' },
      { ...REMATCHED, account: 'A', by: 'account_number' },
    ],
    ['is matched by a pulled payment', { ...KNOWN, form: 'pulled payment' }, REMATCHED],
    [
      'stays unmatched if staff have changed it',
      { ...KNOWN, payments: [{ ...UNMATCHED, isTouched: true }] },
      repeated({ payment: 7 }),
    ],
    [
      'stays unmatched if staff recorded it',
      { ...KNOWN, payments: [{ kind: 'linked', on: null }], earlier: [{ ...FIRST, was: 'linked' }] },
      repeated({ payment: 7 }),
    ],
    [
      'stays unmatched if the repeat lacks the reference of the first report',
      { ...KNOWN, earlier: [{ ...FIRST, typed: 'words that name nobody' }] },
      repeated({ payment: 7 }),
    ],
    [
      'stays unmatched if the better facts still name no account',
      { ...KNOWN, payer: 'a stranger', earlier: [{ ...FIRST, payer: 'nobody' }] },
      repeated({ payment: 7 }),
    ],
    [
      'stays unmatched if the account has no room',
      { ...KNOWN, accounts: { B: { paid: 9_999_999_999_999 } } },
      repeated({ payment: 7 }),
    ],
    ['stays unmatched if the report differs', { ...KNOWN, amount: 450 }, differs({ payment: 7 })],
    [
      'stays where it is if it is matched',
      { ...KNOWN, payments: [{ kind: 'reported', on: 'A' }] },
      repeated({ payment: 7 }),
    ],
    [
      'stays reversed',
      { ...KNOWN, payments: [{ ...UNMATCHED, isReversed: true }] },
      repeated({ payment: 7, flags: ['repeated_after_reversal'] }),
    ],
  ])('%s', check);

  it('has in its history how it was matched', () => {
    expect(rowsOfReport(KNOWN).changes).toMatchObject([
      {
        action: 'payment.assign',
        resource_id: 7,
        account_id: 138,
        before: { status: 'unmatched', accountId: null },
        after: { status: 'matched', accountId: 138, matchMethod: 'payer_phone' },
        data: { accountId: 138, amountMinor: 40_000 },
      },
    ]);
  });
});

describe('a payment that answers a payment request', () => {
  const ANSWER = { answersRequest: true };

  it.each<Case>([
    [
      'is posted once if its notification comes before the outcome of the request',
      { ...ANSWER, payments: [{ kind: 'reported' }], earlier: [{ was: 'matched', payment: 7 }] },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if its notification comes after the outcome of the request',
      { payments: [{ kind: 'reported' }], earlier: [{ was: 'matched', payment: 7, ...ANSWER }] },
      repeated({ payment: 7 }),
    ],
    [
      'is posted once if another notification differed from the outcome of the request before',
      {
        payments: [{ kind: 'reported' }],
        earlier: [
          { was: 'matched', payment: 7, ...ANSWER },
          { id: 11, was: 'differs', payment: 7, amount: 450 },
        ],
      },
      repeated({ payment: 7 }),
    ],
    [
      'is posted from its notification while the outcome of the request waits to be posted',
      { earlier: [{ was: 'pending', ...ANSWER }] },
      matched('A', 'account_number'),
    ],
    [
      'is posted from its notification while the outcome waits, also after a notification that differed',
      {
        earlier: [
          { was: 'pending', ...ANSWER },
          { id: 11, was: 'differs', amount: 450 },
        ],
      },
      matched('A', 'account_number'),
    ],
    [
      'is posted from the outcome of the request while its notification waits to be posted',
      { ...ANSWER, earlier: [{ was: 'pending' }] },
      matched('A', 'payment_request'),
    ],
    [
      'is posted once if the outcome is retried after the notification was posted',
      {
        ...ANSWER,
        storedAs: 'pending',
        payments: [{ kind: 'reported' }],
        earlier: [{ id: 51, was: 'matched', payment: 7 }],
      },
      again(repeated({ payment: 7 })),
    ],
    [
      'differs if the notification was posted with another amount',
      { ...ANSWER, amount: 450, payments: [{ kind: 'reported' }], earlier: [{ was: 'matched', payment: 7 }] },
      differs({ payment: 7 }),
    ],
    [
      'differs if the outcome was posted with another amount than the notification',
      { amount: 450, payments: [{ kind: 'reported' }], earlier: [{ was: 'matched', payment: 7, ...ANSWER }] },
      differs({ payment: 7 }),
    ],
    [
      'differs if a notification with another amount waits to be posted',
      { ...ANSWER, earlier: [{ was: 'pending', amount: 450 }] },
      differs(),
    ],
    [
      'repeats a notification in conflict that has the same amount',
      {
        ...ANSWER,
        payments: [{ amount: 450 }],
        earlier: [{ was: 'conflict', conflictsWith: 7 }],
      },
      repeated(),
    ],
    [
      'differs from a notification in conflict that has another amount',
      {
        ...ANSWER,
        payments: [{}],
        earlier: [{ was: 'conflict', conflictsWith: 7, amount: 450 }],
      },
      differs(),
    ],
    [
      'differs if only one of two earlier notifications has the same amount',
      {
        ...ANSWER,
        payments: [{}],
        earlier: [
          { was: 'conflict', conflictsWith: 7 },
          { id: 11, was: 'pending', amount: 450 },
        ],
      },
      differs(),
    ],
    ['is linked to the payment that staff have recorded by hand', { ...ANSWER, payments: [{}] }, linked(7)],
    [
      'is not credited again after its reversal, and the second report is flagged',
      {
        ...ANSWER,
        payments: [{ kind: 'reported', isReversed: true }],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      repeated({ payment: 7, flags: ['repeated_after_reversal'] }),
    ],
  ])('%s', check);
});

describe('a call whose provider has another time zone in the settings than before', () => {
  const POSTED: Pick<Report, 'zone' | 'payments'> = { zone: 'UTC', payments: [{ kind: 'reported' }] };

  it.each<Case>([
    [
      'is acknowledged if the fields are equal to those of the first call in the zone of that call',
      { ...POSTED, earlier: [{ was: 'matched', payment: 7, fields: 'equal' }] },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'is read in its own zone if only another provider has reported the transaction id before',
      {
        ...POSTED,
        earlier: [
          { was: 'matched', payment: 6, fields: 'equal', ofOtherProvider: true },
          { was: 'matched', payment: 7, fields: 'equal', zone: 'UTC' },
        ],
      },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'is read in its own zone if the call before could not be read',
      {
        ...POSTED,
        earlier: [{ was: 'rejected' }, { was: 'matched', payment: 7, fields: 'equal', zone: 'UTC' }],
      },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'is read in its own zone if a pull found the payment first',
      {
        ...POSTED,
        earlier: [
          { was: 'matched', payment: 7, form: 'pulled payment' },
          { was: 'repeated', payment: 7, fields: 'equal', zone: 'UTC' },
        ],
      },
      { outcome: 'repeated', payment: 7 },
    ],
    [
      'is read in its own zone if the answer to a payment request came first',
      {
        ...POSTED,
        earlier: [
          { was: 'matched', payment: 7, answersRequest: true },
          { was: 'repeated', payment: 7, fields: 'equal', zone: 'UTC' },
        ],
      },
      { outcome: 'repeated', payment: 7 },
    ],
  ])('%s', check);

  it.each<[what: string, given: Report]>([
    ['a pulled payment', { form: 'pulled payment' }],
    ['the answer to a payment request', { answersRequest: true }],
  ])('does not change the zone of %s, whose times always have the zone of the API', (_what, given) => {
    const earlier: Report['earlier'] = [{ was: 'matched', payment: 7, fields: 'equal', zone: 'UTC' }];
    expect(report({ ...given, payments: [{ kind: 'reported' }], earlier })).toEqual(repeated({ payment: 7 }));
  });
});

describe('a transaction that staff recorded under a similar reference', () => {
  const SIMILAR: Pick<Report, 'payments'> = { payments: [{ isSimilar: true }] };
  const TWO: Pick<Report, 'payments'> = {
    payments: [
      { id: 8, isSimilar: true },
      { id: 7, isSimilar: true },
    ],
  };
  const isInConflict = (id: number) => conflict(id, { flags: ['similar_reference'] });

  it.each<Case>([
    ['is a flagged conflict that credits nothing', SIMILAR, isInConflict(7)],
    [
      'is a flagged conflict, too, if it could not be posted at first',
      { ...SIMILAR, storedAs: 'pending' },
      again(isInConflict(7)),
    ],
    ['is a conflict with the first of two such payments', TWO, isInConflict(7)],
    [
      'is linked to the payment that staff choose in the conflict',
      { ...SIMILAR, storedAs: 'conflict', storedFlags: ['similar_reference'], chosenPayment: 7 },
      again(linked(7)),
    ],
    [
      'is linked to the second of two such payments if staff choose it',
      { ...TWO, storedAs: 'conflict', chosenPayment: 8 },
      again(linked(8)),
    ],
    [
      'is posted if staff decide in the conflict that both payments are real',
      { ...SIMILAR, storedAs: 'conflict', storedFlags: ['similar_reference'], bothAreReal: true },
      again(matched('A', 'account_number')),
    ],
    [
      'is linked to the payment with its own reference if there is one, too',
      { payments: [{ id: 6, isSimilar: true }, { id: 7 }] },
      linked(7),
    ],
    [
      'is posted if the amounts differ',
      { payments: [{ isSimilar: true, amount: 450 }] },
      matched('A', 'account_number'),
    ],
    [
      'is in conflict with a payment of three business days later',
      { time: '2026-11-01T21:00:00Z', payments: [{ isSimilar: true, day: '2026-11-05' }] },
      isInConflict(7),
    ],
    [
      'is posted if the payment is of four business days later',
      { time: '2026-11-01T20:59:59Z', payments: [{ isSimilar: true, day: '2026-11-05' }] },
      matched('A', 'account_number'),
    ],
    [
      'is posted if the provider has reported the payment with the similar reference, too',
      { payments: [{ isSimilar: true, kind: 'linked', transactionId: 'SKB2XQI9ZT' }] },
      matched('A', 'account_number'),
    ],
  ])('%s', check);
});

describe('a transaction that staff recorded first', () => {
  it.each<Case>([
    ['is linked if the amounts are equal', { payments: [{}] }, linked(7)],
    ['is linked if a pull finds it', { form: 'pulled payment', payments: [{}] }, linked(7)],
    [
      'is linked and flagged if the payment methods differ',
      { payments: [{ method: 'cash' }] },
      linked(7, { flags: ['other_method'] }),
    ],
    [
      'is linked if nothing shows whose money it is',
      { typed: 'words that name nobody', payments: [{ on: 'B' }] },
      linked(7),
    ],
    [
      'is linked if the manual payment has no account',
      { typed: 'the number of B', payments: [{ on: null }] },
      linked(7),
    ],
    [
      'is linked if it went to a short code of another business, and keeps that flag',
      { toAnotherBusiness: true, payments: [{ on: 'B' }] },
      linked(7, { flags: ['other_short_code'] }),
    ],
    [
      'is a conflict that credits nothing if the amounts differ',
      { payments: [{ amount: 450 }] },
      conflict(7),
    ],
    [
      'is a conflict if two manual payments have the amount',
      {
        payments: [
          { id: 8, method: 'cash' },
          { id: 7, method: 'mobile money' },
        ],
      },
      conflict(8),
    ],
    [
      'is a conflict with the manual payment of the other amount if one of two has the amount',
      {
        payments: [
          { id: 7, amount: 450 },
          { id: 8, method: 'cash' },
        ],
      },
      conflict(7),
    ],
    [
      'is a conflict with the later one if two manual payments have other amounts',
      {
        payments: [
          { id: 8, amount: 450 },
          { id: 7, amount: 300, method: 'cash' },
        ],
      },
      conflict(8),
    ],
    [
      'is linked to the other manual payment if one of two was reversed',
      { payments: [{ id: 7, isReversed: true }, { id: 8 }] },
      linked(8),
    ],
    [
      'is posted if the manual payment was reversed',
      { payments: [{ isReversed: true }] },
      matched('A', 'account_number'),
    ],
  ])('%s', check);
});

describe('a manual payment on another account than the payer meant', () => {
  const MAY_ASSIGN: Recorder[] = [
    'a user of finance',
    'a manager',
    'an admin',
    'an API key that may assign payments',
    'the system',
  ];

  it.each(MAY_ASSIGN)('is linked and flagged if %s recorded it', (recordedBy) => {
    const known: Report = { typed: 'the number of B', payments: [{ on: 'A', recordedBy }] };
    expect(report(known)).toEqual(linked(7, OTHER_ACCOUNT));
  });

  it.each((Object.keys(RECORDERS) as Recorder[]).filter((recorder) => !MAY_ASSIGN.includes(recorder)))(
    'is a conflict if %s recorded it',
    (recordedBy) => {
      const known: Report = { typed: 'the number of B', payments: [{ on: 'A', recordedBy }] };
      expect(report(known)).toEqual(conflict(7, OTHER_ACCOUNT));
    },
  );

  it.each<Case>([
    [
      'is linked and flagged if staff assigned it to its account',
      { typed: 'the number of B', payments: [{ on: 'A', assignedByStaff: true }] },
      linked(7, OTHER_ACCOUNT),
    ],
    [
      'is linked and flagged if staff resolve the conflict in its favour',
      { typed: 'the number of B', payments: [{ on: 'A' }], storedAs: 'conflict', chosenPayment: 7 },
      again(linked(7, OTHER_ACCOUNT)),
    ],
    [
      'is still a conflict if staff chose another payment',
      { typed: 'the number of B', payments: [{ on: 'A' }], storedAs: 'conflict', chosenPayment: 8 },
      again({ ...conflict(7, OTHER_ACCOUNT), publishes: undefined }),
    ],
    [
      'is a flagged conflict if the amount differs, too, even if finance recorded it',
      {
        typed: 'the number of B',
        payments: [{ on: 'A', amount: 450, recordedBy: 'a user of finance' }],
      },
      conflict(7, OTHER_ACCOUNT),
    ],
    [
      'has the flags of both differences if the payment methods differ, too',
      {
        typed: 'the number of B',
        payments: [{ on: 'A', method: 'cash', recordedBy: 'a user of finance' }],
      },
      linked(7, { flags: ['other_account', 'other_method'] }),
    ],
    [
      'is a conflict if the reference leads to another account of the same customer',
      { typed: 'the number of A2', accounts: { A2: {} }, payments: [{ on: 'A' }] },
      conflict(7, OTHER_ACCOUNT),
    ],
    [
      'is a conflict if the reference leads nowhere, and the phone of another customer pays',
      { typed: 'words that name nobody', payer: 'the phone of B', payments: [{ on: 'A' }] },
      conflict(7, OTHER_ACCOUNT),
    ],
    [
      'is a conflict if the reference is the number of an account of another customer with a typing error',
      { typed: 'the number of B with a typing error', payments: [{ on: 'A' }] },
      conflict(7, OTHER_ACCOUNT),
    ],
    [
      'is a conflict if the reference leads to two accounts of another customer',
      {
        typed: 'the national id of A',
        payer: 'the phone of B',
        accounts: { A2: {} },
        payments: [{ on: 'B' }],
      },
      conflict(7, OTHER_ACCOUNT),
    ],
    [
      'is a conflict if another reference of the payer was assigned to another customer',
      {
        typed: 'words that name nobody',
        assignedBefore: { on: 'B', what: 'another reference' },
        payments: [{ on: 'A' }],
      },
      conflict(7, OTHER_ACCOUNT),
    ],
    [
      'is linked if the same reference of another payer was assigned to another customer',
      {
        typed: 'words that name nobody',
        assignedBefore: { on: 'B', what: 'another payer' },
        payments: [{ on: 'A' }],
      },
      linked(7),
    ],
    [
      'is linked if the masked phone of another customer pays',
      { typed: 'words that name nobody', payer: 'the masked phone of B', payments: [{ on: 'A' }] },
      linked(7),
    ],
    [
      'is linked if its own customer pays with a reference that leads nowhere',
      { typed: 'words that name nobody', payer: 'the phone of A', payments: [{ on: 'A' }] },
      linked(7),
    ],
    [
      'is linked if the reference is its own number with a typing error',
      { typed: 'the number of A with a typing error', payments: [{ on: 'A' }] },
      linked(7),
    ],
    [
      'is linked if the customer who pays has several accounts, and it is on one of them',
      {
        typed: 'words that name nobody',
        payer: 'the phone of A',
        accounts: { A2: {} },
        payments: [{ on: 'A2' }],
      },
      linked(7),
    ],
    [
      'is linked if one of the two customers who may be meant is its own',
      {
        typed: 'words that name nobody',
        payer: 'the phone of A',
        assignedBefore: { on: 'B', what: 'another reference' },
        payments: [{ on: 'A' }],
      },
      linked(7),
    ],
    [
      'is linked if the phone of another customer pays for an account that is closed',
      {
        typed: 'words that name nobody',
        payer: 'the phone of B',
        accounts: { B: { status: 'cancelled' } },
        payments: [{ on: 'A' }],
      },
      linked(7),
    ],
  ])('%s', check);
});

describe('a conflict that is decided again', () => {
  it.each<Case>([
    [
      'is posted if the manual payment was reversed, and loses the flags of the conflict',
      {
        storedAs: 'conflict',
        storedFlags: ['other_account', 'other_method', 'payment_reversed'],
        parsedWith: ['unreadable_time'],
        payments: [{ isReversed: true }],
      },
      again(matched('A', 'account_number', { flags: ['unreadable_time'] })),
    ],
    [
      'is linked to the manual payment that is left of two',
      { storedAs: 'conflict', payments: [{ id: 8 }] },
      again(linked(8)),
    ],
    [
      'is linked to the manual payment that staff took off its account',
      {
        storedAs: 'conflict',
        typed: 'the number of B',
        storedFlags: ['other_account'],
        payments: [{ on: null }],
      },
      again(linked(7)),
    ],
    [
      'stays a conflict if the amounts still differ, and is not announced again',
      { storedAs: 'conflict', payments: [{ amount: 450 }] },
      again({ ...conflict(7), publishes: undefined }),
    ],
    [
      'is posted although a later notification differed from it',
      { storedAs: 'conflict', earlier: [{ id: 51, was: 'differs' }] },
      again(matched('A', 'account_number')),
    ],
    [
      'is posted although an earlier notification with other fields waits',
      { storedAs: 'conflict', earlier: [{ id: 49, was: 'pending' }] },
      again(matched('A', 'account_number')),
    ],
    [
      'is not posted if another notification has posted the transaction',
      {
        storedAs: 'conflict',
        payments: [{ kind: 'reported' }],
        earlier: [{ id: 51, was: 'matched', payment: 7 }],
      },
      again(differs({ payment: 7 })),
    ],
  ])('%s', check);
});

describe('a linked notification whose manual payment was reversed', () => {
  it.each<Case>([
    [
      'is posted',
      { storedAs: 'linked', storedFlags: ['other_method'], payments: [{ isReversed: true }] },
      again(matched('A', 'account_number')),
    ],
    [
      'is posted as unmatched if its reference leads nowhere',
      { storedAs: 'linked', typed: 'words that name nobody', payments: [{ isReversed: true }] },
      again(unmatched()),
    ],
    [
      'is linked to the other manual payment of the transaction',
      { storedAs: 'linked', payments: [{ isReversed: true }, { id: 8, method: 'cash' }] },
      again(linked(8, { flags: ['other_method'] })),
    ],
    [
      'becomes a conflict, which is announced, if the other manual payment has another amount',
      { storedAs: 'linked', payments: [{ isReversed: true }, { id: 8, amount: 450, method: 'cash' }] },
      again(conflict(8)),
    ],
  ])('%s', check);
});

describe('the rows of a notification', () => {
  const NOTIFICATION = {
    provider: 'mobilemoney',
    source: 'webhook',
    provider_statement_id: null,
    payment_request_id: null,
    raw_body: '{"TransID":"SKB2XQ19ZT"}',
    trans_id: TRANSACTION,
    content_hash: Buffer.from('equal'),
    amount_minor: 40_000n,
    trans_time: new Date('2026-11-02T07:15:30Z'),
    time_zone: null,
    business_short_code: '600638',
    bill_ref: 'ACC10000012',
    payer: '254799999999',
    payer_name: 'JANE DOE',
    flags: [],
    status: 'processed',
    outcome: 'matched',
    payment_id: 900,
    conflict_payment_id: null,
    attempts: 1,
    processed_at: new Date('2026-11-02T09:00:00Z'),
  };
  const PAYMENT = {
    id: 900,
    account_id: 1,
    amount_minor: 40_000,
    payment_method_id: 1,
    transaction_ref: TRANSACTION,
    reference_key: TRANSACTION,
    payment_date: '2026-11-02',
    status: 'matched',
    source: 'webhook',
    match_method: 'account_number',
    match_reason: null,
    provider: 'mobilemoney',
    provider_trans_id: TRANSACTION,
    external_id: null,
    metadata: {},
    reversed_at: null,
    reversal_reason: null,
    reconciliation_id: null,
    reconciliation_date: null,
    import_id: null,
    corrects_payment_id: null,
    created_by: null,
    api_key_id: null,
    created_at: new Date('2026-11-02T09:00:00Z'),
    updated_at: new Date('2026-11-02T09:00:00Z'),
  };
  const CHANGE = {
    actor: 'provider mobilemoney',
    actor_user_id: null,
    api_key_id: null,
    action: null,
    resource: 'payment',
    resource_id: 900,
    before: null,
    after: null,
    request_id: null,
    version: 1,
    account_id: 1,
    account_version: null,
  };

  it('are the notification, its payment and their changes', () => {
    expect(rowsOfReport({})).toEqual({
      notifications: [NOTIFICATION],
      payments: [PAYMENT],
      changes: [
        {
          ...CHANGE,
          action: 'payment.record',
          after: {
            accountId: 1,
            amountMinor: 40_000n,
            paymentMethodId: 1,
            transactionRef: TRANSACTION,
            valueDate: '2026-11-02',
          },
          type: 'payment.received',
          data: {
            accountId: 1,
            amountMinor: 40_000,
            paymentMethodId: 1,
            paymentDate: '2026-11-02',
            source: 'webhook',
            status: 'matched',
          },
        },
        {
          ...CHANGE,
          type: 'payment.matched',
          data: { accountId: 1, amountMinor: 40_000, matchMethod: 'account_number' },
        },
      ],
      answers: [],
      stored: undefined,
      link: undefined,
      money: {
        event: 'payment_received',
        actor: 'provider mobilemoney',
        valueDate: '2026-11-02',
        contra: [{ ledgerAccount: 'clearing', amountMinor: 40_000n, paymentMethodId: 1 }],
      },
    });
  });

  it('have no account if the payment is unmatched', () => {
    const { payments, changes } = rowsOfReport({ typed: 'words that name nobody' });
    expect(payments).toMatchObject([
      { account_id: null, status: 'unmatched', match_method: null, match_reason: null },
    ]);
    expect(changes).toMatchObject([
      { type: 'payment.received', account_id: null, data: { accountId: null, status: 'unmatched' } },
      {
        type: 'payment.unmatched',
        account_id: null,
        data: { amountMinor: 40_000, paymentMethodId: 1, paymentDate: '2026-11-02' },
      },
    ]);
  });

  it('name no method of matching if the account of the payment request is full', () => {
    const { payments } = rowsOfReport({
      answersRequest: true,
      accounts: { A: { paid: 9_999_999_999_999 } },
    });
    expect(payments).toMatchObject([{ account_id: null, match_method: null, match_reason: null }]);
  });

  it.each<[form: Report['form'], columns: object]>([
    ['statement line', { source: 'import', provider_statement_id: 31 }],
    ['pulled payment', { source: 'pull', provider_statement_id: null }],
  ])('name the source of a %s', (form, columns) => {
    const { notifications, payments } = rowsOfReport({ form });
    expect(notifications).toMatchObject([columns]);
    expect(payments[0]?.source).toBe(notifications[0]?.source);
  });

  it('name the payment request that the payment answers', () => {
    expect(rowsOfReport({ answersRequest: true }).notifications).toMatchObject([{ payment_request_id: 21 }]);
  });

  it.each([
    ['2026-11-01T20:59:59Z', '2026-11-01'],
    ['2026-11-01T21:00:00Z', '2026-11-02'],
  ])('have for a payment at %s the business day %s', (time, day) => {
    expect(rowsOfReport({ time }).payments[0]?.payment_date).toBe(day);
  });

  it('have the business day of the receipt if a stored notification has no time', () => {
    const rows = rowsOfReport({ storedAs: 'pending', time: 'not known' });
    expect(rows.payments[0]?.payment_date).toBe('2026-11-01');
  });

  it('are the notification and an event if it is a conflict', () => {
    expect(rowsOfReport({ payments: [{ amount: 450 }] })).toEqual({
      notifications: [{ ...NOTIFICATION, outcome: 'conflict', payment_id: null, conflict_payment_id: 7 }],
      payments: [],
      changes: [
        {
          ...CHANGE,
          resource: 'notification',
          resource_id: 60,
          account_id: null,
          type: 'notification.conflict',
          data: { conflictingPaymentId: 7, amountMinor: 40_000n },
        },
      ],
      answers: [],
      stored: undefined,
      link: undefined,
      money: undefined,
    });
  });

  it('are an update and an event if a stored notification becomes a conflict', () => {
    const { notifications, stored, changes } = rowsOfReport({
      storedAs: 'pending',
      payments: [{ amount: 450 }],
    });
    expect(notifications).toEqual([]);
    expect(stored).toEqual({
      id: 50,
      outcome: { outcome: 'conflict', paymentId: null, conflictPaymentId: 7, flags: [] },
    });
    expect(changes).toMatchObject([
      {
        resource: 'notification',
        resource_id: 50,
        data: { conflictingPaymentId: 7, amountMinor: 40_000n },
      },
    ]);
  });

  it('record who was linked to what', () => {
    const { link, changes, notifications, payments } = rowsOfReport({
      payments: [{ assignedByStaff: true }],
    });
    expect(link).toEqual({
      id: 7,
      provider: 'mobilemoney',
      transId: TRANSACTION,
      reference: TRANSACTION,
      matchMethod: 'manual_entry',
    });
    expect(payments).toEqual([]);
    expect(notifications).toEqual([{ ...NOTIFICATION, outcome: 'linked', payment_id: 7 }]);
    expect(changes).toEqual([
      {
        ...CHANGE,
        action: 'payment.link',
        resource_id: 7,
        account_id: null,
        before: { matchMethod: 'assigned' },
        after: { matchMethod: 'manual_entry', transId: TRANSACTION },
        type: 'payment.linked',
        data: { accountId: 1, amountMinor: 40_000n },
      },
    ]);
  });
});

describe('the rows of a link', () => {
  it('give the payment the id of the transaction as its reference, if it had a similar one', () => {
    const payments: Report['payments'] = [{ isSimilar: true }];
    const { link } = rowsOfReport({ storedAs: 'conflict', chosenPayment: 7, payments });
    expect(link).toMatchObject({ id: 7, reference: TRANSACTION });
  });

  it('name no method of matching if the payment has no account', () => {
    expect(rowsOfReport({ payments: [{ on: null }] }).link).toMatchObject({ id: 7, matchMethod: null });
  });
});

describe('the flags that staff see', () => {
  it('are the stored ones', () => {
    expect(asFlags(['other_account', 'future_time'])).toEqual(['other_account', 'future_time']);
  });
});

describe('a notification that cannot be decided', () => {
  it('fails if its provider has an unknown payment method', () => {
    expect(() => report({ method: 'no known method' })).toThrow('There is no payment method unknown.');
  });

  it.each(['trans_id', 'amount_minor', 'content_hash'] as const)(
    'fails if it was stored without %s, because it could not be read',
    (column) => {
      expect(() => processStoredWithout(column)).toThrow(
        'Notification 50 could not be read when it arrived, so it cannot be processed.',
      );
    },
  );
});

describe('the locks of a notification', () => {
  it('are those of its transaction, and of the account whose number was typed', () => {
    expect(locksOfReport({ typed: 'the number of B' })).toEqual({
      names: ['payment reference SKB2XQ19ZT'],
      account: 'B',
    });
  });

  it('name no account if the reference is not an account number', () => {
    expect(locksOfReport({ typed: 'the phone of A' }).account).toBeUndefined();
  });

  it('name no account if the money went to a short code of another business', () => {
    expect(locksOfReport({ typed: 'the number of A', toAnotherBusiness: true }).account).toBeUndefined();
  });

  it('exclude payments whose reference is another id in the report, or similar to it', () => {
    expect(locksOfReport({ otherFields: { bank: 'FT263O5ABCDE' } })).toMatchObject({
      names: ['payment reference SKB2XQ19ZT'],
      otherIds: ['FT263O5ABCDE'],
      shared: ['payment reference FT263O5ABCDE', 'payment reference FT26305ABCDE'],
    });
    expect(locksOfReport({ otherFields: { copy: 'SKB2XQI9ZT' } })).toMatchObject({
      names: ['payment reference SKB2XQ19ZT'],
      shared: ['payment reference SKB2XQI9ZT'],
    });
  });

  it('name the account of the payment request that the payment answers', () => {
    expect(locksOfReport({ typed: 'the number of A', answersRequest: true }).account).toBe('A');
  });
});

describe('the reports of one transaction', () => {
  const earlier = (fields: Partial<KnownNotification> = {}) =>
    ({
      ...{ amount_minor: 40_000, source: 'webhook', payment_request_id: null, flags: [] },
      ...{ business_short_code: '600638', trans_time: '2026-11-02T08:00:00.000Z' },
      ...{ bill_ref: 'ACC10000012', payer: '254712345678' },
      ...fields,
    }) as KnownNotification;
  const later = (fields: Partial<Notification> = {}) =>
    ({
      ...{ amountMinor: 40_000n, source: 'webhook', paymentRequestId: null, flags: [] as string[] },
      ...{ businessShortCode: '600638', transTime: new Date('2026-11-02T08:00:00.000Z') },
      ...{ billRef: 'acc10000012', payer: '254712345678', providerSendsTime: true },
      ...fields,
    }) as Notification;
  const isRepeat = (one: Partial<Notification>, other: Partial<KnownNotification> = {}) =>
    repeats(later(one), earlier(other), 'KE');

  it('are repeats if calls agree in all that they disclose', () => {
    expect(isRepeat({})).toBe(true);
    expect(isRepeat({ billRef: null })).toBe(true);
    expect(isRepeat({}, { bill_ref: null })).toBe(true);
    expect(isRepeat({ amountMinor: 40_001n })).toBe(false);
    expect(isRepeat({ billRef: 'ACC10000025' })).toBe(false);
    expect(isRepeat({ payer: '254700000000' })).toBe(false);
    expect(isRepeat({ businessShortCode: '1' })).toBe(false);
    expect(isRepeat({ transTime: new Date('2026-11-02T08:00:01.000Z') })).toBe(false);
  });

  it('have no comparable time if one of them has the time of its receipt', () => {
    for (const flag of ['unreadable_time', 'future_time']) {
      expect(isRepeat({ flags: [flag] })).toBe(false);
      expect(isRepeat({}, { flags: [flag] })).toBe(false);
    }
    expect(isRepeat({ flags: ['other_short_code'] })).toBe(true);
    const moment = new Date('2026-11-02T09:00:00.000Z');
    expect(isRepeat({ providerSendsTime: false, transTime: moment, flags: ['unreadable_time'] })).toBe(true);
  });

  it('disclose all if a later one is as precise about the payer and the reference as any earlier one', () => {
    const MASKED = '2547****678';
    const discloses = (one: Partial<Notification>, ...others: Partial<KnownNotification>[]) =>
      disclosesAll(later(one), others.map(earlier), 'KE');
    expect(discloses({}, {})).toBe(true);
    expect(discloses({ payer: MASKED }, { payer: MASKED })).toBe(true);
    expect(discloses({ payer: MASKED }, { payer: null })).toBe(true);
    expect(discloses({ payer: null }, { payer: MASKED })).toBe(false);
    expect(discloses({ payer: MASKED }, {})).toBe(false);
    expect(discloses({ payer: MASKED }, { payer: MASKED }, {})).toBe(false);
    expect(discloses({ billRef: null }, { bill_ref: null })).toBe(true);
    expect(discloses({ billRef: null }, { bill_ref: null }, {})).toBe(false);
  });

  it('can move only an unmatched payment that nobody has touched since', () => {
    const moment = '2026-11-02T08:00:00.000Z';
    const payment = {
      ...{ status: 'unmatched', provider: 'mobilemoney', source: 'webhook', reconciliation_id: null },
      ...{ created_at: moment, updated_at: moment, awaits_approval: false },
    } as KnownPayment;
    expect(isUntouched(payment)).toBe(true);
    const changes: Partial<KnownPayment>[] = [
      { status: 'matched' },
      { provider: null },
      { source: 'manual' },
      { reconciliation_id: 3 },
      { updated_at: '2026-11-02T08:00:00.001Z' },
      { awaits_approval: true },
    ];
    for (const change of changes) expect(isUntouched({ ...payment, ...change })).toBe(false);
  });
});

describe('the columns of a notification that cannot be read', () => {
  const nothing = {
    ...{ trans_id: null, amount_minor: null, trans_time: null, business_short_code: null },
    ...{ bill_ref: null, payer: null, payer_name: null },
  };

  it('are the fields that could be read', () => {
    expect(readableColumns({})).toEqual(nothing);
    const transTime = new Date('2026-11-02T08:00:00.000Z');
    expect(readableColumns({ transId: 'X1', amountMinor: 5n, transTime, billRef: 'B' })).toEqual({
      ...nothing,
      ...{ trans_id: 'X1', amount_minor: 5n, trans_time: transTime, bill_ref: 'B' },
    });
    expect(readableColumns({ businessShortCode: '1', payer: '2', payerName: 'N' })).toEqual({
      ...nothing,
      ...{ business_short_code: '1', payer: '2', payer_name: 'N' },
    });
  });
});
