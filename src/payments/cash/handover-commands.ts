import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, invalidField, notFound } from '../../core/http/errors.ts';
import { compareDates } from '../../core/values/dates.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { mayDo } from '../../rights.ts';
import {
  endHandover,
  findHandoverRow,
  type HandoverEnding,
  insertHandover,
  insertMoves,
  lockHandover,
} from './handover-store.ts';
import { requireCashMethod } from './holder-commands.ts';
import { findCashUser, lockHolders } from './holder-store.ts';
import {
  type HandoverRow,
  notStarted,
  personOf,
  refusedHandoverMove,
  requireCashCounts,
  requireSecondPerson,
  visibleTo,
} from './rules.ts';
import type { BankConfirmation, NewHandover } from './schema.ts';

/**
 * Starts a hand-over of the caller's cash. To a user, nothing moves before the receiver has counted the same amount. To the bank, the
 * cash leaves the hand at once, and finance confirms it later.
 */
export async function startHandover(context: Context, actor: Actor, sent: NewHandover): Promise<HandoverRow> {
  requireCashCounts(context.config);
  const fromUserId = personOf(actor);
  const { paymentMethodId, toUserId = null, slipNumber = null } = sent;
  if ((toUserId === null) === (slipNumber === null)) {
    throw invalidField('slipNumber', 'is required for the bank, and must be missing if toUserId is given');
  }
  if (slipNumber !== null && !/[\p{L}\p{N}]/u.test(slipNumber)) {
    throw invalidField('slipNumber', 'must contain a letter or a digit');
  }
  if (toUserId === fromUserId) throw invalidField('toUserId', 'must be another user');
  const amountMinor = readAmount(sent.amount, context.currency);
  return inTransaction(context.db, async (tx) => {
    await requireCashMethod(tx, paymentMethodId);
    if (toUserId !== null) await requireReceiver(tx, toUserId);
    const holders = toUserId === null ? [fromUserId] : [fromUserId, toUserId];
    const counts = await lockHolders(tx, holders, paymentMethodId);
    if (!counts.get(fromUserId)) throw notStarted('paymentMethodId');
    if (toUserId !== null && !counts.get(toUserId)) throw notStarted('toUserId');
    const handover = await insertHandover(tx, {
      fromUserId,
      paymentMethodId,
      toUserId,
      amountMinor,
      slipNumber: slipNumber?.trim() ?? null,
    });
    const { id } = handover;
    const cash = { userId: fromUserId, paymentMethodId };
    if (toUserId !== null) {
      // Neither the audit entry nor the event shows the amount: the receiver, who may read them, has not counted yet.
      await audit(tx, actor, {
        action: 'cash_handover.start',
        resource: 'cash_handover',
        resourceId: id,
        after: { ...cash, toUserId },
        event: event('cash_handover.started', { ...cash, toUserId }),
      });
      return handover;
    }
    await insertMoves(tx, [
      { holderId: fromUserId, paymentMethodId, amountMinor: -amountMinor, handoverId: id },
    ]);
    await audit(tx, actor, {
      action: 'cash_handover.deposit',
      resource: 'cash_handover',
      resourceId: id,
      after: { ...cash, amountMinor, slipNumber: handover.slip_number },
      event: event('cash_handover.deposited', { ...cash, amountMinor }),
    });
    return handover;
  });
}

/** Ends a hand-over by the count of its receiver. Unequal counts move nothing. */
export async function receiveHandover(
  context: Context,
  actor: Actor,
  id: number,
  counted: number,
): Promise<HandoverRow> {
  requireCashCounts(context.config);
  const receivedMinor = readAmount(counted, context.currency);
  return inTransaction(context.db, async (tx) => {
    const userId = personOf(actor);
    const handover = await lockHandoverAndHolders(tx, actor, id);
    const { to_user_id: toUserId, from_user_id: fromUserId, payment_method_id: paymentMethodId } = handover;
    if (toUserId !== userId) throw new AppError('FORBIDDEN', 'Only the receiver counts a hand-over.');
    const status = BigInt(handover.amount_minor) === receivedMinor ? 'received' : 'unequal';
    if (handover.status !== 'pending') throw refusedHandoverMove(handover, status);
    const ended = await endHandover(tx, id, { status, decidedBy: userId, receivedMinor });
    const amountMinor = BigInt(handover.amount_minor);
    if (status === 'received') {
      await insertMoves(tx, [
        { holderId: fromUserId, paymentMethodId, amountMinor: -amountMinor, handoverId: id },
        { holderId: toUserId, paymentMethodId, amountMinor, handoverId: id },
      ]);
    }
    const cash = { userId: fromUserId, paymentMethodId, toUserId, amountMinor };
    await audit(tx, actor, {
      action: 'cash_handover.receive',
      resource: 'cash_handover',
      resourceId: id,
      before: { status: handover.status },
      after: { ...cash, status, receivedMinor },
      event:
        status === 'received'
          ? event('cash_handover.received', cash)
          : event('cash_handover.unequal', { ...cash, receivedMinor }),
    });
    return ended;
  });
}

