import { auditRow } from '../../core/audit.ts';
import { type Actor, amountOf, type Currency, SYSTEM } from '../../core/context.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type { NotificationOutcome, PaymentSource, Row, UserRole } from '../../core/database/tables.ts';
import { AppError, duplicate, invalidField, notFound } from '../../core/http/errors.ts';
import { answerRow, type IdempotencyKey, type KeptAnswer, lockNameOf } from '../../core/http/idempotency.ts';
import { businessDay, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { referenceKey } from '../../core/values/reference.ts';
import {
  type AccountRow,
  accountFull,
  booksOf,
  type EventRows,
  hasRoomFor,
  type MoneyEvent,
} from '../../ledger/rules.ts';
import { mayDo } from '../../rights.ts';
import { type Match, matchColumns, type Readings, readReference } from '../matching/rules.ts';
import type { PaymentRow } from '../rules.ts';

// What an incoming payment leads to. A provider transaction is paid once: it belongs to the payment that has its id.

/** A payment that staff record. */
export interface ManualPayment {
  actor: Actor;
  accountId: number;
  amountMinor: Minor;
  paymentMethodId: number;
  transactionRef: string | null;
  paymentDate: PlainDate;
}

/** A payment that a provider reports, by a call or by a line of its statement. */
export interface Notification {
  provider: string;
  /** The code of the payment method of the provider's payments. */
  methodCode: string;
  /** Refuse the payment unless it matches an account: the provider then returns the money to the payer. */
  mustMatch: boolean;
  source: PaymentSource;
  /** The provider's statement that an imported notification comes from. */
  providerStatementId: number | null;
  rawBody: string;
  /** In the form of `referenceKey`. */
  transId: string;
  amountMinor: Minor;
  /** Two notifications of one transaction have the same hash if their fields are the same. */
  contentHash: Buffer;
  transTime: Date;
  businessShortCode: string | null;
  /** The reference that the payer typed. */
  billRef: string | null;
  /** The payer's number as the provider sent it. */
  payer: string | null;
  payerName: string | null;
  flags: string[];
  /** Its row, if it is stored already. */
  stored: { id: number; outcome: NotificationOutcome | null } | null;
  /** The manual payment that staff chose when they resolved the conflict. */
  acceptedPaymentId: number | null;
}

/** The answer to keep for repeats of a request with an idempotency key. */
export interface KeepAnswer {
  key: IdempotencyKey;
  status: number;
  answerOf(payment: PaymentRow): unknown;
}

/** A payment to post, by staff or a provider, with what follows from its fields alone. */
export type Incoming = {
  /** Names of advisory locks: its reference and its idempotency key. */
  locks: string[];
  /** In the form of `referenceKey`. */
  reference: string | null;
  /** What the payer may have meant; null for a manual payment and for money of another short code. */
  readings: Readings | null;
  /** The account that the payment itself names. */
  namedAccountId: number | null;
} & ({ manual: ManualPayment; keep: KeepAnswer | undefined } | { notification: Notification });

export function incomingManual(manual: ManualPayment, keep?: KeepAnswer): Incoming {
  const reference = manual.transactionRef === null ? null : referenceKey(manual.transactionRef);
  const locks = [
    ...(reference === null ? [] : [referenceLockName(reference)]),
    ...(keep ? [lockNameOf(keep.key)] : []),
  ];
  return { manual, keep, locks, reference, readings: null, namedAccountId: manual.accountId };
}

/** @param region the country whose phone numbers need no country code. */
export function incomingNotification(notification: Notification, region: string): Incoming {
  const { transId: reference, billRef, payer, flags } = notification;
  const readings = flags.includes(OTHER_SHORT_CODE) ? null : readReference(billRef, payer, region);
  const locks = [referenceLockName(reference)];
  return { notification, locks, reference, readings, namedAccountId: readings?.accountId ?? null };
}

/** @param key in the form of `referenceKey`. */
export function referenceLockName(key: string): string {
  return `payment reference ${key}`;
}

/** The result of an incoming payment: a payment, a replayed answer, a stored notification, or a refused one. */
export type Recorded =
  | { payment: PaymentRow }
  | { replay: KeptAnswer }
  | { outcome: NotificationOutcome; paymentId: number | null }
  | { refusal: RefusalReason };

/** Why the provider returns the money to the payer. */
type RefusalReason = 'wrong_account' | 'wrong_amount' | 'wrong_short_code';

/** A payment under a reference, with the customer of its account and the current role of its recorder (null: system). */
export type KnownPayment = PaymentRow & { recorder_role: UserRole | null; customer_id: number | null };

export type KnownNotification = Pick<
  Row<'notifications'>,
  'id' | 'provider' | 'status' | 'outcome' | 'content_hash' | 'payment_id' | 'conflict_payment_id'
> & { trans_id: string; amount_minor: number };

/** What the books have under a reference: payments that are not reversed or belong to a provider, and notifications. */
export interface KnownTransaction {
  payments: KnownPayment[];
  notifications: KnownNotification[];
  /** The first provider statement with a payment line for it. Only read for manual payments. */
  statementId: number | null;
}

export const UNKNOWN_TRANSACTION: KnownTransaction = { payments: [], notifications: [], statementId: null };

/** Everything that the decision about an incoming payment depends on. */
export interface Facts {
  known: KnownTransaction;
  methods: readonly Row<'payment_methods'>[];
  /** The answer that is kept under the idempotency key, or why the key cannot be used. */
  answer?: KeptAnswer | AppError;
  match: Match;
  /** The customers that the worklist suggests for a notification without a match. */
  suggestedCustomerIds: readonly number[];
  /** The account of the manual payment or of the match, locked. */
  account: AccountRow | undefined;
}

export interface PlanSettings {
  currency: Currency;
  /** The business time zone. */
  timeZone: string;
  now: Date;
}

/** What is written for an incoming payment, and its result. */
export interface Plan {
  result: ItemResult<Recorded>;
  /** The money event of a new payment. */
  event?: MoneyEvent;
  /** Rows without a money event. */
  rows?: EventRows;
  /** The new outcome of a notification that is stored already. */
  stored?: { id: number; outcome: Outcome };
  /** The manual payment that becomes the payment of the provider's transaction. */
  link?: { paymentId: number; notification: Notification };
  /** The reversed payment whose transaction goes to the new payment. */
  unlinkPaymentId?: number;
  /** The stored notification to flag as repeated after a reversal. */
  repeatAfterReversal?: Notification;
  /** Replaces the plan if earlier payments of the batch have filled the account. */
  ifFull?: () => Plan;
}

/** The outcome of a notification, as its row stores it. */
export interface Outcome {
  outcome: NotificationOutcome;
  paymentId: number | null;
  conflictPaymentId: number | null;
  flags: string[];
}

/**
 * The outcomes of a processed notification.
 * - hasPayment: the notification came with its payment, or is linked to it.
 * - isFirst: later notifications of the transaction are compared with it.
 */
export const NOTIFICATION_OUTCOMES = {
  matched: { hasPayment: true, isFirst: true },
  unmatched: { hasPayment: true, isFirst: true },
  linked: { hasPayment: true, isFirst: true },
  conflict: { hasPayment: false, isFirst: true },
  differs: { hasPayment: false, isFirst: false },
  repeated: { hasPayment: false, isFirst: true },
} as const satisfies Record<NotificationOutcome, { hasPayment: boolean; isFirst: boolean }>;

/** The money went to a short code of another business. */
export const OTHER_SHORT_CODE = 'other_short_code';
/** The provider repeats a transaction whose payment was reversed. */
export const REPEATED_AFTER_REVERSAL = 'repeated_after_reversal';
/** The notification names another account, or suggests another customer, than the manual payment. */
const OTHER_ACCOUNT = 'other_account';
const OTHER_METHOD = 'other_method';
const ACCOUNT_FULL = 'account_full';
const DIFFERS_FROM_FIRST = 'differs_from_first';
/** Flags that every decision sets again. The other flags come from reading the notification. */
const DECISION_FLAGS: ReadonlySet<string> = new Set([
  DIFFERS_FROM_FIRST,
  OTHER_ACCOUNT,
  OTHER_METHOD,
  ACCOUNT_FULL,
  REPEATED_AFTER_REVERSAL,
  // Set by migration 0018 on conflicts whose manual payment had been reversed.
  'payment_reversed',
]);

/** A plan; for a new payment, the plan of the id that the payment will have. */
export type Decision = Plan | ((paymentId: number) => Plan);

export function decide(incoming: Incoming, facts: Facts, settings: PlanSettings): Decision {
  return 'manual' in incoming
    ? decideManual(incoming.manual, incoming.keep, facts, settings)
    : decideNotification(incoming.notification, facts, settings);
}

function decideManual(
  manual: ManualPayment,
  keep: KeepAnswer | undefined,
  { known, methods, answer, account }: Facts,
  { currency, now }: PlanSettings,
): Decision {
  if (answer)
    return { result: answer instanceof AppError ? { error: answer } : { outcome: { replay: answer } } };
  const { actor, accountId, paymentMethodId, amountMinor } = manual;
  const method = methods.find((one) => one.id === paymentMethodId);
  if (!method) return refuse(notFound('payment_method', paymentMethodId, 'paymentMethodId'));
  if (!method.active)
    return refuse(invalidField('paymentMethodId', 'must refer to an active payment method'));
  if (!account) return refuse(notFound('account', accountId, 'accountId'));
  if (!hasRoomFor(booksOf(account), amountMinor)) return refuse(accountFull('amount'));
  const reported = findReported(manual, known, currency);
  if (reported instanceof AppError) return refuse(reported);
  return (paymentId) => {
    const payment = paymentRow(paymentId, now, {
      account_id: accountId,
      amount_minor: Number(amountMinor),
      payment_method_id: paymentMethodId,
      transaction_ref: manual.transactionRef,
      payment_date: manual.paymentDate,
      source: 'manual',
      match_method: reported ? 'manual_entry' : null,
      match_reason: null,
      provider: reported?.notification.provider ?? null,
      provider_trans_id: reported?.notification.trans_id ?? null,
      created_by: actor.userId,
    });
    const kept = keep && { idempotency_keys: [answerRow(keep.key, keep.status, keep.answerOf(payment))] };
    const plan: Plan = { result: { outcome: { payment } }, event: eventOf(payment, actor, now, kept) };
    if (!reported) return plan;
    const isOtherMethod = reported.payment.payment_method_id !== paymentMethodId;
    const outcome = linkedOutcome(paymentId, isOtherMethod ? [OTHER_METHOD] : []);
    return {
      ...plan,
      unlinkPaymentId: reported.payment.id,
      stored: { id: reported.notification.id, outcome },
    };
  };
}

/**
 * The reversed payment of a provider whose transaction a manual payment takes over; undefined for a transaction that no
 * provider has reported. Staff do not record a transaction that a provider has reported, by a notification or on a statement.
 * The exception is a reversed payment: staff who may assign payments can record it again with the reported amount, as long as
 * there is no other payment under the reference.
 *
 * @returns an error if the manual payment is refused.
 */
function findReported(
  { actor, amountMinor, paymentMethodId }: ManualPayment,
  { payments, notifications, statementId }: KnownTransaction,
  currency: Currency,
): { notification: KnownNotification; payment: PaymentRow } | AppError | undefined {
  const notification = notifications.find(
    ({ outcome }) =>
      outcome === 'conflict' || (outcome !== null && NOTIFICATION_OUTCOMES[outcome].hasPayment),
  );
  const isReported = notification !== undefined || statementId !== null;
  const existing = payments.find(
    ({ status, provider, payment_method_id: method }) =>
      status !== 'reversed' && (isReported || provider !== null || method === paymentMethodId),
  );
  if (existing) return duplicate('payment', 'transactionRef', existing.id);
  if (!notification) return statementId === null ? undefined : onStatement(actor, statementId);
  const { payment_id: paymentId, conflict_payment_id: conflictId } = notification;
  const payment = payments.find(({ id, status }) => id === paymentId && status === 'reversed');
  if (!payment || !mayDo(actor.role, 'payments:assign')) {
    return duplicate('payment', 'transactionRef', paymentId ?? conflictId ?? undefined);
  }
  if (BigInt(notification.amount_minor) !== amountMinor) {
    const reported = amountOf(notification.amount_minor, currency);
    return invalidField(
      'amount',
      `must be ${reported}, the amount that the provider reported for this transaction`,
    );
  }
  return { notification, payment };
}

function onStatement({ role }: Actor, statementId: number): AppError {
  const message =
    'An uploaded statement of the provider reports this transaction. Ask finance to import it from there.';
  const id = mayDo(role, 'reconciliations:read') ? { id: statementId } : {};
  return new AppError('DUPLICATE_ENTRY', message, {
    details: { resource: 'provider_statement', field: 'transactionRef', ...id },
  });
}

function decideNotification(notification: Notification, facts: Facts, settings: PlanSettings): Decision {
  const { provider, transId, amountMinor, stored, acceptedPaymentId } = notification;
  const { known, methods } = facts;
  const { now } = settings;
  const method = methods.find(({ code }) => code === notification.methodCode);
  if (!method) throw new Error(`There is no payment method ${notification.methodCode}.`);
  const others = known.notifications.filter((one) => one.provider === provider && one.id !== stored?.id);
  const own = known.payments.find((one) => one.provider === provider && one.provider_trans_id === transId);
  if (!stored && others.some(({ content_hash: hash }) => hash?.equals(notification.contentHash))) {
    const result = { outcome: { outcome: 'repeated' as const, paymentId: own?.id ?? null } };
    return { result, ...(own?.status === 'reversed' && { repeatAfterReversal: notification }) };
  }

  const flags = notification.flags.filter((flag) => !DECISION_FLAGS.has(flag));
  const withoutPayment = (
    outcome: 'repeated' | 'differs' | 'conflict',
    conflictPaymentId: number | null = null,
  ) => outcomePlan(notification, { outcome, paymentId: own?.id ?? null, conflictPaymentId, flags }, now);
  if (own?.status === 'reversed') flags.push(REPEATED_AFTER_REVERSAL);
  if (own && isSamePayment(notification, own)) return withoutPayment('repeated');
  const isUndecided = stored === null || stored.outcome === null;
  if (own || (isUndecided && others.some((one) => precedes(one, stored?.id)))) {
    flags.push(DIFFERS_FROM_FIRST);
    return withoutPayment('differs');
  }

  const [payment, another] = known.payments
    .filter((one) => one.provider === null && one.status !== 'reversed')
    .sort((a, b) => Number(hasAmount(b, amountMinor)) - Number(hasAmount(a, amountMinor)) || a.id - b.id);
  if (!payment) return decideNewPayment(notification, flags, method.id, facts, settings);
  const isForAnother = isMeantForAnother(payment, facts);
  if (isForAnother) flags.push(OTHER_ACCOUNT);
  const conflicting = another ?? (hasAmount(payment, amountMinor) ? undefined : payment);
  if (conflicting) return withoutPayment('conflict', conflicting.id);
  if (isForAnother && payment.id !== acceptedPaymentId && !isAuthoritative(payment)) {
    return withoutPayment('conflict', payment.id);
  }
  if (payment.payment_method_id !== method.id) flags.push(OTHER_METHOD);
  return {
    ...outcomePlan(notification, linkedOutcome(payment.id, flags), now, {
      audit_entries: [
        auditRow(actorOf(notification), {
          action: 'payment.link',
          resource: 'payment',
          resourceId: payment.id,
          before: { matchMethod: payment.match_method },
          after: { matchMethod: 'manual_entry', transId },
        }),
      ],
    }),
    link: { paymentId: payment.id, notification },
  };
}

function decideNewPayment(
  notification: Notification,
  flags: string[],
  methodId: number,
  { match, account }: Facts,
  { timeZone, now }: PlanSettings,
): Decision {
  const { provider, transId, amountMinor, mustMatch } = notification;
  const giveBack = (refusal: RefusalReason): Plan => ({ result: { outcome: { refusal } } });
  if (mustMatch && notification.flags.includes(OTHER_SHORT_CODE)) return giveBack('wrong_short_code');
  if (mustMatch && match.accountId === null) return giveBack('wrong_account');
  const post = (paymentId: number, accountId: number | null, postedFlags: string[]): Plan => {
    const actor = actorOf(notification);
    const payment = paymentRow(paymentId, now, {
      account_id: accountId,
      amount_minor: Number(amountMinor),
      payment_method_id: methodId,
      transaction_ref: transId,
      payment_date: businessDay(notification.transTime, timeZone),
      source: notification.source,
      ...(accountId === null ? { match_method: null, match_reason: null } : matchColumns(match)),
      provider,
      provider_trans_id: transId,
      created_by: actor.userId,
    });
    const outcome = accountId === null ? 'unmatched' : 'matched';
    const { rows, ...plan } = outcomePlan(
      notification,
      { outcome, paymentId, conflictPaymentId: null, flags: postedFlags },
      now,
    );
    return { ...plan, event: eventOf(payment, actor, now, rows) };
  };
  const ifFull = (paymentId: number) =>
    mustMatch ? giveBack('wrong_amount') : post(paymentId, null, [...flags, ACCOUNT_FULL]);
  if (account && !hasRoomFor(booksOf(account), amountMinor))
    return mustMatch ? giveBack('wrong_amount') : ifFull;
  return (paymentId) => ({ ...post(paymentId, match.accountId, flags), ifFull: () => ifFull(paymentId) });
}

function refuse(error: AppError): Plan {
  return { result: { error } };
}

function linkedOutcome(paymentId: number, flags: string[]): Outcome {
  return { outcome: 'linked', paymentId, conflictPaymentId: null, flags };
}

/** A new notification is inserted; the outcome of a stored one is updated. */
function outcomePlan(notification: Notification, outcome: Outcome, now: Date, rows: EventRows = {}): Plan {
  const result = { outcome: { outcome: outcome.outcome, paymentId: outcome.paymentId } };
  if (notification.stored) return { result, rows, stored: { id: notification.stored.id, outcome } };
  const row = {
    ...notificationColumns(notification),
    flags: outcome.flags,
    status: 'processed' as const,
    outcome: outcome.outcome,
    payment_id: outcome.paymentId,
    conflict_payment_id: outcome.conflictPaymentId,
    attempts: 1,
    processed_at: now,
  };
  return { result, rows: { ...rows, notifications: [row] } };
}

/** The columns of a notification that hold what the provider reported. */
export function notificationColumns(notification: Notification) {
  return {
    provider: notification.provider,
    source: notification.source,
    provider_statement_id: notification.providerStatementId,
    raw_body: notification.rawBody,
    trans_id: notification.transId,
    content_hash: notification.contentHash,
    amount_minor: notification.amountMinor,
    trans_time: notification.transTime,
    business_short_code: notification.businessShortCode,
    bill_ref: notification.billRef,
    payer: notification.payer,
    payer_name: notification.payerName,
    flags: notification.flags,
  };
}

type PaymentColumns = Omit<
  PaymentRow,
  | 'id'
  | 'reference_key'
  | 'status'
  | 'reversed_at'
  | 'reversal_reason'
  | 'reconciliation_id'
  | 'reconciliation_date'
  | 'created_at'
  | 'updated_at'
>;

/** The row of a new payment, as it will be read from the database. */
function paymentRow(id: number, now: Date, columns: PaymentColumns): PaymentRow {
  const { account_id: accountId, transaction_ref: reference } = columns;
  return {
    id,
    ...columns,
    reference_key: reference === null ? null : referenceKey(reference),
    status: accountId === null ? 'unmatched' : 'matched',
    reversed_at: null,
    reversal_reason: null,
    reconciliation_id: null,
    reconciliation_date: null,
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
  };
}

/** The money event of a new payment, with its rows. */
function eventOf(payment: PaymentRow, actor: Actor, now: Date, rows: EventRows = {}): MoneyEvent {
  const { account_id: accountId, payment_method_id: paymentMethodId, payment_date: valueDate } = payment;
  const amountMinor = BigInt(payment.amount_minor);
  const clearing = { ledgerAccount: 'clearing' as const, amountMinor, paymentMethodId };
  const unmatched = { ledgerAccount: 'unmatched' as const, amountMinor: -amountMinor };
  return {
    event: 'payment_received',
    valueDate,
    paymentId: payment.id,
    movements: accountId === null ? [] : [{ accountId, movement: { kind: 'money_in', amountMinor } }],
    contra: accountId === null ? [clearing, unmatched] : [clearing],
    rows: {
      ...rows,
      payments: [{ ...payment, reversed_at: null, created_at: now, updated_at: now }],
      audit_entries: [
        auditRow(actor, {
          action: 'payment.record',
          resource: 'payment',
          resourceId: payment.id,
          after: {
            accountId,
            amountMinor,
            paymentMethodId,
            transactionRef: payment.transaction_ref,
            valueDate,
          },
        }),
      ],
    },
  };
}

/** The actor of the audit rows of a notification. */
function actorOf({ provider }: Notification): Actor {
  return { ...SYSTEM, name: `provider ${provider}` };
}

function hasAmount({ amount_minor: amount }: PaymentRow, amountMinor: Minor): boolean {
  return BigInt(amount) === amountMinor;
}

/** A statement and a call spell the payer and the time differently, so only the amount is compared. */
function isSamePayment({ source, amountMinor }: Notification, payment: PaymentRow): boolean {
  const isOneImported = source === 'import' || payment.source === 'import';
  return isOneImported && hasAmount(payment, amountMinor);
}

/** Whether another notification of the transaction comes first: it was processed, or is pending and older. */
function precedes({ id, status, outcome }: KnownNotification, storedId = Number.POSITIVE_INFINITY): boolean {
  if (status === 'processed') return outcome === null || NOTIFICATION_OUTCOMES[outcome].isFirst;
  return status === 'pending' && id < storedId;
}

/** Whether the payer meant another account than the one of the payment; without a match, another customer. */
function isMeantForAnother(
  { account_id: accountId, customer_id: customerId }: KnownPayment,
  { match, suggestedCustomerIds }: Facts,
): boolean {
  if (accountId === null) return false;
  if (match.accountId !== null) return match.accountId !== accountId;
  return suggestedCustomerIds.length > 0 && !suggestedCustomerIds.some((id) => id === customerId);
}

/**
 * Whether the account of a manual payment overrides the account that the payer named: the payment was recorded or assigned by
 * staff who may assign payments.
 */
function isAuthoritative({ recorder_role: role, match_method: method }: KnownPayment): boolean {
  return method === 'assigned' || role === null || mayDo(role, 'payments:assign');
}
