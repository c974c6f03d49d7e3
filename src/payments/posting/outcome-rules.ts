import type { AccompanyingRows, MoneyEvent } from '../../accounts/ledger/rules.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type { NotificationOutcome } from '../../core/database/tables.ts';
import type { AppError } from '../../core/http/errors.ts';
import type { KeptAnswer } from '../../core/http/idempotency.ts';
import type { PaymentRow, RefusalReason } from '../rules.ts';
import type { PaymentWarning } from './warning-rules.ts';

// What a decision about a payment answers. The decisions are in manual-payment-rules.ts and ../notifications/rules.ts.

/** The outcome of posting: a manual payment, a replayed answer, the outcome of a notification, or its refusal. */
export type Outcome =
  | { payment: PaymentRow; warnings: PaymentWarning[] }
  | { replay: KeptAnswer }
  | { outcome: NotificationOutcome; paymentId: number | null }
  /** The provider then returns the money to the payer. */
  | { refusal: RefusalReason };

/** The outcome of a payment to post, or its refusal, and the rows to write. */
export interface Decision {
  result: ItemResult<Outcome>;
  /** A money event, with the rows to insert with it. */
  event?: MoneyEvent;
  /** Rows to insert without a money event. */
  rows?: AccompanyingRows;
  /** Stored payments, with their new account, match and transaction. Other columns are not written. */
  payments?: PaymentRow[];
  /** Stored notifications, with their new outcomes. */
  notifications?: (StoredOutcome & { id: number })[];
  /** The ids of stored notifications that get the flag `REPEATED_AFTER_REVERSAL`. */
  repeatedAfterReversal?: number[];
}

export function refuse(error: AppError): Decision {
  return { result: { error } };
}

/** The outcome of a notification, as its row stores it. */
export interface StoredOutcome {
  outcome: NotificationOutcome;
  paymentId: number | null;
  conflictPaymentId: number | null;
  flags: string[];
}

/**
 * The outcomes of a processed notification.
 * - hasPayment: processing the notification created a payment, or linked the notification to an existing one.
 * - isComparedWithLater: later notifications of the transaction are compared with this one.
 */
export const NOTIFICATION_OUTCOMES = {
  matched: { hasPayment: true, isComparedWithLater: true },
  unmatched: { hasPayment: true, isComparedWithLater: true },
  linked: { hasPayment: true, isComparedWithLater: true },
  conflict: { hasPayment: false, isComparedWithLater: true },
  differs: { hasPayment: false, isComparedWithLater: false },
  repeated: { hasPayment: false, isComparedWithLater: true },
} as const satisfies Record<NotificationOutcome, { hasPayment: boolean; isComparedWithLater: boolean }>;

export function linkedOutcome(paymentId: number, flags: string[]): StoredOutcome {
  return { outcome: 'linked', paymentId, conflictPaymentId: null, flags };
}

/** The money went to a short code of another business. */
export const OTHER_SHORT_CODE = 'other_short_code';
/** The provider repeats a transaction whose payment was reversed. */
export const REPEATED_AFTER_REVERSAL = 'repeated_after_reversal';

/**
 * A manual payment of the same amount has a reference that differs only in O and 0, or in I and 1, that contains the id, or that is
 * another id in the notification.
 */
export const SIMILAR_REFERENCE = 'similar_reference';

/** The manual payment of the transaction has another payment method than the provider. */
export const OTHER_METHOD = 'other_method';

/** The provider's time is missing, unreadable or before the year 2000. */
export const UNREADABLE_TIME = 'unreadable_time';

/** The provider sent no balance, although its other calls have one. The call may come before the money moves. */
export const WITHOUT_BALANCE = 'without_balance';

/** The provider's time is on a business day after the day of receipt. */
export const FUTURE_TIME = 'future_time';
