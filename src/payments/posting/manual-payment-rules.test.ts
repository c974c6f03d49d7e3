import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import {
  type AccountName,
  type Happened,
  locksOfRecording,
  RECORDERS,
  type Recorder,
  type Recording,
  record,
  rowsOfRecording,
  TRANSACTION,
} from '../../../test/support/decisions.ts';
import { booksOf } from '../../accounts/ledger/rules.ts';
import { type Actor, SYSTEM } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import {
  type AlikePayment,
  type Confirmation,
  type EarlierPayment,
  findCashWarnings,
  findWarnings,
  MAX_NAMED_PAYMENTS,
  PAYMENT_WARNINGS,
  type PaymentWarningCode,
  refuseUnconfirmed,
} from './warning-rules.ts';

// Unless a row says otherwise, an agent records 400 in cash on account A with a transaction reference. The known payments are manual
// payments of 400 by mobile money with this reference.

type Case = [statement: string, known: Recording, happens: Happened];

function check(_statement: string, known: Recording, happens: Happened): void {
  expect(record(known)).toEqual(happens);
}

function recorded(account: AccountName, more: Partial<Happened> = {}): Happened {
  return {
    outcome: 'recorded',
    payment: 'new',
    account,
    ledger: { clearing: 400, receivable: -400 },
    publishes: ['payment.received'],
    ...more,
  };
}

/** The new payment takes over the transaction of the reversed payment 7. */
function recordedAgain(more: Partial<Happened> = {}): Happened {
  return recorded('A', {
    by: 'manual_entry',
    takesTransactionFrom: 7,
    stores: 'the outcome of notification 10',
    ...more,
  });
}

function notFound(resource: string, field: string, id: number): Happened {
  return {
    outcome: 'refused',
    refusal: 'NOT_FOUND',
    details: { resource, field, id },
    says: `There is no ${resource.replace('_', ' ')} with id ${id}.`,
  };
}

function invalid(path: string, message: string): Happened {
  return {
    outcome: 'refused',
    refusal: 'VALIDATION_ERROR',
    details: { fields: [{ path, message }] },
    says: `${path}: ${message}`,
  };
}

/** Another payment has the reference. */
function duplicate(id?: number): Happened {
  return {
    outcome: 'refused',
    refusal: 'DUPLICATE_ENTRY',
    details: { resource: 'payment', field: 'transactionRef', ...(id !== undefined && { id }) },
    says: 'Another payment already has this transactionRef.',
  };
}

/** A statement of the provider has the reference. */
function onStatement(id?: number): Happened {
  return {
    outcome: 'refused',
    refusal: 'DUPLICATE_ENTRY',
    details: { resource: 'provider_statement', field: 'transactionRef', ...(id !== undefined && { id }) },
    says: 'An uploaded statement of the provider reports this transaction. Ask finance to import the payment from the statement.',
  };
}

const MAY_ASSIGN: Recorder[] = [
  'a user of finance',
  'a manager',
  'an admin',
  'an API key that may assign payments',
  'the system',
];
const MAY_NOT_ASSIGN = (Object.keys(RECORDERS) as Recorder[]).filter((one) => !MAY_ASSIGN.includes(one));
const ACCOUNT_FULL = invalid(
  'amount',
  'is refused: the paid amount of the account would reach 10^15 minor units',
);

