import type pg from 'pg';
import { isLockRefused } from '../core/database/lock-attempts.ts';
import { addPartition, readPartitions, removePartitions } from '../core/database/partitions.ts';
import { FIRST_TABLE_OF_PAYMENTS } from '../payments/posting/rules.ts';
import { withPreparationLock } from '../start/database-preparation.ts';
import { readArguments, runCommand, UsageError, withConnection } from './connect.ts';

const USAGE =
  'Usage: npm run partition [-- --revert]\n' +
  'Divides the ledger and the audit into partitions of about a month, or adds the next partition.\n' +
  'With --revert, removes the partitions; payments wait meanwhile.';

/** Notifications stay in one table: across partitions, no unique index could refuse a repeated one (decision 0014). */
const TABLES = ['ledger_entries', 'audit_entries'];
const LOCKING = { lockFirst: FIRST_TABLE_OF_PAYMENTS };

await runCommand(async (config) => {
  const { revert } = readArguments(USAGE, {
    options: { revert: { type: 'boolean', default: false } },
  }).values;
  await withConnection(config, (connection) =>
    // Under this lock, no migration can run meanwhile.
    withPreparationLock(connection, config, (_db, client) => run(client, revert)),
  ).catch((error: unknown) => {
    if (!isLockRefused(error)) throw error;
    throw new UsageError(
      'Other work kept the tables locked for minutes. Try again when no report or backup is running.',
      { cause: error },
    );
  });
});

async function run(client: pg.ClientBase, isRevert: boolean): Promise<void> {
  // No time limit, because the work reads or copies whole tables.
  await client.query('set statement_timeout = 0; set search_path = public');
  for (const table of TABLES) {
    if (isRevert) console.log(`${table}: ${await removePartitions(client, table, LOCKING)} rows moved.`);
    else if (!(await addPartition(client, table, LOCKING)))
      console.log(`${table}: no partition was added, because the last one is empty.`);
    await print(client, table);
  }
}

async function print(client: pg.ClientBase, table: string): Promise<void> {
  const partitions = await readPartitions(client, table);
  if (partitions.length === 0) console.log(`${table}: no partitions`);
  for (const { name, from, until } of partitions)
    console.log(`${name}: ids ${from ?? '1'} ${until === null ? 'and above' : `to ${BigInt(until) - 1n}`}`);
}
