import { type AccompanyingRows, booksOf, hasRoomFor } from '../../accounts/ledger/rules.ts';
import { auditRow, type ChangeRow, event, eventRow } from '../../changes/events/change-rules.ts';
import { businessDay } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { mayDo } from '../../rights.ts';
import { assignedEvent } from '../ledger-entry-rules.ts';
import { type Match, matchColumns, readNumberOnly, readReference } from '../matching/rules.ts';
import {
  type Decision,
  type Facts,
  FUTURE_TIME,
  type Incoming,
  isProbablySame,
  type KnownNotification,
  type KnownPayment,
  type KnownTransaction,
  linkedOutcome,
  locksOfReference,
  NOTIFICATION_OUTCOMES,
  type Notification,
  OTHER_METHOD,
  OTHER_SHORT_CODE,
  otherKeysOf,
  type Plan,
  type PlanSettings,
  paymentRow,
  REPEATED_AFTER_REVERSAL,
  recordedEvent,
  SIMILAR_REFERENCE,
  type StoredOutcome,
  UNREADABLE_TIME,
  WITHOUT_BALANCE,
} from '../posting/rules.ts';
import { type NotificationRow, type PaymentRow, providerActor, type RefusalReason } from '../rules.ts';
import { disclosesAll, isUntouched, repeats } from './repeat-rules.ts';

// Decides the effects of a provider's notification. A provider transaction is posted as one payment, which stores the id of the
// transaction.

/** The payer named another account than the account of the manual payment, or probably meant another customer. */
const OTHER_ACCOUNT = 'other_account';
const ACCOUNT_FULL = 'account_full';
const DIFFERS_FROM_FIRST = 'differs_from_first';
/** The flags that a decision sets. A later decision about the same notification replaces them. */
const FLAGS_OF_DECISION = [
  DIFFERS_FROM_FIRST,
  OTHER_ACCOUNT,
  OTHER_METHOD,
  ACCOUNT_FULL,
  REPEATED_AFTER_REVERSAL,
  SIMILAR_REFERENCE,
  // Set by migration 0018 on conflicts whose manual payment had been reversed.
  'payment_reversed',
] as const;
const DECISION_FLAGS: ReadonlySet<string> = new Set(FLAGS_OF_DECISION);
/** All flags. Flags that are not in FLAGS_OF_DECISION are set when the notification is parsed. */
export const NOTIFICATION_FLAGS = [
  ...FLAGS_OF_DECISION,
  OTHER_SHORT_CODE,
  UNREADABLE_TIME,
  FUTURE_TIME,
  // Set by the watch of the balances, after the notification was posted.
  WITHOUT_BALANCE,
] as const;
type NotificationFlag = (typeof NOTIFICATION_FLAGS)[number];

/** Converts the stored flags of a notification. The column is text, but the service writes only these flags. */
export function asFlags(flags: string[]): NotificationFlag[] {
  return flags as NotificationFlag[];
}

/** @param region - the country whose phone numbers need no country code. */
export function incomingNotification(notification: Notification, region: string): Incoming {
  const { transId: reference, billRef, payer, flags } = notification;
  const answersRequest = notification.paymentRequestId !== null;
  const interpret = () => (answersRequest ? readNumberOnly(billRef) : readReference(billRef, payer, region));
  const interpretations = flags.includes(OTHER_SHORT_CODE) ? null : interpret();
  const locks = locksOfReference(reference);
  const otherKeys = otherKeysOf(notification);
  return {
    notification,
    locks,
    sharedLocks: otherKeys.flatMap(locksOfReference).filter((lock) => !locks.includes(lock)),
    otherKeys,
    reference,
    interpretations,
    namedAccountId: interpretations?.accountId ?? null,
  };
}

