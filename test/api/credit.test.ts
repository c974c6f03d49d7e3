import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  pay,
  reverse,
  setToday,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const service = useService();
const TOTAL = 22_800; // of the weekly demo plan
const MOBILE_MONEY = 1;
const CASH = 2;

beforeEach(() => setToday(service, '2026-11-02'));
afterAll(() => expectBooksToBalance(service.context));

async function accountWithCredit(credit: number) {
  const account = await newAccount(service);
  const payment = await pay(service, account.id, TOTAL + credit);
  return { ...account, payment };
}

function transfer(id: number, toAccountId: number, amount: number, rest: object = {}): Promise<Answer> {
  const body = { toAccountId, amount, reason: 'of the same family', ...rest };
  return service.call('POST', `/accounts/${id}/credit/transfer`, body);
}

function refund(id: number, amount: number, rest: object = {}): Promise<Answer> {
  return service.call('POST', `/accounts/${id}/credit/refund`, { amount, reason: 'paid too much', ...rest });
}

function movesOf(id: number, query = ''): Promise<Record<string, unknown>[]> {
  return dataOf(service.call('GET', `/accounts/${id}/credit/moves${query}`));
}

/** The entries of a move, as account: ledger account: amount in units. */
async function entriesOf(moveId: number) {
  const { rows } = await sql<{ line: string; amount: number }>`
    select coalesce(account_id::text, '-') || ' ' || ledger_account as line, amount_minor as amount
    from ledger_entries where credit_move_id = ${moveId} order by id`.execute(service.context.db);
  return Object.fromEntries(rows.map(({ line, amount }) => [line, amount / 100]));
}

describe('a transfer of credit', () => {
  it('pays what the other account owes, as a payment would', async () => {
    const [giver, receiver] = [await accountWithCredit(1000), await newAccount(service)];
    const answer = await transfer(giver.id, receiver.id, 700.5);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body.data).toMatchObject({
      kind: 'transfer',
      accountId: giver.id,
      accountNumber: giver.accountNumber,
      toAccountId: receiver.id,
      toAccountNumber: receiver.accountNumber,
      amount: 700.5,
      reason: 'of the same family',
      paymentMethodId: null,
      transactionRef: null,
      valueDate: '2026-11-02',
      actor: 'admin@example.com',
    });
    const shown = { credit: 299.5, paid: TOTAL + 299.5, balance: 0, status: 'completed' };
    expect(await accountNow(service, giver.id)).toMatchObject(shown);
    expect(await accountNow(service, receiver.id)).toMatchObject({ paid: 700.5, balance: TOTAL - 700.5 });
    expect(await entriesOf(answer.body.data.id)).toEqual({
      [`${giver.id} customer_credit`]: 700.5,
      [`${receiver.id} receivable`]: -700.5,
    });
  });

  it('completes the other account, and records the rest as its credit', async () => {
    const [giver, receiver] = [await accountWithCredit(1000), await newAccount(service)];
    await pay(service, receiver.id, TOTAL - 600);
    expect((await transfer(giver.id, receiver.id, 1000)).status).toBe(201);
    expect(await accountNow(service, receiver.id)).toMatchObject({ status: 'completed', credit: 400 });
    const history = await service.call('GET', `/accounts/${receiver.id}/history`);
    expect(history.body.data[0]).toMatchObject({ from: 'active', to: 'completed', actor: 'system' });
  });

  it('is accepted by an account of any status: as credit if cancelled, as a recovery if written off', async () => {
    const giver = await accountWithCredit(1000);
    const cancelled = await newAccount(service);
    await move(service, cancelled.id, 'cancelled');
    const lost = await newAccount(service);
    for (const status of ['suspended', 'written_off']) await move(service, lost.id, status);
    const first = await transfer(giver.id, cancelled.id, 300);
    expect(await entriesOf(first.body.data.id)).toEqual({
      [`${giver.id} customer_credit`]: 300,
      [`${cancelled.id} customer_credit`]: -300,
    });
    expect(await accountNow(service, cancelled.id)).toMatchObject({ credit: 300, balance: 0 });
    const second = await transfer(giver.id, lost.id, 500);
    expect(await entriesOf(second.body.data.id)).toEqual({
      [`${giver.id} customer_credit`]: 500,
      [`${lost.id} recovery`]: -500,
    });
    // What came as credit can leave as credit.
    expect((await transfer(cancelled.id, lost.id, 300)).status).toBe(201);
    expect(await accountNow(service, lost.id)).toMatchObject({ paid: 800, balance: TOTAL - 800 });
  });

  it('is refused beyond the credit, to the same account, to an unknown account, and for invalid amounts', async () => {
    const [giver, receiver] = [await accountWithCredit(100), await newAccount(service)];
    expect(wrongFields(await transfer(giver.id, receiver.id, 100.01))).toEqual(['amount']);
    expect(wrongFields(await transfer(receiver.id, giver.id, 1))).toEqual(['amount']);
    expect(wrongFields(await transfer(giver.id, giver.id, 1))).toEqual(['toAccountId']);
    expect(wrongFields(await transfer(giver.id, receiver.id, 0))).toEqual(['amount']);
    expect(wrongFields(await transfer(giver.id, receiver.id, -1))).toEqual(['amount']);
    expect(wrongFields(await transfer(giver.id, receiver.id, 1.001))).toEqual(['amount']);
    expect(wrongFields(await transfer(giver.id, receiver.id, 1, { reason: ' ' }))).toEqual(['reason']);
    const nobody = await transfer(giver.id, 999_999, 1);
    expect(nobody.status).toBe(404);
    expect(nobody.body.error.details).toMatchObject({ field: 'toAccountId', id: 999_999 });
    expect((await transfer(999_999, giver.id, 1)).body.error.details).toMatchObject({ id: 999_999 });
    expect(await accountNow(service, giver.id)).toMatchObject({ credit: 100 });
    expect(await movesOf(giver.id)).toEqual([]);
  });

  it('is refused if the other account would hold more than the largest amount', async () => {
    const [giver, full] = [await accountWithCredit(100), await newAccount(service)];
    const most = 999_999_999_999.99;
    for (let i = 0; i < 10; i += 1) await pay(service, full.id, most);
    expect((await accountNow(service, full.id)).paid).toBe(9_999_999_999_999.9);
    expect(wrongFields(await transfer(giver.id, full.id, 0.1))).toEqual(['amount']);
    expect((await transfer(giver.id, full.id, 0.09)).status).toBe(201);
  });

  it('is done once when it is repeated with its key', async () => {
    const [giver, receiver] = [await accountWithCredit(100), await newAccount(service)];
    const send = () =>
      service.call(
        'POST',
        `/accounts/${giver.id}/credit/transfer`,
        { toAccountId: receiver.id, amount: 60, reason: 'once' },
        { headers: { 'idempotency-key': `transfer ${giver.id}` } },
      );
    const answers = await Promise.all([send(), send(), send()]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(await accountNow(service, giver.id)).toMatchObject({ credit: 40 });
  });
});

