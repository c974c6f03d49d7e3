import { beforeAll, describe, expect, it } from 'vitest';
import { accountList } from '../../src/accounts/schema.ts';
import { listAccounts } from '../../src/accounts/store.ts';
import { today } from '../../src/core/context.ts';
import { inTransaction } from '../../src/core/database/transactions.ts';
import { createRowCursor } from '../../src/core/lists/row-cursor.ts';
import {
  dataOf,
  newAccount,
  newAccountThatIs,
  notify,
  pay,
  reverse,
  setToday,
  useService,
  wrongFields,
} from '../support/harness.ts';

const service = useService();

beforeAll(() => setToday(service, '2026-11-18'));

async function read(path: string, token?: string) {
  const { status, body, text } = await service.call(
    'GET',
    path,
    undefined,
    token === undefined ? {} : { token },
  );
  expect(status, text).toBe(200);
  return body;
}

/** The sum of a column of all rows, in cents so that it is exact. */
async function sumOfRows(path: string, field: string): Promise<number> {
  let sum = 0;
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const body = await read(`${path}&limit=100&page=${page}`);
    pages = body.pagination.totalPages;
    for (const row of body.data) sum += Math.round(row[field] * 100);
  }
  return sum / 100;
}

describe('the totals of payments', () => {
  it('sum all rows that the filters select, on all pages, without reversed payments', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 100.1, { paymentDate: '2026-11-17' });
    await pay(service, id, 200.2, { paymentDate: '2026-11-17' });
    await pay(service, id, 400, { paymentDate: '2026-11-16' });
    await reverse(service, (await pay(service, id, 1000, { paymentDate: '2026-11-17' })).id);
    const days = 'filter[paymentDate]=2026-11-17';
    const body = await read(`/payments?totals=true&${days}&limit=1&page=2`);
    expect(body.pagination).toEqual({ page: 2, limit: 1, total: 3, totalPages: 3 });
    expect(body.data).toHaveLength(1);
    expect(body.totals).toEqual({ currency: 'KES', amount: 300.3 });
    expect((await read(`/accounts/${id}/payments?totals=true`)).totals).toEqual({
      currency: 'KES',
      amount: 700.3,
    });
    expect((await read('/payments?totals=true&filter[status]=reversed')).totals.amount).toBe(0);
  });

  it('count unmatched money, and are zero if no row matches', async () => {
    await notify(service, { BillRefNumber: 'nobody', TransAmount: '55.00' });
    expect((await read('/payments?totals=true&filter[status]=unmatched')).totals.amount).toBe(55);
    const none = await read('/payments?totals=true&filter[amount]=123456');
    expect([none.data, none.pagination.total, none.totals]).toEqual([[], 0, { currency: 'KES', amount: 0 }]);
  });

  it('are there only if the query asks for them, and then the rows are the same', async () => {
    for (const query of ['', 'totals=false&', 'after=&'])
      expect(await read(`/payments?${query}`)).not.toHaveProperty('totals');
    const { totals: _, ...withTotals } = await read('/payments?totals=true&sort=amount:desc&limit=2');
    expect(withTotals).toEqual(await read('/payments?sort=amount:desc&limit=2'));
    expect(await read('/payments?totals=true&page=9')).toMatchObject({
      data: [],
      totals: { currency: 'KES' },
    });
  });

  it('are refused with a cursor, in a file, and in lists without sums', async () => {
    const refused = async (path: string) => wrongFields(await service.call('GET', path));
    expect(await refused('/payments?totals=true&after=')).toEqual(['totals']);
    expect(await refused('/payments?totals=yes')).toEqual(['totals']);
    expect(await refused('/payments.csv?totals=true')).toEqual(['totals']);
    expect(await refused('/customers?totals=true')).toEqual(['totals']);
  });
});

const small = useService({}, { slotMs: 200 });

describe('the totals of a list', () => {
  it.each(['/payments', '/accounts', '/invoices', '/commissions/payments'])(
    'of %s are read two at a time, and the list without totals never waits for them',
    async (path) => {
      let end = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const running = ['user 8', 'user 9'].map((user) => small.parts.summaries.read(user, () => ended));
      const waiting = small.call('GET', `${path}?totals=true`);
      expect((await small.call('GET', path)).status).toBe(200);
      const { status, headers } = await waiting;
      expect([status, headers.get('retry-after')]).toEqual([503, '5']);
      end();
      await Promise.all(running);
      expect((await small.call('GET', `${path}?totals=true`)).body.totals).toMatchObject({ currency: 'KES' });
    },
  );
});