export function decideNotification(given: Notification, facts: Facts, settings: PlanSettings): Decision {
  const notification = inZoneOfFirstCall(given, facts.known.notifications);
  const { provider, transId, amountMinor, stored, acceptedPaymentId } = notification;
  const { known, methods } = facts;
  const { now } = settings;
  const method = methods.find(({ code }) => code === notification.methodCode);
  if (!method) throw new Error(`There is no payment method ${notification.methodCode}.`);
  const others = known.notifications.filter((one) => one.provider === provider && one.id !== stored?.id);
  const ownPayment = known.payments.find(
    (one) => one.provider === provider && one.provider_trans_id === transId,
  );
  if (!stored && others.some(({ content_hash: hash }) => hash?.equals(notification.contentHash))) {
    const result = { outcome: { outcome: 'repeated' as const, paymentId: ownPayment?.id ?? null } };
    return { result, ...(ownPayment?.status === 'reversed' && { repeatAfterReversal: notification }) };
  }

  const flags = notification.flags.filter((flag) => !DECISION_FLAGS.has(flag));
  const isRepeatOf = (one: KnownNotification) => repeats(notification, one, settings.region);
  const planWithoutPayment = (
    outcome: 'repeated' | 'differs' | 'conflict',
    conflictPaymentId: number | null = null,
  ) =>
    outcomePlan(notification, { outcome, paymentId: ownPayment?.id ?? null, conflictPaymentId, flags }, now);
  if (ownPayment?.status === 'reversed') flags.push(REPEATED_AFTER_REVERSAL);
  const reports = others.filter(
    ({ payment_id: id, outcome }) =>
      ownPayment !== undefined && id === ownPayment.id && outcome !== 'differs',
  );
  if (ownPayment && isSamePayment(notification, ownPayment, reports, isRepeatOf)) {
    const repeat = planWithoutPayment('repeated');
    return planRematch(notification, ownPayment, reports, repeat, facts, settings) ?? repeat;
  }
  const isUndecided = stored === null || stored.outcome === null;
  const isRequested = answersPaymentRequest(notification, others);
  // A pending notification of a requested payment has posted nothing yet. If it has the same amount, this notification posts the
  // payment, and the retry of the pending notification then has the outcome `repeated`.
  const isPendingRepeat = (one: KnownNotification) =>
    isRequested && one.status === 'pending' && hasAmount(one, amountMinor);
  const earlier = isUndecided
    ? others.filter((one) => precedes(one, stored?.id) && !isPendingRepeat(one))
    : [];
  if (!ownPayment && earlier.length > 0 && earlier.every(isRepeatOf)) return planWithoutPayment('repeated');
  if (ownPayment || earlier.length > 0) {
    flags.push(DIFFERS_FROM_FIRST);
    return planWithoutPayment('differs');
  }

  const [exact, otherManual] = known.payments
    .filter((one) => one.provider === null && one.status !== 'reversed')
    .sort((a, b) => Number(hasAmount(b, amountMinor)) - Number(hasAmount(a, amountMinor)) || a.id - b.id);
  const similar = exact ? undefined : similarPaymentOf(notification, known, settings);
  if (similar && similar.id !== acceptedPaymentId) {
    flags.push(SIMILAR_REFERENCE);
    return planWithoutPayment('conflict', similar.id);
  }
  const manual = exact ?? similar;
  if (!manual) return decideNewPayment(notification, flags, method.id, facts, settings);
  const isForAnother = isMeantForAnother(manual, facts);
  if (isForAnother) flags.push(OTHER_ACCOUNT);
  const conflicting = otherManual ?? (hasAmount(manual, amountMinor) ? undefined : manual);
  if (conflicting) return planWithoutPayment('conflict', conflicting.id);
  if (isForAnother && manual.id !== acceptedPaymentId && !isAuthoritative(manual)) {
    return planWithoutPayment('conflict', manual.id);
  }
  if (manual.payment_method_id !== method.id) flags.push(OTHER_METHOD);
  return {
    ...outcomePlan(notification, linkedOutcome(manual.id, flags), now, {
      changes: [
        auditRow(providerActor(notification.provider), {
          action: 'payment.link',
          resource: 'payment',
          resourceId: manual.id,
          before: { matchMethod: manual.match_method },
          after: { matchMethod: 'manual_entry', transId },
          event: event('payment.linked', { accountId: manual.account_id, amountMinor }),
        }),
      ],
    }),
    link: { paymentId: manual.id, notification },
  };
}

