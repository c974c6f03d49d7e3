import { readAccountNumber } from '../../accounts/account-number-rules.ts';
import type { Actor } from '../../core/context.ts';
import { lockName } from '../../core/database/named-locks.ts';
import type { NotificationOutcome, PaymentSource } from '../../core/database/tables.ts';
import type { ExternalValues } from '../../core/http/external-ids.ts';
import type { IdempotencyKey } from '../../core/http/idempotency.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { isReportedId, referenceKey, reportedIds, similarKey } from '../../core/values/reference.ts';
import type { Interpretations } from '../matching/rules.ts';
import type { PaymentRow } from '../rules.ts';
import type { Confirmation, PaymentWarning } from './warning-rules.ts';

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
  /** Names of the advisory locks of the payment's reference, external id and idempotency key. */
  locks: string[];
  /**
   * Names of the advisory locks of the ids that a manual reference contains, or of `otherKeys`. Only a payment whose own reference is
   * such an id excludes the payment: many references can contain one word.
   */
  sharedLocks: string[];
  /** The other ids that a notification has for the payment, such as the id of the payer's bank, in the form of `referenceKey`. */
  otherKeys: string[];
  /** The provider's transaction id, or the `transactionRef` of a manual payment, in the form of `referenceKey`. */
  reference: string | null;
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

/** The names of the advisory locks of a reference. Payments with similar references share a lock. */
export function locksOfReference(key: string): string[] {
  return [...new Set([key, similarKey(key)])].map((one) => lockName('payment reference', one));
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
