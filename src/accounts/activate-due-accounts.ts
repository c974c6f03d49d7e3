import { type Context, SYSTEM, today } from '../core/context.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { adjustStatusToPaidAmount, changeStatuses } from './status/commands.ts';
import { isToComplete } from './status/rules.ts';
import { laterMoneyDate, lockAccountsToActivate } from './store.ts';

/**
 * Activates the pending accounts whose activation date has come, one batch per transaction. The date of the status change is the
 * activation date, even if the job runs days later, because the due dates of the instalments are counted from that date.
 *
 * @param signal - stops the job between two batches.
 * @returns the number of activated accounts.
 */
export async function activateDueAccounts(context: Context, signal: AbortSignal): Promise<number> {
  const batchSize = 200;
  let activated = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const accounts = await lockAccountsToActivate(tx, today(context), batchSize);
      const changes = accounts.map((account) => ({
        account,
        to: 'active' as const,
        reason: null,
        date: account.activation_date,
      }));
      for (const account of await changeStatuses(tx, context, SYSTEM, changes)) {
        if (!isToComplete(account.status, BigInt(account.paid_minor), BigInt(account.total_minor))) continue;
        const date = await laterMoneyDate(tx, account.id, account.activation_date);
        await adjustStatusToPaidAmount(tx, context, account, { date });
      }
      return accounts.length;
    });
    activated += batch;
    if (batch < batchSize) break;
  }
  return activated;
}
