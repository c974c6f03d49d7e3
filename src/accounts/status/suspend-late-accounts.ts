import { type Context, SYSTEM, today } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { businessDay } from '../../core/values/dates.ts';
import { changeStatuses } from './commands.ts';
import { describeLateness } from './lateness-wording-rules.ts';
import { lockAccountsToSuspend } from './suspension-store.ts';

/**
 * Suspends accounts that are past their days of grace, if their pay plan has `auto_suspend`. Each batch is one transaction.
 *
 * @param coveredUntil - the time before which all payments are known. Accounts whose days of grace end later are not suspended.
 * @param signal - stops the job between two batches.
 * @param onBatch - called after each commit with the number of accounts suspended so far.
 * @returns the number of suspended accounts.
 */
export async function suspendLateAccounts(
  context: Context,
  coveredUntil: Date,
  signal: AbortSignal,
  onBatch: (suspended: number) => void = () => {},
): Promise<number> {
  const batchSize = 200;
  const coveredDay = businessDay(coveredUntil, context.config.BUSINESS_TIMEZONE);
  let suspended = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const day = today(context);
      const accounts = await lockAccountsToSuspend(tx, coveredDay, batchSize);
      const changes = accounts.map((account) => ({
        account,
        to: 'suspended' as const,
        reason: describeLateness(account, day),
        cause: 'non_payment' as const,
      }));
      await changeStatuses(tx, context, SYSTEM, changes);
      return accounts.length;
    });
    // Do not stop after a short batch: a batch skips accounts that other transactions have locked.
    if (batch === 0) break;
    suspended += batch;
    onBatch(suspended);
  }
  return suspended;
}
