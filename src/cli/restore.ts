import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Kysely } from 'kysely';
import type pg from 'pg';
import type { DB } from '../core/database/tables.ts';
import { readMigrationNames } from '../platform/migrations/files.ts';
import { migrate } from '../platform/migrations/runner.ts';
import { withPreparationLock } from '../start/database-preparation.ts';
import { BackupError, type OpenBackup, openBackup } from './backup-file.ts';
import { readSingleArgument, runCommand, UsageError, withConnection } from './connect.ts';

const USAGE = 'Usage: npm run restore -- <file>\nThe database must be empty.';

await runCommand(async (config) => {
  const file = readSingleArgument(USAGE);
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code}).`);
  });
  const open = () => openBackup(createReadStream(file));
  const backup = await open();
  await refuseIfUnknown(backup.head.migrations);
  // Reading a large file takes long, so a database in use is refused first. `restore` checks it again under its lock.
  if (config.directUrl !== '')
    await withConnection(config, (connection) =>
      withPreparationLock(connection, config, (_db, client) => refuseIfInUse(client)),
    );
  // Refuses a damaged file before anything is created. A pipe can be read only once, so there only `load` notices the damage.
  if (found.isFile()) await (await open()).check();
  const rows = await withConnection(config, (connection) =>
    withPreparationLock(connection, config, (db, client) => restore(db, client, backup)),
  );
  console.log(
    `Restored ${rows} rows from the backup of ${backup.head.takenAt}. Each table was read back and is identical to the backup.`,
  );
  console.log('All users must sign in again.');
});

async function refuseIfUnknown(migrations: string[]): Promise<void> {
  const known = await readMigrationNames();
  if (migrations.some((name, index) => name !== known[index])) {
    throw new BackupError(
      'The backup has migrations that this version of the service does not know. Use the version that took the backup, or a later one.',
    );
  }
}

/** Migrates the empty database to the version of the backup, loads the rows, and runs the newer migrations. */
async function restore(db: Kysely<DB>, client: pg.PoolClient, backup: OpenBackup): Promise<number> {
  await refuseIfInUse(client);
  await migrate(db, { last: backup.head.migrations.at(-1) });
  const rows = await backup.load(client);
  await migrate(db);
  return rows;
}

/** A database in use has rows in `settings`. After a restore that failed before its commit, `settings` is empty. */
async function refuseIfInUse(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  if (rows.length === 0) return;
  const isOfService =
    rows.some(({ name }) => name === 'settings') && rows.some(({ name }) => name === 'kysely_migration');
  const isInUse = !isOfService || (await client.query('select from settings limit 1')).rows.length > 0;
  if (isInUse) throw new BackupError('The database is in use. Restore the backup into an empty database.');
}
