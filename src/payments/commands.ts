import { type AccountRow, accountLock, lockAccount } from '../accounts/store.ts';
import { mayDo } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { type Actor, amountOf, type Context, readAmount, today } from '../core/context.ts';
import { inTransaction, LostRace, type Tx, together } from '../core/db.ts';
import { type AppError, duplicate, illegalMove, invalidField, notFound } from '../core/errors.ts';
import type { Minor } from '../core/money.ts';
import { paymentMethodWithId } from '../payment-methods/store.ts';
import { bookAssignment, bookPayment, bookReversal, bookUnassignment, checkRoom } from './booking.ts';
import { decideAgain, findAccountsOfUndecided, processNotification, takeOverTransaction } from './inbox.ts';
import {
  findNotification,
  getNotification,
  type KnownTransaction,
  lockNotification,
  type NotificationRow,
  transactionNamed,
} from './inbox-store.ts';
import { forgetAssignment, learnAssignment } from './learning.ts';
import type { NewPayment, Resolution } from './schema.ts';
import {
  findManualPayments,
  findPaymentRow,
  lockPayment,
  lockReference,
  type PaymentRow,
  referenceLock,
  setAssigned,
  setReversed,
  setUnassigned,
  unlinkFromProvider,
} from './store.ts';

/**
 * Records money that was received and whose account is known. A transaction that the provider has reported is recorded
 * already; only one whose payment was reversed can be recorded again, by those who may assign money.
 */
export async function recordPayment(context: Context, actor: Actor, body: NewPayment): Promise<PaymentRow> {
  const { amountMinor, paymentDate, transactionRef } = readPayment(context, body);
  return inTransaction(context.db, async (tx) => {
    const { method, account, known } = await lockForPayment(tx, body, transactionRef);
    if (!method) throw notFound('payment_method', body.paymentMethodId, 'paymentMethodId');
    if (!method.active) throw invalidField('paymentMethodId', 'must refer to an active payment method');
    if (!account) throw notFound('account', body.accountId, 'accountId');
    checkRoom(account, amountMinor, 'amount');
    if (known) checkRecordable(context, actor, known, amountMinor);
    const record = () =>
      bookPayment(tx, context, actor, account, {
        amountMinor,
        paymentMethodId: method.id,
        transactionRef,
        paymentDate,
        source: 'manual',
        matchMethod: null,
        provider: null,
      });
    return known ? takeOverTransaction(tx, context, known, record) : record();
  });
}

/** Locks the reference and then the account; `known` is what the provider has reported under the reference. */
async function lockForPayment(tx: Tx, { paymentMethodId, accountId }: NewPayment, reference: string | null) {
  const method = paymentMethodWithId(paymentMethodId);
  if (reference === null) {
    const [[found], [account]] = await together(tx, method, accountLock(accountId));
    return { method: found, account };
  }
  const [[found], , [account], [known]] = await together(
    tx,
    method,
    referenceLock(reference),
    accountLock(accountId),
    transactionNamed(reference),
  );
  return { method: found, account, known };
}

/** @throws AppError DUPLICATE_ENTRY, or VALIDATION_ERROR for an amount that the provider did not report. */
function checkRecordable(
  { currency }: Context,
  actor: Actor,
  known: KnownTransaction,
  amountMinor: Minor,
): void {
  const mayRecordAgain =
    known.outcome !== 'conflict' && known.isReversed && mayDo(actor.role, 'payments:assign');
  if (!mayRecordAgain) throw duplicate('payment', 'transactionRef', known.paymentId);
  if (BigInt(known.amountMinor) !== amountMinor) {
    const reported = amountOf(known.amountMinor, currency);
    throw invalidField(
      'amount',
      `must be ${reported}, the amount that the provider reported for this transaction`,
    );
  }
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
    const { payment, account } = await lockPaymentAndAccount(tx, context, id);
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
    if (payment.transaction_ref !== null) await decideAgain(tx, context, payment.transaction_ref);
    return unassigned;
  });
}

/**
 * Takes a payment back: it stays on record, and entries of the opposite sign undo what it did. What the provider
 * reported stands: a notification that conflicted with a manual payment, or was linked to it, is posted in the same
 * transaction. A payment of the provider's own keeps its transaction, so that no repeat credits it again.
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
    const { reversed } = await reverseLocked(tx, context, actor, { payment, account, reason });
    if (payment.transaction_ref !== null) await decideAgain(tx, context, payment.transaction_ref, id);
    return reversed;
  });
}

/**
 * Says which payment a notification in conflict is: one of the manual payments under its reference, or none of them,
 * so that the notification is posted. The other manual payments are reversed in the same transaction.
 */
