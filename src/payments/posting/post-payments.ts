import { closeBooks } from '../../accounts/ledger/close-books-rules.ts';
import { postWithPayoffs } from '../../accounts/ledger/payoff-rules.ts';
import { openBooks } from '../../accounts/ledger/rules.ts';
import { ledgerStatements } from '../../accounts/ledger/store.ts';
import { type Context, today } from '../../core/context.ts';
import type { BatchResults } from '../../core/database/batching.ts';
import type { Tx } from '../../core/database/db.ts';
import { LostRace } from '../../core/database/postgres-errors.ts';
import { sendWithCommit } from '../../core/database/transactions.ts';
import { decideNotification } from '../notifications/rules.ts';
import { decideManual } from './manual-payment-rules.ts';
import type { PaymentToPost, PostedSoFar, PostingReads } from './rules.ts';
import { type Decision, type Outcome, refuse } from './rules.ts';
import { notificationUpdates, paymentUpdates } from './store.ts';
import { takeAndRead } from './take-and-read.ts';
import type { EarlierPayment } from './warning-rules.ts';

type Results = BatchResults<PaymentToPost, Outcome>;

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
