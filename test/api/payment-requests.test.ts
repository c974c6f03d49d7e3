import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { EVENT_TYPES, EVENTS, type EventType } from '../../src/changes/events/catalogue-schema.ts';
import {
  findUnansweredPaid,
  postPaidRequests,
} from '../../src/mobile-money/payment-requests/receive-answer.ts';
import {
  createRequestSteps,
  LEASE_SECONDS,
  type RequestSteps,
  sendPaymentRequests,
} from '../../src/mobile-money/payment-requests/send-payment-requests.ts';
import { claimDue, type Step } from '../../src/mobile-money/payment-requests/store.ts';
import { retryPendingNotifications } from '../../src/payments/notifications/retry-pending-notifications.ts';
import { openBook } from '../../tools/simulator/provider-api/book.ts';
import type { Operation } from '../../tools/simulator/provider-api/operation.ts';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import {
  createStkPush,
  type Prompt,
  type PromptPlan,
  USUAL_PLAN,
} from '../../tools/simulator/provider-api/stk-push.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newCustomer,
  notify,
  pay,
  reverse,
  runJobs,
  startInstanceForTest,
  useService,
  waitingForLock,
  whileHolding,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';

const SECRET = 'secret-of-the-webhook';
const CALLBACK_URL = 'http://service.test';
const SHORT_CODE = '600638';
const MINUTE_MS = 60_000;

let plan: PromptPlan = USUAL_PLAN;
const stk = createStkPush({
  book: openBook(SHORT_CODE),
  planOf: () => plan,
  notificationUrl: () => `${service.origin}/api/webhooks/payments/mobilemoney?token=${SECRET}`,
  reportUrl: (given) => given.replace(CALLBACK_URL, service.origin),
  answerMs: 1,
  lateMs: 20,
});
const SEND = '/mpesa/stkpush/v1/processrequest';
const QUERY = '/mpesa/stkpushquery/v1/query';
/** The result of every query, instead of the answer of the simulator. */
let queryResult: { ResultCode: string; ResultDesc: string } | null = null;
/** The calls of this path are answered only after `mayAnswer`. */
let held: { path: string; count: number; mayAnswer: Promise<void>; release: () => void } | null = null;
const provider = await startProviderApi({
  operations: Object.fromEntries(
    Object.entries(stk.operations).map(([name, operation]): [string, Operation] => [
      name,
      async (call) => {
        const answer = await operation(call);
        if (held?.path === call.path) {
          held.count += 1;
          await held.mayAnswer;
        }
        const isReplaced = call.path === QUERY && queryResult !== null;
        return isReplaced ? { body: { ResponseCode: '0', ...queryResult } } : answer;
      },
    ]),
  ),
});
const SETTINGS = {
  MOBILEMONEY_API_URL: provider.url,
  MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
  MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
  MOBILEMONEY_SHORT_CODE: SHORT_CODE,
  MOBILEMONEY_PASSKEY: 'passkey',
  MOBILEMONEY_CALLBACK_URL: CALLBACK_URL,
  WEBHOOK_SECRET: SECRET,
};
const service = useService(SETTINGS);
/** The tests take the steps themselves, so that a request is sent and asked for only when its test expects this. */
let steps: RequestSteps;
let customerId: number;

beforeAll(async () => {
  const created = createRequestSteps(service.context, service.parts.log);
  if (!created) throw new Error('Payment requests are turned off.');
  steps = created;
  customerId = (await newCustomer(service)).id;
});
beforeEach(async () => {
  plan = USUAL_PLAN;
  queryResult = null;
  releaseHeld();
  service.clock.set(null);
  await forgetEarlierRequests();
});
afterAll(async () => {
  await stk.settled();
  await provider.close();
  await postPaid();
  await expectBooksToBalance(service.context);
});

/** Ends the work for the requests of earlier tests, as if they were made so long ago that nothing is expected any more. */
async function forgetEarlierRequests(): Promise<void> {
  await sql`
    update payment_requests set next_step_at = null, ended_at = ended_at - interval '30 days',
      send_started_at = send_started_at - interval '30 days', created_at = created_at - interval '30 days'
    where created_at > business_now() - interval '10 days'`.execute(service.context.db);
}

/** Takes every due step, and waits until the calls end. */
async function take(step: Step): Promise<void> {
  await Promise.all(await steps.takeDue(step, 100));
}

/** Sends the due requests, and waits until the phones have answered and the provider has reported the outcomes. */
async function send(): Promise<void> {
  await take('send');
  await stk.settled();
}

/** Sends a new request to its end. @returns the request afterwards. */
async function newAnsweredRequest(fields: object = {}) {
  const request = await newRequest(fields);
  await send();
  return read(request.id);
}

/** Starts the worker, which takes the steps by itself until the end of the test. */
function startWorker(): void {
  const worker = sendPaymentRequests(service.context, service.parts.log);
  if (!worker) throw new Error('Payment requests are turned off.');
  onTestFinished(async () => {
    const stopped = worker.stop(); // First, so that the worker makes no more calls.
    releaseHeld();
    await stopped;
  });
}

/** Holds the answers to the calls of a path until `releaseHeld`. */
function hold(path: string): void {
  let release = () => {};
  const mayAnswer = new Promise<void>((resolve) => {
    release = resolve;
  });
  held = { path, count: 0, mayAnswer, release };
}

function releaseHeld(): void {
  held?.release();
  held = null;
}

const heldCount = () => held?.count;

let phones = 0;

/** A phone that no request has used. */
function newPhone(): string {
  phones += 1;
  return `+25471${String(1_000_000 + phones)}`;
}

function ask(accountId: number, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return service.call('POST', `/accounts/${accountId}/payment-requests`, body, { headers });
}

/** A request for 400 to a new phone on a new account. */
async function newRequest(fields: object = {}) {
  const account = await openAccount();
  return dataOf(ask(account.id, { amount: 400, phone: newPhone(), ...fields }), 201);
}

function openAccount() {
  return newAccount(service, { customerId });
}

function read(id: number) {
  return dataOf(service.call('GET', `/payment-requests/${id}`));
}

async function expectRequest(id: number, expected: object) {
  const request = await read(id);
  expect(request).toMatchObject(expected);
  return request;
}

