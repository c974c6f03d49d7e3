import { amountOf, type Currency } from '../core/context.ts';
import type { Db } from '../core/database/db.ts';
import type { CommissionStatus } from '../core/database/tables.ts';
import { commissionOf, ruleFor } from './rules.ts';
import {
  type AlikeSales,
  type CommissionLineRow,
  type CommissionRow,
  type CommissionWithLines,
  findCommissionOfMonth,
  findCurrentRules,
  findUnclaimedSalesOfMonth,
  type MonthSum,
  type UnclaimedSaleRow,
} from './store.ts';

export function toCommission({ commission, lines, leftOut }: CommissionWithLines, currency: Currency) {
  return {
    ...toCommissionSummary(commission, currency),
    lines: lines.map((line) => toLine(line, currency)),
    leftOut: { ...leftOut, sales: leftOut.sales.map((sale) => toUnclaimedSale(sale, currency)) },
  };
}

export function toUnclaimedSale(row: UnclaimedSaleRow, currency: Currency) {
  return {
    id: row.id,
    accountNumber: row.account_number,
    accountStatus: row.status,
    employeeId: row.employee_id,
    productId: row.product_id,
    activationDate: row.activation_date,
    total: amountOf(row.total_minor, currency),
    currency: currency.code,
    freeShareBasisPoints: row.free_share,
    createdAt: row.created_at,
  };
}

export function toCommissionSummary(row: CommissionRow, currency: Currency) {
  return {
    id: row.id,
    employeeId: row.employee_id,
    period: row.period,
    status: row.status,
    total: amountOf(row.total_minor, currency),
    currency: currency.code,
    calculatedBy: row.calculated_by,
    paidAt: row.paid_at,
    paymentReference: row.payment_reference,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function toMonth(
  period: string,
  { sums, uncalculated, kept }: { sums: readonly MonthSum[]; uncalculated: number; kept: number },
  currency: Currency,
) {
  const ofStatus = (status: CommissionStatus) => {
    const sum = sums.find((each) => each.status === status);
    return { count: sum?.count ?? 0, total: amountOf(BigInt(sum?.total_minor ?? 0), currency) };
  };
  return {
    period,
    currency: currency.code,
    uncalculated,
    kept,
    calculated: ofStatus('calculated'),
    approved: ofStatus('approved'),
    paid: ofStatus('paid'),
  };
}

/** The commission of an employee for a month, and what the other sales of the month would earn by the present rules. */
export async function readMonthOfEmployee(db: Db, employeeId: number, period: string, currency: Currency) {
  const commission = await findCommissionOfMonth(db, employeeId, period);
  const sales = await findUnclaimedSalesOfMonth(db, employeeId, period);
  const rules = sales.length === 0 ? new Map() : await findCurrentRules(db);
  const earn = ({ total_minor, free_share, category, count }: AlikeSales) =>
    BigInt(count) *
    commissionOf(BigInt(total_minor), ruleFor(rules, category)?.rateBasisPoints ?? 0, free_share);
  return {
    period,
    commission: commission ? toCommissionSummary(commission, currency) : null,
    unclaimed: {
      count: sales.reduce((sum, { count }) => sum + count, 0),
      expected: amountOf(
        sales.reduce((sum, sale) => sum + earn(sale), 0n),
        currency,
      ),
    },
  };
}

function toLine(line: CommissionLineRow, currency: Currency) {
  return {
    accountId: line.account_id,
    accountStatus: line.account_status,
    productId: line.product_id,
    saleDate: line.sale_date,
    quantity: line.quantity,
    base: amountOf(line.base_minor, currency),
    ruleId: line.rule_id,
    rateBasisPoints: line.rate_basis_points,
    shareBasisPoints: line.share_basis_points,
    amount: amountOf(line.amount_minor, currency),
  };
}
