import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBook } from '../../tools/simulator/provider-api/book.ts';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import {
  type StatusPlan,
  statusOperations,
  USUAL_STATUS_PLAN,
} from '../../tools/simulator/provider-api/status.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { accountNow, dataOf, newAccount, notify, pay, runJobs, useService } from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { useQueuedJobs } from '../support/queued-jobs.ts';

const SECRET = 'secret-of-the-webhook';
const WITH_SECRET = { query: `?token=${SECRET}` };
const CALLBACK_URL = 'http://service.test';
const SHORT_CODE = '600638';
const MINUTE_MS = 60_000;

let plan: StatusPlan = USUAL_STATUS_PLAN;
const book = openBook(SHORT_CODE);
const status = statusOperations({
  books: [book],
  plan: () => plan,
  answerMs: 1,
  answerUrl: (given) => given.replace(CALLBACK_URL, service.origin),
});
const provider = await startProviderApi({ operations: status.operations });
const publicKeyFile = join(mkdtempSync(join(tmpdir(), 'provider-')), 'key.pem');
writeFileSync(publicKeyFile, status.publicKey);

const service = useService({
  MOBILEMONEY_API_URL: provider.url,
  MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
  MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
  MOBILEMONEY_SHORT_CODE: SHORT_CODE,
  MOBILEMONEY_INITIATOR: status.operator.initiator,
  MOBILEMONEY_INITIATOR_PASSWORD: status.operator.password,
  MOBILEMONEY_CERTIFICATE: publicKeyFile,
  MOBILEMONEY_CALLBACK_URL: CALLBACK_URL,
  WEBHOOK_SECRET: SECRET,
});
const runQueuedJobs = useQueuedJobs(service);
const withoutQueries = useService({ WEBHOOK_SECRET: SECRET });
afterAll(async () => {
  await status.settled();
  await provider.close();
  await expectBooksToBalance(service.context);
});

beforeEach(async () => {
  plan = USUAL_STATUS_PLAN;
  Object.assign(provider.failures, { isDown: false, errorStatus: null, refusedAsBusy: 0 });
  service.clock.set(null);
  // The queries of earlier tests are not sent.
  await service.context.db.updateTable('status_queries').set({ next_send_at: null }).execute();
});

const newTransactionId = () => randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase();

/** A payment in the provider's book. @returns the body of its notification. */
function paid(fields: { reference?: string; payer?: string } = {}) {
  const { reference = 'SOLAR', payer = '254701000000' } = fields;
  const time = service.context.clock.now();
  return book.pay({ transId: newTransactionId(), amountMinor: 80_000n, time, reference, payer });
}

/** Posts a notification. @returns the id of its payment. */
async function notified(body: Record<string, unknown>): Promise<number> {
  return (await dataOf(notify(service, body, WITH_SECRET))).paymentId;
}

function ask(path: string, body?: object) {
  return dataOf(service.call('POST', `${path}/status-queries`, body), 202);
}

function read(id: number) {
  return dataOf(service.call('GET', `/status-queries/${id}`));
}

/** Sends the queries that are due, and waits until the provider has answered them. */
async function sends(): Promise<void> {
  await runQueuedJobs();
  await status.settled();
}

async function settlesAs(id: number, expected: object) {
  await sends();
  const query = await read(id);
  expect(query).toMatchObject(expected);
  return query;
}

async function pass(minutes: number): Promise<void> {
  service.clock.set(new Date(service.context.clock.now().getTime() + minutes * MINUTE_MS));
  await runJobs(service);
  await sends();
}

async function rejectedNotifications() {
  const answer = await service.call('GET', '/notifications?filter[status]=rejected&sort=id:desc');
  return answer.body.data;
}

async function keyOf(id: number): Promise<string> {
  const { rows } = await sql<{ key: string }>`
    select callback_key as key from status_queries where id = ${id}`.execute(service.context.db);
  return rows[0]?.key ?? '';
}

