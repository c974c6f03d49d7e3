import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Page } from '../../src/core/http/envelope.ts';
import { readPosition } from '../../src/core/lists/cursor.ts';
import type { ListOrder, NamedField } from '../../src/core/lists/fields.ts';
import { fetchPage } from '../../src/core/lists/page.ts';
import type { ListPlan } from '../../src/core/lists/query.ts';
import { newAccount, newCustomer, pay, statementsOf, useService, wrongFields } from '../support/harness.ts';

/** Walks through lists by cursor. test/api/lists.test.ts walks every list by each of its fields. */
const service = useService();

interface Row {
  id: number;
}

/** Reads all pages of a list. @param between runs after each page. */
async function walk(path: string, between: () => Promise<unknown> = async () => {}): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const answer = await service.call('GET', `${path}&after=${after}`);
    expect(answer.status, answer.text).toBe(200);
    rows.push(...answer.body.data);
    after = answer.body.pagination.nextCursor;
    await between();
  }
  return rows;
}

const idsOf = (rows: Row[]) => rows.map(({ id }) => id);

describe('a page after a cursor', () => {
  beforeAll(async () => {
    for (let i = 0; i < 5; i++) await newCustomer(service, { firstName: 'Paged', lastName: `${i % 2}` });
  });
  const PAGED = '/customers?filter[firstName]=Paged';

  it('has the cursor of the next page, or null after the last row, and no total', async () => {
    const first = (await service.call('GET', `${PAGED}&limit=3&after=`)).body;
    expect(first.data).toHaveLength(3);
    expect(first.pagination).toEqual({ limit: 3, nextCursor: expect.any(String) });
    const next = `${PAGED}&limit=3&after=${first.pagination.nextCursor}`;
    const statements = await statementsOf(async () => {
      const last = (await service.call('GET', next)).body;
      expect(last.data).toHaveLength(2);
      expect(last.pagination).toEqual({ limit: 3, nextCursor: null });
    });
    expect(statements.filter(({ text }) => text.includes('from customers'))).toHaveLength(1);
  });

  it('may have another size than the page before', async () => {
    const { data, pagination } = (await service.call('GET', `${PAGED}&limit=1&after=`)).body;
    const rest = (await service.call('GET', `${PAGED}&limit=100&after=${pagination.nextCursor}`)).body;
    const all = (await service.call('GET', PAGED)).body.data;
    expect([...data, ...rest.data]).toEqual(all);
  });

  it('is full with exactly the last row, and has no next cursor', async () => {
    const answer = (await service.call('GET', `${PAGED}&limit=5&after=`)).body;
    expect(answer.data).toHaveLength(5);
    expect(answer.pagination.nextCursor).toBeNull();
  });

  it('is empty in a list without rows', async () => {
    const { data, pagination } = (await service.call('GET', '/customers?filter[firstName]=Nobody&after='))
      .body;
    expect(data).toEqual([]);
    expect(pagination.nextCursor).toBeNull();
  });

  it('is refused beside a page number above 1', async () => {
    expect(wrongFields(await service.call('GET', '/customers?after=&page=2'))).toEqual(['page']);
  });
});

describe('a wrong cursor', () => {
  let cursor: string;
  beforeAll(async () => {
    for (let i = 0; i < 2; i++) await pay(service, (await newAccount(service)).id, 10);
    cursor = (await service.call('GET', '/payments?limit=1&after=')).body.pagination.nextCursor;
  });
  const problemOf = async (path: string) => {
    const answer = await service.call('GET', path);
    expect(wrongFields(answer)).toEqual(['after']);
    return answer.body.error.message;
  };

  it.each(['id:desc', 'createdAt:asc', 'createdAt:desc,amount:desc'])(
    'of another sort than %s is refused',
    async (sort) => {
      expect(await problemOf(`/payments?sort=${sort}&after=${cursor}`)).toContain('of another list or sort');
    },
  );

  it('of another list is refused', async () => {
    expect(await problemOf(`/customers?after=${cursor}`)).toContain('of another list or sort');
  });

  it.each(['x', '%00', 'bnVsbA', 'W10', 'e30', '1', 'null'])(
    'that is not a cursor is refused: %s',
    async (after) => {
      expect(await problemOf(`/payments?after=${after}`)).toContain(
        'must be the nextCursor of an earlier page',
      );
    },
  );

  it('that is too long is refused', async () => {
    expect(await problemOf(`/payments?after=${'a'.repeat(8_001)}`)).toContain('at most 8000 characters');
  });

  it.each([
    ['id', []],
    ['id', [1, 2]],
    ['id', ['1']],
    ['id', [1.5]],
    ['id', [2 ** 53]],
    ['id', [null]],
    ['id', [{}]],
    ['createdAt', ['2026-02-30T00:00:00Z', 1]],
    ['createdAt', ['2026-02-28', 1]],
    ['createdAt', ['infinity', 1]],
    ['paymentDate', ['2026-02-30', 1]],
    ['status', ['lost', 1]],
    ['status', [null, 1]],
    ['transactionRef', ['a\0b', 1]],
    ['transactionRef', ['\ud800', 1]],
    ['transactionRef', [1, 1]],
  ])('whose values were changed is refused: %s %j', async (sort, values) => {
    const page = (await service.call('GET', `/payments?limit=1&sort=${sort}&after=`)).body;
    const [scope] = JSON.parse(Buffer.from(page.pagination.nextCursor, 'base64url').toString());
    const changed = Buffer.from(JSON.stringify([scope, ...values])).toString('base64url');
    expect(await problemOf(`/payments?sort=${sort}&after=${changed}`)).toContain('was changed');
  });

  it('with values beyond the range of their column finds the rows after them', async () => {
    const page = (await service.call('GET', '/customers?limit=1&sort=id:asc&after=')).body;
    const [scope] = JSON.parse(Buffer.from(page.pagination.nextCursor, 'base64url').toString());
    const beyond = Buffer.from(JSON.stringify([scope, Number.MAX_SAFE_INTEGER])).toString('base64url');
    const answer = await service.call('GET', `/customers?sort=id:asc&after=${beyond}`);
    expect(answer.body.data).toEqual([]);
  });
});

