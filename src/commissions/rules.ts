import { type FieldProblem, illegalMove, invalid } from '../core/errors.ts';
import { divideHalfUp, type Minor } from '../core/money.ts';
import type { CommissionStatus } from '../core/tables.ts';
import type { Sale } from './schema.ts';

const BASIS_POINTS = 10_000n;

const MOVES: Record<CommissionStatus, readonly CommissionStatus[]> = {
  calculated: ['approved'],
  approved: ['paid'],
  paid: [],
};

/** @throws AppError VALIDATION_ERROR with `{from, to, allowed}`. */
export function checkCommissionMove(from: CommissionStatus, to: CommissionStatus): void {
  const allowed = MOVES[from];
  if (!allowed.includes(to)) throw illegalMove('A commission', from, to, allowed);
}

/** @throws AppError VALIDATION_ERROR naming each sale without a source, sold twice, or dated outside the period. */
export function checkSales(sales: readonly Sale[], period: string): void {
  const problems: FieldProblem[] = [];
  const sold = new Set<number>();
  sales.forEach((sale, index) => {
    const path = `salesData[${index}]`;
    if ((sale.accountId === undefined) === (sale.productId === undefined)) {
      problems.push({ path, message: 'must name either accountId or productId' });
    }
    if (sale.accountId !== undefined && (sale.quantity ?? 1) !== 1) {
      problems.push({ path: `${path}.quantity`, message: 'must be 1 for an account' });
    }
    if (sale.accountId !== undefined && sold.has(sale.accountId)) {
      problems.push({ path: `${path}.accountId`, message: 'must not come twice: an account is sold once' });
    }
    if (sale.accountId !== undefined) sold.add(sale.accountId);
    if (sale.saleDate !== undefined && !sale.saleDate.startsWith(`${period}-`)) {
      problems.push({ path: `${path}.saleDate`, message: `must lie in ${period}` });
    }
  });
  if (problems.length > 0) throw invalid(problems);
}

/** base × rate, rounded half up to the minor unit. */
export function commissionOf(baseMinor: Minor, rateBasisPoints: number): Minor {
  return divideHalfUp(baseMinor * BigInt(rateBasisPoints), BASIS_POINTS);
}

export interface CurrentRule {
  id: number;
  rateBasisPoints: number;
}

/** The newest rule of a category; else the newest default (the empty category); else undefined, which pays nothing. */
export function ruleFor(rules: ReadonlyMap<string, CurrentRule>, category: string): CurrentRule | undefined {
  return rules.get(category) ?? rules.get('');
}
