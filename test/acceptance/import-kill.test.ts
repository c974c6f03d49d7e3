import pg from 'pg';
import { expect, test } from 'vitest';
import { runImportJob, untilImportJobEnds, uploadImport } from '../support/imports.ts';
import { eventually } from '../support/waiting.ts';
import { expectVerifyToPass } from './books.ts';
import { adminCalls, read, registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  report,
  startService,
  USUAL_LIMITS,
} from './process.ts';

// Another instance takes over the job of a killed one within about 30 seconds.
cleanUpAfterwards();

const ACCOUNTS = 200;

const FILES = {
  products: ['sku,name,category,price', 'KILL-80,Home system 80 W,home_system,34000'],
  pay_plans: [
    'name,product,deposit,instalment,instalment_count,frequency,grace_days',
    'Killed weekly,KILL-80,2000,400,10,weekly,7',
  ],
  customers: [
    'external_id,first_name,last_name,phone',
    ...numbered((n) => `C-${n},Wanjiru,Kamau,+2547${10_000_000 + n}`),
  ],
  accounts: [
    'external_id,customer,product,pay_plan,opened_at',
    ...numbered((n) => `A-${n},C-${n},KILL-80,Killed weekly,2026-01-05`),
  ],
  payments: [
    'external_id,account,amount,payment_date,payment_method,transaction_ref',
    ...numbered((n) => `P-${n},A-${n},2400,2026-01-05,mobile_money,KILLREF${n}`),
  ],
};

test('an import whose service is killed in the middle of the run leaves nothing, and is done once after the restart', async () => {
  const database = await newDatabase();
  const environment = {
    ...NO_RATE_LIMITS,
    ...USUAL_LIMITS,
    DATABASE_URL: database,
    DEMO_DATA: 'off',
    LOG_LEVEL: 'warn',
  };
  const killed = await startService(environment);
  const token = await registerAdmin(killed);
  const calls = adminCalls(killed, token);
  const id = await uploadImport(calls, FILES);
  expect(await runImportJob(calls, id, 'check')).toMatchObject({ status: 'checked', errors: 0 });

  const client = new pg.Client(database);
  await client.connect();
  try {
    // The run writes the payments and then waits for this lock, with its transaction open.
    await client.query('begin; lock table ledger_entries in share mode');
    const asked = await calls.call('POST', `/imports/${id}/run`);
    expect(asked.status, asked.text).toBe(200);
    await untilRunWaits(client);
    await killed.kill();
    expect(await rowsIn(client)).toEqual({ customers: 0, accounts: 0, payments: 0, entries: 0, events: 0 });
    await client.query('commit');
    await untilNoRun(client);
    expect(await rowsIn(client)).toEqual({ customers: 0, accounts: 0, payments: 0, entries: 0, events: 0 });

    const startedAt = Date.now();
    const restarted = await startService(environment);
    expect(await untilImportJobEnds(adminCalls(restarted, token), id)).toMatchObject({
      status: 'done',
      failure: null,
      rows: { customers: ACCOUNTS, accounts: ACCOUNTS, payments: ACCOUNTS },
    });
    report(`the import was done ${Math.round((Date.now() - startedAt) / 1000)} s after the restart`);
    expect(await rowsIn(client)).toMatchObject({
      customers: ACCOUNTS,
      accounts: ACCOUNTS,
      payments: ACCOUNTS,
      events: 1,
    });
    expect(await read(restarted, token, '/accounts/by-external-id/A-1')).toMatchObject({ paid: 2400 });
    expect((await restarted.stop()).status).toBe(0);
  } finally {
    await client.end();
  }
  await expectVerifyToPass(database);
});

function numbered(line: (n: number) => string): string[] {
  return Array.from({ length: ACCOUNTS }, (_, index) => line(index + 1));
}

/** Waits until a transaction that has written payments waits for the ledger. */
async function untilRunWaits(client: pg.Client): Promise<void> {
  const waiting = () =>
    client.query(
      `select from pg_locks waiting join pg_locks held using (pid)
       where waiting.relation = 'ledger_entries'::regclass and not waiting.granted
         and held.relation = 'payments'::regclass and held.mode = 'RowExclusiveLock' and held.granted`,
    );
  await eventually(async () => (await waiting()).rowCount).not.toBe(0);
}

/** Waits until PostgreSQL has noticed that the process of the run is dead. */
async function untilNoRun(client: pg.Client): Promise<void> {
  const running = () =>
    client.query(
      `select from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`,
    );
  await eventually(async () => (await running()).rowCount).toBe(0);
}

async function rowsIn(client: pg.Client) {
  const { rows } = await client.query(
    `select (select count(*)::int from customers) as customers, (select count(*)::int from accounts) as accounts,
       (select count(*)::int from payments) as payments, (select count(*)::int from ledger_entries) as entries,
       (select count(*)::int from events where type = 'import.completed') as events`,
  );
  return rows[0];
}
