import { beforeAll, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  newAccount,
  newCustomer,
  pay,
  reverse,
  type TestService,
  useInstance,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { eventually, until } from '../support/waiting.ts';

/** Bulk calls: an outcome for each item, and the same answer for each repeat. */
const service = useService();
const other = useInstance(service, {});
/** An instance that does not wait long for payments that are locked. */
const impatient = useInstance(service, {}, { postingMs: 50 });

const MAX_ITEMS = 1_000;
/** One transaction creates 100 items. */
const THREE_SLICES = 300;
const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

let phones = 0;
const customer = (fields: object = {}) => {
  phones += 1;
  return { firstName: 'Bulk', lastName: 'Customer', phone: `+2547${20_000_000 + phones}`, ...fields };
};
const bulk = (resource: string, items: unknown, options = {}, at: Pick<TestService, 'call'> = service) =>
  at.call('POST', `/${resource}/bulk`, { items }, { token: service.adminToken, ...options });

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

  it('creates the items of a call, each as a single call would', async () => {
    const single = (await service.call('POST', `/${resource}`, item())).body.data;
    const before = await countOf(resource);
    const audited = await countOf('audit_entries');
    const outcomes = outcomesOf(await bulk(resource, Array.from({ length: THREE_SLICES }, item)));
    expect(new Set(outcomes.map((one: { status: string }) => one.status))).toEqual(new Set(['created']));
    expect(new Set(outcomes.map((one: { data: { id: number } }) => one.data.id)).size).toBe(THREE_SLICES);
    expect(Object.keys(outcomes[0].data).sort()).toEqual(Object.keys(single).sort());
    expect(await countOf(resource)).toBe(before + THREE_SLICES);
    expect(await countOf('audit_entries')).toBe(audited + THREE_SLICES);
    const rows = await service.parts.pool.query(
      `select count(distinct (action, actor_user_id, (select array_agg(k order by k) from jsonb_object_keys(after) k)))::int as kinds
       from (select * from audit_entries order by id desc limit ${THREE_SLICES + 1}) as a`,
    );
    expect(rows.rows[0].kinds).toBe(1);
  });

  it('accepts 1,000 items', async () => {
    const answer = await bulk(resource, [item(), ...Array(MAX_ITEMS - 2).fill({}), item()]);
    expect(codesOf(answer)).toEqual(['created', ...Array(MAX_ITEMS - 2).fill('VALIDATION_ERROR'), 'created']);
  });

  it.each([
    ['no items', []],
    ['1,001 items', Array.from({ length: MAX_ITEMS + 1 }, () => ({}))],
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
    const items = Array.from({ length: 150 }, item);
    const before = await countOf(resource);
    const call = (at: Pick<TestService, 'call'>) => bulk(resource, items, keyed(`two ${resource}`), at);
    const [first, second] = await Promise.all([call(service), call(other)]);
    expect(first.body).toEqual(second.body);
    expect(outcomesOf(first)).toHaveLength(150);
    expect(await countOf(resource)).toBe(before + 150);
  });

  it('lets a caller have one call in progress and one waiting, and refuses more', async () => {
    const answers: Answer[] = [];
    let calls: Promise<void>[] = [];
    await whileHolding(service, 'lock table audit_entries in access exclusive mode', async () => {
      calls = Array.from({ length: 4 }, async () => {
        answers.push(await bulk(resource, [item()]));
      });
      await eventually(() => answers.map(({ status }) => status)).toEqual([429, 429]);
    });
    await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual([429, 429, 200, 200]);
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
    await until('the call to wait', async () => (await endWriters()) > 0);
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
    const items = Array.from({ length: 200 }, (_, at) =>
      customer(at % 40 === 0 ? { nationalId: 'same' } : {}),
    );
    const codes = codesOf(await bulk('customers', items));
    expect(codes.filter((code: string) => code === 'created')).toHaveLength(200 - 200 / 40 + 1);
  });

  it('creates what is missing at the repeat after a crash in the middle, and nothing twice', async () => {
    const items = Array.from({ length: THREE_SLICES }, (_, at) =>
      customer({ firstName: 'Crashed', externalId: `CRASH-${at}` }),
    );
    const lost = await crashAt(holding('CRASH-250'), () =>
      bulk('customers', items, keyed('crash customers')),
    );
    expect(lost.status).toBe(503);
    expect(await countOf(`customers where first_name = 'Crashed'`)).toBe(200);
    const again = await bulk('customers', items, keyed('crash customers'));
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expect(new Set(codesOf(again))).toEqual(new Set(['created']));
    expect(await countOf(`customers where first_name = 'Crashed'`)).toBe(THREE_SLICES);
    const ids = again.body.data.items.map((one: { data: { id: number } }) => one.data.id);
    expect(new Set(ids).size).toBe(THREE_SLICES);
    expect((await bulk('customers', items, keyed('crash customers'))).body).toEqual(again.body);
  });

  it('refuses another body under the key of an interrupted call, and creates nothing from it', async () => {
    const items = Array.from({ length: 110 }, (_, at) => customer({ externalId: `OTHER-${at}` }));
    await crashAt(holding('OTHER-105'), () => bulk('customers', items, keyed('other body')));
    const before = await countOf('customers');
    const shorter = [customer()];
    const longer = [{}, ...items, customer()];
    for (const body of [shorter, longer]) {
      const other = await bulk('customers', body, keyed('other body'));
      expect(other.status).toBe(422);
      expect(other.body.error.details.fields[0].path).toBe('Idempotency-Key');
    }
    expect(await countOf('customers')).toBe(before);
    expect(codesOf(await bulk('customers', items, keyed('other body')))).toEqual(Array(110).fill('created'));
  });

  it('publishes the events of its finished slices while it continues', async () => {
    const after = (await service.parts.pool.query('select max(id) as id from events')).rows[0].id;
    const published = async () => {
      const query = `types=customer.created&limit=500&after=${after}`;
      return (await service.call('GET', `/events?${query}`)).body.data.events.length;
    };
    const items = Array.from({ length: 210 }, (_, at) => customer({ externalId: `SLICE-${at}` }));
    let call: Promise<Answer> | undefined;
    await whileHolding(service, holding('SLICE-205'), async () => {
      call = bulk('customers', items, keyed('slices'));
      await eventually(() => countOf(`events where id > ${after} and type = 'customer.created'`)).toBe(200);
      await eventually(published).toBe(200);
    });
    expect(codesOf((await call) ?? expect.fail())).toHaveLength(210);
    expect(await published()).toBe(210);
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
    const items = references('CRASH', THREE_SLICES).map((item, at) =>
      at < 150 ? item : { ...item, paymentMethodId: 3 },
    );
    const lost = await crashAt('select from payment_methods where id = 3 for update', () =>
      bulk('payments', items, keyed('crash payments')),
    );
    expect(lost.status).toBe(503);
    const posted = await postedUnder('CRASH');
    expect(posted).toBeGreaterThanOrEqual(100);
    expect(posted).toBeLessThan(THREE_SLICES);
    const again = await bulk('payments', items, keyed('crash payments'));
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expect(new Set(codesOf(again))).toEqual(new Set(['created']));
    expect(await postedUnder('CRASH')).toBe(THREE_SLICES);
    const ids = again.body.data.items.map((one: { data: { id: number } }) => one.data.id);
    expect(new Set(ids).size).toBe(THREE_SLICES);
    await expectBooksToBalance(service.context);
  });

  it('does not delay single payments', async () => {
    const items = references('BESIDE', THREE_SLICES).map((item, at) =>
      at < 100 ? item : { ...item, paymentMethodId: 3 },
    );
    let isDone = false;
    let call: Promise<Answer> | undefined;
    // The second slice waits for the lock.
    await whileHolding(service, 'select from payment_methods where id = 3 for update', async (holder) => {
      call = bulk('payments', items).finally(() => {
        isDone = true;
      });
      await eventually(() => waitingForLock(holder)).toHaveLength(1);
      const { id: single } = await newAccount(service);
      for (let n = 0; n < 3; n += 1) await pay(service, single, 1);
      expect(isDone).toBe(false);
      expect(await postedUnder('BESIDE')).toBe(100);
    });
    expect(codesOf((await call) ?? expect.fail())).toEqual(Array(THREE_SLICES).fill('created'));
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
    const refused = await whileHolding(service, lock, () =>
      bulk('payments', items, keyed('late'), impatient),
    );
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
      bulk('payments', [payment(), payment({ accountId: held.id }), payment()], {}, impatient),
    );
    expect(codesOf(answer)).toEqual(['created', 'INTERNAL_ERROR', 'created']);
    expect(answer.body.data.items[1].error.message).toContain('Retry later');
    expect((await accountNow(service, held.id)).paid).toBe(0);
  });
});