function wait(seconds: number): void {
  service.clock.set(new Date(service.clock.now().getTime() + seconds * 1_000));
}

async function paymentsOf(accountId: number) {
  const answer = await service.call('GET', `/accounts/${accountId}/payments`);
  return answer.body.data;
}

async function postPaid(): Promise<number> {
  return postPaidRequests(service.context, service.parts.log, new AbortController().signal);
}

function prompted(phone: string) {
  return stk.prompts.filter((prompt) => `+${prompt.phone}` === phone);
}

/** Lets the posting of payments fail during the work. @returns the number of notifications that wait for a retry. */
async function failToPost(work: () => Promise<unknown>): Promise<number> {
  const { db } = service.context;
  await sql`alter table payments add constraint no_payments check (false) not valid`.execute(db);
  try {
    await work();
  } finally {
    await sql`alter table payments drop constraint no_payments`.execute(db);
  }
  const { rows } = await sql`select from notifications where status = 'pending'`.execute(db);
  return rows.length;
}

/** The rejected notifications, the newest first. */
async function rejected() {
  const answer = await service.call('GET', '/notifications?filter[status]=rejected&sort=id:desc');
  return answer.body.data;
}

async function retryPending(): Promise<number> {
  return retryPendingNotifications(service.context, service.parts.log, new AbortController().signal);
}

/** The notification of a customer's payment, posted as the provider does. @returns its outcome. */
async function deliver(fields: Record<string, unknown>): Promise<string> {
  return (await dataOf(notify(service, notification(fields), { query: `?token=${SECRET}` }))).outcome;
}

/** A payment to the account of the request that the customer makes without the prompt. @returns its transaction. */
async function payByHand(request: { accountNumber: string; phone: string }, fields: object = {}) {
  transactions += 1;
  const transId = `BYHAND${transactions}`;
  const local = new Date(service.clock.now().getTime() + 3 * 3_600_000).toISOString();
  const TransTime = local.replace(/\D/g, '').slice(0, 14);
  const { accountNumber: BillRefNumber, phone } = request;
  await deliver({ TransID: transId, TransTime, BillRefNumber, MSISDN: phone.slice(1), ...fields });
  return transId;
}

let transactions = 0;

/** Inserts copies of a request for other phones. */
async function copyRequest(id: number, count: number, changes: string): Promise<void> {
  await sql
    .raw(`
    insert into payment_requests (account_id, provider, phone, amount_minor, status, callback_key, provider_request_id,
      send_started_at, next_step_at, holds_phone, requested_by, ended_at)
    select account_id, provider, '+2547999' || id || n, amount_minor, ${changes}, false, requested_by,
      case when ${changes.startsWith("'paid'")} then business_now() - interval '2 hours' end
    from payment_requests, generate_series(1, ${count}) n where id = ${id}`)
    .execute(service.context.db);
}

/** A request that the phone shows, and whose outcome nobody reports. */
async function newSilentRequest(fields: object = {}) {
  plan = { ...USUAL_PLAN, report: 'never', notification: 'never' };
  const request = await newAnsweredRequest(fields);
  expect(request).toMatchObject({ status: 'sent' });
  return request;
}

