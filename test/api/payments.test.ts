import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  move,
  newAccount,
  notify,
  pay,
  paymentNow,
  reverse,
  setToday,
  startInstanceForTest,
  statementsOf,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';

const service = useService();
const TODAY = '2026-03-02';
const TOTAL = 22_800; // deposit 2,000 and 52 × 400
const CASH = 2;
const BANK = 3;

beforeEach(() => setToday(service, TODAY));
afterAll(() => expectBooksToBalance(service.context));

const post = (body: Record<string, unknown>) =>
  service.call('POST', '/payments', { paymentMethodId: CASH, ...body });

describe('POST /payments', () => {
  it('records a payment and repeats the fields sent', async () => {
    const account = await newAccount(service);
    const body = {
      accountId: account.id,
      amount: 1234.56,
      paymentMethodId: BANK,
      transactionRef: 'Slip 77/a',
      paymentDate: '2026-02-27',
    };
    const answer = await service.call('POST', '/payments', body);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({
      ...body,
      accountNumber: account.accountNumber,
      currency: 'KES',
      status: 'matched',
      source: 'manual',
      matchMethod: null,
      reversedAt: null,
      reversalReason: null,
    });
    const { id } = answer.body.data;
    expect(await paymentNow(service, id)).toEqual(answer.body.data);
    const list = await service.call('GET', `/accounts/${account.id}/payments`);
    expect(list.body.data).toEqual([answer.body.data]);
  });

  it('is dated today if no date is given', async () => {
    service.clock.set(new Date('2026-03-02T21:00:00Z')); // midnight in Nairobi
    const { id } = await newAccount(service);
    expect((await pay(service, id, 1)).paymentDate).toBe('2026-03-03');
  });

  it('adds up exactly to the cent, for any parts', async () => {
    const { id } = await newAccount(service);
    for (const amount of [0.1, 0.2, 1.15, 33.33, 0.29, 1000.07]) await pay(service, id, amount);
    expect(await accountNow(service, id)).toMatchObject({ paid: 1035.14, balance: 21_764.86 });
  });

  it('accepts the largest amount and returns it unchanged', async () => {
    const { id } = await newAccount(service);
    expect((await pay(service, id, 999_999_999_999.99)).amount).toBe(999_999_999_999.99);
    expect((await accountNow(service, id)).credit).toBe(999_999_977_199.99);
  });

  it.each([0, -1, 0.001, 10.005, 1_000_000_000_000, 1e300, '100', null, true, [100]])(
    'refuses the amount %j',
    async (amount) => {
      const { id } = await newAccount(service);
      expect(wrongFields(await post({ accountId: id, amount }))).toEqual(['amount']);
    },
  );

  it.each(['2026-03-03', '2026-02-30', '02.03.2026', '2026-03-02T00:00:00Z', '', null, 20_260_302])(
    'refuses the date %j',
    async (paymentDate) => {
      const { id } = await newAccount(service);
      expect(wrongFields(await post({ accountId: id, amount: 1, paymentDate }))).toEqual(['paymentDate']);
    },
  );

  it('names all missing fields', async () => {
    expect(wrongFields(await service.call('POST', '/payments', {}))).toEqual([
      'accountId',
      'amount',
      'paymentMethodId',
    ]);
  });

  it('answers 404 for an unknown account or method', async () => {
    const { id } = await newAccount(service);
    const noAccount = await post({ accountId: 999_999, amount: 1 });
    expect(noAccount.status).toBe(404);
    expect(noAccount.body.error.details).toEqual({ resource: 'account', field: 'accountId', id: 999_999 });
    const noMethod = await post({ accountId: id, amount: 1, paymentMethodId: 99 });
    expect(noMethod.status).toBe(404);
    expect(noMethod.body.error.details).toMatchObject({ field: 'paymentMethodId', id: 99 });
  });
});

