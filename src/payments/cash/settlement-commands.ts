import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { LostRace } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, invalidField, notFound } from '../../core/http/errors.ts';
import { type Minor, minorFromNumber } from '../../core/values/money.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { auditCount, confirmOpening } from './count-commands.ts';
import { endCount, insertCount, lockLastCount } from './count-store.ts';
import { withdraw } from './handover-commands.ts';
import { insertMoves, lockPendingHandovers } from './handover-store.ts';
import { requireCashMethod } from './holder-commands.ts';
import { findCashUser, lockHolders } from './holder-store.ts';
import {
  checkSettlement,
  hasLeft,
  notStarted,
  personOf,
  refusedSettlementMove,
  requireCashCounts,
  requireSecondPerson,
  type SettlementRow,
} from './rules.ts';
import type { NewSettlement } from './schema.ts';
import {
  endSettlement,
  findSettlementRow,
  insertSettlement,
  lockSettlement,
  sumOpenDifference,
} from './settlement-store.ts';

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
    const holder = await findCashUser(tx, holderId);
    if (!holder) throw notFound('user', holderId, 'holderId');
    const counts = await lockHolders(tx, [holderId, requestedBy], paymentMethodId);
    if (kind === 'closing') {
      if (!hasLeft(holder)) throw notLeft();
      if (countedMinor !== 0n && !counts.get(requestedBy)) throw notStarted('paymentMethodId');
    } else {
      checkSettlement(amountMinor ?? 0n, await sumOpenDifference(tx, { holderId, paymentMethodId }));
    }
    const settlement = await insertSettlement(tx, {
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
      amountMinor = await sumOpenDifference(tx, key);
    } else {
      amountMinor = BigInt(settlement.amount_minor ?? 0);
      checkSettlement(amountMinor, await sumOpenDifference(tx, key));
    }
    const ended = await endSettlement(tx, id, { status: 'confirmed', decidedBy, amountMinor });
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
    const ended = await endSettlement(tx, id, {
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
  const seen = await findSettlementRow(tx, id);
  if (!seen) throw notFound('cash_settlement', id);
  const counts = await lockHolders(tx, [seen.holder_id, seen.requested_by], seen.payment_method_id);
  return { settlement: await lockSettlement(tx, id), counts };
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
  const holder = await findCashUser(tx, holderId);
  if (holder && !hasLeft(holder)) throw notLeft();
  for (const handover of await lockPendingHandovers(tx, { holderId, paymentMethodId })) {
    await withdraw(tx, actor, handover);
  }
  const last = await lockLastCount(tx, { holderId, paymentMethodId });
  if (last?.status === 'open') {
    if (last.number === 1) {
      if (last.counted_by === decidedBy) throw new LostRace('the opening count has another counter');
      await confirmOpening(tx, actor, last, { confirmedBy: decidedBy, isEarlierCash: false });
    } else {
      await endCount(tx, last.id, { reason });
    }
  }
  const countedMinor = BigInt(counted_minor ?? 0);
  const count = await insertCount(tx, {
    holderId,
    paymentMethodId,
    number,
    countedMinor,
    countedBy: requestedBy,
    closing: { reason, confirmedBy: decidedBy },
  });
  await auditCount(tx, actor, count);
  if (countedMinor > 0n) {
    await insertMoves(tx, [
      { holderId, paymentMethodId, amountMinor: -countedMinor, settlementId: id },
      { holderId: requestedBy, paymentMethodId, amountMinor: countedMinor, settlementId: id },
    ]);
  }
}

function notLeft(): AppError {
  return invalidField(
    'holderId',
    'must refer to a user who is not active, or who may not count cash any more',
  );
}

/** Reads an amount that can be negative. Validation has checked its size and decimals. */
function readSigned({ currency }: Context, amount: number): Minor {
  const minor = minorFromNumber(Math.abs(amount), currency.decimals);
  if (minor === undefined || minor === 0n) {
    throw invalidField('amount', `must be an amount other than 0 with at most ${currency.decimals} decimals`);
  }
  return amount < 0 ? -minor : minor;
}