function rowOf(id: number) {
  return service.context.db
    .selectFrom('payment_requests')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

/** Posts an answer as the provider does. */
async function postAnswer(id: number, fields: object, items: Record<string, unknown> = {}) {
  const { callback_key: key } = await rowOf(id);
  return postTo(key, fields, items);
}

function postTo(key: string, fields: object, items: Record<string, unknown> = {}) {
  const Item = Object.entries(items).map(([Name, Value]) => ({ Name, Value }));
  const stkCallback = { ResultCode: 0, ResultDesc: 'Done', CallbackMetadata: { Item }, ...fields };
  return service.call('POST', `/webhooks/payments/mobilemoney/requests/${key}?token=${SECRET}`, {
    Body: { stkCallback },
  });
}

describe('a payment request', () => {
  it('asks the phone, and its payment is posted once although it is reported twice', async () => {
    const request = await newRequest();
    expect(request).toMatchObject({ status: 'requested', amount: 400, requestedBy: 'admin@example.com' });
    await send();
    const paid = await expectRequest(request.id, {
      status: 'paid',
      paymentId: expect.any(Number),
      reason: null,
    });
    const [prompt] = prompted(request.phone);
    expect(paid.transactionRef).toBe(prompt?.receipt);
    expect(prompt).toMatchObject({ amount: '400', accountReference: request.accountNumber });
    const payments = await paymentsOf(request.accountId);
    expect(payments).toMatchObject([
      { id: paid.paymentId, amount: 400, transactionRef: prompt?.receipt, matchMethod: 'payment_request' },
    ]);
    expect(payments).toHaveLength(1);
    expect((await accountNow(service, request.accountId)).paid).toBe(400);
  });

  it('signs the call with the short code, the passkey and the time in Nairobi', async () => {
    await newAnsweredRequest();
    expect(provider.calls.at(-1)?.path).toBe(SEND);
    const fields = provider.calls.at(-1)?.fields ?? {};
    const password = Buffer.from(String(fields.Password), 'base64').toString();
    expect(password).toBe(`${SHORT_CODE}passkey${fields.Timestamp}`);
    expect(fields.Timestamp).toMatch(/^\d{14}$/);
    expect(String(fields.AccountReference).length).toBeLessThanOrEqual(12);
    expect(fields).toMatchObject({ TransactionType: 'CustomerPayBillOnline', PartyB: SHORT_CODE });
  });

  it.each([
    ['cancelled', 'declined', 'cancelled'],
    ['insufficient_funds', 'declined', 'insufficient_funds'],
    ['wrong_pin', 'declined', 'wrong_pin'],
    ['no_answer', 'expired', 'no_answer'],
  ] as const)('ends without a payment if the customer’s answer is %s', async (customer, status, reason) => {
    plan = { ...USUAL_PLAN, customer };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status, reason, paymentId: null, endedAt: expect.any(String) });
    expect(await paymentsOf(request.accountId)).toEqual([]);
  });

  it('is declined if the provider refuses it, or already asks the phone', async () => {
    plan = { ...USUAL_PLAN, callAnswer: 'refused' };
    expect(await newAnsweredRequest()).toMatchObject({ status: 'declined', reason: 'refused' });
    plan = { ...USUAL_PLAN, callAnswer: 'phone_busy' };
    expect(await newAnsweredRequest()).toMatchObject({ status: 'declined', reason: 'phone_busy' });
  });

  it.each(['SFC_IC0003', 'TP40087', 2028])(
    'is declined by an answer with the code %s, frees its phone, and accepts a later payment',
    async (ResultCode) => {
      const request = await newSilentRequest();
      const answer = await postAnswer(request.id, { ResultCode, ResultDesc: 'No operator' });
      expect([answer.status, answer.body]).toEqual([200, { ResultCode: 0, ResultDesc: 'Accepted' }]);
      const providerMessage = `No operator (${ResultCode})`;
      await expectRequest(request.id, { status: 'declined', reason: 'refused', providerMessage });
      wait(121);
      plan = USUAL_PLAN;
      const next = await newAnsweredRequest({ phone: request.phone });
      expect(next).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
      const MpesaReceiptNumber = `AFTER${ResultCode}`;
      await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber });
      await expectRequest(request.id, {
        status: 'paid',
        reason: null,
        transactionRef: MpesaReceiptNumber.toUpperCase(),
      });
      expect(await paymentsOf(request.accountId)).toHaveLength(1);
      expect(await paymentsOf(next.accountId)).toHaveLength(1);
      expect(await read(next.id)).toEqual(next);
    },
  );

  it('stays open after an answer that says that it is being processed, and the provider is asked', async () => {
    const request = await newSilentRequest();
    const ResultDesc = 'The transaction is still under processing';
    expect((await postAnswer(request.id, { ResultCode: 4999, ResultDesc })).status).toBe(200);
    await expectRequest(request.id, { status: 'unknown', endedAt: null, providerMessage: ResultDesc });
    expect((await ask(request.accountId, { amount: 300, phone: request.phone })).status).toBe(409);
    await take('ask');
    await expectRequest(request.id, { status: 'paid' });
    await postAnswer(request.id, { ResultCode: 4999, ResultDesc });
    await expectRequest(request.id, { status: 'paid' });
  });

  it('is posted from the provider’s answer alone, if the notification is lost', async () => {
    plan = { ...USUAL_PLAN, notification: 'never' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    expect(await paymentsOf(request.accountId)).toMatchObject([{ id: request.paymentId, amount: 400 }]);
  });

  it('takes a payment whose notification came first under another reference', async () => {
    plan = { ...USUAL_PLAN, notification: 'first', reference: 'SOLAR' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    expect(await paymentsOf(request.accountId)).toMatchObject([
      { id: request.paymentId, amount: 400, matchMethod: 'payment_request' },
    ]);
    expect((await accountNow(service, request.accountId)).paid).toBe(400);
  });

  it('takes a payment whose notification was posted to another account', async () => {
    const other = await openAccount();
    plan = { ...USUAL_PLAN, notification: 'first', reference: other.accountNumber };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    expect(await paymentsOf(request.accountId)).toMatchObject([{ id: request.paymentId }]);
    expect((await accountNow(service, other.id)).paid).toBe(0);
  });

  it('does not move a payment that staff have assigned', async () => {
    const request = await newSilentRequest();
    const other = await openAccount();
    const receipt = `STAFF${request.id}`;
    const MSISDN = request.phone.slice(1);
    const sent = notification({ TransID: receipt, BillRefNumber: 'SOLAR', MSISDN });
    const { body } = await notify(service, sent, { query: `?token=${SECRET}` });
    const assigned = await service.call('POST', `/payments/${body.data.paymentId}/assign`, {
      accountId: other.id,
    });
    expect(assigned.status).toBe(200);
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt });
    await expectRequest(request.id, { status: 'paid', paymentId: body.data.paymentId });
    expect((await accountNow(service, other.id)).paid).toBe(400);
    expect((await accountNow(service, request.accountId)).paid).toBe(0);
  });

  it.each(['early', 'twice', 'late'] as const)(
    'becomes one payment if the provider’s answer is %s',
    async (report) => {
      plan = { ...USUAL_PLAN, report };
      const request = await newAnsweredRequest();
      expect(request).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
      expect(await paymentsOf(request.accountId)).toHaveLength(1);
    },
  );

  it('stays paid if the provider later reports a failure, which is kept as a rejected notification', async () => {
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'paid' });
    await postAnswer(request.id, { ResultCode: 1032, ResultDesc: 'Request cancelled by user' });
    expect(await read(request.id)).toMatchObject({ status: 'paid' });
    const [first] = await rejected();
    expect(first.failure).toBe(
      `payment request ${request.id}: the request already has a payment that the provider reported or the service found`,
    );
  });

  it('that was declined stays declined whatever is reported, except a payment', async () => {
    plan = { ...USUAL_PLAN, customer: 'cancelled' };
    const declined = await newAnsweredRequest();
    expect(declined).toMatchObject({ status: 'declined', reason: 'cancelled' });
    const { id, accountId, phone } = declined;
    // The provider now answers each call for the outcome as if the customer had paid.
    queryResult = { ResultCode: '0', ResultDesc: 'Done' };
    const reports: (() => Promise<unknown>)[] = [
      () => postAnswer(id, { ResultCode: 1, ResultDesc: 'Insufficient funds' }),
      () => postAnswer(id, { ResultCode: 1037, ResultDesc: 'No response from user' }),
      () => postAnswer(id, { ResultCode: 4999, ResultDesc: 'Still under processing' }),
      () => postAnswer(id, {}, { Amount: 399, MpesaReceiptNumber: `LESS${id}` }),
      () => postAnswer(id, {}, { Amount: 'four hundred', MpesaReceiptNumber: `TEXT${id}` }),
      () => postAnswer(id, {}, { Amount: 400, MpesaReceiptNumber: `OTHER${id}`, PhoneNumber: 254799999999 }),
      () => take('send'),
      () => take('ask'),
      () => payByHand(declined),
      () => findUnansweredPaid(service.context, new AbortController().signal),
      postPaid,
    ];
    for (const report of reports) {
      wait(1_000);
      await report();
      expect(await read(id), String(report)).toMatchObject({
        status: 'declined',
        reason: 'cancelled',
        paymentId: null,
        transactionRef: null,
        endedAt: declined.endedAt,
      });
    }
    expect(prompted(phone)).toHaveLength(1);
    const payments = await paymentsOf(accountId);
    expect(payments).toMatchObject([{ amount: 400, transactionRef: expect.stringMatching(/^BYHAND/) }]);
    expect(payments).toHaveLength(1);
  });

  it('becomes paid if the provider reports a payment after a failure', async () => {
    plan = { ...USUAL_PLAN, customer: 'no_answer' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'expired' });
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: `LATE${request.id}` });
    await expectRequest(request.id, { status: 'paid', reason: null, transactionRef: `LATE${request.id}` });
    expect(await paymentsOf(request.accountId)).toHaveLength(1);
  });

  it('links a payment that staff have recorded by hand', async () => {
    const request = await newSilentRequest();
    const receipt = `HAND${request.id}`;
    const manual = await pay(service, request.accountId, 400, {
      paymentMethodId: 1,
      transactionRef: receipt,
    });
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt });
    await expectRequest(request.id, { status: 'paid', paymentId: manual.id });
    expect((await accountNow(service, request.accountId)).paid).toBe(400);
  });

  it.each(['notification', 'answer'] as const)(
    'is posted once if the %s is still waiting for its retry when the other report comes',
    async (waiting) => {
      const request = await newSilentRequest();
      const receipt = `WAIT${request.id}`;
      const notified = () => deliver({ TransID: receipt, BillRefNumber: request.accountNumber });
      const answered = () => postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt });
      const [first, second] = waiting === 'notification' ? [notified, answered] : [answered, notified];
      expect(await failToPost(first)).toBe(1);
      expect(await paymentsOf(request.accountId)).toEqual([]);
      await second();
      expect(await paymentsOf(request.accountId)).toHaveLength(1);
      expect(await retryPending()).toBe(1);
      await postPaid();
      const [payment, ...others] = await paymentsOf(request.accountId);
      expect(others).toEqual([]);
      expect(payment).toMatchObject({ amount: 400, transactionRef: receipt });
      expect(await read(request.id)).toMatchObject({ status: 'paid', paymentId: payment.id });
      expect((await accountNow(service, request.accountId)).paid).toBe(400);
    },
  );

  it('keeps its reversed payment if the notification is repeated', async () => {
    const request = await newAnsweredRequest();
    const { paymentId } = request;
    expect(request).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    await reverse(service, paymentId);
    const { callback_key: key, paid_body: body } = await rowOf(request.id);
    await service.call('POST', `/webhooks/payments/mobilemoney/requests/${key}?token=${SECRET}`, body ?? '');
    expect((await accountNow(service, request.accountId)).paid).toBe(0);
    expect(await read(request.id)).toMatchObject({ status: 'paid', paymentId });
  });
});