describe('the transaction reference', () => {
  const taken = (answer: { status: number; body: { error: object } }) => {
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({
      code: 'DUPLICATE_ENTRY',
      details: { field: 'transactionRef' },
    });
  };

  it('is unique for a method, in any letter case and on any account', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    await pay(service, one.id, 10, { transactionRef: 'Qx-7' });
    taken(await post({ accountId: one.id, amount: 10, transactionRef: 'Qx-7' }));
    taken(await post({ accountId: other.id, amount: 11, transactionRef: ' qX-7 ' }));
    taken(await post({ accountId: one.id, amount: 10, transactionRef: 'q x-7' }));
    taken(await post({ accountId: one.id, amount: 10, transactionRef: 'Q\u200bx\uff0d7' }));
    expect((await accountNow(service, one.id)).paid).toBe(10);
    expect((await accountNow(service, other.id)).paid).toBe(0);
  });

  it('may be used again with another method', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 10, { transactionRef: 'Qx-8' });
    expect((await pay(service, id, 10, { transactionRef: 'qx-8', paymentMethodId: BANK })).status).toBe(
      'matched',
    );
  });

  it('may be used again after its payment was reversed', async () => {
    const { id } = await newAccount(service);
    const first = await pay(service, id, 10, { transactionRef: 'Qx-9' });
    await reverse(service, first.id);
    await pay(service, id, 12, { transactionRef: 'QX-9' });
    taken(await post({ accountId: id, amount: 12, transactionRef: 'qx-9' }));
    expect((await accountNow(service, id)).paid).toBe(12);
  });

  it('is stored as sent, without surrounding spaces', async () => {
    const { id } = await newAccount(service);
    expect((await pay(service, id, 5, { transactionRef: '  Ab c ' })).transactionRef).toBe('Ab c');
  });

  it('accepts one of ten concurrent duplicates', async () => {
    const { id } = await newAccount(service);
    const body = { accountId: id, amount: 10, transactionRef: 'at once' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect((await accountNow(service, id)).paid).toBe(10);
  });
});

describe('a payment with an external id', () => {
  let accountId: number;
  beforeAll(async () => {
    accountId = (await newAccount(service)).id;
  });
  let count = 0;
  const unique = (prefix: string) => {
    count += 1;
    return `${prefix}-${count}`;
  };
  function expectDuplicate(answer: Answer, id: number): void {
    expect(answer.status, answer.text).toBe(409);
    expect(answer.body.error.details).toEqual({ resource: 'payment', field: 'externalId', id });
  }
  const record = (fields: object) => post({ accountId, amount: 10, ...fields });

  it('is recorded once among ten in one batch, and the others of the batch are recorded', async () => {
    const before = (await accountNow(service, accountId)).paid;
    const externalId = unique('BATCH');
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => record({ externalId })),
      ...Array.from({ length: 10 }, () => record({ externalId: unique('BESIDE') })),
      ...Array.from({ length: 10 }, () => record({})),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.slice(0, 10).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(statuses.slice(10)).toEqual(Array(20).fill(201));
    expect((await accountNow(service, accountId)).paid).toBe(before + 210);
  });

  it('is recorded once among ten that two instances receive', async () => {
    const second = await startInstanceForTest(service);
    const externalId = unique('INSTANCES');
    const body = { accountId, amount: 10, paymentMethodId: 2, externalId };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        at % 2
          ? record({ externalId })
          : second.call('POST', '/payments', body, { token: service.adminToken }),
      ),
    );
    const [won] = answers.filter(({ status }) => status === 201);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    for (const answer of answers.filter(({ status }) => status === 409))
      expectDuplicate(answer, won?.body.data.id);
  });

  it('is recorded or changed, but not both, when both happen at once', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await pay(service, accountId, 10);
      const externalId = unique('BOTH');
      const answers = await Promise.all([
        record({ externalId }),
        service.call('PUT', `/payments/${id}`, { externalId }),
      ]);
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
    }
  });

  it('keeps its external id after a reversal, until that is removed', async () => {
    const externalId = unique('REVERSED');
    const { id } = (await record({ externalId })).body.data;
    expect(await reverse(service, id)).toMatchObject({ externalId });
    expectDuplicate(await record({ externalId }), id);
    await service.call('PUT', `/payments/${id}`, { externalId: null });
    expect((await record({ externalId })).status).toBe(201);
  });

  it('asks PostgreSQL about external ids only if one was sent', async () => {
    const asked = async (fields: object) => {
      const statements = await statementsOf(() => record(fields));
      return statements.filter(({ text }) => text.includes('external_id = any')).length;
    };
    expect(await asked({})).toBe(0);
    expect(await asked({ externalId: unique('ASKED') })).toBe(1);
  });

  it('can be given by staff to a payment that the provider reported', async () => {
    const { accountNumber } = await newAccount(service);
    const sent = await notify(service, notification({ BillRefNumber: accountNumber }));
    const { paymentId } = sent.body.data;
    expect((await service.call('GET', `/payments/${paymentId}`)).body.data).toMatchObject({
      externalId: null,
      metadata: {},
    });
    const externalId = unique('PROVIDER');
    const changed = await service.call('PUT', `/payments/${paymentId}`, {
      externalId,
      metadata: { till: '1' },
    });
    expect(changed.body.data).toMatchObject({
      id: paymentId,
      externalId,
      metadata: { till: '1' },
      amount: 400,
    });
  });
});

