import { type RawBuilder, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/core/database/transactions.ts';
import { fetchPage, type ListSource } from '../../src/core/lists/page.ts';
import type { ListPlan } from '../../src/core/lists/query.ts';
import { listCustomers } from '../../src/customers/store.ts';
import { useService } from '../support/harness.ts';

/** How lists read their rows and totals from PostgreSQL. */
const service = useService();

const planOf = (page: number, limit: number): ListPlan => ({
  ...{ filters: [], isPlain: false, page, limit },
  order: [{ field: { name: 'n', kind: 'id', column: 'n' }, direction: 'asc' }],
});

const rowsOf = <Row>(select: RawBuilder<Row>) => ({ select, from: sql`from (select 1 as n) as t` });

describe('rows that come as JSON', () => {
  const SELECT = sql<Record<string, unknown>>`
    select t.* from (values
      (1, 9007199254740991::bigint, -1::int4, 2::int2, true, E'a "quoted" \\\\ line\\nand\\ttab \u00e9 \U0001f600 </script>'::text,
        'x'::varchar, '2026-02-28'::date, '2026-02-28 23:59:59.999999+00'::timestamptz, 'active'::account_status,
        '{"a": [1, null, {"b": "c"}], "n": 1.5}'::jsonb, '{"z": 1}'::json, array['a', null, 'c,"d"']::text[], null::bigint,
        null::timestamptz, '\\x00ff'::bytea, array[1, -2], array[9007199254740991, 0]::bigint[], array['2026-02-28']::date[]),
      (2, -9007199254740991, 0, -32768, false, '', '', '0001-01-01', '1969-12-31 23:59:59.5+00', 'written_off',
        'null', '[]', '{}', 0, '2026-11-22 01:02:03.1+00', '',
        null, null, null)
    ) as t(n, int8, int4, int2, bool, text, varchar, date, moment, status, jsonb, json, texts, nothing, later, bytes, ints, int8s, dates)`;

  it.each(['UTC', 'Asia/Kolkata'])('equal the values of their columns, in a session of %s', async (zone) => {
    await inTransaction(service.context.db, async (tx) => {
      await sql.raw(`set local timezone = '${zone}'`).execute(tx);
      const columns = await SELECT.execute(tx);
      const page = await fetchPage(tx, planOf(1, 20), rowsOf(SELECT));
      expect(columns.rows).toHaveLength(2);
      expect(page.rows).toEqual(columns.rows);
      expect(page.rows[0]).toMatchObject({
        int8: 9_007_199_254_740_991,
        moment: '2026-02-28T23:59:59.999Z',
      });
    });
  });

  it('are the same on the connection that lists share', async () => {
    const { db } = service.context;
    const page = await fetchPage(db, planOf(1, 20), { ...rowsOf(SELECT), byKey: true });
    expect(page.rows).toEqual((await SELECT.execute(db)).rows);
  });

  it('are refused if a number is not exact', async () => {
    const select = sql`select * from (values (1, 9007199254740993::bigint)) as t(n, beyond)`;
    await expect(fetchPage(service.context.db, planOf(1, 20), rowsOf(select))).rejects.toThrow('beyond 2^53');
  });

  it.each(['1.5::numeric', '1.5::float8', "'{1}'::numeric[]", "'2026-11-22 01:02:03'::timestamp"])(
    'omit %s, which JSON would show differently',
    async (value) => {
      const select = sql`select * from (values (1, ${sql.raw(value)})) as t(n, amount)`;
      const { rows } = await fetchPage(service.context.db, planOf(1, 20), rowsOf(select));
      expect(rows).toEqual([{ n: 1, amount: undefined }]);
    },
  );

  it('work after a newer version has dropped or added a column', async () => {
    const { db } = service.context;
    await sql`create table changing as select 1 as n, 2::bigint as gone, 3::bigint as kept`.execute(db);
    try {
      const source = { select: sql`select t.* from changing t`, from: sql`from changing` };
      for (const way of [{}, { byKey: true }]) await fetchPage(db, planOf(1, 20), { ...source, ...way });
      await sql`alter table changing drop column gone, add column more numeric default 1.5`.execute(db);
      for (const way of [{}, { byKey: true }]) {
        const { rows } = await fetchPage(db, planOf(1, 20), { ...source, ...way });
        expect(rows).toMatchObject([{ n: 1, kept: 3 }]);
      }
    } finally {
      await sql`drop table changing`.execute(db);
    }
  });

  it('are read again once a dropped table exists again', async () => {
    const select = sql<{ n: number }>`select t.* from came_later t`;
    const source = { select, from: sql`from came_later` };
    const { db } = service.context;
    await expect(fetchPage(db, planOf(1, 20), source)).rejects.toThrow('does not exist');
    await sql`create table came_later as select 7 as n`.execute(db);
    expect(await fetchPage(db, planOf(1, 20), source)).toMatchObject({
      rows: [{ n: 7 }],
      pagination: { total: 1 },
    });
    await sql`drop table came_later`.execute(db);
  });
});

describe('the number of all rows', () => {
  const numbers = (most: number) => {
    const from = sql`from generate_series(1, ${sql.lit(most)}) as n`;
    return { select: sql<{ n: number }>`select n ${from}`, from };
  };
  const WAYS: Partial<ListSource<unknown>>[] = [{}, { byKey: true }, { inOrderOfIndex: true }];

  describe.each(WAYS)('%o', (way) => {
    it.each([
      [0, 1, 20, 0],
      [0, 3, 20, 0],
      [1, 1, 20, 1],
      [19, 1, 20, 19],
      [20, 1, 20, 20],
      [21, 1, 20, 20],
      [21, 2, 20, 1],
      [21, 3, 20, 0],
      [40, 2, 20, 20],
      [500, 1, 100, 100],
      [501, 1, 100, 100],
      [501, 6, 100, 1],
      [502, 7, 100, 0],
      [502, 2, 50, 50],
      [5_000, 1, 1, 1],
      [5_000, 30, 100, 100],
      [5_000, 50, 100, 100],
      [5_000, 51, 100, 0],
    ])('of %i, asked for page %i of %i', async (most, page, limit, length) => {
      const found = await fetchPage(service.context.db, planOf(page, limit), { ...numbers(most), ...way });
      expect(found.pagination).toMatchObject({ page, limit, total: most });
      const first = (page - 1) * limit + 1;
      expect(found.rows).toEqual(Array.from({ length }, (_, i) => ({ n: first + i })));
    });
  });

  it.each([
    [510, 650, 5, 650, { inOrderOfIndex: true }],
    [650, 510, 6, 600, { inOrderOfIndex: true }],
    [510, 650, 7, 600, { byKey: true }],
  ])(
    'agrees with the page if rows are added or deleted before a second statement counts: %i, then %i, page %i',
    async (page, count, number, total, way) => {
      const source = { select: numbers(page).select, from: numbers(count).from, ...way };
      expect((await fetchPage(service.context.db, planOf(number, 100), source)).pagination.total).toBe(total);
    },
  );
});

describe('a search of customers', () => {
  it('is planned for no word, and uses the index although it was first planned for an empty table', async () => {
    await inTransaction(service.context.db, async (tx) => {
      const plan: ListPlan = {
        ...{ filters: [], isPlain: true, page: 1, limit: 20 },
        order: [{ field: { name: 'id', kind: 'id', column: 'c.id' }, direction: 'desc' }],
      };
      const totalOf = async (...words: string[]) => (await listCustomers(tx, plan, words)).pagination.total;
      for (let n = 0; n < 10; n++) expect(await totalOf(`nobody${n}`)).toBe(0);
      await sql`
        insert into customers (first_name, last_name, phone, phone_sha256, search_text)
        select 'Grace', 'N' || n, '+254' || 700000000 + n, sha256(n::text::bytea), 'grace n' || n
        from generate_series(1, 10000) n`.execute(tx);
      // Autovacuum does both within a minute.
      await sql`select gin_clean_pending_list('customers_search_key')`.execute(tx);
      await sql`analyze customers`.execute(tx);
      expect([await totalOf('grace'), await totalOf('n9999'), await totalOf('nobody')]).toEqual([
        10_000, 1, 0,
      ]);
      for (let n = 0; n < 10; n++) expect(await totalOf('grace', `n999${n}`)).toBe(1);

      const { rows: statements } = await sql<{ name: string; generic: number }>`
        select name, generic_plans as generic from pg_prepared_statements
        where statement like '%with found as materialized%' and statement not like '%pg_prepared_statements%'
        order by length(statement)`.execute(tx);
      const [ofOneWord, ofTwoWords] = statements;
      expect(ofTwoWords?.generic).toBe(5); // PostgreSQL always plans the first five executions.
      const explain = `explain execute ${ofOneWord?.name}('%nobody%', 0, 20)`;
      const { rows: lines } = await sql.raw<{ 'QUERY PLAN': string }>(explain).execute(tx);
      expect(lines.map((line) => line['QUERY PLAN']).join('\n')).toContain('on customers_search_key');
    });
  });
});
