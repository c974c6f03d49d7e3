import { describe, expect, it } from 'vitest';
import { accountNow, newAccount, pay, paymentNow, reverse, useService } from '../support/harness.ts';
import { notification } from '../support/http.ts';

const service = useService();

interface Call {
  amount: number;
  [field: string]: unknown;
}

const record = (accountId: number, body: Call, options = {}) =>
  service.call('POST', '/payments', { accountId, paymentMethodId: 2, ...body }, options);
const codesOf = ({ warnings }: { warnings: { code: string }[] }) => warnings.map(({ code }) => code);
const CONFIRM = { checks: 'confirm' };

async function paymentsOf(accountId: number): Promise<unknown[]> {
  return (await service.call('GET', `/accounts/${accountId}/payments`)).body.data;
}

describe('POST /payments without checks', () => {
  it('records a payment above the balance, and warns', async () => {
    const { id, balance } = await newAccount(service);
    const exact = await record(id, { amount: balance - 1 });
    expect([exact.status, exact.body.warnings]).toEqual([201, []]);
    const above = await record(id, { amount: 1.01 });
    expect(above.status).toBe(201);
    expect(above.body.warnings).toEqual([
      {
        code: 'above_balance',
        message: 'The amount is above what is left to pay, and the rest becomes credit.',
        paymentIds: [],
      },
    ]);
    const payment = await paymentNow(service, above.body.data.id);
    expect(payment).toEqual(above.body.data);
  });

  it('warns about a payment of the same account, amount and day, and names it', async () => {
    const { id } = await newAccount(service);
    const first = await pay(service, id, 400);
    const second = await record(id, { amount: 400, paymentMethodId: 1 });
    expect(second.body.warnings).toMatchObject([{ code: 'same_payment', paymentIds: [first.id] }]);
    const third = await record(id, { amount: 400, transactionRef: 'ONLY ONE WITH A REFERENCE' });
    expect(third.body.warnings).toMatchObject([{ paymentIds: [second.body.data.id, first.id] }]);
  });

  it('does not warn about another amount, day, account or reference, or about a reversed payment', async () => {
    const { id } = await newAccount(service, { activationDate: '2026-01-01' });
    const reversed = await pay(service, id, 500);
    await reverse(service, reversed.id);
    await pay(service, id, 400, { transactionRef: `${id} A` });
    const others = [
      { amount: 400.01 },
      { amount: 400, paymentDate: '2026-01-02' },
      { amount: 400, transactionRef: `${id} B` },
      { amount: 500 },
    ];
    for (const other of others) expect((await record(id, other)).body.warnings).toEqual([]);
    const otherAccount = await newAccount(service);
    expect((await record(otherAccount.id, { amount: 400 })).body.warnings).toEqual([]);
  });

  it('compares references like the search for duplicates does', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 400, { transactionRef: `same ${id}` });
    const again = await record(id, { amount: 400, transactionRef: `SAME${id}`, paymentMethodId: 3 });
    expect(codesOf(again.body)).toEqual(['same_payment']);
  });

  it('warns about a payment that a provider has reported', async () => {
    const { id, accountNumber } = await newAccount(service);
    const reported = notification({ TransAmount: '750.00', BillRefNumber: accountNumber });
    const sent = await service.call('POST', '/webhooks/payments/mobilemoney', reported, { token: null });
    const { paymentDate } = (await service.call('GET', `/payments/${sent.body.data.paymentId}`)).body.data;
    const typed = await record(id, { amount: 750, paymentDate });
    expect(typed.body.warnings).toMatchObject([{ paymentIds: [sent.body.data.paymentId] }]);
  });

  it('repeats the warnings of the first answer for the same idempotency key', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 400);
    const options = { headers: { 'idempotency-key': `warnings-${id}` } };
    const first = await record(id, { amount: 400 }, options);
    const repeat = await record(id, { amount: 400 }, options);
    expect(repeat.body).toEqual(first.body);
    expect(codesOf(repeat.body)).toEqual(['same_payment']);
    expect(await paymentsOf(id)).toHaveLength(2);
  });
});

describe('POST /payments/bulk', () => {
  it('compares the items of a call with each other, and asks for a confirmation only where an item wants checks', async () => {
    const { id, balance } = await newAccount(service);
    const item = { accountId: id, amount: balance - 100, paymentMethodId: 2 };
    const { body } = await service.call('POST', '/payments/bulk', {
      items: [item, item, { ...item, ...CONFIRM }, { ...item, amount: 0.5, ...CONFIRM }],
    });
    const [first, second, third, fourth] = body.data.items;
    expect([first.warnings, second.warnings]).toEqual([
      [],
      [
        expect.objectContaining({ code: 'above_balance' }),
        expect.objectContaining({ code: 'same_payment', paymentIds: [first.data.id] }),
      ],
    ]);
    expect(third).toMatchObject({ status: 'failed', error: { code: 'VALIDATION_ERROR' } });
    expect(third.error.details).toMatchObject({
      warnings: [{ code: 'above_balance' }, { code: 'same_payment' }],
      balance: 0,
      credit: balance - 200,
    });
    expect(codesOf(fourth.error.details)).toEqual(['above_balance']);
    expect(await paymentsOf(id)).toHaveLength(2);
  });
});

describe('POST /payments with checks', () => {
  it('answers 409 with what was found, and records the payment after a confirmation of exactly this', async () => {
    const { id, balance } = await newAccount(service);
    const options = { headers: { 'idempotency-key': `confirm-${id}` } };
    const first = await pay(service, id, balance - 100);
    const asked = { amount: balance - 100, ...CONFIRM };
    const answer = await record(id, asked, options);
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: {
        fields: [
          {
            path: 'confirmation',
            message: 'must name the codes above_balance and same_payment, the balance 100, the credit 0',
          },
        ],
        warnings: [
          { code: 'above_balance', paymentIds: [] },
          { code: 'same_payment', paymentIds: [first.id] },
        ],
        ...{ balance: 100, credit: 0 },
      },
    });
    const codes = ['above_balance', 'same_payment'];
    for (const confirmation of [
      { codes: ['above_balance'], balance: 100 },
      { codes, balance: 99.99 },
      { codes, balance: 100, credit: 1 },
    ])
      expect((await record(id, { ...asked, confirmation })).status).toBe(409);
    expect(await paymentsOf(id)).toHaveLength(1);
    const confirmed = await record(id, { ...asked, confirmation: { codes, balance: 100 } }, options);
    expect(confirmed.status).toBe(201);
    expect(codesOf(confirmed.body)).toEqual(codes);
  });

  it('refuses codes that do not exist', async () => {
    const { id } = await newAccount(service);
    const confirmation = { codes: ['anything'], balance: 0 };
    const { status, body } = await record(id, { amount: 1, confirmation });
    expect([status, body.error.details.fields[0].path]).toEqual([400, 'confirmation.codes[0]']);
  });

  it.each([
    ['on an open account', 0],
    ['on an account that is paid in full', 1],
  ])('accepts one of ten concurrent confirmations of the same warning, %s', async (_, share) => {
    const { id, balance: total } = await newAccount(service);
    await pay(service, id, 400);
    if (share > 0) await pay(service, id, total - 400, { transactionRef: `rest of ${id}` });
    const { error } = (await record(id, { amount: 400, ...CONFIRM })).body;
    const { warnings, balance, credit } = error.details;
    const confirmation = { codes: codesOf({ warnings }), balance, credit };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => record(id, { amount: 400, ...CONFIRM, confirmation })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array(9).fill(409)]);
    expect((await accountNow(service, id)).paid).toBe(share > 0 ? total + 400 : 800);
  });
});