function answers(key: string, body: unknown, token: string | null = SECRET) {
  const path = `/webhooks/payments/mobilemoney/status/${key}${token === null ? '' : `?token=${token}`}`;
  return service.call('POST', path, body, { token: null });
}

/** The wrong fields of a refused request, and what is allowed. */
function problemsOf({ body }: Answer): [string, string][] {
  return body.error.details.fields.map(({ path, message }: Record<string, string>) => [path, message]);
}

function resultOf(parameters: Record<string, string | number>) {
  const ResultParameter = Object.entries(parameters).map(([Key, Value]) => ({ Key, Value }));
  return { Result: { ResultCode: 0, ResultDesc: 'Done', ResultParameters: { ResultParameter } } };
}

describe('a status query about a payment', () => {
  it('shows the answer of the provider beside the payment, and changes no money', async () => {
    const body = paid();
    const paymentId = await notified(body);
    const asked = await ask(`/payments/${paymentId}`);
    expect(asked).toMatchObject({
      ...{ paymentId, notificationId: null, transactionRef: body.TransID, provider: 'mobilemoney' },
      ...{ state: 'requested', answer: null, differences: [], askedBy: 'admin@example.com', endedAt: null },
    });
    const answered = await settlesAs(asked.id, { state: 'answered' });
    expect(answered.answer).toEqual({
      status: 'Completed',
      amount: 800,
      payer: '254701000000',
      payerName: 'GRACE WANJIRU',
      receiver: SHORT_CODE,
      completedAt: expect.stringMatching(/Z$/),
      reason: 'Pay Utility Online',
    });
    expect(answered.differences).toEqual([]);
    const { body: payment } = await service.call('GET', `/payments/${paymentId}`);
    expect(payment.data).toMatchObject({ status: 'unmatched', amount: 800 });
    const listed = await service.call('GET', `/status-queries?filter[paymentId]=${paymentId}`);
    expect(listed.body.data).toEqual([answered]);
  });

  it('reads numbers that the provider sends as texts', async () => {
    plan = { ...USUAL_STATUS_PLAN, hasNumbersAsText: true, parameters: { Amount: '1,234.50' } };
    const { id } = await ask(`/payments/${await notified(paid())}`);
    const { answer } = await settlesAs(id, { state: 'answered' });
    expect(answer).toMatchObject({ amount: 1234.5, completedAt: expect.stringMatching(/Z$/) });
  });

  it('shows where the answer differs from the books', async () => {
    const parameters = {
      Amount: 900,
      TransactionStatus: 'Cancelled',
      DebitPartyName: '254799000111 - SOMEBODY ELSE',
      CreditPartyName: '111111 - Another company',
      FinalisedTime: 20_200_101_120_000,
    };
    plan = { ...USUAL_STATUS_PLAN, parameters };
    const body = paid();
    const { id } = await ask(`/payments/${await notified(body)}`);
    const { differences } = await settlesAs(id, { state: 'answered' });
    expect(differences).toEqual([
      { field: 'amount', ours: '800', provider: '900' },
      { field: 'payer', ours: body.MSISDN, provider: '254799000111' },
      { field: 'receiver', ours: SHORT_CODE, provider: '111111' },
      { field: 'date', ours: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), provider: '2020-01-01' },
      { field: 'status', ours: 'unmatched', provider: 'Cancelled' },
    ]);
  });

  it.each(['900000000000000000.00', '90071992547409.92', '', 1e30])(
    'shows the amount %j, which is unreadable, as a difference',
    async (Amount) => {
      plan = { ...USUAL_STATUS_PLAN, parameters: { Amount } };
      const { id } = await ask(`/payments/${await notified(paid())}`);
      const { answer, differences } = await settlesAs(id, { state: 'answered' });
      expect(answer.amount).toBeNull();
      expect(differences).toEqual([{ field: 'amount', ours: '800', provider: expect.any(String) }]);
      expect((await service.call('GET', '/status-queries')).status).toBe(200);
    },
  );

  it('compares with the present books, not with those at the time of the query', async () => {
    const { id: accountId } = await newAccount(service);
    const paymentId = await notified(paid());
    const { id } = await ask(`/payments/${paymentId}`);
    await settlesAs(id, { state: 'answered', differences: [] });
    const assigned = await service.call('POST', `/payments/${paymentId}/assign`, { accountId });
    expect(assigned.status, assigned.text).toBe(200);
    await service.call('POST', `/payments/${paymentId}/reverse`, { reason: 'A test' });
    const { differences } = await read(id);
    expect(differences).toEqual([{ field: 'status', ours: 'reversed', provider: 'Completed' }]);
  });

  it('finds the transaction of a manual payment by its reference', async () => {
    const body = paid();
    const { id: accountId } = await newAccount(service);
    const payment = await pay(service, accountId, 800, { transactionRef: body.TransID, paymentMethodId: 1 });
    const { id } = await ask(`/payments/${payment.id}`);
    await settlesAs(id, { state: 'answered', differences: [] });
    expect((await accountNow(service, accountId)).paid).toBe(800);
  });

  it('is refused for a payment without a transaction of this provider', async () => {
    const { id: accountId } = await newAccount(service);
    const cash = await pay(service, accountId, 100, { paymentMethodId: 2 });
    const refused = await service.call('POST', `/payments/${cash.id}/status-queries`);
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      `Payment ${cash.id} has no transaction of a provider. Only mobile-money payments with a reference have a transaction.`,
    ]);
    expect((await service.call('POST', '/payments/999999/status-queries')).status).toBe(404);
  });

  it('is refused while another query about the transaction is open', async () => {
    plan = { ...USUAL_STATUS_PLAN, answer: 'never' };
    const paymentId = await notified(paid());
    const { id } = await ask(`/payments/${paymentId}`);
    const second = await service.call('POST', `/payments/${paymentId}/status-queries`);
    expect([second.status, second.body.error]).toMatchObject([
      409,
      { code: 'DUPLICATE_ENTRY', details: { resource: 'status_query', field: 'transactionRef', id } },
    ]);
  });

  it('is asked once of ten concurrent queries', async () => {
    const body = paid();
    const paymentId = await notified(body);
    plan = { ...USUAL_STATUS_PLAN, answer: 'never' }; // An answer would allow the next query.
    const answered = await Promise.all(
      Array.from({ length: 10 }, () => service.call('POST', `/payments/${paymentId}/status-queries`)),
    );
    expect(answered.filter((one) => one.status === 202)).toHaveLength(1);
    expect(answered.filter((one) => one.status === 409)).toHaveLength(9);
    await sends();
    expect(status.queriedTransactions.filter((ref) => ref === body.TransID)).toHaveLength(1);
  });

  it('is published and recorded without personal data', async () => {
    const paymentId = await notified(paid());
    const { id } = await ask(`/payments/${paymentId}`);
    await settlesAs(id, { state: 'answered' });
    const { body: feed } = await service.call('GET', '/events?limit=1000&types=status_query.*');
    const events = feed.data.events.filter((one: { resourceId: number }) => one.resourceId === id);
    const data = { paymentId, notificationId: null, provider: 'mobilemoney' };
    expect(events).toMatchObject([
      { type: 'status_query.created', data },
      { type: 'status_query.answered', data },
    ]);
    expect(events.map((one: { data: object }) => one.data)).toEqual([data, data]);
    const { body: trail } = await service.call(
      'GET',
      `/audit?filter[resource]=status_query&filter[resourceId]=${id}&sort=id:asc`,
    );
    expect(trail.data).toMatchObject([
      { action: 'status_query.create', actor: 'admin@example.com' },
      { action: 'status_query.answer', actor: 'provider mobilemoney', after: { state: 'answered' } },
    ]);
  });
});

