import type { Config } from '../core/context.ts';
import { type Connection, openDatabase } from '../core/database/db.ts';
import { sqlState } from '../core/database/postgres-errors.ts';
import { openSnapshotReads } from '../core/database/snapshot-reads.ts';
import { minorToText } from '../core/values/money.ts';
import { recordResult, UNATTENDED_READS } from '../reports/proof/check-books-unattended.ts';
import { type CheckedBooks, checkBooks } from '../reports/proof/checks-store.ts';
import type { Finding, Violation } from '../reports/proof/store.ts';
import { currencyOf } from '../start/database-preparation.ts';
import {
  REPLICA_OPTION,
  readArguments,
  reportLostConnection,
  runCommand,
  timeOf,
  UsageError,
  withConnection,
  withReplica,
} from './connect.ts';

const USAGE =
  'Usage: npm run verify [-- --replica]\n' +
  'Checks the books. With --replica, the checks read the replica, if the replica is not too far behind.';
/** PostgreSQL's codes for a write in a read-only transaction, as on a standby, and for a missing privilege. */
const READ_ONLY = new Set(['25006', '42501']);
/** PostgreSQL's codes for a missing table, column and function. */
const NOT_THERE = new Set(['42P01', '42703', '42883']);

await runCommand(async (config) => {
  const { code, decimals } = currencyOf(config);
  const { replica: isReplicaWanted } = readArguments(USAGE, { options: REPLICA_OPTION }).values;
  const { value, takenAtMs } = await withConnection(config, (connection) =>
    withReplica(config, { isReplicaWanted, primary: connection }, async (replica) => {
      const verifier = openSnapshotReads({
        connection,
        replica,
        limits: config.limits,
        ...UNATTENDED_READS,
        onConnectionLost: reportLostConnection,
      });
      try {
        const checked = await verifier.read('verify', (tx) =>
          checkBooks(tx, { onFinding: (finding) => print(finding, decimals) }),
        );
        await record(connection, config, checked.value);
        return checked;
      } catch (error) {
        throw NOT_THERE.has(sqlState(error) ?? '')
          ? new UsageError('The database schema does not match this version: run "npm run migrate" first.', {
              cause: error,
            })
          : error;
      } finally {
        await verifier.close();
      }
    }),
  );
  if (isReplicaWanted)
    console.log(`The checks read everything that was acknowledged before ${timeOf(takenAtMs)}.`);
  const { checks } = value;
  const broken = checks.filter(({ violationCount }) => violationCount > 0);
  if (broken.length > 0) process.exitCode = 1;
  console.log(
    broken.length === 0
      ? `All ${checks.length} checks pass. Amounts are in ${code}.`
      : `${broken.length} of ${checks.length} checks fail: ${broken.map(({ check }) => check).join(', ')}.`,
  );
});

/** Stores the result for the console and the metrics. */
async function record(connection: Connection, { limits }: Config, checked: CheckedBooks): Promise<void> {
  const { db, close } = openDatabase({
    connection,
    limits,
    poolSize: 1,
    prepare: false,
    onConnectionLost: reportLostConnection,
  });
  try {
    await recordResult(db, checked);
  } catch (error) {
    if (!READ_ONLY.has(sqlState(error) ?? '')) throw error;
    console.log('The result was not stored, because this database or its user is read-only.');
  } finally {
    await close();
  }
}

/** Prints one check. Called as soon as the check ends, to show progress. */
function print(
  { check, rule, checkedRowCount, sums, violationCount, violations }: Finding,
  decimals: number,
): void {
  const figures = sums.map(({ name, amountMinor }) => `, ${name} ${minorToText(amountMinor, decimals)}`);
  console.log(`${violationCount === 0 ? 'passes' : 'FAILS '} ${check}: ${rule}`);
  console.log(`       ${checkedRowCount} rows${figures.join('')}`);
  for (const violation of violations) console.log(`       ${describeViolation(violation)}`);
  if (violationCount > violations.length)
    console.log(`       and ${violationCount - violations.length} more`);
}

/** Amounts of a violation are in minor units, as in the database. */
function describeViolation({ table, id, what, expected, found }: Violation): string {
  return `${table}${id === null ? '' : ` ${id}`}: ${what}: expected ${expected}, found ${found}`;
}