describe('a manual payment', () => {
  it.each<Case>([
    ['is recorded on the account that staff chose', { on: 'B' }, recorded('B')],
    ['may have no reference', { reference: null }, recorded('A')],
    [
      'is refused if its payment method does not exist',
      { method: 'an unknown method' },
      notFound('payment_method', 'paymentMethodId', 99),
    ],
    [
      'is refused if its payment method is not active',
      { method: 'an inactive method' },
      invalid('paymentMethodId', 'must refer to an active payment method'),
    ],
    [
      'is refused if its account does not exist',
      { on: 'an unknown account' },
      notFound('account', 'accountId', 404),
    ],
    [
      'is refused because of its payment method before its account is looked at',
      { method: 'an inactive method', on: 'an unknown account' },
      invalid('paymentMethodId', 'must refer to an active payment method'),
    ],
    [
      'can bring an account to the largest amount',
      { amount: 399.99, accounts: { A: { paid: 9_999_999_999_600 } } },
      recorded('A', {
        ledger: { clearing: 399.99, customer_credit: -399.99 },
        accountBecomes: 'completed',
        warns: ['above_balance'],
      }),
    ],
    [
      'is refused if it would bring its account to 10^15 minor units',
      { accounts: { A: { paid: 9_999_999_999_600 } } },
      ACCOUNT_FULL,
    ],
    [
      'is refused if it would do so after earlier payments of its batch',
      { accounts: { A: { paid: 9_999_999_999_100 } }, earlierInBatch: [300, 200] },
      ACCOUNT_FULL,
    ],
    [
      'is refused as invalid before it is refused as a duplicate',
      { accounts: { A: { paid: 9_999_999_999_600 } }, payments: [{ method: 'cash' }] },
      ACCOUNT_FULL,
    ],
  ])('%s', check);
});

describe('a manual payment whose reference another manual payment has', () => {
  it.each<Case>([
    ['is a duplicate if both have the same method', { payments: [{ method: 'cash' }] }, duplicate(7)],
    [
      'is a duplicate, also with another amount and on another account',
      { on: 'B', amount: 10, payments: [{ method: 'cash' }] },
      duplicate(7),
    ],
    [
      'is a duplicate if the other payment has no account',
      { payments: [{ method: 'cash', on: null }] },
      duplicate(7),
    ],
    ['is recorded if their methods differ', { payments: [{ method: 'mobile money' }] }, recorded('A')],
    [
      'is recorded if the other payment was reversed',
      { payments: [{ method: 'cash', isReversed: true }] },
      recorded('A'),
    ],
    [
      'is a duplicate if one of two other payments was not reversed',
      {
        payments: [
          { id: 6, method: 'cash', isReversed: true },
          { id: 7, method: 'cash' },
        ],
      },
      duplicate(7),
    ],
  ])('%s', check);
});

