import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { FIRST_TABLE_OF_PAYMENTS } from '../../src/payments/posting/rules.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  newAccount,
  notify,
  pay,
  setToday,
  startInstance,
  startInstanceForTest,
  statementsOf,
  type TestService,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

/** Posting in batches. A table lock delays posting, so that requests form one batch. */

vi.setConfig({ testTimeout: 30_000 });

const service = useService();
beforeAll(() => setToday(service, '2026-11-02'));

let reference = 0;
beforeEach(() => {
  reference += 1_000;
});
const nextReference = () => `BATCH${++reference}`;

type Sent = Promise<Answer>;

function record(accountId: number, fields: Record<string, unknown> = {}, key?: string): Sent {
  const body = { accountId, amount: 100, paymentMethodId: 2, transactionRef: nextReference(), ...fields };
  return service.call('POST', '/payments', body, key ? { headers: { 'idempotency-key': key } } : {});
}

const EVERY_POSTING_WAITS = `lock table ${FIRST_TABLE_OF_PAYMENTS} in access exclusive mode`;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(10);
}

/** Sends requests that are posted in one batch: two others are in flight until all of them have arrived. */
async function inOneBatch(send: () => Sent[]): Promise<Answer[]> {
  const others = await Promise.all([newAccount(service), newAccount(service)]);
  let sent: Sent[] = [];
  let ahead: Sent[] = [];
  const statements = await statementsOf(async () => {
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      ahead = others.map(({ id }) => record(id));
      await until(async () => (await waitingForLock(client)).length === 2);
      sent = send();
      await delay(1_000); // All have arrived, also on a busy machine.
    });
    await Promise.all([...ahead, ...sent]);
  });
  for (const answer of await Promise.all(ahead)) expect(answer.status, answer.text).toBe(201);
  batches = statements.filter(({ text }) => text.includes('entries_added')).length - ahead.length;
  return Promise.all(sent);
}
/** The number of batches of the last `inOneBatch`, without the batches that were in flight before. */
let batches = 0;

const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status);

