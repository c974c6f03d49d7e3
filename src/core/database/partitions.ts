import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { LOCK_TIMEOUT_MS, retryUntilLockObtained } from './lock-attempts.ts';

/**
 * Divides a table with a growing id into partitions by id, while the service runs. No row moves: the existing table becomes the
 * first partition. Each later partition holds the ids of about a month, and at least ten million ids. Ranges of ids divide the
 * rows, not ranges of dates. So the primary key is unique in all partitions together, and a read by id searches only one
 * partition. The last partition has no upper bound, so every new row has a partition.
 */

/** A partition for the ids with `from` <= id < `until`. `from` is null for the first partition, `until` for the last one. */
interface Partition {
  name: string;
  from: string | null;
  until: string | null;
}

interface Shape {
  owner: string;
  indexes: { name: string; definition: string; constraint: string | null }[];
  foreignKeys: { name: string; definition: string; references: string }[];
  triggers: { name: string; definition: string }[];
  grants: string[];
}

interface Sequence {
  name: string;
  lastValue: string | null;
  grants: string[];
}

/**
 * By default, a new partition begins at least this many ids after the last id, so that the partition exists before a row reaches
 * it.
 */
const FEWEST_IDS = 10_000_000n;
const LOCK_ATTEMPTS = 120;
const LOCK_PAUSE_MS = 1_000;

/** The partitions in the order of their ids. None if the table is not partitioned. */
export async function readPartitions(client: pg.ClientBase, table: string): Promise<Partition[]> {
  const { rows } = await client.query<Partition>(
    `select c.relname as name, bounds[1] as "from", bounds[2] as until
     from pg_inherits i join pg_class c on c.oid = i.inhrelid,
       regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\((?:MINVALUE|''?(\\d+)''?)\\) TO \\((?:MAXVALUE|''?(\\d+)''?)\\)') bounds
     where i.inhparent = $1::regclass
     order by bounds[1]::bigint nulls first`,
    [table],
  );
  return rows;
}

interface Locking {
  /** The table that concurrent transactions read first. Locking it first avoids a deadlock with them. */
  lockFirst?: string;
}

interface AddOptions {
  /** How far the bound is from the last id. Default: as many ids as in the last 30 days, and at least FEWEST_IDS. */
  idsAhead?: bigint;
}

/**
 * Gives the last partition (or the table, if it has no partitions) an upper bound, and adds a partition after this bound. Does
 * nothing while the last partition is empty.
 * @returns whether a partition was added.
 */
export async function addPartition(
  client: pg.ClientBase,
  table: string,
  { idsAhead, lockFirst }: Locking & AddOptions = {},
): Promise<boolean> {
  const partitions = await readPartitions(client, table);
  const last = partitions.at(-1);
  const unbounded = last?.name ?? table;
  const bound = `${unbounded}_bound`;
  const lastId = await readLastId(client, table);
  const dropBound = () =>
    locked(client, [], () =>
      client.query(`alter table ${quoted(unbounded)} drop constraint if exists ${quoted(bound)}`),
    );
  // An interrupted run may have left its check constraint, which would refuse ids from the bound on.
  await dropBound();
  if (last && lastId < BigInt(last.from ?? 0)) return false;

  const until = lastId + 1n + (idsAhead ?? (await countIdsOfMonth(client, table, lastId)));
  const lower = last?.from == null ? '' : `id >= ${last.from} and `;
  // This constraint proves that all rows are within the bounds. Otherwise PostgreSQL would read the table under an exclusive
  // lock.
  await locked(client, [], () =>
    client.query(
      `alter table ${quoted(unbounded)} add constraint ${quoted(bound)} check (${lower}id < ${until}) not valid`,
    ),
  );
  try {
    await client.query(`alter table ${quoted(unbounded)} validate constraint ${quoted(bound)}`);
    const shape = await readShape(client, table);
    await locked(client, locksOf(table, shape, lockFirst), async () => {
      if (last) await client.query(`alter table ${quoted(table)} detach partition ${quoted(unbounded)}`);
      const first = last ? unbounded : await replaceByParent(client, table, shape);
      const from = last?.from ?? 'minvalue';
      await client.query(
        `alter table ${quoted(table)} attach partition ${quoted(first)} for values from (${from}) to (${until})`,
      );
      await client.query(`alter table ${quoted(first)} drop constraint ${quoted(bound)}`);
      const added = `${table}_${Math.max(partitions.length, 1) + 1}`;
      await client.query(
        `create table ${quoted(added)} partition of ${quoted(table)} for values from (${until}) to (maxvalue)`,
      );
      await finish(client, added, shape);
    });
  } catch (error) {
    const isDropped = await dropBound().then(
      () => true,
      () => false,
    );
    if (isDropped) throw error;
    throw new Error(
      `The table ${unbounded} still has the check ${bound}, which refuses ids from ${until} on. Run this command again soon.`,
      { cause: error },
    );
  }
  // Autovacuum never analyzes the parent, but plans of joins need the statistics of the parent.
  await client.query(`analyze ${quoted(table)}`);
  return true;
}

