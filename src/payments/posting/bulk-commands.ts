import type { Actor, Context } from '../../core/context.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type { BulkItem } from '../../core/http/bulk.ts';
import { type IdempotencyKey, keyOfItem } from '../../core/http/idempotency.ts';
import type { PaymentRow } from '../rules.ts';
import type { NewPayment } from '../schema.ts';
import { type PostingQueue, recordPayment } from './commands.ts';
import type { PaymentWarning } from './warning-rules.ts';

interface BulkAnswer<Data> {
  key: IdempotencyKey | undefined;
  answerOf(payment: PaymentRow, warnings: readonly PaymentWarning[]): Data;
}

/**
 * Submits the payments of one part of a bulk call to the posting queue, which commits them in batches. The queue has room for the
 * payments of all accepted requests, so it refuses no payment of a call that has begun.
 */
export function recordPayments<Data>(
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
      if ('payment' in recorded) return { outcome: answerOf(recorded.payment, recorded.warnings) };
      return { outcome: JSON.parse(recorded.replay.answer) as Data };
    } catch (error) {
      return { error };
    }
  };
  return Promise.all(items.map(record));
}
