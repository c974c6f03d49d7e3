import { sql } from 'kysely';
import type { Actor, Context } from '../../core/context.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type { BulkItem } from '../../core/http/bulk.ts';
import { type IdempotencyKey, keyOfItem } from '../../core/http/idempotency.ts';
import type { PaymentRow } from '../rules.ts';
import type { NewPayment } from '../schema.ts';
import { type PostingQueue, recordPayment } from './commands.ts';

/**
 * The payments of a call that wait in the queue at once: no more than a batch, so that single payments are in the next one. The
 * queue has room for those of all bulk calls and of all other requests, so that none is refused half way.
 */
const SLICE = 100;

interface BulkAnswer<Data> {
  /** The key of the call. Each payment has a key made from it, so that a repeat after a crash finds what was posted. */
  key: IdempotencyKey | undefined;
  answerOf(payment: PaymentRow): Data;
}

/**
 * Records the manual payments of one call through the queue, each committed with its batch.
 * @param context `db` is the transaction of the call's key, if it has one.
 */
export async function recordPayments<Data>(
  context: Context,
  queue: Pick<PostingQueue, 'submit'>,
  actor: Actor,
  items: readonly BulkItem<NewPayment>[],
  { key, answerOf }: BulkAnswer<Data>,
): Promise<ItemResult<Data>[]> {
  const record = async ({ index, body }: BulkItem<NewPayment>): Promise<ItemResult<Data>> => {
    try {
      const keep = key && { key: keyOfItem(key, index), status: 201, answerOf };
      const recorded = await recordPayment(context, queue, actor, body, keep);
      if ('payment' in recorded) return { outcome: answerOf(recorded.payment) };
      return { outcome: JSON.parse(recorded.replay.answer) as Data };
    } catch (error) {
      return { error };
    }
  };
  const results: ItemResult<Data>[] = [];
  for (let start = 0; start < items.length; start += SLICE) {
    results.push(...(await Promise.all(items.slice(start, start + SLICE).map(record))));
    // PostgreSQL ends a transaction that is idle for too long.
    if (key) await sql`select 1`.execute(context.db);
  }
  return results;
}