describe('payments that arrive together', () => {
  it('are written by one statement, each with its own answer', async () => {
    const accounts = await Promise.all(Array.from({ length: 30 }, () => newAccount(service)));
    const answers = await inOneBatch(() => accounts.map(({ id }, n) => record(id, { amount: 100 + n })));
    expect(new Set(statusesOf(answers))).toEqual(new Set([201]));
    expect(batches).toBe(1);
    for (const [n, { body }] of answers.entries()) {
      expect(body.data).toMatchObject({ accountId: accounts[n].id, amount: 100 + n, status: 'matched' });
      expect((await accountNow(service, accounts[n].id)).paid).toBe(100 + n);
      const shown = await service.call('GET', `/payments/${body.data.id}`);
      expect(shown.body.data).toEqual(body.data);
    }
  });

  it('on one account are added up in their order', async () => {
    const { id } = await newAccount(service);
    const answers = await inOneBatch(() =>
      Array.from({ length: 50 }, (_, n) => record(id, { amount: n + 1 })),
    );
    expect(new Set(statusesOf(answers))).toEqual(new Set([201]));
    expect(batches).toBe(1);
    expect((await accountNow(service, id)).paid).toBe((50 * 51) / 2);
  });

  it('are refused one by one, without effect on the others', async () => {
    const good = await Promise.all(Array.from({ length: 6 }, () => newAccount(service)));
    const { id: full } = await newAccount(service);
    for (let n = 0; n < 10; n++) await pay(service, full, 999_999_999_999.99);
    const method = await service.call('POST', '/payment-methods', { code: 'cowries', name: 'Cowries' });
    await service.call('PUT', `/payment-methods/${method.body.data.id}`, { active: false });
    const { transactionRef: known } = await pay(service, good[0].id, 1, { transactionRef: nextReference() });
    const inBatch = nextReference();
    await record(good[0].id, { amount: 7, transactionRef: 'OLDKEY' }, 'a key that was used');

    const answers = await inOneBatch(() => [
      record(good[0].id),
      record(999_999_999),
      record(good[1].id),
      record(good[1].id, { paymentMethodId: 999_999 }),
      record(good[2].id),
      record(good[2].id, { paymentMethodId: method.body.data.id }),
      record(good[3].id),
      record(good[3].id, { transactionRef: known }),
      record(good[4].id, { transactionRef: inBatch }),
      record(good[5].id, { transactionRef: inBatch }),
      record(full, { amount: 999_999_999_999.99 }),
      record(good[5].id, {}, 'a key that was used'),
      record(good[0].id, { amount: 7, transactionRef: 'OLDKEY' }, 'a key that was used'),
      notify(service, { TransID: nextReference(), BillRefNumber: 'NOBODY' }),
      notify(service, { TransID: nextReference(), BillRefNumber: good[5].accountNumber, TransAmount: '100' }),
    ]);
    expect(statusesOf(answers)).toEqual([
      ...[201, 404, 201, 404, 201, 400, 201, 409, 201, 409],
      ...[400, 422, 201, 200, 200],
    ]);
    expect(answers[12]?.headers.get('idempotent-replayed')).toBe('true');
    expect(answers[13]?.body.data.outcome).toBe('unmatched');
    expect(answers[14]?.body.data.outcome).toBe('matched');
    const paid = await Promise.all(good.map(async ({ id }) => (await accountNow(service, id)).paid));
    expect(paid).toEqual([108, 100, 100, 100, 100, 100]);
    await expectBooksToBalance(service.context);
  });

  it('with one transaction id or one key are one payment', async () => {
    const [staff, phone] = [await newAccount(service), await newAccount(service)];
    const [ref, TransID] = [nextReference(), nextReference()];
    const answers = await inOneBatch(() =>
      Array.from({ length: 20 }, () => [
        record(staff.id, { transactionRef: ref }, 'one key'),
        notify(service, { TransID, BillRefNumber: phone.accountNumber, TransAmount: '100' }),
      ]).flat(),
    );
    const [recorded, notified] = [
      answers.filter((_, n) => n % 2 === 0),
      answers.filter((_, n) => n % 2 === 1),
    ];
    expect(new Set(recorded.map(({ text }) => text)).size).toBe(1);
    expect(new Set(statusesOf(recorded))).toEqual(new Set([201]));
    const outcomes = notified.map(({ body }) => body.data.outcome).sort();
    expect(outcomes).toEqual(['matched', ...Array(19).fill('repeated')]);
    expect((await accountNow(service, staff.id)).paid).toBe(100);
    expect((await accountNow(service, phone.id)).paid).toBe(100);
  });
});

describe('a batch that fails as a whole', () => {
  it('is posted one by one, so that only the payment that caused the error fails', async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => newAccount(service)));
    await service.parts.pool.query(
      'alter table payments add constraint poison check (amount_minor <> 66600) not valid',
    );
    try {
      const answers = await inOneBatch(() =>
        accounts.map(({ id }, n) => record(id, { amount: n === 3 ? 666 : 100 })),
      );
      expect(statusesOf(answers)).toEqual([201, 201, 201, 500, 201, 201, 201, 201]);
    } finally {
      await service.parts.pool.query('alter table payments drop constraint poison');
    }
    const paid = await Promise.all(accounts.map(async ({ id }) => (await accountNow(service, id)).paid));
    expect(paid).toEqual([100, 100, 100, 0, 100, 100, 100, 100]);
    await expectBooksToBalance(service.context);
  });

  it('because its connection was killed is posted one by one, each payment once', async () => {
    const accounts = await Promise.all(Array.from({ length: 14 }, () => newAccount(service)));
    const sent: Sent[] = [];
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      const kill = async (pids: number[]) => {
        for (const pid of pids) await client.query('select pg_terminate_backend($1)', [pid]);
        await until(async () => !(await waitingForLock(client)).some((pid) => pids.includes(pid)));
      };
      sent.push(...accounts.map(({ id }) => record(id)));
      await until(async () => (await waitingForLock(client)).length === 2);
      await delay(200);
      await kill(await waitingForLock(client)); // one payment each; they are answered with 503
      await until(async () => (await waitingForLock(client)).length > 0);
      await kill(await waitingForLock(client)); // the batch of all others
    });
    const statuses = statusesOf(await Promise.all(sent));
    expect(statuses).toEqual([503, 503, ...Array(12).fill(201)]);
    const paid = await Promise.all(accounts.map(async ({ id }) => (await accountNow(service, id)).paid));
    expect(paid).toEqual([0, 0, ...Array(12).fill(100)]);
    await expectBooksToBalance(service.context);
  });
});

