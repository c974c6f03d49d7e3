import { hasRoomFor } from '../../accounts/ledger/money-on-account-rules.ts';
import { runningBooksOf } from '../../accounts/ledger/rules.ts';
import { auditRow, type ChangeRow, event, eventRow } from '../../changes/events/change-rules.ts';
import { businessDay } from '../../core/values/dates.ts';
import { mayDo } from '../../rights.ts';
import { type Match, matchColumns, readNumberOnly, readReference } from '../matching/rules.ts';
import { assignedEvent, paymentRow, recordedEvent } from '../money-event-rules.ts';
import { identityOf, isProbablySame, otherKeysOf } from '../posting/identity-rules.ts';
import {
  type Decision,
  FUTURE_TIME,
  isUntouched,
  type KnownNotification,
  type KnownPayment,
  type KnownTransaction,
  linkedOutcome,
  type Notification,
  OTHER_METHOD,
  OTHER_SHORT_CODE,
  type PaymentToPost,
  type PostedSoFar,
  type PostingReads,
  type PostingSettings,
  REPEATED_AFTER_REVERSAL,
  SIMILAR_REFERENCE,
  type StoredOutcome,
  UNREADABLE_TIME,
  WITHOUT_BALANCE,
} from '../posting/rules.ts';
import { type NotificationRow, providerActor, type RefusalReason } from '../rules.ts';
import { disclosesAll, hasAmount, repeatsAll, reportsToCompare } from './repeat-rules.ts';

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
export function notificationToPost(notification: Notification, region: string): PaymentToPost {
  const { transId, billRef, payer, flags } = notification;
  const answersRequest = notification.paymentRequestId !== null;
  const interpret = () => (answersRequest ? readNumberOnly(billRef) : readReference(billRef, payer, region));
  const interpretations = flags.includes(OTHER_SHORT_CODE) ? null : interpret();
  const identity = identityOf(transId, otherKeysOf(notification));
  return { notification, ...identity, interpretations, namedAccountId: interpretations?.accountId ?? null };
}

