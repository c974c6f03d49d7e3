import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { withConnection } from '../../src/cli/connect.ts';
import { readConfig } from '../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../src/core/package-root.ts';
import { prepareDatabase } from '../../src/start/database-preparation.ts';
import { openPools } from '../../src/start/pools.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newCustomer,
  notify,
  pay,
  reverse,
  runJobs,
  useService,
} from '../support/harness.ts';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';

/** A service that uses a pooler in transaction mode. Its connections lead to PostgreSQL itself, where a test has no other pooler. */
const ADDRESSES = { DATABASE_URL: 'postgres://pooler/ams', DATABASE_DIRECT_URL: 'postgres://server/ams' };
const service = useService(ADDRESSES);

const prepare = (connection: typeof service.connection, pooler?: string) => {
  const { config, currency } = service.context;
  return prepareDatabase(connection, config, currency, { pooler });
};

describe('a start with a pooler', () => {
  it.each(['refuses', 'drops'] as const)(
    'needs another address if the pooler is given as the address of PostgreSQL, and %s time-outs',
    async (treatment) => {
      const { url } = await startPooler(treatment);
      await expect(prepare(url, url)).rejects.toThrow(
        /^DATABASE_DIRECT_URL is the address of a pooler\..* Set DATABASE_DIRECT_URL to the address of PostgreSQL/,
      );
      const { context } = service;
      await expect(prepareDatabase(url, readConfig({}), context.currency)).rejects.toThrow(
        /^DATABASE_URL is the address of a pooler\..* Set DATABASE_DIRECT_URL to the address of PostgreSQL/,
      );
    },
  );

  it('needs a pooler of the same database', async () => {
    const { url } = await startPooler('refuses', new pg.Client(inject('server')).database);
    await expect(prepare(service.connection, url)).rejects.toThrow(
      /^DATABASE_URL and DATABASE_DIRECT_URL must be addresses of the same database\.$/,
    );
  });

  it('needs time-outs of the role, and prints the statements that set those that are missing or too long', async () => {
    const { url } = await startPooler('refuses');
    const missing = async () => {
      const error = await prepare(service.connection, url).catch((reason: Error) => reason);
      return error instanceof Error
        ? [...error.message.matchAll(/alter role \S+ set (\w+ = '\d+s');/g)]
        : error;
    };
    const set = (setting: string) =>
      runStatement(service.connection, `alter database ${databaseName()} set ${setting}`);
    onTestFinished(async () => {
      await runStatement(service.connection, `alter database ${databaseName()} reset all`);
    });
    const settings = [
      "statement_timeout = '5s'",
      "lock_timeout = '3s'",
      "idle_in_transaction_session_timeout = '10s'",
    ];
    expect(await missing()).toMatchObject(settings.map((setting) => ({ 1: setting })));
    for (const setting of settings) await set(setting);
    await set("lock_timeout = '1min'");
    expect(await missing()).toMatchObject([{ 1: settings[1] }]);
    await set(settings[1] ?? '');
    expect(await missing()).toEqual({ isNew: false, migrations: [] });
  });
});