export async function withdrawHandover(context: Context, actor: Actor, id: number): Promise<HandoverRow> {
  requireCashCounts(context.config);
  return inTransaction(context.db, async (tx) => {
    const handover = await lockHandoverAndHolders(tx, actor, id);
    if (handover.from_user_id !== personOf(actor))
      throw new AppError('FORBIDDEN', 'Only the user who started a hand-over withdraws it.');
    return withdraw(tx, actor, handover);
  });
}

export async function withdraw(tx: Tx, actor: Actor, handover: HandoverRow): Promise<HandoverRow> {
  if (handover.status !== 'pending') throw refusedHandoverMove(handover, 'withdrawn');
  const ended = await endHandover(tx, handover.id, { status: 'withdrawn', decidedBy: personOf(actor) });
  await audit(tx, actor, {
    action: 'cash_handover.withdraw',
    resource: 'cash_handover',
    resourceId: handover.id,
    before: { status: handover.status },
    after: { status: 'withdrawn' },
    event: event('cash_handover.withdrawn', {
      userId: handover.from_user_id,
      paymentMethodId: handover.payment_method_id,
    }),
  });
  return ended;
}

/** Confirms that a deposit is on the bank statement. */
export async function confirmDeposit(
  context: Context,
  actor: Actor,
  id: number,
  sent: BankConfirmation,
): Promise<HandoverRow> {
  requireCashCounts(context.config);
  const { statementDate, statementText } = withTrimmed(sent, 'statementText');
  if (compareDates(statementDate, today(context)) > 0)
    throw invalidField('statementDate', 'must not be after today');
  return endDeposit(context, actor, id, { status: 'confirmed', statementDate, statementText });
}

/** Rejects a deposit that is not on the bank statement. The holder has the cash again. */
export function rejectDeposit(
  context: Context,
  actor: Actor,
  id: number,
  sent: { reason: string },
): Promise<HandoverRow> {
  requireCashCounts(context.config);
  return endDeposit(context, actor, id, { status: 'rejected', ...withTrimmed(sent, 'reason') });
}

async function endDeposit(
  context: Context,
  actor: Actor,
  id: number,
  ending: Omit<HandoverEnding, 'decidedBy' | 'status'> & { status: 'confirmed' | 'rejected' },
): Promise<HandoverRow> {
  return inTransaction(context.db, async (tx) => {
    const handover = await lockHandoverAndHolders(tx, actor, id);
    const { from_user_id: userId, payment_method_id: paymentMethodId } = handover;
    if (handover.status !== 'deposited') throw refusedHandoverMove(handover, ending.status);
    const decidedBy = requireSecondPerson(actor, [userId]);
    const ended = await endHandover(tx, id, { ...ending, decidedBy });
    const amountMinor = BigInt(handover.amount_minor);
    if (ending.status === 'rejected') {
      await insertMoves(tx, [{ holderId: userId, paymentMethodId, amountMinor, handoverId: id }]);
    }
    await audit(tx, actor, {
      action: ending.status === 'confirmed' ? 'cash_handover.confirm' : 'cash_handover.reject',
      resource: 'cash_handover',
      resourceId: id,
      before: { status: handover.status },
      after: ending,
      event: event(`cash_handover.${ending.status}`, { userId, paymentMethodId, amountMinor }),
    });
    return ended;
  });
}

/** Locks the holders of a hand-over, and then the hand-over. @throws AppError NOT_FOUND if the actor may not see it. */
async function lockHandoverAndHolders(tx: Tx, actor: Actor, id: number): Promise<HandoverRow> {
  const seen = await findHandoverRow(tx, id);
  const visible = visibleTo(actor);
  if (!seen || (visible !== 'all' && ![seen.from_user_id, seen.to_user_id].includes(visible.userId))) {
    throw notFound('cash_handover', id);
  }
  const { from_user_id: from, to_user_id: to } = seen;
  await lockHolders(tx, to === null ? [from] : [from, to], seen.payment_method_id);
  return lockHandover(tx, id);
}

async function requireReceiver(tx: Tx, id: number): Promise<void> {
  const user = await findCashUser(tx, id);
  if (!user) throw notFound('user', id, 'toUserId');
  if (!user.active || !mayDo(user, 'cash:count')) {
    throw invalidField('toUserId', 'must refer to an active user who may count cash');
  }
}
