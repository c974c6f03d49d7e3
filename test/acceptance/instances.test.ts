import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PROOF_TASK } from '../../src/reports/proof/check-books-unattended.ts';
import { notification } from '../support/http.ts';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import {
  cents,
  inParallel,
  inTurn,
  openAccount,
  read,
  readPayments,
  registerAdmin,
  signIn,
  sumOf,
} from './client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  emptyDatabase,
  NO_RATE_LIMITS,
  newDatabase,
  ROOT,
  type RunningService,
  report,
  startService,
} from './process.ts';

cleanUpAfterwards();

const redisUrl = inject('redisUrl');
const redis: Environment = redisUrl ? { REDIS_URL: redisUrl } : {};
if (!redisUrl) report('instances: TEST_REDIS_URL is not set, so limits over instances are not tested');

let url: string;
let instances: RunningService[] = [];
let token: string;

beforeAll(async () => {
  url = await emptyDatabase();
  instances = await Promise.all([1, 2, 3].map(() => start({ ...NO_RATE_LIMITS, TEST_CLOCK: 'on' })));
  token = await registerAdmin(instance(0));
});

afterAll(() => Promise.all(instances.map((service) => service.stop())));

describe('three instances', () => {
  test('started together on an empty database migrate it once and add the demo catalogue once', async () => {
    const files = (await readdir(join(ROOT, 'migrations'))).filter((name) => name.endsWith('.sql'));
    const applied = await query<{ name: string }>('select name from kysely_migration order by name');
    expect(applied.map(({ name }) => `${name}.sql`)).toEqual(files.sort());
    const who = instances.filter((service) => service.output().includes('Migrated the database'));
    const filled = instances.filter((service) => service.output().includes('Added a demo catalogue'));
    expect([who.length, filled.length]).toEqual([1, 1]);
    for (const service of instances) {
      expect(await read(service, token, '/products')).toHaveLength(5);
      expect(await read(service, token, '/payment-methods')).toHaveLength(4);
    }
  });

  test('post 2,000 concurrent payments of odd cents to one account, exact to the cent', async () => {
    const account = await openAccount(instance(0), token);
    const amounts = Array.from({ length: 2_000 }, (_, n) => 1 + ((n * 7_919) % 2_999));
    const began = Date.now();
    await inParallel(40, amounts, async (amount, n) => {
      const body = {
        accountId: account.id,
        amount: amount / 100,
        paymentMethodId: 1 + (n % 4),
        transactionRef: `ODD-${n}`,
      };
      const answer = await instance(n).call('POST', '/payments', body, { token });
      expect(answer.status, answer.text).toBe(201);
    });
    const sum = sumOf(amounts);
    report(`instances: 2,000 payments in ${Date.now() - began} ms, ${sum / 100} in all`);

    for (const service of instances) {
      const { paid, balance, credit, status } = await read(service, token, `/accounts/${account.id}`);
      expect(cents(paid)).toBe(sum);
      expect(cents(balance)).toBe(Math.max(0, cents(account.total) - sum));
      expect(cents(credit)).toBe(Math.max(0, sum - cents(account.total)));
      expect(status).toBe('completed');
    }
    const payments = await readPayments(instance(1), token, account.id);
    expect(payments.map(({ amount }) => cents(amount)).sort()).toEqual([...amounts].sort());
    await expectBooksToHold(url);
  });

  test('post a notification once when it arrives 50 times at the same time', async () => {
    const account = await openAccount(instance(0), token);
    const body = notification({ TransAmount: '401.37', BillRefNumber: account.accountNumber });
    const answers = await inParallel(50, Array.from({ length: 50 }), (_, n) =>
      instance(n).call('POST', '/webhooks/payments/mobilemoney', body),
    );
    for (const answer of answers) {
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body).toMatchObject({ success: true, ResultCode: 0 });
    }
    const outcomes = answers.map((answer) => answer.body.data.outcome);
    expect(outcomes.filter((outcome) => outcome !== 'repeated')).toEqual(['matched']);
    expect(await readPayments(instance(2), token, account.id)).toMatchObject([
      { amount: 401.37, transactionRef: body.TransID, status: 'matched' },
    ]);
    const { paid, balance } = await read(instance(1), token, `/accounts/${account.id}`);
    expect([cents(paid), cents(balance)]).toEqual([40_137, cents(account.total) - 40_137]);
    await expectBooksToHold(url);
  });

  test('accept one of 30 concurrent payments with the same reference', async () => {
    const account = await openAccount(instance(0), token);
    const body = { accountId: account.id, amount: 12.34, paymentMethodId: 2, transactionRef: 'RECEIPT-7' };
    const answers = await inParallel(30, Array.from({ length: 30 }), (_, n) =>
      instance(n).call('POST', '/payments', body, { token }),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 29 }, () => 409)]);
    expect((await read(instance(1), token, `/accounts/${account.id}`)).paid).toBe(12.34);
  });

  test('activate each pending account once on its activation date', async () => {
    const tomorrow = dayAfter(await businessDay());
    const ids = await inParallel(8, Array.from({ length: 120 }), async (_, n) => {
      const account = await openAccount(instance(n), token, { activationDate: tomorrow });
      expect(account.status).toBe('pending');
      return account.id;
    });
    const noon = { now: `${tomorrow}T09:00:00Z` };
    const answers = await Promise.all(
      instances.map((service) => service.call('PUT', '/test/clock', noon, { token })),
    );
    for (const answer of answers) expect(answer.status, answer.text).toBe(200);

    await inParallel(8, ids, async (id, n) => {
      expect((await read(instance(n), token, `/accounts/${id}`)).status).toBe('active');
      const history = await read(instance(n), token, `/accounts/${id}/history`);
      expect(history.map(({ from, to }: { from: string | null; to: string }) => [from, to])).toEqual([
        ['pending', 'active'],
        [null, 'pending'],
      ]);
      expect(history[0].createdAt.slice(0, 10)).toBe(tomorrow); // written by that clock, too
    });
    for (const service of instances) {
      expect((await service.call('PUT', '/test/clock', { now: null }, { token })).status).toBe(200);
    }
  });

  test('run the minute jobs on one instance at a time', async () => {
    const { id } = await openAccount(instance(0), token, { activationDate: dayAfter(await businessDay()) });
    await query('update accounts set activation_date = activation_date - 1 where id = $1', [id]);
    await query(`update graphile_worker._private_job_queues set locked_by = 'another instance', locked_at = now()
      where queue_name = 'minute-jobs'`);
    try {
      const idle = await start(NO_RATE_LIMITS); // An instance adds a minute job as it starts.
      // A worker that takes this later job has left out the minute job.
      await query(
        `select graphile_worker.add_job('${PROOF_TASK}', queue_name := 'a queue of this test', job_key := 'later')`,
      );
      await eventually(() => query(`select from graphile_worker.jobs where key = 'later'`)).toEqual([]);
      expect((await read(idle, token, `/accounts/${id}`)).status).toBe('pending');
      expect((await idle.stop()).status).toBe(0);
    } finally {
      await query(`select graphile_worker.force_unlock_workers('{another instance}')`);
    }
    const next = await start(NO_RATE_LIMITS);
    await eventually(async () => (await read(next, token, `/accounts/${id}`)).status).toBe('active');
    expect((await next.stop()).status).toBe(0);
  });

  test('end a session on all instances after a logout', async () => {
    const session = { token: await signIn(instance(0), 'admin@example.com') };
    for (const service of instances) {
      expect((await service.call('GET', '/auth/me', undefined, session)).status).toBe(200);
    }
    expect((await instance(0).call('POST', '/auth/logout', undefined, session)).status).toBe(200);
    for (const service of instances) {
      await eventually(async () => (await service.call('GET', '/auth/me', undefined, session)).status).toBe(
        401,
      );
    }
    expect((await instance(1).call('GET', '/auth/me', undefined, { token })).status).toBe(200);
  });
});

