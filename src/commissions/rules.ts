import type { AccountStatus, CommissionStatus } from '../core/database/tables.ts';
import { type FieldProblem, illegalMove, invalid } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { divideHalfUp, type Minor } from '../core/values/money.ts';
import type { Sale } from './schema.ts';

const BASIS_POINTS = 10_000n;

/** Statuses of accounts that earn no commission: not sold yet, or not sold after all. */
export const UNSOLD_STATUSES = ['pending', 'cancelled'] as const satisfies AccountStatus[];

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
    if (sale.productId !== undefined && sale.shareBasisPoints !== undefined) {
      problems.push({
        path: `${path}.shareBasisPoints`,
        message: 'is for accounts: send the part as amount',
      });
    }
    if (sale.accountId !== undefined && (sale.quantity ?? 1) !== 1) {
      problems.push({ path: `${path}.quantity`, message: 'must be 1 for an account' });
    }
    if (sale.accountId !== undefined && sold.has(sale.accountId)) {
      problems.push({ path: `${path}.accountId`, message: 'must not come twice: an account is sold once' });
    }
    if (sale.accountId !== undefined) sold.add(sale.accountId);
    if (sale.saleDate !== undefined && !isWithin(period, sale.saleDate)) {
      problems.push({ path: `${path}.saleDate`, message: `must lie in ${period}` });
    }
  });
  if (problems.length > 0) throw invalid(problems);
}

/**
 * @param accounts those that the sales name, by id.
 * @throws AppError VALIDATION_ERROR naming each account that earns no commission, or was activated in another month
 *   while its sale has no date.
 */
export function checkSoldAccounts(
  sales: readonly Sale[],
  accounts: ReadonlyMap<number, { status: AccountStatus; activation_date: PlainDate }>,
  period: string,
): void {
  const problems: FieldProblem[] = [];
  sales.forEach((sale, index) => {
    const account = sale.accountId === undefined ? undefined : accounts.get(sale.accountId);
    if (!account) return;
    const path = `salesData[${index}]`;
    if (isUnsold(account.status)) {
      problems.push({
        path: `${path}.accountId`,
        message: `must not be a ${account.status} account: it earns no commission`,
      });
    }
    if (sale.saleDate === undefined && !isWithin(period, account.activation_date)) {
      const message = `is required and must lie in ${period}, because the account was activated on ${account.activation_date}`;
      problems.push({ path: `${path}.saleDate`, message });
    }
  });
  if (problems.length > 0) throw invalid(problems);
}

function isUnsold(status: AccountStatus): boolean {
  return (UNSOLD_STATUSES as readonly AccountStatus[]).includes(status);
}

function isWithin(period: string, date: PlainDate): boolean {
  return date.startsWith(`${period}-`);
}

/**
 * base × rate, rounded half up to the minor unit. A share of it is rounded down, so that the shares of a sale never add up
 * to more than the sale earns.
 */
export function commissionOf(baseMinor: Minor, rateBasisPoints: number, shareBasisPoints: number): Minor {
  const whole = divideHalfUp(baseMinor * BigInt(rateBasisPoints), BASIS_POINTS);
  return (whole * BigInt(shareBasisPoints)) / BASIS_POINTS;
}

export interface CurrentRule {
  id: number;
  rateBasisPoints: number;
}

/** The newest rule of a category; else the newest default (the empty category); else undefined, which pays nothing. */
export function ruleFor(rules: ReadonlyMap<string, CurrentRule>, category: string): CurrentRule | undefined {
  return rules.get(category) ?? rules.get('');
}
