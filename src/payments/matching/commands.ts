import { type Actor, type Context, today } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { OTHER_SHORT_CODE } from '../receipts/rules.ts';
import type { PaymentRow } from '../rules.ts';
import { decideByReading, readReference } from './rules.ts';
import {
  deleteLearned,
  deleteLearnedFrom,
  findCandidates,
  findNotificationOf,
  insertLearned,
} from './store.ts';

/**
 * Remembers where staff assigned the reference of a payer, so that the next payment finds its way by itself.
 * Only a payer whose number is known exactly can be recognised.
 * @returns whether there was something to learn.
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

/** Forgets what led, or would lead, such payments to the account that this one is taken from. */
export async function forgetAssignment(tx: Tx, context: Context, payment: PaymentRow): Promise<void> {
  // What it taught is found by the payment: another PHONE_REGION since may read the payer's number otherwise.
  await deleteLearnedFrom(tx, payment.id);
  const sent = await findSent(tx, context, payment.id);
  if (!sent || payment.account_id === null) return;
  const { typedKey, payerSha256 } = sent;
  await deleteLearned(tx, { typedKey, payerSha256, accountId: payment.account_id });
}

/** What was typed and who paid, where both are known exactly; what came for another short code teaches nothing. */
async function findSent(db: Db, { config }: Context, paymentId: number) {
  const notification = await findNotificationOf(db, paymentId);
  if (!notification || notification.flags.includes(OTHER_SHORT_CODE)) return undefined;
  const readings = readReference(notification.bill_ref, notification.payer, config.PHONE_REGION);
  const { typedKey, payerSha256 } = readings;
  return typedKey !== null && payerSha256 !== null ? { readings, typedKey, payerSha256 } : undefined;
}
