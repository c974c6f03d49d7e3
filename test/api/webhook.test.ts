import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  breakPosting,
  dataOf,
  letAgentsRecordMobileMoney,
  move,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  pay,
  paymentNow,
  reverse,
  runJobs,
  setToday,
  startServiceForTest,
  useInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';

const ADDRESS = '/webhooks/payments/mobilemoney';
const MOBILE_MONEY = 1;
const CASH = 2;

const service = useService();
beforeAll(() => letAgentsRecordMobileMoney(service));

beforeEach(() => setToday(service, '2026-11-02'));
afterAll(() => expectBooksToBalance(service.context));

/** Asserts that a notification was accepted, also in the fields that the provider's gateway reads. */
function accepted(answer: Answer): { outcome: string; paymentId: number } {
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toEqual({
    success: true,
    data: { outcome: expect.any(String), paymentId: answer.body.data.paymentId },
    message: 'Notification accepted.',
    ResultCode: 0,
    ResultDesc: 'Accepted',
  });
  return answer.body.data;
}

/** Sends a notification byte by byte as it is given. */
async function postBytes(body: Uint8Array<ArrayBuffer>): Promise<Answer> {
  const response = await fetch(`${service.origin}/api${ADDRESS}`, { method: 'POST', body });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

async function notifications(transId: string) {
  return (await service.call('GET', `/notifications?filter[transactionRef]=${transId}`)).body.data;
}

interface Stored {
  raw_body: string;
  status: string;
  outcome: string | null;
  flags: string[];
  failure: string | null;
  attempts: number;
}

async function stored(condition: string): Promise<Stored[]> {
  const { rows } = await sql<Stored>`
    select raw_body, status, outcome, flags, failure, attempts from notifications
    where trans_id = ${condition} or raw_body = ${condition} order by id`.execute(service.context.db);
  return rows;
}

const sha256 = (digits: string) => createHash('sha256').update(digits).digest('hex');

describe('a notification', () => {
  it('becomes a payment on the account that it names, at the time that it states', async () => {
    const account = await newAccount(service);
    const sent = notification({
      BillRefNumber: account.accountNumber,
      TransTime: '20261101000000',
      TransAmount: '1250.75',
    });
    const { outcome, paymentId } = accepted(await notify(service, sent));
    expect(outcome).toBe('matched');
    expect(await paymentNow(service, paymentId)).toMatchObject({
      accountId: account.id,
      amount: 1250.75,
      paymentMethodId: MOBILE_MONEY,
      transactionRef: sent.TransID,
      paymentDate: '2026-11-01',
      status: 'matched',
      source: 'webhook',
      matchMethod: 'account_number',
    });
    expect((await accountNow(service, account.id)).paid).toBe(1250.75);
    const [kept] = await stored(sent.TransID);
    expect(JSON.parse(kept?.raw_body ?? '')).toEqual(sent);
  });

  it('is read from a form', async () => {
    const { accountNumber, id } = await newAccount(service);
    const sent = notification({ BillRefNumber: accountNumber });
    const answer = await postBytes(new TextEncoder().encode(new URLSearchParams(sent).toString()));
    expect(accepted(answer).outcome).toBe('matched');
    expect(accepted(await notify(service, sent)).outcome).toBe('repeated');
    expect((await accountNow(service, id)).paid).toBe(400);
  });

  it('with an unreadable amount keeps its other fields, and posts nothing that is not sent again', async () => {
    const { accountNumber } = await newAccount(service);
    const sent = notification({ BillRefNumber: accountNumber });
    const url = `/notifications?filter[transactionRef]=${sent.TransID}&sort=id:asc`;
    const unreadable = { ...sent, TransAmount: '1,5', FirstName: 'JANE' };
    for (let n = 1; n <= 2; n += 1) expect((await notify(service, unreadable)).status).toBe(400);
    expect((await service.call('GET', url)).body.data[0]).toMatchObject({
      status: 'rejected',
      outcome: null,
      transactionRef: sent.TransID,
      amount: null,
      reference: accountNumber,
      payer: sent.MSISDN,
      businessShortCode: sent.BusinessShortCode,
      paymentId: null,
    });
    expect(accepted(await notify(service, sent)).outcome).toBe('matched');
  });

  it('is read in any content type', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'text/plain',
      'application/x-www-form-urlencoded',
    ]) {
      const answer = await notify(service, {}, { headers: { 'content-type': type } });
      expect(accepted(answer).outcome, type).toBe('unmatched');
    }
  });

  it('with an unreadable time gets the time of its receipt, and a flag in the worklist', async () => {
    const { paymentId } = accepted(await notify(service, { TransTime: 'soon', BillRefNumber: 'nobody' }));
    expect((await paymentNow(service, paymentId)).paymentDate).toBe('2026-11-02');
    const list = await service.call('GET', `/payments/unmatched?filter[id]=${paymentId}`);
    expect(list.body.data[0].flags).toEqual(['unreadable_time']);
  });

  it.each([
    ['TransID', { TransID: null }],
    ['TransAmount', { TransAmount: '400.005' }],
  ])('without a readable %s is refused, and stored unchanged', async (field, change) => {
    const sent = JSON.stringify(notification(change));
    const answer = await service.call('POST', ADDRESS, sent, { token: null });
    expect(wrongFields(answer)).toEqual([field]);
    expect(await stored(sent)).toEqual([
      expect.objectContaining({
        raw_body: sent,
        status: 'rejected',
        failure: expect.stringContaining(field),
      }),
    ]);
  });

  it.each(['not json', ''])('that is %j is refused, and stored unchanged', async (sent) => {
    const before = (await stored(sent)).length;
    const answer = await service.call('POST', ADDRESS, sent, { token: null });
    expect(wrongFields(answer)).toEqual(['body']);
    expect(answer.body.error.message).toBe('body: must be a JSON object');
    const kept = await stored(sent);
    expect(kept).toHaveLength(before + 1);
    expect(kept.at(-1)).toMatchObject({ status: 'rejected', failure: 'body must be a JSON object' });
  });

  it('with a NUL is stored in a form that the database accepts', async () => {
    const sent = `{"TransID":"NUL1","TransAmount":"1","BillRefNumber":"a\0b"}`;
    const answer = await service.call('POST', ADDRESS, sent, { token: null });
    expect(wrongFields(answer)).toEqual(['body']); // a NUL is not allowed in JSON
    const escaped = { TransID: 'NUL2', TransAmount: '1', BillRefNumber: 'a\0b' };
    const { paymentId } = accepted(await service.call('POST', ADDRESS, escaped, { token: null }));
    const list = await service.call('GET', `/payments/unmatched?filter[id]=${paymentId}`);
    expect(list.body.data[0].reference).toBe('ab');
  });

  it('with bytes that are not UTF-8 is posted, with each of them replaced', async () => {
    const { id, accountNumber } = await newAccount(service);
    const sent = notification({ BillRefNumber: accountNumber, FirstName: 'André' });
    const { paymentId } = accepted(await postBytes(Buffer.from(JSON.stringify(sent), 'latin1')));
    expect(await paymentNow(service, paymentId)).toMatchObject({ accountId: id, status: 'matched' });
    const [kept] = await stored(sent.TransID);
    expect(JSON.parse(kept?.raw_body ?? '')).toEqual({ ...sent, FirstName: 'Andr\uFFFD' });
  });

  it('of more than 64 KiB is refused', async () => {
    const answer = await notify(service, { FirstName: 'x'.repeat(64 * 1024) });
    expect(answer.status).toBe(413);
    expect(answer.body.error.code).toBe('VALIDATION_ERROR');
    accepted(await notify(service, { FirstName: 'x'.repeat(63 * 1024) }));
  });
});