describe('a body with very many mistakes', () => {
  const many = (count: number, nameOf: (i: number) => string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [nameOf(i), 1]));
  const problemsOf = ({ error }: { error: { details: { fields: { path: string; message: string }[] } } }) =>
    error.details.fields;
  const tooMany = (path: string) => [
    { path, message: expect.stringMatching(/^must have at most \d+ keys$/) },
  ];

  // A list of all mistakes would take seconds, in which no other request runs. See bulk.timing.test.ts.
  it.each([
    ['malformed metadata keys', { metadata: many(300, (i) => `k ${i}`) }, tooMany('metadata')],
    ['unknown fields', many(400, (i) => `k${i}`), tooMany('body')],
    [
      'as many mistakes as are named',
      { ...many(20, (i) => `unknown${i}`), metadata: many(20, (i) => `k ${i}`), phone: 1, email: 1 },
      { length: 20 },
    ],
  ])('is refused with few problems for each item: %s', async (_what, fields, expected) => {
    const answer = await bulk('customers', Array(100).fill(customer(fields)));
    expect(new Set(codesOf(answer))).toEqual(new Set(['VALIDATION_ERROR']));
    for (const item of outcomesOf(answer)) expect(problemsOf(item)).toMatchObject(expected);
    expect(answer.text.length).toBeLessThan(500_000);
  });

  it.each([
    ['60,000 malformed metadata keys', customer({ metadata: many(60_000, (i) => `k ${i}`) }), 'metadata'],
    ['60,000 unknown fields', many(60_000, (i) => `k${i}`), 'body'],
  ])('is refused with one problem: %s', async (_what, body, path) => {
    const answer = await service.call('POST', '/customers', body);
    expect(answer.status).toBe(400);
    expect(problemsOf(answer.body)).toMatchObject(tooMany(path));
  });
});