describe('an outcome that the provider did not report', () => {
  it('is asked for after 30 seconds, and the payment is found by its account, amount, phone and time', async () => {
    plan = { ...USUAL_PLAN, report: 'never' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'sent' });
    wait(31);
    await take('ask');
    await expectRequest(request.id, { status: 'paid', transactionRef: null, paymentId: null });
    expect(await runJobs(service)).toBe(true);
    const [payment] = await paymentsOf(request.accountId);
    expect(await read(request.id)).toMatchObject({
      paymentId: payment.id,
      transactionRef: payment.transactionRef,
    });
  });

  it('is asked for again while the provider fails, and is unknown after two minutes', async () => {
    plan = { ...USUAL_PLAN, customer: 'cancelled', report: 'never', failedQueries: 3 };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'sent' });
    for (const [n, seconds] of [31, 31, 61].entries()) {
      wait(seconds);
      await take('ask');
      expect((await rowOf(request.id)).query_attempts).toBe(n + 1);
    }
    expect(await read(request.id)).toMatchObject({ status: 'unknown', reason: null });
    wait(301);
    await take('ask');
    await expectRequest(request.id, { status: 'declined', reason: 'cancelled' });
  });

  it('does not end while the provider says that it is still processing', async () => {
    plan = { ...USUAL_PLAN, customer: 'cancelled', report: 'never' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'sent' });
    const [prompt] = prompted(request.phone) as [Prompt];
    prompt.answer = null;
    wait(31);
    await take('ask');
    expect((await rowOf(request.id)).query_attempts).toBe(1);
    expect(await read(request.id)).toMatchObject({ status: 'sent' });
    prompt.answer = 'cancelled';
    wait(31);
    await take('ask');
    await expectRequest(request.id, { status: 'declined' });
  });

  it.each(['error', 'lost'] as const)(
    'is unknown if the answer to the call is %s, and the request is not sent again',
    async (callAnswer) => {
      plan = { ...USUAL_PLAN, callAnswer, report: 'never', notification: 'never' };
      const request = await newAnsweredRequest();
      expect(request).toMatchObject({ status: 'unknown' });
      wait(3_000);
      await take('send');
      await take('ask');
      expect(prompted(request.phone)).toHaveLength(1);
      expect(await read(request.id)).toMatchObject({ status: 'unknown' });
      await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: `GONE${request.id}` });
      await expectRequest(request.id, { status: 'paid', transactionRef: `GONE${request.id}` });
    },
  );

  describe('that cannot be asked for, because the answer to its call was lost,', () => {
    /** A request without the provider's id. The customer may have paid. */
    async function newLostRequest() {
      plan = { ...USUAL_PLAN, callAnswer: 'lost', report: 'never', notification: 'never' };
      const request = await newAnsweredRequest();
      expect(request).toMatchObject({ status: 'unknown' });
      return request;
    }
    const find = () => findUnansweredPaid(service.context, new AbortController().signal);

    it('is paid by the only payment that fits, once its prompt has certainly ended', async () => {
      const request = await newLostRequest();
      const transactionRef = await payByHand(request, { TransAmount: '400' });
      wait(12 * 60);
      expect(await find()).toBe(0);
      expect(await read(request.id)).toMatchObject({ status: 'unknown' });
      wait(4 * 60);
      expect(await runJobs(service)).toBe(true);
      const paid = await read(request.id);
      expect(paid).toMatchObject({ status: 'paid', transactionRef, paymentId: expect.any(Number) });
      expect(await paymentsOf(request.accountId)).toHaveLength(1);
      const { body } = await service.call('GET', `/payments/${paid.paymentId}`);
      expect(body.data).toMatchObject({ accountId: request.accountId, transactionRef });
    });

    it('is paid by a payment whose notification comes hours later', async () => {
      const request = await newLostRequest();
      const local = new Date(service.clock.now().getTime() + 3 * 3_600_000 + 30_000).toISOString();
      wait(16 * 60);
      expect(await find()).toBe(0);
      wait(3 * 3_600);
      const TransTime = local.replace(/\D/g, '').slice(0, 14);
      const transactionRef = await payByHand(request, { TransAmount: '400', TransTime });
      expect(await find()).toBe(1);
      expect(await read(request.id)).toMatchObject({ status: 'paid', transactionRef });
      expect(await find()).toBe(0);
    });

    it.each([
      ['there are two payments that fit', [{}, {}]],
      ['the payment has another amount', [{ TransAmount: '401' }]],
      ['another phone paid', [{ MSISDN: '254799999999' }]],
      ['the payer is unknown', [{ MSISDN: '' }]],
      ['one of two payers is unknown', [{}, { MSISDN: '' }]],
      ['the time of the payment is unreadable', [{ TransTime: 'yesterday' }]],
      ['the payment was made long after the prompt', [{ TransTime: 'later' }]],
      ['the payment is on another account', [{ BillRefNumber: 'SOLAR' }]],
    ] as [string, Record<string, string>[]][])('stays unknown if %s', async (_case, payments) => {
      const request = await newLostRequest();
      const later = new Date(service.clock.now().getTime() + (3 * 60 + 9) * MINUTE_MS).toISOString();
      wait(10 * 60);
      for (const { TransTime, ...fields } of payments) {
        const at = TransTime === 'later' ? later.replace(/\D/g, '').slice(0, 14) : TransTime;
        const sentAt = new Date(service.clock.now().getTime() + (3 * 60 - 10) * MINUTE_MS).toISOString();
        const usual = sentAt.replace(/\D/g, '').slice(0, 14);
        await payByHand(request, { TransAmount: '400', TransTime: at ?? usual, ...fields });
      }
      wait(3_600);
      expect(await find()).toBe(0);
      expect(await read(request.id)).toMatchObject({ status: 'unknown', paymentId: null });
    });

    it('stays unknown while another request may have the payment', async () => {
      const request = await newLostRequest();
      await payByHand(request, { TransAmount: '400' });
      await sql`
        insert into payment_requests (account_id, provider, phone, amount_minor, status, callback_key, send_started_at,
          next_step_at, holds_phone, requested_by, ended_at)
        select account_id, provider, phone, amount_minor, 'paid', 'rival of ' || id, send_started_at - interval '1 minute',
          null, false, requested_by, send_started_at
        from payment_requests where id = ${request.id}`.execute(service.context.db);
      wait(16 * 60);
      expect(await find()).toBe(0);
      expect(await read(request.id)).toMatchObject({ status: 'unknown' });
    });

    it('has the payment that the provider reports later in place of the found one', async () => {
      const request = await newLostRequest();
      const found = await payByHand(request, { TransAmount: '400' });
      wait(16 * 60);
      expect(await find()).toBe(1);
      expect(await read(request.id)).toMatchObject({ transactionRef: found });
      await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: `TRUE${request.id}` });
      await expectRequest(request.id, { status: 'paid', transactionRef: `TRUE${request.id}` });
      expect(await paymentsOf(request.accountId)).toHaveLength(2);
    });

    it('is paid once if two instances look for its payment at the same time', async () => {
      const request = await newLostRequest();
      await payByHand(request, { TransAmount: '400' });
      wait(16 * 60);
      const found = await Promise.all([find(), find()]);
      expect(found.reduce((sum, one) => sum + one, 0)).toBe(1);
      const { body } = await service.call(
        'GET',
        `/audit?filter[resource]=payment_request&filter[resourceId]=${request.id}`,
      );
      const paid = body.data.filter(({ action }: { action: string }) => action === 'payment_request.pay');
      expect(paid).toMatchObject([{ actor: 'system' }]);
    });
  });

  it('is reported in time although the answer to the call was an error', async () => {
    plan = { ...USUAL_PLAN, callAnswer: 'error' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    expect(await paymentsOf(request.accountId)).toHaveLength(1);
  });

  it('is unknown if the service stopped while it sent the request, and the request is not sent again', async () => {
    const request = await newRequest();
    // Not `business_now()`: PostgreSQL rounds it to the next millisecond, so the step could be due only after this one.
    const now = service.clock.now();
    await service.context.db
      .updateTable('payment_requests')
      .set({ send_started_at: now, next_step_at: now })
      .where('id', '=', request.id)
      .execute();
    await send();
    await expectRequest(request.id, { status: 'unknown' });
    expect(prompted(request.phone)).toEqual([]);
  });

  it('is sent soon if the instance that took it died before it sent it', async () => {
    const request = await newRequest();
    const taken = await claimDue(service.context.db, 'send', 10, service.clock.now(), LEASE_SECONDS.send);
    expect(taken.map(({ id }) => id)).toEqual([request.id]);
    wait(15);
    await send();
    await expectRequest(request.id, { status: 'paid' });
  });

  it('expires a request that could not be sent for two minutes', async () => {
    const request = await newRequest();
    wait(121);
    await send();
    await expectRequest(request.id, { status: 'expired', reason: 'not_sent', sentAt: null });
    expect(prompted(request.phone)).toEqual([]);
  });

  it('stays open while a call for its outcome gets a code that does not end a request', async () => {
    const request = await newSilentRequest();
    queryResult = { ResultCode: '500001', ResultDesc: 'System internal error' };
    wait(31);
    await take('ask');
    expect((await rowOf(request.id)).query_attempts).toBe(1);
    expect(await read(request.id)).toMatchObject({ status: 'sent' });
    queryResult = null;
    wait(31);
    await take('ask');
    await expectRequest(request.id, { status: 'paid' });
  });
});