describe('a refund of credit', () => {
  it('uses mobile money, or the payment method in the body', async () => {
    const account = await accountWithCredit(1000);
    const first = await refund(account.id, 400, { transactionRef: ' SKC1AB22CD ' });
    expect(first.status, first.text).toBe(201);
    expect(first.body.data).toMatchObject({
      kind: 'refund',
      toAccountId: null,
      toAccountNumber: null,
      amount: 400,
      paymentMethodId: MOBILE_MONEY,
      transactionRef: 'SKC1AB22CD',
    });
    const second = await refund(account.id, 600, { paymentMethodId: CASH });
    expect(await entriesOf(second.body.data.id)).toEqual({
      [`${account.id} customer_credit`]: 600,
      [`${account.id} clearing`]: -600,
    });
    expect(await accountNow(service, account.id)).toMatchObject({
      credit: 0,
      paid: TOTAL,
      balance: 0,
      status: 'completed',
    });
    expect(wrongFields(await refund(account.id, 0.01))).toEqual(['amount']);
  });

  it('can return everything that was paid on a cancelled account', async () => {
    const account = await newAccount(service);
    await pay(service, account.id, 2000);
    expect(wrongFields(await refund(account.id, 1))).toEqual(['amount']);
    await move(service, account.id, 'cancelled');
    expect((await refund(account.id, 2000)).status).toBe(201);
    expect(await accountNow(service, account.id)).toMatchObject({ paid: 0, credit: 0, balance: 0 });
  });

  it('has a transaction reference that is unique for its method', async () => {
    const account = await accountWithCredit(1000);
    const named = { transactionRef: 'SKC7ONCE', paymentMethodId: MOBILE_MONEY };
    const first = await refund(account.id, 10, named);
    expect(first.status).toBe(201);
    const { id } = first.body.data;
    for (const transactionRef of ['skc7once', 'SKC 7 ONCE']) {
      const again = await refund(account.id, 20, { ...named, transactionRef });
      expect(again.status).toBe(409);
      expect(again.body.error.details).toEqual({ resource: 'refund', field: 'transactionRef', id });
    }
    expect((await refund(account.id, 20, { ...named, paymentMethodId: CASH })).status).toBe(201);
    expect(await accountNow(service, account.id)).toMatchObject({ credit: 970 });
  });

  it('is refused for an unknown or inactive method', async () => {
    const account = await accountWithCredit(100);
    const unknown = await refund(account.id, 1, { paymentMethodId: 4711 });
    expect(unknown.body.error.details).toEqual({
      resource: 'payment_method',
      field: 'paymentMethodId',
      id: 4711,
    });
    const method = { code: 'old_till', name: 'Old till', active: false };
    const { id } = (await service.call('POST', '/payment-methods', method)).body.data;
    expect(wrongFields(await refund(account.id, 1, { paymentMethodId: id }))).toEqual(['paymentMethodId']);
  });
});

