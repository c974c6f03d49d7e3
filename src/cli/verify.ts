import { openLongReads } from '../core/database/long-reads.ts';
import { sqlState } from '../core/database/postgres-errors.ts';
import { minorToText } from '../core/values/money.ts';
import { currencyOf } from '../database.ts';
import type { Finding, Violation } from '../proof/store.ts';
import { runChecks } from '../proof/view.ts';
import { runCommand, UsageError, withConnection } from './connect.ts';

const TIMEOUT_MS = 30 * 60_000;
/** PostgreSQL's codes for a missing table, column and function. */
const NOT_THERE = new Set(['42P01', '42703', '42883']);

await runCommand(async (config) => {
  const { code, decimals } = currencyOf(config);
  const findings = await withConnection(config, async (connection) => {
    const verifier = openLongReads({
      connection,
      what: 'proofs',
      connections: 1,
      timeoutMs: TIMEOUT_MS,
      onConnectionLost: (error) => console.error(`The database connection was lost: ${error.message}`),
    });
    try {
      return await verifier.read('verify', (tx) =>
        runChecks(tx, { onFinding: (finding) => print(finding, decimals) }),
      );
    } catch (error) {
      throw NOT_THERE.has(sqlState(error) ?? '')
        ? new UsageError('The database schema does not match this version: run "npm run migrate" first.', {
            cause: error,
          })
        : error;
    } finally {
      await verifier.close();
    }
  });
  const broken = findings.filter(({ violationCount }) => violationCount > 0);
  if (broken.length > 0) process.exitCode = 1;
  console.log(
    broken.length === 0
      ? `All ${findings.length} checks pass. Amounts are in ${code}.`
      : `${broken.length} of ${findings.length} checks fail: ${broken.map(({ check }) => check).join(', ')}.`,
  );
});

/** Prints each check when it ends, to show progress. */
function print({ check, rule, lookedAt, sums, violationCount, violations }: Finding, decimals: number): void {
  const figures = sums.map(({ name, amountMinor }) => `, ${name} ${minorToText(amountMinor, decimals)}`);
  console.log(`${violationCount === 0 ? 'passes' : 'FAILS '} ${check}: ${rule}`);
  console.log(`       ${lookedAt} rows${figures.join('')}`);
  for (const violation of violations) console.log(`       ${line(violation)}`);
  if (violationCount > violations.length)
    console.log(`       and ${violationCount - violations.length} more`);
}

/** Amounts of a violation are in minor units, as in the database. */
function line({ table, id, what, expected, found }: Violation): string {
  return `${table}${id === null ? '' : ` ${id}`}: ${what}: expected ${expected}, found ${found}`;
}
