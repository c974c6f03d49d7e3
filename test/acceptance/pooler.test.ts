import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PayingClients, send, startPaying, strangeOf } from '../faults/clients.ts';
import { createPostgres, type FragilePostgres } from '../faults/postgres.ts';
import { notification } from '../support/http.ts';
import { runStatement } from '../support/statements.ts';
import { eventually, until, untilPasses } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import {
  cents,
  createAdmin,
  inParallel,
  inTurn,
  openAccount,
  read,
  readPayments,
  registerAdmin,
  STATEMENT_HEADER,
  statementLine,
} from './client.ts';
import { nextVersion } from './next-version.ts';
import { createPgBouncer, hasPgBouncer, type PgBouncer } from './pgbouncer.ts';
import {
  cleanUpAfterwards,
  type Ended,
  type Environment,
  failToStart,
  NO_RATE_LIMITS,
  newFolder,
  type RunningService,
  report,
  runCli,
  startService,
} from './process.ts';

cleanUpAfterwards();

if (!hasPgBouncer) report('pooler: PgBouncer is not installed, so the service behind it is not tested');

const ROLE = 'pooled';
/** The maximum of PgBouncer's connections to PostgreSQL. It is less than the pool size of an instance, 8. */
const POOL_SIZE = 4;

/** The exclusive advisory locks in this database. Shared locks are not counted: the job queues hold them on direct connections. */
const EXCLUSIVE_LOCKS = `select from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
  where locktype = 'advisory' and mode = 'ExclusiveLock'`;

