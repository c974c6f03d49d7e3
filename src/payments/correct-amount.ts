import { post } from '../accounts/ledger/commands.ts';
import { auditRow, event } from '../changes/events/change-rules.ts';
import { type Actor, type Context, readAmount } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { maxMinor } from '../core/values/money.ts';
import { requireAll } from '../rights.ts';
import { requestApproval } from '../staff/approvals/commands.ts';
import { alreadyPending, type DoneOrRequested } from '../staff/approvals/rules.ts';
import { findPendingApproval } from '../staff/approvals/store.ts';
import { changesHandedOverCash } from './cash/handed-over-commands.ts';
import { type CorrectionFacts, correctionRefusal } from './correction-rules.ts';
import { lockPaymentAndAccount } from './locks.ts';
import { paymentRow, recordedEvent } from './money-event-rules.ts';
import { findReprocessable } from './notifications/store.ts';
import { findReportedAlike, manualPaymentToPost } from './posting/manual-payment-rules.ts';
import type { ManualPayment } from './posting/rules.ts';
import { findKnown, takeIds } from './posting/store.ts';
import { reversalOf } from './reverse-payment.ts';
import { amountToApprove, type PaymentRow } from './rules.ts';
import type { Correction } from './schema.ts';
import { setReversed } from './store.ts';

/**
 * Reverses a manual payment, and records a payment with the right amount in its place, in one database transaction. Both money events are
 * posted together, so the status of the account changes at most once. The new payment has the recorder of the old one, who has
 * the money. Above the approval limit, or if the cash of the payment was handed over, the correction is only requested.
 * @returns the new payment.
 */
export async function correctAmount(
  context: Context,
  actor: Actor,
  id: number,
  { amount, reason }: Correction,
): Promise<DoneOrRequested<PaymentRow>> {
  requireAll(actor, ['payments:record']);
  const amountMinor = readAmount(amount, context.currency);
  return inTransaction(context.db, async (tx) => {
    const { payment, account } = await lockPaymentAndAccount(tx, context, id);
    const subject = {
      action: 'correct_payment',
      accountId: payment.account_id,
      paymentId: id,
      toAccountId: null,
    } as const;
    const pending = await findPendingApproval(tx, subject);
    if (pending && pending.id !== actor.approval?.id) throw alreadyPending(pending);
    const refusal = correctionRefusal(
      payment,
      amountMinor,
      await findCorrectionFacts(tx, context, actor, payment, amountMinor),
      context.currency,
    );
    if (refusal) throw refusal;
    if (!account) throw new Error(`The matched payment ${id} has no account.`);
    const isAlwaysApproved = await changesHandedOverCash(tx, context, actor, payment);
    const requested = await requestApproval(tx, context, actor, {
      ...subject,
      isAlwaysApproved,
      amountMinor,
      countedMinor: maxMinor(amountMinor, amountToApprove(payment, account)),
      reason,
      body: { amount, reason },
    });
    if (requested) return { requested };

    const now = context.clock.now();
    await setReversed(tx, id, reason, now);
    const [newIds] = await takeIds(tx, [false]);
    if (!newIds) throw new Error('There is no id for the new payment.');
    const newId = newIds.payment;
    const corrected = paymentRow(newId, now, {
      account_id: account.id,
      amount_minor: Number(amountMinor),
      payment_method_id: payment.payment_method_id,
      transaction_ref: payment.transaction_ref,
      payment_date: payment.payment_date,
      source: 'manual',
      match_method: payment.match_method,
      match_reason: payment.match_reason,
      provider: null,
      provider_trans_id: null,
      external_id: null,
      metadata: payment.metadata,
      created_by: payment.created_by,
      api_key_id: payment.api_key_id,
      corrects_payment_id: id,
    });
    const recorded = recordedEvent(corrected, actor, now);
    const change = auditRow(actor, {
      action: 'payment.correct',
      resource: 'payment',
      resourceId: id,
      before: { amountMinor: BigInt(payment.amount_minor) },
      after: { amountMinor, paymentId: newId, reason },
      event: event(
        'payment.corrected',
        {
          accountId: account.id,
          amountMinor: payment.amount_minor,
          correctedByPaymentId: newId,
          correctedAmountMinor: corrected.amount_minor,
        },
        { id: account.id },
      ),
    });
    const changes = [...(recorded.rows?.changes ?? []), change];
    await post(tx, context, new Map([[account.id, account]]), reversalOf(payment, actor, reason), {
      ...recorded,
      rows: { ...recorded.rows, changes },
    });
    return { done: corrected };
  });
}

/** Reads what forbids a correction. The caller has locked the payment and its reference. */
async function findCorrectionFacts(
  tx: Tx,
  { config }: Context,
  actor: Actor,
  payment: PaymentRow,
  amountMinor: bigint,
): Promise<CorrectionFacts> {
  const { account_id: accountId, reference_key: reference } = payment;
  if (reference === null || accountId === null)
    return { conflictId: null, reportedAlike: undefined, statementId: null };
  const waiting = await findReprocessable(tx, reference, payment.id);
  const manual: ManualPayment = {
    actor,
    accountId,
    amountMinor,
    paymentMethodId: payment.payment_method_id,
    transactionRef: payment.transaction_ref,
    paymentDate: payment.payment_date,
    bothAreReal: false,
    externalId: null,
    metadata: {},
  };
  const [known] = await findKnown(tx, [manualPaymentToPost(manual)], config.BUSINESS_TIMEZONE);
  return {
    conflictId: waiting.find(({ outcome }) => outcome === 'conflict')?.id ?? null,
    reportedAlike: findReportedAlike(manual, known?.similar ?? [])?.id,
    statementId: known?.statementId ?? null,
  };
}