describe('a payment that is found for a request', () => {
  /** The provider confirms the payment without its transaction. */
  async function confirm(id: number): Promise<void> {
    wait(31);
    await take('ask');
    await expectRequest(id, { status: 'paid', paymentId: null });
    await postPaid();
  }

  it('is replaced by the transaction that the provider reports later, and both are posted', async () => {
    const request = await newSilentRequest();
    const byHand = await payByHand(request);
    await confirm(request.id);
    expect(await read(request.id)).toMatchObject({ transactionRef: byHand, paymentId: expect.any(Number) });
    const receipt = `PROMPT${request.id}`;
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt });
    const paid = await expectRequest(request.id, {
      transactionRef: receipt,
      paymentId: expect.any(Number),
    });
    const payments = await paymentsOf(request.accountId);
    expect(payments).toHaveLength(2);
    expect(payments.find(({ id }: { id: number }) => id === paid.paymentId).transactionRef).toBe(receipt);
    expect((await accountNow(service, request.accountId)).paid).toBe(800);
    const again = { Amount: 400, MpesaReceiptNumber: `THIRD${request.id}` };
    await postAnswer(request.id, {}, again);
    expect((await rejected())[0].failure).toContain(`the transaction is THIRD${request.id}, not ${receipt}`);
  });

  it('is not linked if the provider reports another transaction during the search', async () => {
    const request = await newSilentRequest();
    const byHand = await payByHand(request);
    wait(31);
    await take('ask');
    await expectRequest(request.id, { status: 'paid', paymentId: null });
    const receipt = `DURING${request.id}`;
    const lock = `select from payments where transaction_ref = '${byHand}' for update`;
    await whileHolding(service, lock, async (blocker) => {
      // The search has found the payment, and waits for this lock.
      const search = postPaid();
      await eventually(() => waitingForLock(blocker)).toHaveLength(1);
      const report = postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt });
      await eventually(() => read(request.id)).toMatchObject({ transactionRef: receipt });
      await blocker.query('rollback');
      await Promise.all([search, report]);
    });
    await postPaid();
    const { paymentId } = await expectRequest(request.id, { transactionRef: receipt });
    const payments = await paymentsOf(request.accountId);
    expect(payments).toHaveLength(2);
    expect(payments.find(({ id }: { id: number }) => id === paymentId)).toMatchObject({
      transactionRef: receipt,
    });
  });

  it('stays if the provider reports the same transaction later', async () => {
    const request = await newSilentRequest();
    const byHand = await payByHand(request);
    await confirm(request.id);
    const { paymentId } = await read(request.id);
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: byHand });
    expect(await read(request.id)).toMatchObject({ transactionRef: byHand, paymentId });
    expect(await paymentsOf(request.accountId)).toHaveLength(1);
  });

  const OTHER_PHONE = { MSISDN: '254733000001' };
  it.each([
    ['one of three payments comes from the phone', [OTHER_PHONE, OTHER_PHONE, {}], 3],
    ['two of three payments come from the phone', [OTHER_PHONE, {}, {}], null],
    ['the payer of the only payment is not known', [{ MSISDN: '' }], null],
  ])('is linked only if it is certain: %s', async (_what, payers, linked) => {
    const request = await newSilentRequest();
    const made: string[] = [];
    for (const payer of payers) made.push(await payByHand(request, payer));
    await confirm(request.id);
    const transactionRef = linked === null ? null : made[linked - 1];
    expect(await read(request.id)).toMatchObject({ status: 'paid', transactionRef });
  });

  it('of another amount stays on its account and is not linked', async () => {
    const request = await newSilentRequest();
    const other = await openAccount();
    const receipt = await payByHand({ ...other, phone: request.phone }, { TransAmount: '500.00' });
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt });
    await postPaid();
    expect(await read(request.id)).toMatchObject({ status: 'paid', paymentId: null });
    expect((await accountNow(service, other.id)).paid).toBe(500);
    expect((await accountNow(service, request.accountId)).paid).toBe(0);
  });

  it('is found although 500 older requests find none', async () => {
    const request = await newSilentRequest();
    await copyRequest(
      request.id,
      500,
      `'paid', callback_key || n, null, business_now() - interval '3 hours', null`,
    );
    const newer = await newSilentRequest();
    const byHand = await payByHand(newer);
    await confirm(newer.id);
    await postPaid();
    expect(await read(newer.id)).toMatchObject({ transactionRef: byHand });
  });
});

