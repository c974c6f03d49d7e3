import type { AccountStatus } from '../core/database/tables.ts';
import { type FieldProblem, invalid, invalidField } from '../core/http/errors.ts';
import { compareDates, lastOfMonth, type PlainDate } from '../core/values/dates.ts';
import { divideHalfUp, type Minor } from '../core/values/money.ts';
import { problemOfUnsold } from './cancelled-sale-rules.ts';
import type { Sale } from './schema.ts';

const BASIS_POINTS = 10_000n;

/** Whether the business day is after the month. A paid commission does not change, so sales that follow would earn nothing. */
export function hasEnded(period: string, day: PlainDate): boolean {
  return compareDates(day, lastOfMonth(`${period}-01` as PlainDate)) > 0;
}

/** @throws AppError VALIDATION_ERROR for a month after the month of the business day: it has no sales yet. */
export function checkPeriod(period: string, day: PlainDate): void {
  const month = day.slice(0, 7);
  if (period > month) throw invalidField('period', `must not be after ${month}, the present month`);
}

/** @throws AppError VALIDATION_ERROR with the problems of all sales, such as a repeated account or a date outside the period. */
export function checkSales(sales: readonly Sale[], period: string): void {
  const problems: FieldProblem[] = [];
  const sold = new Set<number>();
  sales.forEach((sale, index) => {
    const path = `salesData[${index}]`;
    if ((sale.accountId === undefined) === (sale.productId === undefined)) {
      problems.push({ path, message: 'must have either accountId or productId' });
    }
    if (sale.productId !== undefined && sale.shareBasisPoints !== undefined) {
      problems.push({
        path: `${path}.shareBasisPoints`,
        message:
          'is only allowed with accountId; with productId, set amount to this employee’s part of the sale',
      });
    }
    if (sale.accountId !== undefined && (sale.quantity ?? 1) !== 1) {
      problems.push({ path: `${path}.quantity`, message: 'must be 1 if accountId is given' });
    }
    if (sale.accountId !== undefined && sold.has(sale.accountId)) {
      problems.push({
        path: `${path}.accountId`,
        message: 'must not be repeated: an account can be sold only once',
      });
    }
    if (sale.accountId !== undefined) sold.add(sale.accountId);
    if (sale.saleDate !== undefined && !isWithin(period, sale.saleDate)) {
      problems.push({ path: `${path}.saleDate`, message: `must be in ${period}` });
    }
  });
  if (problems.length > 0) throw invalid(problems);
}

/**
 * @param accounts - the accounts of the sales, by id.
 * @param includesEarlier - whether a sale can keep an activation date before the period.
 * @throws AppError VALIDATION_ERROR with each account that earns no commission, and each sale without `saleDate` if its account was
 *   activated in another month.
 */
export function checkSoldAccounts(
  sales: readonly Sale[],
  accounts: ReadonlyMap<number, { status: AccountStatus; activation_date: PlainDate }>,
  period: string,
  includesEarlier: boolean,
): void {
  const problems: FieldProblem[] = [];
  sales.forEach((sale, index) => {
    const account = sale.accountId === undefined ? undefined : accounts.get(sale.accountId);
    if (!account) return;
    const path = `salesData[${index}]`;
    const problem = problemOfUnsold(account.status);
    if (problem !== undefined) problems.push({ path: `${path}.accountId`, message: problem });
    const isEarlier = includesEarlier && account.activation_date < `${period}-01`;
    if (sale.saleDate === undefined && !isEarlier && !isWithin(period, account.activation_date)) {
      const message = `is required and must be in ${period}, because the account was activated on ${account.activation_date}`;
      problems.push({ path: `${path}.saleDate`, message });
    }
  });
  if (problems.length > 0) throw invalid(problems);
}

function isWithin(period: string, date: PlainDate): boolean {
  return date.startsWith(`${period}-`);
}

/**
 * The commission of a sale is base × rate, rounded half up to the minor unit. The result is commission × share, rounded down, so
 * that the shares of a sale never exceed its commission.
 */
export function commissionOf(baseMinor: Minor, rateBasisPoints: number, shareBasisPoints: number): Minor {
  const whole = divideHalfUp(baseMinor * BigInt(rateBasisPoints), BASIS_POINTS);
  return (whole * BigInt(shareBasisPoints)) / BASIS_POINTS;
}

export interface CurrentRule {
  id: number;
  rateBasisPoints: number;
}

/**
 * @param rules - by category, without the blanks at its ends. Earlier versions stored such blanks in the categories of products.
 * @returns the rule of the category, or else the default rule (the empty category). Without a rule there is no commission.
 */
export function ruleFor(rules: ReadonlyMap<string, CurrentRule>, category: string): CurrentRule | undefined {
  return rules.get(category.trim()) ?? rules.get('');
}
