import { type Actor, type Context, today } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { OTHER_SHORT_CODE } from '../posting/rules.ts';
import type { PaymentRow } from '../rules.ts';
import { decideByInterpretation, readReference } from './rules.ts';
import { deleteLearned, deleteLearnedFrom, findCandidates, findReported, insertLearned } from './store.ts';

/**
 * Stores that staff assigned this reference from this payer to an account. The next payment with the same reference and payer
 * matches this account.
 * @returns false if nothing is learned, because the reference or the payer's exact number is unknown, or because the money went
 *   to a short code of another business.
 */
export async function learnAssignment(
  tx: Tx,
  context: Context,
  actor: Actor,
  payment: PaymentRow,
): Promise<boolean> {
  const sent = await findReferenceAndPayer(tx, context, payment.id);
  if (!sent || payment.account_id === null) return false;
  const [candidates = []] = await findCandidates(tx, [sent.interpretations]);
  const { accountId: matchedId } = decideByInterpretation(candidates, sent.interpretations.referenceIsEmpty);
  await insertLearned(tx, {
    typedKey: sent.typedKey,
    payerSha256: sent.payerSha256,
    accountId: payment.account_id,
    overruledAccountId: matchedId === payment.account_id ? null : matchedId,
    paymentId: payment.id,
    assignedOn: today(context),
    createdBy: actor.userId,
  });
  return true;
}

/** Called when a payment is unassigned. Deletes the learned link between its reference, its payer and the account. */
export async function forgetAssignment(tx: Tx, context: Context, payment: PaymentRow): Promise<void> {
  // Delete by payment too, because after a change of PHONE_REGION the payer's number may be read as another number.
  await deleteLearnedFrom(tx, payment.id);
  const sent = await findReferenceAndPayer(tx, context, payment.id);
  if (!sent || payment.account_id === null) return;
  const { typedKey, payerSha256 } = sent;
  await deleteLearned(tx, { typedKey, payerSha256, accountId: payment.account_id });
}

/** The reference and payer of a payment, if both are known exactly. Undefined for money that went to another business. */
async function findReferenceAndPayer(db: Db, { config }: Context, paymentId: number) {
  const notification = await findReported(db, paymentId);
  if (!notification || notification.flags.includes(OTHER_SHORT_CODE)) return undefined;
  const interpretations = readReference(notification.bill_ref, notification.payer, config.PHONE_REGION);
  const { typedKey, payerSha256 } = interpretations;
  return typedKey !== null && payerSha256 !== null ? { interpretations, typedKey, payerSha256 } : undefined;
}
