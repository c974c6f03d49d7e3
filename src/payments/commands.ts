import { audit } from '../core/audit.ts';
import type { Actor, Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { LostRace } from '../core/database/postgres-errors.ts';
import type { LedgerEvent, PaymentStatus } from '../core/database/tables.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { type AppError, illegalMove, notFound } from '../core/http/errors.ts';
import { post } from '../ledger/commands.ts';
import {
  type AccountRow,
  accountFull,
  booksOf,
  type Entry,
  hasRoomFor,
  type Movement,
} from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import { forgetAssignment, learnAssignment } from './matching/commands.ts';
import { findAccountsToReprocess, reprocessNotifications } from './notifications/commands.ts';
import { lockReference, unlinkFromProvider } from './posting/store.ts';
import { PAYMENT_STATUSES, type PaymentRow } from './rules.ts';
import { findPaymentRow, lockPaymentRows, setAssigned, setReversed, setUnassigned } from './store.ts';

/** Assigns an unmatched payment to an account. */
export async function assignPayment(
  context: Context,
  actor: Actor,
  id: number,
  accountId: number,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const accounts = await lockAccounts(tx, [accountId]);
    const payment = (await lockPaymentRows(tx, [id])).get(id);
    if (!payment) throw notFound('payment', id);
    const account = accounts.get(accountId);
    if (!account) throw notFound('account', accountId, 'accountId');
    if (payment.status === 'matched' && payment.account_id === accountId) return payment;
    if (payment.status !== 'unmatched') throw refusedMove(payment, 'matched');
    const amountMinor = BigInt(payment.amount_minor);
    if (!hasRoomFor(booksOf(account), amountMinor)) throw accountFull('accountId');
    const assigned = await setAssigned(tx, id, accountId);
    await post(tx, context, accounts, {
      ...eventOf('payment_assigned', payment),
      ...onAccount(account, { kind: 'money_in', amountMinor }, unmatched(amountMinor)),
    });
    const isLearned = await learnAssignment(tx, context, actor, assigned);
    await audit(tx, actor, {
      action: 'payment.assign',
      resource: 'payment',
      resourceId: id,
      before: { status: payment.status, accountId: null },
      after: { status: 'matched', accountId, isLearned },
    });
    return assigned;
  });
}

/**
 * Unassigns a matched payment, so that it is in the worklist again. It stays reconciled, because the money has arrived.
 */
export async function unassignPayment(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const { payment, account } = await lockPaymentAndAccount(tx, context, id);
    if (payment.status !== 'matched' || !account) throw refusedMove(payment, 'unmatched');
    const unassigned = await setUnassigned(tx, id);
    const amountMinor = BigInt(payment.amount_minor);
    await post(tx, context, new Map([[account.id, account]]), {
      ...eventOf('payment_unassigned', payment),
      ...onAccount(account, { kind: 'money_out', amountMinor }, unmatched(-amountMinor)),
    });
    await forgetAssignment(tx, context, payment);
    await audit(tx, actor, {
      action: 'payment.unassign',
      resource: 'payment',
      resourceId: id,
      before: { status: payment.status, accountId: account.id, matchMethod: payment.match_method },
      after: { status: 'unmatched', accountId: null, matchMethod: null, reason },
    });
    if (payment.transaction_ref !== null) await reprocessNotifications(tx, context, payment.transaction_ref);
    return unassigned;
  });
}

/**
 * Reverses a payment: opposite entries undo it, and its row stays. A notification that conflicted with a manual payment, or was
 * linked to it, is posted in the same transaction. A payment that came from the provider keeps its transaction, so that a
 * repeated notification does not credit it again.
 */
export async function reversePayment(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const locked = await lockPaymentAndAccount(tx, context, id);
    if (locked.payment.status === 'reversed') throw refusedMove(locked.payment, 'reversed');
    const reversed = await reverseLocked(tx, context, actor, { ...locked, reason });
    const { transaction_ref: reference } = reversed;
    if (reference !== null) await reprocessNotifications(tx, context, reference, id);
    return reversed;
  });
}

interface Reversal {
  payment: PaymentRow;
  /** Undefined for an unmatched payment. */
  account: AccountRow | undefined;
  reason: string;
}

/** Reverses a payment that the transaction has locked with its account. */
export async function reverseLocked(
  tx: Tx,
  context: Context,
  actor: Actor,
  { payment, account, reason }: Reversal,
): Promise<PaymentRow> {
  const { id, payment_method_id: paymentMethodId } = payment;
  if (payment.source === 'manual' && payment.provider !== null) await unlinkFromProvider(tx, id);
  const reversed = await setReversed(tx, id, reason, context.clock.now());
  const amountMinor = BigInt(payment.amount_minor);
  const clearing = { ledgerAccount: 'clearing' as const, amountMinor: -amountMinor, paymentMethodId };
  await post(tx, context, new Map(account && [[account.id, account]]), {
    ...eventOf('payment_reversed', payment),
    ...(account
      ? onAccount(account, { kind: 'money_out', amountMinor }, clearing)
      : { movements: [], contra: [clearing, unmatched(amountMinor)] }),
  });
  await audit(tx, actor, {
    action: 'payment.reverse',
    resource: 'payment',
    resourceId: id,
    before: { status: payment.status },
    after: { status: 'reversed', reason },
  });
  return reversed;
}

/** All events of a payment have its payment date. */
function eventOf(event: LedgerEvent, { id, payment_date: valueDate }: PaymentRow) {
  return { event, paymentId: id, valueDate };
}

function onAccount({ id: accountId }: AccountRow, movement: Movement, contra: Entry) {
  return { movements: [{ accountId, movement }], contra: [contra] };
}

function unmatched(amountMinor: bigint): Entry {
  return { ledgerAccount: 'unmatched', amountMinor };
}

/** Locks a payment and its account, and the accounts to which notifications with its reference may be posted. */
async function lockPaymentAndAccount(tx: Tx, context: Context, id: number) {
  const seen = await findPaymentRow(tx, id);
  if (!seen) throw notFound('payment', id);
  const { transaction_ref: reference } = seen;
  if (reference !== null) await lockReference(tx, reference);
  const further = reference === null ? [] : await findAccountsToReprocess(tx, context, reference, id);
  const [locked] = await lockPayments(tx, [seen], further);
  if (!locked) throw new Error('The payment was deleted, although payments never are.');
  return locked;
}

/** Locks the accounts of payments and further accounts, and then the payments. */
export async function lockPayments(tx: Tx, seen: readonly PaymentRow[], further: readonly number[]) {
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

function refusedMove({ status }: PaymentRow, to: PaymentStatus): AppError {
  return illegalMove('A payment', status, to, PAYMENT_STATUSES[status].next);
}
