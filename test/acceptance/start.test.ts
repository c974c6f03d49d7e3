import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { findRunningEmbeddedPostgres } from '../../src/platform/embedded-postgres/supervisor.ts';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';
import {
  BOSS,
  createAdmin,
  expectRefusal,
  inParallel,
  linesOf,
  openAccount,
  read,
  registerAdmin,
  signIn,
} from './client.ts';
import {
  cleanUpAfterwards,
  emptyDatabase,
  failToStart,
  freePort,
  newFolder,
  type RunningService,
  report,
  runCli,
  startService,
  untilNoProcessIn,
} from './process.ts';

vi.setConfig({ maxConcurrency: 3 });
cleanUpAfterwards();

describe('a first start', () => {
  let dataDir: string;
  let service: RunningService;
  let token: string;

  beforeAll(async () => {
    dataDir = await newFolder();
    service = await startService({ DATA_DIR: dataDir, APPROVAL_LIMIT: '100000' });
    token = await registerAdmin(service);
  });

  test('needs only a data folder and a port, and is healthy', async () => {
    report(`first start: ready after ${service.readyMs} ms`);
    const health = await (await fetch(`${service.origin}/health`)).json();
    expect(health).toMatchObject({ status: 'ok', database: 'up', redis: 'disabled' });
    expect(await read(service, token, '/products')).toHaveLength(5);
  });

  test('creates a database that no other user of the machine can enter', async () => {
    const { mode } = await stat(join(dataDir, 'postgres'));
    expect(mode & 0o077).toBe(0);
  });

  test('prints in short lines what it creates', async () => {
    const lines = await firstLines(service);
    expect(lines[0]).toContain(`Creating a PostgreSQL database in ${join(dataDir, 'postgres')}`);
    expect(service.output()).toMatch(/Migrated the database: \d+ migrations up to \d{4}_\w+\.\n/);
  });

  test('prints the addresses of the console, the API and the documentation, which work', async () => {
    const lines = await firstLines(service);
    expect(lines.at(-1)).toContain(`${service.origin}/ for the staff console`);
    for (const path of ['/api,', '/api-docs'])
      expect(lines.slice(-4).join('\n')).toContain(`${service.origin}${path}`);
    const page = await fetch(`${service.origin}/`, { headers: { accept: 'text/html' } });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('/assets/')]);
    expect((await fetch(`${service.origin}/api-docs`)).status).toBe(200);
    expect((await fetch(`${service.origin}/api-docs/openapi.json`)).status).toBe(200);
  });

  test('warns that the webhook is open', async () => {
    await eventually(() => service.output()).toContain('WEBHOOK_SECRET');
  });

  test('warns that one person can register twice and approve their own requests', async () => {
    await eventually(() => service.output()).toContain('APPROVAL_LIMIT is set, but registration is open');
  });

  test('refuses a second process on its data folder with a one-line reason', async () => {
    const ended = await failToStart({ DATA_DIR: dataDir, PORT: String(await freePort()) });
    expectRefusal(ended, `${dataDir} is in use by another process`);
    expect((await fetch(`${service.origin}/health`)).status).toBe(200);
  });

  test('is followed by verify, which proves the books while the service runs, and fails if they are damaged', async () => {
    const environment = { DATA_DIR: dataDir };
    const { id: accountId } = await openAccount(service, token);
    const payment = { accountId, amount: 1234.5, paymentMethodId: 2 };
    expect((await service.call('POST', '/payments', payment, { token })).status).toBe(201);

    const clean = await runCli('verify', environment);
    expect(clean).toMatchObject({ status: 0, stderr: '' });
    expect(clean.stdout).toMatch(
      /^passes ledger_events: .*\n {7}4 rows, clearing 1234\.50, unmatched 0\.00, receivable 21565\.50, customer_credit 0\.00, bad_debt 0\.00, recovery 0\.00, sales -22800\.00\n/m,
    );
    expect(clean.stdout).toMatch(/\nAll \d+ checks pass\. Amounts are in KES\.\n$/);

    const database = await findRunningEmbeddedPostgres(dataDir);
    if (!database) throw new Error('The embedded database of the service does not run.');
    await runStatement(database, 'update accounts set paid_minor = paid_minor + 1');
    const damaged = await runCli('verify', environment);
    await runStatement(database, 'update accounts set paid_minor = paid_minor - 1');
    expect(damaged.status).toBe(1);
    expect(damaged.stdout).toMatch(/^FAILS {2}balances_equal_ledger: /m);
    expect(damaged.stdout).toContain(`accounts ${accountId}: paid_minor: expected 123450, found 123451\n`);
    expect(damaged.stdout).toMatch(/checks fail: balances_equal_ledger, balances_follow_payments\.\n$/);
  });
});

test('verify says how to set up an empty database', async () => {
  expect(await runCli('verify', { DATABASE_URL: await emptyDatabase() })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('npm run migrate'),
  });
});

test('a start with the data of an earlier one keeps them, and a stop leaves no process', async () => {
  const dataDir = await newFolder();
  expect((await createAdmin({ DATA_DIR: dataDir })).status).toBe(0);
  const service = await startService({ DATA_DIR: dataDir });
  report(`later start: ready after ${service.readyMs} ms`);
  expect(service.output()).not.toMatch(/Creating|Migrated/);
  expect(service.output()).not.toContain('APPROVAL_LIMIT');
  expect((await firstLines(service)).at(-1)).toContain(`${service.origin}/ for the staff console`);
  const token = await signIn(service, BOSS);
  expect((await read(service, token, '/auth/me')).email).toBe(BOSS);

  // Connected clients do not delay the stop.
  await inParallel(20, Array.from({ length: 20 }), () => fetch(`${service.origin}/health`));
  const silent = await openConnection(service.port);
  expect(await service.stop('SIGINT')).toMatchObject({ status: 0, signal: null });
  silent.destroy();
  await untilNoProcessIn(dataDir);
  expect(await readdir(join(dataDir, 'postgres'))).not.toContain('postmaster.pid');

  const other = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  const onTakenPort = await failToStart({ DATA_DIR: dataDir, PORT: String(port) });
  await new Promise((resolve) => other.close(resolve));
  expectRefusal(onTakenPort, 'EADDRINUSE', 'Set PORT to a free port');
  await untilNoProcessIn(dataDir);
});

/** The output before the first request. Its end may not have arrived yet. */
async function firstLines(service: RunningService): Promise<string[]> {
  const lines = () => linesOf(service.output()).filter((line) => !/"method":"\w+"/.test(line));
  await eventually(() => lines().at(-1)).toContain('staff console');
  return lines();
}

async function openConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}); // The service may reset the connection. The test is about such connections.
  await once(socket, 'connect');
  return socket;
}
