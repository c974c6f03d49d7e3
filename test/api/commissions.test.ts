import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newAccount, PASSWORD, useService, wrongFields } from '../harness.ts';

const service = useService();

async function newEmployee(): Promise<number> {
  return (await service.call('POST', '/employees', { name: 'Seller' })).body.data.id;
}

/** As many further accounts as an employee sells in no month; only their rows, which is what is counted here. */
async function copyAccount(id: number, times: number): Promise<void> {
  const { rows } = await sql<{ columns: string }>`
    select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
    where table_name = 'accounts' and is_identity = 'NO' and is_generated = 'NEVER'`.execute(
    service.context.db,
  );
  const columns = sql.raw(rows[0]?.columns ?? '');
  await sql`
    insert into accounts (${columns}) select ${columns} from accounts, generate_series(1, ${times})
    where id = ${id}`.execute(service.context.db);
}

const calculate = (body: object) => service.call('POST', '/commissions/calculate', body);

describe('POST /commissions/calculate', () => {
  it('derives the sales from the accounts that the employee sold in the period', async () => {
    const employeeId = await newEmployee();
    const account = await newAccount(service, { employeeId, activationDate: '2026-03-31' });
    await newAccount(service, { employeeId, activationDate: '2026-04-01' });
    const pump = await newAccount(service, { employeeId, activationDate: '2026-03-01', productId: 3 });
    const cancelled = await newAccount(service, { employeeId, activationDate: '2026-03-02' });
    await service.call('PUT', `/accounts/${cancelled.id}`, { status: 'cancelled', reason: 'returned' });

    const { status, body } = await calculate({ employeeId, period: '2026-03' });
    expect(status).toBe(200);
    // 22,800 at the default 2 %, and at the 3.5 % of pumps
    expect(body.data).toMatchObject({ employeeId, period: '2026-03', status: 'calculated', total: 1254 });
    expect(body.data.lines).toMatchObject([
      { accountId: account.id, base: 22800, rateBasisPoints: 200, amount: 456, saleDate: '2026-03-31' },
      { accountId: pump.id, base: 22800, rateBasisPoints: 350, amount: 798 },
    ]);
  });

  it('takes given sales: amounts, or the account’s total, or price times quantity; rounds half up', async () => {
    const employeeId = await newEmployee();
    const account = await newAccount(service);
    const salesData = [
      { productId: 1, amount: 0.25, saleDate: '2026-05-09' },
      { productId: 5, quantity: 3 },
      { accountId: account.id },
    ];
    const { body } = await calculate({ employeeId, period: '2026-05', salesData });
    // 2 % of 0.25 is half a cent
    expect(body.data.lines.map((line: { amount: number }) => line.amount)).toEqual([0.01, 144, 456]);
    expect(body.data.total).toBe(600.01);
  });

  it('gives the same result for the same input and replaces what was calculated', async () => {
    const employeeId = await newEmployee();
    const body = { employeeId, period: '2026-06', salesData: [{ productId: 1 }] };
    const first = (await calculate(body)).body.data;
    const second = (await calculate(body)).body.data;
    expect({ ...second, updatedAt: '' }).toEqual({ ...first, updatedAt: '' });
    const other = (await calculate({ ...body, salesData: [{ productId: 2 }] })).body.data;
    expect(other.id).toBe(first.id);
    expect(other.lines).toHaveLength(1);
  });

  it('pays an account once, and no sale that the books cannot hold', async () => {
    const employeeId = await newEmployee();
    const { id: accountId } = await newAccount(service);
    const twice = await calculate({
      employeeId,
      period: '2026-05',
      salesData: [{ accountId }, { accountId }],
    });
    expect(twice.body.error.details.fields[0].path).toBe('salesData[1].accountId');
    const thrice = await calculate({
      employeeId,
      period: '2026-05',
      salesData: [{ accountId, quantity: 3 }],
    });
    expect(thrice.body.error.details.fields[0].path).toBe('salesData[0].quantity');
    const dear = { sku: 'DEAR', name: 'Dear', category: 'lamp', price: 999_999_999_999.99 };
    const { id: productId } = (await service.call('POST', '/products', dear)).body.data;
    const huge = await calculate({
      employeeId,
      period: '2026-05',
      salesData: [{ productId, quantity: 10_000 }],
    });
    expect(huge.status).toBe(400);
  });

  it('holds 10,000 sales of a period, and says so of more', async () => {
    const employeeId = await newEmployee();
    const { id } = await newAccount(service, { employeeId, activationDate: '2026-02-28' });
    await copyAccount(id, 9_999);
    const { status, body } = await calculate({ employeeId, period: '2026-02' });
    expect(status).toBe(200);
    expect(body.data.lines).toHaveLength(10_000);
    expect(body.data).toMatchObject({ total: 4_560_000 });
    expect(body.data.lines[9_999]).toMatchObject({ base: 22800, amount: 456, saleDate: '2026-02-28' });
    await copyAccount(id, 1);
    const refused = await calculate({ employeeId, period: '2026-02' });
    expect(wrongFields(refused)).toEqual(['period']);
    expect(refused.body.error.message).toContain('more than 10000 sales');
  });

  it.each(['0000-01', '1899-12', '3000-01'])('refuses the period %s', async (period) => {
    expect((await calculate({ employeeId: await newEmployee(), period })).status).toBe(400);
  });

  it('never changes what is paid, and asks for a new approval of what was approved', async () => {
    const employeeId = await newEmployee();
    const body = { employeeId, period: '2026-07', salesData: [{ productId: 1 }] };
    const { id } = (await calculate(body)).body.data;
    const move = (status: string) => service.call('PUT', `/commissions/payments/${id}`, { status });
    const skipped = await move('paid');
    expect(skipped.body.error.details).toEqual({ from: 'calculated', to: 'paid', allowed: ['approved'] });
    expect((await move('approved')).status).toBe(200);
    expect((await calculate(body)).body.data.status).toBe('calculated');
    await move('approved');
    expect((await move('paid')).body.data).toMatchObject({ status: 'paid', paidAt: expect.any(String) });
    const again = await calculate(body);
    expect(again.status).toBe(409);
    expect(again.body.error.code).toBe('DUPLICATE_ENTRY');
  });

  it('names every sale that is wrong, and what does not exist', async () => {
    const employeeId = await newEmployee();
    const salesData = [
      { amount: 5 },
      { accountId: 1, productId: 1 },
      { productId: 1, saleDate: '2026-09-01' },
    ];
    const { status, body } = await calculate({ employeeId, period: '2026-08', salesData });
    expect(status).toBe(400);
    expect(body.error.details.fields.map((field: { path: string }) => field.path)).toEqual([
      'salesData[0]',
      'salesData[1]',
      'salesData[2].saleDate',
    ]);
    expect((await calculate({ employeeId: 999999, period: '2026-08' })).body.error.details).toMatchObject({
      resource: 'employee',
      field: 'employeeId',
    });
    const unknown = await calculate({ employeeId, period: '2026-08', salesData: [{ accountId: 999999 }] });
    expect(unknown.body.error.details.field).toBe('salesData[0].accountId');
    for (const period of ['2026-13', '2026-1', '202601', '']) {
      expect((await calculate({ employeeId, period })).status).toBe(400);
    }
  });
});

