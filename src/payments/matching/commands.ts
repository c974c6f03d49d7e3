import { type Actor, type Context, today } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { OTHER_SHORT_CODE } from '../posting/rules.ts';
import { findCandidates } from '../posting/store.ts';
import type { PaymentRow } from '../rules.ts';
import { decideByReading, readReference } from './rules.ts';
import { deleteLearned, deleteLearnedFrom, findNotificationOf, insertLearned } from './store.ts';

/**
 * Learns that staff assigned the reference of a payer to an account, so that the next payment with both matches.
 * @returns false if the reference or the exact number of the payer is unknown.
 */
export async function learnAssignment(
  tx: Tx,
  context: Context,
  actor: Actor,
  payment: PaymentRow,
): Promise<boolean> {
  const sent = await findSent(tx, context, payment.id);
  if (!sent || payment.account_id === null) return false;
  const [candidates = []] = await findCandidates(tx, [sent.readings]);
  const { accountId: readAs } = decideByReading(candidates, sent.readings.referenceIsEmpty);
  await insertLearned(tx, {
    typedKey: sent.typedKey,
    payerSha256: sent.payerSha256,
    accountId: payment.account_id,
    overruledAccountId: readAs === payment.account_id ? null : readAs,
    paymentId: payment.id,
    assignedOn: today(context),
    createdBy: actor.userId,
  });
  return true;
}

/** Deletes what was learned about the account for the reference and payer of a payment that is unassigned. */
export async function forgetAssignment(tx: Tx, context: Context, payment: PaymentRow): Promise<void> {
  // By payment as well: if PHONE_REGION has changed, the payer's number may be read differently now.
  await deleteLearnedFrom(tx, payment.id);
  const sent = await findSent(tx, context, payment.id);
  if (!sent || payment.account_id === null) return;
  const { typedKey, payerSha256 } = sent;
  await deleteLearned(tx, { typedKey, payerSha256, accountId: payment.account_id });
}

/** The reference and payer of a payment, if both are known exactly. Money of another short code is not learned from. */
async function findSent(db: Db, { config }: Context, paymentId: number) {
  const notification = await findNotificationOf(db, paymentId);
  if (!notification || notification.flags.includes(OTHER_SHORT_CODE)) return undefined;
  const readings = readReference(notification.bill_ref, notification.payer, config.PHONE_REGION);
  const { typedKey, payerSha256 } = readings;
  return typedKey !== null && payerSha256 !== null ? { readings, typedKey, payerSha256 } : undefined;
}
