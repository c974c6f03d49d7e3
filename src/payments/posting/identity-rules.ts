import { readAccountNumber } from '../../accounts/account-number-rules.ts';
import { lockName } from '../../core/database/named-locks.ts';
import { daysBetween, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import {
  containedKeys,
  isReportedId,
  referenceKey,
  reportedIds,
  similarKey,
} from '../../core/values/reference.ts';
import type { PaymentRow } from '../rules.ts';
import type { Notification, PaymentToPost } from './rules.ts';

// Which payments may be one payment, reported by staff and by a provider:
// - those with one reference, in the form of `referenceKey`;
// - those whose references differ only in O and 0, or in I and 1 (`similarKey`), because staff mistype them;
// - those of which one has the reference of the other as another id: in the report of the provider, or beside other text that staff typed.
// Payments that may be one have an advisory lock in common, so they are decided one after the other.

/** The names of the advisory locks of a reference. Payments with similar references share a lock. */
export function locksOfReference(key: string): string[] {
  return [...new Set([key, similarKey(key)])].map((one) => lockName('payment reference', one));
}

/** The ids of a payment to post, with their locks. */
export function identityOf(reference: string | null, otherKeys: string[]) {
  const locks = reference === null ? [] : locksOfReference(reference);
  const sharedLocks = otherKeys.flatMap(locksOfReference).filter((lock) => !locks.includes(lock));
  return { reference, otherKeys, locks, sharedLocks };
}

/**
 * The other ids of a payment in its report. What the payer typed is no id of the payment, and neither is the payer's number: staff use
 * account numbers and names as references of several payments.
 */
export function otherKeysOf({
  rawBody,
  transId,
  billRef,
  payer,
}: Pick<Notification, 'rawBody' | 'transId' | 'billRef' | 'payer'>): string[] {
  const others = [transId, billRef ?? '', payer ?? ''].map(referenceKey);
  return reportedIds(rawBody).filter((key) => isOtherKey(key) && !others.includes(key));
}

/** Whether a reference can be the id of a payment that a bank, an aggregator or a payment request has given it. */
export function isOtherKey(key: string): boolean {
  return isReportedId(key) && readAccountNumber(key) === undefined;
}

/** The reference of a payment, and the ids that it contains: a notification of such an id can become a conflict because of the payment. */
export function keysOfPayment({ reference_key: key, transaction_ref: typed }: PaymentRow): string[] {
  return key === null ? [] : [key, ...containedKeys(typed ?? '')];
}

/** The ids of a payment to post by which stored payments are searched. */
export function keysToFind(item: PaymentToPost): string[] {
  const { reference, otherKeys } = item;
  const isReported = reference !== null && ('notification' in item || isOtherKey(reference));
  return isReported ? [reference, ...otherKeys] : otherKeys;
}

/** Whether a stored payment has an id, as its reference or in its report. @param report - null without a report. */
export function hasKey(
  { reference_key: reference, transaction_ref: typed }: PaymentRow,
  report: Pick<Notification, 'rawBody' | 'billRef' | 'payer'> | null,
  key: string,
): boolean {
  if (report) return otherKeysOf({ ...report, transId: reference ?? '' }).includes(key);
  return reference === key || containedKeys(typed ?? '').includes(key);
}

export const SIMILAR_WITHIN_DAYS = 3;

/**
 * Whether two payments with similar references are probably one payment, whose reference staff mistyped: their amounts are equal,
 * and their days differ by at most three.
 */
export function isProbablySame(
  one: { amountMinor: Minor; paymentDate: PlainDate },
  { amount_minor: amount, payment_date: date }: Pick<PaymentRow, 'amount_minor' | 'payment_date'>,
): boolean {
  return (
    BigInt(amount) === one.amountMinor && Math.abs(daysBetween(date, one.paymentDate)) <= SIMILAR_WITHIN_DAYS
  );
}