describe('a batch whose commit has an unknown outcome', () => {
  it('is not posted again, and is answered with 503', async () => {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => newAccount(service)));
    const { pool } = service.parts;
    // The error of a pooler that has lost its connection to PostgreSQL.
    await pool.query(`
      create function lose() returns trigger language plpgsql as $$
      begin raise exception 'server conn crashed?' using errcode = '08P01'; end $$;
      create constraint trigger lose after insert on payments deferrable initially deferred for each row
        when (new.amount_minor = 66600) execute function lose()`);
    try {
      const answers = await inOneBatch(() =>
        accounts.map(({ id }, n) => record(id, { amount: n === 3 ? 666 : 100 })),
      );
      expect(statusesOf(answers)).toEqual(Array(5).fill(503));
      expect(batches).toBe(1);
    } finally {
      await pool.query('drop trigger lose on payments; drop function lose');
    }
    for (const { id } of accounts) expect((await accountNow(service, id)).paid).toBe(0);
  });
});

describe('an account that another transaction has locked', () => {
  it('delays only its own payments', async () => {
    // The control is an instance without such a payment. The load of the machine affects both in the same way.
    const control = await startInstanceForTest(service);
    const [held, ...others] = await Promise.all(Array.from({ length: 21 }, () => newAccount(service)));
    const timed = async (at: Pick<TestService, 'call'>, accountId: number) => {
      const body = { accountId, amount: 100, paymentMethodId: 2, transactionRef: nextReference() };
      const began = performance.now();
      expect((await at.call('POST', '/payments', body, { token: service.adminToken })).status).toBe(201);
      return performance.now() - began;
    };
    let late: Promise<number> | undefined;
    const timedForTwoSeconds = async (at: Pick<TestService, 'call'>, accounts: typeof others) => {
      const times: number[] = [];
      const began = performance.now();
      while (performance.now() - began < 2_000) {
        const wave = accounts.map(({ id }) => timed(at, id));
        if (at === service) late ??= timed(service, held.id); // In a batch with some of the first wave.
        times.push(...(await Promise.all(wave)));
      }
      return times.sort((a, b) => a - b);
    };
    const [beside, usual] = await whileHolding(
      service,
      `select from accounts where id = ${held.id} for update`,
      () =>
        Promise.all([
          timedForTwoSeconds(service, others.slice(0, 10)),
          timedForTwoSeconds(control, others.slice(10)),
        ]),
    );
    expect(await late).toBeGreaterThan(1_900);
    expect(await late).toBeLessThan(3_000);
    // A batch that waits for the lock would hold its payments for two seconds.
    const percentile = (times: number[], share: number) =>
      times[Math.min(Math.floor(times.length * share), times.length - 1)] ?? Number.NaN;
    expect(percentile(beside, 0.95) - percentile(usual, 0.95)).toBeLessThan(100);
    expect(percentile(beside, 1) - percentile(usual, 1)).toBeLessThan(1_000);
  });

  it('for too long is answered with 503, and nothing is posted', async () => {
    const { id } = await newAccount(service);
    await whileHolding(service, `select from accounts where id = ${id} for update`, async () => {
      const { status, headers, body } = await record(id, {}, 'a key of its own');
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('1');
      expect(body.error.code).toBe('INTERNAL_ERROR');
    });
    expect((await accountNow(service, id)).paid).toBe(0);
  });
});