describe('a status query about a notification', () => {
  it('in conflict shows the answer and the difference', async () => {
    const body = paid();
    const { id: accountId } = await newAccount(service);
    await pay(service, accountId, 750, { transactionRef: body.TransID, paymentMethodId: 1 });
    await notify(service, body, WITH_SECRET);
    const { body: found } = await service.call(
      'GET',
      `/notifications?filter[transactionRef]=${body.TransID}`,
    );
    expect(found.data).toMatchObject([{ outcome: 'conflict' }]);
    const notificationId = found.data[0].id;
    const asked = await ask(`/notifications/${notificationId}`, {});
    expect(asked).toMatchObject({ paymentId: null, notificationId });
    await settlesAs(asked.id, { state: 'answered', answer: { amount: 800 }, differences: [] });
  });

  it('compares with the status of its payment', async () => {
    const body = paid();
    const paymentId = await notified(body);
    await service.call('POST', `/payments/${paymentId}/reverse`, { reason: 'A test' });
    const { body: found } = await service.call(
      'GET',
      `/notifications?filter[transactionRef]=${body.TransID}`,
    );
    const path = `/notifications/${found.data[0].id}`;
    const completed = await ask(path, {});
    const differences = [{ field: 'status', ours: 'reversed', provider: 'Completed' }];
    await settlesAs(completed.id, { state: 'answered', differences });
    plan = { ...USUAL_STATUS_PLAN, parameters: { TransactionStatus: 'Cancelled' } };
    const cancelled = await ask(path, {});
    await settlesAs(cancelled.id, { state: 'answered', differences: [] });
  });

  it('that was rejected for its amount asks about its transaction', async () => {
    const { TransID: transactionRef } = paid();
    await notify(service, { TransID: transactionRef, TransAmount: 'eight hundred' }, WITH_SECRET);
    const [{ id: notificationId }] = await rejectedNotifications();
    const { id } = await ask(`/notifications/${notificationId}`, {});
    await settlesAs(id, { state: 'answered', transactionRef });
  });

  it('without a readable transaction needs one from the caller', async () => {
    const { TransID: transactionRef } = paid();
    await notify(service, { TransID: [transactionRef], TransAmount: 'eight hundred' }, WITH_SECRET);
    const [{ id: notificationId }] = await rejectedNotifications();
    const path = `/notifications/${notificationId}`;
    expect(problemsOf(await service.call('POST', `${path}/status-queries`, {}))).toEqual([
      ['transactionRef', 'is required, because the notification has no readable transaction'],
    ]);
    const { id } = await ask(path, { transactionRef: ` ${transactionRef?.toLowerCase()}` });
    await settlesAs(id, { state: 'answered', transactionRef });
  });

  it('refuses another transaction than that of the notification', async () => {
    const body = paid();
    await notified(body);
    const { body: found } = await service.call(
      'GET',
      `/notifications?filter[transactionRef]=${body.TransID}`,
    );
    const path = `/notifications/${found.data[0].id}/status-queries`;
    expect(problemsOf(await service.call('POST', path, { transactionRef: 'OTHER' }))).toEqual([
      ['transactionRef', `must be omitted, or be the transaction of the notification, ${body.TransID}`],
    ]);
  });
});

