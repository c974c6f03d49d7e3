import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  move,
  newAccount,
  newAccountThatIs,
  newCustomer,
  notify,
  pay,
  reverse,
  setToday,
  startInstanceForTest,
  useService,
  whileHolding,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';
import { STATUS_MODEL, STATUSES } from '../support/status-model.ts';

const ADDRESS = '/webhooks/payments/mobilemoney/validation';

const service = useService();
beforeAll(() => setToday(service, '2026-11-02'));

const ask = (fields: Record<string, unknown>) =>
  service.call('POST', ADDRESS, notification(fields), { token: null });

/** The fields of the answer that the provider's gateway reads, for a well-formed request. */
async function resultOf(fields: Record<string, unknown>): Promise<[number | string, string]> {
  const { status, body, text } = await ask(fields);
  expect(status, text).toBe(200);
  expect(body).toMatchObject({ success: true, message: 'Payment validated.' });
  expect(body.data.accepted).toBe(body.ResultCode === 0);
  return [body.ResultCode, body.ResultDesc];
}

const ACCEPTED = [0, 'Accepted'];
const WRONG_ACCOUNT = ['C2B00012', 'Invalid Account Number'];
const WRONG_AMOUNT = ['C2B00013', 'Invalid Amount'];
const WRONG_SHORT_CODE = ['C2B00015', 'Invalid Shortcode'];

describe('before the money moves, a payment', () => {
  it('is accepted for an account number, which the answer repeats', async () => {
    const { accountNumber } = await newAccount(service);
    const { status, body } = await ask({ BillRefNumber: accountNumber.toLowerCase() });
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      data: { accepted: true, accountNumber },
      message: 'Payment validated.',
      ResultCode: 0,
      ResultDesc: 'Accepted',
    });
  });

  it('is accepted with the same ResultCode as its notification', async () => {
    const { accountNumber: BillRefNumber } = await newAccount(service);
    const [asked, reported] = [await ask({ BillRefNumber }), await notify(service, { BillRefNumber })];
    const codeOf = ({ body }: Answer) => ({ ResultCode: body.ResultCode, ResultDesc: body.ResultDesc });
    expect(codeOf(asked)).toEqual({ ResultCode: 0, ResultDesc: 'Accepted' });
    expect(codeOf(reported)).toEqual(codeOf(asked));
  });

  it('is accepted for every reference that would match the notification', async () => {
    const customer = await newCustomer(service, { phone: '+254733110001', nationalId: 'VAL-0001' });
    const account = await newAccount(service, { customerId: customer.id });
    const digest = createHash('sha256').update('254733110001').digest('hex');
    expect(await resultOf({ BillRefNumber: 'val 0001' })).toEqual(ACCEPTED);
    expect(await resultOf({ BillRefNumber: '0733110001' })).toEqual(ACCEPTED);
    expect(await resultOf({ BillRefNumber: String(account.id), MSISDN: digest })).toEqual(ACCEPTED);
    expect(await resultOf({ BillRefNumber: '', MSISDN: '254733110001' })).toEqual(ACCEPTED);
  });

  it('is accepted for a reference that was learned from staff', async () => {
    const { id: accountId } = await newAccount(service);
    const sent = { BillRefNumber: 'validated shop', MSISDN: '254733110009' };
    expect(await resultOf(sent)).toEqual(WRONG_ACCOUNT);
    const { paymentId } = (await notify(service, sent)).body.data;
    await service.call('POST', `/payments/${paymentId}/assign`, { accountId });
    expect(await resultOf(sent)).toEqual(ACCEPTED);
    expect(await resultOf({ ...sent, MSISDN: '254733110008' })).toEqual(WRONG_ACCOUNT);
  });

  it('is refused if the payment would wait in the worklist', async () => {
    const customer = await newCustomer(service, { phone: '+254733110002' });
    const account = await newAccount(service, { customerId: customer.id });
    await newAccount(service, { customerId: customer.id });
    for (const sent of [
      { BillRefNumber: 'nobody' },
      { BillRefNumber: '0733110002' }, // two accounts
      { BillRefNumber: '', MSISDN: '254733110002' },
      { BillRefNumber: '', MSISDN: '2547****002' },
      { BillRefNumber: account.accountNumber.slice(0, -1) },
      { BillRefNumber: undefined, MSISDN: undefined },
      { BillRefNumber: { no: 'text' } },
    ]) {
      expect(await resultOf(sent), JSON.stringify(sent)).toEqual(WRONG_ACCOUNT);
    }
  });

  it('is accepted for an existing account number, even if staff must decide later', async () => {
    const { accountNumber } = await newAccount(service);
    const other = await newCustomer(service, { nationalId: accountNumber });
    await newAccount(service, { customerId: other.id });
    const sent = { BillRefNumber: accountNumber };
    expect((await notify(service, sent)).body.data.outcome).toBe('unmatched');
    expect(await resultOf(sent)).toEqual(ACCEPTED);
  });

  const refusing = STATUSES.filter(
    (status) => status === 'completed' || STATUS_MODEL[status].ends === 'undone',
  );

  it.each(refusing)('is refused on a %s account', async (status) => {
    const { accountNumber } = await newAccountThatIs(service, status);
    expect(await resultOf({ BillRefNumber: accountNumber })).toEqual(WRONG_ACCOUNT);
  });

  it.each(STATUSES.filter((status) => !refusing.includes(status)))(
    'is accepted on a %s account',
    async (status) => {
      const { accountNumber } = await newAccountThatIs(service, status);
      expect(await resultOf({ BillRefNumber: accountNumber })).toEqual(ACCEPTED);
    },
  );

  it('is accepted on a cancelled account that owes an outgoing credit', async () => {
    const { id, accountNumber } = await newAccount(service);
    const payment = await pay(service, id, 2_000);
    await move(service, id, 'cancelled');
    const back = { amount: 2_000, reason: 'gave it back' };
    expect((await service.call('POST', `/accounts/${id}/credit/refund`, back)).status).toBe(201);
    expect(await resultOf({ BillRefNumber: accountNumber })).toEqual(WRONG_ACCOUNT);
    await reverse(service, payment.id);
    expect(await resultOf({ BillRefNumber: accountNumber })).toEqual(ACCEPTED);
  });

  it.each(['1.005', undefined])('is refused with the amount %j', async (TransAmount) => {
    const { accountNumber } = await newAccount(service);
    expect(await resultOf({ BillRefNumber: accountNumber, TransAmount })).toEqual(WRONG_AMOUNT);
  });

  it('needs no transaction id, and may have numbers instead of texts', async () => {
    const { accountNumber } = await newAccount(service);
    const sent = { TransID: '', TransTime: undefined, TransAmount: 5 };
    expect(await resultOf({ ...sent, BillRefNumber: Number(accountNumber.slice(3)) })).toEqual(ACCEPTED);
  });

  it('that cannot be read is answered by 400', async () => {
    for (const body of ['no json', '[]', '"text"', '5']) {
      expect(wrongFields(await service.call('POST', ADDRESS, body, { token: null }))).toEqual(['body']);
    }
  });

  it('is stored and posts nothing if its confirmation comes to this address, until the provider reports it elsewhere', async () => {
    const { id, accountNumber } = await newAccount(service);
    const sent = notification({ BillRefNumber: accountNumber, OrgAccountBalance: '5000.00' });
    const send = () => service.call('POST', ADDRESS, sent, { token: null });
    for (let n = 1; n <= 2; n += 1) expect((await send()).body.ResultCode).toBe(0);
    const list = () =>
      service.call('GET', `/notifications?filter[transactionRef]=${sent.TransID}&sort=id:asc`);
    const failure = expect.stringContaining('validation address');
    expect((await list()).body.data).toMatchObject([
      { status: 'rejected', amount: 400, reference: accountNumber, failure },
    ]);
    const paid = async () => (await service.call('GET', `/accounts/${id}`)).body.data.paid;
    expect(await paid()).toBe(0);
    await notify(service, sent);
    expect((await list()).body.data.map(({ status }: { status: string }) => status)).toEqual([
      'rejected',
      'processed',
    ]);
    expect(await paid()).toBe(400);
  });

  it('stores nothing', async () => {
    const count = async () =>
      (
        await sql`select (select count(*) from notifications), (select count(*) from payments),
        (select count(*) from audit_entries), (select count(*) from ledger_entries)`.execute(
          service.context.db,
        )
      ).rows;
    const { accountNumber } = await newAccount(service);
    const before = await count();
    await ask({ BillRefNumber: accountNumber });
    await ask({ BillRefNumber: 'nobody' });
    await ask({ TransAmount: 'x' });
    expect(await count()).toEqual(before);
  });
});

