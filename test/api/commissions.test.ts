import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { findUnclaimedSalesOfMonth } from '../../src/commissions/store.ts';
import { readMonthOfEmployee } from '../../src/commissions/view.ts';
import { dataOf, newAccount, PASSWORD, setToday, useService, wrongFields } from '../support/harness.ts';

const service = useService();
const TODAY = '2026-11-28';
beforeAll(() => setToday(service, TODAY));

async function newEmployee(): Promise<number> {
  return (await service.call('POST', '/employees', { name: 'Seller' })).body.data.id;
}

/** Copies the row of an account, without its ledger entries. */
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

  it('takes the price at the end of the month, so that a later change of the price does not change it', async () => {
    const employeeId = await newEmployee();
    setToday(service, '2026-10-20');
    const { id } = await newAccount(service, { employeeId, activationDate: '2026-10-20' });
    const correct = async (version: number) => {
      const body = { kind: 'price_correction', amount: 1_800, reason: 'a test', confirm: { version } };
      await dataOf(service.call('POST', `/accounts/${id}/plan-changes`, body), 201);
    };
    await correct(0);
    setToday(service, '2026-11-01');
    await correct(1);
    setToday(service, TODAY);
    const month = { employeeId, period: '2026-10' };
    expect((await calculate(month)).body.data.lines).toMatchObject([{ accountId: id, base: 21_000 }]);
    const { body } = await calculate({ ...month, salesData: [{ accountId: id }] });
    expect(body.data.lines).toMatchObject([{ accountId: id, base: 21_000 }]);
  });

  it('accepts sales with an amount, the account’s total, or price times quantity, and rounds half up', async () => {
    const employeeId = await newEmployee();
    const account = await newAccount(service, { activationDate: '2026-05-31' });
    const salesData = [
      { productId: 1, amount: 0.25, saleDate: '2026-05-09' },
      { productId: 5, quantity: 3 },
      { accountId: account.id },
    ];
    const { body } = await calculate({ employeeId, period: '2026-05', salesData });
    // 2 % of 0.25 is half a cent
    expect(body.data.lines.map((line: { amount: number }) => line.amount)).toEqual([0.01, 144, 456]);
    expect(body.data.total).toBe(600.01);
    expect(body.data.lines).toMatchObject([
      { saleDate: '2026-05-09', accountStatus: null, shareBasisPoints: 10_000 },
      { saleDate: null },
      { saleDate: '2026-05-31', accountStatus: 'active', shareBasisPoints: 10_000 },
    ]);
  });

  it('replaces the earlier calculation, with the same result for the same input', async () => {
    const employeeId = await newEmployee();
    const body = { employeeId, period: '2026-06', salesData: [{ productId: 1 }] };
    const first = (await calculate(body)).body.data;
    const second = (await calculate(body)).body.data;
    expect({ ...second, updatedAt: '' }).toEqual({ ...first, updatedAt: '' });
    const other = (await calculate({ ...body, salesData: [{ productId: 2 }] })).body.data;
    expect(other.id).toBe(first.id);
    expect(other.lines).toHaveLength(1);
  });

  it('refuses a sale above the largest amount', async () => {
    const employeeId = await newEmployee();
    const dear = { sku: 'DEAR', name: 'Dear', category: 'lamp', price: 999_999_999_999.99 };
    const { id: productId } = (await service.call('POST', '/products', dear)).body.data;
    const huge = await calculate({
      employeeId,
      period: '2026-05',
      salesData: [{ productId, quantity: 10_000 }],
    });
    expect(huge.status).toBe(400);
  });

  it('accepts 10,000 sales of a period, and refuses more', async () => {
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
    expect(refused.body.error.message).toContain('at most 10000 sales');
  });

  it.each(['0000-01', '1899-12', '3000-01'])('refuses the period %s', async (period) => {
    expect((await calculate({ employeeId: await newEmployee(), period })).status).toBe(400);
  });

  it('never changes a paid commission, and requires a new approval of an approved one', async () => {
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
    expect(again.body.error).toMatchObject({
      code: 'DUPLICATE_ENTRY',
      details: { resource: 'commission', field: 'period', id },
    });
  });

  it('refuses a month in the future', async () => {
    const employeeId = await newEmployee();
    const refused = await calculate({ employeeId, period: '2026-12', salesData: [{ productId: 1 }] });
    expect(wrongFields(refused)).toEqual(['period']);
    expect(refused.body.error.details.fields[0].message).toContain('must not be after 2026-11');
  });

  it('names every wrong sale, and unknown ids', async () => {
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

describe('the commission of an account', () => {
  /** Calculates a commission and expects success. */
  async function calculated(body: object) {
    const { status, text, body: answer } = await calculate(body);
    expect(status, text).toBe(200);
    return answer.data;
  }
  const paidOut = async (id: number) => {
    for (const status of ['approved', 'paid']) {
      const answer = await service.call('PUT', `/commissions/payments/${id}`, { status });
      expect(answer.status, answer.text).toBe(200);
    }
  };
  const sharesOf = (commission: {
    lines: { accountId: number; shareBasisPoints: number; amount: number }[];
  }) =>
    commission.lines.map(({ accountId, shareBasisPoints, amount }) => [accountId, shareBasisPoints, amount]);

  it('is earned once, for any month and employee', async () => {
    const [seller, other] = [await newEmployee(), await newEmployee()];
    const { id: accountId } = await newAccount(service, { activationDate: '2025-05-20' });
    const first = await calculated({ employeeId: seller, period: '2025-05', salesData: [{ accountId }] });
    const june = { period: '2025-06', salesData: [{ accountId, saleDate: '2025-06-01' }] };
    for (const employeeId of [seller, other]) {
      const refused = await calculate({ employeeId, ...june });
      expect(refused.status).toBe(409);
      expect(refused.body.error).toMatchObject({
        code: 'DUPLICATE_ENTRY',
        details: { resource: 'commission', field: 'salesData[0].accountId', id: first.id },
      });
    }
    await paidOut(first.id);
    expect((await calculate({ employeeId: other, ...june })).status).toBe(409);
    const list = await service.call('GET', `/commissions/payments?employeeId=${other}`);
    expect(list.body.data).toEqual([]);
  });

  it('is split in requested shares, never above the whole sale or its commission', async () => {
    const employees = [await newEmployee(), await newEmployee(), await newEmployee()];
    const { id: accountId } = await newAccount(service, { activationDate: '2025-05-20' });
    const share = (employeeId: number | undefined, shareBasisPoints: number) =>
      calculate({
        employeeId,
        period: '2025-05',
        // 2 % of 0.75 are 0.02 when rounded, and its halves a cent each.
        salesData: [{ accountId, amount: 0.75, shareBasisPoints }],
      });
    expect(sharesOf((await share(employees[0], 5_000)).body.data)).toEqual([[accountId, 5_000, 0.01]]);
    expect(sharesOf((await share(employees[1], 2_500)).body.data)).toEqual([[accountId, 2_500, 0]]);
    const tooMuch = await share(employees[2], 2_501);
    expect(tooMuch.status).toBe(409);
    expect(tooMuch.body.error.message).toContain('7500 of 10000 basis points');
    expect((await share(employees[2], 2_500)).status).toBe(200);
    for (const shareBasisPoints of [0, 10_001, 0.5])
      expect(wrongFields(await share(employees[2], shareBasisPoints))).toEqual([
        'salesData[0].shareBasisPoints',
      ]);
  });

  it('requires a date in the period when the account was activated in another month', async () => {
    const employeeId = await newEmployee();
    const { id: accountId } = await newAccount(service, { activationDate: '2025-05-20' });
    const june = { employeeId, period: '2025-06', salesData: [{ accountId }] };
    expect(wrongFields(await calculate(june))).toEqual(['salesData[0].saleDate']);
  });

  it('goes to its seller, except for shares of other commissions', async () => {
    const [seller, helper] = [await newEmployee(), await newEmployee()];
    const accounts = [];
    for (let n = 0; n < 3; n += 1)
      accounts.push(await newAccount(service, { employeeId: seller, activationDate: '2025-07-01' }));
    const [alone, shared, given] = accounts.map(({ id }) => id);
    const july = { period: '2025-07' };
    await calculated({
      employeeId: helper,
      ...july,
      salesData: [{ accountId: shared, shareBasisPoints: 3_000 }, { accountId: given }],
    });
    expect(sharesOf(await calculated({ employeeId: seller, ...july }))).toEqual([
      [alone, 10_000, 456],
      [shared, 7_000, 319.2],
    ]);
    // A share that is no longer requested is free again.
    await calculated({ employeeId: helper, ...july, salesData: [{ productId: 1 }] });
    expect(sharesOf(await calculated({ employeeId: seller, ...july }))).toEqual(
      [alone, shared, given].map((id) => [id, 10_000, 456]),
    );
  });

  it('goes to one of two employees in concurrent calculations', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [await newEmployee(), await newEmployee()];
      const { id: accountId } = await newAccount(service, { activationDate: '2025-05-20' });
      const answers = await Promise.all(
        [one, two].map((employeeId) =>
          calculate({ employeeId, period: '2025-05', salesData: [{ accountId }] }),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    }
  });

  it('is limited by the database to the whole sale', async () => {
    const [one, two] = [await newEmployee(), await newEmployee()];
    const { id: accountId } = await newAccount(service, { activationDate: '2025-05-20' });
    await calculated({ employeeId: one, period: '2025-05', salesData: [{ accountId }] });
    const { id } = await calculated({ employeeId: two, period: '2025-05', salesData: [{ productId: 1 }] });
    await expect(
      sql`insert into commission_lines (commission_id, line_number, account_id, quantity, base_minor, rate_basis_points,
          share_basis_points, amount_minor)
        values (${id}, 2, ${accountId}, 1, 1, 1, 1, 1)`.execute(service.context.db),
    ).rejects.toThrow('commission_sales_shared_once');
    await expect(
      sql`update commission_lines set share_basis_points = 1 where account_id = ${accountId}`.execute(
        service.context.db,
      ),
    ).rejects.toThrow('added, never edited');
  });

  it('is not paid after the account was cancelled, until it is calculated again', async () => {
    const employeeId = await newEmployee();
    const kept = await newAccount(service, { employeeId, activationDate: '2025-08-01' });
    const undone = await newAccount(service, { employeeId, activationDate: '2025-08-01' });
    const august = { employeeId, period: '2025-08' };
    const { id } = await calculated(august);
    const become = (status: string) => service.call('PUT', `/commissions/payments/${id}`, { status });
    expect((await become('approved')).status).toBe(200);
    await service.call('PUT', `/accounts/${undone.id}`, { status: 'cancelled', reason: 'returned' });
    const refused = await become('paid');
    expect(wrongFields(refused)).toEqual(['status']);
    expect(refused.body.error.message).toContain(`accounts were cancelled (${undone.id})`);
    expect((await calculated(august)).lines).toMatchObject([{ accountId: kept.id }]);
    await paidOut(id);
  });

  it('stays paid when the account is cancelled afterwards, and shows the status', async () => {
    const [employeeId, other] = [await newEmployee(), await newEmployee()];
    const { id: accountId } = await newAccount(service, { employeeId, activationDate: '2025-09-01' });
    const { id, total } = await calculated({ employeeId, period: '2025-09' });
    await paidOut(id);
    await service.call('PUT', `/accounts/${accountId}`, { status: 'cancelled', reason: 'returned' });
    const { body } = await service.call('GET', `/commissions/payments/${id}`);
    expect(body.data).toMatchObject({
      ...{ id, status: 'paid', total },
      lines: [{ accountId, accountStatus: 'cancelled', amount: total }],
    });
    const salesData = [{ accountId, saleDate: '2025-10-01' }];
    expect((await calculate({ employeeId: other, period: '2025-10', salesData })).status).toBe(400);
  });
});

describe('a sale without commission', () => {
  async function calculated(body: object) {
    const { status, text, body: answer } = await calculate(body);
    expect(status, text).toBe(200);
    return answer.data;
  }
  const become = (id: number, status: string, more = {}) =>
    service.call('PUT', `/commissions/payments/${id}`, { status, ...more });
  const accountsOf = ({ lines }: { lines: { accountId: number }[] }) =>
    lines.map(({ accountId }) => accountId);
  const unclaimedOf = async (employeeId: number) =>
    (await service.call('GET', `/commissions/unclaimed-sales?filter[employeeId]=${employeeId}`)).body.data;

  it('enters a later month when it is named, beside the sales of that month', async () => {
    const employeeId = await newEmployee();
    const sold = (activationDate: string) => newAccount(service, { employeeId, activationDate });
    await sold('2025-03-10');
    const { id, leftOut } = await calculated({ employeeId, period: '2025-03' });
    expect(leftOut).toEqual({ inPeriod: 0, earlier: 0, sales: [] });
    for (const status of ['approved', 'paid']) expect((await become(id, status)).status).toBe(200);
    const late = await sold('2025-03-20');
    const april = await sold('2025-04-05');
    const refused = await calculate({ employeeId, period: '2025-03', salesData: [{ accountId: late.id }] });
    expect(refused.status).toBe(409);
    expect(refused.body.error.message).toContain('name them in the commission of a later month');

    const unclaimed = {
      ...{ id: late.id, accountNumber: late.accountNumber, accountStatus: 'active', employeeId },
      ...{ productId: 1, activationDate: '2025-03-20', total: 22_800, currency: 'KES' },
      ...{ freeShareBasisPoints: 10_000, createdAt: late.createdAt },
    };
    const paid = await service.call('GET', `/commissions/payments/${id}`);
    expect(paid.body.data.leftOut).toEqual({ inPeriod: 1, earlier: 0, sales: [unclaimed] });
    const body = { employeeId, period: '2025-04' };
    const derived = await calculated(body);
    expect(accountsOf(derived)).toEqual([april.id]);
    expect(derived.leftOut).toEqual({ inPeriod: 0, earlier: 1, sales: [unclaimed] });
    expect(await unclaimedOf(employeeId)).toEqual([unclaimed]);

    // Sales of the request replace the derived sales.
    const salesData = [{ accountId: late.id, saleDate: '2025-04-01' }];
    const replaced = await calculated({ ...body, salesData });
    expect(accountsOf(replaced)).toEqual([late.id]);
    expect(replaced.leftOut).toMatchObject({ inPeriod: 1, earlier: 0, sales: [{ id: april.id }] });
    for (const saleDate of ['2025-04-01', undefined]) {
      const both = await calculated({
        ...body,
        includeDerived: true,
        salesData: [{ accountId: late.id, ...(saleDate && { saleDate }) }],
      });
      expect(both.lines).toMatchObject([
        { accountId: april.id, amount: 456 },
        { accountId: late.id, amount: 456, saleDate: saleDate ?? '2025-03-20' },
      ]);
      expect(both).toMatchObject({ total: 912, leftOut: { inPeriod: 0, earlier: 0, sales: [] } });
    }
    const half = await calculated({
      ...body,
      includeDerived: true,
      salesData: [{ accountId: late.id, shareBasisPoints: 5_000 }],
    });
    expect(half.total).toBe(684);
    const again = await calculated({ ...body, includeDerived: true });
    expect(new Set(again.lines), 'the earlier sale stays, with its share').toEqual(new Set(half.lines));
    expect(accountsOf(await calculated(body))).toEqual([april.id]);
    await calculated({ ...body, includeDerived: true, salesData: [{ accountId: late.id }] });
    expect(await unclaimedOf(employeeId)).toEqual([]);
  });

  it('is named when its month was calculated before it was entered, also when the commission is approved', async () => {
    const employeeId = await newEmployee();
    const { id } = await calculated({ employeeId, period: '2025-02' });
    const late = await newAccount(service, { employeeId, activationDate: '2025-02-28' });
    const approved = await become(id, 'approved');
    expect(approved.body.data.leftOut).toMatchObject({ inPeriod: 1, sales: [{ id: late.id }] });
  });

  it('can be a part of a sale', async () => {
    const [seller, helper] = [await newEmployee(), await newEmployee()];
    const { id: accountId } = await newAccount(service, { employeeId: seller, activationDate: '2025-03-01' });
    const shares = [{ accountId, shareBasisPoints: 3_000 }];
    const helped = await calculated({ employeeId: helper, period: '2025-03', salesData: shares });
    expect(helped.leftOut.sales).toEqual([]);
    expect(await unclaimedOf(seller)).toMatchObject([{ id: accountId, freeShareBasisPoints: 7_000 }]);
    await calculated({ employeeId: seller, period: '2025-03' });
    expect(await unclaimedOf(seller)).toEqual([]);
  });

  it('is not a pending or cancelled account, or one that a commission has', async () => {
    const employeeId = await newEmployee();
    await newAccount(service, { employeeId, activationDate: '2999-12-31' });
    const cancelled = await newAccount(service, { employeeId, activationDate: '2025-03-01' });
    await service.call('PUT', `/accounts/${cancelled.id}`, { status: 'cancelled', reason: 'returned' });
    expect(await unclaimedOf(employeeId)).toEqual([]);
    const nobody = await newAccount(service);
    const { body } = await service.call(
      'GET',
      '/commissions/unclaimed-sales?filter[employeeId][isnull]=true&limit=100',
    );
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual(
      nobody.employeeId === null ? expect.arrayContaining([nobody.id]) : [],
    );
  });

  it('is counted once if it is derived and named, with the named share', async () => {
    const employeeId = await newEmployee();
    const { id: accountId } = await newAccount(service, { employeeId, activationDate: '2025-03-01' });
    const salesData = [{ accountId, shareBasisPoints: 4_000 }, { productId: 1 }];
    const { lines, leftOut } = await calculated({
      employeeId,
      period: '2025-03',
      salesData,
      includeDerived: true,
    });
    expect(lines).toMatchObject([
      { accountId, shareBasisPoints: 4_000 },
      { accountId: null, productId: 1 },
    ]);
    expect(leftOut.sales).toMatchObject([{ id: accountId, freeShareBasisPoints: 6_000 }]);
  });

  it('is not taken from a later month, or without sales', async () => {
    const employeeId = await newEmployee();
    const { id: accountId } = await newAccount(service, { employeeId, activationDate: '2025-04-01' });
    const march = { employeeId, period: '2025-03' };
    const later = await calculate({ ...march, includeDerived: true, salesData: [{ accountId }] });
    expect(wrongFields(later)).toEqual(['salesData[0].saleDate']);
    expect(wrongFields(await calculate({ ...march, includeDerived: false }))).toEqual(['salesData']);
  });

  it('can follow in a month that has not ended, whose payment has to be confirmed', async () => {
    setToday(service, '2025-11-30');
    const employeeId = await newEmployee();
    const { id } = await calculated({ employeeId, period: '2025-11', salesData: [{ productId: 1 }] });
    await become(id, 'approved');
    for (const more of [{}, { confirmation: { codes: [] } }]) {
      const early = await become(id, 'paid', more);
      expect(early.status).toBe(409);
      expect(early.body.error).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: {
          fields: [{ path: 'confirmation', message: 'must name the codes month_not_ended' }],
          warnings: [{ code: 'month_not_ended' }],
        },
      });
    }
    const confirmed = await become(id, 'paid', { confirmation: { codes: ['month_not_ended'] } });
    expect(confirmed.body.data.status).toBe('paid');
    const other = await calculated({ employeeId: await newEmployee(), period: '2025-11' });
    await become(other.id, 'approved');
    setToday(service, '2025-12-01');
    expect((await become(other.id, 'paid')).status).toBe(200);
    setToday(service, TODAY);
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
    expect(one.body.data).toMatchObject([{ period: '2025-02', total: 0 }]);
  });

  it('lists commissions without their lines', async () => {
    const employeeId = await newEmployee();
    const calculated = (await calculate({ employeeId, period: '2025-03', salesData: [{ productId: 5 }] }))
      .body.data;
    expect(calculated.lines).toHaveLength(1);
    const list = await service.call('GET', `/commissions/payments?employeeId=${employeeId}`);
    const { lines: _lines, leftOut: _leftOut, ...summary } = calculated;
    expect(list.body.data).toEqual([summary]);
    const single = await service.call('GET', `/commissions/payments/${calculated.id}`);
    expect(single.body.data).toEqual(calculated);
    expect((await service.call('GET', '/commissions/payments/999999')).status).toBe(404);
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
  it('get consecutive versions in concurrent requests', async () => {
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

  it('have versions: the newest applies, and earlier results keep theirs', async () => {
    const employeeId = await newEmployee();
    const product = { sku: 'FAN-1', name: 'Fan', category: 'fan', price: 2400 };
    const { id: productId } = await dataOf(service.call('POST', '/products', product), 201);
    const fan = { employeeId, period: '2024-01', salesData: [{ productId }] };
    const before = (await calculate(fan)).body.data;
    const rule = await service.call('POST', '/commissions/rules', {
      category: 'fan',
      rateBasisPoints: 10_000,
    });
    expect(rule.status).toBe(201);
    expect(rule.body.data).toMatchObject({ category: 'fan', version: 1, rateBasisPoints: 10_000 });
    const kept = await service.call('GET', `/commissions/payments?employeeId=${employeeId}`);
    expect(kept.body.data[0].total).toBe(before.total);
    expect((await calculate(fan)).body.data.total).toBe(2400);
    expect((await service.call('POST', '/commissions/rules', { rateBasisPoints: 10_001 })).status).toBe(400);
  });

  it('apply to a category with or without blanks at its ends, and the newest rule wins', async () => {
    const employeeId = await newEmployee();
    const product = { sku: 'KETTLE-1', name: 'Kettle', category: 'kettle ', price: 1000 };
    const { id: productId } = await dataOf(service.call('POST', '/products', product), 201);
    const total = async () =>
      (await calculate({ employeeId, period: '2024-01', salesData: [{ productId }] })).body.data.total;
    // Earlier versions stored the blanks.
    await sql`insert into commission_rules (category, version, rate_basis_points) values ('kettle ', 1, 1000)`.execute(
      service.context.db,
    );
    expect(await total()).toBe(100);
    const added = { category: ' kettle ', rateBasisPoints: 2_000 };
    const rule = await dataOf(service.call('POST', '/commissions/rules', added), 201);
    expect(rule.category).toBe('kettle');
    expect(await total()).toBe(200);
    await sql`update products set category = ' kettle' where id = ${productId}`.execute(service.context.db);
    expect(await total()).toBe(200);
  });
});

describe('the sales of a month that no commission has', () => {
  it('are read as one row for all sales that earn the same, so that no limit leaves any out', async () => {
    const employee = await dataOf(
      service.call('POST', '/employees', { name: 'Zuberi', phone: '+254700000077' }),
      201,
    );
    const days = ['2026-10-05', '2026-10-06', '2026-10-31', '2026-11-01'];
    for (const activationDate of days) await newAccount(service, { employeeId: employee.id, activationDate });
    const { db, currency } = service.context;
    expect(await findUnclaimedSalesOfMonth(db, employee.id, '2026-10')).toMatchObject([
      { count: 3, free_share: 10_000 },
    ]);
    const body = { employeeId: employee.id, period: '2026-10', includeDerived: true, salesData: [] };
    const { unclaimed } = await readMonthOfEmployee(db, employee.id, '2026-10', currency);
    const { total } = await dataOf(service.call('POST', '/commissions/calculate', body));
    expect(unclaimed).toEqual({ count: 3, expected: total });
  });
});

describe('an agent', () => {
  /** The token of an agent with or without an employee. */
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

  it('sees only the commissions of their own employee, in the list and by id', async () => {
    const [own, other] = [await newEmployee(), await newEmployee()];
    const [march, april] = [await newCommission(own), await newCommission(own, '2026-04')];
    const foreign = await newCommission(other);
    const token = await agentOf(own);

    const list = await service.call('GET', '/commissions/payments?sort=period:asc', undefined, { token });
    const listed = [march, april].map(({ lines: _lines, leftOut: _leftOut, ...summary }) => summary);
    expect(list.body).toMatchObject({ data: listed, pagination: { total: 2 } });
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

  it('sees only the sales without commission of their own employee', async () => {
    const [own, other] = [await newEmployee(), await newEmployee()];
    const token = await agentOf(own);
    const sale = await newAccount(service, { employeeId: own, activationDate: '2025-03-01' });
    await newAccount(service, { employeeId: other, activationDate: '2025-03-01' });
    const sales = await service.call('GET', '/commissions/unclaimed-sales', undefined, { token });
    expect(sales.body).toMatchObject({ data: [{ id: sale.id }], pagination: { total: 1 } });
  });

  it('sees none without an employee', async () => {
    const { id } = await newCommission(await newEmployee());
    const token = await agentOf(null);
    for (const path of ['payments', 'unclaimed-sales']) {
      const list = await service.call('GET', `/commissions/${path}`, undefined, { token });
      expect(list.body).toMatchObject({ data: [], pagination: { total: 0 } });
    }
    const one = await service.call('GET', `/commissions/payments/${id}`, undefined, { token });
    expect(one.status).toBe(404);
  });
});