/**
 * Removes the partitions of a table. The first partition gets the rows of all other partitions, and becomes the table. Until
 * then, other connections wait for the table.
 * @returns the number of rows that moved.
 */
export async function removePartitions(
  client: pg.ClientBase,
  table: string,
  { lockFirst }: Locking = {},
): Promise<number> {
  const [first, ...others] = await readPartitions(client, table);
  if (!first) return 0;
  const shape = await readShape(client, table);
  const columns = await readColumns(client, table);
  let moved = 0;
  await locked(client, locksOf(table, shape, lockFirst), async () => {
    const { rows: names } = await client.query<{ name: string; parent: string }>(
      `select c.relname as name, p.relname as parent
       from pg_index i join pg_inherits h on h.inhrelid = i.indexrelid
         join pg_class c on c.oid = h.inhrelid join pg_class p on p.oid = h.inhparent
       where i.indrelid = $1::regclass`,
      [first.name],
    );
    await client.query(`alter table ${quoted(table)} detach partition ${quoted(first.name)}`);
    await dropTriggersAndForeignKeys(client, first.name);
    if (others.length > 0) {
      const { rowCount } = await client.query(
        `insert into ${quoted(first.name)} (${columns}) select ${columns} from ${quoted(table)} order by id`,
      );
      moved = rowCount ?? 0;
    }
    const sequence = await readSequence(client, table);
    await client.query(`drop table ${quoted(table)}`);
    await client.query(`alter table ${quoted(first.name)} rename to ${quoted(table)}`);
    for (const { name, parent } of names) {
      if (name !== parent) await client.query(`alter index ${quoted(name)} rename to ${quoted(parent)}`);
    }
    await addSequence(client, table, sequence);
    await finish(client, table, shape);
    for (const { name, definition } of shape.foreignKeys) {
      await client.query(
        `alter table ${quoted(table)} add constraint ${quoted(name)} ${definition} not valid`,
      );
    }
  });
  for (const { name } of shape.foreignKeys)
    await client.query(`alter table ${quoted(table)} validate constraint ${quoted(name)}`);
  await client.query(`analyze ${quoted(table)}`);
  return moved;
}

/** Renames the table, and creates a partitioned table of the same shape under its old name. @returns the new name of the table. */
async function replaceByParent(client: pg.ClientBase, table: string, shape: Shape): Promise<string> {
  const first = `${table}_1`;
  const sequence = await readSequence(client, table);
  await client.query(`alter table ${quoted(table)} rename to ${quoted(first)}`);
  for (const { name } of shape.indexes)
    await client.query(`alter index ${quoted(name)} rename to ${quoted(`${name}_1`)}`);
  await client.query(
    `create table ${quoted(table)} (like ${quoted(first)} including defaults including constraints including generated
      including storage including comments) partition by range (id)`,
  );
  await client.query(`alter table ${quoted(table)} drop constraint ${quoted(`${table}_bound`)}`);
  await client.query(`alter table ${quoted(first)} alter column id drop identity`);
  await addSequence(client, table, sequence);
  for (const { name, definition, constraint } of shape.indexes) {
    await client.query(
      constraint ? `alter table ${quoted(table)} add constraint ${quoted(name)} ${constraint}` : definition,
    );
  }
  for (const { name, definition } of shape.foreignKeys)
    await client.query(`alter table ${quoted(table)} add constraint ${quoted(name)} ${definition}`);
  await finish(client, table, shape);
  return first;
}

/**
 * Adds what `create table` does not copy: triggers, grants and owner. A partition needs its own triggers, because a statement
 * trigger of the parent runs only for statements on the parent.
 */
async function finish(client: pg.ClientBase, table: string, shape: Shape): Promise<void> {
  for (const { definition } of shape.triggers)
    await client.query(definition.replace(/ ON \S+ /, ` ON ${quoted(table)} `));
  await grantAll(client, table, shape.grants);
  await client.query(`alter table ${quoted(table)} owner to ${shape.owner}`);
}

