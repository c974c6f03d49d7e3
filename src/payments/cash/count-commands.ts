import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, notFound } from '../../core/http/errors.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { endCount, findLastCount, insertCount, lockCount } from './count-store.ts';
import { lockHolder, requireCashMethod } from './holder-commands.ts';
import { type CashCountRow, openCount, personOf, requireCashCounts, requireSecondPerson } from './rules.ts';
import type { NewCashCount } from './schema.ts';

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
    const last = await findLastCount(tx, { holderId, paymentMethodId });
    if (last?.status === 'open') throw openCount(last);
    const count = await insertCount(tx, {
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
    const count = await lockCount(tx, id);
    if (!count || count.holder_id !== personOf(actor)) throw notFound('cash_count', id);
    if (count.status === 'closed') throw closedCount(id);
    if (count.number === 1)
      throw new AppError('VALIDATION_ERROR', 'An opening count needs no reason. Finance confirms it.', {
        status: 409,
      });
    const closed = await endCount(tx, id, { reason });
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
    const count = await lockCount(tx, id);
    if (!count) throw notFound('cash_count', id);
    if (count.number !== 1)
      throw new AppError('VALIDATION_ERROR', 'Only an opening count is confirmed.', { status: 409 });
    if (count.status === 'closed') throw closedCount(id);
    const confirmedBy = requireSecondPerson(actor, [count.holder_id, count.counted_by]);
    return confirmOpening(tx, actor, count, { confirmedBy, isEarlierCash });
  });
}

export async function confirmOpening(
  tx: Tx,
  actor: Actor,
  count: CashCountRow,
  ending: { confirmedBy: number; isEarlierCash: boolean },
): Promise<CashCountRow> {
  const closed = await endCount(tx, count.id, ending);
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

export async function auditCount(tx: Tx, actor: Actor, count: CashCountRow): Promise<void> {
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

function closedCount(id: number): AppError {
  return new AppError('VALIDATION_ERROR', `The cash-up ${id} is closed, and never changes.`, { status: 409 });
}
