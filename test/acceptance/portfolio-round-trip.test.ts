import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/core/log.ts';
import { addDemoCompany } from '../../src/demo/company.ts';
import { currencyOf, prepareDatabase } from '../../src/start/database-preparation.ts';
import { read, registerAdmin } from './client.ts';
import { sumsOf, withoutIds } from './moved-portfolio.ts';
import {
  cleanUpAfterwards,
  emptyDatabase,
  NO_RATE_LIMITS,
  newFolder,
  runCli,
  startService,
} from './process.ts';

cleanUpAfterwards();

const ACCOUNTS = 40;
/** The demo company has also imported a portfolio. */
const IMPORTED_ACCOUNTS = 6;

test('an exported company that is imported into an empty database has the same statements, figures and proof', async () => {
  const source = await emptyDatabase();
  const config = readConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent', DEMO_DATA: 'company' });
  await prepareDatabase(source, config, currencyOf(config));
  await addDemoCompany(source, config, createLog(config), { accounts: ACCOUNTS });
  const client = new pg.Client(source);
  await client.connect();
  await client.query(
    `update customers set language = case when id % 4 = 0 then 'en' else 'sw' end::customer_language,
       second_phone = '+2547330000' || lpad(id::text, 2, '0') where id % 2 = 0 and id < 100`,
  );
  await client.end();
  const target = await emptyDatabase();

  const exported = await exportOf(source);
  await run('import', target, exported, '--run');
  const again = await exportOf(target);
  expect(await readdir(again)).toEqual(await readdir(exported));
  for (const file of await readdir(exported)) {
    expect(await readFile(join(again, file), 'utf8'), file).toBe(
      await readFile(join(exported, file), 'utf8'),
    );
  }
  expect(await figuresOf(target)).toEqual(await figuresOf(source));
  const sums = sumsOf(await run('verify', source));
  expect(sums).toHaveProperty('ledger_events');
  expect(sumsOf(await run('verify', target))).toEqual(sums);
});

test.each([['./folder --undo 5'], ['./folder --undo abc'], ['--undo abc'], ['--undo 0'], ['--undo 5 --run']])(
  'npm run import -- %s is refused with the usage',
  async (line) => {
    const { status, stderr } = await runCli('import', {}, ...line.split(' '));
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^Usage: npm run import/)]);
  },
);

async function exportOf(database: string): Promise<string> {
  const folder = await mkdtemp(join(await newFolder(), 'export-'));
  await run('export', database, folder);
  return folder;
}

/** Runs an `npm run` command. @returns its output. */
async function run(command: string, database: string, ...parameters: string[]): Promise<string> {
  const ended = await runCli(command, { DATABASE_URL: database, DEMO_DATA: 'off' }, ...parameters);
  expect(ended.status, `${command}: ${ended.stdout}${ended.stderr}`).toBe(0);
  return ended.stdout;
}

/** The portfolio report, and the statement of each account. */
async function figuresOf(database: string) {
  const service = await startService({ ...NO_RATE_LIMITS, DATABASE_URL: database, DEMO_DATA: 'off' });
  const token = await registerAdmin(service);
  const accounts = await read(service, token, '/accounts?limit=100&sort=id:asc');
  expect(accounts).toHaveLength(ACCOUNTS + IMPORTED_ACCOUNTS);
  const statements = [];
  for (const { id, accountNumber } of accounts) {
    const statement = await read(service, token, `/accounts/${id}/statement`);
    statements.push({ accountNumber, statement: withoutIds(statement) });
  }
  const path = '/reports/accounts/summary?startDate=2020-01-01&endDate=2099-12-31';
  const summary = await read(service, token, path);
  await service.stop();
  return { statements, summary: withoutIds(summary) };
}
