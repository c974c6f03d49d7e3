import type { Minor } from '../../core/values/money.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { areDifferentPayers, readMasked } from '../matching/rules.ts';
import type { KnownNotification, Notification } from '../posting/rules.ts';
import { FUTURE_TIME, UNREADABLE_TIME } from '../posting/rules.ts';
import type { PaymentRow } from '../rules.ts';

// Compares the reports of one transaction. Providers report a transaction several times and disclose different parts of it: the
// payer's number is plain, masked, hashed or missing, and the reference has another letter case or is missing.

/**
 * The reports with which a notification is compared: those of the payment of its transaction. Without a payment, those that precede the
 * notification, unless it has an outcome and is decided again.
 * @param others - the other notifications of the transaction.
 */
export function reportsToCompare(
  { stored, amountMinor, paymentRequestId }: Notification,
  others: readonly KnownNotification[],
  payment: PaymentRow | undefined,
): KnownNotification[] {
  const comparable = others.filter(({ outcome }) => outcome !== 'differs');
  if (payment) return comparable.filter((one) => one.payment_id === payment.id);
  if (stored !== null && stored.outcome !== null) return [];
  const isRequested = paymentRequestId !== null || others.some((one) => one.payment_request_id !== null);
  return comparable.filter((one) => {
    // Ignore a repeat without a payment, because the notification that it repeats is compared as well.
    if (one.outcome !== null) return one.outcome !== 'repeated' || one.payment_id !== null;
    if (one.status !== 'pending') return false;
    // A pending notification of a requested payment has posted nothing yet. If it has the same amount, this notification posts the
    // payment, and the retry of the pending notification then has the outcome `repeated`.
    return one.id < (stored?.id ?? Number.POSITIVE_INFINITY) && !(isRequested && hasAmount(one, amountMinor));
  });
}

/**
 * Whether a notification repeats the earlier reports of its transaction, and its payment. Repeats with equal fields are found before
 * this check, by their content hash.
 */
export function repeatsAll(
  notification: Notification,
  reports: readonly KnownNotification[],
  payment: PaymentRow | undefined,
  region: string,
): boolean {
  if (payment && !hasAmount(payment, notification.amountMinor)) return false;
  const sources = [notification.source, payment?.source];
  const isInOtherForm = sources.some((one) => one === 'import' || one === 'pull');
  return reports.length > 0 ? reports.every((one) => repeats(notification, one, region)) : isInOtherForm;
}

export function hasAmount({ amount_minor: amount }: { amount_minor: number }, amountMinor: Minor): boolean {
  return BigInt(amount) === amountMinor;
}

/**
 * Whether a report repeats an earlier report of the same transaction. The amounts must be equal, and the payers and references
 * must not contradict each other. Calls must also have the same short code and the same time. Other forms (statement lines, pulled
 * payments and answers to payment requests) round the time and may name another short code of the business.
 */
export function repeats(notification: Notification, earlier: KnownNotification, region: string): boolean {
  if (!hasAmount(earlier, notification.amountMinor)) return false;
  if (areDifferentPayers(notification.payer, earlier.payer, region)) return false;
  const isAnswer = notification.paymentRequestId !== null || earlier.payment_request_id !== null;
  // The reference of an answer to a payment request is the account of the request, and not what the payer typed.
  if (!isAnswer && contradict(notification.billRef, earlier.bill_ref)) return false;
  if (isAnswer || notification.source !== 'webhook' || earlier.source !== 'webhook') return true;
  return (
    notification.businessShortCode === earlier.business_short_code && haveSameTime(notification, earlier)
  );
}

function contradict(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && referenceKey(one) !== referenceKey(other);
}

/** A notification with a flagged time has the time of its receipt, which cannot be compared. */
function haveSameTime(
  { transTime, flags, providerSendsTime }: Notification,
  earlier: KnownNotification,
): boolean {
  if (!providerSendsTime) return true;
  const isFlagged = [...flags, ...earlier.flags].some(
    (flag) => flag === UNREADABLE_TIME || flag === FUTURE_TIME,
  );
  return !isFlagged && transTime.getTime() === new Date(earlier.trans_time ?? 0).getTime();
}

/** Whether a repeat says everything that the earlier reports say about the reference and the payer. */
export function disclosesAll(
  { billRef, payer }: Notification,
  earlier: readonly KnownNotification[],
  region: string,
): boolean {
  const known = Math.max(...earlier.map((one) => precisionOf(one.payer, region)));
  return (
    precisionOf(payer, region) >= known && (billRef !== null || earlier.every((one) => one.bill_ref === null))
  );
}

/** Nothing is less precise than a masked number, and a masked number is less precise than a plain or hashed one. */
function precisionOf(payer: string | null, region: string): number {
  if (payer === null) return 0;
  return readMasked(payer, region) ? 1 : 2;
}
