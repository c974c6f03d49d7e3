import { referenceKey } from '../../core/values/reference.ts';
import { areDifferentPayers, readMasked } from '../matching/rules.ts';
import type { KnownNotification, Notification } from '../posting/rules.ts';
import { FUTURE_TIME, UNREADABLE_TIME } from '../posting/rules.ts';

// Compares the reports of one transaction. Providers report a transaction several times and disclose different parts of it: the
// payer's number is plain, masked, hashed or missing, and the reference has another letter case or is missing.

/**
 * Whether a report repeats an earlier report of the same transaction. The amounts must be equal, and the payers and references
 * must not contradict each other. Calls must also have the same short code and the same time. Other forms (statement lines, pulled
 * payments and answers to payment requests) round the time and may name another short code of the business.
 */
export function repeats(notification: Notification, earlier: KnownNotification, region: string): boolean {
  if (BigInt(earlier.amount_minor) !== notification.amountMinor) return false;
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
