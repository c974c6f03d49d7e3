import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { FIRST_TABLE_OF_PAYMENTS } from '../../src/payments/locks.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newCustomer,
  notify,
  pay,
  paymentNow,
  setToday,
  startInstanceForTest,
  statementsOf,
  type TestService,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import { type Answer, createCaller } from '../support/http.ts';
import { until } from '../support/waiting.ts';

/** Posting in batches. A table lock delays posting, so that requests form one batch. */

const service = useService();

/** An instance that counts the requests whose handlers have begun. */
interface CountingInstance extends Pick<TestService, 'call'> {
  begun(): number;
  origin: string;
  close(): Promise<void>;
}

async function startCountingInstance(): Promise<CountingInstance> {
  const app = buildApp(service.parts);
  let begun = 0;
  app.addHook('preHandler', async () => {
    begun += 1;
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const call = createCaller(`${origin}/api`);
  return {
    origin,
    call: (method, path, body, options) =>
      call(method, path, body, { token: service.adminToken, ...options }),
    begun: () => begun,
    close: () => app.close(),
  };
}

let instance: CountingInstance;
/** The accounts of the payments that are in flight while others wait. */
let ahead: Account[];
beforeAll(async () => {
  setToday(service, '2026-11-02');
  instance = await startCountingInstance();
  ahead = await newAccounts(2);
  return () => instance.close();
});

interface Account {
  id: number;
  accountNumber: string;
}

async function newAccounts(count: number): Promise<Account[]> {
  const { id: customerId } = await newCustomer(service);
  const items = Array.from({ length: count }, () => ({ customerId, productId: 1, payplanId: 2 }));
  const { items: opened } = await dataOf(service.call('POST', '/accounts/bulk', { items }));
  return opened.map(({ data }: { data: Account }) => data);
}

const paidOn = async (accounts: Account[]) =>
  Promise.all(accounts.map(async ({ id }) => (await accountNow(service, id)).paid));

let reference = 0;
beforeEach(() => {
  reference += 1_000;
});
const nextReference = () => `BATCH${++reference}`;

type Sent = Promise<Answer>;

function record(accountId: number, fields: Record<string, unknown> = {}, key?: string, at = instance): Sent {
  const body = { accountId, amount: 100, paymentMethodId: 2, transactionRef: nextReference(), ...fields };
  return at.call('POST', '/payments', body, key ? { headers: { 'idempotency-key': key } } : {});
}

const EVERY_POSTING_WAITS = `lock table ${FIRST_TABLE_OF_PAYMENTS} in access exclusive mode`;

/** Sends requests, and waits until the payments of all of them are in the queue. */
async function sendAll(send: () => Sent[], at = instance): Promise<Sent[]> {
  const before = at.begun();
  const sent = send();
  await until('all requests to arrive', () => at.begun() === before + sent.length);
  await setImmediate(); // Between the start of a handler and the queue, nothing waits for another process.
  return sent;
}

/** Sends requests that are posted in one batch: two others are in flight until all of them have arrived. */
async function sendTogether(send: () => Sent[]): Promise<Sent[]> {
  let sent: Sent[] = [];
  let first: Sent[] = [];
  await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
    first = ahead.map(({ id }) => record(id));
    await until('two batches to be in flight', async () => (await waitingForLock(client)).length === 2);
    sent = await sendAll(send);
  });
  for (const answer of await Promise.all(first)) expect(answer.status, answer.text).toBe(201);
  return sent;
}

async function inOneBatch(send: () => Sent[]): Promise<Answer[]> {
  let answers: Answer[] = [];
  const statements = await statementsOf(async () => {
    answers = await Promise.all(await sendTogether(send));
  });
  batches = statements.filter(({ text }) => text.includes('entries_added')).length - ahead.length;
  return answers;
}
/** The number of batches of the last `inOneBatch`, without the batches that were in flight before. */
let batches = 0;

const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status);

