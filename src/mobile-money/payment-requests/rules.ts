import { balanceOf } from '../../accounts/ledger/money-on-account-rules.ts';
import { type AccountRow, booksOf } from '../../accounts/ledger/rules.ts';
import { amountOf, type Currency } from '../../core/context.ts';
import type { PaymentRequestStatus, Row } from '../../core/database/tables.ts';
import { invalidField } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import { phoneSha256 } from '../../core/values/phone.ts';
import { fitsMask, readMasked, readPayer } from '../../payments/matching/rules.ts';
import type { EndReason, RequestAnswer } from '../providers/provider.ts';

// The state machine of a payment request, its limits, and when to send the request and to ask for its outcome.

export type PaymentRequestRow = Row<'payment_requests'>;

/** For each status of a payment request: the statuses to which the request can change. */
export const REQUEST_STATUSES: Readonly<Record<PaymentRequestStatus, readonly PaymentRequestStatus[]>> = {
  requested: ['sent', 'unknown', 'paid', 'declined', 'expired'],
  sent: ['unknown', 'paid', 'declined', 'expired'],
  unknown: ['paid', 'declined', 'expired'],
  paid: [],
  // A provider may report a payment after it has reported a failure. The request becomes `paid`, because the money has moved.
  declined: ['paid'],
  expired: ['paid'],
};

/** Why a request ended without a payment, and the status that the request then has. */
export const END_STATUS = {
  cancelled: 'declined',
  insufficient_funds: 'declined',
  wrong_pin: 'declined',
  phone_busy: 'declined',
  refused: 'declined',
  no_answer: 'expired',
  not_sent: 'expired',
} as const satisfies Record<EndReason, PaymentRequestStatus>;

export const END_REASONS = Object.keys(END_STATUS) as EndReason[];

export function mayMove(from: PaymentRequestStatus, to: PaymentRequestStatus): boolean {
  return REQUEST_STATUSES[from].includes(to);
}

/**
 * Checks that the account owes the amount, so that a typing error does not take too much from a customer. A debt with decimals is
 * rounded up for this check, because providers accept only whole units.
 * @throws AppError VALIDATION_ERROR.
 */
export function checkAmountOwed(account: AccountRow, amountMinor: Minor, currency: Currency): void {
  const owedMinor = balanceOf(booksOf(account));
  if (owedMinor <= 0n) throw invalidField('accountId', 'must refer to an account that owes money');
  const unit = 10n ** BigInt(currency.decimals);
  const mostMinor = ((owedMinor + unit - 1n) / unit) * unit;
  const rounding = mostMinor === owedMinor ? '' : ', rounded up to a whole unit';
  if (amountMinor > mostMinor)
    throw invalidField(
      'amount',
      `must be at most ${amountOf(mostMinor, currency)}, the amount that the account owes${rounding}`,
    );
}

/** A request that was not sent within this time expires, because a late prompt would surprise the customer. */
const SEND_WITHIN_MS = 2 * 60_000;
const FIRST_RESEND_MS = 2_000;
const LONGEST_RESEND_MS = 15_000;

/** When to try again to send a request that was certainly not sent. Null if it is too late. */
export function nextSendAt(
  { created_at: createdAt, send_attempts: attempts }: Pick<PaymentRequestRow, 'created_at' | 'send_attempts'>,
  now: Date,
): Date | null {
  const pauseMs = Math.min(LONGEST_RESEND_MS, FIRST_RESEND_MS * 2 ** Math.max(0, attempts - 1));
  const at = new Date(now.getTime() + pauseMs);
  return isTooLateToSend({ created_at: createdAt }, at) ? null : at;
}

export function isTooLateToSend({ created_at: createdAt }: Pick<PaymentRequestRow, 'created_at'>, now: Date) {
  return now.getTime() - Date.parse(createdAt) > SEND_WITHIN_MS;
}

/** The provider usually reports an outcome within this time. Afterwards the outcome is unknown. */
const USUAL_ANSWER_MS = 2 * 60_000;

