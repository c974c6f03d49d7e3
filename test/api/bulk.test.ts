import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  newAccount,
  newCustomer,
  pay,
  reverse,
  startInstanceForTest,
  useService,
  whileHolding,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

/** Bulk calls: an outcome for each item, and the same answer for each repeat. */
const service = useService();

const MANY = 1_000;
const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

let phones = 0;
const customer = (fields: object = {}) => {
  phones += 1;
  return { firstName: 'Bulk', lastName: 'Customer', phone: `+2547${20_000_000 + phones}`, ...fields };
};
const bulk = (resource: string, items: unknown, options = {}) =>
  service.call('POST', `/${resource}/bulk`, { items }, options);

/** The outcomes of an answer. Expects that the summary agrees with them. */
function outcomesOf(answer: Answer) {
  expect(answer.status, answer.text).toBe(200);
  const { created, existing, failed, items } = answer.body.data;
  expect(items.map((item: { index: number }) => item.index)).toEqual([...items.keys()]);
  const count = (status: string) => items.filter((item: { status: string }) => item.status === status).length;
  expect([created, existing, failed]).toEqual([count('created'), count('existing'), count('failed')]);
  return items;
}
const codesOf = (answer: Answer) =>
  outcomesOf(answer).map((one: { error?: { code: string } }) => one.error?.code ?? 'created');

const countOf = async (from: string): Promise<number> =>
  (await service.parts.pool.query(`select count(*)::int as count from ${from}`)).rows[0].count;

const rowsOf = async (from: string): Promise<unknown[]> =>
  (await service.parts.pool.query(`select * from ${from}`)).rows;

const RESOURCES: [string, () => object][] = [
  ['customers', () => customer()],
  ['accounts', () => ({ customerId: 1, productId: 1, payplanId: 2 })],
  ['payments', () => ({ accountId: 1, amount: 1, paymentMethodId: 2 })],
];

