import type { Actor } from '../../core/context.ts';
import type {
  CashCountStatus,
  CashHandoverStatus,
  CashSettlementStatus,
  Row,
  UserRole,
} from '../../core/database/tables.ts';
import { AppError, illegalMove, invalidField } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import { mayDo, type Permission } from '../../rights.ts';

/** A holder's cash of one payment method. Each pair counts alone. */
export interface HolderKey {
  holderId: number;
  paymentMethodId: number;
}

export type CashCountRow = Row<'cash_counts'>;
export type HandoverRow = Row<'cash_handovers'>;
export type SettlementRow = Row<'cash_settlements'>;

export const COUNT_STATUSES = ['open', 'closed'] as const satisfies CashCountStatus[];

/** The statuses of a hand-over to a user (from `pending`) and to the bank (from `deposited`), and what can follow each. */
export const HANDOVER_STATUSES: Readonly<Record<CashHandoverStatus, readonly CashHandoverStatus[]>> = {
  pending: ['received', 'unequal', 'withdrawn'],
  received: [],
  unequal: [],
  withdrawn: [],
  deposited: ['confirmed', 'rejected'],
  confirmed: [],
  rejected: [],
};

export const SETTLEMENT_STATUSES: Readonly<Record<CashSettlementStatus, readonly CashSettlementStatus[]>> = {
  requested: ['confirmed', 'rejected'],
  confirmed: [],
  rejected: [],
};

export interface CashSettings {
  readonly CASH_COUNTS: 'on' | 'off';
  readonly cashCeilingMinor: Minor | undefined;
}

/** @throws AppError VALIDATION_ERROR with status 409 if the operator has not turned cash counts on. */
export function requireCashCounts({ CASH_COUNTS }: Pick<CashSettings, 'CASH_COUNTS'>): void {
  if (CASH_COUNTS === 'on') return;
  throw new AppError(
    'VALIDATION_ERROR',
    'Cash counts are turned off. The operator turns them on with the setting CASH_COUNTS.',
    { status: 409 },
  );
}

/** Counts, hand-overs and settlements are statements of a person, so an API key has no `userId` to make them. */
export function personOf(actor: Actor): number {
  if (actor.userId === null) throw new AppError('FORBIDDEN', 'Only a person may do this.');
  return actor.userId;
}

/**
 * Whether a holder can neither count nor hand over cash any more: a user who is not active, or whose role does not count cash. Then
 * finance closes the cash of the holder.
 */
export function hasLeft({ active, role }: { active: boolean; role: UserRole }): boolean {
  return !active || !mayDo({ role }, 'cash:count');
}

/** Whose rows a caller sees. */
export type Visible = 'all' | { userId: number };

/** Users without `cash:read` see their own counts and hand-overs. */
export function visibleTo(actor: Actor): Visible {
  return mayDo(actor, 'cash:read') ? 'all' : { userId: personOf(actor) };
}

export function openCount({ id }: Pick<CashCountRow, 'id'>): AppError {
  return new AppError(
    'DUPLICATE_ENTRY',
    `The cash-up ${id} is open. Give the reason of its difference, or wait until finance confirms the opening count.`,
    { details: { resource: 'cash_count', field: 'id', id } },
  );
}

/** A holder without an opening count has no cash that could be handed over: all that was recorded before is unknown. */
export function notStarted(field: string): AppError {
  return invalidField(field, 'must refer to a holder who has counted once; save an opening count first');
}

export function refusedHandoverMove({ status }: Pick<HandoverRow, 'status'>, to: CashHandoverStatus) {
  return illegalMove('A hand-over', status, to, HANDOVER_STATUSES[status]);
}

export function refusedSettlementMove({ status }: Pick<SettlementRow, 'status'>, to: CashSettlementStatus) {
  return illegalMove('A settlement', status, to, SETTLEMENT_STATUSES[status]);
}

/** Refuses a decision on one's own cash or one's own request. @param involved - the users who may not decide. */
export function requireSecondPerson(actor: Actor, involved: readonly (number | null)[]): number {
  const userId = personOf(actor);
  if (!involved.includes(userId)) return userId;
  throw new AppError('FORBIDDEN', 'You may not decide on your own cash, or on your own request.');
}

type Person = Pick<Actor, 'userId'> & Parameters<typeof mayDo>[0];

/** Whether `requireSecondPerson` accepts the actor, who also needs the permission. */
export function maySecond(
  actor: Person,
  permission: Permission,
  involved: readonly (number | null)[],
): boolean {
  return actor.userId !== null && !involved.includes(actor.userId) && mayDo(actor, permission);
}

/** Whether the actor can confirm an opening count. */
export function mayConfirmCount(
  actor: Person,
  {
    status,
    number,
    holder_id,
    counted_by,
  }: Pick<CashCountRow, 'status' | 'number' | 'holder_id' | 'counted_by'>,
): boolean {
  return status === 'open' && number === 1 && maySecond(actor, 'cash:confirm', [holder_id, counted_by]);
}

/** Whether the actor can confirm or reject a deposit. */
export function mayDecideDeposit(
  actor: Person,
  { status, from_user_id }: Pick<HandoverRow, 'status' | 'from_user_id'>,
): boolean {
  return status === 'deposited' && maySecond(actor, 'cash:confirm', [from_user_id]);
}

/** Whether the actor can be the second person of a settlement. */
export function mayConfirmSettlement(
  actor: Person,
  { status, requested_by, holder_id }: Pick<SettlementRow, 'status' | 'requested_by' | 'holder_id'>,
): boolean {
  return status === 'requested' && maySecond(actor, 'cash:settle', [requested_by, holder_id]);
}

/** A bank slip in the form in which it must be unique. */
export function slipKey(slipNumber: string): string {
  return slipNumber.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Checks the amount of a settlement against the differences that are open when it is requested, and again when it is confirmed.
 * @param openMinor - the sum of the holder's differences that are neither offset nor settled: negative if cash is missing.
 */
export function checkSettlement(amountMinor: Minor, openMinor: Minor): void {
  const isWithin =
    openMinor < 0n
      ? openMinor <= amountMinor && amountMinor < 0n
      : 0n < amountMinor && amountMinor <= openMinor;
  if (isWithin) return;
  throw invalidField('amount', 'must have the sign of the open difference, and must not be larger');
}

/** The permission that a person needs to change cash that was handed over. */
export const FINANCE: Permission = 'cash:confirm';

/** Whether a holder's cash is above the ceiling. It is a warning only: the money was received already. */
export function isAboveCeiling(
  inHandMinor: Minor,
  { cashCeilingMinor }: Pick<CashSettings, 'cashCeilingMinor'>,
) {
  return cashCeilingMinor !== undefined && inHandMinor > cashCeilingMinor;
}

/**
 * In hand = last counted + what no count has taken. Sums are texts, because a sum can be larger than an exact number.
 * @returns null before the opening count.
 */
export function inHandOf({
  countedMinor,
  uncountedMinor,
}: {
  countedMinor: string | null;
  uncountedMinor: string;
}): Minor | null {
  return countedMinor === null ? null : BigInt(countedMinor) + BigInt(uncountedMinor);
}
