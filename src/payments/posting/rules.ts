import type { AccompanyingRows, MoneyEvent, RunningBooks } from '../../accounts/ledger/rules.ts';
import type { Actor, Currency } from '../../core/context.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type { NotificationOutcome, PaymentSource, Row, UserRole } from '../../core/database/tables.ts';
import type { AppError } from '../../core/http/errors.ts';
import type { ExternalValues } from '../../core/http/external-ids.ts';
import type { IdempotencyKey, KeptAnswer } from '../../core/http/idempotency.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { Interpretations, Match } from '../matching/rules.ts';
import type { PaymentRow, RefusalReason } from '../rules.ts';
import type { AlikePayment, Confirmation, EarlierPayment, PaymentWarning } from './warning-rules.ts';

// Payments on their way into the books, from staff and from providers, with the names that exclude a second payment.

export interface ManualPayment extends Required<ExternalValues> {
  actor: Actor;
  accountId: number;
  amountMinor: Minor;
  paymentMethodId: number;
  transactionRef: string | null;
  paymentDate: PlainDate;
  /** Whether staff know that a provider's payment with a similar reference is another payment. */
  bothAreReal: boolean;
  /** Undefined if the payment is posted despite warnings. Null if the request asks for checks, and confirms nothing yet. */
  confirmation?: Confirmation | null;
}

/** A payment that a provider has reported. */
export interface Notification {
  provider: string;
  /** The code of the provider's payment method. */
  methodCode: string;
  /**
   * Whether the provider waits for the outcome, and returns the money to the payer if the payment is refused. A refusable payment
   * is refused if it matches no account. If posting fails, it is not stored for a retry.
   */
  isRefusable: boolean;
  source: PaymentSource;
  /** The id of the provider's statement, if the notification was imported from a statement line. */
  providerStatementId: number | null;
  /** The id of the payment request, if this payment answers one. `billRef` is then the number of the account of the request. */
  paymentRequestId: number | null;
  rawBody: string;
  /** In the form of `referenceKey`. */
  transId: string;
  amountMinor: Minor;
  /** Two notifications of one transaction have the same hash if their fields are the same. */
  contentHash: Buffer;
  transTime: Date;
  /** Whether the provider sends times. If not, `transTime` is the time of receipt. */
  providerSendsTime: boolean;
  /** The IANA zone in which `transTime` was read. Null: the zone of the provider's own API. */
  timeZone: string | null;
  /** Reads the time of a call in another zone. Absent if the provider sends no times. */
  readIn?(timeZone: string | null): Pick<Notification, 'transTime' | 'timeZone' | 'contentHash' | 'flags'>;
  businessShortCode: string | null;
  /** The reference that the payer typed. */
  billRef: string | null;
  /** The payer's number as the provider sent it. */
  payer: string | null;
  payerName: string | null;
  flags: string[];
  /** The row of the notification, if it is stored already. */
  stored: { id: number; outcome: NotificationOutcome | null } | null;
  /** If staff resolve a conflict: the id of the manual payment that they chose. */
  acceptedPaymentId: number | null;
  /** Whether staff decided that the manual payments with similar references are other payments. */
  bothAreReal: boolean;
}

/** The answer to store under an idempotency key, for repeats of the request. */
export interface KeepAnswer {
  key: IdempotencyKey;
  status: number;
  answerOf(payment: PaymentRow, warnings: readonly PaymentWarning[]): unknown;
}

/** A payment to post, from staff or a provider, with the data that is derived from its fields. */
export type PaymentToPost = {
  /** The provider's transaction id, or the `transactionRef` of a manual payment, in the form of `referenceKey`. */
  reference: string | null;
  /**
   * Other ids that the payment may have, in the form of `referenceKey`: those in the report of a provider, such as the id of the payer's
   * bank, and those that a manual reference contains beside other text.
   */
  otherKeys: string[];
  /** Names of the advisory locks of the reference, the external id and the idempotency key. */
  locks: string[];
  /**
   * Names of the advisory locks of `otherKeys`. Only a payment whose own reference is such an id excludes the payment: many references
   * can contain one word.
   */
  sharedLocks: string[];
  /** Null for a manual payment, and for money that went to a short code of another business. */
  interpretations: Interpretations | null;
  /** The account of a manual payment, or the account whose number the payer of a notification typed. */
  namedAccountId: number | null;
} & ({ manual: ManualPayment; keep: KeepAnswer | undefined } | { notification: Notification });

/**
 * The payments that leave a batch because an earlier payment of the batch has the same name, with this name. Shared names exclude
 * only payments that do not share them.
 */
export function missedInBatch<Item extends Pick<PaymentToPost, 'locks' | 'sharedLocks'>>(
  items: readonly Item[],
): Map<Item, string> {
  const taken = new Set<string>();
  const shared = new Set<string>();
  const missed = new Map<Item, string>();
  for (const item of items) {
    const { locks, sharedLocks } = item;
    const common =
      locks.find((lock) => taken.has(lock) || shared.has(lock)) ??
      sharedLocks.find((lock) => taken.has(lock));
    if (common !== undefined) missed.set(item, common);
    for (const lock of locks) taken.add(lock);
    for (const lock of sharedLocks) shared.add(lock);
  }
  return missed;
}

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
   * Unreversed payments whose reference differs only in O and 0, or in I and 1 (`similarKey`). And payments of the other side, staff or
   * providers, of the same amount within a few days, whose reference is one of the `otherKeys`, or that have the reference as one of
   * their own.
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
  sameExternalId?: ExternalPayment | undefined;
  /** The answer that is stored under the idempotency key, or the error if the key cannot be used. */
  answer?: KeptAnswer | AppError | undefined;
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
  /** A money event, with the rows of its payment and changes. */
  event?: MoneyEvent;
  /** Further rows to insert, with or without a money event. */
  rows?: AccompanyingRows;
  /** Stored payments, with their new account, match, status and transaction. Other columns are not written. */
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
 */
export const NOTIFICATION_OUTCOMES = {
  matched: { hasPayment: true },
  unmatched: { hasPayment: true },
  linked: { hasPayment: true },
  conflict: { hasPayment: false },
  differs: { hasPayment: false },
  repeated: { hasPayment: false },
} as const satisfies Record<NotificationOutcome, { hasPayment: boolean }>;

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