describe('money', () => {
  it('beyond the total is credit', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, TOTAL + 150.25);
    expect(await accountNow(service, id)).toMatchObject({
      status: 'completed',
      paid: TOTAL + 150.25,
      balance: 0,
      credit: 150.25,
    });
  });

  it('on a written-off account is a recovery, and credit beyond the total', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 2000);
    await move(service, id, 'defaulted');
    await move(service, id, 'written_off');
    await pay(service, id, 800);
    expect(await accountNow(service, id)).toMatchObject({
      status: 'written_off',
      balance: TOTAL - 2800,
      credit: 0,
    });
    const rest = await pay(service, id, TOTAL);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', balance: 0, credit: 2800 });
    await reverse(service, rest.id);
    expect(await accountNow(service, id)).toMatchObject({
      status: 'written_off',
      balance: TOTAL - 2800,
      credit: 0,
    });
  });

  it('of many concurrent payments on one account is complete', async () => {
    const { id } = await newAccount(service);
    await Promise.all(Array.from({ length: 30 }, () => pay(service, id, 100.01)));
    expect((await accountNow(service, id)).paid).toBe(3000.3);
  });
});

describe('POST /payments/:id/reverse', () => {
  it('keeps the payment as reversed, with the reason', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 500, { transactionRef: 'r-1' });
    const answer = await service.call('POST', `/payments/${payment.id}/reverse`, { reason: 'bounced' });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      ...payment,
      status: 'reversed',
      reversedAt: expect.any(String),
      reversalReason: 'bounced',
      updatedAt: expect.any(String),
    });
    expect(await accountNow(service, id)).toMatchObject({ paid: 0, balance: TOTAL, nextDueAmount: 2000 });
  });

  it('reduces credit first, then the paid amount', async () => {
    const { id } = await newAccount(service);
    const first = await pay(service, id, TOTAL - 100);
    await pay(service, id, 300);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', credit: 200 });
    await reverse(service, first.id);
    expect(await accountNow(service, id)).toMatchObject({
      status: 'active',
      paid: 300,
      credit: 0,
      balance: TOTAL - 300,
    });
    const { rows } = await sql<{ ledger_account: string; amount_minor: number }>`
      select ledger_account, amount_minor from ledger_entries
      where payment_id = ${first.id} and event = 'payment_reversed' order by amount_minor`.execute(
      service.context.db,
    );
    expect(rows).toEqual([
      { ledger_account: 'clearing', amount_minor: -2_270_000 },
      { ledger_account: 'customer_credit', amount_minor: 20_000 },
      { ledger_account: 'receivable', amount_minor: 2_250_000 },
    ]);
  });

  it('is done once: a second reversal is refused', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 500);
    await reverse(service, payment.id);
    const again = await service.call('POST', `/payments/${payment.id}/reverse`, { reason: 'again' });
    expect(again.status).toBe(400);
    expect(again.body.error.details).toEqual({ from: 'reversed', to: 'reversed', allowed: [] });
  });

  it('is done once for five concurrent requests', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 500);
    const ask = () => service.call('POST', `/payments/${payment.id}/reverse`, { reason: 'at once' });
    const answers = await Promise.all(Array.from({ length: 5 }, ask));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
  });

  it('requires a reason and an existing payment', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 500);
    expect(wrongFields(await service.call('POST', `/payments/${payment.id}/reverse`, {}))).toEqual([
      'reason',
    ]);
    const nothing = await service.call('POST', '/payments/999999/reverse', { reason: 'none' });
    expect(nothing.body.error).toMatchObject({ code: 'NOT_FOUND', details: { resource: 'payment' } });
  });

  it('restores the lateness that the payment had ended', async () => {
    const { id } = await newAccount(service, { activationDate: '2026-02-02' });
    const payment = await pay(service, id, 4000);
    expect(await accountNow(service, id)).toMatchObject({ paymentState: 'paid_ahead', daysPastDue: 0 });
    await reverse(service, payment.id);
    expect(await accountNow(service, id)).toMatchObject({
      paymentState: 'late',
      daysPastDue: 28,
      arrears: 3600,
    });
  });

  it('of an unmatched payment leaves no amount in the books', async () => {
    const { paymentId } = (await notify(service, { BillRefNumber: 'nobody' })).body.data;
    expect(await reverse(service, paymentId)).toMatchObject({ status: 'reversed', accountId: null });
  });
});

