import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

/**
 * A backup is one gzip file. The first line names the format. The second line is JSON with the migrations and the tables. Then
 * come the rows of each table in PostgreSQL's COPY format, ended by `\.`. The last line is JSON with the row count and SHA-256 of
 * each table, and the state of the sequences. A file without the last line is incomplete.
 */
const FORMAT = 'account-management-service backup 1';
const END_OF_TABLE = Buffer.from('\\.\n');
const END_AFTER_ROWS = Buffer.from('\n\\.\n');
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Tables that are not in backups. Sessions: a restore would make ended ones valid again. Migrations: the header lists them.
 */
const LEFT_OUT = ['sessions', 'refresh_tokens', 'oauth_states', 'kysely_migration', 'kysely_migration_lock'];

interface Table {
  name: string;
  columns: string[];
  /** The columns of the primary key, for `order by`. A fixed order makes two readings of the same rows equal on every server. */
  key: string[];
}

interface Contents {
  rows: number;
  sha256: string;
}

interface Head {
  takenAt: string;
  migrations: string[];
  /** Each table comes after the tables that it references, so that the rows can be loaded in this order. */
  tables: Table[];
}

interface Foot {
  tables: Contents[];
  sequences: { name: string; lastValue: string | null }[];
}

/** A backup cannot be created or read. The message is for the operator. */
export class BackupError extends Error {}

/** Makes the servers of the backup and of the restore write values in the same form, whatever their settings are. */
const SESSION = `
  set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
  set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set timezone = 'UTC'; set extra_float_digits = 3;
  set client_encoding = 'UTF8'; set search_path = public`;

/**
 * Reads the whole database from one snapshot, while other connections can write.
 * @param done called at the end, with the number of rows.
 */
export async function* readDatabase(
  client: pg.ClientBase,
  done: (rows: number) => void,
): AsyncGenerator<Buffer> {
  await client.query(SESSION);
  await client.query('begin isolation level repeatable read read only');
  const { rows: found } = await client.query(`select where to_regclass('settings') is not null`);
  if (found.length === 0) throw new BackupError('This database has not been set up by this service yet.');
  const { rows: migrations } = await client.query<{ name: string }>(
    'select name from kysely_migration order by name',
  );
  const head: Head = {
    takenAt: new Date().toISOString(),
    migrations: migrations.map(({ name }) => name),
    tables: await readTables(client),
  };
  yield Buffer.from(`${FORMAT}\n${JSON.stringify(head)}\n`);

  const tables: Contents[] = [];
  for (const table of head.tables) {
    tables.push(yield* readRows(client, table));
    yield END_OF_TABLE;
  }
  // Sequences ignore the snapshot. They are read last, so that no id in the snapshot is above its sequence.
  const { rows: sequences } = await client.query<Foot['sequences'][number]>(
    `select sequencename as name, last_value::text as "lastValue" from pg_sequences
     where schemaname = 'public' order by sequencename`,
  );
  await client.query('commit');
  yield Buffer.from(`${JSON.stringify({ tables, sequences } satisfies Foot)}\n`);
  done(sumOfRows(tables));
}

/** A backup file whose header has been read. Its rows can be read only once, by one of the two functions. */
export interface OpenBackup {
  head: Head;
  /** Reads the file to its end. @throws BackupError if the file is truncated or altered. */
  check(): Promise<void>;
  /**
   * Empties the tables and loads all rows in one transaction. Before the commit, reads every table back and compares it with the
   * file. If this fails, the database is unchanged.
   * @returns the number of rows. @throws BackupError if the file is damaged or its rows cannot be loaded.
   */
  load(client: pg.ClientBase): Promise<number>;
}

/** @param file the bytes of the gzip file. @throws BackupError for any other file. */
export async function openBackup(file: AsyncIterable<Buffer>): Promise<OpenBackup> {
  const source = createReader(gunzip(file));
  if ((await source.line()) !== FORMAT) throw new BackupError('This file is not a backup of this service.');
  const head = readJson<Head>(await source.line());
  return { head, check: () => check(head, source), load: (client) => load(client, head, source) };
}

async function check({ tables }: Head, source: Reader): Promise<void> {
  await readContents(tables, source, async (_table, rows) => {
    for await (const _chunk of rows) {
      // `readContents` computes the checksum.
    }
  });
}

