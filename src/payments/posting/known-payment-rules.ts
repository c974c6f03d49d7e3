import type { RunningBooks } from '../../accounts/ledger/rules.ts';
import type { Currency } from '../../core/context.ts';
import type { Row, UserRole } from '../../core/database/tables.ts';
import type { AppError } from '../../core/http/errors.ts';
import type { KeptAnswer } from '../../core/http/idempotency.ts';
import { daysBetween, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { Match } from '../matching/rules.ts';
import type { PaymentRow } from '../rules.ts';
import type { PaymentToPost } from './payment-to-post-rules.ts';
import type { AlikePayment, EarlierPayment } from './warning-rules.ts';

// What a decision about a payment knows: what the database has about its transaction, and what its batch has posted before it.

/** A payment, with the customer of its account, and the current rights of the user or API key that recorded the payment. */
export type KnownPayment = PaymentRow & {
  /** The role of the user or the API key. Null for the system, and for a key that has `key_permissions`. */
  recorder_role: UserRole | null;
  key_permissions: string[] | null;
  customer_id: number | null;
  /** Whether somebody has requested approval for a change of the payment. */
  awaits_approval: boolean;
};

export type KnownNotification = Pick<
  Row<'notifications'>,
  | 'id'
  | 'provider'
  | 'source'
  | 'status'
  | 'outcome'
  | 'content_hash'
  | 'payment_id'
  | 'conflict_payment_id'
  | 'payment_request_id'
  | 'trans_time'
  | 'business_short_code'
  | 'bill_ref'
  | 'payer'
  | 'flags'
  | 'time_zone'
> & { trans_id: string; amount_minor: number };

/** The stored data of a reference: notifications, unreversed payments, and reversed payments that have a provider. */
export interface KnownTransaction {
  payments: KnownPayment[];
  /**
   * Unreversed payments whose reference differs only in O and 0, or in I and 1 (`similarKey`), with one reference that contains the
   * other (`containedKeys`), or whose reference is another id of the payment (`otherKeys`).
   */
  similar: KnownPayment[];
  notifications: KnownNotification[];
  /** The id of the first provider statement that has a payment line for the reference. Searched only for manual payments. */
  statementId: number | null;
}

export const UNKNOWN_TRANSACTION: KnownTransaction = {
  payments: [],
  similar: [],
  notifications: [],
  statementId: null,
};

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

/** A payment found by its external id. */
export type ExternalPayment = Pick<
  PaymentRow,
  'id' | 'account_id' | 'amount_minor' | 'payment_method_id' | 'status'
>;

/** What the decision about a payment to post depends on, besides what the same batch has posted before. */
export interface PostingReads {
  /** The ids for the new rows of this payment. */
  newIds: { payment: number; notification: number | null };
  known: KnownTransaction;
  methods: readonly Row<'payment_methods'>[];
  /** The payment that already has the external id of the manual payment. */
  sameExternalId?: ExternalPayment;
  /** The answer that is stored under the idempotency key, or the error if the key cannot be used. */
  answer?: KeptAnswer | AppError;
  match: Match;
  /** The ids of the customers whose accounts would be suggested for a notification without a match. */
  suggestedCustomerIds: readonly number[];
  /** For a manual payment: see `findWarnings`. */
  alike: readonly AlikePayment[];
  /** For a manual payment in cash: see `findCashWarnings`. */
  cashInHandMinor?: Minor | undefined;
}

/** What a batch has posted so far. A decision sees the payments before it, and the books after them. */
export interface PostedSoFar {
  /** The locked accounts: of the manual payments, and of the matches. */
  books: RunningBooks;
  payments: EarlierPayment[];
}

export interface PostingSettings {
  currency: Currency;
  /** The business time zone. */
  timeZone: string;
  /** The country whose phone numbers need no country code. */
  region: string;
  /** For how many days back agents can record payments. */
  agentBackdatingDays: number;
  cashCeilingMinor: Minor | undefined;
  now: Date;
}

/**
 * The stored payments that the decision can change, and that posting therefore locks: manual payments that a notification can be
 * linked to, a payment that a repeat can match, and a reversed payment whose transaction a manual payment can take over.
 */
export function changeablePayments(item: PaymentToPost, known: KnownTransaction, match: Match): number[] {
  const isChangeable = (payment: KnownPayment) => {
    if ('manual' in item) return payment.status === 'reversed';
    if (payment.provider === null) return payment.status !== 'reversed';
    return match.accountId !== null && isUntouched(payment);
  };
  return [...known.payments, ...known.similar].filter(isChangeable).map(({ id }) => id);
}

/** Whether neither staff nor a rule has changed the unmatched payment since a provider reported it. */
export function isUntouched(payment: KnownPayment): boolean {
  const { status, provider, source, reconciliation_id: reconciliationId } = payment;
  const { created_at: createdAt, updated_at: updatedAt } = payment;
  return (
    status === 'unmatched' &&
    provider !== null &&
    source !== 'manual' &&
    reconciliationId === null &&
    createdAt === updatedAt &&
    !payment.awaits_approval
  );
}