describe('the totals of accounts', () => {
  it('are the sums of the balance and the arrears of the rows, for each status and lateness', async () => {
    for (const activationDate of ['2026-09-01', '2026-10-21', '2026-11-18']) {
      const { id } = await newAccount(service, { activationDate });
      await pay(service, id, 2100);
    }
    await newAccount(service, { activationDate: '2026-12-24' }); // not due yet
    await newAccount(service, { activationDate: '2026-06-30', payplanId: 3 }); // monthly
    for (const status of ['suspended', 'defaulted', 'written_off', 'cancelled', 'completed'] as const)
      await newAccountThatIs(service, status, { activationDate: '2026-10-01' });
    const queries = [
      '',
      'filter[status]=active&',
      'filter[status][in]=cancelled,written_off,completed&',
      'filter[daysPastDue][gt]=30&',
      'status=pending&',
    ];
    for (const query of queries) {
      const { totals, pagination } = await read(`/accounts?${query}totals=true&limit=1`);
      expect(pagination.total, query).toBeGreaterThan(0);
      expect(totals, query).toEqual({
        currency: 'KES',
        balance: await sumOfRows(`/accounts?${query}`, 'balance'),
        arrears: await sumOfRows(`/accounts?${query}`, 'arrears'),
      });
    }
    const { totals } = await read('/accounts?totals=true');
    expect(totals.arrears).toBeGreaterThan(1000);
    expect((await read('/accounts?totals=true&filter[status]=cancelled')).totals.balance).toBe(0);
  });

  it('include only the accounts that a search finds', async () => {
    const { id, accountNumber, balance } = await newAccount(service);
    expect((await read(`/accounts?totals=true&search=${accountNumber}`)).totals).toEqual({
      currency: 'KES',
      balance,
      arrears: (await dataOf(service.call('GET', `/accounts/${id}`))).arrears,
    });
  });

  it('are not read for a file', async () => {
    await inTransaction(service.context.db, async (tx) => {
      const plan = { ...accountList.plan({}, service.context), totals: true, cursor: createRowCursor() };
      expect(await listAccounts(tx, plan, today(service.context))).not.toHaveProperty('sums');
    });
  });
});

describe('the totals of invoices and commissions', () => {
  it('leave out void invoices', async () => {
    const { id: accountId } = await newAccount(service);
    const issue = (unitPrice: number) =>
      dataOf(
        service.call('POST', '/invoices', {
          accountId,
          items: [{ description: 'Cable', quantity: 2, unitPrice }],
        }),
        201,
      );
    await issue(50);
    const wrong = await issue(500);
    await dataOf(service.call('POST', `/invoices/${wrong.id}/void`, { reason: 'Wrong price' }));
    const query = `/invoices?totals=true&filter[accountId]=${accountId}`;
    expect(await read(query)).toMatchObject({
      pagination: { total: 2 },
      totals: { currency: 'KES', total: 100 },
    });
  });

  it('of commissions include only those that the caller may read', async () => {
    const sell = async (name: string) => {
      const employee = await dataOf(
        service.call('POST', '/employees', { name, phone: '+254700000001' }),
        201,
      );
      const account = await newAccount(service, { employeeId: employee.id, activationDate: '2026-10-05' });
      await pay(service, account.id, 2000, { paymentDate: '2026-10-06' });
      const body = { employeeId: employee.id, period: '2026-10', includeDerived: true, salesData: [] };
      const { total } = await dataOf(service.call('POST', '/commissions/calculate', body));
      return { id: employee.id, total };
    };
    const [first, second] = [await sell('Baraka'), await sell('Chebet')];
    expect(first.total).toBeGreaterThan(0);
    const all = await read('/commissions/payments?totals=true&period=2026-10');
    expect(all.totals).toEqual({ currency: 'KES', total: first.total + second.total });
    const one = await read(`/commissions/payments?totals=true&employeeId=${second.id}`);
    expect(one.totals.total).toBe(second.total);
    const agent = await service.signInAs('agent');
    expect((await read('/commissions/payments?totals=true', agent)).totals.total).toBe(0);
  });
});