describe('sending a request', () => {
  it('does not wait for slow calls about other requests', async () => {
    const asked = await newSilentRequest();
    await copyRequest(
      asked.id,
      40,
      `'sent', callback_key || n, 'ws_CO_' || n, business_now(), business_now() - interval '1 hour'`,
    );
    hold(QUERY);
    startWorker();
    await eventually(heldCount).toBe(10);
    const request = await newRequest();
    await eventually(() => read(request.id)).toMatchObject({ status: 'sent' });
    expect(heldCount()).toBe(10);
  });

  it('ends the request if the provider refuses it after another instance has given it up', async () => {
    plan = { ...USUAL_PLAN, callAnswer: 'refused' };
    const request = await newRequest();
    hold(SEND);
    const sending = send();
    await eventually(heldCount).toBe(1);
    expect((await rowOf(request.id)).send_started_at).not.toBeNull();
    await sql`update payment_requests set status = 'unknown' where id = ${request.id}`.execute(
      service.context.db,
    );
    releaseHeld();
    await sending;
    await expectRequest(request.id, { status: 'declined', reason: 'refused' });
  });

  it('is repeated if the provider was too busy to process it', async () => {
    provider.failures.refusedAsBusy = 1;
    const request = await newAnsweredRequest();
    expect(provider.failures.refusedAsBusy).toBe(0);
    expect(request).toMatchObject({ status: 'requested', sentAt: null });
    wait(3);
    await send();
    await expectRequest(request.id, { status: 'paid' });
    expect(prompted(request.phone)).toHaveLength(1);
  });

  it.each([
    ['paid', {}, { Amount: 400, MpesaReceiptNumber: 'BETWEEN1' }],
    ['declined', { ResultCode: 1032 }, {}],
    ['unknown', { ResultCode: 4999 }, {}],
    ['unknown', {}, { Amount: 500, MpesaReceiptNumber: 'BETWEEN2' }],
  ] as const)(
    'is not repeated if the provider reports an outcome between two tries: %s with %j and %j',
    async (status, fields, items) => {
      provider.failures.refusedAsBusy = 1;
      const request = await newAnsweredRequest();
      expect(request).toMatchObject({ status: 'requested', sentAt: null });
      expect((await postAnswer(request.id, fields, items)).status).toBe(200);
      wait(3);
      await send();
      expect(prompted(request.phone)).toEqual([]);
      await expectRequest(request.id, { status });
    },
  );

  it('gets another access token if the provider refuses the current one', async () => {
    provider.tokens.expireAll();
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'paid' });
    expect(prompted(request.phone)).toHaveLength(1);
  });

  it('and asking for its outcome is the work of the worker', async () => {
    startWorker();
    const request = await newRequest();
    await eventually(() => read(request.id)).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    plan = { ...USUAL_PLAN, customer: 'cancelled', report: 'never' };
    const unreported = await newRequest();
    await eventually(() => read(unreported.id)).toMatchObject({ status: 'sent' });
    await stk.settled();
    wait(31);
    await eventually(() => read(unreported.id)).toMatchObject({ status: 'declined', reason: 'cancelled' });
  });
});