describe.each(RESOURCES)('POST /%s/bulk', (resource, item) => {
  beforeAll(async () => {
    await newAccount(service);
  });

  it('creates 1,000 items in one call, each as a single call would', async () => {
    const single = (await service.call('POST', `/${resource}`, item())).body.data;
    const before = await countOf(resource);
    const audited = await countOf('audit_entries');
    const outcomes = outcomesOf(await bulk(resource, Array.from({ length: MANY }, item)));
    expect(new Set(outcomes.map((one: { status: string }) => one.status))).toEqual(new Set(['created']));
    expect(new Set(outcomes.map((one: { data: { id: number } }) => one.data.id)).size).toBe(MANY);
    expect(Object.keys(outcomes[0].data).sort()).toEqual(Object.keys(single).sort());
    expect(await countOf(resource)).toBe(before + MANY);
    expect(await countOf('audit_entries')).toBe(audited + MANY);
    const rows = await service.parts.pool.query(
      `select count(distinct (action, actor_user_id, (select array_agg(k order by k) from jsonb_object_keys(after) k)))::int as kinds
       from (select * from audit_entries order by id desc limit ${MANY + 1}) as a`,
    );
    expect(rows.rows[0].kinds).toBe(1);
  });

  it.each([
    ['no items', []],
    ['1,001 items', Array.from({ length: MANY + 1 }, () => ({}))],
    ['items that are no list', {}],
    ['no field items', undefined],
  ])('refuses %s', async (_what, items) => {
    const answer = await bulk(resource, items);
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.fields.map((field: { path: string }) => field.path)).toEqual(['items']);
  });

  it('refuses unknown fields beside the items', async () => {
    const answer = await service.call('POST', `/${resource}/bulk`, { items: [item()], dryRun: true });
    expect(answer.status).toBe(400);
  });

  it('gives a wrong item the error of a single call, and creates the others', async () => {
    const wrong = [{}, null, 5, 'text', [], { ...item(), unknown: 1 }];
    const before = await countOf(resource);
    const answer = await bulk(resource, [item(), ...wrong, item()]);
    expect(codesOf(answer)).toEqual(['created', ...wrong.map(() => 'VALIDATION_ERROR'), 'created']);
    expect(await countOf(resource)).toBe(before + 2);
    for (const [at, body] of wrong.entries()) {
      if (typeof body !== 'object' || Array.isArray(body)) continue;
      const single = await service.call('POST', `/${resource}`, body ?? {});
      expect(answer.body.data.items[at + 1].error).toEqual(single.body.error);
    }
  });

  it('gives an item whose external id exists its id, and changes nothing', async () => {
    const items = Array.from({ length: 120 }, (_, at) => ({ ...item(), externalId: `AGAIN-${at}` }));
    const first = outcomesOf(await bulk(resource, items)).map((one: { data: { id: number } }) => one.data.id);
    const rows = await rowsOf(`${resource} where external_id like 'AGAIN-%' order by id`);
    const second = { ...item(), externalId: 'AGAIN-120' };
    const again = outcomesOf(await bulk(resource, [...items, second, second]));
    expect(again.slice(0, 120)).toEqual(
      first.map((id: number, index: number) => ({ index, status: 'existing', id })),
    );
    expect(again[120].status).toBe('created');
    expect(again[121]).toEqual({ index: 121, status: 'existing', id: again[120].data.id });
    const now = await rowsOf(`${resource} where external_id like 'AGAIN-%' order by id`);
    expect(now.slice(0, 120)).toEqual(rows);
  });

  it('gives a repeat with its key the same answer, and creates nothing', async () => {
    const body = [item(), {}, item()];
    const first = await bulk(resource, body, keyed(`repeat ${resource}`));
    expect(codesOf(first)).toEqual(['created', 'VALIDATION_ERROR', 'created']);
    const before = await countOf(resource);
    const second = await bulk(resource, body, keyed(`repeat ${resource}`));
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    const other = await bulk(resource, [item(), item()], keyed(`repeat ${resource}`));
    expect(other.status).toBe(422);
    expect(await countOf(resource)).toBe(before);
  });

  it('is done once when two instances get it with one key at once', async () => {
    const other = await startInstanceForTest(service);
    const items = Array.from({ length: 300 }, item);
    const before = await countOf(resource);
    const options = { ...keyed(`two ${resource}`), token: service.adminToken };
    const call = async (caller: typeof service.call): Promise<Answer> => {
      const answer = await caller('POST', `/${resource}/bulk`, { items }, options);
      if (answer.status === 200) return answer;
      expect(answer.body.error.details.field).toBe('Idempotency-Key'); // Still running.
      return call(caller);
    };
    const [first, second] = await Promise.all([call(service.call), call(other.call)]);
    expect(first.body).toEqual(second.body);
    expect(outcomesOf(first)).toHaveLength(300);
    expect(await countOf(resource)).toBe(before + 300);
  });

  it('lets a caller have one call in progress and one waiting, and refuses more', async () => {
    const calls = await Promise.all(
      Array.from({ length: 4 }, () => bulk(resource, Array.from({ length: 50 }, item))),
    );
    const statuses = calls.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  });
});

/**
 * Runs a bulk call until it waits for another transaction, and then ends all connections that have written.
 * @param hold - the statement of the other transaction.
 */