describe.skipIf(!redisUrl)('three instances that share a Redis', () => {
  const LIMIT = 40;
  // Other programs may use the same Redis. The address and the user id below are unique to this test.
  const caller = { headers: { 'x-forwarded-for': `10.${[1, 2, 3].map(randomByte).join('.')}` } };
  let limited: RunningService[] = [];

  beforeAll(async () => {
    const DATABASE_URL = await newDatabase();
    const environment = { DATABASE_URL, RATE_LIMIT_GENERAL: String(LIMIT), TRUST_PROXY: '127.0.0.1/32' };
    limited = await Promise.all([1, 2, 3].map(() => start(environment)));
    await runStatement(
      DATABASE_URL,
      `alter table users alter column id restart with ${Math.floor(Math.random() * 1e9)}`,
    );
  });

  afterAll(() => Promise.all(limited.map((service) => service.stop())));

  test('allow a user exactly the limit, over all instances', async () => {
    const user = await registerAdmin(inTurn(limited, 0), caller.headers);
    const answers = await inParallel(30, Array.from({ length: 3 * LIMIT }), (_, n) =>
      inTurn(limited, n).call('GET', '/products', undefined, { token: user }),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(200), count(429)]).toEqual([LIMIT, 2 * LIMIT]);
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('allow an address exactly five sign-ins, over all instances', async () => {
    const body = { email: 'nobody@example.com', password: 'not the password' };
    const answers = await inParallel(15, Array.from({ length: 15 }), (_, n) =>
      inTurn(limited, n).call('POST', '/auth/login', body, caller),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([401, 401, 401, 401, 401, ...Array.from({ length: 10 }, () => 429)]);
  });
});

function start(environment: Environment): Promise<RunningService> {
  return startService({ ...redis, DATABASE_URL: url, ...environment });
}

/** Returns the instances in turn. */
function instance(n: number): RunningService {
  return inTurn(instances, n);
}

function randomByte(): number {
  return Math.floor(Math.random() * 256);
}

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await runStatement(url, text, values)).rows;
}

/** Today by the clock of the database, in the business time zone. */
async function businessDay(): Promise<string> {
  const [row] = await query<{ day: string }>(
    `select (now() at time zone 'Africa/Nairobi')::date::text as day`,
  );
  return row?.day ?? '';
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}
