import { lockAccounts } from '../accounts/ledger/store.ts';
import type { Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { takeLocks } from '../core/database/named-locks.ts';
import { LostRace } from '../core/database/postgres-errors.ts';
import { notFound } from '../core/http/errors.ts';
import { decideMatch } from './matching/rules.ts';
import { findCandidates } from './matching/store.ts';
import { storedToPost } from './notifications/reprocess-notifications.ts';
import { findReprocessable, lockNotifications } from './notifications/store.ts';
import { keysOfPayment, locksOfReference } from './posting/identity-rules.ts';
import type { PaymentRow } from './rules.ts';
import { findPaymentRow, lockPaymentRows } from './store.ts';

/*
 * The order in which every transaction of payments takes the locks for which it waits. A transaction that does not keep to it can deadlock:
 *
 * 1. names (core/database/named-locks.ts): references, external ids and idempotency keys, in the order of their lock ids
 * 2. accounts, then 3. payments, then 4. notifications, each in the order of their ids
 * 5. payment requests and approvals
 *
 * A statement that waits for a lock reads the past. So names are locked by statements of their own, and later statements read. The
 * posting queue waits for no lock (posting/post-payments.ts). `postNow` takes further locks only if they are free.
 */

/**
 * The first table that the posting queue reads for a payment. A transaction that locks this table before other tables cannot
 * deadlock with the payments of the queue.
 */
export const FIRST_TABLE_OF_PAYMENTS = 'payment_methods';

/**
 * 1. Locks references, because staff and the provider can report one payment at the same moment.
 * @param keys - the references in the form of `referenceKey`.
 */
export function lockReferences(tx: Tx, keys: readonly string[]): Promise<void> {
  return takeLocks(tx, keys.flatMap(locksOfReference));
}

/** 2. to 4. Locks rows, and reads them. */
export async function lockRows(
  tx: Tx,
  { accounts = [], payments = [], notifications = [] }: Partial<Record<LockedTable, readonly number[]>>,
) {
  return {
    accounts: await lockAccounts(tx, accounts),
    payments: await lockPaymentRows(tx, payments),
    notifications: await lockNotifications(tx, notifications),
  };
}

type LockedTable = 'accounts' | 'payments' | 'notifications';

/**
 * Locks a payment, its reference with the ids that it contains, and its account. Also locks the accounts to which
 * `reprocessNotifications` could post.
 * @param others - further accounts to lock.
 */
export async function lockPaymentAndAccount(
  tx: Tx,
  context: Context,
  id: number,
  others: readonly number[] = [],
) {
  const seen = await findPaymentRow(tx, id);
  if (!seen) throw notFound('payment', id);
  const { reference_key: reference } = seen;
  await lockReferences(tx, keysOfPayment(seen));
  const further = reference === null ? [] : await findAccountsForReprocessing(tx, context, reference, id);
  const { locked } = await lockPaymentsAndAccounts(tx, [seen], [...further, ...others]);
  const [first] = locked;
  if (!first) throw new Error(`Payment ${id} was not locked.`);
  return first;
}

/** Locks the accounts of the payments and further accounts, then the payments, then notifications. */
export async function lockPaymentsAndAccounts(
  tx: Tx,
  seen: readonly PaymentRow[],
  further: readonly number[],
  notificationIds: readonly number[] = [],
) {
  const { accounts, payments, notifications } = await lockRows(tx, {
    accounts: [...seen.flatMap(({ account_id }) => account_id ?? []), ...further],
    payments: seen.map(({ id }) => id),
    notifications: notificationIds,
  });
  const locked = seen.map(({ id, account_id: accountId }) => {
    const payment = payments.get(id);
    if (payment?.account_id !== accountId) throw new LostRace('the account of the payment has changed');
    return { payment, account: accountId === null ? undefined : accounts.get(accountId) };
  });
  return { locked, notifications };
}

/** Finds the accounts to which reprocessing may post, so that the caller can lock them first. */
export async function findAccountsForReprocessing(
  tx: Tx,
  context: Context,
  key: string,
  reversedId?: number,
): Promise<number[]> {
  const rows = await findReprocessable(tx, key, reversedId);
  const interpretations = rows.flatMap((row) => storedToPost(context, row).interpretations ?? []);
  const candidates = await findCandidates(tx, interpretations);
  return interpretations.flatMap(
    ({ referenceIsEmpty }, at) => decideMatch(candidates[at] ?? [], referenceIsEmpty).accountId ?? [],
  );
}