/** The manual payment that staff probably recorded for this transaction, with a mistyped reference or another id. */
function similarPaymentOf(
  { amountMinor, transTime, acceptedPaymentId, bothAreReal }: Notification,
  { similar }: KnownTransaction,
  { timeZone }: PlanSettings,
): KnownPayment | undefined {
  if (bothAreReal) return undefined;
  const paymentDate = businessDay(transTime, timeZone);
  const [first, ...others] = similar
    .filter((one) => one.provider === null && isProbablySame({ amountMinor, paymentDate }, one))
    .sort((a, b) => a.id - b.id);
  return others.find(({ id }) => id === acceptedPaymentId) ?? first;
}

function decideNewPayment(
  notification: Notification,
  flags: string[],
  methodId: number,
  { match, account }: Facts,
  { timeZone, now }: PlanSettings,
): Decision {
  const { provider, transId, amountMinor, isRefusable } = notification;
  const planRefusal = (refusal: RefusalReason): Plan => ({ result: { outcome: { refusal } } });
  if (isRefusable && notification.flags.includes(OTHER_SHORT_CODE)) return planRefusal('wrong_short_code');
  if (isRefusable && match.accountId === null) return planRefusal('wrong_account');
  const planPayment = (paymentId: number, accountId: number | null, postedFlags: string[]): Plan => {
    const actor = providerActor(notification.provider);
    const payment = paymentRow(paymentId, now, {
      account_id: accountId,
      amount_minor: Number(amountMinor),
      payment_method_id: methodId,
      transaction_ref: transId,
      payment_date: businessDay(notification.transTime, timeZone),
      source: notification.source,
      ...matchOf(notification, accountId, match),
      provider,
      provider_trans_id: transId,
      external_id: null,
      metadata: {},
      created_by: actor.userId,
      api_key_id: null,
    });
    const outcome = accountId === null ? 'unmatched' : 'matched';
    const { rows, result, stored } = outcomePlan(
      notification,
      { outcome, paymentId, conflictPaymentId: null, flags: postedFlags },
      now,
    );
    return { result, event: recordedEvent(payment, actor, now, rows), ...(stored && { stored }) };
  };
  const planForFullAccount = (paymentId: number) =>
    isRefusable ? planRefusal('wrong_amount') : planPayment(paymentId, null, [...flags, ACCOUNT_FULL]);
  if (account && !hasRoomFor(booksOf(account), amountMinor))
    return isRefusable ? planRefusal('wrong_amount') : planForFullAccount;
  return (paymentId) => ({
    planIfFull: () => planForFullAccount(paymentId),
    ...planPayment(paymentId, match.accountId, flags),
  });
}

function matchOf({ paymentRequestId }: Notification, accountId: number | null, match: Match) {
  if (accountId === null) return { match_method: null, match_reason: null };
  return paymentRequestId === null
    ? matchColumns(match)
    : { match_method: 'payment_request' as const, match_reason: null };
}

/** A plan that inserts a new notification, or that updates the outcome of a stored notification. */
function outcomePlan(
  notification: Notification,
  outcome: StoredOutcome,
  now: Date,
  rows: AccompanyingRows = {},
): Plan {
  const result = { outcome: { outcome: outcome.outcome, paymentId: outcome.paymentId } };
  const isConflict = outcome.outcome === 'conflict';
  if (notification.stored) {
    const { id, outcome: before } = notification.stored;
    const isNew = isConflict && before !== 'conflict';
    return {
      result,
      rows: isNew ? { ...rows, changes: [conflictOf(id, notification, outcome)] } : rows,
      stored: { id, outcome },
    };
  }
  const row = {
    status: 'processed' as const,
    outcome: outcome.outcome,
    payment_id: outcome.paymentId,
    conflict_payment_id: outcome.conflictPaymentId,
    attempts: 1,
    processed_at: now,
    ...notificationColumns(notification),
    flags: outcome.flags,
  };
  if (isConflict)
    return { result, conflict: { row, changeOf: (id) => conflictOf(id, notification, outcome) } };
  return { result, rows: { ...rows, notifications: [row] } };
}

