import { sqlState } from '../core/db.ts';
import { openLongReads } from '../core/long-reads.ts';
import { minorToText } from '../core/money.ts';
import { currencyOf } from '../database.ts';
import { type Breach, checkLaws, type Finding } from '../proof/store.ts';
import { runCommand, UsageError, withConnection } from './connect.ts';

const TIMEOUT_MS = 30 * 60_000;
/** PostgreSQL's words for a table, a column and a function that are not there. */
const NOT_THERE = new Set(['42P01', '42703', '42883']);

await runCommand(async (config) => {
  const { code, decimals } = currencyOf(config);
  const findings = await withConnection(config, async (connection) => {
    const prover = openLongReads({
      connection,
      what: 'proofs',
      connections: 1,
      timeoutMs: TIMEOUT_MS,
      onConnectionLost: (error) => console.error(`The database connection was lost: ${error.message}`),
    });
    try {
      return await prover.read('verify', (tx) =>
        checkLaws(tx, { onFinding: (finding) => print(finding, decimals) }),
      );
    } catch (error) {
      throw NOT_THERE.has(sqlState(error) ?? '')
        ? new UsageError('This database is not of this version: run "npm run migrate" first.', {
            cause: error,
          })
        : error;
    } finally {
      await prover.close();
    }
  });
  const broken = findings.filter(({ breachCount }) => breachCount > 0);
  if (broken.length > 0) process.exitCode = 1;
  console.log(
    broken.length === 0
      ? `All ${findings.length} laws hold. Amounts are in ${code}.`
      : `${broken.length} of ${findings.length} laws are broken: ${broken.map(({ law }) => law).join(', ')}.`,
  );
});

/** A law is printed when it has been looked at, so that the print-out shows how far the proof is. */
function print({ law, says, lookedAt, sums, breachCount, breaches }: Finding, decimals: number): void {
  const figures = sums.map(({ name, amountMinor }) => `, ${name} ${minorToText(amountMinor, decimals)}`);
  console.log(`${breachCount === 0 ? 'holds ' : 'BROKEN'} ${law}: ${says}`);
  console.log(`       ${lookedAt} rows${figures.join('')}`);
  for (const breach of breaches) console.log(`       ${line(breach)}`);
  if (breachCount > breaches.length) console.log(`       and ${breachCount - breaches.length} more`);
}

/** Amounts of a breach stay as the database holds them, in minor units. */
function line({ table, id, what, expected, found }: Breach): string {
  return `${table}${id === null ? '' : ` ${id}`}: ${what}: expected ${expected}, found ${found}`;
}
