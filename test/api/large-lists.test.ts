import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { today } from '../../src/core/context.ts';
import {
  newAccount,
  newCustomer,
  pay,
  reverse,
  setToday,
  statementsOf,
  useService,
} from '../support/harness.ts';

/** Lists of large tables. */
const service = useService();

const ROWS = 50_000;
const TODAY = '2026-06-15';

describe('a list of 50,000 accounts', () => {
  beforeAll(async () => {
    setToday(service, TODAY);
    const { db } = service.context;
    const { customerId } = await newAccount(service);
    await sql`
      insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
        instalment_minor, instalment_count, frequency, grace_days, receivable_minor, paid_minor, created_at)
      select ${customerId}, 1, 2, ${TODAY}::date + 13 - (n / 100 % 55),
        (case when n % 50 = 0 then 'pending' else 'active' end)::account_status,
        0, 1000, 100, 'weekly', 7, 100000,
        case when n % 10 <> 0 then 0 else 100000 end,
        now() - make_interval(mins => n)
      from generate_series(1, ${ROWS}) as n`.execute(db);
    await sql`vacuum analyze accounts`.execute(db);
  });

  it('answers the exact total, small or large', async () => {
    const totalOf = async (query: string) =>
      (await service.call('GET', `/accounts?${query}`)).body.pagination.total;
    const counted = sql<{ all: number; pending: number; suspended: number }>`
      select count(*)::int as all, (count(*) filter (where status = 'pending'))::int as pending,
        (count(*) filter (where status = 'suspended'))::int as suspended from accounts`;
    const { rows } = await counted.execute(service.context.db);
    const [{ all, pending, suspended } = expect.fail()] = rows;
    expect(all).toBeGreaterThan(ROWS);
    expect(pending).toBeGreaterThanOrEqual(ROWS / 50);
    expect(await totalOf('')).toBe(all);
    expect(await totalOf('page=2000')).toBe(all);
    expect(await totalOf('status=pending')).toBe(pending);
    expect(await totalOf('filter[status]=pending&sort=id:asc')).toBe(pending);
    expect(await totalOf('status=suspended')).toBe(suspended);
  });

  it.each(['createdAt:desc', 'createdAt:asc', 'id:asc'])(
    'reads an index from a cursor on, sorted by %s',
    async (sort) => {
      const { pagination } = (await service.call('GET', `/accounts?sort=${sort}&after=`)).body;
      const next = `/accounts?sort=${sort}&after=${pagination.nextCursor}`;
      const statements = await statementsOf(() => service.call('GET', next));
      const page = statements.find(({ text }) => text.includes('from accounts a'));
      const { rows } = await service.parts.pool.query(`explain ${page?.text}`, page?.values ?? []);
      const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Index Cond: \((ROW\()?(created_at, id\) [<>] ROW\(|id >)/);
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    },
  );

  it('filters by the days past due that its rows show', async () => {
    const customer = await newCustomer(service);
    for (const [days, status] of [
      [-3, 'active'],
      [0, 'active'],
      [1, 'active'],
      [30, 'active'],
      [31, 'active'],
      [31, 'pending'],
      [400, 'active'],
      [null, 'cancelled'],
    ] as const) {
      const { id } = await newAccount(service, { customerId: customer.id });
      await sql`
        update accounts set status = ${status}, activation_date = ${today(service.context)}::date - ${days ?? 0}::integer
        where id = ${id}`.execute(service.context.db);
    }
    // The figures that the rows show, by the formula of `position` in schedule/rules.ts.
    const shown = [0, 0, 1, 30, 31, 0, 400, 0];
    const operators: Record<string, (a: number, b: number) => boolean> = {
      eq: (a, b) => a === b,
      ne: (a, b) => a !== b,
      gt: (a, b) => a > b,
      gte: (a, b) => a >= b,
      lt: (a, b) => a < b,
      lte: (a, b) => a <= b,
    };
    for (const value of [-9_007_199_254_740_991, -1, 0, 1, 30, 31, 400, 9_007_199_254_740_991]) {
      for (const [operator, holds] of Object.entries(operators)) {
        const query = `customerId=${customer.id}&filter[daysPastDue][${operator}]=${value}`;
        const answer = await service.call('GET', `/accounts?${query}`);
        const expected = shown.filter((days) => holds(days, value)).length;
        expect(answer.body.pagination.total, query).toBe(expected);
      }
    }
  });
});

describe('a filter by transaction reference', () => {
  it('finds a payment in any spelling of its reference, also after a reversal', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 10, { transactionRef: 'Other' });
    const paid = await pay(service, id, 10, { transactionRef: 'Spelt So' });
    const found = async (reference: string) =>
      (
        await service.call('GET', `/payments?filter[transactionRef]=${encodeURIComponent(reference)}`)
      ).body.data.map((row: { id: number }) => row.id);
    expect(await found('Spelt So')).toEqual([paid.id]);
    expect(await found('SPELTSO')).toEqual([paid.id]);
    await reverse(service, paid.id);
    expect(await found('Spelt So')).toEqual([paid.id]);
    const others = await service.call('GET', '/payments?filter[transactionRef][nin]=Spelt So&limit=1');
    expect(others.body.pagination.total).toBe(1);
  });
});
