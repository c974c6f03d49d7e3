import type { AccountRow } from '../../accounts/ledger/rules.ts';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, amountOf, type Context } from '../../core/context.ts';
import { LostRace } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type AppError, illegalMove, invalidField, notFound } from '../../core/http/errors.ts';
import { needsApproval } from '../../staff/approvals/rules.ts';
import { changesHandedOverCash } from '../cash/handed-over-commands.ts';
import { findAccountsForReprocessing, lockPaymentsAndAccounts, lockReferences, lockRows } from '../locks.ts';
import { keysOfPayment } from '../posting/identity-rules.ts';
import { releaseConflicts } from '../posting/store.ts';
import { reverseLocked } from '../reverse-payment.ts';
import { amountToApprove, type NotificationRow, type PaymentRow } from '../rules.ts';
import { findManualPayments } from '../store.ts';
import { reprocess } from './reprocess-notifications.ts';
import type { Resolution } from './schema.ts';
import { findNotification, getNotification } from './store.ts';

/**
 * Resolves a conflict. If staff chose a manual payment, the notification is linked to it. If staff chose none, the notification
 * is posted as a new payment. The other manual payments with the same reference are reversed in the same database transaction, and
 * so is a payment with a similar reference, unless staff say that both payments are real.
 */
export async function resolveConflict(
  context: Context,
  actor: Actor,
  id: number,
  { paymentId, bothAreReal = false, reason }: Resolution,
): Promise<NotificationRow> {
  return inTransaction(context.db, async (tx) => {
    const seen = await findNotification(tx, id);
    if (!seen) throw notFound('notification', id);
    const { trans_id: transId } = seen;
    if (seen.outcome !== 'conflict' || transId === null) throw notInConflict(seen);
    const { conflict_payment_id: conflictingId } = seen;
    const seenManual = await findManualPayments(tx, transId, conflictingId);
    // Another transaction that is similar to a manual payment can become a conflict because of this payment at the same moment.
    await lockReferences(tx, [transId, ...seenManual.flatMap(keysOfPayment)]);
    // Read again: another transaction may have changed the payments while this one waited for the locks.
    const manual = await findManualPayments(tx, transId, conflictingId);
    if (manual.some(({ id }) => !seenManual.some((one) => one.id === id)))
      throw new LostRace('another transaction has recorded a manual payment');
    const { locked, notifications } = await lockPaymentsAndAccounts(
      tx,
      manual,
      await findAccountsForReprocessing(tx, context, transId),
      [id],
    );
    const row = notifications.get(id);
    if (row?.outcome !== 'conflict') throw notInConflict(row ?? seen);
    const payments = locked.map(({ payment }) => payment);
    // A manual payment can be in conflict with notifications of several transactions, which have different locks.
    if (row.conflict_payment_id !== conflictingId || !payments.every(isUnlinked)) {
      throw new LostRace('another transaction has changed the notification or a manual payment');
    }
    checkResolution(context, row, payments, { paymentId, bothAreReal });
    const reversed = locked.filter(({ payment }) => payment.id !== paymentId && !bothAreReal);
    const handedOver: PaymentRow[] = [];
    for (const { payment } of reversed) {
      if (await changesHandedOverCash(tx, context, actor, payment)) handedOver.push(payment);
    }
    checkNeedsNoApproval(context, reversed, handedOver);
    for (const { payment } of reversed) {
      // Two of the payments can be on one account. Read the account again, because the first reversal has changed it.
      const { accounts } = await lockRows(tx, {
        accounts: payment.account_id === null ? [] : [payment.account_id],
      });
      const [account] = accounts.values();
      await reverseLocked(tx, context, actor, { payment, account, reason });
    }
    await reprocess(tx, context, row, { acceptedPaymentId: paymentId, bothAreReal });
    for (const { payment } of reversed) await releaseConflicts(tx, payment.id);
    await audit(tx, actor, {
      action: 'notification.resolve',
      resource: 'notification',
      resourceId: id,
      before: { outcome: 'conflict' },
      after: { paymentId, ...(bothAreReal && { bothAreReal }), reason },
      event: event('notification.resolved', { paymentId }),
    });
    return getNotification(tx, id);
  });
}

function isUnlinked({ status, provider }: PaymentRow): boolean {
  return status !== 'reversed' && provider === null;
}

function checkResolution(
  { currency }: Context,
  { amount_minor: reported, trans_id: transId }: NotificationRow,
  payments: PaymentRow[],
  { paymentId, bothAreReal }: { paymentId: number | null; bothAreReal: boolean },
): void {
  if (bothAreReal && paymentId !== null)
    throw invalidField('bothAreReal', 'must be false if paymentId is given');
  if (bothAreReal && payments.some((payment) => payment.reference_key === transId)) {
    throw invalidField(
      'bothAreReal',
      'must be false: a manual payment has exactly the reference of the transaction',
    );
  }
  if (paymentId === null) return;
  const accepted = payments.find((payment) => payment.id === paymentId);
  if (!accepted) {
    const ids = payments.map((payment) => payment.id).join(', ');
    throw invalidField(
      'paymentId',
      ids === ''
        ? 'must be null, because no manual payment is in conflict'
        : `must be null or the id of one of the manual payments in conflict (${ids})`,
    );
  }
  if (accepted.amount_minor !== reported) {
    const amount = reported === null ? 'none' : amountOf(reported, currency);
    throw invalidField('paymentId', `must refer to a payment of the reported amount, ${amount}`);
  }
}

/**
 * Refuses the resolution if the reversal of a payment needs approval. Staff must request this reversal separately. When the
 * request is approved, the reversal reprocesses the notification.
 */
function checkNeedsNoApproval(
  { config, currency }: Context,
  locked: readonly { payment: PaymentRow; account: AccountRow | undefined }[],
  handedOver: readonly PaymentRow[],
): void {
  const large = locked.find(({ payment, account }) => {
    const others = locked.filter((one) => one.payment !== payment && one.account?.id === account?.id);
    const othersMinor = others.reduce((sum, one) => sum + BigInt(one.payment.amount_minor), 0n);
    return needsApproval(
      config,
      amountToApprove(payment, account, othersMinor),
      handedOver.includes(payment),
    );
  })?.payment;
  if (!large) return;
  throw invalidField(
    'paymentId',
    `cannot be accepted: the reversal of payment ${large.id} (${amountOf(large.amount_minor, currency)}) needs approval; request this reversal first with POST /api/payments/${large.id}/reverse`,
  );
}

function notInConflict({ outcome, status }: NotificationRow): AppError {
  return illegalMove('A notification', outcome ?? status, 'resolved', ['conflict']);
}
