import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { LostRace } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, invalidField, notFound } from '../../core/http/errors.ts';
import { compareDates } from '../../core/values/dates.ts';
import { type Minor, minorFromNumber } from '../../core/values/money.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { mayDo } from '../../rights.ts';
import {
  type CashCountRow,
  checkSettlement,
  type HandoverRow,
  type HolderKey,
  hasLeft,
  notStarted,
  openCount,
  personOf,
  refusedHandoverMove,
  refusedSettlementMove,
  requireCashCounts,
  requireSecondPerson,
  type SettlementRow,
  visibleTo,
} from './rules.ts';
import type { BankConfirmation, NewCashCount, NewHandover, NewSettlement } from './schema.ts';
import * as store from './store.ts';

/**
 * Saves a count of the caller's own cash, and takes every committed clearing entry of the holder that no count has taken. The answer
 * is the first to show what was expected. A difference needs a reason (`explainCount`), and an opening count a confirmation.
 * @throws AppError DUPLICATE_ENTRY if a cash-up of the holder and the method is open.
 */
export async function saveCount(context: Context, actor: Actor, body: NewCashCount): Promise<CashCountRow> {
  requireCashCounts(context.config);
  const holderId = personOf(actor);
  const { paymentMethodId } = body;
  const countedMinor = readAmount(body.counted, context.currency);
  return inTransaction(context.db, async (tx) => {
    await requireCashMethod(tx, paymentMethodId);
    const number = await lockHolder(tx, { holderId, paymentMethodId });
    const last = await store.findLastCount(tx, { holderId, paymentMethodId });
    if (last?.status === 'open') throw openCount(last);
    const count = await store.insertCount(tx, {
      holderId,
      paymentMethodId,
      number,
      countedMinor,
      countedBy: holderId,
    });
    await auditCount(tx, actor, count);
    return count;
  });
}

/** Gives the reason of a difference, which closes the cash-up. The difference stays with the holder. */
export async function explainCount(
  context: Context,
  actor: Actor,
  id: number,
  sent: { reason: string },
): Promise<CashCountRow> {
  requireCashCounts(context.config);
  const { reason } = withTrimmed(sent, 'reason');
  return inTransaction(context.db, async (tx) => {
    const count = await store.lockCount(tx, id);
    if (!count || count.holder_id !== personOf(actor)) throw notFound('cash_count', id);
    if (count.status === 'closed') throw closedCount(id);
    if (count.number === 1)
      throw new AppError('VALIDATION_ERROR', 'An opening count needs no reason. Finance confirms it.', {
        status: 409,
      });
    const closed = await store.endCount(tx, id, { reason });
    await audit(tx, actor, {
      action: 'cash_count.explain',
      resource: 'cash_count',
      resourceId: id,
      before: { status: 'open' },
      after: { status: 'closed', reason },
      event: event('cash_count.explained', {
        userId: count.holder_id,
        paymentMethodId: count.payment_method_id,
        differenceOfCountMinor: Number(count.difference_minor),
      }),
    });
    return closed;
  });
}

/**
 * Confirms an opening count.
 * @param isEarlierCash - whether the difference is cash from before cash counts. If not, it stays with the holder as a difference.
 */
export async function confirmCount(
  context: Context,
  actor: Actor,
  id: number,
  isEarlierCash: boolean,
): Promise<CashCountRow> {
  requireCashCounts(context.config);
  return inTransaction(context.db, async (tx) => {
    const count = await store.lockCount(tx, id);
    if (!count) throw notFound('cash_count', id);
    if (count.number !== 1)
      throw new AppError('VALIDATION_ERROR', 'Only an opening count is confirmed.', { status: 409 });
    if (count.status === 'closed') throw closedCount(id);
    const confirmedBy = requireSecondPerson(actor, [count.holder_id, count.counted_by]);
    return confirmOpening(tx, actor, count, { confirmedBy, isEarlierCash });
  });
}