describe('GET /commissions/payments', () => {
  it('filters by employee and period', async () => {
    const employeeId = await newEmployee();
    await calculate({ employeeId, period: '2025-01' });
    await calculate({ employeeId, period: '2025-02' });
    const all = await service.call('GET', `/commissions/payments?employeeId=${employeeId}`);
    expect(all.body.pagination.total).toBe(2);
    const one = await service.call('GET', `/commissions/payments?employeeId=${employeeId}&period=2025-02`);
    expect(one.body.data).toMatchObject([{ period: '2025-02', total: 0, lines: [] }]);
  });

  it.each(['period=2026-13', 'period=202601', 'period=2026-1', 'employeeId=me'])(
    'refuses %s by name',
    async (query) => {
      const answer = await service.call('GET', `/commissions/payments?${query}`);
      expect(wrongFields(answer)).toEqual([query.split('=', 1)[0]]);
    },
  );
});

describe('commission rules', () => {
  it('are added one after the other when many come at once', async () => {
    const rules = await Promise.all(
      [1, 2, 3, 4].map((rateBasisPoints) =>
        service.call('POST', '/commissions/rules', { category: 'radio', rateBasisPoints }),
      ),
    );
    expect(rules.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(rules.map(({ body }) => body.data.version).sort()).toEqual([1, 2, 3, 4]);
    const defaults = await service.call('GET', '/commissions/rules?filter[category][isnull]=true');
    expect(defaults.body.data).toMatchObject([{ category: null, version: 1 }]);
  });

  it('are versions: the newest counts, earlier results keep theirs', async () => {
    const employeeId = await newEmployee();
    const lamp = { employeeId, period: '2024-01', salesData: [{ productId: 5 }] };
    const before = (await calculate(lamp)).body.data;
    const rule = await service.call('POST', '/commissions/rules', {
      category: 'lamp',
      rateBasisPoints: 10_000,
    });
    expect(rule.status).toBe(201);
    expect(rule.body.data).toMatchObject({ category: 'lamp', version: 1, rateBasisPoints: 10_000 });
    const kept = await service.call('GET', `/commissions/payments?employeeId=${employeeId}`);
    expect(kept.body.data[0].total).toBe(before.total);
    expect((await calculate(lamp)).body.data.total).toBe(2400);
    expect((await service.call('POST', '/commissions/rules', { rateBasisPoints: 10_001 })).status).toBe(400);
  });
});

describe('an agent', () => {
  /** The token of an agent who sells as an employee, or as none. */
  async function agentOf(employeeId: number | null): Promise<string> {
    const email = `agent.${employeeId ?? 'alone'}@example.com`;
    const names = { firstName: 'Field', lastName: 'Agent' };
    const user = { email, password: PASSWORD, ...names, role: 'agent', employeeId };
    expect((await service.call('POST', '/users', user)).status).toBe(201);
    const signedIn = await service.call('POST', '/auth/login', { email, password: PASSWORD });
    return signedIn.body.data.accessToken;
  }

  async function newCommission(employeeId: number, period = '2026-03') {
    return (await calculate({ employeeId, period, salesData: [{ productId: 1 }] })).body.data;
  }

  it('sees the commissions of their own employee, in the list and one by one', async () => {
    const [own, other] = [await newEmployee(), await newEmployee()];
    const [march, april] = [await newCommission(own), await newCommission(own, '2026-04')];
    const foreign = await newCommission(other);
    const token = await agentOf(own);

    const list = await service.call('GET', '/commissions/payments?sort=period:asc', undefined, { token });
    expect(list.body).toMatchObject({ data: [march, april], pagination: { total: 2 } });
    const one = await service.call('GET', `/commissions/payments/${march.id}`, undefined, { token });
    expect(one.body.data).toEqual(march);

    for (const query of [`employeeId=${other}`, `filter[employeeId]=${other}`, `filter[id]=${foreign.id}`]) {
      const asked = await service.call('GET', `/commissions/payments?${query}`, undefined, { token });
      expect(asked.body, query).toMatchObject({ data: [], pagination: { total: 0 } });
    }
    const hidden = await service.call('GET', `/commissions/payments/${foreign.id}`, undefined, { token });
    expect(hidden.status).toBe(404);
    expect((await service.call('GET', `/commissions/payments/${foreign.id}`)).body.data).toEqual(foreign);
  });

  it('who sells as no employee sees none', async () => {
    const { id } = await newCommission(await newEmployee());
    const token = await agentOf(null);
    const list = await service.call('GET', '/commissions/payments', undefined, { token });
    expect(list.body).toMatchObject({ data: [], pagination: { total: 0 } });
    const one = await service.call('GET', `/commissions/payments/${id}`, undefined, { token });
    expect(one.status).toBe(404);
  });
});