function conflictOf(
  id: number,
  notification: Notification,
  { conflictPaymentId: conflictingPaymentId }: StoredOutcome,
): ChangeRow {
  const { amountMinor } = notification;
  const conflict = event('notification.conflict', { conflictingPaymentId, amountMinor });
  return eventRow(
    providerActor(notification.provider),
    { resource: 'notification', resourceId: id },
    conflict,
  );
}

/**
 * Reads the time of a repeated call in the zone in which the first call of the transaction was read. The setting may have changed
 * since then, and the repeat would differ.
 */
function inZoneOfFirstCall(notification: Notification, known: readonly KnownNotification[]): Notification {
  const { provider, source, paymentRequestId, timeZone, readIn } = notification;
  if (source !== 'webhook' || paymentRequestId !== null || !readIn) return notification;
  const first = known.find(
    (one) =>
      one.provider === provider &&
      one.source === 'webhook' &&
      one.payment_request_id === null &&
      one.status !== 'rejected',
  );
  return first && first.time_zone !== timeZone
    ? { ...notification, ...readIn(first.time_zone) }
    : notification;
}

/** The columns of a notification with the data that the provider reported. */
export function notificationColumns(notification: Notification) {
  return {
    provider: notification.provider,
    source: notification.source,
    provider_statement_id: notification.providerStatementId,
    payment_request_id: notification.paymentRequestId,
    raw_body: notification.rawBody,
    trans_id: notification.transId,
    content_hash: notification.contentHash,
    amount_minor: notification.amountMinor,
    trans_time: notification.transTime,
    time_zone: notification.timeZone,
    business_short_code: notification.businessShortCode,
    bill_ref: notification.billRef,
    payer: notification.payer,
    payer_name: notification.payerName,
    flags: notification.flags,
  };
}

/** The fields of a notification that could be read, although others could not. */
export type ReadableFields = {
  [Field in
    | 'transId'
    | 'amountMinor'
    | 'transTime'
    | 'businessShortCode'
    | 'billRef'
    | 'payer'
    | 'payerName']: Notification[Field] | null;
};

export function readableColumns(fields: Partial<ReadableFields>) {
  return {
    trans_id: fields.transId ?? null,
    amount_minor: fields.amountMinor ?? null,
    trans_time: fields.transTime ?? null,
    business_short_code: fields.businessShortCode ?? null,
    bill_ref: fields.billRef ?? null,
    payer: fields.payer ?? null,
    payer_name: fields.payerName ?? null,
  };
}

function hasAmount({ amount_minor: amount }: Pick<PaymentRow, 'amount_minor'>, amountMinor: Minor): boolean {
  return BigInt(amount) === amountMinor;
}

/**
 * Whether the notification repeats all reports of a payment. Repeats with equal fields are found before this check, by their
 * content hash.
 * @param reports - the other notifications of the payment, without those that differed.
 */
function isSamePayment(
  { source, amountMinor }: Notification,
  payment: PaymentRow,
  reports: readonly KnownNotification[],
  isRepeatOf: (report: KnownNotification) => boolean,
): boolean {
  if (!hasAmount(payment, amountMinor)) return false;
  const isInOtherForm = [source, payment.source].some((one) => one === 'import' || one === 'pull');
  return reports.length > 0 ? reports.every(isRepeatOf) : isInOtherForm;
}

/**
 * Matches an unmatched payment again with a repeat that discloses everything that is known. The payment must be as its provider
 * reported it: a payment that staff have changed never moves.
 * @param repeat - the plan without a match.
 */