describe('the moves of an account', () => {
  it('include both directions, newest first, and can be filtered', async () => {
    const [one, other] = [await accountWithCredit(500), await accountWithCredit(500)];
    await transfer(one.id, other.id, 100);
    await transfer(other.id, one.id, 50);
    await refund(one.id, 25);
    const rows = (await movesOf(one.id)).map(({ kind, accountId, amount }) => ({ kind, accountId, amount }));
    expect(rows).toEqual([
      { kind: 'refund', accountId: one.id, amount: 25 },
      { kind: 'transfer', accountId: other.id, amount: 50 },
      { kind: 'transfer', accountId: one.id, amount: 100 },
    ]);
    expect(await movesOf(other.id)).toHaveLength(2);
    expect(await movesOf(one.id, '?filter[kind]=refund')).toHaveLength(1);
    expect(await movesOf(one.id, `?filter[toAccountId]=${one.id}&sort=amount:asc`)).toHaveLength(1);
    expect((await service.call('GET', '/accounts/999999/credit/moves')).status).toBe(404);
  });

  it('are in one list of all accounts, which can filter the refunds of a day by method', async () => {
    await setToday(service, '2026-11-05');
    const [one, other] = [await accountWithCredit(500), await accountWithCredit(500)];
    await refund(one.id, 25, { paymentMethodId: CASH });
    await refund(other.id, 30, { paymentMethodId: CASH });
    await refund(other.id, 35);
    await transfer(one.id, other.id, 40);
    await setToday(service, '2026-11-02');
    const amountsOf = async (query: string) => {
      const answer = await service.call('GET', `/credit-moves?filter[valueDate]=2026-11-05&${query}`);
      expect(answer.status, answer.text).toBe(200);
      return answer.body.data.map(({ amount }: { amount: number }) => amount);
    };
    expect(await amountsOf(`filter[kind]=refund&filter[paymentMethodId]=${CASH}`)).toEqual([30, 25]);
    expect(await amountsOf(`filter[accountId]=${other.id}&sort=amount:asc`)).toEqual([30, 35]);
    expect(await amountsOf('filter[kind]=transfer')).toEqual([40]);

    const { day } = (await service.call('GET', '/reports/proof?date=2026-11-05')).body.data;
    expect(day).toMatchObject({
      refunded: { count: 3, amount: 90 },
      ledger: { refunded: 90, net: day.received.amount - 90 },
      holds: true,
    });
    const cash = day.byMethod.find((row: { paymentMethodId: number }) => row.paymentMethodId === CASH);
    expect(cash).toMatchObject({ refunded: { count: 2, amount: 55 }, ledger: { refunded: 55 }, holds: true });
  });

  it('between two accounts appear in the audit list of both', async () => {
    const [giver, receiver] = [await accountWithCredit(10), await newAccount(service)];
    const { id: creditMoveId } = (await transfer(giver.id, receiver.id, 4)).body.data;
    const entryOf = async (action: string, id: number) =>
      (await service.call('GET', `/audit?filter[action]=${action}&filter[resourceId]=${id}`)).body.data;
    const after = { creditMoveId, amountMinor: 400, reason: 'of the same family' };
    expect(await entryOf('credit.transfer', giver.id)).toMatchObject([
      { resource: 'account', after: { ...after, toAccountId: receiver.id } },
    ]);
    expect(await entryOf('credit.receive', receiver.id)).toMatchObject([
      { resource: 'account', after: { ...after, fromAccountId: giver.id } },
    ]);
  });

  it('are written to the audit list and never edited', async () => {
    const account = await accountWithCredit(5);
    const { id } = (await refund(account.id, 5)).body.data;
    const audited = await service.call('GET', '/audit?filter[action]=credit.refund&sort=id:desc');
    expect(audited.body.data[0]).toMatchObject({
      resource: 'account',
      resourceId: account.id,
      after: { creditMoveId: id, amountMinor: 500, reason: 'paid too much' },
    });
    for (const statement of [
      sql`update credit_moves set amount_minor = 1`,
      sql`truncate credit_moves cascade`,
    ]) {
      await expect(statement.execute(service.context.db)).rejects.toThrow(/added, never edited/);
    }
    // Its ledger entries refer to it.
    const deleted = sql`delete from credit_moves where id = ${id}`.execute(service.context.db);
    await expect(deleted).rejects.toThrow(/violates foreign key constraint/);
  });
});