export function decideNotification(
  given: Notification,
  reads: PostingReads,
  earlier: PostedSoFar,
  settings: PostingSettings,
): Decision {
  const notification = inZoneOfFirstCall(given, reads.known.notifications);
  const { provider, transId, amountMinor, stored, acceptedPaymentId } = notification;
  const { known, methods } = reads;
  const method = methods.find(({ code }) => code === notification.methodCode);
  if (!method) throw new Error(`There is no payment method ${notification.methodCode}.`);
  const own = known.notifications.find(({ id }) => id === stored?.id);
  // Another transaction has processed the notification since it was read.
  if (stored?.outcome === null && own && own.outcome !== null)
    return { result: { outcome: { outcome: own.outcome, paymentId: own.payment_id } } };
  const others = known.notifications.filter((one) => one.provider === provider && one !== own);
  const ownPayment = known.payments.find(
    (one) => one.provider === provider && one.provider_trans_id === transId,
  );
  const same = others.find(({ content_hash: hash }) => hash?.equals(notification.contentHash));
  if (same && !stored) {
    const result = { outcome: { outcome: 'repeated' as const, paymentId: ownPayment?.id ?? null } };
    return { result, ...(ownPayment?.status === 'reversed' && { repeatedAfterReversal: [same.id] }) };
  }

  const flags = notification.flags.filter((flag) => !DECISION_FLAGS.has(flag));
  const withoutPayment = (
    outcome: 'repeated' | 'differs' | 'conflict',
    conflictPaymentId: number | null = null,
  ) =>
    processed(
      notification,
      { outcome, paymentId: ownPayment?.id ?? null, conflictPaymentId, flags },
      reads,
      settings,
    );
  if (ownPayment?.status === 'reversed') flags.push(REPEATED_AFTER_REVERSAL);
  const reports = reportsToCompare(notification, others, ownPayment);
  if (ownPayment || reports.length > 0) {
    if (!repeatsAll(notification, reports, ownPayment, settings.region)) {
      flags.push(DIFFERS_FROM_FIRST);
      return withoutPayment('differs');
    }
    const repeat = withoutPayment('repeated');
    const isBetter =
      ownPayment && isUntouched(ownPayment) && disclosesAll(notification, reports, settings.region);
    return (isBetter && rematch(notification, ownPayment, repeat, reads, earlier)) || repeat;
  }

  const [exact, otherManual] = known.payments
    .filter((one) => one.provider === null && one.status !== 'reversed')
    .sort((a, b) => Number(hasAmount(b, amountMinor)) - Number(hasAmount(a, amountMinor)) || a.id - b.id);
  const similar = exact ? undefined : similarPaymentOf(notification, known, settings);
  if (similar && similar.id !== acceptedPaymentId) {
    flags.push(SIMILAR_REFERENCE);
    return withoutPayment('conflict', similar.id);
  }
  const manual = exact ?? similar;
  if (!manual) return decideNewPayment(notification, flags, method.id, reads, earlier, settings);
  const isForAnother = isMeantForAnother(manual, reads);
  if (isForAnother) flags.push(OTHER_ACCOUNT);
  const conflicting = otherManual ?? (hasAmount(manual, amountMinor) ? undefined : manual);
  if (conflicting) return withoutPayment('conflict', conflicting.id);
  if (isForAnother && manual.id !== acceptedPaymentId && !isAuthoritative(manual)) {
    return withoutPayment('conflict', manual.id);
  }
  if (manual.payment_method_id !== method.id) flags.push(OTHER_METHOD);
  const link = auditRow(providerActor(provider), {
    action: 'payment.link',
    resource: 'payment',
    resourceId: manual.id,
    before: { matchMethod: manual.match_method },
    after: { matchMethod: 'manual_entry', transId },
    event: event('payment.linked', { accountId: manual.account_id, amountMinor }),
  });
  const linked = processed(notification, linkedOutcome(manual.id, flags), reads, settings);
  return {
    ...linked,
    rows: { ...linked.rows, changes: [link] },
    payments: [
      {
        ...manual,
        provider,
        provider_trans_id: transId,
        // Differs if staff recorded the payment under a similar reference.
        reference_key: transId,
        // An unmatched payment stays unmatched, so it gets no match method.
        match_method: manual.account_id === null ? null : 'manual_entry',
        match_reason: null,
      },
    ],
  };
}

/** The manual payment that staff probably recorded for this transaction, with a mistyped reference or another id. */
function similarPaymentOf(
  { amountMinor, transTime, acceptedPaymentId, bothAreReal }: Notification,
  { similar }: KnownTransaction,
  { timeZone }: PostingSettings,
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
  reads: PostingReads,
  { books }: PostedSoFar,
  settings: PostingSettings,
): Decision {
  const { match, newIds } = reads;
  const { provider, transId, amountMinor, isRefusable } = notification;
  const refusedAs = (refusal: RefusalReason): Decision => ({ result: { outcome: { refusal } } });
  if (isRefusable && notification.flags.includes(OTHER_SHORT_CODE)) return refusedAs('wrong_short_code');
  if (isRefusable && match.accountId === null) return refusedAs('wrong_account');
  const account = match.accountId === null ? undefined : runningBooksOf(books, match.accountId);
  const isFull = account !== undefined && !hasRoomFor(account, amountMinor);
  if (isFull && isRefusable) return refusedAs('wrong_amount');
  const accountId = isFull ? null : match.accountId;
  const actor = providerActor(provider);
  const payment = paymentRow(newIds.payment, settings.now, {
    account_id: accountId,
    amount_minor: Number(amountMinor),
    payment_method_id: methodId,
    transaction_ref: transId,
    payment_date: businessDay(notification.transTime, settings.timeZone),
    source: notification.source,
    ...matchOf(notification, accountId, match),
    provider,
    provider_trans_id: transId,
    external_id: null,
    metadata: {},
    created_by: actor.userId,
    api_key_id: null,
  });
  const outcome = {
    outcome: accountId === null ? ('unmatched' as const) : ('matched' as const),
    paymentId: payment.id,
    conflictPaymentId: null,
    flags: isFull ? [...flags, ACCOUNT_FULL] : flags,
  };
  return {
    ...processed(notification, outcome, reads, settings),
    event: recordedEvent(payment, actor, settings.now),
  };
}

