import { post } from '../accounts/ledger/commands.ts';
import { accountFull, hasRoomFor } from '../accounts/ledger/money-on-account-rules.ts';
import { booksOf } from '../accounts/ledger/rules.ts';
import type { LockedAccount } from '../accounts/payoffs/posting-rules.ts';
import { auditRow, event } from '../changes/events/change-rules.ts';
import type { Actor, Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { notFound } from '../core/http/errors.ts';
import { requestApproval } from '../staff/approvals/commands.ts';
import type { DoneOrRequested } from '../staff/approvals/rules.ts';
import { lockPaymentAndAccount, lockRows } from './locks.ts';
import { forgetAssignment, learnAssignment } from './matching/learn-assignment.ts';
import { assignedEvent, unassignedEvent } from './money-event-rules.ts';
import { reprocessNotifications } from './notifications/reprocess-notifications.ts';
import { amountToApprove, type PaymentRow, refusedMove } from './rules.ts';
import { setAssigned, setUnassigned } from './store.ts';

export async function assignPayment(
  context: Context,
  actor: Actor,
  id: number,
  accountId: number,
): Promise<PaymentRow> {
  return inTransaction(context.db, async (tx) => {
    const locked = await lockRows(tx, { accounts: [accountId], payments: [id] });
    const payment = locked.payments.get(id);
    if (!payment) throw notFound('payment', id);
    const account = locked.accounts.get(accountId);
    if (!account) throw notFound('account', accountId, 'accountId');
    if (payment.status === 'matched' && payment.account_id === accountId) return payment;
    if (payment.status !== 'unmatched') throw refusedMove(payment, 'matched');
    if (!hasRoomFor(booksOf(account), BigInt(payment.amount_minor))) throw accountFull('accountId');
    return assignLocked(tx, context, actor, { id, account, method: 'assigned' });
  });
}

/**
 * Moves the payment of a payment request to the account of the request. Does nothing for a reversed payment, or if staff chose
 * the account of the payment. If the account of the request has no room for the amount, the payment is unmatched afterwards.
 */
export async function moveToRequestedAccount(
  tx: Tx,
  context: Context,
  actor: Actor,
  id: number,
  accountId: number,
): Promise<void> {
  const { payment, account: otherAccount } = await lockPaymentAndAccount(tx, context, id, [accountId]);
  if (payment.status === 'reversed' || payment.account_id === accountId || hasAccountFromStaff(payment))
    return;
  if (otherAccount) {
    const reason = 'the payer answered a request for another account';
    await unassignLocked(tx, context, actor, { payment, account: otherAccount, reason });
  }
  const account = (await lockRows(tx, { accounts: [accountId] })).accounts.get(accountId);
  if (!account || !hasRoomFor(booksOf(account), BigInt(payment.amount_minor))) return;
  await assignLocked(tx, context, actor, { id, account, method: 'payment_request' });
}

/** Whether staff chose the account when they recorded or assigned the payment. */
function hasAccountFromStaff({ source, match_method: method }: PaymentRow): boolean {
  return source === 'manual' || method === 'assigned' || method === 'manual_entry';
}

/**
 * Unassigns a matched payment. A reconciled payment stays reconciled, because its money has arrived. Above the approval limit,
 * the unassignment is only requested, because staff could otherwise move the money to another account without approval.
 */
export async function unassignPayment(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<DoneOrRequested<PaymentRow>> {
  return inTransaction(context.db, async (tx) => {
    const { payment, account } = await lockPaymentAndAccount(tx, context, id);
    if (payment.status !== 'matched' || !account) throw refusedMove(payment, 'unmatched');
    const requested = await requestApproval(tx, context, actor, {
      action: 'unassign_payment',
      accountId: account.id,
      paymentId: id,
      toAccountId: null,
      amountMinor: BigInt(payment.amount_minor),
      countedMinor: amountToApprove(payment, account),
      reason,
      body: { reason },
    });
    if (requested) return { requested };
    const unassigned = await unassignLocked(tx, context, actor, { payment, account, reason });
    await forgetAssignment(tx, context, payment);
    if (payment.reference_key !== null) await reprocessNotifications(tx, context, payment.reference_key);
    return { done: unassigned };
  });
}

/** Assigns an unmatched payment. If staff assign it, learns from this. The caller has locked the payment and the account. */
async function assignLocked(
  tx: Tx,
  context: Context,
  actor: Actor,
  { id, account, method }: { id: number; account: LockedAccount; method: 'assigned' | 'payment_request' },
): Promise<PaymentRow> {
  const { id: accountId } = account;
  const assigned = await setAssigned(tx, id, accountId, method);
  const isLearned = method === 'assigned' && (await learnAssignment(tx, context, actor, assigned));
  const change = auditRow(actor, {
    action: 'payment.assign',
    resource: 'payment',
    resourceId: id,
    before: { status: 'unmatched', accountId: null },
    after: { status: 'matched', accountId, isLearned },
    event: event('payment.assigned', { accountId, amountMinor: assigned.amount_minor }, { id: accountId }),
  });
  await post(tx, context, new Map([[accountId, account]]), {
    ...assignedEvent(assigned, actor),
    rows: { changes: [change] },
  });
  return assigned;
}

/** Unassigns a matched payment. The caller has locked the payment and its account. */
async function unassignLocked(
  tx: Tx,
  context: Context,
  actor: Actor,
  { payment, account, reason }: { payment: PaymentRow; account: LockedAccount; reason: string },
): Promise<PaymentRow> {
  const { id, status, amount_minor: amountMinor, match_method: matchMethod } = payment;
  const { id: accountId } = account;
  const unassigned = await setUnassigned(tx, id);
  const change = auditRow(actor, {
    action: 'payment.unassign',
    resource: 'payment',
    resourceId: id,
    before: { status, accountId, matchMethod },
    after: { status: 'unmatched', accountId: null, matchMethod: null, reason },
    event: event('payment.unassigned', { accountId, amountMinor }, { id: accountId }),
  });
  await post(tx, context, new Map([[accountId, account]]), {
    ...unassignedEvent(payment, actor),
    rows: { changes: [change] },
  });
  return unassigned;
}
