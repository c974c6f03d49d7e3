import { post } from '../accounts/ledger/commands.ts';
import type { MoneyEvent } from '../accounts/ledger/rules.ts';
import type { LockedAccount } from '../accounts/payoffs/posting-rules.ts';
import { auditRow, event } from '../changes/events/change-rules.ts';
import type { Actor, Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { requestApproval } from '../staff/approvals/commands.ts';
import type { DoneOrRequested } from '../staff/approvals/rules.ts';
import { changesHandedOverCash } from './cash/handed-over-commands.ts';
import { lockPaymentAndAccount } from './locks.ts';
import { reversedEvent } from './money-event-rules.ts';
import { reprocessNotifications } from './notifications/reprocess-notifications.ts';
import { unlinkFromProvider } from './posting/store.ts';
import { amountToApprove, type PaymentRow, refusedMove } from './rules.ts';
import { setReversed } from './store.ts';

/**
 * Reverses a payment: opposite ledger entries undo it, and its row stays. In the same database transaction, reprocesses the
 * notifications that conflicted with the payment. If staff had recorded the payment by hand, also reprocesses the notification
 * that was linked to it. A payment that was created from a notification keeps the id of the provider's transaction, so that a
 * repeated notification does not credit the account again. Above the approval limit, or if the cash of the payment was handed over,
 * the reversal is only requested.
 */
export async function reversePayment(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<DoneOrRequested<PaymentRow>> {
  return inTransaction(context.db, async (tx) => {
    const locked = await lockPaymentAndAccount(tx, context, id);
    const { payment } = locked;
    if (payment.status === 'reversed') throw refusedMove(payment, 'reversed');
    const isAlwaysApproved = await changesHandedOverCash(tx, context, actor, payment);
    const requested = await requestApproval(tx, context, actor, {
      action: 'reverse_payment',
      isAlwaysApproved,
      accountId: payment.account_id,
      paymentId: id,
      toAccountId: null,
      amountMinor: BigInt(payment.amount_minor),
      countedMinor: amountToApprove(payment, locked.account),
      reason,
      body: { reason },
    });
    if (requested) return { requested };
    const reversed = await reverseLocked(tx, context, actor, { ...locked, reason });
    const { reference_key: reference } = reversed;
    if (reference !== null) await reprocessNotifications(tx, context, reference, id);
    return { done: reversed };
  });
}

interface Reversal {
  payment: PaymentRow;
  /** Undefined for an unmatched payment. */
  account: LockedAccount | undefined;
  reason: string;
}

/** Reverses a payment. The caller has locked the payment and its account. */
export async function reverseLocked(
  tx: Tx,
  context: Context,
  actor: Actor,
  { payment, account, reason }: Reversal,
): Promise<PaymentRow> {
  const { id } = payment;
  if (payment.source === 'manual' && payment.provider !== null) await unlinkFromProvider(tx, id);
  const reversed = await setReversed(tx, id, reason, context.clock.now());
  const accounts = new Map(account && [[account.id, account]]);
  await post(tx, context, accounts, reversalOf(payment, actor, reason));
  return reversed;
}

/** The money event of a reversal, with its audit entry. */
export function reversalOf(payment: PaymentRow, actor: Actor, reason: string): MoneyEvent {
  const { id, account_id: accountId, amount_minor: amountMinor } = payment;
  const change = auditRow(actor, {
    action: 'payment.reverse',
    resource: 'payment',
    resourceId: id,
    before: { status: payment.status },
    after: { status: 'reversed', reason },
    event: event(
      'payment.reversed',
      { accountId, amountMinor },
      accountId === null ? undefined : { id: accountId },
    ),
  });
  return { ...reversedEvent(payment, actor), rows: { changes: [change] } };
}
