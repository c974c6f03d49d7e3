import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/core/log.ts';
import { addDemoCompany } from '../../src/demo/company.ts';
import { currencyOf, prepareDatabase } from '../../src/start/database-preparation.ts';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';
import { expectVerifyToPass } from './books.ts';
import { read, registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  emptyDatabase,
  failToStart,
  launch,
  NO_RATE_LIMITS,
  newDatabase,
  newFolder,
  ROOT,
  report,
  startService,
} from './process.ts';

cleanUpAfterwards();

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they assert.
type Row = any;
const FIRST_MONTH = /Demo company: \d{4}-\d{2}, \d+ accounts/;

test('DEMO_DATA=company adds a company with a year of payments, once, and its books pass all checks', async () => {
  // The company uses the catalogue of an earlier start.
  const environment = { ...NO_RATE_LIMITS, DATABASE_URL: await newDatabase(), DEMO_DATA: 'company' };
  const service = await startService(environment);
  report(`demo company: ready after ${service.readyMs} ms`);
  await eventually(() => service.output()).toMatch(FIRST_MONTH);
  const token = await registerAdmin(service);
  const count = async (path: string) => {
    const { status, body, text } = await service.call('GET', path, undefined, { token });
    expect(status, text).toBe(200);
    return body.pagination.total as number;
  };
  const list = (path: string) => read(service, token, path);
  const accounts = await count('/accounts');
  const payments = await count('/payments');
  expect(accounts).toBe(306); // 6 of them were imported.
  expect(payments).toBeGreaterThan(5_000);
  for (const status of ['active', 'suspended', 'defaulted', 'completed', 'cancelled', 'written_off'])
    expect(await count(`/accounts?filter[status]=${status}`), status).toBeGreaterThan(0);
  for (const kycStatus of ['pending', 'verified', 'rejected'])
    expect(await count(`/customers?filter[kycStatus]=${kycStatus}`), kycStatus).toBeGreaterThan(0);
  expect(await count('/payments/unmatched')).toBeGreaterThan(5);
  expect(await count('/invoices')).toBeGreaterThan(50);
  expect(await count('/reconciliations')).toBeGreaterThan(40);
  expect(await count('/notifications?filter[outcome]=conflict')).toBe(2);
  expect(await count('/notifications?filter[status]=rejected')).toBe(3);
  const [clean, different] = await list('/reconciliations/statements?sort=createdAt:asc');
  expect(clean.status).toBe('done');
  expect(clean.results.matched.lines).toBe(clean.progress.payments);
  expect(clean.progress.reconciled).toBeGreaterThan(0);
  expect(different.results).toMatchObject({
    conflict: { lines: 2 },
    missing_in_books: { lines: 2 },
    reversed_at_provider: { lines: 1 },
    missing_at_provider: { lines: 0 },
    amount_differs: { lines: 0 },
    unreadable: { lines: 0 },
  });
  expect(different.results.matched.lines).toBe(different.progress.payments - 5);
  for (const [status, requests] of Object.entries({ pending: 3, approved: 1, rejected: 1 }))
    expect(await count(`/approvals?filter[status]=${status}`), status).toBe(requests);
  const imports = await list('/imports?sort=createdAt:asc');
  expect(imports).toMatchObject([
    { status: 'done', errors: 0 },
    { status: 'checked', errors: 6 },
  ]);
  const [endpoint, ...others] = await list('/webhook-endpoints');
  expect(others).toEqual([]);
  expect(endpoint).toMatchObject({ active: false, disabledReason: 'user', failingSince: null });
  const deliveries = await list(`/webhook-endpoints/${endpoint.id}/deliveries?limit=100`);
  const failed = deliveries.filter(({ outcome }: Row) => outcome === 'failed');
  expect(failed).toMatchObject([{ attempt: 1, status: 500 }]);
  const types = deliveries
    .filter(({ outcome }: Row) => outcome === 'delivered')
    .map(({ eventType }: Row) => eventType);
  expect(types.sort()).toEqual([
    'approval.approved',
    'approval.rejected',
    'approval.requested',
    'approval.requested',
    'payment.reversed',
  ]);
  await service.stop();
  await expectVerifyToPass(environment.DATABASE_URL);

  const again = await startService(environment);
  expect(again.output()).not.toMatch(FIRST_MONTH);
  const { body } = await again.call('GET', '/payments', undefined, { token });
  expect(body.pagination.total).toBe(payments);
  await again.stop();
});

