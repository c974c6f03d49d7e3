import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { BackupError, openBackup } from '../../src/cli/backup-file.ts';
import { startPaying } from '../faults/clients.ts';
import { runStatement } from '../support/statements.ts';
import { until } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import { cents, openAccount, read, readPayments, registerAdmin, signIn, sumOf } from './client.ts';
import {
  cleanUpAfterwards,
  emptyDatabase,
  NO_RATE_LIMITS,
  newDatabase,
  newFolder,
  report,
  runCli,
  startService,
} from './process.ts';

cleanUpAfterwards();

const LEFT_OUT = ['sessions', 'refresh_tokens', 'oauth_states'];

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  return (await runStatement(url, text)).rows;
}

/** The number of rows of every table. */
async function rowCounts(url: string): Promise<Record<string, number>> {
  const tables = await query<{ name: string }>(
    url,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await query<{ count: string }>(url, `select count(*) from ${name}`);
    counts[name] = Number(row?.count);
  }
  return counts;
}

describe('a backup', () => {
  let url: string;
  let file: string;

  let token: string;
  let marked: { id: number };
  /** A payment on the account `marked` before the backup. */
  let before: object;
  /** What the command printed. */
  let printed: string;

  beforeAll(async () => {
    url = await newDatabase();
    file = join(await newFolder(), 'ams.backup.gz');
    const service = await startService({ ...NO_RATE_LIMITS, DATABASE_URL: url });
    token = await registerAdmin(service);
    marked = await openAccount(service, token);
    const payment = { accountId: marked.id, amount: 12.34, paymentMethodId: 2 };
    const answer = await service.call(
      'POST',
      '/payments',
      { ...payment, transactionRef: 'tab\\t and \\. “é”' },
      { token },
    );
    expect(answer.status, answer.text).toBe(201);
    before = answer.body.data;

    const paying = await startPaying([service.origin], service, token, { clients: 8 });
    await until('payments before the backup', () => paying.outcomes.length > 40);
    const { status, stdout, stderr } = await runCli('backup', { DATABASE_URL: url }, file);
    expect(status, stderr).toBe(0);
    printed = stdout;
    const during = paying.outcomes.length;
    await until('payments after the backup', () => paying.outcomes.length > during + 20);
    await paying.stop();
    report(`backup under load: ${stdout.trim()} ${during} calls before its end`);
    expect(await paying.compare(service)).toContain('0 lost');
    await service.stop();
  });

  test('taken under load is consistent: the restored books pass the proof, and the service keeps working', async () => {
    expect((await stat(file)).mode & 0o777, 'readable by its owner alone').toBe(0o600);
    const restored = await emptyDatabase();
    const restoring = await runCli('restore', { DATABASE_URL: restored }, file);
    expect(restoring.status, restoring.stderr).toBe(0);
    report(restoring.stdout.split('\n')[0] ?? '');
    await expectBooksToHold(restored);
    const counts = await rowCounts(restored);
    const rows = Object.entries(counts).filter(([name]) => !name.startsWith('kysely_'));
    const told = Number(/^(\d+) rows/.exec(printed)?.[1]);
    expect(sumOf(rows.map(([, count]) => count))).toBe(told);
    for (const name of LEFT_OUT) expect(counts[name], name).toBe(0);
    expect(counts.payments).toBeGreaterThan(8);
    expect(counts.payments).toBeLessThan((await rowCounts(url)).payments ?? 0);

    const next = await startService({ ...NO_RATE_LIMITS, DATABASE_URL: restored });
    expect((await next.call('GET', '/auth/me', undefined, { token })).status).toBe(401);
    const fresh = await signIn(next, 'admin@example.com');
    expect(await readPayments(next, fresh, marked.id)).toMatchObject([before]);
    // Ids continue after those of the backup, and the triggers are active again.
    const account = await openAccount(next, fresh);
    expect(account.id).toBeGreaterThan(marked.id);
    expect((await read(next, fresh, `/accounts/${marked.id}`)).paid).toBe(12.34);
    await next.stop();
    await expect(query(restored, 'delete from ledger_entries')).rejects.toThrow('never edited');
    await expectBooksToHold(restored);
  });

  test('of a quiet database is restored with the same rows, sums and sequences', async () => {
    const quiet = `${file}.quiet`;
    expect((await runCli('backup', { DATABASE_URL: url }, quiet)).status).toBe(0);
    const restored = await emptyDatabase();
    expect((await runCli('restore', { DATABASE_URL: restored }, quiet)).status).toBe(0);
    const without = Object.fromEntries(LEFT_OUT.map((name) => [name, 0]));
    expect(await rowCounts(restored)).toEqual({ ...(await rowCounts(url)), ...without });
    const sums = `select ledger_account, sum(amount_minor) from ledger_entries group by 1 order by 1`;
    expect(await query(restored, sums)).toEqual(await query(url, sums));
    const sequences = `select sequencename, last_value from pg_sequences where schemaname = 'public' order by 1`;
    expect(await query(restored, sequences)).toEqual(await query(url, sequences));
  });

  test('does not overwrite a file, and needs a database of the service', async () => {
    const again = await runCli('backup', { DATABASE_URL: url }, file);
    expect(again).toMatchObject({ status: 1, stderr: `${file} already exists.\n` });
    const nothing = await runCli('backup', { DATABASE_URL: await emptyDatabase() }, `${file}.nothing`);
    expect(nothing).toMatchObject({
      status: 1,
      stderr: 'This database has not been set up by this service yet.\n',
    });
    await expect(stat(`${file}.nothing`)).rejects.toThrow('ENOENT');
    await expect(stat(`${file}.nothing.unfinished`)).rejects.toThrow('ENOENT');
  });

  test('is not written to a file with the name of an option', async () => {
    const { status, stderr } = await runCli('backup', { DATABASE_URL: url }, '--help');
    expect([status, stderr]).toEqual([1, expect.stringContaining('Usage: npm run backup')]);
  });

  test('is not restored into a database that is in use', async () => {
    const before = await rowCounts(url);
    const { status, stderr } = await runCli('restore', { DATABASE_URL: url }, file);
    expect(status).toBe(1);
    expect(stderr).toBe('The database is in use. Restore the backup into an empty database.\n');
    expect(await rowCounts(url)).toEqual(before);
  });

  test('that is truncated or altered restores nothing, and a good one can be restored afterwards', async () => {
    const whole = await readFile(file);
    const text = gunzipSync(whole).toString('latin1');
    const damaged: Record<string, Buffer> = {
      'cut off': whole.subarray(0, whole.length / 2),
      'changed in its bytes': Buffer.from(whole).fill(0, 2_000, 2_010),
      'without its last line': gzipSync(Buffer.from(text.replace(/\{[^\n]*\n$/, ''), 'latin1')),
      'with one row less': gzipSync(Buffer.from(text.replace(/\n[^\n]+\n\\\.\n/, '\n\\.\n'), 'latin1')),
      'with another amount': gzipSync(Buffer.from(text.replace('\t1234\t', '\t1235\t'), 'latin1')),
      'with more behind it': gzipSync(Buffer.from(`${text}more\n`, 'latin1')),
      'of another kind': gzipSync('another file\n'),
      'no gzip': Buffer.from('another file\n'),
    };
    const target = await emptyDatabase();
    const cutOff = join(await newFolder(), 'damaged.gz');
    await writeFile(cutOff, damaged['cut off'] ?? '');
    const refused = await runCli('restore', { DATABASE_URL: target }, cutOff);
    expect(refused.status).toBe(1);
    expect(refused.stderr.trim().split('\n')).toHaveLength(1);
    const client = new pg.Client(target);
    await client.connect();
    for (const [what, bytes] of Object.entries(damaged)) {
      const load = async () => (await openBackup(Readable.from([bytes]))).load(client);
      await expect(load(), what).rejects.toThrow(BackupError);
      expect(await rowCounts(target), what).toMatchObject({ users: 0, settings: 0 });
    }
    await client.end();
    const { status, stderr } = await runCli('restore', { DATABASE_URL: target }, file);
    expect(status, stderr).toBe(0);
    await expectBooksToHold(target);
  });

  test('of a version with other migrations is refused', async () => {
    const text = gunzipSync(await readFile(file)).toString('latin1');
    const path = join(await newFolder(), 'later.gz');
    await writeFile(
      path,
      gzipSync(Buffer.from(text.replace('"migrations":[', '"migrations":["0000_other",'), 'latin1')),
    );
    const { status, stderr } = await runCli('restore', { DATABASE_URL: await emptyDatabase() }, path);
    expect(status).toBe(1);
    expect(stderr).toContain('has migrations that this version of the service does not know');
  });
});

test('the embedded database is backed up while the service runs, and restored into a new folder', async () => {
  const [from, to, files] = [await newFolder(), await newFolder(), await newFolder()];
  const file = join(files, 'ams.gz');
  const environment = (folder: string) => ({ ...NO_RATE_LIMITS, DATA_DIR: join(folder, 'data') });
  const service = await startService(environment(from));
  const token = await registerAdmin(service);
  const account = await openAccount(service, token);
  await service.call(
    'POST',
    '/payments',
    { accountId: account.id, amount: 5, paymentMethodId: 2 },
    { token },
  );
  const backup = await runCli('backup', environment(from), file);
  expect(backup.status, backup.stderr).toBe(0);
  await service.stop();

  const restoring = await runCli('restore', environment(to), file);
  expect(restoring.status, restoring.stderr).toBe(0);
  const next = await startService(environment(to));
  const fresh = await signIn(next, 'admin@example.com');
  expect(cents((await read(next, fresh, `/accounts/${account.id}`)).paid)).toBe(500);
  const running = await runCli('restore', environment(to), file);
  expect(running.stderr).toContain('The database is in use');
  await next.stop();
});