describe('an answer', () => {
  it('is stored once if it comes twice, before the call ends or after a lost call', async () => {
    for (const changes of [{ answer: 'twice' }, { answer: 'early' }, { callAnswer: 'lost' }] as const) {
      plan = { ...USUAL_STATUS_PLAN, ...changes };
      const before = (await rejectedNotifications()).length;
      const { id } = await ask(`/payments/${await notified(paid())}`);
      await settlesAs(id, { state: 'answered' });
      await status.settled();
      expect(await rejectedNotifications()).toHaveLength(before);
      await pass(5);
      expect(await read(id)).toMatchObject({ state: 'answered' });
    }
  });

  it('that the provider does not give leaves the query unanswered after ten minutes, and still counts later', async () => {
    plan = { ...USUAL_STATUS_PLAN, answer: 'never' };
    const body = paid();
    const paymentId = await notified(body);
    const { id } = await ask(`/payments/${paymentId}`);
    await settlesAs(id, { sentAt: expect.any(String) });
    await pass(8);
    expect(await read(id)).toMatchObject({ state: 'requested' });
    await pass(3);
    expect(await read(id)).toMatchObject({ state: 'unanswered', answer: null });
    const again = await ask(`/payments/${paymentId}`);
    expect(again.id).not.toBe(id);
    const late = await answers(await keyOf(id), resultOf({ ReceiptNo: body.TransID ?? '', Amount: 800 }));
    expect([late.status, late.body]).toEqual([200, { ResultCode: 0, ResultDesc: 'Accepted' }]);
    expect(await read(id)).toMatchObject({ state: 'answered', answer: { amount: 800, status: null } });
  });

  it('that the transaction does not exist is an answer of its own, which a later description replaces', async () => {
    const body: Record<string, string> = { ...paid(), TransID: newTransactionId() };
    const { id } = await ask(`/payments/${await notified(body)}`);
    await settlesAs(id, {
      state: 'not_found',
      message: 'The transaction receipt number does not exist. (2032)',
      answer: null,
    });
    const { body: feed } = await service.call('GET', '/events?limit=1000&types=status_query.not_found');
    expect(feed.data.events.at(-1)).toMatchObject({ resourceId: id, data: { provider: 'mobilemoney' } });
    await answers(await keyOf(id), resultOf({ ReceiptNo: body.TransID ?? '', Amount: 800 }));
    expect(await read(id)).toMatchObject({ state: 'answered', answer: { amount: 800 } });
  });

  it('with any other code says nothing about the transaction, and shows the words of the provider', async () => {
    plan = { ...USUAL_STATUS_PLAN, answer: 'never' };
    const { id } = await ask(`/payments/${await notified(paid())}`);
    const ResultDesc = 'The operator does not exist.';
    await answers(await keyOf(id), { Result: { ResultCode: 'SFC_IC0003', ResultDesc } });
    expect(await read(id)).toMatchObject({ state: 'failed', message: `${ResultDesc} (SFC_IC0003)` });
    await answers(await keyOf(id), { Result: { ResultCode: 2032, ResultDesc: 'It does not exist.' } });
    expect(await read(id)).toMatchObject({ state: 'not_found', message: 'It does not exist. (2032)' });
  });

  it('is deleted with its query after thirty days, and the audit trail keeps its state', async () => {
    const { id } = await ask(`/payments/${await notified(paid())}`);
    await settlesAs(id, { state: 'answered' });
    await pass(29 * 24 * 60);
    expect(await read(id)).toMatchObject({ state: 'answered' });
    await pass(24 * 60 + 1);
    expect((await service.call('GET', `/status-queries/${id}`)).status).toBe(404);
    const trail = `/audit?filter[resource]=status_query&filter[resourceId]=${id}&sort=id:asc`;
    const { body } = await service.call('GET', trail);
    expect(body.data.map(({ action }: { action: string }) => action)).toEqual([
      'status_query.create',
      'status_query.answer',
    ]);
  });

  it('to no query, about another transaction or different from an earlier answer is kept as a rejected notification', async () => {
    const body = paid();
    const { id } = await ask(`/payments/${await notified(body)}`);
    await settlesAs(id, { state: 'answered' });
    const key = await keyOf(id);
    const cases = [
      ['unknown-key', { Amount: 1 }, 'the answer belongs to no status query'],
      [key, { ReceiptNo: 'OTHER' }, `status query ${id}: the transaction is OTHER, not ${body.TransID}`],
      [key, { Amount: 1 }, `status query ${id} already has a different answer`],
    ] as const;
    for (const [to, parameters, failure] of cases) {
      expect((await answers(to, resultOf(parameters))).status).toBe(200);
      expect((await rejectedNotifications())[0]).toMatchObject({ failure });
    }
    expect(await read(id)).toMatchObject({ state: 'answered', answer: { amount: 800 } });
  });

  it('without the secret, or that is unreadable, is refused', async () => {
    const { id } = await ask(`/payments/${await notified(paid())}`);
    const key = await keyOf(id);
    expect((await answers(key, resultOf({ Amount: 1 }), null)).status).toBe(401);
    expect((await answers(key, resultOf({ Amount: 1 }), 'another')).status).toBe(401);
    const unreadable = await answers(key, { Result: 'Completed' });
    expect(problemsOf(unreadable)).toEqual([
      ['body', 'must be the answer about a transaction, with Result.ResultCode'],
    ]);
    expect((await rejectedNotifications())[0]).toMatchObject({
      failure: 'the answer about a transaction is unreadable',
    });
    await settlesAs(id, { state: 'answered', answer: { amount: 800 } });
  });
});