/** Whether a request without an outcome becomes `unknown`. */
export function isOverdue(
  { send_started_at: sentAt }: Pick<PaymentRequestRow, 'send_started_at'>,
  now: Date,
) {
  return sentAt !== null && now.getTime() - Date.parse(sentAt) >= USUAL_ANSWER_MS;
}

/** Seconds from sending to the first call that asks for the outcome, and then between two calls. The last pause repeats. */
const QUERY_PAUSES_S = [30, 30, 60, 120, 300, 600, 1_800, 3_600] as const;
/** After this time the provider no longer knows the request. */
const ASK_WITHIN_MS = 7 * 24 * 3_600_000;

/** When to ask the provider for the outcome again. Null if it is too late, or if the provider's id of the request is not known. */
export function nextQueryAt(
  {
    provider_request_id: requestId,
    query_attempts: attempts,
    send_started_at: sentAt,
  }: Pick<PaymentRequestRow, 'provider_request_id' | 'query_attempts' | 'send_started_at'>,
  now: Date,
): Date | null {
  if (requestId === null || sentAt === null) return null;
  if (now.getTime() - Date.parse(sentAt) > ASK_WITHIN_MS) return null;
  const pauseS = QUERY_PAUSES_S[Math.min(attempts, QUERY_PAUSES_S.length - 1)] ?? 0;
  return new Date(now.getTime() + pauseS * 1_000);
}

interface RequestLimits {
  /** The smallest number of seconds between two requests to a phone. */
  intervalSeconds: number;
  /** The smallest number of seconds between two requests to a phone for the same amount. */
  sameAmountSeconds: number;
  /** The maximum number of requests to a phone in 24 hours. */
  perDay: number;
}

export const DAY_SECONDS = 86_400;

/** A request to the same phone within the last 24 hours. */
export type EarlierRequest = Pick<PaymentRequestRow, 'id' | 'amount_minor' | 'created_at'>;

/**
 * Finds the limit that another request to the phone would exceed.
 * @param earlier - the requests of the last 24 hours, the newest first.
 * @returns undefined if the phone may get another request.
 */
export function exceededLimit(
  earlier: readonly EarlierRequest[],
  amountMinor: Minor,
  { intervalSeconds, sameAmountSeconds, perDay }: RequestLimits,
  now: Date,
): { message: string; limit: number; resetSeconds: number } | undefined {
  const until = ({ created_at: at }: EarlierRequest, seconds: number) =>
    Math.ceil((Date.parse(at) + seconds * 1_000 - now.getTime()) / 1_000);
  const [newest] = earlier;
  const same = earlier.find(({ amount_minor: amount }) => BigInt(amount) === amountMinor);
  const oldestCounted = earlier[perDay - 1];
  const limits = [
    oldestCounted && {
      message: `This phone can get at most ${perDay} payment requests in 24 hours.`,
      limit: perDay,
      resetSeconds: until(oldestCounted, DAY_SECONDS),
    },
    same && {
      message: `This phone can get only one payment request for the same amount in ${sameAmountSeconds} s.`,
      limit: 1,
      resetSeconds: until(same, sameAmountSeconds),
    },
    newest && {
      message: `This phone can get only one payment request in ${intervalSeconds} s.`,
      limit: 1,
      resetSeconds: until(newest, intervalSeconds),
    },
  ];
  return limits.find((limit) => limit !== undefined && limit.resetSeconds > 0);
}

/**
 * Compares the provider's answer with the request.
 * @param amountMinor - the amount in the answer. Null if the answer has none, undefined if it is unreadable.
 * @returns a text for staff that says what differs. Undefined if the answer belongs to the request.
 */