function crashAt(hold: string, call: () => Promise<Answer>): Promise<Answer> {
  return whileHolding(service, hold, async (holder) => {
    const { rows } = await holder.query('select pg_backend_pid() as pid');
    const answer = call();
    const endWriters = async () => {
      const ended = await service.parts.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and backend_xid is not null and pid <> $1
           and exists (select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)))`,
        [rows[0].pid],
      );
      return ended.rows.length;
    };
    await expect.poll(endWriters, { timeout: 10_000 }).toBeGreaterThan(0);
    await holder.query('rollback');
    return answer;
  });
}

/** A statement that makes the item with the external id wait. */
const holding = (externalId: string) =>
  `insert into customers (first_name, last_name, phone, phone_sha256, search_text, external_id)
   values ('', '', '', '', '', '${externalId}')`;

describe('POST /customers/bulk', () => {
  it('refuses duplicates of the call and of the books, with the id that has the value', async () => {
    const known = await newCustomer(service, { email: 'known@bulk.example' });
    const answer = await bulk('customers', [
      customer({ email: 'twice@bulk.example' }),
      customer({ email: 'Twice@Bulk.example' }),
      customer({ email: 'KNOWN@bulk.example' }),
      customer({ nationalId: 'B-1' }),
      customer({ nationalId: 'b1' }),
    ]);
    expect(codesOf(answer)).toEqual([
      'created',
      'DUPLICATE_ENTRY',
      'DUPLICATE_ENTRY',
      'created',
      'DUPLICATE_ENTRY',
    ]);
    const [first, second, third, fourth, fifth] = answer.body.data.items;
    expect(second.error.details).toEqual({ resource: 'customer', field: 'email', id: first.data.id });
    expect(third.error.details).toEqual({ resource: 'customer', field: 'email', id: known.id });
    expect(fifth.error.details).toEqual({ resource: 'customer', field: 'nationalId', id: fourth.data.id });
  });

  it('creates all other items if every slice has an item that is refused', async () => {
    const items = Array.from({ length: MANY }, (_, at) =>
      customer(at % 40 === 0 ? { nationalId: 'same' } : {}),
    );
    const codes = codesOf(await bulk('customers', items));
    expect(codes.filter((code: string) => code === 'created')).toHaveLength(MANY - MANY / 40 + 1);
  });

  it('creates what is missing at the repeat after a crash in the middle, and nothing twice', async () => {
    const items = Array.from({ length: MANY }, (_, at) =>
      customer({ firstName: 'Crashed', externalId: `CRASH-${at}` }),
    );
    const lost = await crashAt(holding('CRASH-500'), () =>
      bulk('customers', items, keyed('crash customers')),
    );
    expect(lost.status).toBe(503);
    expect(await countOf(`customers where first_name = 'Crashed'`)).toBe(MANY / 2);
    const again = await bulk('customers', items, keyed('crash customers'));
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expect(new Set(codesOf(again))).toEqual(new Set(['created']));
    expect(await countOf(`customers where first_name = 'Crashed'`)).toBe(MANY);
    const ids = again.body.data.items.map((one: { data: { id: number } }) => one.data.id);
    expect(new Set(ids).size).toBe(MANY);
    expect((await bulk('customers', items, keyed('crash customers'))).body).toEqual(again.body);
  });

  it('refuses another body under the key of an interrupted call, and creates nothing from it', async () => {
    const items = Array.from({ length: 200 }, (_, at) => customer({ externalId: `OTHER-${at}` }));
    await crashAt(holding('OTHER-150'), () => bulk('customers', items, keyed('other body')));
    const before = await countOf('customers');
    const shorter = [customer()];
    const longer = [{}, ...items, customer()];
    for (const body of [shorter, longer]) {
      const other = await bulk('customers', body, keyed('other body'));
      expect(other.status).toBe(422);
      expect(other.body.error.details.fields[0].path).toBe('Idempotency-Key');
    }
    expect(await countOf('customers')).toBe(before);
    expect(codesOf(await bulk('customers', items, keyed('other body')))).toEqual(Array(200).fill('created'));
  });

  it('publishes the events of its finished slices while it continues', async () => {
    const after = (await service.parts.pool.query('select max(id) as id from events')).rows[0].id;
    const published = async () => {
      const query = `types=customer.created&limit=500&after=${after}`;
      return (await service.call('GET', `/events?${query}`)).body.data.events.length;
    };
    const items = Array.from({ length: 300 }, (_, at) => customer({ externalId: `SLICE-${at}` }));
    let call: Promise<Answer> | undefined;
    await whileHolding(service, holding('SLICE-250'), async () => {
      call = bulk('customers', items, keyed('slices'));
      await expect.poll(published, { timeout: 10_000 }).toBe(200);
    });
    expect(codesOf((await call) ?? expect.fail())).toHaveLength(300);
    expect(await published()).toBe(300);
  });
});

describe('POST /accounts/bulk', () => {
  it('refuses items whose product or plan does not exist or is not sold, and opens the others with their own terms', async () => {
    const { id: customerId } = await newCustomer(service);
    const right = { customerId, productId: 1, payplanId: 2 };
    const items = [
      right,
      { ...right, customerId: 999_999 },
      { ...right, productId: 999_999 },
      { ...right, payplanId: 999_999 },
      { ...right, employeeId: 999_999 },
      { ...right, activationDate: '2030-01-31' },
    ];
    const answer = await bulk('accounts', items);
    expect(codesOf(answer)).toEqual(['created', ...Array(4).fill('NOT_FOUND'), 'created']);
    for (const [at, item] of items.entries()) {
      const single = await service.call('POST', '/accounts', item);
      const { data, error } = answer.body.data.items[at];
      if (error) expect(error).toEqual(single.body.error);
      else expect({ ...data, ...IDENTITY }).toEqual({ ...single.body.data, ...IDENTITY });
    }
    expect(answer.body.data.items.at(-1).data.status).toBe('pending');
    await expectBooksToBalance(service.context);
  });

  const IDENTITY = { id: 0, accountNumber: '', createdAt: '', updatedAt: '' };
});

describe('POST /payments/bulk', () => {
  let accountId: number;
  beforeAll(async () => {
    ({ id: accountId } = await newAccount(service));
  });
  const payment = (fields: object = {}) => ({ accountId, amount: 1, paymentMethodId: 2, ...fields });
  const references = (name: string, count: number) =>
    Array.from({ length: count }, (_, at) => payment({ transactionRef: `${name}-${at}` }));
  const postedUnder = (name: string) => countOf(`payments where transaction_ref like '${name}-%'`);

  it('posts each reference once, also those of the call and of the books', async () => {
    const { id } = await pay(service, accountId, 5, { transactionRef: 'BOOKS' });
    const answer = await bulk('payments', [
      payment({ transactionRef: 'TWICE' }),
      payment({ transactionRef: 'twice ' }),
      payment({ transactionRef: 'books' }),
      payment({ accountId: 999_999 }),
      payment({ paymentMethodId: 999_999 }),
      payment(),
    ]);
    expect(codesOf(answer)).toEqual([
      'created',
      'DUPLICATE_ENTRY',
      'DUPLICATE_ENTRY',
      'NOT_FOUND',
      'NOT_FOUND',
      'created',
    ]);
    expect(answer.body.data.items[2].error.details).toEqual({
      resource: 'payment',
      field: 'transactionRef',
      id,
    });
  });

  it('does not show a payment that differs from its item, or was reversed, as existing', async () => {
    const { id: otherId } = await newAccount(service);
    const items = Array.from({ length: 5 }, (_, at) => payment({ externalId: `SAME-${at}` }));
    const ids = outcomesOf(await bulk('payments', items)).map((one: { data: { id: number } }) => one.data.id);
    await reverse(service, ids[4]);
    const before = await countOf('payments');
    const changes = [{}, { accountId: otherId }, { amount: 2 }, { paymentMethodId: 3 }, {}];
    const again = outcomesOf(
      await bulk(
        'payments',
        items.map((item, at) => ({ ...item, ...changes[at] })),
      ),
    );
    expect(again[0]).toEqual({ index: 0, status: 'existing', id: ids[0] });
    const reasons = [
      'has another account',
      'has another amount',
      'has another payment method',
      'was reversed',
    ];
    for (const [at, reason] of reasons.entries()) {
      const { status, error } = again[at + 1];
      expect([status, error.code]).toEqual(['failed', 'DUPLICATE_ENTRY']);
      expect(error.message).toBe(`Another payment already has this externalId. It ${reason}.`);
      expect(error.details).toEqual({ resource: 'payment', field: 'externalId', id: ids[at + 1] });
    }
    expect(await countOf('payments')).toBe(before);
  });

  it('leaves the books as single calls do', async () => {
    const single = await newAccount(service);
    const inBulk = await newAccount(service);
    const amounts = [1_999.99, 0.01, 400, 22_000, 5];
    for (const amount of amounts) await pay(service, single.id, amount);
    const items = amounts.map((amount) => payment({ accountId: inBulk.id, amount }));
    expect(codesOf(await bulk('payments', items))).toEqual(amounts.map(() => 'created'));
    const figures = async (id: number) => {
      const { paid, balance, credit, status, nextDueDate } = await accountNow(service, id);
      return { paid, balance, credit, status, nextDueDate };
    };
    expect(await figures(inBulk.id)).toEqual(await figures(single.id));
    await expectBooksToBalance(service.context);
  });

  it('posts the missing payments when the call is repeated after a crash, and none twice', async () => {
    const items = references('CRASH', MANY).map((item, at) =>
      at < 500 ? item : { ...item, paymentMethodId: 3 },
    );
    const lost = await crashAt('select from payment_methods where id = 3 for update', () =>
      bulk('payments', items, keyed('crash payments')),
    );
    expect(lost.status).toBe(503);
    const posted = await postedUnder('CRASH');
    expect(posted).toBeGreaterThanOrEqual(500);
    expect(posted).toBeLessThan(MANY);
    const again = await bulk('payments', items, keyed('crash payments'));
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expect(new Set(codesOf(again))).toEqual(new Set(['created']));
    expect(await postedUnder('CRASH')).toBe(MANY);
    const ids = again.body.data.items.map((one: { data: { id: number } }) => one.data.id);
    expect(new Set(ids).size).toBe(MANY);
    await expectBooksToBalance(service.context);
  });

  it('does not delay single payments', async () => {
    const call = bulk('payments', references('BESIDE', MANY));
    let isDone = false;
    const done = call.then(() => {
      isDone = true;
    });
    await expect.poll(() => postedUnder('BESIDE'), { interval: 5 }).toBeGreaterThan(0);
    const { id: other } = await newAccount(service);
    await pay(service, other, 1);
    expect(isDone).toBe(false);
    await done;
    expect(codesOf(await call)).toHaveLength(MANY);
  });

  it('refuses another body under the key of an interrupted call, and posts nothing from it', async () => {
    const items = [payment(), payment(), payment({ paymentMethodId: 3 })];
    await crashAt('select from payment_methods where id = 3 for update', () =>
      bulk('payments', [...references('PART', 100), ...items], keyed('other payments')),
    );
    const before = await countOf('payments');
    const other = await bulk('payments', [{}, ...references('WHOLE', 100)], keyed('other payments'));
    expect(other.status).toBe(422);
    expect(await countOf('payments')).toBe(before);
  });

  it('fails without an outcome while a payment of the call may still be committing', async () => {
    const items = [payment({ transactionRef: 'LATE' })];
    const admin = `(select id from users where email = 'admin@example.com')`;
    const name = `'idempotency key user ' || ${admin} || ' /api/payments/bulk#0 late'`;
    const lock = `select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
    const refused = await whileHolding(service, lock, () => bulk('payments', items, keyed('late')));
    expect(refused.status, refused.text).toBe(409);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.body.error.details).toEqual({ resource: 'request', field: 'Idempotency-Key' });
    expect(codesOf(await bulk('payments', items, keyed('late')))).toEqual(['created']);
    expect(await countOf(`payments where transaction_ref = 'LATE'`)).toBe(1);
  });

  it('fails only the payment whose account another transaction holds', async () => {
    const held = await newAccount(service);
    const lock = `select from accounts where id = ${held.id} for update`;
    const answer = await whileHolding(service, lock, () =>
      bulk('payments', [payment(), payment({ accountId: held.id }), payment()]),
    );
    expect(codesOf(answer)).toEqual(['created', 'INTERNAL_ERROR', 'created']);
    expect(answer.body.data.items[1].error.message).toContain('Retry later');
    expect((await accountNow(service, held.id)).paid).toBe(0);
  });
});

