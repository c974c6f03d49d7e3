import type { Actor, Context } from '../core/context.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { notFound } from '../core/http/errors.ts';
import { auditRow, event } from '../events/change-rules.ts';
import { post } from '../ledger/commands.ts';
import { accountFull, booksOf, hasRoomFor } from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import { assignedEvent, unassignedEvent } from './entry-rules.ts';
import { lockPaymentAndAccount } from './lock-commands.ts';
import { forgetAssignment, learnAssignment } from './matching/commands.ts';
import { reprocessNotifications } from './notifications/commands.ts';
import { type PaymentRow, refusedMove } from './rules.ts';
import { lockPaymentRows, setAssigned, setUnassigned } from './store.ts';

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
    if (!hasRoomFor(booksOf(account), BigInt(payment.amount_minor))) throw accountFull('accountId');
    const assigned = await setAssigned(tx, id, accountId);
    const isLearned = await learnAssignment(tx, context, actor, assigned);
    const change = auditRow(actor, {
      action: 'payment.assign',
      resource: 'payment',
      resourceId: id,
      before: { status: payment.status, accountId: null },
      after: { status: 'matched', accountId, isLearned },
      event: event('payment.assigned', { accountId, amountMinor: payment.amount_minor }, { id: accountId }),
    });
    await post(tx, context, accounts, { ...assignedEvent(assigned, actor), rows: { changes: [change] } });
    return assigned;
  });
}

/**
 * Unassigns a matched payment, so that it is in the worklist again. A reconciled payment stays reconciled: its money has arrived.
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
    const { id: accountId } = account;
    const change = auditRow(actor, {
      action: 'payment.unassign',
      resource: 'payment',
      resourceId: id,
      before: { status: payment.status, accountId, matchMethod: payment.match_method },
      after: { status: 'unmatched', accountId: null, matchMethod: null, reason },
      event: event('payment.unassigned', { accountId, amountMinor: payment.amount_minor }, { id: accountId }),
    });
    await post(tx, context, new Map([[accountId, account]]), {
      ...unassignedEvent(payment, actor),
      rows: { changes: [change] },
    });
    await forgetAssignment(tx, context, payment);
    if (payment.transaction_ref !== null) await reprocessNotifications(tx, context, payment.transaction_ref);
    return unassigned;
  });
}