export async function resolveConflict(
  context: Context,
  actor: Actor,
  id: number,
  { paymentId, reason }: Resolution,
): Promise<NotificationRow> {
  return inTransaction(context.db, async (tx) => {
    const seen = await findNotification(tx, id);
    if (!seen) throw notFound('notification', id);
    if (seen.outcome !== 'conflict' || seen.trans_id === null) throw notInConflict(seen);
    await lockReference(tx, seen.trans_id);
    const manual = await findManualPayments(tx, seen.trans_id);
    const { payments, accounts } = await lockPayments(
      tx,
      manual,
      await findAccountsOfUndecided(tx, context, seen.trans_id),
    );
    const row = await lockNotification(tx, id);
    if (row?.outcome !== 'conflict') throw notInConflict(row ?? seen);
    checkResolution(context, row, payments, paymentId);
    for (const payment of payments) {
      if (payment.id === paymentId) continue;
      const account = payment.account_id === null ? undefined : accounts.get(payment.account_id);
      const { account: after } = await reverseLocked(tx, context, actor, { payment, account, reason });
      if (after) accounts.set(after.id, after);
    }
    await processNotification(tx, context, row, paymentId);
    await audit(tx, actor, {
      action: 'notification.resolve',
      resource: 'notification',
      resourceId: id,
      before: { outcome: 'conflict' },
      after: { paymentId, reason },
    });
    return getNotification(tx, id);
  });
}

function checkResolution(
  { currency }: Context,
  { amount_minor: reported }: NotificationRow,
  payments: PaymentRow[],
  paymentId: number | null,
): void {
  if (paymentId === null) return;
  const accepted = payments.find((payment) => payment.id === paymentId);
  if (!accepted) {
    const ids = payments.map((payment) => payment.id).join(', ');
    throw invalidField('paymentId', `must be null or a payment that conflicts with the notification: ${ids}`);
  }
  if (accepted.amount_minor !== reported) {
    const amount = reported === null ? 'none' : amountOf(reported, currency);
    throw invalidField('paymentId', `must refer to a payment of the reported amount, ${amount}`);
  }
}

function notInConflict({ outcome, status }: NotificationRow): AppError {
  return illegalMove('A notification', outcome ?? status, 'resolved', ['conflict']);
}

interface LockedPayment {
  payment: PaymentRow;
  /** Of the payment; undefined when it is unmatched. */
  account: AccountRow | undefined;
  reason: string;
}

async function reverseLocked(
  tx: Tx,
  context: Context,
  actor: Actor,
  { payment, account, reason }: LockedPayment,
): Promise<{ reversed: PaymentRow; account: AccountRow | undefined }> {
  const { id } = payment;
  if (payment.source === 'manual' && payment.provider !== null) await unlinkFromProvider(tx, id);
  const reversed = await setReversed(tx, id, reason, context.clock.now());
  const after = await bookReversal(tx, context, account, payment);
  await audit(tx, actor, {
    action: 'payment.reverse',
    resource: 'payment',
    resourceId: id,
    before: { status: payment.status },
    after: { status: 'reversed', reason },
  });
  return { reversed, account: after };
}

/**
 * Locks the payment and its account, and any account that a waiting notification may be posted to: the reference
 * first, then accounts, ids ascending, as everyone does. Which ones has to be read before.
 */
async function lockPaymentAndAccount(tx: Tx, context: Context, id: number) {
  const seen = await findPaymentRow(tx, id);
  if (!seen) throw notFound('payment', id);
  const { transaction_ref: reference, account_id: accountId } = seen;
  if (reference !== null) await lockReference(tx, reference);
  const further = reference === null ? [] : await findAccountsOfUndecided(tx, context, reference, id);
  const { payments, accounts } = await lockPayments(tx, [seen], further);
  const [payment] = payments;
  if (!payment) throw new Error('A payment is never deleted.');
  return { payment, account: accountId === null ? undefined : accounts.get(accountId) };
}

/** Locks the accounts that payments were seen on and further ones, and then the payments, ids ascending. */
async function lockPayments(tx: Tx, seen: PaymentRow[], further: number[]) {
  const ids = new Set([...seen.flatMap(({ account_id }) => account_id ?? []), ...further]);
  const accounts = new Map<number, AccountRow>();
  for (const accountId of [...ids].sort((a, b) => a - b)) {
    const account = await lockAccount(tx, accountId);
    if (account) accounts.set(accountId, account);
  }
  const payments: PaymentRow[] = [];
  for (const { id, account_id } of seen) {
    const payment = await lockPayment(tx, id);
    if (payment?.account_id !== account_id) {
      throw new LostRace('the payment went to another account meanwhile');
    }
    payments.push(payment);
  }
  return { payments, accounts };
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
