import { type Actor, amountOf, type Context, type Currency } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { inSnapshot } from '../../core/database/transactions.ts';
import { notFound } from '../../core/http/errors.ts';
import { mayDo, rolesWith } from '../../rights.ts';
import { findCount, findLastCount, type ListedCount } from './count-store.ts';
import { findHandover, findOpenHandovers, type ListedHandover } from './handover-store.ts';
import { type CashUser, findCashMethods, findReceivers } from './holder-store.ts';
import {
  countWaiting,
  countWaitingFor,
  findHolderRows,
  findHolders,
  findUndecided,
  sumWithoutHolder,
} from './overview-store.ts';
import {
  hasLeft,
  inHandOf,
  isAboveCeiling,
  mayConfirmCount,
  mayConfirmSettlement,
  mayDecideDeposit,
  maySecond,
  personOf,
  visibleTo,
} from './rules.ts';
import type { CashCount, Handover, Settlement } from './schema.ts';
import { findSettlement, type ListedSettlement } from './settlement-store.ts';

export function toCashCount(row: ListedCount, actor: Actor, currency: Currency): CashCount {
  const amount = (minor: number | null) => amountOf(minor ?? 0, currency);
  return {
    id: row.id,
    holderId: row.holder_id,
    holder: row.holder,
    paymentMethodId: row.payment_method_id,
    paymentMethod: row.method,
    isOpening: row.number === 1,
    counted: amount(row.counted_minor),
    previous: amount(row.previous_minor),
    posted: amount(row.entries_minor),
    moved: amount(row.moves_minor),
    expected: amount(row.expected_minor),
    difference: amount(row.difference_minor),
    isEarlierCash: row.is_earlier_cash,
    status: row.status,
    reason: row.reason,
    countedBy: row.counter,
    confirmedBy: row.confirmer,
    mayConfirm: mayConfirmCount(actor, row),
    currency: currency.code,
    closedAt: row.closed_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Shows the amount of a pending hand-over only to the giver, because the receiver must count without knowing it. */
export function toHandover(row: ListedHandover, actor: Actor, currency: Currency): Handover {
  const isHidden = row.status === 'pending' && row.from_user_id !== actor.userId;
  return {
    id: row.id,
    fromUserId: row.from_user_id,
    from: row.giver,
    toUserId: row.to_user_id,
    to: row.receiver,
    paymentMethodId: row.payment_method_id,
    paymentMethod: row.method,
    amount: isHidden ? null : amountOf(row.amount_minor, currency),
    received: row.received_minor === null ? null : amountOf(row.received_minor, currency),
    slipNumber: row.slip_number,
    status: row.status,
    decidedBy: row.decider,
    decidedAt: row.decided_at,
    statementDate: row.statement_date,
    statementText: row.statement_text,
    reason: row.reason,
    mayDecide: mayDecideDeposit(actor, row),
    currency: currency.code,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function toSettlement(row: ListedSettlement, actor: Actor, currency: Currency): Settlement {
  return {
    id: row.id,
    kind: row.kind,
    holderId: row.holder_id,
    holder: row.holder,
    paymentMethodId: row.payment_method_id,
    paymentMethod: row.method,
    amount: row.amount_minor === null ? null : amountOf(row.amount_minor, currency),
    counted: row.counted_minor === null ? null : amountOf(row.counted_minor, currency),
    reason: row.reason,
    status: row.status,
    requestedBy: row.requester,
    requestedByUserId: row.requested_by,
    decidedBy: row.decider,
    decidedAt: row.decided_at,
    decisionReason: row.decision_reason,
    mayConfirm: mayConfirmSettlement(actor, row),
    mayReject: row.status === 'requested' && maySecond(actor, 'cash:settle', [row.holder_id]),
    currency: currency.code,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** @throws AppError NOT_FOUND, also for a count that the actor may not see. */
export async function readCount({ db, currency }: Context, actor: Actor, id: number): Promise<CashCount> {
  const row = await findCount(db, id);
  const visible = visibleTo(actor);
  if (!row || (visible !== 'all' && row.holder_id !== visible.userId)) throw notFound('cash_count', id);
  return toCashCount(row, actor, currency);
}

/** @throws AppError NOT_FOUND, also for a hand-over that the actor may not see. */
export async function readHandover({ db, currency }: Context, actor: Actor, id: number): Promise<Handover> {
  const row = await findHandover(db, id);
  const visible = visibleTo(actor);
  const isVisible = row && (visible === 'all' || [row.from_user_id, row.to_user_id].includes(visible.userId));
  if (!isVisible) throw notFound('cash_handover', id);
  return toHandover(row, actor, currency);
}

/** @throws AppError NOT_FOUND */
export async function readSettlement(
  { db, currency }: Context,
  actor: Actor,
  id: number,
): Promise<Settlement> {
  const row = await findSettlement(db, id);
  if (!row) throw notFound('cash_settlement', id);
  return toSettlement(row, actor, currency);
}

/** What holders see of their own cash: everything except what is expected. */
export async function readOwnCash({ db, currency, config }: Context, actor: Actor) {
  const userId = personOf(actor);
  return inSnapshot(db, async (tx) => {
    const methods = await findCashMethods(tx);
    const rows = new Map((await findHolderRows(tx, userId)).map((row) => [row.paymentMethodId, row]));
    const openHandovers = (await findOpenHandovers(tx, userId)).map((row) =>
      toHandover(row, actor, currency),
    );
    const receivers = await findReceivers(tx, rolesWith('cash:count'));
    const shown = [];
    for (const { id: paymentMethodId, name } of methods) {
      const row = rows.get(paymentMethodId);
      const last = await findLastCount(tx, { holderId: userId, paymentMethodId });
      const open = last?.status === 'open' ? await findCount(tx, last.id) : undefined;
      shown.push({
        paymentMethodId,
        paymentMethod: name,
        isStarted: last !== undefined,
        lastCounted: last ? amountOf(last.counted_minor, currency) : null,
        lastCountedAt: last?.created_at ?? null,
        openCount: open ? toCashCount(open, actor, currency) : null,
        openDifference: amountOf(BigInt(row?.openDifferenceMinor ?? 0), currency),
        isAboveCeiling: row !== undefined && isAboveCeiling(inHandOf(row) ?? 0n, config),
      });
    }
    return {
      methods: shown,
      toReceive: openHandovers.filter(({ toUserId }) => toUserId === userId),
      handedOver: openHandovers.filter(({ fromUserId }) => fromUserId === userId),
      receivers: receivers
        .filter(({ id }) => id !== userId)
        .map(({ id, firstName, lastName, paymentMethodId }) => ({
          userId: id,
          name: `${firstName} ${lastName}`,
          paymentMethodId,
        })),
      currency: currency.code,
    };
  });
}

/** The cash of all holders, for finance and managers. Hides from the callers what is expected in their own hands. */
export async function readOverview({ db, currency, config }: Context, actor: Actor) {
  return inSnapshot(db, async (tx) => {
    const rows = await findHolders(tx);
    const withoutHolder = await sumWithoutHolder(tx);
    return {
      holders: rows.map((row) => {
        const isOwn = row.holderId === actor.userId;
        const inHandMinor = inHandOf(row);
        return {
          holderId: row.holderId,
          holder: row.holder,
          active: !hasLeft(row),
          paymentMethodId: row.paymentMethodId,
          paymentMethod: row.method,
          isStarted: row.countedMinor !== null,
          lastCounted: row.countedMinor === null ? null : amountOf(BigInt(row.countedMinor), currency),
          lastCountedAt: row.countedAt,
          uncounted: isOwn ? null : amountOf(BigInt(row.uncountedMinor), currency),
          inHand: isOwn || inHandMinor === null ? null : amountOf(inHandMinor, currency),
          openDifference: amountOf(BigInt(row.openDifferenceMinor), currency),
          openCountId: row.openCountId,
          isAboveCeiling: isAboveCeiling(inHandMinor ?? 0n, config),
        };
      }),
      withoutHolder: withoutHolder.map(({ paymentMethodId, method, sumMinor }) => ({
        paymentMethodId,
        paymentMethod: method,
        amount: amountOf(BigInt(sumMinor), currency),
      })),
      waiting: await countWaiting(tx),
      currency: currency.code,
    };
  });
}

/** The cash work on the page Today. Null if cash counts are off, or if the caller counts no cash. */
export async function readCashWork({ db, config }: Context, actor: Actor) {
  if (config.CASH_COUNTS === 'off' || actor.userId === null || !mayDo(actor, 'cash:count')) return null;
  return {
    own: await countWaitingFor(db, actor.userId),
    toConfirm: mayDo(actor, 'cash:read') ? await countConfirmableBy(db, actor) : null,
    all: mayDo(actor, 'cash:read') ? await countWaiting(db) : null,
  };
}

/** The opening counts, deposits and settlements that the actor may confirm, so without the actor's own cash and requests. */
async function countConfirmableBy(db: Db, actor: Actor): Promise<number> {
  const { counts, deposits, settlements } = await findUndecided(db);
  return [
    ...counts.filter((row) => mayConfirmCount(actor, row)),
    ...deposits.filter((row) => mayDecideDeposit(actor, row)),
    ...settlements.filter((row) => mayConfirmSettlement(actor, row)),
  ].length;
}

/**
 * A sentence about the cash that a user left behind, for a warning after the user was deactivated or got a role that does not count
 * cash. Undefined if there is no cash, or if the user can still count it.
 */
export async function cashLeftBehind(
  { db, config, currency }: Pick<Context, 'db' | 'config' | 'currency'>,
  user: Pick<CashUser, 'id' | 'role' | 'active'>,
): Promise<string | undefined> {
  if (config.CASH_COUNTS === 'off' || !hasLeft(user)) return undefined;
  const rows = await findHolderRows(db, user.id);
  const open = rows.flatMap((row) => {
    const inHandMinor = inHandOf(row) ?? 0n;
    const isSettled = inHandMinor === 0n && row.openDifferenceMinor === '0' && row.openCountId === null;
    return isSettled ? [] : [`${currency.code} ${amountOf(inHandMinor, currency)} (${row.method})`];
  });
  if (open.length === 0) return undefined;
  return `The user still holds cash: ${open.join(', ')}. Finance and a second person must close it.`;
}