describe('what the provider promises', () => {
  it('has seven fields that staff can see', async () => {
    const { accountNumber } = await newAccount(service);
    const sent = notification({
      BillRefNumber: accountNumber,
      TransAmount: '1250.50',
      MSISDN: '254722111222',
    });
    expect(Object.keys(sent)).toHaveLength(7);
    const { paymentId } = accepted(await notify(service, sent));
    const { body } = await service.call('GET', `/notifications?filter[paymentId]=${paymentId}`);
    expect(body.data).toMatchObject([
      {
        status: 'processed',
        transactionRef: sent.TransID,
        amount: 1250.5,
        businessShortCode: sent.BusinessShortCode,
        reference: accountNumber,
        payer: sent.MSISDN,
      },
    ]);
    expect(JSON.parse(body.data[0].rawBody)).toEqual(sent);
  });

  it.each(['Buy Goods', ''])('of the kind "%s" makes a payment like any other', async (TransactionType) => {
    const { id, accountNumber } = await newAccount(service);
    const answer = await notify(service, { TransactionType, BillRefNumber: accountNumber });
    expect(accepted(answer).outcome).toBe('matched');
    expect((await accountNow(service, id)).paid).toBe(400);
  });
});

describe('a repeat', () => {
  it('that is equal is acknowledged and changes nothing', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    accepted(await notify(service, sent));
    for (const again of [
      sent,
      { ...sent, TransAmount: '400' },
      { ...sent, TransID: ` ${sent.TransID.toLowerCase()} ` },
    ]) {
      expect(accepted(await notify(service, again)).outcome).toBe('repeated');
    }
    expect((await accountNow(service, account.id)).paid).toBe(400);
    expect(await stored(sent.TransID)).toHaveLength(1);
  });

  it('that differs is stored and flagged, and credits nothing', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    const sent = notification({ BillRefNumber: one.accountNumber });
    const { paymentId } = accepted(await notify(service, sent));
    for (const change of [{ TransAmount: '900.00' }, { BillRefNumber: other.accountNumber }]) {
      expect(accepted(await notify(service, { ...sent, ...change }))).toEqual({
        outcome: 'differs',
        paymentId,
      });
    }
    expect((await accountNow(service, one.id)).paid).toBe(400);
    expect((await accountNow(service, other.id)).paid).toBe(0);
    expect((await stored(sent.TransID)).map(({ outcome, flags }) => ({ outcome, flags }))).toEqual([
      { outcome: 'matched', flags: [] },
      { outcome: 'differs', flags: ['differs_from_first'] },
      { outcome: 'differs', flags: ['differs_from_first'] },
    ]);
  });

  it('that discloses more fills the gaps of the first report, and matches an unmatched payment that nobody changed', async () => {
    const { id: customerId, phone } = await newCustomer(service);
    const account = await newAccount(service, { customerId });
    const sent = notification({ MSISDN: '' });
    const { paymentId } = accepted(await notify(service, sent));
    const [first] = await stored(sent.TransID);
    const masked = `${phone.slice(1, 5)}****${phone.slice(-3)}`;
    expect(accepted(await notify(service, { ...sent, MSISDN: masked })).outcome).toBe('repeated');
    const url = `/payments/unmatched?filter[transactionRef]=${sent.TransID}`;
    expect((await service.call('GET', url)).body.data).toMatchObject([{ id: paymentId, payer: masked }]);
    accepted(await notify(service, { ...sent, MSISDN: phone.slice(1) }));
    expect(await paymentNow(service, paymentId)).toMatchObject({
      status: 'matched',
      accountId: account.id,
      matchMethod: 'payer_phone',
    });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    const rows = await stored(sent.TransID);
    expect(rows).toHaveLength(3);
    expect(rows).toContainEqual(first);
  });

  it('that discloses more does not move a payment that staff have unassigned', async () => {
    const { id: customerId, phone } = await newCustomer(service);
    const account = await newAccount(service, { customerId });
    const sent = notification({ MSISDN: '' });
    const { paymentId } = accepted(await notify(service, sent));
    await service.call('POST', `/payments/${paymentId}/assign`, { accountId: account.id });
    await service.call('POST', `/payments/${paymentId}/unassign`, { reason: 'another customer' });
    expect(accepted(await notify(service, { ...sent, MSISDN: phone.slice(1) })).outcome).toBe('repeated');
    expect(await paymentNow(service, paymentId)).toMatchObject({ status: 'unmatched', accountId: null });
  });

  it('that arrives twenty times concurrently makes one payment', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    const answers = await Promise.all(Array.from({ length: 20 }, () => notify(service, sent)));
    const outcomes = answers.map((answer) => accepted(answer).outcome).sort();
    expect(outcomes).toEqual(['matched', ...Array(19).fill('repeated')]);
    expect((await accountNow(service, account.id)).paid).toBe(400);
  });

  it('that arrives with twenty different amounts concurrently makes one payment', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => notify(service, { ...sent, TransAmount: String(100 + i) })),
    );
    const outcomes = answers.map((answer) => accepted(answer).outcome).sort();
    expect(outcomes).toEqual([...Array(19).fill('differs'), 'matched']);
    const list = await service.call('GET', `/accounts/${account.id}/payments`);
    expect(list.body.pagination.total).toBe(1);
  });
});