async function load(client: pg.ClientBase, { tables }: Head, source: Reader): Promise<number> {
  await client.query(SESSION);
  await client.query('begin');
  try {
    if (JSON.stringify(tables) !== JSON.stringify(await readTables(client))) {
      throw new BackupError('The backup does not contain the tables of this service.');
    }
    // Triggers are not needed: they checked the rows before the backup, and the comparison below shows that the rows are
    // unchanged.
    await client.query(
      tables.map(({ name }) => `alter table ${quoted(name)} disable trigger user`).join(';'),
    );
    // Some tables are not empty, because migrations inserted rows.
    await client.query(`truncate ${tables.map(({ name }) => quoted(name)).join(', ')} cascade`);
    const foot = await readContents(tables, source, (table, rows) =>
      pipeline(rows, client.query(copyFrom(`copy ${target(table)} from stdin`))),
    );
    for (const [index, table] of tables.entries()) {
      const expected = foot.tables[index];
      const loaded = await contentsOf(client, table);
      if (loaded.rows !== expected?.rows || loaded.sha256 !== expected.sha256) {
        throw new BackupError(`The rows of ${table.name} differ from the backup after loading.`);
      }
    }
    for (const { name, lastValue } of foot.sequences) {
      await client.query('select setval($1::text::regclass, $2, $3)', [
        quoted(name),
        lastValue ?? '1',
        lastValue !== null,
      ]);
    }
    await client.query(tables.map(({ name }) => `alter table ${quoted(name)} enable trigger user`).join(';'));
    await client.query('commit');
    await client.query('analyze');
    return sumOfRows(foot.tables);
  } catch (error) {
    await client.query('rollback').catch(() => {}); // If the connection is lost, the server rolls back.
    if (error instanceof pg.DatabaseError) {
      throw new BackupError(`The rows cannot be loaded: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

/**
 * Reads the rows of all tables and the end of the file.
 * @param use - reads all rows of a table.
 * @throws BackupError if the file is incomplete, or the rows do not match their checksums.
 */
async function readContents(
  tables: Table[],
  source: Reader,
  use: (table: Table, rows: AsyncGenerator<Buffer>) => Promise<void>,
): Promise<Foot> {
  const read: Contents[] = [];
  for (const table of tables) {
    const hash = createHash('sha256');
    const contents = { rows: 0, sha256: '' };
    await use(table, counted(source.table(), hash, contents));
    read.push({ ...contents, sha256: hash.digest('hex') });
  }
  const foot = readJson<Foot>(await source.line());
  await source.end();
  for (const [index, { name }] of tables.entries()) {
    const [stated, found] = [foot.tables[index], read[index]];
    if (stated?.sha256 !== found?.sha256 || stated?.rows !== found?.rows)
      throw new BackupError(`The rows of ${name} in the backup file do not match their checksum.`);
  }
  return foot;
}

async function readTables(client: pg.ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table & { refersTo: string[] }>(
    `select t.relname as name,
       array(select a.attname::text from pg_attribute a
         where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         order by a.attnum) as columns,
       array(select quote_ident(a.attname) || case when a.attcollation <> 0 then ' collate "C"' else '' end
         from pg_index i join pg_attribute a on a.attrelid = t.oid and a.attnum = any (i.indkey)
         where i.indrelid = t.oid and i.indisprimary order by array_position(i.indkey::int2[], a.attnum)) as key,
       array(select f.relname::text from pg_constraint c join pg_class f on f.oid = c.confrelid
         where c.conrelid = t.oid and c.contype = 'f' and c.confrelid <> t.oid) as "refersTo"
     from pg_class t
     where t.relnamespace = 'public'::regnamespace and t.relkind = 'r'
       and t.relname <> all ($1)
     order by t.relname`,
    [LEFT_OUT],
  );
  const waiting = new Map(rows.map((table) => [table.name, table]));
  const sorted: Table[] = [];
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(({ refersTo }) => !refersTo.some((name) => waiting.has(name)));
    if (ready.length === 0)
      throw new Error(`The foreign keys of these tables form a cycle: ${[...waiting.keys()].join(', ')}.`);
    for (const { name, columns, key } of ready) {
      sorted.push({ name, columns, key });
      waiting.delete(name);
    }
  }
  return sorted;
}

/** Reads the rows of a table in COPY format, and returns their number and checksum. */
async function* readRows(client: pg.ClientBase, table: Table): AsyncGenerator<Buffer, Contents> {
  const copy = client.query(copyTo(`copy (${inOrder(table)}) to stdout`));
  const hash = createHash('sha256');
  for await (const chunk of copy as AsyncIterable<Buffer>) {
    hash.update(chunk);
    yield chunk;
  }
  await client.query('select'); // Waits for `rowCount`, which the server may send later than the last row.
  return { rows: copy.rowCount, sha256: hash.digest('hex') };
}

async function contentsOf(client: pg.ClientBase, table: Table): Promise<Contents> {
  const rows = readRows(client, table);
  for (;;) {
    const { done, value } = await rows.next();
    if (done) return value;
  }
}

/** Hashes the rows, and counts them: each row is a line. */
async function* counted(
  chunks: AsyncIterable<Buffer>,
  hash: ReturnType<typeof createHash>,
  contents: Pick<Contents, 'rows'>,
) {
  for await (const chunk of chunks) {
    hash.update(chunk);
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', at + 1)) contents.rows += 1;
    yield chunk;
  }
}

interface Reader {
  /** The next line, without its line break. */
  line(): Promise<string>;
  /** The rows of the next table. */
  table(): AsyncGenerator<Buffer>;
  /** @throws BackupError if the file has more bytes. */
  end(): Promise<void>;
}

function createReader(source: AsyncIterator<Buffer>): Reader {
  let held: Buffer = Buffer.alloc(0); // It always starts at the beginning of a line.

  async function readMore(): Promise<void> {
    const { value, done } = await source.next();
    if (done) throw new BackupError('The file ends too early: it was cut off.');
    if (held.length > LONGEST_LINE_BYTES) throw new BackupError('The file contains a line that is too long.');
    held = held.length === 0 ? value : Buffer.concat([held, value]);
  }

  return {
    async line() {
      while (!held.includes('\n')) await readMore();
      const end = held.indexOf('\n');
      const line = held.subarray(0, end).toString('utf8');
      held = held.subarray(end + 1);
      return line;
    },
    async *table() {
      for (;;) {
        const whole = held.subarray(0, held.lastIndexOf('\n') + 1);
        const end = findEndOfTable(whole);
        held = held.subarray(end === undefined ? whole.length : end + END_OF_TABLE.length);
        yield whole.subarray(0, end);
        if (end !== undefined) return;
        await readMore();
      }
    },
    async end() {
      if (held.length > 0 || !(await source.next()).done)
        throw new BackupError('The file has extra data after the backup.');
    },
  };
}

/**
 * @param lines - starts at the beginning of a line.
 * @returns the offset of the line that ends the table.
 */
function findEndOfTable(lines: Buffer): number | undefined {
  if (lines.subarray(0, END_OF_TABLE.length).equals(END_OF_TABLE)) return 0;
  const lineBreak = lines.indexOf(END_AFTER_ROWS);
  return lineBreak < 0 ? undefined : lineBreak + 1;
}

async function* gunzip(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip();
  const unpacking = pipeline(file, unpacked);
  unpacking.catch(() => {}); // The stream reports this error too.
  try {
    yield* unpacked as AsyncIterable<Buffer>;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    if (!code.startsWith('Z_')) throw cause;
    throw new BackupError('The file is damaged, or is not a backup of this service.', { cause });
  }
}

function readJson<T extends { tables: unknown[] }>(line: string): T {
  try {
    const value = JSON.parse(line) as T | null;
    if (Array.isArray(value?.tables)) return value;
  } catch {
    // The same message as for a line of another form.
  }
  throw new BackupError('The file is damaged.');
}

function target({ name, columns }: Table): string {
  return `${quoted(name)} (${columns.map(quoted).join(', ')})`;
}

function inOrder({ name, columns, key }: Table): string {
  return `select ${columns.map(quoted).join(', ')} from ${quoted(name)} order by ${key.join(', ')}`;
}

function quoted(name: string): string {
  return pg.escapeIdentifier(name);
}

function sumOfRows(tables: Contents[]): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}
