import type { Context } from '../../core/context.ts';
import { type Batcher, type BatchResults, createBatcher } from '../../core/database/batching.ts';
import { changedNothing, violatedUnique } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, unavailable } from '../../core/http/errors.ts';
import { lockNameOf, stillRunning } from '../../core/http/idempotency.ts';
import { postPayments } from './post-payments.ts';
import type { Outcome, PaymentToPost } from './rules.ts';

/** Posts the payments of all requests and jobs of an instance in batches. */
export type PostingQueue = Batcher<PaymentToPost, Outcome>;

/** The context of commands that submit payments. Outside a transaction only: the queue would wait for the locks of its caller. */
export interface PostingContext extends Context {
  readonly queue: Pick<PostingQueue, 'submit'>;
}

const LARGEST_BATCH = 100;
/** PostgreSQL works on one batch while the service prepares the other batch. */
const BATCHES_IN_FLIGHT = 2;
/**
 * More payments than all concurrent requests and jobs can submit. A bulk call has at most 100 payments in the queue at a time, and a job
 * at most 500.
 */
const MAX_ITEMS = 2_000;

export function openPostingQueue(context: Context): PostingQueue {
  return createBatcher<PaymentToPost, Outcome>({
    run: (batch) => postBatch(context, batch),
    errorOfMissed: async (item, lock) => {
      if (lock.startsWith(UNIQUE_VALUE)) return unavailable(new Error(lock), 1);
      const key = 'manual' in item ? item.keep?.key : undefined;
      return key && lock === lockNameOf(key) ? stillRunning(context.db, MISSED) : unavailable(MISSED, 1);
    },
    keysOf,
    changedNothing,
    largestBatch: LARGEST_BATCH,
    maxInFlight: BATCHES_IN_FLIGHT,
    maxItems: MAX_ITEMS,
    patienceMs: context.config.limits.postingMs,
  });
}

/** What a payment missed whose row PostgreSQL refused as a duplicate. The words of PostgreSQL follow. */
const UNIQUE_VALUE = 'another transaction has stored a value that must be unique: ';
const MISSED = new Error('another transaction has locked the reference, the key, the account or the payment');

/** Whether a payment was not posted because another transaction held one of its locks for too long. */
export function isMissed(error: unknown): boolean {
  return error instanceof AppError && error.cause === MISSED;
}

/** Payments with a common key are never in two batches at once, because one of the two would miss its lock. */
function keysOf({ locks, namedAccountId }: PaymentToPost): string[] {
  return namedAccountId === null ? locks : [...locks, `account ${namedAccountId}`];
}

async function postBatch(
  context: Context,
  batch: readonly PaymentToPost[],
): Promise<BatchResults<PaymentToPost, Outcome>> {
  try {
    return await inTransaction(context.db, (tx) => postPayments(tx, context, batch), {
      startsWithReads: true,
    });
  } catch (error) {
    const [item, ...others] = batch;
    // Another instance has stored the same reference or key without the lock of its name, as old versions do: try again.
    if (item && others.length === 0 && error instanceof Error && violatedUnique(error))
      return { done: new Map(), notNow: new Map([[item, `${UNIQUE_VALUE}${error.message}`]]) };
    throw error;
  }
}