describe.skipIf(!hasPgBouncer)('behind PgBouncer in transaction mode', () => {
  let postgres: FragilePostgres;
  let pooler: PgBouncer;
  let admin: string; // a superuser's address of the database
  let direct: string;
  let environment: Environment;
  let instances: RunningService[] = [];
  let token: string;

  beforeAll(async () => {
    postgres = await createPostgres();
    await postgres.start();
    admin = await postgres.newDatabase();
    await runStatement(admin, `create role ${ROLE} login`);
    direct = await ownedBy(ROLE, admin);
    // PgBouncer adds the client's host to the application name. This shows which connections of PostgreSQL belong to the pooler.
    pooler = await createPgBouncer(direct, [
      `default_pool_size = ${POOL_SIZE}`,
      'application_name_add_host = 1',
    ]);
    await pooler.start();
    environment = {
      ...NO_RATE_LIMITS,
      DATABASE_URL: pooler.throughPooler(direct),
      DATABASE_DIRECT_URL: direct,
      LOG_LEVEL: 'warn',
    };
  });

  afterAll(async () => {
    await pooler.stop();
    await postgres.stop('fast');
  });

  test('does not start without a direct address, whether the pooler refuses or drops unknown settings', async () => {
    const dropping = await createPgBouncer(direct, [
      'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout',
    ]);
    await dropping.start();
    try {
      const through = [pooler, dropping].map((each) => each.throughPooler(direct));
      for (const DATABASE_URL of through) {
        expectRefusal(
          await failToStart({ DATABASE_URL }),
          /^DATABASE_URL is the address of a pooler.*Set DATABASE_DIRECT_URL/,
        );
        const twice = { DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL };
        expectRefusal(await failToStart(twice), /^DATABASE_DIRECT_URL is the address of a pooler/);
        const backup = await runCli('backup', { DATABASE_URL }, 'no.gz');
        expectRefusal(backup, /^DATABASE_URL is the address of a pooler/);
      }
    } finally {
      await dropping.stop();
    }
    expect(await rowsOf(EXCLUSIVE_LOCKS)).toEqual([]);
  });

  test('does not start if the two addresses belong to different databases', async () => {
    const other = await ownedBy(ROLE, await postgres.newDatabase());
    expectRefusal(
      await failToStart({ ...environment, DATABASE_DIRECT_URL: other }),
      /^DATABASE_URL and DATABASE_DIRECT_URL must be addresses of the same database\.$/,
    );
  });

  test('does not start if requests have no time-outs, and explains how to set them', async () => {
    const role = 'without_limits';
    await runStatement(admin, `create role ${role} login`);
    const ownAdmin = await postgres.newDatabase();
    const own = await ownedBy(role, ownAdmin);
    const ownPooler = await createPgBouncer(own, []);
    await ownPooler.start();
    try {
      const DATABASE_URL = ownPooler.throughPooler(own);
      const start = () => failToStart({ ...environment, DATABASE_URL, DATABASE_DIRECT_URL: own });
      const ended = await start();
      expectRefusal(
        ended,
        /Run: (alter role without_limits set \w+ = '\d+s'; ){3}Then make the pooler open new connections/,
      );
      const tables = await runStatement(ownAdmin, `select from pg_tables where schemaname = 'public'`);
      expect(tables.rowCount).toBe(0);
      await runSuggestions(ended);
      await runStatement(admin, `alter role ${role} set lock_timeout = '1min'`);
      await ownPooler.reconnect();
      expectRefusal(await start(), /Run: alter role without_limits set lock_timeout = '3s'; Then/);
    } finally {
      await ownPooler.stop();
    }
  });

  describe('two instances', () => {
    beforeAll(async () => {
      await runSuggestions(await failToStart(environment));
      await pooler.reconnect();
      instances = await Promise.all([startService(environment), startService(environment)]);
      token = await registerAdmin(instance(0));
    });

    afterAll(() => Promise.all(instances.map((service) => service.stop())));

    test('start together and neither lose nor double payments, notifications and repeats', async () => {
      const paying = await payThroughBoth(32);
      const account = await openAccount(instance(1), token);
      const body = notification({ TransAmount: '401.37', BillRefNumber: account.accountNumber });
      const answers = await inParallel(30, Array.from({ length: 30 }), (_, n) =>
        instance(n).call('POST', '/webhooks/payments/mobilemoney', body),
      );
      const outcomes = answers.map((answer) => answer.body.data.outcome);
      // A repeat that waits too long for the first one is stored and retried.
      expect(outcomes.filter((outcome) => outcome !== 'repeated' && outcome !== 'pending')).toEqual([
        'matched',
      ]);
      const payment = { accountId: account.id, amount: 12.34, paymentMethodId: 1 };
      const headers = { 'idempotency-key': 'the same' };
      const payOnce = (n: number) => instance(n).call('POST', '/payments', payment, { token, headers });
      const paid = await inParallel(30, Array.from({ length: 30 }), (_, n) =>
        untilPasses(async () => {
          const answer = await payOnce(n);
          // A call that waits too long for the first one gets Retry-After.
          expect(answer.headers.has('retry-after'), answer.text).toBe(false);
          return answer;
        }),
      );
      expect(new Set(paid.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(paid[0]?.status).toBe(201);
      const payments = await readPayments(instance(0), token, account.id);
      expect(payments.map(({ amount }) => cents(amount)).sort()).toEqual([1_234, 40_137]);

      const backends = await rowsOf<{ pid: number; name: string }>(
        `select pid, application_name as name from pg_stat_activity
          where usename = '${ROLE}' and datname = current_database()`,
      );
      const pooled = backends.filter(({ name }) => name.includes(' - 127.0.0.1:'));
      expect(pooled).toHaveLength(POOL_SIZE);
      report(`pooler: ${await expectAllPaid(paying, instance(1))}`);
      await expectBooksToHold(direct);
    });

    test('exports, the proof and summaries bypass the pooler while clients pay', async () => {
      const paying = await payThroughBoth();
      await untilPaid(paying, 20);
      const period = 'startDate=2026-01-01&endDate=2026-01-31';
      const proof = await read(instance(1), token, '/reports/proof?date=2026-01-05');
      expect(proof.holds).toBe(true);
      await read(instance(1), token, `/reports/accounts/summary?${period}`);
      const csv = await instance(0).call('GET', `/reports/payments?format=csv&${period}`, undefined, {
        token,
      });
      expect(csv.status).toBe(200);
      expect(csv.text.split('\r\n').length).toBeGreaterThan(10);
      const backends = await rowsOf<{ name: string }>(
        `select distinct application_name as name from pg_stat_activity where usename = '${ROLE}'`,
      );
      const names = backends.map(({ name }) => name);
      expect(names).toContain('account-management-service export');
      expect(names).toContain('account-management-service'); // the proof and the summary
      expect(names.filter((name) => name.includes(' export - '))).toEqual([]);
      await expectAllPaid(paying, instance(0));
    });

    test('an upload may take longer than the time-outs of the role', async () => {
      const account = await openAccount(instance(0), token);
      const lines = Array.from({ length: 50 }, (_, n) => statementLine(`POOL${n}`, account.accountNumber));
      async function* slowly() {
        yield STATEMENT_HEADER;
        for (const part of [lines.slice(0, 25), lines.slice(25)]) {
          await sleep(500); // Longer than the time-outs of the role.
          yield part.join('');
        }
      }
      const id = await whileRoleHas(
        { statement_timeout: '300ms', idle_in_transaction_session_timeout: '300ms' },
        // Repeated, because a busy machine may need longer than the time-outs for the requests that they are meant for.
        () =>
          untilPasses(async () => {
            const upload = await fetch(`${instance(0).origin}/api/reconciliations/statements`, {
              method: 'POST',
              headers: { 'content-type': 'text/csv', authorization: `Bearer ${token}` },
              body: ReadableStream.from(encoded(slowly())),
              duplex: 'half',
            });
            expect(upload.status, await upload.clone().text()).toBe(201);
            const { data } = (await upload.json()) as { data: { id: number } };
            return data.id;
          }),
      );
      const now = () => read(instance(1), token, `/reconciliations/statements/${id}`);
      await eventually(async () => (await now()).status).toBe('done');
      const asked = await instance(1).call('POST', `/reconciliations/statements/${id}/import`, {}, { token });
      expect(asked.status, asked.text).toBe(200);
      await eventually(async () => (await now()).results.matched).toEqual({ lines: 50, total: 50 });
      expect(await readPayments(instance(0), token, account.id)).toHaveLength(50);
    });

    test('requests end after the time-outs of the role', async () => {
      const { id } = await openAccount(instance(0), token);
      const blocker = new pg.Client(admin);
      await blocker.connect();
      try {
        await blocker.query('begin');
        await blocker.query('select from accounts where id = $1 for update', [id]);
        // The service itself would wait for minutes.
        await whileRoleHas({ lock_timeout: '200ms' }, async () => {
          const change = { status: 'suspended', reason: 'late' };
          const answer = await instance(0).call('PUT', `/accounts/${id}`, change, { token });
          expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
        });
      } finally {
        await blocker.end();
      }
    });

    test('a pooler without a free connection is not an outage, but a stopped pooler is an outage until it runs again', async () => {
      const ready = async () => (await send(instance(0).origin, 'GET', '/readyz')).status;
      const holders = Array.from({ length: POOL_SIZE }, () => new pg.Client(pooler.throughPooler(direct)));
      try {
        for (const holder of holders) {
          holder.on('error', () => {}); // PostgreSQL may end a transaction that a busy machine keeps open for long.
          await holder.connect();
          await holder.query('begin; select 1'); // PgBouncer keeps a connection for the transaction.
        }
        expect(await ready()).toBe(200);
      } finally {
        for (const holder of holders) await holder.end();
      }

      const paying = await payThroughBoth();
      await untilPaid(paying, 20);
      await pooler.stop();
      expect(await ready()).toBe(503);
      await pooler.start();
      await eventually(ready).toBe(200);
      const back = performance.now();
      await eventually(() => paying.lastSuccess() > back).toBe(true);
      report(`pooler, stopped and started: ${await expectAllPaid(paying, instance(1))}`);
      await expectBooksToHold(direct);
    });

    test('an instance that was stopped or killed starts again while the other runs', async () => {
      const paying = await startPaying([instance(1).origin], instance(1), token, { clients: 8 });
      expect((await instance(0).stop()).status).toBe(0);
      instances[0] = await startService(environment);
      await instance(0).kill();
      instances[0] = await startService(environment);
      await expectAllPaid(paying, instance(0));
    });

    test('the commands bypass the pooler', async () => {
      const newDatabase = async () => {
        const own = await ownedBy(ROLE, await postgres.newDatabase());
        return { DATABASE_URL: pooler.throughPooler(own), DATABASE_DIRECT_URL: own };
      };
      const [from, to] = [await newDatabase(), await newDatabase()];
      const file = join(await newFolder(), 'ams.gz');
      const run = async (command: string, environment: Environment, ...args: string[]) => {
        const ended = await runCli(command, environment, ...args);
        expect([ended.status, ended.stderr], command).toEqual([0, '']);
      };
      await run('migrate', from);
      expect((await createAdmin(from)).stderr).toBe('');
      await run('backup', from, file);
      await run('restore', to, file);
      await run('verify', to);
      await run('migrate', to);
    });

    test('a migration of the next version may take longer than a request, and payments continue meanwhile', async () => {
      const migrate = await nextVersion({
        '9999_next': 'select pg_sleep(2);\nalter table payments add column next text;\n',
      });
      const paying = await payThroughBoth();
      const ends = await whileRoleHas({ statement_timeout: '1s' }, () =>
        Promise.all([migrate(environment), migrate(environment)]),
      );
      // On a busy machine the migration may try again.
      for (const { status, stderr } of ends)
        expect([status, stderr]).toEqual([
          0,
          expect.stringMatching(/^(Migration 9999_next did not get its locks .*\n)*$/),
        ]);
      expect(ends.map(({ stdout }) => stdout.split('\n')[0]).sort()).toEqual([
        'The database is up to date.',
        'applied 9999_next',
      ]);
      await untilPaid(paying, 20);
      report(`pooler, during a migration: ${await expectAllPaid(paying, instance(0))}`);
      await expectBooksToHold(direct);
      expect(await rowsOf(EXCLUSIVE_LOCKS)).toEqual([]);
    });
  });

  /** Runs the statements with which a refused start explains how to set the time-outs. */
  async function runSuggestions({ stderr }: Ended): Promise<void> {
    for (const statement of stderr.match(/alter role .*?;/g) ?? []) await runStatement(admin, statement);
  }

  /** Does the work while new connections of the role to this database have these time-outs. */
  async function whileRoleHas<T>(timeouts: Record<string, string>, work: () => Promise<T>): Promise<T> {
    const inDatabase = `alter role ${ROLE} in database ${new URL(admin).pathname.slice(1)}`;
    for (const [name, value] of Object.entries(timeouts))
      await runStatement(admin, `${inDatabase} set ${name} = '${value}'`);
    await openNewConnections();
    try {
      return await work();
    } finally {
      await runStatement(admin, `${inDatabase} reset all`);
      await openNewConnections();
    }
  }

  /** Makes the pooler and the service open new connections for uploads and requests. */
  async function openNewConnections(): Promise<void> {
    await pooler.reconnect();
    await rowsOf(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'account-management-service export' and state = 'idle'`);
  }

  function instance(n: number): RunningService {
    return inTurn(instances, n);
  }

  /** Waits until the clients have made this number of further payments. */
  async function untilPaid({ outcomes }: PayingClients, count: number): Promise<void> {
    const before = outcomes.length;
    const isPaid = ({ status }: { status: number | undefined }) => status === 200 || status === 201;
    await until(`${count} payments`, () => outcomes.slice(before).filter(isPaid).length >= count);
  }

  function payThroughBoth(clients = 8): Promise<PayingClients> {
    const origins = instances.map(({ origin }) => origin);
    return startPaying(origins, instance(0), token, { clients });
  }

  async function rowsOf<Row>(statement: string): Promise<Row[]> {
    return (await runStatement(admin, statement)).rows as Row[];
  }
});

/** Stops the clients. Expects that no call failed in an unexpected way and no payment is lost. @returns the figures as text. */
async function expectAllPaid(paying: PayingClients, reader: RunningService): Promise<string> {
  await paying.stop();
  expect(strangeOf(paying.outcomes)).toEqual([]);
  return paying.compare(reader);
}

/** Makes the role the owner of the database. @returns the address for the role. */
async function ownedBy(role: string, admin: string): Promise<string> {
  const url = new URL(admin);
  await runStatement(admin, `alter database ${url.pathname.slice(1)} owner to ${role}`);
  url.username = role;
  return url.href;
}

/** Expects one line on standard error, without a stack trace. */
function expectRefusal({ status, stderr }: Ended, line: RegExp): void {
  expect(status).toBe(1);
  expect(stderr.trimEnd()).toMatch(line);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}