describe('two instances', () => {
  const post = (at: Pick<TestService, 'call'>, accountId: number, transactionRef: string, key?: string) =>
    at.call(
      'POST',
      '/payments',
      { accountId, amount: 100, paymentMethodId: 2, transactionRef },
      { token: service.adminToken, ...(key && { headers: { 'idempotency-key': key } }) },
    );

  it('post each reference once when they get the same references in opposite orders', async () => {
    const other = await startInstanceForTest(service);
    const accounts = await Promise.all(Array.from({ length: 40 }, () => newAccount(service)));
    const all = accounts.map(({ id, accountNumber }) => ({ id, accountNumber, ref: nextReference() }));
    const report = (at: Pick<TestService, 'call'>, one: (typeof all)[number]) =>
      notify(at, { TransID: one.ref, BillRefNumber: one.accountNumber, TransAmount: '100' });
    for (const send of [
      (at: Pick<TestService, 'call'>, one: (typeof all)[number]) => post(at, one.id, `${one.ref}H`),
      report,
    ]) {
      const answers = await Promise.all([
        ...all.map((one) => send(service, one)),
        ...[...all].reverse().map((one) => send(other, one)),
      ]);
      for (const [n, one] of all.entries()) {
        const pair = [answers[n], answers[2 * all.length - 1 - n]] as Answer[];
        expect(statusesOf(pair).sort(), one.ref).toEqual(send === report ? [200, 200] : [201, 409]);
      }
    }
    for (const { id } of all) expect((await accountNow(service, id)).paid).toBe(200);
    await expectBooksToBalance(service.context);
  });

  it('post one payment for many requests with one key, and give all of them its answer', async () => {
    const other = await startInstanceForTest(service);
    const { id } = await newAccount(service);
    const ref = nextReference();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => post(n % 2 ? other : service, id, ref, 'one key for two')),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect((await accountNow(service, id)).paid).toBe(100);
  });
});

describe('a payment that waits for payment_methods', () => {
  it('holds no lock on a table, so that a migration can lock payment_methods first, and then the others', async () => {
    const { id } = await newAccount(service);
    let sent: Sent | undefined;
    let waiting: number[] = [];
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      sent = record(id, { externalId: 'locks' }, 'a key of the test');
      await until(async () => {
        waiting = await waitingForLock(client);
        return waiting.length === 1;
      });
      const { rows } = await client.query(
        `select relname from pg_locks join pg_class c on c.oid = relation
        where granted and relnamespace = 'public'::regnamespace and pid = any($1)`,
        [waiting],
      );
      expect(rows).toEqual([]);
    });
    expect((await sent)?.status).toBe(201);
  });
});

describe('a stop', () => {
  it('posts and answers all waiting payments', async () => {
    const accounts = await Promise.all(Array.from({ length: 100 }, () => newAccount(service)));
    const other = await startInstance(service);
    let sent: Sent[] = [];
    let closed: Promise<void> | undefined;
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      sent = accounts.map(({ id }) =>
        other.call(
          'POST',
          '/payments',
          { accountId: id, amount: 100, paymentMethodId: 2, transactionRef: nextReference() },
          { token: service.adminToken },
        ),
      );
      await until(async () => (await waitingForLock(client)).length === 2);
      await delay(400);
      closed = other.close();
      await delay(200);
    });
    expect(new Set(statusesOf(await Promise.all(sent)))).toEqual(new Set([201]));
    await closed;
    for (const { id } of accounts) expect((await accountNow(service, id)).paid).toBe(100);
  });
});