test('an interrupted demo company is reported with its remedy, and its books pass all checks', async () => {
  const environment = { DATABASE_URL: await emptyDatabase(), DEMO_DATA: 'company' };
  const { child, ended, output } = launch(
    [process.execPath, join(ROOT, 'dist', 'server.js')],
    await newFolder(),
    environment,
  );
  while (!FIRST_MONTH.test(output())) {
    expect(child.exitCode, output()).toBeNull();
    await sleep(20);
  }
  child.kill('SIGKILL');
  await ended;

  const { status, stderr } = await failToStart(environment);
  expect(status).toBe(1);
  expect(stderr.trim()).toBe(
    'The demo company is incomplete, because an earlier start was interrupted. To create it again, use a new ' +
      'database for DATABASE_URL. To keep the incomplete company, set DEMO_DATA=on.',
  );
  await (await startService({ ...environment, DEMO_DATA: 'on' })).stop();
  await expectVerifyToPass(environment.DATABASE_URL);
});

test('a database with a customer gets no demo company', async () => {
  const environment = { DATABASE_URL: await newDatabase() };
  const service = await startService(environment);
  const token = await registerAdmin(service);
  const customer = { firstName: 'Real', lastName: 'Customer', phone: '+254712345678' };
  expect((await service.call('POST', '/customers', customer, { token })).status).toBe(201);
  await service.stop();
  const again = await startService({ ...environment, DEMO_DATA: 'company' });
  await eventually(() => again.output()).toContain('DEMO_DATA=company has no effect');
  expect((await again.call('GET', '/customers', undefined, { token })).body.data).toHaveLength(1);
  await again.stop();
});

test('the demo company is the same each time', async () => {
  const [first, second] = [await companyOfToday(), await companyOfToday()];
  expect(first).toEqual(second);
  expect(first.payments.length).toBeGreaterThan(300);
});

/** The rows of a small demo company. */
async function companyOfToday() {
  const url = await emptyDatabase();
  const config = readConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent', DEMO_DATA: 'company' });
  await prepareDatabase(url, config, currencyOf(config));
  await addDemoCompany(url, config, createLog(config), {
    now: new Date('2026-10-20T15:00:00Z'),
    accounts: 25,
  });
  const rows = async (query: string) => (await runStatement(url, query)).rows;
  return {
    customers: await rows('select id, first_name, last_name, phone, kyc_status from customers order by id'),
    accounts: await rows(
      'select id, status, paid_minor, credit_minor, next_due_date::text from accounts order by id',
    ),
    payments: await rows(
      `select id, account_id, amount_minor, status, transaction_ref, payment_date::text,
         date_trunc('hour', created_at) as hour from payments order by id`,
    ),
    commissions: await rows('select id, period, status, total_minor from commissions order by id'),
    invoices: await rows('select number, status, total_minor from invoices order by id'),
    conflicts: await rows(
      `select trans_id, amount_minor from notifications where outcome = 'conflict' order by id`,
    ),
    approvals: await rows('select action, account_id, amount_minor, status from approvals order by id'),
    imports: await rows('select id, status from imports order by id'),
    problems: await rows(
      'select import_id, file, line, column_name, problem from import_problems order by id',
    ),
    deliveries: await rows(
      'select event_type, outcome from webhook_deliveries order by event_type, outcome, attempt',
    ),
    lines: await rows('select statement_id, receipt, result from provider_statement_lines order by id'),
  };
}