describe('a payment whose credit has left', () => {
  it('can be reversed: the customer owes the outgoing credit, and can pay it', async () => {
    const [account, receiver] = [await accountWithCredit(1000), await newAccount(service)];
    await transfer(account.id, receiver.id, 600);
    await refund(account.id, 400);
    await reverse(service, account.payment.id);
    expect(await accountNow(service, account.id)).toMatchObject({
      status: 'active',
      paid: -1000,
      balance: TOTAL + 1000,
      credit: 0,
      nextDueDate: '2026-11-02',
      nextDueAmount: 3000,
      arrears: 3000,
    });
    expect(await accountNow(service, receiver.id)).toMatchObject({ paid: 600 });
    const listed = await service.call('GET', `/accounts?filter[balance]=${TOTAL + 1000}&filter[paid]=-1000`);
    expect(listed.body.data.map(({ id }: { id: number }) => id)).toEqual([account.id]);
    await pay(service, account.id, TOTAL + 1000);
    expect(await accountNow(service, account.id)).toMatchObject({
      status: 'completed',
      balance: 0,
      credit: 0,
    });
  });

  it('can be reversed on a cancelled account, which then owes the refund', async () => {
    const account = await newAccount(service);
    const payment = await pay(service, account.id, 2000);
    await move(service, account.id, 'cancelled');
    await refund(account.id, 1500);
    await reverse(service, payment.id);
    expect(await accountNow(service, account.id)).toMatchObject({ paid: -1500, balance: 1500, credit: 0 });
    await expectBooksToBalance(service.context);
    await pay(service, account.id, 1600);
    expect(await accountNow(service, account.id)).toMatchObject({ paid: 100, balance: 0, credit: 100 });
  });

  it('is part of the loss when the account is written off', async () => {
    const account = await accountWithCredit(1000);
    await refund(account.id, 1000);
    await reverse(service, account.payment.id);
    for (const status of ['suspended', 'written_off']) await move(service, account.id, status);
    await expectBooksToBalance(service.context);
    expect(await accountNow(service, account.id)).toMatchObject({ balance: TOTAL + 1000 });
    await pay(service, account.id, TOTAL + 1000);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'completed', balance: 0 });
  });
});

describe('at the same time', () => {
  it('concurrent transfers and refunds never exceed the credit', async () => {
    const [giver, receiver] = [await accountWithCredit(1000), await newAccount(service)];
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        i % 2 === 0 ? refund(giver.id, 300) : transfer(giver.id, receiver.id, 300),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 400, 400, 400, 400, 400]);
    expect(await accountNow(service, giver.id)).toMatchObject({ credit: 100 });
  });

  it('transfers in opposite directions do not deadlock', async () => {
    const [one, other] = [await accountWithCredit(1000), await accountWithCredit(1000)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0 ? transfer(one.id, other.id, 10) : transfer(other.id, one.id, 10),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    expect(await accountNow(service, one.id)).toMatchObject({ credit: 1000 });
    expect(await accountNow(service, other.id)).toMatchObject({ credit: 1000 });
  });

  it('a reversal and a refund of the same money leave consistent books', async () => {
    const account = await accountWithCredit(500);
    const [, refunded] = await Promise.all([reverse(service, account.payment.id), refund(account.id, 500)]);
    const paid = refunded.status === 201 ? -500 : 0;
    expect(await accountNow(service, account.id)).toMatchObject({ paid, balance: TOTAL - paid, credit: 0 });
  });
});

describe('the reports', () => {
  it('subtract a refund on its day, and move a transfer from one account to another', async () => {
    const collected = async (month: string) => {
      const days = `startDate=${month}-01&endDate=${month}-28`;
      const answer = await service.call('GET', `/reports/accounts/summary?${days}`);
      expect(answer.status, answer.text).toBe(200);
      return answer.body.data.collected as number;
    };
    const [account, receiver] = [await accountWithCredit(1000), await newAccount(service)];
    setToday(service, '2027-02-10');
    const before = { november: await collected('2026-11'), february: await collected('2027-02') };
    await refund(account.id, 400);
    await transfer(account.id, receiver.id, 500);
    expect(await collected('2026-11')).toBe(before.november);
    expect(await collected('2027-02')).toBe(before.february - 400);
  });
});