describe('a walk while others write', () => {
  it.each(['customers', 'accounts', 'payments'])(
    'returns every row that was there once: %s',
    async (resource) => {
      const { id: accountId, customerId } = await newAccount(service);
      const add = {
        customers: () => newCustomer(service),
        accounts: () => newAccount(service, { customerId }),
        payments: () => pay(service, accountId, 1),
      }[resource] as () => Promise<Row>;
      for (let i = 0; i < 6; i++) await add();
      for (const sort of ['createdAt:desc', 'createdAt:asc', 'id:asc', 'id:desc']) {
        const before = idsOf((await service.call('GET', `/${resource}?limit=100`)).body.data);
        const writes: Promise<Row>[] = [];
        const seen = idsOf(
          await walk(
            `/${resource}?limit=3&sort=${sort}`,
            async () => writes.length < 8 && writes.push(add()),
          ),
        );
        await Promise.all(writes);
        expect(new Set(seen).size).toBe(seen.length);
        expect(before.filter((id) => !seen.includes(id))).toEqual([]);
      }
    },
  );

  it('by updatedAt returns a changed row again', async () => {
    const customers = [];
    for (let i = 0; i < 4; i++) customers.push(await newCustomer(service, { firstName: 'Changed' }));
    const [first] = customers;
    let hasChanged = false;
    const seen = await walk('/customers?filter[firstName]=Changed&sort=updatedAt:asc&limit=2', async () => {
      if (hasChanged) return;
      hasChanged = true;
      await service.call('PUT', `/customers/${first.id}`, { lastName: 'Later' });
    });
    expect(idsOf(seen)).toEqual([...idsOf(customers), first.id]);
  });
});

describe('a walk in any order', () => {
  const FIELDS: NamedField[] = [
    { name: 'whole', kind: 'integer', column: 't.whole', nullable: true },
    { name: 'label', kind: 'text', column: 't.label', nullable: true },
    { name: 'flag', kind: 'boolean', column: 't.flag' },
    { name: 'day', kind: 'date', column: 't.day' },
    { name: 'at', kind: 'timestamp', column: 't.at' },
    { name: 'status', kind: 'enum', column: 't.status', values: ['active', 'pending'] },
    { name: 'id', kind: 'id', column: 't.id' },
  ];
  const id = FIELDS.at(-1) as NamedField;
  const source = { select: sql<Row>`select t.* from walked t`, from: sql`from walked t` };

  beforeAll(async () => {
    await sql`create table walked (id bigint generated always as identity primary key, whole int, label text,
      flag boolean not null, day date not null, at timestamptz(3) not null, status account_status not null)`.execute(
      service.context.db,
    );
  });

  /** Few values, so that there are many ties, and nulls. */
  const row = fc.record({
    whole: fc.constantFrom(null, -1, 0, 7),
    label: fc.constantFrom(null, '', 'a', 'B', 'é', '😀', 'with "quotes" \\ and\ttab'),
    flag: fc.boolean(),
    day: fc.constantFrom('2026-02-28', '2026-03-01'),
    at: fc.constantFrom('2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00Z'),
    status: fc.constantFrom('active', 'pending'),
  });
  const key = fc.record({
    field: fc.constantFrom(...FIELDS),
    direction: fc.constantFrom('asc' as const, 'desc' as const),
  });
  const write = fc.oneof(row, fc.record({ removed: fc.nat() }));

  it('returns every row that exists throughout once and in order, and none twice', async () => {
    const { db } = service.context;
    const insert = (rows: object[]) =>
      sql`insert into walked (whole, label, flag, day, at, status)
        select whole, label, flag, day, at, status
        from json_populate_recordset(null::walked, ${JSON.stringify(rows)}::json)`.execute(db);
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 25 }),
        fc.uniqueArray(key, { maxLength: 3, selector: ({ field }) => field.name }),
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 7 }),
        fc.array(write, { maxLength: 15 }),
        async (rows, keys, direction, limit, writes) => {
          await sql`truncate walked`.execute(db);
          await insert(rows);
          const withoutId = keys.filter(({ field }) => field !== id);
          const order: ListOrder = [...withoutId, { field: id, direction }];
          const plan: ListPlan = { filters: [], order, isPlain: false, page: 1, limit };
          const before = idsOf((await fetchPage(db, { ...plan, limit: 100 }, source)).rows);
          const removed = new Set<number>();
          const seen: number[] = [];
          for (let cursor: string | null = ''; cursor !== null; ) {
            const after = readPosition(cursor, FIELDS, order, []);
            const page: Page<Row> = await fetchPage(db, { ...plan, after }, source);
            seen.push(...idsOf(page.rows));
            cursor = page.pagination.nextCursor ?? null;
            const next = writes.shift();
            if (next && 'removed' in next) {
              // Also the last row of the page, whose values the cursor has.
              const gone = next.removed % 2 === 0 ? seen.at(-1) : before[next.removed % before.length];
              await sql`delete from walked where id = ${gone}`.execute(db);
              if (gone !== undefined) removed.add(gone);
            } else if (next) {
              await insert([next]);
            }
          }
          expect(new Set(seen).size).toBe(seen.length);
          const stayed = before.filter((one) => !removed.has(one));
          expect(seen.filter((one) => stayed.includes(one))).toEqual(stayed);
        },
      ),
      { numRuns: 75 },
    );
  });
});
