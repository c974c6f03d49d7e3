import type { Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { addNextEntries, lockProgress, setNextEntry } from './sums-store.ts';

/**
 * Adds new clearing entries of cash methods to the sums of their holders, in batches. Reading the cash in hand then reads only the entries
 * since the last run. It is right at any time, also if this job never runs.
 * @param signal - stops the job between two batches.
 * @returns 0: there are new entries in most minutes, so the number is not worth a line in the log.
 */
export async function sumCash({ db, config }: Context, signal: AbortSignal): Promise<number> {
  if (config.CASH_COUNTS === 'off') return 0;
  let hasMore = true;
  while (hasMore && !signal.aborted) {
    hasMore = await inTransaction(db, async (tx) => {
      let hasChanged = false;
      for (const paymentMethodId of await lockProgress(tx)) {
        const isAdded = await addNextEntries(tx, paymentMethodId);
        const isSet = await setNextEntry(tx, paymentMethodId);
        hasChanged ||= isAdded || isSet;
      }
      return hasChanged;
    });
  }
  return 0;
}