describe('payments that arrive together', () => {
  it('are written by one statement, each with its own answer', async () => {
    const accounts = await newAccounts(12);
    const answers = await inOneBatch(() => accounts.map(({ id }, n) => record(id, { amount: 100 + n })));
    expect(new Set(statusesOf(answers))).toEqual(new Set([201]));
    expect(batches).toBe(1);
    expect(await paidOn(accounts)).toEqual(accounts.map((_, n) => 100 + n));
    for (const [n, { body }] of answers.entries()) {
      expect(body.data).toMatchObject({ accountId: accounts[n]?.id, amount: 100 + n, status: 'matched' });
      const shown = await paymentNow(service, body.data.id);
      expect(shown).toEqual(body.data);
    }
  });

  it('on one account are added up in their order', async () => {
    const [{ id }] = (await newAccounts(1)) as [Account];
    const answers = await inOneBatch(() =>
      Array.from({ length: 20 }, (_, n) => record(id, { amount: n + 1 })),
    );
    expect(new Set(statusesOf(answers))).toEqual(new Set([201]));
    expect(batches).toBe(1);
    expect((await accountNow(service, id)).paid).toBe((20 * 21) / 2);
  });

  it('are refused one by one, without effect on the others', async () => {
    type Seven = [Account, Account, Account, Account, Account, Account, Account];
    const [{ id: full }, ...good] = (await newAccounts(7)) as Seven;
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
      notify(instance, { TransID: nextReference(), BillRefNumber: 'NOBODY' }),
      notify(instance, {
        TransID: nextReference(),
        BillRefNumber: good[5].accountNumber,
        TransAmount: '100',
      }),
    ]);
    expect(statusesOf(answers)).toEqual([
      ...[201, 404, 201, 404, 201, 400, 201, 409, 201, 409],
      ...[400, 422, 201, 200, 200],
    ]);
    expect(answers[12]?.headers.get('idempotent-replayed')).toBe('true');
    expect(answers[13]?.body.data.outcome).toBe('unmatched');
    expect(answers[14]?.body.data.outcome).toBe('matched');
    expect(await paidOn(good)).toEqual([108, 100, 100, 100, 100, 100]);
    await expectBooksToBalance(service.context);
  });

  it('with one transaction id or one key are one payment', async () => {
    const [staff, phone] = (await newAccounts(2)) as [Account, Account];
    const [ref, TransID] = [nextReference(), nextReference()];
    const answers = await inOneBatch(() =>
      Array.from({ length: 20 }, () => [
        record(staff.id, { transactionRef: ref }, 'one key'),
        notify(instance, { TransID, BillRefNumber: phone.accountNumber, TransAmount: '100' }),
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
    expect(await paidOn([staff, phone])).toEqual([100, 100]);
  });

  it('do not exclude each other because their references contain one word', async () => {
    const accounts = await newAccounts(12);
    const answers = await inOneBatch(() =>
      accounts.map(({ id }, n) => record(id, { transactionRef: `RCPT2026-${1000 + n}` })),
    );
    expect(statusesOf(answers)).toEqual(Array(12).fill(201));
    expect(batches).toBe(1);
  });

  it('are one payment if the reference of one contains the transaction id of the other', async () => {
    const accounts = await newAccounts(4);
    const answers = await inOneBatch(() =>
      accounts.flatMap(({ id, accountNumber: BillRefNumber }, n) => {
        const TransID = `SKB2XQ19Z${n}`;
        const byStaff = () => record(id, { transactionRef: `${TransID} Confirmed.` });
        const byProvider = () =>
          notify(instance, { TransID, BillRefNumber, TransAmount: '100', TransTime: '20261102101530' });
        return n % 2 === 0 ? [byStaff(), byProvider()] : [byProvider(), byStaff()];
      }),
    );
    expect(new Set(statusesOf(answers))).toEqual(new Set([200, 201, 409]));
    expect(await paidOn(accounts)).toEqual([100, 100, 100, 100]);
    await expectBooksToBalance(service.context);
  });
});

describe('a batch that fails as a whole', () => {
  it('is posted one by one, so that only the payment that caused the error fails', async () => {
    const accounts = await newAccounts(8);
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
    expect(await paidOn(accounts)).toEqual([100, 100, 100, 0, 100, 100, 100, 100]);
    await expectBooksToBalance(service.context);
  });

  it('because its connection was killed is posted one by one, each payment once', async () => {
    const accounts = await newAccounts(14);
    const sent: Sent[] = [];
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      const kill = async (pids: number[]) => {
        for (const pid of pids) await client.query('select pg_terminate_backend($1)', [pid]);
        await until('the end of the connections', async () => {
          const waiting = await waitingForLock(client);
          return !waiting.some((pid) => pids.includes(pid));
        });
      };
      sent.push(...accounts.slice(0, 2).map(({ id }) => record(id)));
      await until('two batches to be in flight', async () => (await waitingForLock(client)).length === 2);
      sent.push(...(await sendAll(() => accounts.slice(2).map(({ id }) => record(id)))));
      await kill(await waitingForLock(client)); // one payment each; they are answered with 503
      await until('the batch of all others', async () => (await waitingForLock(client)).length > 0);
      await kill(await waitingForLock(client));
    });
    const statuses = statusesOf(await Promise.all(sent));
    expect(statuses).toEqual([503, 503, ...Array(12).fill(201)]);
    expect(await paidOn(accounts)).toEqual([0, 0, ...Array(12).fill(100)]);
    await expectBooksToBalance(service.context);
  });
});

