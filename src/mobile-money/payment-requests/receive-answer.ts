import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { amountOf, type Context, SYSTEM } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { moveToRequestedAccount } from '../../payments/assign-payment.ts';
import { receiveNotification } from '../../payments/notifications/receive-notification.ts';
import { insertRejected } from '../../payments/notifications/store.ts';
import type { PostingContext } from '../../payments/posting/post-payments.ts';
import { providerActor } from '../../payments/rules.ts';
import type { RequestAnswer } from '../providers/provider.ts';
import { REQUEST_PROVIDER } from '../providers/registry.ts';
import { readAmountOf, readingSettings, readNotification } from '../providers/rules.ts';
import {
  idColumns,
  type PaidAnswer,
  replacePayment,
  setEnded,
  setPaid,
  setPayment,
  setUnknown,
} from './change-commands.ts';
import {
  certainPayment,
  findableBefore,
  isSamePhone,
  mayBeUnrelated,
  mayMove,
  type PaymentRequestRow,
  paymentPeriod,
  problemOfAnswer,
} from './rules.ts';
import {
  claimUnanswerable,
  claimWithoutPayment,
  findPayment,
  findPossiblePayments,
  findRequest,
  hasRival,
  isReceiptTaken,
  lockRequest,
  lockRequestByKey,
  updateRequest,
} from './store.ts';

/**
 * Stores the provider's answer to a request, and posts the payment that the answer reports. An answer that does not fit its
 * request is stored as a rejected notification. If the request has no outcome yet, the service then asks for the outcome.
 */
export async function receiveAnswer(
  context: PostingContext,
  log: Log,
  callbackKey: string,
  body: string,
  answer: RequestAnswer,
): Promise<void> {
  const request = await storeAnswer(context, callbackKey, body, answer);
  if (!request || request.receipt === null || request.payment_id !== null) return;
  try {
    await postPaid(context, log, request);
  } catch (error) {
    // The answer is stored, so a job can post the payment later.
    log.error(
      { err: error, paymentRequestId: request.id },
      'the payment of a request was not posted; a job will retry it',
    );
  }
}

/** @returns undefined if the answer was rejected. */
async function storeAnswer(
  context: Context,
  callbackKey: string,
  body: string,
  answer: RequestAnswer,
): Promise<PaymentRequestRow | undefined> {
  const { config, currency } = context;
  const { name: provider } = REQUEST_PROVIDER;
  const { result } = answer;
  const paid: PaidAnswer = answer.receipt === null ? null : { receipt: referenceKey(answer.receipt), body };
  const amountMinor = answer.amount === null ? null : readAmountOf(answer, currency);
  const readable = { transId: paid?.receipt ?? null, amountMinor: amountMinor ?? null, payer: answer.payer };
  return inTransaction(context.db, async (tx) => {
    const now = context.clock.now();
    const row = await lockRequestByKey(tx, provider, callbackKey);
    if (!row) {
      await insertRejected(
        tx,
        provider,
        body,
        'the answer belongs to no payment request',
        'webhook',
        readable,
      );
      return undefined;
    }
    const problem =
      problemOfAnswer(row, answer, amountMinor, { currency, region: config.PHONE_REGION }) ??
      (paid === null ? undefined : await problemOfReceipt(tx, row, paid.receipt, config.PHONE_REGION));
    if (problem !== undefined) {
      const failure = `payment request ${row.id}: ${problem}`;
      await insertRejected(tx, provider, body, failure, 'webhook', readable);
      if (row.ended_at === null) await updateRequest(tx, row.id, { ...sentColumn(row), next_step_at: now });
      return undefined;
    }
    const known = await updateRequest(tx, row.id, { ...idColumns(row, answer), ...sentColumn(row) });
    if (result.outcome === 'waiting') {
      if (row.ended_at !== null) return known;
      return mayMove(row.status, 'unknown')
        ? setUnknown(tx, known, result.message, now)
        : updateRequest(tx, row.id, { next_step_at: now });
    }
    if (result.outcome === 'ended')
      return mayMove(row.status, 'declined') ? setEnded(tx, known, result, now) : known;
    if (mayMove(row.status, 'paid')) return setPaid(tx, known, paid, result.message, now);
    if (paid === null || row.paid_body !== null) return known;
    return row.receipt === null || row.receipt === paid.receipt
      ? updateRequest(tx, row.id, { receipt: paid.receipt, paid_body: paid.body })
      : replacePayment(tx, known, paid);
  });
}

/**
 * The column that says that the request was sent. An answer proves this, also if the call seemed to fail: the request must then not
 * be sent again, because the customer could pay twice.
 */
function sentColumn({ send_started_at: sentAt, created_at: createdAt }: PaymentRequestRow) {
  return { send_started_at: new Date(sentAt ?? createdAt) };
}

/** @returns a text for staff: why the transaction cannot be the payment of the request. */
async function problemOfReceipt(
  tx: Tx,
  row: PaymentRequestRow,
  receipt: string,
  region: string,
): Promise<string | undefined> {
  if (await isReceiptTaken(tx, row, receipt)) return `another payment request has the transaction ${receipt}`;
  const payment = await findPayment(tx, row.provider, receipt);
  return payment && mayBeUnrelated(payment, row, region)
    ? `the transaction ${receipt} is payment ${payment.id}, which is not on the account of the request, and perhaps not from the phone of the request`
    : undefined;
}

/** Posts the payment of a paid request if it is not posted yet, and links the payment to the request. */
async function postPaid(context: PostingContext, log: Log, request: PaymentRequestRow): Promise<boolean> {
  if (request.receipt === null) return findUnnamedPayment(context, request);
  const notification = notificationOf(context, request, request.receipt);
  if (notification) await receiveNotification(context, log, notification);
  return linkPayment(context, request.id, request.receipt);
}

