import { type Actor, readAmount, today } from '../../core/context.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type { BulkItem } from '../../core/http/bulk.ts';
import { externalFieldsOf } from '../../core/http/external-ids.ts';
import { type IdempotencyKey, type KeptAnswer, keyOfItem } from '../../core/http/idempotency.ts';
import type { PaymentRow } from '../rules.ts';
import type { NewPayment } from '../schema.ts';
import { manualPaymentToPost } from './manual-payment-rules.ts';
import type { PostingContext } from './post-payments.ts';
import type { KeepAnswer } from './rules.ts';
import type { PaymentWarning } from './warning-rules.ts';

/** @param keep - the answer to store under the idempotency key, for repeats of the request. */
export async function recordPayment(
  context: PostingContext,
  actor: Actor,
  body: NewPayment,
  keep?: KeepAnswer,
): Promise<{ payment: PaymentRow; warnings: PaymentWarning[] } | { replay: KeptAnswer }> {
  const manual = {
    actor,
    accountId: body.accountId,
    amountMinor: readAmount(body.amount, context.currency),
    paymentMethodId: body.paymentMethodId,
    transactionRef: body.transactionRef?.trim() ?? null,
    paymentDate: body.paymentDate ?? today(context),
    bothAreReal: body.bothAreReal ?? false,
    ...((body.checks || body.confirmation) && { confirmation: body.confirmation ?? null }),
    externalId: null,
    metadata: {},
    ...externalFieldsOf(body),
  };
  const outcome = await context.queue.submit(manualPaymentToPost(manual, keep));
  if ('payment' in outcome || 'replay' in outcome) return outcome;
  throw new Error('Posting a manual payment returned no payment.');
}

interface BulkAnswer<Data> {
  key: IdempotencyKey | undefined;
  answerOf(payment: PaymentRow, warnings: readonly PaymentWarning[]): Data;
}

/**
 * Submits the payments of one part of a bulk call to the posting queue, which commits them in batches. The queue has room for the
 * payments of all accepted requests, so it refuses no payment of a call that has begun.
 */
export function recordPayments<Data>(
  context: PostingContext,
  actor: Actor,
  items: readonly BulkItem<NewPayment>[],
  { key, answerOf }: BulkAnswer<Data>,
): Promise<ItemResult<Data>[]> {
  const record = async ({ index, body }: BulkItem<NewPayment>): Promise<ItemResult<Data>> => {
    try {
      const keep = key && { key: keyOfItem(key, index), status: 201, answerOf };
      const recorded = await recordPayment(context, actor, body, keep);
      if ('payment' in recorded) return { outcome: answerOf(recorded.payment, recorded.warnings) };
      return { outcome: JSON.parse(recorded.replay.answer) as Data };
    } catch (error) {
      return { error };
    }
  };
  return Promise.all(items.map(record));
}
