import { closeBooks } from '../../accounts/ledger/close-books-rules.ts';
import { postWithPayoffs } from '../../accounts/ledger/payoff-rules.ts';
import { openBooks } from '../../accounts/ledger/rules.ts';
import { ledgerStatements } from '../../accounts/ledger/store.ts';
import { type Context, today } from '../../core/context.ts';
import { type Batcher, type BatchResults, createBatcher } from '../../core/database/batching.ts';
import type { Tx } from '../../core/database/db.ts';
import { changedNothing, LostRace, violatedUnique } from '../../core/database/postgres-errors.ts';
import { inTransaction, sendWithCommit } from '../../core/database/transactions.ts';
import { AppError, unavailable } from '../../core/http/errors.ts';
import { lockNameOf, stillRunning } from '../../core/http/idempotency.ts';
import { decideNotification } from '../notifications/rules.ts';
import { decideManual } from './manual-payment-rules.ts';
import {
  type Decision,
  type Outcome,
  type PaymentToPost,
  type PostedSoFar,
  type PostingReads,
  refuse,
} from './rules.ts';
import { notificationUpdates, paymentUpdates } from './store.ts';
import { takeAndRead } from './take-and-read.ts';
import type { EarlierPayment } from './warning-rules.ts';

type Results = BatchResults<PaymentToPost, Outcome>;

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

async function postBatch(context: Context, batch: readonly PaymentToPost[]): Promise<Results> {
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

/**
 * Posts payments in one database transaction: takes the locks that are free and reads, decides about one payment after another, and
 * sends all rows together with the commit.
 *
 * Never waits for a lock. A payment whose name, account or stored payment another transaction has locked is left out before
 * anything is decided (`notNow`). A refused payment does not affect the others.
 */
export async function postPayments(
  tx: Tx,
  context: Context,
  items: readonly PaymentToPost[],
): Promise<Results> {
  const { reads, accounts, histories, payoffs, notNow } = await takeAndRead(tx, context, items);
  const earlier: PostedSoFar = { books: openBooks(accounts, payoffs), payments: [] };
  const decisions = new Map([...reads].map(([item, own]) => [item, decide(context, item, own, earlier)]));
  const rows = [...decisions.values()];
  const changed = {
    payments: rows.flatMap(({ payments = [] }) => payments),
    notifications: rows.flatMap(({ notifications = [] }) => notifications),
    repeatedAfterReversal: rows.flatMap(({ repeatedAfterReversal = [] }) => repeatedAfterReversal),
  };
  const inserted = rows.flatMap((one) => one.rows ?? []);
  const isLedgerChanged = inserted.length + earlier.books.posted.length > 0;
  await sendWithCommit(tx, [
    ...paymentUpdates(changed),
    ...(isLedgerChanged
      ? ledgerStatements(closeBooks(earlier.books, histories, today(context), inserted))
      : []),
    ...notificationUpdates(changed),
  ]);
  return { done: new Map([...decisions].map(([item, { result }]) => [item, result])), notNow };
}

/** Posts a payment in a transaction that has waited for the locks of the payment. @throws LostRace if another one holds a lock. */
export async function postNow(tx: Tx, context: Context, item: PaymentToPost): Promise<Outcome> {
  const { done, notNow } = await postPayments(tx, context, [item]);
  const result = done.get(item);
  if (!result) throw new LostRace(`another transaction has locked ${notNow.get(item)}`);
  if ('error' in result) throw result.error;
  return result.outcome;
}

/** Decides about a payment, and adds its money to the books that the next decision sees. */
function decide(
  { config, currency, clock }: Context,
  item: PaymentToPost,
  reads: PostingReads,
  earlier: PostedSoFar,
): Decision {
  const {
    BUSINESS_TIMEZONE: timeZone,
    PHONE_REGION: region,
    AGENT_BACKDATING_DAYS: agentBackdatingDays,
    cashCeilingMinor,
  } = config;
  const settings = { currency, timeZone, region, agentBackdatingDays, cashCeilingMinor, now: clock.now() };
  let decision: Decision;
  try {
    decision =
      'manual' in item
        ? decideManual(item.manual, item.keep, reads, earlier, settings)
        : decideNotification(item.notification, reads, earlier, settings);
  } catch (error) {
    return { result: { error } }; // The others of the batch are still posted.
  }
  if (!decision.event) return decision;
  const refusal = postWithPayoffs(earlier.books, decision.event);
  if (refusal) return refuse(refusal);
  earlier.payments.push(...((decision.event.rows?.payments ?? []) as EarlierPayment[]));
  return decision;
}
