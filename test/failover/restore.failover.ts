import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { read, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  ROOT,
  type RunningService,
  report,
  runToEnd,
  startService,
} from '../acceptance/process.ts';
import { type PayingClients, startPaying } from '../faults/clients.ts';
import { type Cluster, createCluster, documented } from './cluster.ts';
import { type Host, powerOffAfterwards } from './hosts.ts';

cleanUpAfterwards();
powerOffAfterwards();

const CLIENTS = 20;
const PAUSE_MS = 200;
/** The database goes back to this long before the mistake. */
const BACK_MS = 60_000;
const RESTORE_TIMEOUT_MS = 240_000;

let cluster: Cluster;
let service: RunningService;
let token: string;

beforeAll(async () => {
  cluster = await createCluster();
  const migrated = await runToEnd(['node', 'dist/cli/migrate.js'], { DATABASE_URL: cluster.ownerUrl });
  expect(migrated.status, migrated.stderr).toBe(0);
  service = await start();
  token = await registerAdmin(service);
});

function start(): Promise<RunningService> {
  return startService({ ...NO_RATE_LIMITS, DATABASE_URL: cluster.serviceUrl, LOG_LEVEL: 'warn' });
}

function pay(): Promise<PayingClients> {
  return startPaying([service.origin], service, token, {
    clients: CLIENTS,
    pauseMs: PAUSE_MS,
    onlyByPhone: true,
  });
}

async function expectBooksToBeProven(): Promise<void> {
  const proof = await runToEnd(['node', 'dist/cli/verify.js'], { DATABASE_URL: cluster.serviceUrl }, ROOT);
  expect(proof.status, proof.stdout + proof.stderr).toBe(0);
}

async function expectPrimary(): Promise<Host> {
  const host = await cluster.primary();
  if (!host) throw new Error('There is no primary.');
  return host;
}

test('replaces a lost primary by an empty machine, which starts from the backup', async () => {
  const lost = await expectPrimary();
  const paying = await pay();
  await sleep(2_000);
  await lost.powerOff();
  lost.replace();
  await expect.poll(() => cluster.primary(), { timeout: 60_000 }).toBeDefined();
  const [tellEtcd = '', startAgain = ''] = documented('Replace a lost server');
  await (await expectPrimary()).run(tellEtcd.replace('LOST=db1', `LOST=${lost.name}`));
  await lost.powerOn();
  await cluster.installAgain(lost);
  const began = performance.now();
  await lost.run(startAgain);
  await cluster.untilComplete();
  const restoreMs = Math.round(performance.now() - began);
  expect(await lost.run('cat /var/log/patroni.log')).toContain('replica has been created using pgbackrest');
  await sleep(2_000);
  await paying.stop();
  report(`a new server follows ${restoreMs} ms after its start; ${await paying.compare(service)}`);
  await expectBooksToBeProven();
});

test('goes back to a minute before a mistake, and gets the later payments from the statement of the provider', async () => {
  const paying = await pay();
  await sleep(BACK_MS + 10_000);
  await paying.stop();
  const primary = await expectPrimary();
  const payments = [...paying.records().values()].flat().length;
  const mistakeAt = Date.now();
  await primary.run(`su - postgres -c "psql --quiet ams" <<<'drop table ledger_entries cascade'`);
  await service.stop();
  const [stopPatroni = '', restore = '', begin = '', follow = ''] = documented('Go back in time');
  const [first, ...others] = cluster.hosts as [Host, ...Host[]];
  const began = performance.now();
  await Promise.all(cluster.hosts.map((host) => host.run(stopPatroni)));
  const target = new Date(mistakeAt - BACK_MS).toISOString().replace('T', ' ').replace('Z', '+00');
  const targeted = restore.replace(/^TARGET=.*$/m, `TARGET='${target}'`);
  expect(targeted).toContain(target);
  await first.run(targeted, { timeoutMs: RESTORE_TIMEOUT_MS });
  await first.run(begin, { timeoutMs: RESTORE_TIMEOUT_MS });
  await Promise.all(others.map((host) => host.run(follow)));
  await cluster.untilComplete();
  const restoreMs = Math.round(performance.now() - began);
  service = await start();
  await expectBooksToBeProven();

  const upload = await service.call('POST', '/reconciliations/statements', statementOf(paying), {
    token,
    headers: { 'content-type': 'text/csv' },
  });
  expect(upload.status, upload.text).toBe(201);
  const path = `/reconciliations/statements/${upload.body.data.id}`;
  const status = async () => (await read(service, token, path)).status;
  await expect.poll(status, { timeout: 60_000, interval: 500 }).toBe('done');
  const missing = await service.call('GET', `${path}/lines?filter[result]=missing_in_books`, undefined, {
    token,
  });
  const lost = missing.body.pagination.total;
  expect(lost).toBeGreaterThan(0);
  expect(lost).toBeLessThan(payments);
  const imported = await service.call('POST', `${path}/import`, {}, { token });
  expect(imported.status, imported.text).toBeLessThan(300);
  report(
    `back in time in ${restoreMs} ms: ${lost} of ${payments} payments were lost and imported; ${await paying.compare(service)}`,
  );
  await expectBooksToBeProven();
  await service.stop();
});

/** What the provider's portal exports. */
function statementOf(paying: PayingClients): string {
  const lines = [...paying.records()].flatMap(([accountNumber, entries]) =>
    entries.map(
      ({ reference, cents }) =>
        `${reference},2026-01-05 10:15:00,Completed,${(cents / 100).toFixed(2)},,254700000000 - Some Payer,${accountNumber}`,
    ),
  );
  return [
    'Receipt No.,Completion Time,Transaction Status,Paid In,Withdrawn,Other Party Info,A/C No.',
    ...lines,
  ].join('\r\n');
}