describe('POST /payments/:id/assign', () => {
  let strangers = 0;
  /** A new reference each time, because assignments are learned. */
  async function unmatched(amount = '400.00'): Promise<number> {
    strangers += 1;
    const answer = await notify(service, { BillRefNumber: `nobody ${strangers}`, TransAmount: amount });
    expect(answer.body.data.outcome).toBe('unmatched');
    return answer.body.data.paymentId;
  }
  const assign = (paymentId: number, accountId: unknown) =>
    service.call('POST', `/payments/${paymentId}/assign`, { accountId });

  it('assigns an unmatched payment to an account', async () => {
    const account = await newAccount(service);
    const paymentId = await unmatched();
    const answer = await assign(paymentId, account.id);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({
      id: paymentId,
      status: 'matched',
      matchMethod: 'assigned',
      accountId: account.id,
      accountNumber: account.accountNumber,
    });
    expect((await accountNow(service, account.id)).paid).toBe(400);
  });

  it('changes nothing for the same account, and is refused for another one', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    const paymentId = await unmatched();
    await assign(paymentId, one.id);
    expect((await assign(paymentId, one.id)).status).toBe(200);
    const answer = await assign(paymentId, other.id);
    expect(answer.status).toBe(400);
    expect(answer.body.error.details).toEqual({
      from: 'matched',
      to: 'matched',
      allowed: ['unmatched', 'reversed'],
    });
    expect((await accountNow(service, one.id)).paid).toBe(400);
    expect((await accountNow(service, other.id)).paid).toBe(0);
  });

  it('completes an account that is then paid in full, with the rest as credit', async () => {
    const { id } = await newAccount(service);
    await assign(await unmatched(String(TOTAL + 1)), id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', credit: 1 });
  });

  it('to two accounts concurrently succeeds for one of them', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    const paymentId = await unmatched();
    const answers = await Promise.all([assign(paymentId, one.id), assign(paymentId, other.id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const paid = [(await accountNow(service, one.id)).paid, (await accountNow(service, other.id)).paid];
    expect(paid.sort()).toEqual([0, 400]);
  });

  it('can be followed by a reversal', async () => {
    const { id } = await newAccount(service);
    const paymentId = await unmatched();
    await assign(paymentId, id);
    await reverse(service, paymentId);
    expect((await accountNow(service, id)).paid).toBe(0);
    const again = await assign(paymentId, id);
    expect(again.body.error.details).toEqual({ from: 'reversed', to: 'matched', allowed: [] });
  });

  it('answers 404 for an unknown payment or account', async () => {
    const { id } = await newAccount(service);
    expect((await assign(999_999, id)).body.error.details).toEqual({
      resource: 'payment',
      field: 'id',
      id: 999_999,
    });
    expect((await assign(await unmatched(), 999_999)).body.error.details).toEqual({
      resource: 'account',
      field: 'accountId',
      id: 999_999,
    });
  });
});

describe('POST /payments/:id/unassign', () => {
  const unassign = (paymentId: number, reason = 'it was meant for another') =>
    service.call('POST', `/payments/${paymentId}/unassign`, { reason });
  const CREDITED = { paid: 0, balance: TOTAL, credit: 0 };

  it('makes a matched payment unmatched, so that it can be assigned to another account', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    const { paymentId } = (await notify(service, { BillRefNumber: one.accountNumber })).body.data;
    const before = await paymentNow(service, paymentId);
    const answer = await unassign(paymentId);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toEqual({
      ...before,
      status: 'unmatched',
      accountId: null,
      accountNumber: null,
      matchMethod: null,
      matchReason: null,
      receiptNumber: null,
      updatedAt: expect.any(String),
    });
    expect(await accountNow(service, one.id)).toMatchObject(CREDITED);
    const listed = await service.call('GET', `/payments/unmatched?filter[id]=${paymentId}`);
    expect(listed.body.data[0]).toMatchObject({ id: paymentId, reference: one.accountNumber });
    const assigned = await service.call('POST', `/payments/${paymentId}/assign`, { accountId: other.id });
    expect(assigned.body.data).toMatchObject({ accountId: other.id, matchReason: 'staff assigned it' });
    expect((await accountNow(service, other.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('restores status, lateness and credit, also for a back-dated payment', async () => {
    const account = await newAccount(service, { activationDate: '2026-02-02' });
    await move(service, account.id, 'suspended');
    const [first] = [await pay(service, account.id, 2000, { paymentDate: '2026-02-02' })];
    const before = await accountNow(service, account.id);
    expect(before).toMatchObject({ status: 'suspended', paymentState: 'late' });
    const rest = await pay(service, account.id, TOTAL, { paymentDate: '2026-02-03' });
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'completed', credit: 2000 });
    expect((await unassign(rest.id)).status).toBe(200);
    expect(await accountNow(service, account.id)).toEqual({
      ...before,
      reason: 'a payment was unassigned',
      updatedAt: expect.any(String),
    });
    await unassign(first.id);
    expect(await accountNow(service, account.id)).toMatchObject({ ...CREDITED, nextDueDate: '2026-02-02' });
    const { body } = await service.call('GET', `/accounts/${account.id}/history`);
    expect(body.data[0]).toMatchObject({ from: 'completed', to: 'suspended', actor: 'system' });
    await expectBooksToBalance(service.context);
  });

  it('leaves a completed account completed while it is still paid in full', async () => {
    const { id } = await newAccount(service);
    const first = await pay(service, id, 300);
    await pay(service, id, TOTAL);
    await unassign(first.id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', credit: 0, paid: TOTAL });
  });

  it('does not change the reconciliation of the payment, because the money arrived', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 500);
    await service.call('POST', '/payments/reconcile', { paymentIds: [payment.id] });
    const reconciled = (await service.call('GET', `/payments/${payment.id}`)).body.data;
    const { data } = (await unassign(payment.id)).body;
    expect(data).toMatchObject({
      status: 'unmatched',
      reconciliationId: reconciled.reconciliationId,
      reconciliationDate: reconciled.reconciliationDate,
    });
    expect(data.reconciliationId).toBeGreaterThan(0);
  });

  it('requires a reason and an existing matched payment', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 500);
    expect(wrongFields(await service.call('POST', `/payments/${payment.id}/unassign`, {}))).toEqual([
      'reason',
    ]);
    expect((await unassign(999_999)).body.error.code).toBe('NOT_FOUND');
    await unassign(payment.id);
    const again = await unassign(payment.id);
    expect(again.status).toBe(400);
    expect(again.body.error.details).toEqual({
      from: 'unmatched',
      to: 'unmatched',
      allowed: ['matched', 'reversed'],
    });
    await reverse(service, payment.id);
    expect((await unassign(payment.id)).body.error.details).toEqual({
      from: 'reversed',
      to: 'unmatched',
      allowed: [],
    });
  });

  it('is audited with the reason and the previous account', async () => {
    const { id } = await newAccount(service);
    const { accountNumber: BillRefNumber } = await accountNow(service, id);
    const { paymentId } = (await notify(service, { BillRefNumber })).body.data;
    await unassign(paymentId, 'wrong customer');
    const { rows } = await sql`
      select before, after from audit_entries
      where action = 'payment.unassign' and resource_id = ${paymentId}`.execute(service.context.db);
    expect(rows).toEqual([
      {
        before: { status: 'matched', accountId: id, matchMethod: 'account_number' },
        after: { status: 'unmatched', accountId: null, matchMethod: null, reason: 'wrong customer' },
      },
    ]);
  });

  it('is done once for two concurrent requests', async () => {
    for (let round = 0; round < 3; round++) {
      const { id } = await newAccount(service);
      const payment = await pay(service, id, 500);
      const answers = await Promise.all([unassign(payment.id), unassign(payment.id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
      expect((await accountNow(service, id)).paid).toBe(0);
    }
    await expectBooksToBalance(service.context);
  });

  it('concurrent with a reversal or another assignment keeps the books consistent', async () => {
    for (let round = 0; round < 5; round++) {
      const [one, other] = [await newAccount(service), await newAccount(service)];
      const payment = await pay(service, one.id, 500);
      const answers = await Promise.all([
        service.call('POST', `/payments/${payment.id}/reverse`, { reason: 'at once' }),
        unassign(payment.id),
        service.call('POST', `/payments/${payment.id}/assign`, { accountId: other.id }),
        unassign(payment.id),
      ]);
      for (const { status, text } of answers) expect([200, 400], text).toContain(status);
      const { status, accountId } = (await service.call('GET', `/payments/${payment.id}`)).body.data;
      const [reversed] = answers;
      expect(status === 'reversed').toBe(reversed?.status === 200);
      for (const { id } of [one, other]) {
        const holds = status === 'matched' && accountId === id;
        expect((await accountNow(service, id)).paid).toBe(holds ? 500 : 0);
      }
    }
    await expectBooksToBalance(service.context);
  });
});

describe('what was done', () => {
  it('is audited with its actor, and cannot be edited', async () => {
    const { id } = await newAccount(service);
    const headers = { 'x-request-id': 'audit-me-1' };
    const payment = await service.call(
      'POST',
      '/payments',
      { accountId: id, amount: 7, paymentMethodId: CASH },
      { headers },
    );
    const { db } = service.context;
    const { rows } = await sql`
      select actor, action, request_id, after->>'amountMinor' as amount from audit_entries
      where resource = 'payment' and resource_id = ${payment.body.data.id}`.execute(db);
    expect(rows).toEqual([
      { actor: 'admin@example.com', action: 'payment.record', request_id: 'audit-me-1', amount: '700' },
    ]);
    for (const [table, change] of [
      ['ledger_entries', 'amount_minor = amount_minor + 1'],
      ['audit_entries', "actor = 'nobody'"],
    ])
      for (const statement of [`update ${table} set ${change}`, `delete from ${table}`, `truncate ${table}`])
        await expect(sql.raw(statement).execute(db), statement).rejects.toThrow('never edited');
    await expect(sql`update payments set amount_minor = 1`.execute(db)).rejects.toThrow('cannot be edited');
  });

  it('has no event whose ledger entries do not sum to zero', async () => {
    const { id } = await newAccount(service);
    const unbalanced = sql`
      insert into ledger_entries (id, event_id, event, ledger_account, account_id, amount_minor, value_date)
      overriding system value
      values (90000000, 90000000, 'account_opened', 'receivable', ${id}, 1, current_date)`;
    await expect(unbalanced.execute(service.context.db)).rejects.toThrow('must sum to zero');
  });
});