describe('a service behind a pooler', () => {
  it('sends requests through the pooler without settings, and uploads, exports and long reads past it', async () => {
    const pooler = await startPooler('refuses');
    const { config } = service.context;
    const pools = await openPools(config, {
      ...{ connection: pooler.url, direct: service.connection, pooler: pooler.url },
    });
    onTestFinished(async () => {
      await pools.cancelLongWork();
      await pools.close();
    });
    const one = sql`select 1 as one`;
    expect((await one.execute(pools.db)).rows).toEqual([{ one: 1 }]);
    expect(pooler.connections()).toBe(1);
    expect((await pools.verifier.read('test', (tx) => one.execute(tx))).value.rows).toEqual([{ one: 1 }]);
    expect((await pools.summaries.read('test', (tx) => one.execute(tx))).value.rows).toEqual([{ one: 1 }]);
    expect((await pools.copies.load('test', (tx) => one.execute(tx))).rows).toEqual([{ one: 1 }]);
    expect(await text((await pools.copies.open('test', 'select 1 as one', ['one'])).value)).toBe(
      'one\r\n"1"\r\n',
    );
    expect(pooler.connections()).toBe(1);

    expect(await pools.probe.state()).toBe('up');
    await pooler.stop();
    await eventually(() => pools.probe.state()).toBe('down');
  });

  it('sends no named statement', async () => {
    const asked = vi.spyOn(pg.Client.prototype, 'query');
    const { id, accountNumber } = await newAccount(service);
    const payment = await pay(service, id, 100, { transactionRef: 'POOLED' });
    const repeat = { headers: { 'idempotency-key': 'pooled' } };
    const body = { accountId: id, amount: 1, paymentMethodId: 2 };
    for (let n = 0; n < 2; n += 1) {
      expect((await service.call('POST', '/payments', body, repeat)).status).toBe(201);
      expect((await notify(service, { TransID: 'POOLED', BillRefNumber: accountNumber })).status).toBe(200);
      for (const path of [
        '/accounts',
        `/accounts/${id}`,
        '/payments?page=1',
        '/payments?filter[status]=matched',
      ])
        await dataOf(service.call('GET', path));
    }
    await dataOf(service.call('POST', '/payments/bulk', { items: [body, body] }, repeat));
    await dataOf(service.call('POST', '/payments/reconcile', { paymentIds: [payment.id] }));
    await reverse(service, payment.id);
    await newCustomer(service);
    expect(await runJobs(service)).toBe(true);
    const names = asked.mock.calls.map(([statement]: unknown[]) => (statement as pg.QueryConfig).name);
    asked.mockRestore();
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => name !== undefined)).toEqual([]);
    expect((await accountNow(service, id)).paid).toBeGreaterThan(0);
  });

  it('uses state of a session only on connections that bypass the pooler', () => {
    const STATE =
      /\bpg_(try_)?advisory_(un)?lock(_shared)?\(|\bset_config\([^)]*, false\)|['`;]\s*(set (?!local\b)[a-z_]+ = |listen )|\bset session\b|\btemp(orary)? (table|sequence|view)\b(?!.*on commit drop)|\bwith hold\b|\bpg_prepared_/gi;
    const source = join(PACKAGE_ROOT, 'src');
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /(?<!\.test)\.ts$/.test(name),
    );
    expect(files.length).toBeGreaterThan(200);
    const found = files.filter((name) => readFileSync(join(source, name), 'utf8').match(STATE));
    expect(found.sort()).toEqual([
      'cli/backup-file.ts',
      'core/database/copy-in.ts',
      'core/database/test-clock.ts', // TEST_CLOCK is refused with a pooler.
      'platform/embedded-postgres/owner.ts',
      'platform/jobs/queue.ts',
      'portfolio/import/live-rows-store.ts', // The transaction of an import, on a connection for uploads.
      'start/database-preparation.ts',
    ]);
  });

  it('has commands that bypass the pooler', async () => {
    expect(await withConnection(readConfig(ADDRESSES), async (connection) => connection)).toBe(
      ADDRESSES.DATABASE_DIRECT_URL,
    );
  });
});

const databaseName = () => new pg.Client(service.connection).database ?? '';

/**
 * Starts a proxy in front of PostgreSQL. Like a pooler, it refuses time-outs in the parameters of a new connection, or drops them.
 */
async function startPooler(treatment: 'refuses' | 'drops', database = databaseName()) {
  const { host, port, user, password } = new pg.Client(service.connection);
  const clients = new Set<Socket>();
  let connections = 0;
  const proxy = createServer(async (client) => {
    clients.add(client);
    client.on('error', () => {});
    const [startup] = (await once(client, 'data')) as [Buffer];
    const parameters = parametersOf(startup);
    const timeOuts = [...parameters.keys()].filter((name) => name.endsWith('_timeout'));
    if (treatment === 'refuses' && timeOuts.length > 0) {
      client.end(message('E', `SFATAL\0C08P01\0Munsupported startup parameter: ${timeOuts[0]}\0\0`));
      return;
    }
    for (const name of timeOuts) parameters.delete(name);
    connections += 1;
    const server = host.startsWith('/')
      ? createConnection(`${host}/.s.PGSQL.${port}`)
      : createConnection(port, host);
    server.on('error', () => client.destroy());
    client.on('close', () => server.destroy());
    const version = startup.toString('latin1', 4, 8);
    server.write(message('', `${version}${[...parameters].flat().join('\0')}\0\0`));
    client.pipe(server).pipe(client);
  });
  async function stop(): Promise<void> {
    proxy.close();
    for (const client of clients) client.destroy();
  }
  onTestFinished(stop);
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`postgres://127.0.0.1:${(proxy.address() as AddressInfo).port}/${database}`);
  url.username = user ?? '';
  if (typeof password === 'string') url.password = password;
  return { url: url.href, connections: () => connections, stop };
}

/** The parameters of a startup message, which has a length, the version of the protocol, and texts that end with a zero. */
function parametersOf(startup: Buffer): Map<string, string> {
  const texts = startup.toString('latin1', 8).split('\0');
  const parameters = new Map<string, string>();
  for (let at = 0; texts[at]; at += 2) parameters.set(texts[at] ?? '', texts[at + 1] ?? '');
  return parameters;
}

/** A message of PostgreSQL's protocol. */
function message(type: '' | 'E', body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body, 'latin1')]);
}