function matchOf({ paymentRequestId }: Notification, accountId: number | null, match: Match) {
  if (accountId === null) return { match_method: null, match_reason: null };
  return paymentRequestId === null
    ? matchColumns(match)
    : { match_method: 'payment_request' as const, match_reason: null };
}

/** The outcome of a notification, with the new row of the notification, or the new outcome of its stored row. */
function processed(
  notification: Notification,
  stored: StoredOutcome,
  { newIds }: PostingReads,
  { now }: PostingSettings,
): Decision {
  const { outcome, paymentId } = stored;
  const result = { outcome: { outcome, paymentId } };
  const id = notification.stored?.id ?? newIds.notification;
  if (id === null) throw new Error('There is no id for the new notification.');
  const isNewConflict = outcome === 'conflict' && notification.stored?.outcome !== 'conflict';
  const changes = isNewConflict ? [conflictOf(id, notification, stored)] : [];
  if (notification.stored) return { result, rows: { changes }, notifications: [{ id, ...stored }] };
  const row = {
    id,
    status: 'processed' as const,
    outcome,
    payment_id: paymentId,
    conflict_payment_id: stored.conflictPaymentId,
    attempts: 1,
    processed_at: now,
    ...notificationColumns(notification),
    flags: stored.flags,
  };
  return { result, rows: { notifications: [row], changes } };
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
  const { provider, source, paymentRequestId, readIn } = notification;
  if (source !== 'webhook' || paymentRequestId !== null || !readIn) return notification;
  const first = known.find(
    (one) =>
      one.provider === provider &&
      one.source === 'webhook' &&
      one.payment_request_id === null &&
      one.status !== 'rejected',
  );
  return first ? { ...notification, ...readIn(first.time_zone) } : notification;
}

/** The columns of a notification with the data that the provider reported. */
export function notificationColumns(notification: Notification) {
  return {
    ...readableColumns(notification),
    provider: notification.provider,
    source: notification.source,
    provider_statement_id: notification.providerStatementId,
    payment_request_id: notification.paymentRequestId,
    raw_body: notification.rawBody,
    content_hash: notification.contentHash,
    time_zone: notification.timeZone,
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

/**
 * Matches an unmatched payment again with a repeat that discloses everything that is known. The payment must be as its provider
 * reported it: a payment that staff have changed never moves.
 * @param repeat - the decision without a match.
 */
function rematch(
  notification: Notification,
  payment: KnownPayment,
  repeat: Decision,
  { match }: PostingReads,
  { books }: PostedSoFar,
): Decision | undefined {
  const { accountId } = match;
  if (accountId === null) return undefined;
  const { id: paymentId, amount_minor: amountMinor } = payment;
  const account = runningBooksOf(books, accountId);
  if (!account || !hasRoomFor(account, BigInt(amountMinor))) return undefined;
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
  return {
    ...repeat,
    event: { ...moved, rows: { changes: [change] } },
    payments: [{ ...payment, account_id: accountId, status: 'matched', ...columns }],
  };
}

/** Whether the payer meant another account than that of the payment. Without a match, compares the suggested customers. */
function isMeantForAnother(
  { account_id: accountId, customer_id: customerId }: KnownPayment,
  { match, suggestedCustomerIds }: PostingReads,
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
    providerSendsTime: true, // Of other providers, only conflicts are stored. Their times are those of the calls, so they repeat nothing.
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