async function dropTriggersAndForeignKeys(client: pg.ClientBase, table: string): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('drop trigger %I on %I', tgname, $1::text) as statement
     from pg_trigger where tgrelid = $1::regclass and not tgisinternal
     union all
     select format('alter table %I drop constraint %I', $1::text, conname)
     from pg_constraint where conrelid = $1::regclass and contype = 'f'`,
    [table],
  );
  for (const { statement } of rows) await client.query(statement);
}

/** Reads the shape of a table, without the index that exists only while an import is undone. */
async function readShape(client: pg.ClientBase, table: string): Promise<Shape> {
  const rowsOf = async <T extends object>(text: string) => (await client.query<T>(text, [table])).rows;
  const [about] = await rowsOf<{ owner: string; isReferenced: boolean }>(
    `select quote_ident(pg_get_userbyid(relowner)) as owner,
       exists (select from pg_constraint where confrelid = c.oid) as "isReferenced"
     from pg_class c where oid = $1::regclass`,
  );
  if (!about || about.isReferenced)
    throw new Error(`The partitions of ${table} cannot be changed, because foreign keys refer to the table.`);
  return {
    ...about,
    indexes: await rowsOf(
      `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition, pg_get_constraintdef(k.oid) as constraint
       from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_constraint k on k.conindid = i.indexrelid
       where i.indrelid = $1::regclass and c.relname not like '%\\_of\\_undo' order by 1`,
    ),
    foreignKeys: await rowsOf(
      `select conname as name, pg_get_constraintdef(oid) as definition, confrelid::regclass::text as references
       from pg_constraint where conrelid = $1::regclass and contype = 'f' order by 1`,
    ),
    triggers: await rowsOf(
      `select tgname as name, pg_get_triggerdef(oid) as definition
       from pg_trigger where tgrelid = $1::regclass and not tgisinternal order by 1`,
    ),
    grants: await readGrants(client, table),
  };
}

/** The grants to other users, as statements with the placeholder `$object` for the name of the object. */
async function readGrants(client: pg.ClientBase, name: string): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('grant %s on %s $object to %s%s', privilege_type,
       case when relkind = 'S' then 'sequence' else 'table' end,
       case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
       case when is_grantable then ' with grant option' else '' end) as statement
     from pg_class c, aclexplode(c.relacl) where c.oid = $1::regclass and grantee <> c.relowner`,
    [name],
  );
  return rows.map(({ statement }) => statement);
}

async function grantAll(client: pg.ClientBase, name: string, grants: string[]): Promise<void> {
  for (const grant of grants) await client.query(grant.replace('$object', quoted(name)));
}

async function readSequence(client: pg.ClientBase, table: string): Promise<Sequence> {
  const { rows } = await client.query<{ name: string; lastValue: string | null }>(
    `select relname as name, pg_sequence_last_value(oid::regclass)::text as "lastValue"
     from pg_class where oid = pg_get_serial_sequence($1, 'id')::regclass`,
    [table],
  );
  const [sequence] = rows;
  if (!sequence) throw new Error(`${table}.id has no sequence.`);
  return { ...sequence, grants: await readGrants(client, sequence.name) };
}

/** Adds the sequence under its old name, because statements of the service use this name. */
async function addSequence(client: pg.ClientBase, table: string, { name, lastValue, grants }: Sequence) {
  await client.query(
    `alter table ${quoted(table)} alter column id add generated always as identity (sequence name ${quoted(name)})`,
  );
  if (lastValue !== null)
    await client.query('select setval($1::text::regclass, $2)', [quoted(name), lastValue]);
  await grantAll(client, name, grants);
}

/** The columns that an insert can name: all except generated columns. */
async function readColumns(client: pg.ClientBase, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? '';
}

async function readLastId(client: pg.ClientBase, table: string): Promise<bigint> {
  const { lastValue } = await readSequence(client, table);
  return BigInt(lastValue ?? 0);
}

/**
 * The number of ids of the last 30 days, but at least FEWEST_IDS. The ledger has no index on the time, so a binary search finds
 * the first id of these days. It relies on the fact that a higher id almost always has a later time.
 */
async function countIdsOfMonth(client: pg.ClientBase, table: string, lastId: bigint): Promise<bigint> {
  let [below, above] = [0n, lastId];
  while (below < above) {
    const middle = (below + above) / 2n;
    const { rows } = await client.query<{ isOld: boolean }>(
      `select created_at < business_now() - interval '30 days' as "isOld" from ${quoted(table)}
       where id > $1 order by id limit 1`,
      [String(middle)],
    );
    if (rows[0]?.isOld) below = middle + 1n;
    else above = middle;
  }
  const ids = lastId - below;
  return ids > FEWEST_IDS ? ids : FEWEST_IDS;
}

/** Later statements also lock the tables that foreign keys refer to. Locking all of them first avoids a deadlock. */
function locksOf(table: string, { foreignKeys }: Shape, lockFirst?: string): string[] {
  const referenced = foreignKeys.map(({ references }) => references).sort();
  const names = new Set([
    ...(lockFirst === undefined ? [] : [quoted(lockFirst)]),
    ...referenced,
    quoted(table),
  ]);
  return [...names].map((name) => `lock table ${name} in access exclusive mode`);
}

/**
 * Runs the work in one transaction, which first takes the locks. Repeats the transaction if it does not get a lock in time. Makes
 * at most LOCK_ATTEMPTS attempts.
 */
async function locked(client: pg.ClientBase, locks: string[], work: () => Promise<unknown>): Promise<void> {
  async function runOnce(): Promise<void> {
    await client.query('begin');
    try {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      for (const lock of locks) await client.query(lock);
      await work();
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    }
  }
  await retryUntilLockObtained(runOnce, async (attempt, error) => {
    if (attempt === LOCK_ATTEMPTS) throw error;
    await delay(LOCK_PAUSE_MS);
  });
}

function quoted(name: string): string {
  return pg.escapeIdentifier(name);
}