describe('the validation', () => {
  it('requires the secret like the notification, and checks the short code', async () => {
    const { accountNumber } = await newAccount(service);
    const guarded = await startInstanceForTest(service, {
      WEBHOOK_SECRET: 'sesame',
      PAYBILL_NUMBERS: '600638',
      RATE_LIMIT_WEBHOOK: '4',
    });
    const send = (fields: object, headers: Record<string, string> = { 'x-webhook-secret': 'sesame' }) =>
      guarded.call('POST', ADDRESS, notification({ BillRefNumber: accountNumber, ...fields }), { headers });
    const none = await send({}, {});
    expect(none.status).toBe(401);
    expect(none.body.error.code).toBe('UNAUTHORIZED');
    const own = await send({});
    expect(own.body.ResultCode).toBe(0);
    expect(own.headers.get('ratelimit-policy')).toBe('"webhook";q=4;w=60');
    const other = await send({ BusinessShortCode: '174379' });
    expect([other.body.ResultCode, other.body.ResultDesc]).toEqual(WRONG_SHORT_CODE);
    // All calls of the provider share one rate limit.
    expect((await notify(guarded, {}, { headers: { 'x-webhook-secret': 'sesame' } })).status).toBe(200);
    expect((await send({})).status).toBe(429);
  });

  it('answers 503 after its own time limit when the database does not answer, so that the provider decides', async () => {
    const { accountNumber } = await newAccount(service);
    const instance = await startInstanceForTest(service, {}, { validationMs: 100 });
    await whileHolding(service, 'lock table accounts in access exclusive mode', async () => {
      const answer = await instance.call('POST', ADDRESS, notification({ BillRefNumber: accountNumber }));
      expect(answer.status, answer.text).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
    });
    expect(await resultOf({ BillRefNumber: accountNumber })).toEqual(ACCEPTED);
  });

  it('answers 503, and no refusal, while a table is missing', async () => {
    const { accountNumber } = await newAccount(service);
    await sql`alter table learned_references rename to hidden`.execute(service.context.db);
    try {
      const answer = await ask({ BillRefNumber: accountNumber });
      expect(answer.status).toBe(503);
      expect(answer.body.error.code).toBe('INTERNAL_ERROR');
    } finally {
      await sql`alter table hidden rename to learned_references`.execute(service.context.db);
    }
  });
});
