import { event, eventRow } from '../../changes/events/change-rules.ts';
import { writeChanges } from '../../changes/events/change-store.ts';
import { type Context, SYSTEM } from '../../core/context.ts';
import type { Connection, Db } from '../../core/database/db.ts';
import type { Replica } from '../../core/database/replica.ts';
import { openSnapshotReads } from '../../core/database/snapshot-reads.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import type { TimeLimits } from '../../core/time-limits.ts';
import { type Attempt, addJob } from '../../platform/jobs/queue.ts';
import { type CheckedBooks, checkBooks } from './checks-store.ts';
import { dayOfCheck, isCheckDue, isNews } from './result-rules.ts';
import { findLastResult, insertFirstResult, lockLastResult, replaceLastResult } from './result-store.ts';

export const PROOF_TASK = 'check-books';
/** For checks that no request waits for. On very large books, such a check takes minutes. Requests use `PROOF_READS`. */
export const UNATTENDED_READS = { what: 'proofs', connections: 1, timeoutMs: 30 * 60_000 };

/**
 * Stores the result of all checks, and publishes an event if the result is news (`isNews`). Ignores the result if the stored
 * result is from a later snapshot.
 * @returns the names of the checks with violations.
 */
export async function recordResult(db: Db, { readAt, checks }: CheckedBooks): Promise<string[]> {
  const failedChecks = checks.filter(({ violationCount }) => violationCount > 0).map(({ check }) => check);
  const violationCount = checks.reduce((sum, check) => sum + check.violationCount, 0);
  const result = {
    read_at: readAt,
    check_count: checks.length,
    violation_count: violationCount,
    failed_checks: failedChecks,
  };
  await inTransaction(db, async (tx) => {
    const isFirst = await insertFirstResult(tx, result);
    const last = isFirst ? undefined : await lockLastResult(tx);
    if (last && new Date(last.read_at) > new Date(readAt)) return;
    if (last) await replaceLastResult(tx, result);
    if (!isNews(result, last)) return;
    const news =
      violationCount > 0
        ? event('proof.failed', { violationCount, failedChecks })
        : event('proof.passed', { checkCount: checks.length });
    await writeChanges(tx, [eventRow(SYSTEM, { resource: 'proof', resourceId: null }, news)]);
  });
  return failedChecks;
}

/** Adds a job for the daily check of the books if the check is due. @returns the number of new jobs. */
export async function queueDailyCheck({ db, clock, config }: Context): Promise<number> {
  if (config.TEST_CLOCK === 'on') return 0; // With a test clock, many days pass within seconds, and each would add a check.
  const last = await findLastResult(db);
  const now = clock.now();
  const { BUSINESS_TIMEZONE: timeZone } = config;
  if (!isCheckDue(last && new Date(last.read_at), now, timeZone)) return 0;
  const key = `${PROOF_TASK}:${dayOfCheck(now, timeZone)}`;
  return (await addJob(db, { task: PROOF_TASK, key, onlyIfMissing: true })) ? 1 : 0;
}

/**
 * Runs all checks on a separate connection, and stores the result. If the service stops meanwhile, the check stays due: another
 * instance queues the check, or this instance after its next start.
 */
export async function checkBooksUnattended(
  db: Db,
  {
    connection,
    limits,
    replica,
  }: { connection: Connection; limits: TimeLimits; replica: Replica | undefined },
  log: Log,
  { signal }: Pick<Attempt, 'signal'>,
): Promise<void> {
  const reads = openSnapshotReads({
    connection,
    limits,
    replica,
    ...UNATTENDED_READS,
    onConnectionLost: (error) => {
      if (!signal.aborted) log.warn(`The check of the books lost its connection: ${error.message}`);
    },
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= reads.close();
    return closed;
  };
  signal.addEventListener('abort', close, { once: true });
  try {
    const { value: checked } = await reads.read('daily check', (tx) => checkBooks(tx));
    const failed = await recordResult(db, checked);
    if (failed.length > 0) {
      const names = failed.join(', ');
      log.error(`The books violate ${failed.length} checks: ${names}. Run "npm run verify" to see the rows.`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', close);
    await close();
  }
}
