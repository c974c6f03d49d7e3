import type { CommissionStatus } from '../core/database/tables.ts';
import { illegalMove } from '../core/http/errors.ts';

interface StatusRules {
  /** The statuses to which staff can change the commission. */
  moves: readonly CommissionStatus[];
  /** Whether a new calculation can replace the lines. A new calculation also sets the status to `calculated`. */
  canRecalculate: boolean;
}

const STATUSES: Record<CommissionStatus, StatusRules> = {
  calculated: { moves: ['approved'], canRecalculate: true },
  approved: { moves: ['paid'], canRecalculate: true },
  paid: { moves: [], canRecalculate: false },
};
export const COMMISSION_STATUSES = Object.keys(STATUSES) as CommissionStatus[];

export function canRecalculate(status: CommissionStatus): boolean {
  return STATUSES[status].canRecalculate;
}

/** @throws AppError VALIDATION_ERROR with `{from, to, allowed}`. */
export function checkCommissionMove(from: CommissionStatus, to: CommissionStatus): void {
  const allowed = STATUSES[from].moves;
  if (!allowed.includes(to)) throw illegalMove('A commission', from, to, allowed);
}

/** The statuses that a user can give to all commissions of a month. */
export const MONTH_STATUSES = ['approved', 'paid'] as const satisfies CommissionStatus[];

/** The status from which a commission becomes `to`. */
export function statusBefore(to: (typeof MONTH_STATUSES)[number]): CommissionStatus {
  const before = COMMISSION_STATUSES.find((status) => STATUSES[status].moves.includes(to));
  if (!before) throw new Error(`No commission can become ${to}.`);
  return before;
}