describe('an answer that does not fit', () => {
  it.each([
    ['the amount', { Amount: 500, MpesaReceiptNumber: 'ODD1' }, 'the amount is 500, not 400'],
    [
      'a text as the amount',
      { Amount: '90071992547409.92', MpesaReceiptNumber: 'ODD4' },
      'the amount is unreadable',
    ],
    ['a huge amount', { Amount: 1e30, MpesaReceiptNumber: 'ODD5' }, 'the amount is unreadable'],
    [
      'the phone',
      { Amount: 400, MpesaReceiptNumber: 'ODD2', PhoneNumber: 254700000001 },
      'another phone paid',
    ],
  ])('%s is stored as a rejected notification, and the provider is asked', async (_what, items, problem) => {
    plan = { ...USUAL_PLAN, customer: 'cancelled', report: 'never' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'sent' });
    const answer = await postAnswer(request.id, {}, items);
    expect(answer.body).toEqual({ ResultCode: 0, ResultDesc: 'Accepted' });
    const [first] = await rejected();
    expect(first.failure).toBe(`payment request ${request.id}: ${problem}`);
    await take('ask');
    await expectRequest(request.id, { status: 'declined', reason: 'cancelled' });
  });

  it('the id of the request is stored as a rejected notification', async () => {
    const request = await newSilentRequest();
    await postAnswer(request.id, { CheckoutRequestID: 'other' }, { Amount: 400, MpesaReceiptNumber: 'ODD3' });
    const [first] = await rejected();
    expect(first.failure).toMatch(/id of the request is other, not ws_CO_/);
  });

  it('a transaction of another request is stored as a rejected notification', async () => {
    const paid = await newAnsweredRequest();
    const { transactionRef } = paid;
    expect(paid).toMatchObject({ status: 'paid', paymentId: expect.any(Number) });
    const request = await newSilentRequest();
    await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: transactionRef });
    const [first] = await rejected();
    expect(first.failure).toContain('another payment request has the transaction');
    expect(await paymentsOf(request.accountId)).toEqual([]);
  });

  it.each([
    ['another phone', '254700000001'],
    ['an unknown phone', ''],
  ])(
    'a payment of %s to another account does not move it, and is stored as a rejected notification',
    async (_, MSISDN) => {
      const request = await newSilentRequest();
      const other = await openAccount();
      const receipt = await payByHand({ ...other, phone: request.phone }, { MSISDN });
      const [payment] = await paymentsOf(other.id);
      expect(payment).toMatchObject({ amount: 400, transactionRef: receipt, status: 'matched' });
      const PhoneNumber = Number(request.phone.slice(1));
      await postAnswer(request.id, {}, { Amount: 400, MpesaReceiptNumber: receipt, PhoneNumber });
      await postPaid();
      expect((await rejected())[0].failure).toBe(
        `payment request ${request.id}: the transaction ${receipt} is payment ${payment.id}, which is not on the account of the request, and perhaps not from the phone of the request`,
      );
      expect(await paymentsOf(other.id)).toMatchObject([
        { id: payment.id, matchMethod: payment.matchMethod },
      ]);
      expect(await paymentsOf(request.accountId)).toEqual([]);
      expect(await read(request.id)).toMatchObject({ paymentId: null, transactionRef: null });
    },
  );

  it('no request, or is unreadable, is stored as a rejected notification', async () => {
    expect((await postTo('0123456789abcdef0123456789abcdef', {})).status).toBe(200);
    expect((await rejected())[0].failure).toBe('the answer belongs to no payment request');
    const path = `/webhooks/payments/mobilemoney/requests/0123?token=${SECRET}`;
    expect(wrongFields(await service.call('POST', path, 'not JSON'))).toEqual(['body']);
    expect((await rejected())[0]).toMatchObject({
      failure: 'the answer to a payment request is unreadable',
      rawBody: 'not JSON',
    });
  });

  it('is refused without the secret', async () => {
    const path = '/webhooks/payments/mobilemoney/requests/0123?token=wrong';
    expect((await service.call('POST', path, {})).status).toBe(401);
  });
});

