import { type AccountRow, accountLock, lockAccount } from '../accounts/store.ts';
import { audit } from '../core/audit.ts';
import { type Actor, type Context, readAmount, today } from '../core/context.ts';
import { inTransaction, LostRace, type Tx, together } from '../core/db.ts';
import { type AppError, duplicate, illegalMove, invalidField, notFound } from '../core/errors.ts';
import { paymentMethodWithId } from '../payment-methods/store.ts';
import { bookAssignment, bookPayment, bookReversal, bookUnassignment, checkRoom } from './booking.ts';
import { bookWaitingConflict, findAccountsOfConflicts } from './inbox.ts';
import { forgetAssignment, learnAssignment } from './learning.ts';
import type { NewPayment } from './schema.ts';
import {
  findPaymentRow,
  lockPayment,
  lockReference,
  type PaymentRow,
  providerPaymentNamed,
  referenceLock,
  setAssigned,
  setReversed,
  setUnassigned,
} from './store.ts';

/** Records money that was received and whose account is known. */
export async function recordPayment(context: Context, actor: Actor, body: NewPayment): Promise<PaymentRow> {
  const { amountMinor, paymentDate, transactionRef } = readPayment(context, body);
  return inTransaction(context.db, async (tx) => {
    const { method, account, isKnown } = await lockForPayment(tx, body, transactionRef);
    if (!method) throw notFound('payment_method', body.paymentMethodId, 'paymentMethodId');
    if (!method.active) throw invalidField('paymentMethodId', 'must be a payment method that is active');
    if (!account) throw notFound('account', body.accountId, 'accountId');
    checkRoom(account, amountMinor, 'amount');
    if (isKnown) throw duplicate('payment', 'transactionRef');
    return bookPayment(tx, context, actor, account, {
      amountMinor,
      paymentMethodId: method.id,
      transactionRef,
      paymentDate,
      source: 'manual',
      matchMethod: null,
      provider: null,
    });
  });
}

/** Locks the reference and then the account; `isKnown` says whether the provider told of the payment itself. */
async function lockForPayment(tx: Tx, { paymentMethodId, accountId }: NewPayment, reference: string | null) {
  const method = paymentMethodWithId(paymentMethodId);
  if (reference === null) {
    const [[found], [account]] = await together(tx, method, accountLock(accountId));
    return { method: found, account, isKnown: false };
  }
  const [[found], , [account], known] = await together(
    tx,
    method,
    referenceLock(reference),
    accountLock(accountId),
    providerPaymentNamed(reference),
  );
  return { method: found, account, isKnown: known.length > 0 };
}

/** Gives unmatched money to the account that it belongs to. */
export async function assignPayment(
  context: Context,
  actor: Actor,
  id: number,
  accountId: number,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const account = await lockAccount(tx, accountId);
    const payment = await lockPayment(tx, id);
    if (!payment) throw notFound('payment', id);
    if (!account) throw notFound('account', accountId, 'accountId');
    if (payment.status === 'matched' && payment.account_id === accountId) return payment;
    if (payment.status !== 'unmatched') throw refusedMove(payment, 'matched');
    checkRoom(account, BigInt(payment.amount_minor), 'accountId');
    const assigned = await setAssigned(tx, id, accountId);
    await bookAssignment(tx, context, account, assigned);
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
 * Takes a payment off the account that it was matched to, however that was found: it waits in the worklist
 * again. That it was reconciled stands, because the money did arrive.
 */
export async function unassignPayment(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const seen = await findPaymentRow(tx, id);
    if (!seen) throw notFound('payment', id);
    const { payment, account } = await lockWithAccounts(tx, seen, []);
    if (payment.status !== 'matched' || !account) throw refusedMove(payment, 'unmatched');
    const unassigned = await setUnassigned(tx, id);
    await bookUnassignment(tx, context, account, payment);
    await forgetAssignment(tx, context, payment);
    await audit(tx, actor, {
      action: 'payment.unassign',
      resource: 'payment',
      resourceId: id,
      before: { status: payment.status, accountId: account.id, matchMethod: payment.match_method },
      after: { status: 'unmatched', accountId: null, matchMethod: null, reason },
    });
    return unassigned;
  });
}

/**
 * Takes a payment back: it stays on record, and entries of the opposite sign undo what it did. A
 * notification that had to wait because of this entry is booked in the same transaction.
 */
export async function reversePayment(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const { payment, account } = await lockPaymentAndAccount(tx, context, id);
    if (payment.status === 'reversed') throw refusedMove(payment, 'reversed');
    const reversed = await setReversed(tx, id, reason, context.clock.now());
    await bookReversal(tx, context, account, payment);
    await audit(tx, actor, {
      action: 'payment.reverse',
      resource: 'payment',
      resourceId: id,
      before: { status: payment.status },
      after: { status: 'reversed', reason },
    });
    if (payment.transaction_ref !== null) await bookWaitingConflict(tx, context, payment.transaction_ref);
    return reversed;
  });
}

/**
 * Locks the payment and its account, and any account that a waiting notification will be booked on: the
 * reference first, then accounts, ids ascending, as everyone does. Which ones has to be read before.
 */
async function lockPaymentAndAccount(tx: Tx, context: Context, id: number) {
  const seen = await findPaymentRow(tx, id);
  if (!seen) throw notFound('payment', id);
  const { transaction_ref: reference } = seen;
  if (reference === null) return lockWithAccounts(tx, seen, []);
  await lockReference(tx, reference);
  return lockWithAccounts(tx, seen, await findAccountsOfConflicts(tx, context, reference));
}

/** Locks the account that a payment was seen on, the further ones, and then the payment. */
async function lockWithAccounts(tx: Tx, seen: PaymentRow, further: number[]) {
  const ids = [...new Set([...(seen.account_id === null ? [] : [seen.account_id]), ...further])];
  const accounts = new Map<number, AccountRow>();
  for (const accountId of ids.sort((a, b) => a - b)) {
    const account = await lockAccount(tx, accountId);
    if (account) accounts.set(accountId, account);
  }
  const payment = await lockPayment(tx, seen.id);
  if (payment?.account_id !== seen.account_id) {
    throw new LostRace('the payment went to another account meanwhile');
  }
  return { payment, account: seen.account_id === null ? undefined : accounts.get(seen.account_id) };
}

function refusedMove(payment: PaymentRow, to: string): AppError {
  const allowed = { reversed: [], matched: ['unmatched', 'reversed'], unmatched: ['matched', 'reversed'] };
  return illegalMove('A payment', payment.status, to, allowed[payment.status]);
}

function readPayment(context: Context, body: NewPayment) {
  const paymentDate = body.paymentDate ?? today(context);
  const amountMinor = readAmount(body.amount, context.currency);
  return { amountMinor, paymentDate, transactionRef: body.transactionRef?.trim() ?? null };
}