function planRematch(
  notification: Notification,
  payment: KnownPayment,
  reports: readonly KnownNotification[],
  repeat: Plan,
  { match, account }: Facts,
  { region }: PlanSettings,
): Plan | undefined {
  if (!isUntouched(payment) || !disclosesAll(notification, reports, region)) return undefined;
  if (match.accountId === null || !account || !hasRoomFor(booksOf(account), BigInt(payment.amount_minor)))
    return undefined;
  const { id: paymentId, amount_minor: amountMinor } = payment;
  const { accountId } = match;
  const actor = providerActor(notification.provider);
  const columns = matchOf(notification, accountId, match);
  const { match_method: matchMethod } = columns;
  const change = auditRow(actor, {
    action: 'payment.assign',
    resource: 'payment',
    resourceId: paymentId,
    before: { status: 'unmatched', accountId: null },
    after: { status: 'matched', accountId, matchMethod },
    event: event('payment.assigned', { accountId, amountMinor }, { id: accountId }),
  });
  const moved = assignedEvent({ ...payment, account_id: accountId }, actor);
  const { rows, ...plan } = repeat;
  return {
    ...plan,
    event: { ...moved, rows: { ...rows, changes: [...(rows?.changes ?? []), change] } },
    rematch: { paymentId, accountId, ...columns },
    planIfFull: () => repeat,
  };
}

/** Whether one of the notifications of a transaction is the answer to a payment request. */
function answersPaymentRequest(
  { paymentRequestId }: Notification,
  others: readonly KnownNotification[],
): boolean {
  return paymentRequestId !== null || others.some((one) => one.payment_request_id !== null);
}

/**
 * Whether another notification of the transaction precedes the notification that is being decided. A pending notification
 * precedes it if it is older. A processed notification precedes it if its outcome has `isComparedWithLater`.
 */
function precedes(
  { id, status, outcome, payment_id: paymentId }: KnownNotification,
  storedId = Number.POSITIVE_INFINITY,
): boolean {
  // Ignore a repeat without a payment, because the notification that it repeats is compared as well.
  if (outcome === 'repeated' && paymentId === null) return false;
  if (outcome !== null) return NOTIFICATION_OUTCOMES[outcome].isComparedWithLater;
  return status === 'pending' && id < storedId;
}

/** Whether the payer meant another account than that of the payment. Without a match, compares the suggested customers. */
function isMeantForAnother(
  { account_id: accountId, customer_id: customerId }: KnownPayment,
  { match, suggestedCustomerIds }: Facts,
): boolean {
  if (accountId === null) return false;
  if (match.accountId !== null) return match.accountId !== accountId;
  return suggestedCustomerIds.length > 0 && !suggestedCustomerIds.some((id) => id === customerId);
}

/**
 * Whether the account of a manual payment overrides the account that the payer named. It does if staff assigned the payment, or
 * if the payment was recorded by the system, or by a user or API key that may assign payments.
 */
function isAuthoritative({
  match_method: method,
  recorder_role: role,
  key_permissions: permissions,
}: KnownPayment): boolean {
  if (method === 'assigned') return true;
  if (permissions !== null) return permissions.includes('payments:assign');
  return mayDo({ role: role ?? 'system' }, 'payments:assign');
}

/**
 * The notification that a row stores.
 * @param methodCode - the code of the provider's payment method.
 * @throws Error for a notification that could not be read.
 */
export function notificationOf(row: NotificationRow, methodCode: string): Notification {
  const { trans_id: transId, amount_minor: amount, content_hash: contentHash } = row;
  if (transId === null || amount === null || contentHash === null) {
    throw new Error(`Notification ${row.id} could not be read when it arrived, so it cannot be processed.`);
  }
  return {
    provider: row.provider,
    methodCode,
    isRefusable: false, // The service has already accepted the payment.
    source: row.source,
    providerStatementId: row.provider_statement_id,
    paymentRequestId: row.payment_request_id,
    rawBody: row.raw_body,
    transId,
    amountMinor: BigInt(amount),
    contentHash,
    transTime: new Date(row.trans_time ?? row.received_at),
    providerSendsTime: true, // Only notifications of such a provider are stored before they are posted.
    timeZone: row.time_zone,
    businessShortCode: row.business_short_code,
    billRef: row.bill_ref,
    payer: row.payer,
    payerName: row.payer_name,
    flags: row.flags,
    stored: { id: row.id, outcome: row.outcome },
    acceptedPaymentId: null,
    bothAreReal: false,
  };
}