describe('a transaction that staff recorded first', () => {
  beforeAll(() => expectBooksToBalance(service.context)); // Jobs could repair what the tests above have done.

  const entered = async (transId: string, amount: number) => {
    const account = await newAccount(service);
    const options = { transactionRef: transId.toLowerCase(), paymentMethodId: MOBILE_MONEY };
    return { account, payment: await pay(service, account.id, amount, options) };
  };

  const waiting = async (transId: string) => {
    const list = await service.call(
      'GET',
      `/notifications?filter[outcome]=conflict&filter[transactionRef]=${transId}`,
    );
    return list.body.data;
  };

  it('with the same amount is linked to that payment, for any reference', async () => {
    const sent = notification({ BillRefNumber: 'nobody' });
    const { account, payment } = await entered(sent.TransID, 400);
    expect(accepted(await notify(service, sent))).toEqual({ outcome: 'linked', paymentId: payment.id });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    expect(accepted(await notify(service, sent)).outcome).toBe('repeated');
    expect(accepted(await notify(service, { ...sent, TransAmount: '1' })).outcome).toBe('differs');
  });

  it('with another amount waits in the worklist and credits nothing', async () => {
    const sent = notification({ TransAmount: '450.00', BillRefNumber: 'x1' });
    const { account, payment } = await entered(sent.TransID, 400);
    expect(accepted(await notify(service, sent))).toEqual({ outcome: 'conflict', paymentId: null });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    const query = `filter[outcome]=conflict&filter[transactionRef]=${sent.TransID}`;
    const { body } = await service.call('GET', `/notifications?${query}`);
    expect(body.data[0]).toMatchObject({
      status: 'processed',
      transactionRef: sent.TransID,
      amount: 450,
      reference: 'x1',
      payer: sent.MSISDN,
      paymentId: null,
      conflictingPaymentId: payment.id,
    });
    expect(accepted(await notify(service, sent)).outcome).toBe('repeated');
    expect(accepted(await notify(service, { ...sent, TransAmount: '460.00' })).outcome).toBe('differs');
  });

  it('is posted in the transaction that reverses the manual payment', async () => {
    const meant = await newAccount(service);
    const sent = notification({ TransAmount: '450.00', BillRefNumber: meant.accountNumber });
    const { account, payment } = await entered(sent.TransID, 400);
    accepted(await notify(service, sent));
    const conflicts = async () =>
      (await service.call('GET', '/notifications?filter[outcome]=conflict')).body.pagination.total;
    const before = await conflicts();
    await reverse(service, payment.id);
    expect((await accountNow(service, account.id)).paid).toBe(0);
    expect((await accountNow(service, meant.id)).paid).toBe(450);
    expect(await conflicts()).toBe(before - 1);
    expect(accepted(await notify(service, sent)).outcome).toBe('repeated');
  });

  it('on the same account is posted when the manual payment is reversed', async () => {
    const sent = notification({ TransAmount: '450.00' });
    const { account, payment } = await entered(sent.TransID, 400);
    accepted(await notify(service, { ...sent, BillRefNumber: account.accountNumber }));
    await reverse(service, payment.id);
    expect((await accountNow(service, account.id)).paid).toBe(450);
  });

  it('under another method and in another spelling is not counted twice, and is flagged', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    const transactionRef = `${sent.TransID.slice(0, 4).toLowerCase()} ${sent.TransID.slice(4)}`;
    await pay(service, account.id, 400, { transactionRef, paymentMethodId: CASH });
    const { outcome, paymentId } = accepted(await notify(service, sent));
    expect(outcome).toBe('linked');
    expect((await accountNow(service, account.id)).paid).toBe(400);
    expect((await paymentNow(service, paymentId)).matchMethod).toBe('manual_entry');
    const list = await service.call('GET', `/notifications?filter[paymentId]=${paymentId}`);
    expect(list.body.data[0].flags).toEqual(['other_method']);
  });

  it('is posted without a deadlock by many concurrent reversals', async () => {
    const [x, y] = [await newAccount(service), await newAccount(service)];
    const entries: number[] = [];
    for (let i = 0; i < 8; i++) {
      const [entered, meant] = i % 2 ? [x, y] : [y, x];
      const sent = notification({ TransAmount: '6', BillRefNumber: meant.accountNumber });
      entries.push((await pay(service, entered.id, 5, { transactionRef: sent.TransID })).id);
      expect(accepted(await notify(service, sent)).outcome).toBe('conflict');
    }
    const answers = await Promise.all(
      entries.map((id) => service.call('POST', `/payments/${id}/reverse`, { reason: 'wrong account' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(entries.map(() => 200));
    expect((await accountNow(service, x.id)).paid).toBe(24);
    expect((await accountNow(service, y.id)).paid).toBe(24);
  });

  it('twice, under two methods, waits until staff have reversed one of the two', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    const enter = (paymentMethodId: number) =>
      pay(service, account.id, 400, { transactionRef: sent.TransID, paymentMethodId });
    const [first, second] = [await enter(CASH), await enter(MOBILE_MONEY)];
    expect(accepted(await notify(service, sent))).toEqual({ outcome: 'conflict', paymentId: null });
    expect(await waiting(sent.TransID)).toMatchObject([{ conflictingPaymentId: second.id }]);
    await reverse(service, first.id);
    expect(await waiting(sent.TransID)).toEqual([]);
    expect((await accountNow(service, account.id)).paid).toBe(400);
    expect(await paymentNow(service, second.id)).toMatchObject({
      status: 'matched',
      matchMethod: 'manual_entry',
    });
    await reverse(service, second.id);
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('cannot be recorded manually after the provider has reported it, until its payment is reversed', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    const { paymentId } = accepted(await notify(service, sent));
    const transactionRef = ` ${sent.TransID.slice(0, 4).toLowerCase()} \u00a0${sent.TransID.slice(4)}`;
    const body = { accountId: account.id, amount: 400, paymentMethodId: CASH, transactionRef };
    const refused = await service.call('POST', '/payments', body);
    expect(refused.status).toBe(409);
    expect(refused.body.error.details.field).toBe('transactionRef');
    expect((await accountNow(service, account.id)).paid).toBe(400);

    await reverse(service, paymentId);
    expect((await service.call('POST', '/payments', body)).status).toBe(201);
    expect((await accountNow(service, account.id)).paid).toBe(400);
    expect(accepted(await notify(service, { ...sent, BillRefNumber: 'again' })).outcome).toBe('differs');
    expect((await accountNow(service, account.id)).paid).toBe(400);
  });

  it('and reported by the provider at the same moment is counted once, in either order', async () => {
    const account = await newAccount(service);
    const rounds = 6;
    for (let round = 0; round < rounds; round++) {
      const sent = notification({ BillRefNumber: account.accountNumber, TransAmount: '10' });
      const body = { accountId: account.id, amount: 10, paymentMethodId: CASH, transactionRef: sent.TransID };
      const enter = () => service.call('POST', '/payments', body);
      const report = () => notify(service, sent);
      const calls = round % 2 ? [enter(), report(), report()] : [report(), enter(), report()];
      for (const answer of await Promise.all(calls)) expect([200, 201, 409]).toContain(answer.status);
    }
    expect((await accountNow(service, account.id)).paid).toBe(10 * rounds);
  });
});

describe('a manual payment on another account than the provider reports', () => {
  const diverted = async (recorder: string | { key: string }) => {
    const [meant, other] = [await newAccount(service), await newAccount(service)];
    const sent = notification({ BillRefNumber: meant.accountNumber, MSISDN: '254733000111' });
    const body = {
      accountId: other.id,
      amount: 400,
      paymentMethodId: MOBILE_MONEY,
      transactionRef: sent.TransID,
    };
    const token = typeof recorder === 'string' ? await service.tokenOf(recorder) : recorder.key;
    const recorded = await service.call('POST', '/payments', body, { token });
    expect(recorded.status, recorded.text).toBe(201);
    const { outcome } = accepted(await notify(service, sent));
    const [notified] = await notifications(sent.TransID);
    return { meant, other, sent, outcome, manual: recorded.body.data, notified };
  };
  const resolve = (id: number, paymentId: number | null, options = {}) =>
    service.call('POST', `/notifications/${id}/resolve`, { paymentId, reason: 'checked' }, options);
  const paid = async (...accounts: { id: number }[]) =>
    Promise.all(accounts.map(async ({ id }) => (await accountNow(service, id)).paid));

  it('is a conflict when an agent recorded it', async () => {
    const { meant, other, outcome, manual, notified } = await diverted('agent');
    expect(outcome).toBe('conflict');
    expect(notified).toMatchObject({
      flags: ['other_account'],
      paymentId: null,
      conflictingPaymentId: manual.id,
    });
    expect(await paid(meant, other)).toEqual([0, 400]);
  });

  it('is the payment, flagged, when finance recorded it', async () => {
    const { meant, other, outcome, manual, notified } = await diverted('finance');
    expect(outcome).toBe('linked');
    expect(notified).toMatchObject({ flags: ['other_account'], paymentId: manual.id });
    expect(await paid(meant, other)).toEqual([0, 400]);
  });

  it.each([
    ['conflict', 'agent'],
    ['linked', ['payments:record', 'payments:assign']],
  ])('is %s when an API key with %s recorded it', async (expected, grant) => {
    const { outcome } = await diverted(await newApiKey(service, grant));
    expect(outcome).toBe(expected);
  });

  it('moves to the reported account when finance says that none of the manual payments is right', async () => {
    const { meant, other, manual, notified } = await diverted('agent');
    const token = await service.tokenOf('finance');
    const resolved = await resolve(notified.id, null, { token });
    expect(resolved.status, resolved.text).toBe(200);
    expect(resolved.body.data).toMatchObject({ id: notified.id, outcome: 'matched', flags: [] });
    expect(await paid(meant, other)).toEqual([400, 0]);
    expect(await paymentNow(service, manual.id)).toMatchObject({
      status: 'reversed',
      reversalReason: 'checked',
    });
  });

  it('stays where it is when finance says that it is right', async () => {
    const { meant, other, manual, notified } = await diverted('agent');
    const resolved = await resolve(notified.id, manual.id);
    expect(resolved.body.data).toMatchObject({
      outcome: 'linked',
      paymentId: manual.id,
      flags: ['other_account'],
    });
    expect(await paid(meant, other)).toEqual([0, 400]);
  });

  it('joins the unmatched payments when staff take it off its account', async () => {
    const { meant, other, manual, sent } = await diverted('agent');
    await service.call('POST', `/payments/${manual.id}/unassign`, { reason: 'whose is it?' });
    expect(await paid(meant, other)).toEqual([0, 0]);
    expect((await notifications(sent.TransID))[0]).toMatchObject({ outcome: 'linked', flags: [] });
    const { body } = await service.call('GET', `/payments/unmatched?filter[id]=${manual.id}`);
    expect(body.data[0].suggestions[0]).toMatchObject({ accountId: meant.id });
    await service.call('POST', `/payments/${manual.id}/assign`, { accountId: meant.id });
    expect(await paid(meant, other)).toEqual([400, 0]);
  });

  it('is resolved by finance alone, once, and only as one of the payments in conflict', async () => {
    const { meant, other, notified } = await diverted('agent');
    for (const role of ['agent', 'viewer']) {
      const token = await service.tokenOf(role);
      expect((await resolve(notified.id, null, { token })).status).toBe(403);
    }
    const elsewhere = await pay(service, other.id, 400);
    expect(wrongFields(await resolve(notified.id, elsewhere.id))).toEqual(['paymentId']);
    expect((await resolve(999_999, null)).status).toBe(404);
    const answers = await Promise.all([1, 2, 3, 4].map(() => resolve(notified.id, null)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    const refused = answers.find(({ status }) => status === 400);
    expect(refused?.body.error.details).toMatchObject({ from: 'matched', allowed: ['conflict'] });
    expect(await paid(meant, other)).toEqual([400, 400]);
  });

  it('cannot be accepted with another amount than the provider reported', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber, TransAmount: '450.00' });
    const manual = await pay(service, account.id, 400, { transactionRef: sent.TransID });
    expect(accepted(await notify(service, sent)).outcome).toBe('conflict');
    const [notified] = await notifications(sent.TransID);
    const refused = await resolve(notified.id, manual.id);
    expect(refused.body.error.message).toBe('paymentId: must refer to a payment of the reported amount, 450');
    expect((await resolve(notified.id, null)).body.data.outcome).toBe('matched');
    expect(await paid(account)).toEqual([450]);
  });
});

describe('a manual payment whose transaction is reported without a readable reference', () => {
  interface Party {
    id: number;
    accountNumber: string;
    phone: string;
  }
  let parties = 0;
  /** An account of a customer with a new phone. */
  async function party(): Promise<Party> {
    parties += 1;
    const { id: customerId, phone } = await newCustomer(service, {
      phone: `+25474400${String(parties).padStart(4, '0')}`,
    });
    return { ...(await newAccount(service, { customerId })), phone };
  }
  const digits = ({ phone }: Party) => phone.slice(1);
  /** The account number with its last digits swapped, which is the number of no account. */
  const slipOf = ({ accountNumber }: Party) => `${accountNumber.slice(0, -2)}${accountNumber.slice(-1)}`;

  /** A payment that an agent recorded on an account of their choice. The payer is another customer. */
  const reportedWithout = async (fields: (parties: { payer: Party; own: Party }) => object) => {
    const [payer, own] = [await party(), await party()];
    const stranger = { MSISDN: `25475500${String(parties).padStart(4, '0')}` };
    const sent = notification({ BillRefNumber: 'MY PUMP', ...stranger, ...fields({ payer, own }) });
    const fieldsOf = { paymentMethodId: MOBILE_MONEY, transactionRef: sent.TransID };
    const body = { accountId: own.id, amount: 400, ...fieldsOf };
    const token = await service.tokenOf('agent');
    const manual = await dataOf(service.call('POST', '/payments', body, { token }), 201);
    accepted(await notify(service, sent));
    const [notified] = await notifications(sent.TransID);
    return { payer, own, notified, manual };
  };

  it.each<[string, (parties: { payer: Party }) => object]>([
    ['another customer’s phone paid', ({ payer }) => ({ MSISDN: digits(payer) })],
    [
      'the reference is one slip away from another account',
      ({ payer }) => ({ BillRefNumber: slipOf(payer) }),
    ],
  ])('is a conflict when an agent recorded it and %s', async (_what, fields) => {
    const { payer, own, notified, manual } = await reportedWithout(fields);
    expect(notified).toMatchObject({
      outcome: 'conflict',
      flags: ['other_account'],
      conflictingPaymentId: manual.id,
    });
    const path = `/notifications/${notified.id}/resolve`;
    const resolved = await service.call('POST', path, { paymentId: null, reason: 'asked the payer' });
    expect(resolved.body.data).toMatchObject({ outcome: 'unmatched' });
    const assign = `/payments/${resolved.body.data.paymentId}/assign`;
    expect((await service.call('POST', assign, { accountId: payer.id })).status).toBe(200);
    expect((await accountNow(service, own.id)).paid).toBe(0);
    expect((await accountNow(service, payer.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('is a conflict when money of the same payer was assigned to another customer before', async () => {
    const payer = await party();
    const sent = { MSISDN: '254755999999', TransAmount: '400' };
    const { paymentId } = accepted(await notify(service, { ...sent, BillRefNumber: 'HOUSE' }));
    await service.call('POST', `/payments/${paymentId}/assign`, { accountId: payer.id });
    const { notified } = await reportedWithout(() => sent);
    expect(notified).toMatchObject({ outcome: 'conflict', flags: ['other_account'] });
  });

  it('is linked without flags when the account’s own customer paid', async () => {
    const { notified, manual } = await reportedWithout(({ own }) => ({ MSISDN: digits(own) }));
    expect(notified).toMatchObject({ outcome: 'linked', flags: [], paymentId: manual.id });
  });
});

describe('a transaction whose payment was reversed', () => {
  const reversed = async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    const { paymentId } = accepted(await notify(service, sent));
    await reverse(service, paymentId);
    const record = async (role: string, fields: Record<string, unknown> = {}) =>
      service.call(
        'POST',
        '/payments',
        {
          accountId: account.id,
          amount: 400,
          paymentMethodId: CASH,
          transactionRef: sent.TransID,
          ...fields,
        },
        { token: await service.tokenOf(role) },
      );
    return { account, sent, paymentId, record };
  };

  it('is not credited again by a repeat, which is flagged', async () => {
    const { account, sent, paymentId } = await reversed();
    for (let i = 0; i < 2; i += 1)
      expect(accepted(await notify(service, sent))).toEqual({ outcome: 'repeated', paymentId });
    expect((await accountNow(service, account.id)).paid).toBe(0);
    const flagged = `filter[flags][contains]=repeated_after_reversal&filter[transactionRef]=${sent.TransID}`;
    const list = await service.call('GET', `/notifications?${flagged}`);
    expect(list.body.data[0]).toMatchObject({ paymentId, flags: ['repeated_after_reversal'] });
  });

  it('is recorded again by finance, once, with the amount that the provider reported', async () => {
    const { account, sent, paymentId, record } = await reversed();
    expect((await record('agent')).status).toBe(409);
    const wrong = await record('finance', { amount: 399 });
    expect(wrong.body.error.message).toBe(
      'amount: must be 400, the amount that the provider reported for this transaction',
    );
    const again = await record('finance');
    expect(again.status, again.text).toBe(201);
    expect(again.body.data).toMatchObject({ source: 'manual', matchMethod: 'manual_entry' });
    for (const paymentMethodId of [MOBILE_MONEY, CASH, 3, 4])
      expect((await record('finance', { paymentMethodId })).status).toBe(409);
    expect((await accountNow(service, account.id)).paid).toBe(400);
    const [notified] = await notifications(sent.TransID);
    expect(notified).toMatchObject({
      outcome: 'linked',
      paymentId: again.body.data.id,
      flags: ['other_method'],
    });
    expect(accepted(await notify(service, sent)).paymentId).toBe(again.body.data.id);
    expect(await paymentNow(service, paymentId)).toMatchObject({ status: 'reversed' });
  });

  it('is refused by the database if code tries to record it in another way', async () => {
    const { sent, account } = await reversed();
    const insert = sql`
      insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date,
        status, source)
      values (${account.id}, 40000, ${CASH}, ${sent.TransID}, ${sent.TransID}, '2026-11-02', 'matched', 'manual')`;
    await expect(insert.execute(service.context.db)).rejects.toMatchObject({
      constraint: 'payments_transaction_known',
    });
  });
});

describe('the account is found', () => {
  let people = 0;
  /** A customer with a new phone and national id, and one account. */
  async function person() {
    people += 1;
    const phone = `+2547330000${String(people).padStart(2, '0')}`;
    const customer = await newCustomer(service, { phone, nationalId: `ID-${people}00` });
    const account = await newAccount(service, { customerId: customer.id });
    return { customer, account, digits: phone.slice(1), home: `0${phone.slice(4)}` };
  }
  async function matchOf(fields: Record<string, unknown>) {
    const { outcome, paymentId } = accepted(await notify(service, fields));
    const { accountId, matchMethod } = await paymentNow(service, paymentId);
    return { outcome, accountId, matchMethod };
  }
  const by = (matchMethod: string, accountId: number) => ({ outcome: 'matched', accountId, matchMethod });
  const UNMATCHED = { outcome: 'unmatched', accountId: null, matchMethod: null };

  it('by its number, in every spelling', async () => {
    const { account } = await person();
    const number: string = account.accountNumber;
    for (const typed of [number.toLowerCase(), `acc-${number.slice(3)}.`]) {
      expect(await matchOf({ BillRefNumber: typed }), typed).toEqual(by('account_number', account.id));
    }
  });

  it('by the national id or the phone of its customer, in another spelling', async () => {
    const { account, customer, home } = await person();
    const nationalId = customer.nationalId.toLowerCase().replace('-', ' ');
    expect(await matchOf({ BillRefNumber: nationalId })).toEqual(by('national_id', account.id));
    expect(await matchOf({ BillRefNumber: home })).toEqual(by('phone', account.id));
  });

  it('by its id alone, if its customer’s own phone pays', async () => {
    const { account, digits } = await person();
    const BillRefNumber = String(account.id);
    expect(await matchOf({ BillRefNumber, MSISDN: sha256(digits) })).toEqual(by('account_id', account.id));
    expect(await matchOf({ BillRefNumber, MSISDN: '254700000000' })).toEqual(UNMATCHED);
  });

  it('by the payer’s phone, if no reference was typed', async () => {
    const { account, digits } = await person();
    for (const MSISDN of [Number(digits), sha256(digits).toUpperCase()]) {
      const sent = { BillRefNumber: ' ', MSISDN };
      expect(await matchOf(sent), String(MSISDN)).toEqual(by('payer_phone', account.id));
    }
  });

  it('by the only open account of a customer, but not if there are two', async () => {
    const { account, customer, digits, home } = await person();
    const second = await newAccount(service, { customerId: customer.id });
    for (const sent of [
      { BillRefNumber: customer.nationalId },
      { BillRefNumber: home },
      { BillRefNumber: '', MSISDN: digits },
    ]) {
      const { paymentId, outcome } = accepted(await notify(service, sent));
      expect(outcome).toBe('unmatched');
      const { body } = await service.call('GET', `/payments/unmatched?filter[id]=${paymentId}`);
      const suggested = body.data[0].suggestions.map(
        (suggestion: { accountId: number }) => suggestion.accountId,
      );
      expect(suggested).toEqual([account.id, second.id]);
    }
    await move(service, account.id, 'cancelled');
    expect(await matchOf({ BillRefNumber: customer.nationalId })).toEqual(by('national_id', second.id));
    expect(await matchOf({ BillRefNumber: home })).toEqual(by('phone', second.id));
    expect(await matchOf({ BillRefNumber: '', MSISDN: digits })).toEqual(by('payer_phone', second.id));
  });
});

describe('a notification whose processing fails', () => {
  const impatient = useInstance(service, {}, { postingMs: 50 });
  beforeAll(() => expectBooksToBalance(service.context)); // Jobs could repair what the tests above have done.

  it('is stored and acknowledged, and posted by the minute job', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber });
    // Someone holds the account for longer than the service waits for a lock.
    const answer = await service.context.db.transaction().execute(async (tx) => {
      await sql`select 1 from accounts where id = ${account.id} for update`.execute(tx);
      return notify(impatient, sent);
    });
    expect(accepted(answer)).toEqual({ outcome: 'pending', paymentId: null });
    expect(await stored(sent.TransID)).toEqual([
      expect.objectContaining({
        status: 'pending',
        outcome: null,
        failure: expect.stringContaining('another transaction has locked'),
      }),
    ]);
    expect((await accountNow(service, account.id)).paid).toBe(0);

    await runJobs(service);
    expect((await accountNow(service, account.id)).paid).toBe(400);
    expect(await stored(sent.TransID)).toEqual([
      expect.objectContaining({ status: 'processed', outcome: 'matched', failure: null }),
    ]);
    await runJobs(service);
    expect(accepted(await notify(service, sent)).outcome).toBe('repeated');
    expect((await accountNow(service, account.id)).paid).toBe(400);
  });

  it('waits during further failures, repeats and contradictions, and is then posted once', async () => {
    const account = await newAccount(service);
    const sent = notification({ BillRefNumber: account.accountNumber, TransAmount: '77.77' });
    const mend = await breakPosting(service, 7777);
    try {
      expect(accepted(await notify(service, sent)).outcome).toBe('pending');
      expect(accepted(await notify(service, sent)).outcome).toBe('repeated');
      expect(accepted(await notify(service, { ...sent, TransAmount: '78.00' })).outcome).toBe('differs');
      await runJobs(service);
      const [first] = await stored(sent.TransID);
      expect(first).toMatchObject({ status: 'pending', attempts: 1, failure: 'broken for a test' });
    } finally {
      await mend();
    }
    await Promise.all([runJobs(service), runJobs(service)]);
    expect((await accountNow(service, account.id)).paid).toBe(77.77);
  });

  it('does not delay other notifications', async () => {
    const account = await newAccount(service);
    const mend = await breakPosting(service, 7778);
    try {
      accepted(await notify(service, { BillRefNumber: account.accountNumber, TransAmount: '77.78' }));
      const { db } = service.context;
      const { TransID } = notification();
      await sql`
        insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, trans_time, bill_ref, status)
        values ('mobilemoney', '{}', ${TransID}, '\\x00', 100, now(), ${account.accountNumber}, 'pending')`.execute(
        db,
      );
      await runJobs(service);
      expect((await accountNow(service, account.id)).paid).toBe(1);
    } finally {
      await mend();
    }
    await runJobs(service);
    expect((await accountNow(service, account.id)).paid).toBe(78.78);
  });
});

describe('with a secret', () => {
  const guarded = useInstance(service, { WEBHOOK_SECRET: 'open sesame & more' });
  const token = encodeURIComponent('open sesame & more');

  it('accepts notifications with the secret in the header or in the URL', async () => {
    const header = { 'x-webhook-secret': 'open sesame & more' };
    expect((await notify(guarded, {}, { headers: header })).status).toBe(200);
    expect((await notify(guarded, {}, { query: `?token=${token}` })).status).toBe(200);
    expect((await notify(guarded, {}, { query: '?token=wrong', headers: header })).status).toBe(200);
  });

  it('accepts other parameters in the URL', async () => {
    for (const query of [
      `?token=${token}&source=gw`,
      `?source=gw&source=b&filter[x]=1&token=${token}`,
      '?a',
    ]) {
      const headers: Record<string, string> = query.includes(token)
        ? {}
        : { 'x-webhook-secret': 'open sesame & more' };
      expect(accepted(await notify(guarded, {}, { query, headers })).outcome, query).toBe('unmatched');
    }
    expect((await notify(guarded, {}, { query: '?source=gw' })).status).toBe(401);
  });

  it.each<[string, { query?: string; headers?: Record<string, string> }]>([
    ['none', {}],
    ['a wrong header', { headers: { 'x-webhook-secret': 'open sesame' } }],
    [
      'a wrong header beside the right address',
      { query: `?token=${token}`, headers: { 'x-webhook-secret': '' } },
    ],
    ['an empty token', { query: '?token=' }],
    ['a wrong token', { query: `?token=${token}x` }],
    ['two tokens', { query: `?token=${token}&token=${token}` }],
    ['an access token', { headers: { authorization: 'Bearer open sesame & more' } }],
  ])('refuses those with %s, and stores nothing of them', async (_what, options) => {
    const sent = notification();
    const answer = await notify(guarded, sent, options);
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe('UNAUTHORIZED');
    expect(answer.text).not.toContain('sesame');
    const { rows } = await sql`select id from notifications where trans_id = ${sent.TransID}`.execute(
      service.context.db,
    );
    expect(rows).toEqual([]);
  });

  it('warns of refused calls once a minute for each provider, without the secret', async () => {
    const secured = await startServiceForTest({ WEBHOOK_SECRET: 'open sesame' });
    secured.stopwatch.stop();
    const warned = vi.spyOn(secured.parts.log, 'warn');
    const refuse = async (path: string) =>
      expect((await secured.call('POST', `${path}?token=open`, notification())).status).toBe(401);
    const line = (provider: string, refusedCalls: number) => [
      { provider, client: '127.0.0.1', refusedCalls },
      'A call of the provider was refused: Send the webhook secret as X-Webhook-Secret or as ?token=.',
    ];
    const paths = ['', '/validation', '/status/key', '/requests/key'].map(
      (route) => `/webhooks/payments/mobilemoney${route}`,
    );
    for (const path of [...paths, `/v1${paths[0]}`]) await refuse(path);
    await refuse('/webhooks/payments/tigopesa');
    const firstLines = [line('mobilemoney', 1), line('tigopesa', 1)];
    expect(warned.mock.calls).toEqual(firstLines);
    secured.stopwatch.advance(59_999);
    await refuse(`${paths[0]}`);
    expect(warned.mock.calls).toEqual(firstLines);
    secured.stopwatch.advance(1);
    await refuse(`${paths[0]}`);
    await refuse(`${paths[0]}`);
    expect(warned.mock.calls).toEqual([...firstLines, line('mobilemoney', 6)]);
  });
});

describe('with a list of networks', () => {
  const guarded = useInstance(service, {
    WEBHOOK_ALLOWED_IPS: '196.201.214.0/24, 2001:db8::/32',
    WEBHOOK_SECRET: 'sesame',
    TRUST_PROXY: '127.0.0.1/32',
  });
  const from = (address: string, secret = 'sesame') =>
    notify(guarded, {}, { headers: { 'x-forwarded-for': address, 'x-webhook-secret': secret } });

  it.each([
    '196.201.214.7',
    '::ffff:196.201.214.7',
    '2001:db8::1',
    '196.201.214.7:49152',
    '[2001:db8::1]:49152',
    '203.0.113.9:1, 196.201.214.7:2',
    '196.201.214.7:49152, 127.0.0.1:8080', // a second proxy, which is trusted, too
  ])('takes notifications from %s', async (address) => {
    expect((await from(address)).status).toBe(200);
  });

  it.each([
    '196.201.215.7',
    '2001:db9::1',
    '127.0.0.1',
    '196.201.215.7:49152',
    '[2001:db9::1]:49152',
    'unknown',
    '196.201.214.7:x',
    '196.201.214.7.example',
  ])('refuses notifications from %s', async (address) => {
    const answer = await from(address);
    expect(answer.status).toBe(403);
    expect(answer.body.error.code).toBe('FORBIDDEN');
  });

  it('ignores the address that an unknown proxy sends', async () => {
    const answer = await notify(guarded, {}, { headers: { 'x-webhook-secret': 'sesame' } });
    expect(answer.status).toBe(403);
    const chain = await from('196.201.214.7, 203.0.113.9');
    expect(chain.status).toBe(403); // the last address before the proxy counts
  });

  it('checks the secret first', async () => {
    expect((await from('203.0.113.9', 'wrong')).status).toBe(401);
  });
});

describe('with own short codes', () => {
  const guarded = useInstance(service, { PAYBILL_NUMBERS: '600638,600639' });

  it('posts payments to them, and keeps payments to other codes unmatched and flagged', async () => {
    const account = await newAccount(service);
    const send = async (BusinessShortCode: unknown) =>
      accepted(await notify(guarded, { BillRefNumber: account.accountNumber, BusinessShortCode }));
    expect((await send('600639')).outcome).toBe('matched');
    expect((await send(600638)).outcome).toBe('matched');
    const { outcome, paymentId } = await send('174379');
    expect(outcome).toBe('unmatched');
    const { body } = await service.call('GET', `/payments/unmatched?filter[id]=${paymentId}`);
    expect(body.data[0].flags).toContain('other_short_code');
    expect((await send(undefined)).outcome).toBe('unmatched');
  });
});
