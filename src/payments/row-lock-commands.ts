import { lockAccounts } from '../accounts/ledger/store.ts';
import type { Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { LostRace } from '../core/database/postgres-errors.ts';
import { notFound } from '../core/http/errors.ts';
import { containedKeys } from '../core/values/reference.ts';
import { findAccountsForReprocessing } from './notifications/commands.ts';
import { lockReferences } from './posting/store.ts';
import type { PaymentRow } from './rules.ts';
import { findPaymentRow, lockPaymentRows } from './store.ts';

/**
 * Locks a payment, its reference with the ids that it contains, and its account. Also locks the accounts to which `reprocessNotifications` could post.
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
  const { reference_key: reference, transaction_ref: typed } = seen;
  // A notification of a contained id locks only this id, and can become a conflict because of this payment.
  if (reference !== null) await lockReferences(tx, [reference, ...containedKeys(typed ?? '')]);
  const further = reference === null ? [] : await findAccountsForReprocessing(tx, context, reference, id);
  const [locked] = await lockPaymentsAndAccounts(tx, [seen], [...further, ...others]);
  if (!locked) throw new Error(`Payment ${id} was not locked.`);
  return locked;
}

/** First locks the accounts of the payments and the further accounts, then the payments. */
export async function lockPaymentsAndAccounts(
  tx: Tx,
  seen: readonly PaymentRow[],
  further: readonly number[],
) {
  const accounts = await lockAccounts(tx, [
    ...seen.flatMap(({ account_id }) => account_id ?? []),
    ...further,
  ]);
  const payments = await lockPaymentRows(
    tx,
    seen.map(({ id }) => id),
  );
  return seen.map(({ id, account_id: accountId }) => {
    const payment = payments.get(id);
    if (payment?.account_id !== accountId) throw new LostRace('the account of the payment has changed');
    return { payment, account: accountId === null ? undefined : accounts.get(accountId) };
  });
}