describe('a body with very many mistakes', () => {
  const many = (count: number, nameOf: (i: number) => string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [nameOf(i), 1]));
  const listed = (item: object) => ({ items: Array.from({ length: MANY }, () => item) });

  it.each([
    ['malformed metadata keys', 'bulk', listed(customer({ metadata: many(300, (i) => `k ${i}`) }))],
    ['unknown fields', 'bulk', listed(many(400, (i) => `k${i}`))],
    [
      'as many mistakes as are named',
      'bulk',
      listed({ ...many(30, (i) => `unknown${i}`), metadata: many(20, (i) => `k ${i}`), phone: 1, email: 1 }),
    ],
    ['60,000 malformed metadata keys', '', customer({ metadata: many(60_000, (i) => `k ${i}`) })],
    ['60,000 unknown fields', '', many(60_000, (i) => `k${i}`)],
  ])('does not hold up other requests: %s', async (_what, path, given) => {
    const body = JSON.stringify(given);
    const headers = {
      authorization: `Bearer ${service.adminToken}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const delay = monitorEventLoopDelay({ resolution: 5 });
    const url = `${service.origin}/api/customers/${path}`.replace(/\/$/, '');
    delay.enable();
    // The answer is not parsed, because parsing it would hold up this process as well.
    const answer = await fetch(url, { method: 'POST', headers, body });
    const text = await answer.text();
    delay.disable();
    expect(answer.status).toBe(path === 'bulk' ? 200 : 400);
    expect(text.length).toBeLessThan(500_000);
    const start = performance.now();
    JSON.parse(body);
    const parsingMs = performance.now() - start;
    expect(delay.max / 1e6).toBeLessThan(500 + 10 * parsingMs);
  });
});