async function confirmOpening(
  tx: Tx,
  actor: Actor,
  count: CashCountRow,
  ending: { confirmedBy: number; isEarlierCash: boolean },
): Promise<CashCountRow> {
  const closed = await store.endCount(tx, count.id, ending);
  await audit(tx, actor, {
    action: 'cash_count.confirm',
    resource: 'cash_count',
    resourceId: count.id,
    before: { status: 'open' },
    after: { status: 'closed', isEarlierCash: ending.isEarlierCash },
    event: event('cash_count.confirmed', {
      userId: count.holder_id,
      paymentMethodId: count.payment_method_id,
      countedMinor: count.counted_minor,
    }),
  });
  return closed;
}

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
    const counts = await store.lockHolders(tx, holders, paymentMethodId);
    if (!counts.get(fromUserId)) throw notStarted('paymentMethodId');
    if (toUserId !== null && !counts.get(toUserId)) throw notStarted('toUserId');
    const handover = await store.insertHandover(tx, {
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
    await store.insertMoves(tx, [
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
    const ended = await store.endHandover(tx, id, { status, decidedBy: userId, receivedMinor });
    const amountMinor = BigInt(handover.amount_minor);
    if (status === 'received') {
      await store.insertMoves(tx, [
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

async function withdraw(tx: Tx, actor: Actor, handover: HandoverRow): Promise<HandoverRow> {
  if (handover.status !== 'pending') throw refusedHandoverMove(handover, 'withdrawn');
  const ended = await store.endHandover(tx, handover.id, { status: 'withdrawn', decidedBy: personOf(actor) });
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
  ending: Omit<store.HandoverEnding, 'decidedBy' | 'status'> & { status: 'confirmed' | 'rejected' },
): Promise<HandoverRow> {
  return inTransaction(context.db, async (tx) => {
    const handover = await lockHandoverAndHolders(tx, actor, id);
    const { from_user_id: userId, payment_method_id: paymentMethodId } = handover;
    if (handover.status !== 'deposited') throw refusedHandoverMove(handover, ending.status);
    const decidedBy = requireSecondPerson(actor, [userId]);
    const ended = await store.endHandover(tx, id, { ...ending, decidedBy });
    const amountMinor = BigInt(handover.amount_minor);
    if (ending.status === 'rejected') {
      await store.insertMoves(tx, [{ holderId: userId, paymentMethodId, amountMinor, handoverId: id }]);
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
  const seen = await store.findHandoverRow(tx, id);
  const visible = visibleTo(actor);
  if (!seen || (visible !== 'all' && ![seen.from_user_id, seen.to_user_id].includes(visible.userId))) {
    throw notFound('cash_handover', id);
  }
  const { from_user_id: from, to_user_id: to } = seen;
  await store.lockHolders(tx, to === null ? [from] : [from, to], seen.payment_method_id);
  return store.lockHandover(tx, id);
}

/**
 * Asks a second person to settle differences of a holder, or to close the cash of a holder who left. Nothing changes before that
 * person confirms it (`confirmSettlement`).
 */
export async function requestSettlement(
  context: Context,
  actor: Actor,
  sent: NewSettlement,
): Promise<SettlementRow> {
  requireCashCounts(context.config);
  const requestedBy = personOf(actor);
  const { holderId, paymentMethodId, kind, reason } = withTrimmed(sent, 'reason');
  if ((kind === 'difference') !== (sent.amount !== undefined))
    throw invalidField('amount', 'is required to settle a difference, and must be missing for a closing');
  if ((kind === 'closing') !== (sent.counted !== undefined))
    throw invalidField('counted', 'is required for a closing, and must be missing for a difference');
  if (holderId === requestedBy) throw new AppError('FORBIDDEN', 'You may not settle your own cash.');
  const amountMinor = sent.amount === undefined ? null : readSigned(context, sent.amount);
  const countedMinor = sent.counted === undefined ? null : readAmount(sent.counted, context.currency);
  return inTransaction(context.db, async (tx) => {
    await requireCashMethod(tx, paymentMethodId);
    const holder = await store.findCashUser(tx, holderId);
    if (!holder) throw notFound('user', holderId, 'holderId');
    const counts = await store.lockHolders(tx, [holderId, requestedBy], paymentMethodId);
    if (kind === 'closing') {
      if (!hasLeft(holder)) throw notLeft();
      if (countedMinor !== 0n && !counts.get(requestedBy)) throw notStarted('paymentMethodId');
    } else {
      checkSettlement(amountMinor ?? 0n, await store.sumOpenDifference(tx, { holderId, paymentMethodId }));
    }
    const settlement = await store.insertSettlement(tx, {
      kind,
      holderId,
      paymentMethodId,
      amountMinor,
      countedMinor,
      reason,
      requestedBy,
    });
    if (!settlement) {
      throw new AppError(
        'DUPLICATE_ENTRY',
        'A settlement of this holder waits for a second person. It must be confirmed or rejected first.',
        { details: { resource: 'cash_settlement', field: 'holderId' } },
      );
    }
    await audit(tx, actor, {
      action: 'cash_settlement.request',
      resource: 'cash_settlement',
      resourceId: settlement.id,
      after: { kind, userId: holderId, paymentMethodId, amountMinor, countedMinor, reason },
      event: event('cash_settlement.requested', { userId: holderId, paymentMethodId }),
    });
    return settlement;
  });
}

/** Settles differences, or closes the cash of a holder who left, as a second person. */
export async function confirmSettlement(context: Context, actor: Actor, id: number): Promise<SettlementRow> {
  requireCashCounts(context.config);
  return inTransaction(context.db, async (tx) => {
    const { settlement, counts } = await lockSettlementAndHolders(tx, id);
    if (settlement.status !== 'requested') throw refusedSettlementMove(settlement, 'confirmed');
    const key = { holderId: settlement.holder_id, paymentMethodId: settlement.payment_method_id };
    const decidedBy = requireSecondPerson(actor, [settlement.requested_by, key.holderId]);
    let amountMinor: Minor;
    if (settlement.kind === 'closing') {
      await closeHolder(tx, actor, settlement, { number: counts.get(key.holderId) ?? 0, decidedBy });
      amountMinor = await store.sumOpenDifference(tx, key);
    } else {
      amountMinor = BigInt(settlement.amount_minor ?? 0);
      checkSettlement(amountMinor, await store.sumOpenDifference(tx, key));
    }
    const ended = await store.endSettlement(tx, id, { status: 'confirmed', decidedBy, amountMinor });
    await audit(tx, actor, {
      action: 'cash_settlement.confirm',
      resource: 'cash_settlement',
      resourceId: id,
      before: { status: settlement.status },
      after: { status: 'confirmed', amountMinor },
      event: event('cash_settlement.confirmed', {
        userId: key.holderId,
        paymentMethodId: key.paymentMethodId,
        amountMinor,
      }),
    });
    return ended;
  });
}

/** Rejects a settlement. Its requester can take it back like this, but nobody rejects a settlement of their own cash. */
export async function rejectSettlement(
  context: Context,
  actor: Actor,
  id: number,
  sent: { reason: string },
): Promise<SettlementRow> {
  requireCashCounts(context.config);
  const { reason } = withTrimmed(sent, 'reason');
  return inTransaction(context.db, async (tx) => {
    const { settlement } = await lockSettlementAndHolders(tx, id);
    if (settlement.status !== 'requested') throw refusedSettlementMove(settlement, 'rejected');
    const decidedBy = requireSecondPerson(actor, [settlement.holder_id]);
    const ended = await store.endSettlement(tx, id, {
      status: 'rejected',
      decidedBy,
      decisionReason: reason,
    });
    await audit(tx, actor, {
      action: 'cash_settlement.reject',
      resource: 'cash_settlement',
      resourceId: id,
      before: { status: settlement.status },
      after: { status: 'rejected', reason },
      event: event('cash_settlement.rejected', {
        userId: settlement.holder_id,
        paymentMethodId: settlement.payment_method_id,
      }),
    });
    return ended;
  });
}

async function lockSettlementAndHolders(tx: Tx, id: number) {
  const seen = await store.findSettlementRow(tx, id);
  if (!seen) throw notFound('cash_settlement', id);
  const counts = await store.lockHolders(tx, [seen.holder_id, seen.requested_by], seen.payment_method_id);
  return { settlement: await store.lockSettlement(tx, id), counts };
}

/**
 * Ends all that is open for a holder who left, counts what finance got back, and moves it to the hand of the requester. What remains
 * is a difference, which the settlement then settles.
 */
async function closeHolder(
  tx: Tx,
  actor: Actor,
  {
    id,
    holder_id: holderId,
    requested_by: requestedBy,
    counted_minor,
    payment_method_id: paymentMethodId,
    reason,
  }: SettlementRow,
  { number, decidedBy }: { number: number; decidedBy: number },
): Promise<void> {
  const holder = await store.findCashUser(tx, holderId);
  if (holder && !hasLeft(holder)) throw notLeft();
  for (const handover of await store.lockPendingHandovers(tx, { holderId, paymentMethodId })) {
    await withdraw(tx, actor, handover);
  }
  const last = await store.lockLastCount(tx, { holderId, paymentMethodId });
  if (last?.status === 'open') {
    if (last.number === 1) {
      if (last.counted_by === decidedBy) throw new LostRace('the opening count has another counter');
      await confirmOpening(tx, actor, last, { confirmedBy: decidedBy, isEarlierCash: false });
    } else {
      await store.endCount(tx, last.id, { reason });
    }
  }
  const countedMinor = BigInt(counted_minor ?? 0);
  const count = await store.insertCount(tx, {
    holderId,
    paymentMethodId,
    number,
    countedMinor,
    countedBy: requestedBy,
    closing: { reason, confirmedBy: decidedBy },
  });
  await auditCount(tx, actor, count);
  if (countedMinor > 0n) {
    await store.insertMoves(tx, [
      { holderId, paymentMethodId, amountMinor: -countedMinor, settlementId: id },
      { holderId: requestedBy, paymentMethodId, amountMinor: countedMinor, settlementId: id },
    ]);
  }
}

async function auditCount(tx: Tx, actor: Actor, count: CashCountRow): Promise<void> {
  const cash = { userId: count.holder_id, paymentMethodId: count.payment_method_id };
  const countedMinor = count.counted_minor;
  await audit(tx, actor, {
    action: 'cash_count.save',
    resource: 'cash_count',
    resourceId: count.id,
    after: { ...cash, number: count.number, countedMinor, status: count.status },
    event: event('cash_count.saved', {
      ...cash,
      countedMinor,
      expectedMinor: Number(count.expected_minor),
      differenceOfCountMinor: Number(count.difference_minor),
    }),
  });
}

async function lockHolder(tx: Tx, { holderId, paymentMethodId }: HolderKey): Promise<number> {
  return (await store.lockHolders(tx, [holderId], paymentMethodId)).get(holderId) ?? 0;
}

async function requireCashMethod(tx: Tx, id: number): Promise<void> {
  if (!(await store.lockCashMethod(tx, id))) {
    throw invalidField('paymentMethodId', 'must refer to a payment method with cash: true');
  }
}

async function requireReceiver(tx: Tx, id: number): Promise<void> {
  const user = await store.findCashUser(tx, id);
  if (!user) throw notFound('user', id, 'toUserId');
  if (!user.active || !mayDo(user, 'cash:count')) {
    throw invalidField('toUserId', 'must refer to an active user who may count cash');
  }
}

function notLeft(): AppError {
  return invalidField(
    'holderId',
    'must refer to a user who is not active, or who may not count cash any more',
  );
}

function closedCount(id: number): AppError {
  return new AppError('VALIDATION_ERROR', `The cash-up ${id} is closed, and never changes.`, { status: 409 });
}

/** Reads an amount that can be negative. Validation has checked its size and decimals. */
function readSigned({ currency }: Context, amount: number): Minor {
  const minor = minorFromNumber(Math.abs(amount), currency.decimals);
  if (minor === undefined || minor === 0n) {
    throw invalidField('amount', `must be an amount other than 0 with at most ${currency.decimals} decimals`);
  }
  return amount < 0 ? -minor : minor;
}