describe('a batch whose commit has an unknown outcome', () => {
  it('is not posted again, and is answered with 503', async () => {
    const accounts = await newAccounts(5);
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
    expect(await paidOn(accounts)).toEqual(Array(5).fill(0));
  });
});

describe('an account that another transaction has locked', () => {
  it('delays only its own payments', async () => {
    const [held, ...others] = (await newAccounts(11)) as [Account, ...Account[]];
    let late: Sent | undefined;
    await whileHolding(service, `select from accounts where id = ${held.id} for update`, async (client) => {
      let isPosted = false;
      const [first, ...beside] = await sendTogether(() => [held, ...others].map(({ id }) => record(id)));
      late = first?.finally(() => {
        isPosted = true;
      });
      const waiting: number[] = [];
      for (let wave = 0; wave < 5; wave += 1) {
        const sent = wave === 0 ? beside : others.map(({ id }) => record(id));
        expect(statusesOf(await Promise.all(sent))).toEqual(Array(10).fill(201));
        waiting.push(...(await waitingForLock(client)));
      }
      // A batch that waits for the lock would hold all of its payments.
      expect(waiting).toEqual([]);
      expect(isPosted).toBe(false);
    });
    expect((await late)?.status).toBe(201);
    expect(await paidOn([held, ...others])).toEqual([100, ...Array(10).fill(500)]);
  });

  it('for too long is answered with 503, and nothing is posted', async () => {
    const impatient = await startInstanceForTest(service, {}, { postingMs: 50 });
    const [account] = (await newAccounts(1)) as [Account];
    const lock = `select from accounts where id = ${account.id} for update`;
    await whileHolding(service, lock, async () => {
      const { status, headers, body } = await post(
        impatient,
        account.id,
        nextReference(),
        'a key of its own',
      );
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('1');
      expect(body.error.code).toBe('INTERNAL_ERROR');
    });
    expect(await paidOn([account])).toEqual([0]);
  });
});

const post = (at: Pick<TestService, 'call'>, accountId: number, transactionRef: string, key?: string) =>
  at.call(
    'POST',
    '/payments',
    { accountId, amount: 100, paymentMethodId: 2, transactionRef },
    { token: service.adminToken, ...(key && { headers: { 'idempotency-key': key } }) },
  );

describe('two instances', () => {
  it('post each reference once when they get the same references in opposite orders', async () => {
    const other = await startInstanceForTest(service);
    const accounts = await newAccounts(15);
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
    expect(await paidOn(all)).toEqual(all.map(() => 200));
    await expectBooksToBalance(service.context);
  });

  it('add up the payments that they receive at the same time for one account', async () => {
    const other = await startInstanceForTest(service);
    const [account] = (await newAccounts(1)) as [Account];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => post(n % 2 ? other : service, account.id, nextReference())),
    );
    expect(new Set(statusesOf(answers))).toEqual(new Set([201]));
    expect(await paidOn([account])).toEqual([4000]);
    await expectBooksToBalance(service.context);
  });

  it('post one payment for many requests with one key, and give all of them its answer', async () => {
    const other = await startInstanceForTest(service);
    const [account] = (await newAccounts(1)) as [Account];
    const { id } = account;
    const ref = nextReference();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => post(n % 2 ? other : service, id, ref, 'one key for two')),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(await paidOn([account])).toEqual([100]);
  });
});

describe('a payment that waits for payment_methods', () => {
  it('holds no lock on a table, so that a migration can lock payment_methods first, and then the others', async () => {
    const [{ id }] = (await newAccounts(1)) as [Account];
    let sent: Sent | undefined;
    let waiting: number[] = [];
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      sent = record(id, { externalId: 'locks' }, 'a key of the test');
      await until('the payment to wait', async () => {
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
    const accounts = await newAccounts(30);
    const stopping = await startCountingInstance();
    let sent: Sent[] = [];
    let closed: Promise<void> | undefined;
    await whileHolding(service, EVERY_POSTING_WAITS, async (client) => {
      sent = await sendAll(() => accounts.map(({ id }) => record(id, {}, undefined, stopping)), stopping);
      await until('two batches to be in flight', async () => (await waitingForLock(client)).length === 2);
      closed = stopping.close();
      await until('the instance to refuse new requests', async () => {
        const answer = await fetch(`${stopping.origin}/api/payments`).catch(() => undefined);
        return answer === undefined || answer.status === 503;
      });
    });
    expect(new Set(statusesOf(await Promise.all(sent)))).toEqual(new Set([201]));
    await closed;
    expect(await paidOn(accounts)).toEqual(accounts.map(() => 100));
  });
});