describe('sending a status query', () => {
  it('is repeated after the time that a busy provider asks for', async () => {
    Object.assign(provider.failures, { refusedAsBusy: 1, retryAfterSeconds: 120 });
    const { id } = await ask(`/payments/${await notified(paid())}`);
    await settlesAs(id, { state: 'requested', message: expect.stringContaining('429') });
    await pass(1);
    expect(await read(id)).toMatchObject({ state: 'requested', sentAt: null });
    await pass(2);
    await settlesAs(id, { state: 'answered' });
  });

  it('is repeated while the provider is down, and fails if the next attempt would be after fifteen minutes', async () => {
    provider.failures.isDown = true;
    const { id } = await ask(`/payments/${await notified(paid())}`);
    await settlesAs(id, { state: 'requested', message: expect.any(String) });
    await failsAttempt(id, 2, { afterMinutes: 2, nextInMinutes: 2 });
    await failsAttempt(id, 3, { afterMinutes: 2, nextInMinutes: 4 });
    // The next pause of 8 minutes would end 16 minutes after the query.
    await failsAttempt(id, 4, { afterMinutes: 4, nextInMinutes: null });
    expect(await read(id)).toMatchObject({ state: 'failed', endedAt: expect.any(String) });
  });

  async function failsAttempt(
    id: number,
    attempts: number,
    { afterMinutes, nextInMinutes }: { afterMinutes: number; nextInMinutes: number | null },
  ): Promise<void> {
    const earliest = service.context.clock.now().getTime() + afterMinutes * MINUTE_MS;
    await pass(afterMinutes);
    const row = await service.context.db
      .selectFrom('status_queries')
      .select(['send_attempts', 'next_send_at'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row.send_attempts).toBe(attempts);
    if (nextInMinutes === null) return expect(row.next_send_at).toBeNull();
    const pauseMs = nextInMinutes * MINUTE_MS;
    const nextAt = Date.parse(row.next_send_at ?? '');
    expect(nextAt).toBeGreaterThanOrEqual(earliest + pauseMs);
    expect(nextAt).toBeLessThanOrEqual(service.context.clock.now().getTime() + pauseMs);
  }

  it('fails at once if the provider refuses the query', async () => {
    plan = { ...USUAL_STATUS_PLAN, callAnswer: 'refused' };
    const { id } = await ask(`/payments/${await notified(paid())}`);
    await settlesAs(id, { state: 'failed', message: expect.stringContaining('Invalid PartyA') });
  });
});

describe('without MOBILEMONEY_INITIATOR', () => {
  beforeAll(async () => {
    const answer = await notify(withoutQueries, paid(), WITH_SECRET);
    expect(answer.status, answer.text).toBe(200);
  });

  it('a query is refused with the setting that turns queries on', async () => {
    expect((await withoutQueries.call('GET', '/settings')).body.data.statusQueries).toBe(false);
    for (const path of ['/payments/1', '/notifications/1']) {
      const refused = await withoutQueries.call('POST', `${path}/status-queries`, {});
      expect([refused.status, refused.body.error.message]).toEqual([
        409,
        'Status queries are turned off. The operator turns them on with the setting MOBILEMONEY_INITIATOR.',
      ]);
    }
  });

  it('the settings with it say that queries are on', async () => {
    expect((await service.call('GET', '/settings')).body.data.statusQueries).toBe(true);
  });
});