export function problemOfAnswer(
  request: PaymentRequestRow,
  answer: RequestAnswer,
  amountMinor: Minor | null | undefined,
  { currency, region }: { currency: Currency; region: string },
): string | undefined {
  const { provider_request_id: requestId, amount_minor: requested, phone, status } = request;
  // If `paid_body` is null, the service found the payment itself. In this case, the answer may name another transaction.
  const receipt = request.paid_body === null ? null : request.receipt;
  if (requestId !== null && answer.requestId !== null && answer.requestId !== requestId)
    return `the provider’s id of the request is ${answer.requestId}, not ${requestId}`;
  if (answer.result.outcome !== 'paid')
    return status === 'paid'
      ? 'the request already has a payment that the provider reported or the service found'
      : undefined;
  if (amountMinor === undefined) return 'the amount is unreadable';
  if (amountMinor !== null && amountMinor !== BigInt(requested))
    return `the amount is ${amountOf(amountMinor, currency)}, not ${amountOf(requested, currency)}`;
  if (isAnotherPhone(answer.payer, phone, region)) return 'another phone paid';
  if (receipt !== null && answer.receipt !== null && answer.receipt !== receipt)
    return `the transaction is ${answer.receipt}, not ${receipt}`;
  return undefined;
}

/** The payment in the books for the transaction in the provider's answer. */
export interface ReportedPayment {
  id: number;
  amount_minor: number;
  /** Null for an unmatched payment. */
  account_id: number | null;
  /** The payer's number in the notification of the payment. */
  payer: string | null;
}

/**
 * Whether a payment is on another account than the request, and may come from another phone. If an answer to the request names
 * such a payment, the answer is rejected, and the payment is not moved.
 */
export function mayBeUnrelated(
  { id, account_id: accountId, payer }: ReportedPayment,
  request: Pick<PaymentRequestRow, 'account_id' | 'payment_id' | 'phone'>,
  region: string,
): boolean {
  if (accountId === null || accountId === request.account_id || id === request.payment_id) return false;
  return !isSamePhone(payer, request.phone, region);
}

/** Whether the payer's number, as a provider writes it, is the phone. True for a masked number whose ends fit. */
export function isSamePhone(payer: string | null, phone: string, region: string): boolean {
  const isReadable = readPayer(payer, region) !== null || readMasked(payer, region) !== undefined;
  return isReadable && !isAnotherPhone(payer, phone, region);
}

/** The provider's prompt usually ends within this time. A later payment does not count as the answer to the request. */
const PROMPT_MS = 5 * 60_000;
/** This long after a request, all notifications have arrived or were pulled, so every payment that may be the answer is known. */
const FIND_AFTER_MS = 15 * 60_000;
/** The provider's clock and the service's clock may differ. */
const CLOCK_DIFFERENCE_MS = 2 * 60_000;

/**
 * The period in which the payment of a request was made. @param endedAt - undefined if the provider has not reported the outcome.
 */
export function paymentPeriod(
  sentAt: Date,
  endedAt = new Date(sentAt.getTime() + PROMPT_MS),
): { from: Date; until: Date } {
  return {
    from: new Date(sentAt.getTime() - CLOCK_DIFFERENCE_MS),
    until: new Date(endedAt.getTime() + CLOCK_DIFFERENCE_MS),
  };
}

/** The service looks for the payment of a request (`certainPayment`) only if the request was sent before this time. */
export function findableBefore(now: Date): Date {
  return new Date(now.getTime() - FIND_AFTER_MS);
}

/** A payment that may be the answer to a request. */
export interface PossiblePayment {
  id: number;
  receipt: string;
  /** The payer's number in the notification of the payment. */
  payer: string | null;
  /** Whether the notification of the payment had a readable time. */
  hasTime: boolean;
}

/**
 * Finds the payment of a request whose outcome the provider never reported: the only payment that may come from the phone.
 * Undefined if there is any doubt.
 */
export function certainPayment(
  possible: readonly PossiblePayment[],
  phone: string,
  region: string,
): PossiblePayment | undefined {
  const candidates = possible.filter(({ payer }) => !isAnotherPhone(payer, phone, region));
  const [payment] = candidates;
  if (!payment || candidates.length > 1) return undefined;
  return payment.hasTime && isSamePhone(payment.payer, phone, region) ? payment : undefined;
}

/** Whether the payer's number is certainly not the phone. A masked number may be the phone if its ends fit. */
function isAnotherPhone(payer: string | null, phone: string, region: string): boolean {
  const hash = readPayer(payer, region);
  if (hash) return !hash.equals(phoneSha256(phone));
  const masked = readMasked(payer, region);
  return masked !== undefined && !fitsMask(phone, masked);
}