describe('a manual payment whose transaction a provider has reported', () => {
  const REVERSED: Pick<Recording, 'payments' | 'earlier'> = {
    payments: [{ kind: 'reported', isReversed: true, method: 'cash' }],
    earlier: [{ was: 'matched', payment: 7 }],
  };

  it.each<Case>([
    [
      'is a duplicate of the payment of the notification, also with another method',
      { payments: [{ kind: 'reported' }], earlier: [{ was: 'matched', payment: 7 }] },
      duplicate(7),
    ],
    [
      'is a duplicate of an unmatched payment',
      { payments: [{ kind: 'reported', on: null }], earlier: [{ was: 'unmatched', payment: 7 }] },
      duplicate(7),
    ],
    [
      'is a duplicate of a manual payment that was linked to the notification, also with another method',
      { payments: [{ kind: 'linked' }], earlier: [{ was: 'linked', payment: 7 }] },
      duplicate(7),
    ],
    [
      'is a duplicate of the payment of a provider, even if there is no notification of it',
      { payments: [{ kind: 'reported' }] },
      duplicate(7),
    ],
    [
      'is a duplicate of a manual payment in conflict, also with another method',
      { payments: [{ amount: 450 }], earlier: [{ was: 'conflict', conflictsWith: 7 }] },
      duplicate(7),
    ],
    [
      'is a duplicate of the payment in conflict if the payment is not found by the reference',
      { earlier: [{ was: 'conflict', conflictsWith: 6 }] },
      duplicate(6),
    ],
    [
      'is a duplicate of the payment of the notification if the payment is not found by the reference',
      { by: 'a user of finance', earlier: [{ was: 'matched', payment: 6 }] },
      duplicate(6),
    ],
    [
      'is a duplicate of an unknown payment if the notification names none',
      { earlier: [{ was: 'matched' }] },
      duplicate(),
    ],
    [
      'is recorded if the notification is a repeat or differs, because such a notification has no payment',
      { earlier: [{ was: 'repeated' }, { was: 'differs' }] },
      recorded('A'),
    ],
    [
      'is recorded if the notification waits to be posted, because the retry finds the manual payment',
      { earlier: [{ was: 'pending' }] },
      recorded('A'),
    ],
  ])('%s', check);

  it.each(MAY_ASSIGN)('is recorded again by %s after the reversal of its payment', (by) => {
    expect(record({ ...REVERSED, by })).toEqual(recordedAgain());
  });

  it.each(MAY_NOT_ASSIGN)('is not recorded again by %s after the reversal of its payment', (by) => {
    expect(record({ ...REVERSED, by })).toEqual(duplicate(7));
  });

  it.each<Case>([
    [
      'is recorded again and flagged if its method differs from that of the reversed payment',
      { ...REVERSED, by: 'a user of finance', method: 'mobile money' },
      recordedAgain({ flags: ['other_method'] }),
    ],
    [
      'is not recorded again with another amount than the provider reported',
      { ...REVERSED, by: 'a user of finance', amount: 399.5 },
      invalid('amount', 'must be 400, the amount that the provider reported for this transaction'),
    ],
    [
      'is not recorded again while an unreversed payment has the reference',
      {
        by: 'a user of finance',
        payments: [
          { kind: 'reported', isReversed: true },
          { id: 8, method: 'mobile money' },
        ],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      duplicate(8),
    ],
    [
      'is not recorded again after the reversal of a manual payment only, because the notification was not reversed',
      {
        by: 'a user of finance',
        payments: [{ id: 8, isReversed: true }],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      duplicate(7),
    ],
    [
      'is recorded again although a statement has the transaction, too',
      { ...REVERSED, by: 'a user of finance', onStatement: 31 },
      recordedAgain(),
    ],
    [
      'takes over the transaction of the notification that has a payment, not of a repeat',
      {
        by: 'a user of finance',
        payments: [{ kind: 'reported', isReversed: true, method: 'cash' }],
        earlier: [
          { id: 9, was: 'differs', payment: 7, amount: 900 },
          { id: 10, was: 'matched', payment: 7 },
          { id: 11, was: 'repeated', payment: 7 },
        ],
      },
      recordedAgain(),
    ],
  ])('%s', check);
});

describe('a manual payment of an agent', () => {
  it.each<Case>([
    ['is recorded for a day of a week ago', { day: '2026-10-26' }, recorded('A')],
    [
      'is refused for an earlier day',
      { day: '2026-10-25' },
      invalid(
        'paymentDate',
        'must not be before 2026-10-26: agents can record payments of today and of the 7 days before',
      ),
    ],
    [
      'is refused if it is not cash, with the methods for cash',
      { method: 'mobile money' },
      invalid(
        'paymentMethodId',
        'must refer to a payment method for cash: agents record only cash; possible are 2 (Cash)',
      ),
    ],
    [
      'is refused if the company has no method for cash',
      { method: 'mobile money', hasNoCashMethod: true },
      invalid(
        'paymentMethodId',
        'must refer to a payment method for cash: agents record only cash; possible are none',
      ),
    ],
    [
      'has limits that are not for others',
      { by: 'a manager', method: 'mobile money', day: '2026-01-01' },
      recorded('A'),
    ],
  ])('%s', check);
});

describe('a manual payment whose reference is similar to that of another payment', () => {
  const REPORTED: Pick<Recording, 'payments'> = {
    payments: [{ kind: 'reported', isSimilar: true, transactionId: 'SKB2XQI9ZT' }],
  };
  const isReported = (advice: string): Happened => ({
    outcome: 'refused',
    refusal: 'DUPLICATE_ENTRY',
    details: { resource: 'payment', field: 'transactionRef', id: 7 },
    says: expect.stringMatching(new RegExp(`^The provider has reported SKB2XQI9ZT, .*${advice}`)),
  });

  it.each(MAY_ASSIGN)('is refused, and %s can say that both are real', (by) => {
    expect(record({ ...REPORTED, by })).toEqual(isReported('send bothAreReal: true'));
    expect(record({ ...REPORTED, by, bothAreReal: true })).toEqual(recorded('A'));
  });

  it.each(MAY_NOT_ASSIGN)('is refused, and %s cannot say that both are real', (by) => {
    for (const bothAreReal of [false, true])
      expect(record({ ...REPORTED, by, bothAreReal })).toEqual(isReported('ask finance'));
  });

  it.each<Case>([
    [
      'is recorded if staff recorded the other payment, too',
      { payments: [{ isSimilar: true }] },
      recorded('A'),
    ],
    [
      'is recorded if the amounts differ',
      { payments: [{ kind: 'reported', isSimilar: true, amount: 450 }] },
      recorded('A'),
    ],
    [
      'is recorded again after the reversal of its own payment',
      {
        by: 'a user of finance',
        payments: [
          { kind: 'reported', isReversed: true, method: 'cash' },
          { id: 8, kind: 'reported', isSimilar: true },
        ],
        earlier: [{ was: 'matched', payment: 7 }],
      },
      recordedAgain(),
    ],
  ])('%s', check);
});

describe('an unusual manual payment', () => {
  const ABOVE_BALANCE: Recording = { by: 'a user of finance', amount: 1_100 };

  it.each<[statement: string, known: Recording, warns: string[]]>([
    ['is recorded with a warning if it is above the balance', ABOVE_BALANCE, ['above_balance']],
    ['is recorded with a warning if another payment is like it', { alike: [6] }, ['same_payment']],
    [
      'is recorded with a warning about the cash of its recorder, also if the request asks for checks',
      { cashInHand: 601, cashCeiling: 1_000, asksForChecks: true },
      ['cash_above_ceiling'],
    ],
    [
      'is recorded with all warnings',
      { ...ABOVE_BALANCE, alike: [6], cashInHand: 601, cashCeiling: 1_000 },
      ['above_balance', 'same_payment', 'cash_above_ceiling'],
    ],
  ])('%s', (_statement, known, warns) => {
    expect(record(known)).toMatchObject({ outcome: 'recorded', warns });
  });

  it('is not recorded if the request asks for checks, until its warnings are confirmed', () => {
    expect(record({ ...ABOVE_BALANCE, asksForChecks: true })).toMatchObject({
      outcome: 'refused',
      refusal: 'VALIDATION_ERROR',
      details: { balance: 1_000, credit: 0, warnings: [{ code: 'above_balance' }] },
    });
  });
});

describe('a manual payment whose reference is on a statement of the provider', () => {
  it.each<Case>([
    ['is refused, and an agent is not told which statement', { onStatement: 31 }, onStatement()],
    [
      'is refused, and finance is told which statement',
      { onStatement: 31, by: 'a user of finance' },
      onStatement(31),
    ],
    [
      'is refused, and a viewer is told which statement',
      { onStatement: 31, by: 'a viewer' },
      onStatement(31),
    ],
    [
      'is a duplicate of an unreversed payment, also with another method',
      { onStatement: 31, payments: [{ method: 'mobile money' }] },
      duplicate(7),
    ],
    [
      'is refused if the payment with the reference was reversed',
      { onStatement: 31, payments: [{ method: 'cash', isReversed: true }] },
      onStatement(),
    ],
  ])('%s', check);
});

describe('a manual payment whose external id another payment has', () => {
  function taken(inBulk: 'existing' | 'failed', says: string): Happened {
    return {
      outcome: 'refused',
      refusal: 'DUPLICATE_ENTRY',
      details: { resource: 'payment', field: 'externalId', id: 7 },
      says,
      inBulk,
    };
  }
  const other = (what: string) => taken('failed', `Another payment already has this externalId. It ${what}.`);
  const SAME = { method: 'cash' } as const;
  const EXISTING = taken('existing', 'Another payment already has this externalId.');

  it.each<Case>([
    [
      'is a duplicate, which exists already in a bulk call',
      { externalId: 'ERP-1', sameExternalId: SAME },
      EXISTING,
    ],
    [
      'is a duplicate even if the account is full or the method is not active by now',
      {
        externalId: 'ERP-1',
        method: 'an inactive method',
        sameExternalId: { method: 'an inactive method' },
        accounts: { A: { paid: 9_999_999_999_999 } },
      },
      EXISTING,
    ],
    [
      'is a duplicate, which fails in a bulk call, if the account differs',
      { externalId: 'ERP-1', sameExternalId: { ...SAME, on: 'B' } },
      other('has another account'),
    ],
    [
      'is a duplicate, which fails in a bulk call, if the amount differs',
      { externalId: 'ERP-1', sameExternalId: { ...SAME, amount: 450 } },
      other('has another amount'),
    ],
    [
      'is a duplicate, which fails in a bulk call, if the method differs',
      { externalId: 'ERP-1', sameExternalId: { method: 'mobile money' } },
      other('has another payment method'),
    ],
    [
      'is a duplicate, which fails in a bulk call, if the other payment was reversed',
      { externalId: 'ERP-1', sameExternalId: { ...SAME, isReversed: true } },
      other('was reversed'),
    ],
    [
      'is refused with every difference in the message',
      {
        externalId: 'ERP-1',
        sameExternalId: { on: 'B', amount: 450, method: 'mobile money', isReversed: true },
      },
      other('has another account, has another amount, has another payment method, was reversed'),
    ],
  ])('%s', check);
});

describe('a manual payment with an idempotency key', () => {
  it.each<Case>([
    [
      'is recorded, and its answer is kept for repeats',
      { idempotencyKey: 'new' },
      recorded('A', { keepsAnswer: true }),
    ],
    [
      'gets the kept answer if the key was used before',
      { idempotencyKey: 'answered' },
      { outcome: 'replayed', answer: '{"id":41}' },
    ],
    [
      'gets the kept answer even if the payment would now be refused',
      {
        idempotencyKey: 'answered',
        on: 'an unknown account',
        method: 'an unknown method',
        externalId: 'ERP-1',
        sameExternalId: {},
        payments: [{ method: 'cash' }],
      },
      { outcome: 'replayed', answer: '{"id":41}' },
    ],
    [
      'is refused if the key was used with another body',
      { idempotencyKey: 'used with another body' },
      {
        outcome: 'refused',
        refusal: 'VALIDATION_ERROR',
        details: { fields: [{ path: 'Idempotency-Key', message: 'was used with another body' }] },
        says: 'This Idempotency-Key was used with another body.',
      },
    ],
    [
      'keeps no answer if it is refused, so that the key can be used again',
      { idempotencyKey: 'new', on: 'an unknown account' },
      notFound('account', 'accountId', 404),
    ],
  ])('%s', check);
});

describe('the rows of a manual payment', () => {
  const PAYMENT = {
    id: 900,
    account_id: 1,
    amount_minor: 40_000,
    payment_method_id: 2,
    transaction_ref: TRANSACTION,
    reference_key: TRANSACTION,
    payment_date: '2026-11-01',
    status: 'matched',
    source: 'manual',
    match_method: null,
    match_reason: null,
    provider: null,
    provider_trans_id: null,
    external_id: null,
    metadata: {},
    reversed_at: null,
    reversal_reason: null,
    reconciliation_id: null,
    reconciliation_date: null,
    import_id: null,
    corrects_payment_id: null,
    created_by: 5,
    api_key_id: null,
    created_at: new Date('2026-11-02T09:00:00Z'),
    updated_at: new Date('2026-11-02T09:00:00Z'),
  };
  const AFTER = {
    accountId: 1,
    amountMinor: 40_000n,
    paymentMethodId: 2,
    transactionRef: TRANSACTION,
    valueDate: '2026-11-01',
  };

  it('are the payment and its change, in the name of the user', () => {
    expect(rowsOfRecording({})).toEqual({
      payments: [PAYMENT],
      notifications: [],
      changes: [
        {
          actor: 'an agent',
          actor_user_id: 5,
          api_key_id: null,
          action: 'payment.record',
          resource: 'payment',
          resource_id: 900,
          before: null,
          after: AFTER,
          request_id: 'request-1',
          type: 'payment.received',
          version: 1,
          account_id: 1,
          account_version: null,
          data: {
            accountId: 1,
            amountMinor: 40_000,
            paymentMethodId: 2,
            paymentDate: '2026-11-01',
            source: 'manual',
            status: 'matched',
          },
        },
      ],
      answers: [],
      stored: undefined,
      link: undefined,
      money: {
        event: 'payment_received',
        actor: 'an agent',
        valueDate: '2026-11-01',
        contra: [{ ledgerAccount: 'clearing', amountMinor: 40_000n, paymentMethodId: 2 }],
      },
    });
  });

  it('name the API key that recorded it', () => {
    const { payments, changes } = rowsOfRecording({ by: 'an API key that may record payments' });
    expect(payments).toMatchObject([{ created_by: null, api_key_id: 11 }]);
    expect(changes).toMatchObject([{ actor_user_id: null, api_key_id: 11 }]);
  });

  it('have the reference as it was typed, and in the form in which references are compared', () => {
    expect(rowsOfRecording({ reference: 'skb2 xq19zt' }).payments).toMatchObject([
      { transaction_ref: 'skb2 xq19zt', reference_key: TRANSACTION },
    ]);
    expect(rowsOfRecording({ reference: null }).payments).toMatchObject([
      { transaction_ref: null, reference_key: null },
    ]);
  });

  it('have the external id and the metadata, also in the audit trail', () => {
    const { payments, changes } = rowsOfRecording({ externalId: 'ERP-1', metadata: { till: '4' } });
    expect(payments).toMatchObject([{ external_id: 'ERP-1', metadata: { till: '4' } }]);
    expect(changes.map(({ after }) => after)).toEqual([
      { ...AFTER, externalId: 'ERP-1', metadata: { till: '4' } },
    ]);
  });

  it('keep the answer under the idempotency key', () => {
    expect(rowsOfRecording({ idempotencyKey: 'new' }).answers).toEqual([
      {
        caller: 'user 5',
        path: '/api/payments',
        key: 'receipt 1',
        body_hash: Buffer.from('body'),
        status: 201,
        answer: '{"id":900}',
      },
    ]);
  });

  it('take over the transaction of a reversed payment, and link its notification', () => {
    const { payments, stored } = rowsOfRecording({
      by: 'a user of finance',
      payments: [{ kind: 'reported', isReversed: true, method: 'cash' }],
      earlier: [{ was: 'matched', payment: 7 }],
    });
    expect(payments).toMatchObject([
      {
        id: 900,
        source: 'manual',
        match_method: 'manual_entry',
        match_reason: null,
        provider: 'mobilemoney',
        provider_trans_id: TRANSACTION,
      },
    ]);
    expect(stored).toEqual({
      id: 10,
      outcome: { outcome: 'linked', paymentId: 900, conflictPaymentId: null, flags: [] },
    });
  });
});

describe('the locks of a manual payment', () => {
  it.each<[statement: string, known: Recording, names: string[]]>([
    ['are none without a reference, an external id and a key', { reference: null }, []],
    [
      'are that of its reference, in any spelling the same as that of the provider’s notification',
      { reference: ' skb2\u00a0xq19zt' },
      ['payment reference SKB2XQ19ZT'],
    ],
    [
      'are those of its external id and of its key, too',
      { externalId: 'ERP-1', idempotencyKey: 'new' },
      [
        'payment reference SKB2XQ19ZT',
        'payment external id ERP-1',
        'idempotency key user 5 /api/payments receipt 1',
      ],
    ],
  ])('%s', (_statement, known, names) => {
    expect(locksOfRecording(known)).toEqual({ names, account: 'A' });
  });

  it('exclude payments whose reference is contained in its own', () => {
    expect(locksOfRecording({ reference: 'SKB2XQ19ZT Confirmed.' })).toMatchObject({
      names: ['payment reference SKB2XQ19ZTCONFIRMED.', expect.any(String)],
      shared: ['payment reference SKB2XQ19ZT'],
    });
  });
});

describe('the cash in the hand of a recorder', () => {
  const AGENT: Actor = { ...SYSTEM, userId: 5, role: 'agent' };
  const earlier = (fields: Partial<EarlierPayment>): EarlierPayment => ({
    ...{
      id: 1,
      account_id: 7,
      amount_minor: 300,
      payment_date: '2026-11-02' as PlainDate,
      reference_key: null,
    },
    ...{ created_by: 5, payment_method_id: 1 },
    ...fields,
  });
  const warns = (
    inHand: bigint | undefined,
    before: EarlierPayment[] = [],
    ceiling: bigint | null = 1_000n,
  ) =>
    findCashWarnings({ actor: AGENT, paymentMethodId: 1, amountMinor: 400n }, inHand, before, {
      cashCeilingMinor: ceiling ?? undefined,
    }).map(({ code, paymentIds }) => [code, paymentIds]);
  const ABOVE = [['cash_above_ceiling', []]];

  it('warns if a payment brings it above the ceiling, or if it was above it before', () => {
    expect(warns(600n)).toEqual([]);
    expect(warns(601n)).toEqual(ABOVE);
    expect(warns(2_000n)).toEqual(ABOVE);
  });

  it('contains the earlier payments of the batch that are of the same recorder and method', () => {
    expect(warns(300n, [earlier({})])).toEqual([]);
    expect(warns(301n, [earlier({})])).toEqual(ABOVE);
    expect(warns(301n, [earlier({ created_by: 6 }), earlier({ payment_method_id: 2 })])).toEqual([]);
  });

  it('warns of nothing if it is not known, or if the company has no ceiling', () => {
    expect(warns(undefined, [earlier({ amount_minor: 5_000 })])).toEqual([]);
    expect(warns(9_000n, [], null)).toEqual([]);
  });
});

describe('the confirmation of warnings', () => {
  const KES = { code: 'KES', decimals: 2 };
  const warning = (code: PaymentWarningCode) => ({ code, message: PAYMENT_WARNINGS[code], paymentIds: [] });
  const BOTH = [warning('above_balance'), warning('same_payment')];
  // 600 are owed.
  const books = booksOf(
    accountRow({ paid_minor: 300_000, total_minor: 360_000, receivable_minor: 60_000, credit_minor: 0 }),
  );
  const FINANCE: Actor = { ...SYSTEM, userId: 5, role: 'finance' };
  const refusal = (
    confirmation: Confirmation | null | undefined,
    { warnings = BOTH, actor = FINANCE, creditMinor = 0n } = {},
  ) =>
    refuseUnconfirmed(
      { actor, ...(confirmation !== undefined && { confirmation }) },
      { warnings, books: { ...books, creditMinor } },
      KES,
    );
  const codes: PaymentWarningCode[] = ['above_balance', 'same_payment'];

  it('is not asked for without a warning, or if the request does not ask for checks', () => {
    expect(refusal(null, { warnings: [] })).toBeUndefined();
    expect(refusal(undefined)).toBeUndefined();
  });

  it('accepts each warning for the present balance and credit', () => {
    expect(refusal({ codes, balance: 600 })).toBeUndefined();
    expect(refusal({ codes, balance: 600, credit: 0 })).toBeUndefined();
    expect(refusal({ codes: [...codes, 'cash_above_ceiling'], balance: 600 })).toBeUndefined();
    expect(refusal({ codes, balance: 600, credit: 2.5 }, { creditMinor: 250n })).toBeUndefined();
  });

  it.each<[string, Confirmation | null]>([
    ['nothing is confirmed', null],
    ['only some of the warnings are confirmed', { codes: ['above_balance'], balance: 600 }],
    ['the balance has changed', { codes, balance: 599 }],
    ['the credit has changed', { codes, balance: 600, credit: 1 }],
  ])('is refused with the warnings, the balance and the credit if %s', (_, confirmation) => {
    expect(refusal(confirmation)).toMatchObject({
      code: 'VALIDATION_ERROR',
      status: 409,
      details: { warnings: BOTH, balance: 600, credit: 0 },
    });
  });

  it('does not name the balance to a user who may not read accounts', () => {
    const key: Actor = { ...SYSTEM, role: 'api_key', apiKey: { id: 1, permissions: ['payments:record'] } };
    expect(refusal(null, { actor: key })?.details).not.toHaveProperty('balance');
    expect(refusal(null, { actor: key })?.details).toHaveProperty('warnings', BOTH);
  });
});

describe('the warnings of a manual payment', () => {
  // 600 are owed.
  const BOOKS = booksOf(accountRow({ paid_minor: 3_000, receivable_minor: 600 }));
  const MANUAL = {
    actor: { ...SYSTEM, userId: 5, role: 'finance' } as Actor,
    accountId: 7,
    amountMinor: 400n,
    transactionRef: 'SKB2XQ19ZT',
    paymentDate: '2026-11-02' as PlainDate,
  };
  const alike = (fields: Partial<AlikePayment> = {}): AlikePayment => ({
    id: 1,
    account_id: 7,
    amount_minor: 400,
    payment_date: '2026-11-02' as PlainDate,
    reference_key: null,
    ...fields,
  });
  const found = (
    fields: Partial<typeof MANUAL> | { transactionRef: null },
    stored: AlikePayment[] = [],
    earlier: AlikePayment[] = [],
  ) => findWarnings({ ...MANUAL, ...fields }, BOOKS, stored, earlier);
  /** The ids of the payments that are alike. Undefined without this warning. */
  const idsOf = (...known: Parameters<typeof found>) =>
    found(...known).find(({ code }) => code === 'same_payment')?.paymentIds;

  it('are none up to the balance, if no payment is alike', () => {
    expect(found({})).toEqual([]);
    expect(found({ amountMinor: 600n })).toEqual([]);
  });

  it('say that the amount is above the balance', () => {
    expect(found({ amountMinor: 601n })).toEqual([
      { code: 'above_balance', message: PAYMENT_WARNINGS.above_balance, paymentIds: [] },
    ]);
  });

  it('name the payments that are alike, the newest first: those of the batch before those that are stored', () => {
    const stored = [alike({ id: 9 }), alike({ id: 8 })];
    expect(found({}, stored)).toEqual([
      { code: 'same_payment', message: PAYMENT_WARNINGS.same_payment, paymentIds: [9, 8] },
    ]);
    expect(idsOf({}, stored, [alike({ id: 11 }), alike({ id: 12 })])).toEqual([12, 11, 9, 8]);
    expect(found({ amountMinor: 700n }, stored).map(({ code, paymentIds }) => [code, paymentIds])).toEqual([
      ['above_balance', []],
      ['same_payment', [9, 8]],
    ]);
  });

  it('name no payment of the batch on another account, with another amount or on another day', () => {
    for (const other of [
      { account_id: 8 },
      { amount_minor: 401 },
      { payment_date: '2026-11-03' as PlainDate },
    ])
      expect(idsOf({}, [], [alike(other)])).toBeUndefined();
  });

  it('name a payment of the batch unless both have references, and these are different', () => {
    expect(idsOf({}, [], [alike({ reference_key: 'SKB2XQ19ZT' })])).toEqual([1]);
    expect(idsOf({ transactionRef: 'skb2xq19zt' }, [], [alike({ reference_key: 'SKB2XQ19ZT' })])).toEqual([
      1,
    ]);
    expect(idsOf({ transactionRef: null }, [], [alike({ reference_key: 'SKB2XQ19ZT' })])).toEqual([1]);
    expect(idsOf({}, [], [alike({ reference_key: 'OTHER' })])).toBeUndefined();
  });

  it('name the newest ten, and none to a caller who may not read payments', () => {
    const stored = Array.from({ length: MAX_NAMED_PAYMENTS + 1 }, (_, n) => alike({ id: 20 - n }));
    expect(found({}, stored)[0]?.paymentIds).toEqual(stored.slice(0, 10).map(({ id }) => id));
    const key: Actor = { ...SYSTEM, role: 'api_key', apiKey: { id: 1, permissions: ['payments:record'] } };
    expect(idsOf({ actor: key }, stored)).toEqual([]);
  });
});