describe('the limits of a phone', () => {
  it('allow one open request, also if ten are made at once', async () => {
    plan = { ...USUAL_PLAN, report: 'never', notification: 'never' };
    const account = await openAccount();
    const phone = newPhone();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ask(account.id, { amount: 400, phone })),
    );
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.error).toMatchObject({
      code: 'DUPLICATE_ENTRY',
      details: { resource: 'payment_request', field: 'phone', id: created[0]?.body.data.id },
    });
    await send();
    await expectRequest(created[0]?.body.data.id, { status: 'sent' });
    expect(prompted(phone)).toHaveLength(1);
  });

  it('allow one request a minute, the same amount every two minutes, and ten a day', async () => {
    plan = { ...USUAL_PLAN, customer: 'cancelled' };
    const account = await openAccount();
    const phone = newPhone();
    const request = async (amount: number) => {
      const answer = await ask(account.id, { amount, phone });
      if (answer.status !== 201) return answer;
      await send();
      await expectRequest(answer.body.data.id, { status: 'declined' });
      return answer;
    };
    const first = await request(400);
    expect(first.status).toBe(201);
    const secondsLeft = () =>
      Math.ceil(60 - (service.clock.now().getTime() - Date.parse(first.body.data.createdAt)) / 1_000);
    const mostSeconds = secondsLeft();
    const tooSoon = await request(500);
    expect(tooSoon.status).toBe(429);
    expect(tooSoon.body.error).toMatchObject({ code: 'RATE_LIMITED', details: { limit: 1, remaining: 0 } });
    const retryAfter = Number(tooSoon.headers.get('retry-after'));
    expect(retryAfter).toBeLessThanOrEqual(mostSeconds);
    expect(retryAfter).toBeGreaterThanOrEqual(secondsLeft());
    wait(61);
    const same = await request(400);
    expect(same.status).toBe(429);
    expect(same.body.error.message).toMatch(
      /^This phone can get only one payment request for the same amount in 120 s\./,
    );
    for (let amount = 1; amount <= 9; amount += 1) {
      expect((await request(amount)).status).toBe(201);
      wait(61);
    }
    const tooMany = await request(300);
    expect(tooMany.status).toBe(429);
    expect(tooMany.body.error.message).toMatch(
      /^This phone can get at most 10 payment requests in 24 hours\./,
    );
  });

  it('release a phone one hour after a request whose outcome is still unknown', async () => {
    plan = { ...USUAL_PLAN, callAnswer: 'error', report: 'never', notification: 'never' };
    const request = await newAnsweredRequest();
    expect(request).toMatchObject({ status: 'unknown' });
    plan = USUAL_PLAN;
    wait(3_500);
    expect((await ask(request.accountId, { amount: 400, phone: request.phone })).status).toBe(409);
    wait(200);
    const next = await ask(request.accountId, { amount: 400, phone: request.phone });
    expect(next.status).toBe(201);
    await send();
    await expectRequest(next.body.data.id, { status: 'paid' });
  });
});

describe('POST /accounts/{accountId}/payment-requests', () => {
  it('names each wrong field', async () => {
    const account = await openAccount();
    expect(wrongFields(await ask(account.id, { amount: 400.5, phone: '+4915112345678' }))).toEqual([
      'amount',
      'phone',
    ]);
    expect(wrongFields(await ask(account.id, { amount: 400, phone: 'x' }))).toEqual(['phone']);
    expect(wrongFields(await ask(account.id, { amount: 999_999, phone: newPhone() }))).toEqual(['amount']);
    const missing = await ask(999_999, { amount: 400, phone: newPhone() });
    expect(missing.body.error.details).toMatchObject({ resource: 'account', field: 'accountId' });
  });

  it('asks for at most what the account owes', async () => {
    const account = await openAccount();
    const tooMuch = await ask(account.id, { amount: account.balance + 1, phone: newPhone() });
    expect(tooMuch.body.error.details.fields).toEqual([
      { path: 'amount', message: `must be at most ${account.balance}, the amount that the account owes` },
    ]);
    await pay(service, account.id, account.balance - 0.5);
    const rounded = await ask(account.id, { amount: 2, phone: newPhone() });
    expect(rounded.body.error.details.fields).toEqual([
      {
        path: 'amount',
        message: 'must be at most 1, the amount that the account owes, rounded up to a whole unit',
      },
    ]);
    await pay(service, account.id, 0.5);
    expect(wrongFields(await ask(account.id, { amount: 1, phone: newPhone() }))).toEqual(['accountId']);
  });

  it('makes one request for each Idempotency-Key', async () => {
    const account = await openAccount();
    const body = { amount: 400, phone: newPhone() };
    const headers = { 'idempotency-key': 'once' };
    const first = await ask(account.id, body, headers);
    const second = await ask(account.id, body, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });

  it('is answered with 409 while payment requests are turned off', async () => {
    const instance = await startInstanceForTest(service, { ...SETTINGS, MOBILEMONEY_PASSKEY: '' });
    const account = await openAccount();
    const token = service.adminToken;
    const path = `/accounts/${account.id}/payment-requests`;
    const answer = await instance.call('POST', path, { amount: 400, phone: newPhone() }, { token });
    expect(answer.status).toBe(409);
    expect(answer.body.error.message).toMatch(/^Payment requests are turned off\./);
    const settings = await instance.call('GET', '/settings');
    expect(settings.body.data.paymentRequests).toBe(false);
  });

  it('lists the requests of an account and of all accounts', async () => {
    const request = await newRequest();
    const ofAccount = await service.call('GET', `/accounts/${request.accountId}/payment-requests`);
    expect(ofAccount.body.data.map(({ id }: { id: number }) => id)).toEqual([request.id]);
    const all = await service.call('GET', `/payment-requests?filter[accountId]=${request.accountId}`);
    expect(all.body.data).toHaveLength(1);
  });
});

it('publishes every event of its kind, with exactly its data and without the phone', async () => {
  const sent = await newSilentRequest();
  await postAnswer(sent.id, {}, { Amount: 400, MpesaReceiptNumber: `EVENT${sent.id}` });
  await expectRequest(sent.id, { status: 'paid', paymentId: expect.any(Number) });
  for (const changes of [
    { customer: 'cancelled' },
    { customer: 'no_answer' },
    { callAnswer: 'lost', report: 'never', notification: 'never' },
  ] as const) {
    plan = { ...USUAL_PLAN, ...changes };
    await newAnsweredRequest();
  }
  const events = await service.context.db
    .selectFrom('events')
    .select(['type', 'data'])
    .where('resource', '=', 'payment_request')
    .execute();
  const types = EVENT_TYPES.filter((type) => type.startsWith('payment_request.'));
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(types));
  for (const { type, data } of events) {
    expect(Object.keys(data as object).sort(), type).toEqual([...EVENTS[type as EventType].data].sort());
    expect(JSON.stringify(data)).not.toContain('25471');
  }
});
