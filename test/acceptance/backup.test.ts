import { createReadStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { BackupError, openBackup, readDatabase } from '../../src/cli/backup-file.ts';
import type { Connection } from '../../src/core/database/db.ts';
import { findRunningEmbeddedPostgres } from '../../src/platform/embedded-postgres/supervisor.ts';
import { startPaying } from '../faults/clients.ts';
import { runStatement } from '../support/statements.ts';
import { until } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import { expectRefusal, openAccount, read, readPayments, registerAdmin, signIn, sumOf } from './client.ts';
import {
  cleanUpAfterwards,
  emptyDatabase,
  NO_RATE_LIMITS,
  newDatabase,
  newFolder,
  ROOT,
  report,
  runCli,
  runToEnd,
  startService,
} from './process.ts';

cleanUpAfterwards();

const LEFT_OUT = ['sessions', 'refresh_tokens', 'oauth_states'];

async function query<Row extends pg.QueryResultRow>(url: Connection, text: string): Promise<Row[]> {
  return (await runStatement(url, text)).rows;
}

/** The number of rows of every table. */
async function rowCounts(url: Connection): Promise<Record<string, number>> {
  const tables = await query<{ name: string }>(
    url,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as count from ${name}`);
  const rows = await query<{ name: string; count: number }>(url, counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
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
    const environment = { ...NO_RATE_LIMITS, DATA_DIR: join(await newFolder(), 'data') };
    const restoring = await runCli('restore', environment, file);
    expect(restoring.status, restoring.stderr).toBe(0);
    const written = /^\d+ rows/.exec(printed)?.[0];
    expect(restoring.stdout).toContain(`Restored ${written} `);
    report(restoring.stdout.split('\n')[0] ?? '');

    const next = await startService(environment);
    const restored = await findRunningEmbeddedPostgres(environment.DATA_DIR);
    if (!restored) throw new Error('The embedded database of the service does not run.');
    await expectBooksToHold(restored);
    const counts = await rowCounts(restored);
    for (const name of LEFT_OUT) expect(counts[name], name).toBe(0);
    expect(counts.payments).toBeGreaterThan(8);
    expect(counts.payments).toBeLessThan((await rowCounts(url)).payments ?? 0);
    expect((await next.call('GET', '/auth/me', undefined, { token })).status).toBe(401);
    const fresh = await signIn(next, 'admin@example.com');
    expect(await readPayments(next, fresh, marked.id)).toMatchObject([before]);
    // Ids continue after those of the backup, and the triggers are active again.
    const account = await openAccount(next, fresh);
    expect(account.id).toBeGreaterThan(marked.id);
    expect((await read(next, fresh, `/accounts/${marked.id}`)).paid).toBe(12.34);
    await expect(query(restored, 'delete from ledger_entries')).rejects.toThrow('never edited');
    await expectBooksToHold(restored);

    const again = `${file}.embedded`;
    const backup = await runCli('backup', environment, again);
    expect(backup.status, backup.stderr).toBe(0);
    expect((await next.stop()).status).toBe(0);
    const copy = await newDatabase();
    await load(copy, createReadStream(again));
    const accounts = `select id::int from accounts where id in (${marked.id}, ${account.id}) order by id`;
    expect(await query(copy, accounts)).toMatchObject([{ id: marked.id }, { id: account.id }]);
  });

  test('of a quiet database is restored with the same rows, sums and sequences', async () => {
    const { bytes, rows } = await takeBackup(url);
    const restored = await newDatabase();
    expect(await load(restored, Readable.from([bytes]))).toBe(rows);
    const counts = await rowCounts(restored);
    const without = Object.fromEntries(LEFT_OUT.map((name) => [name, 0]));
    expect(counts).toEqual({ ...(await rowCounts(url)), ...without });
    const filled = Object.entries(counts).filter(([name]) => !name.startsWith('kysely_'));
    expect(sumOf(filled.map(([, count]) => count))).toBe(rows);
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

  test('that is truncated is refused before anything is created', async () => {
    const whole = await readFile(file);
    const cutOff = join(await newFolder(), 'damaged.gz');
    await writeFile(cutOff, whole.subarray(0, whole.length / 2));
    const target = await emptyDatabase();
    expectRefusal(await runCli('restore', { DATABASE_URL: target }, cutOff), 'damaged');
    const tables = await query(target, `select from pg_class where relnamespace = 'public'::regnamespace`);
    expect(tables).toEqual([]);
  });

  test('that is truncated or altered fails the check, and loads nothing', async () => {
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
    const target = await newDatabase();
    const before = await rowCounts(target);
    expect(before.settings).toBeGreaterThan(0);
    for (const [what, bytes] of Object.entries(damaged)) {
      const check = async () => (await openBackup(Readable.from([bytes]))).check();
      await expect(check(), what).rejects.toThrow(BackupError);
      await expect(load(target, Readable.from([bytes])), what).rejects.toThrow(BackupError);
      expect(await rowCounts(target), what).toEqual(before);
    }
  });

  test('is restored from a pipe, into a database in which an earlier restore has created only the tables', async () => {
    const target = await newDatabase();
    await query(target, 'truncate settings'); // as after a restore that failed before its commit
    const script = 'cat "$3" | "$1" "$2" /dev/stdin';
    const restore = join(ROOT, 'dist', 'cli', 'restore.js');
    const { status, stderr } = await runToEnd(
      ['sh', '-c', script, 'sh', process.execPath, restore, file],
      { DATABASE_URL: target },
      await newFolder(),
    );
    expect(status, stderr).toBe(0);
    await expectBooksToHold(target);
    expect((await rowCounts(target)).payments).toBeGreaterThan(8);
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

/** Takes a backup in this process. */
async function takeBackup(url: string): Promise<{ bytes: Buffer; rows: number }> {
  const client = new pg.Client(url);
  await client.connect();
  const parts: Buffer[] = [];
  let rows = 0;
  for await (const part of readDatabase(client, (count) => {
    rows = count;
  })) {
    parts.push(part);
  }
  await client.end();
  return { bytes: gzipSync(Buffer.concat(parts)), rows };
}

/** Loads a backup in this process. @returns the number of rows. */
async function load(url: string, bytes: Readable): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await (await openBackup(bytes)).load(client);
  } finally {
    await client.end();
  }
}