/** The payment as the provider's answer describes it. Undefined if the service found the payment without an answer. */
function notificationOf(context: Context, request: PaymentRequestRow, receipt: string) {
  const { config, currency } = context;
  const { requester } = REQUEST_PROVIDER;
  if (request.paid_body === null || request.ended_at === null) return undefined;
  const answer = requester.read(Buffer.from(request.paid_body));
  if (!answer) throw new Error(`The stored answer to payment request ${request.id} is unreadable.`);
  const sent = {
    transactionId: receipt,
    amount: String(amountOf(request.amount_minor, currency)),
    time: answer.time,
    businessShortCode: requester.shortCode(config),
    reference: formatAccountNumber(request.account_id),
    payer: answer.payer ?? request.phone,
    payerName: null,
  };
  const receivedAt = new Date(request.ended_at);
  const reading = readNotification(
    REQUEST_PROVIDER,
    sent,
    request.paid_body,
    receivedAt,
    readingSettings(context),
  );
  if ('problems' in reading)
    throw new Error(`The answer to payment request ${request.id} has no valid transaction.`);
  return { ...reading.notification, paymentRequestId: request.id };
}

/**
 * Links the payment of the transaction to its request, and moves the payment to the account of the request. Does nothing if the
 * amounts differ, or if the payment is on another account and may come from another phone.
 * @returns false if the request still has no payment.
 */
async function linkPayment(context: Context, id: number, receipt: string): Promise<boolean> {
  return inTransaction(context.db, async (tx) => {
    const seen = await findRequest(tx, id);
    const payment = seen && (await findPayment(tx, seen.provider, receipt));
    if (!seen || payment?.amount_minor !== seen.amount_minor) return false;
    // Check this again, because the payment may have been posted after the answer was stored.
    if (mayBeUnrelated(payment, seen, context.config.PHONE_REGION)) return false;
    const { id: paymentId } = payment;
    await moveToRequestedAccount(tx, context, providerActor(seen.provider), paymentId, seen.account_id);
    const row = await lockRequest(tx, id);
    if (row?.status !== 'paid' || row.payment_id !== null) return true;
    // The provider may have reported another transaction since the payment was found.
    if (row.receipt !== null && row.receipt !== receipt) return false;
    await setPayment(tx, row, paymentId, receipt);
    return true;
  });
}

/**
 * Finds and links the payment of a request for which the provider confirmed a payment without naming the transaction. The payment
 * has the account, the amount, the phone and the time of the request. If there are two such payments, staff decide.
 */
async function findUnnamedPayment(context: Context, request: PaymentRequestRow): Promise<boolean> {
  const { send_started_at: sentAt, ended_at: endedAt, phone } = request;
  if (sentAt === null || endedAt === null) return false;
  const period = paymentPeriod(new Date(sentAt), new Date(endedAt));
  const possible = await findPossiblePayments(context.db, request, period);
  const fitting = possible.filter(({ payer }) => isSamePhone(payer, phone, context.config.PHONE_REGION));
  const [payment] = fitting;
  if (!payment || fitting.length > 1) return false;
  return linkPayment(context, request.id, payment.receipt);
}

const POSTED_IN_A_RUN = 500;
const POSTED_AT_ONCE = 20;
/** After this time, the service no longer expects a report of the payment. */
const REPORTED_WITHIN_MS = 7 * 24 * 3_600_000;

/** Posts and links the payments of paid requests that have no payment yet. @returns the number of linked payments. */
export async function postPaidRequests(
  context: PostingContext,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const since = new Date(context.clock.now().getTime() - REPORTED_WITHIN_MS);
  const requests = await claimWithoutPayment(context.db, since, context.clock.now(), POSTED_IN_A_RUN);
  let posted = 0;
  for (let at = 0; at < requests.length && !signal.aborted; at += POSTED_AT_ONCE) {
    const batch = requests.slice(at, at + POSTED_AT_ONCE);
    const results = await Promise.allSettled(batch.map((one) => postPaid(context, log, one)));
    for (const [n, result] of results.entries()) {
      if (result.status === 'fulfilled') posted += Number(result.value);
      else
        log.error(
          { err: result.reason, paymentRequestId: batch[n]?.id },
          'the payment of a request was not posted',
        );
    }
  }
  return posted;
}

/**
 * Finds out which requests are paid, among those whose outcome cannot be asked for because the provider's id of the request was
 * lost. A request is paid if exactly one payment fits. If there is any doubt, it stays unknown. @returns the number of paid
 * requests.
 */
export async function findUnansweredPaid(context: Context, signal: AbortSignal): Promise<number> {
  const now = context.clock.now();
  const sent = { since: new Date(now.getTime() - REPORTED_WITHIN_MS), before: findableBefore(now) };
  const requests = await claimUnanswerable(context.db, sent, now, POSTED_IN_A_RUN);
  let found = 0;
  for (const { id } of requests) {
    if (signal.aborted) break;
    found += Number(await setPaidIfCertain(context, id));
  }
  return found;
}

async function setPaidIfCertain({ db, clock, config }: Context, id: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const row = await lockRequest(tx, id);
    // The provider may have reported the outcome in the meantime.
    if (row?.status !== 'unknown' || row.provider_request_id !== null || row.send_started_at === null)
      return false;
    const period = paymentPeriod(new Date(row.send_started_at));
    const possible = await findPossiblePayments(tx, row, period);
    const payment = certainPayment(possible, row.phone, config.PHONE_REGION);
    if (!payment || (await hasRival(tx, row, period))) return false;
    const paid = await setPaid(tx, row, null, null, clock.now(), SYSTEM);
    await setPayment(tx, paid, payment.id, payment.receipt, SYSTEM);
    return true;
  });
}
