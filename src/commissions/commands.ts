import { audit } from '../core/audit.ts';
import { type Actor, type Context, readAmount } from '../core/context.ts';
import { lastOfMonth, type PlainDate } from '../core/dates.ts';
import { inTransaction, type Tx } from '../core/db.ts';
import { AppError, invalidField, notFound } from '../core/errors.ts';
import { type Minor, maxAmountMinor } from '../core/money.ts';
import type { CommissionStatus } from '../core/tables.ts';
import { findEmployee } from '../employees/store.ts';
import { type CurrentRule, checkCommissionMove, checkSales, commissionOf, ruleFor } from './rules.ts';
import { type CalculateBody, MAX_LINES, type NewRule, type Sale } from './schema.ts';
import {
  findAccountsForSales,
  findCurrentRules,
  findProductsForSales,
  findSoldAccounts,
  insertRule,
  lockCommission,
  lockOrInsertCommission,
  type NewLine,
  replaceLines,
  setCommissionStatus,
  withLines,
} from './store.ts';

/** A sale with all that its commission follows from. */
interface PricedSale {
  accountId: number | null;
  productId: number | null;
  saleDate: PlainDate | null;
  quantity: number;
  baseMinor: Minor;
  category: string;
}

/**
 * Calculates what an employee earned in a period: a line a sale. Doing it again replaces the lines and
 * asks for approval anew; what is paid stays as it is.
 */
export async function calculateCommission(context: Context, actor: Actor, body: CalculateBody) {
  const { employeeId, period } = body;
  const sales = body.salesData ?? [];
  checkSales(sales, period);
  return inTransaction(context.db, async (tx) => {
    if (!(await findEmployee(tx, employeeId))) throw notFound('employee', employeeId, 'employeeId');
    const commission = await lockOrInsertCommission(tx, employeeId, period);
    if (commission.status === 'paid') throw alreadyPaid(employeeId, period);
    const priced =
      sales.length > 0 ? await priceSales(tx, context, sales) : await salesOfPeriod(tx, employeeId, period);
    const rules = await findCurrentRules(tx);
    const lines = priced.map((sale) => lineOf(sale, ruleFor(rules, sale.category)));
    const totalMinor = lines.reduce((sum, line) => sum + line.amountMinor, 0n);
    if (totalMinor > maxAmountMinor(context.currency.decimals)) {
      throw invalidField('salesData', 'makes a total beyond the largest amount that the books hold');
    }
    const calculated = await replaceLines(tx, commission.id, lines, totalMinor);
    await audit(tx, actor, {
      action: 'commission.calculate',
      resource: 'commission',
      resourceId: commission.id,
      before: { status: commission.status, totalMinor: commission.total_minor },
      after: { employeeId, period, lines: lines.length, status: calculated.status, totalMinor },
    });
    const [answer] = await withLines(tx, context.currency, [calculated]);
    if (!answer) throw new Error('One commission in, one out.');
    return answer;
  });
}

/** calculated → approved → paid. */
export async function changeCommission(context: Context, actor: Actor, id: number, status: CommissionStatus) {
  return inTransaction(context.db, async (tx) => {
    const commission = await lockCommission(tx, id);
    if (!commission) throw notFound('commission', id);
    const moved =
      commission.status === status ? commission : await move(tx, actor, id, commission.status, status);
    const [answer] = await withLines(tx, context.currency, [moved]);
    if (!answer) throw new Error('One commission in, one out.');
    return answer;
  });
}

/** Adds the next version of a category's rule, or of the default. */
export async function addRule(context: Context, actor: Actor, body: NewRule) {
  return inTransaction(context.db, async (tx) => {
    const rule = await insertRule(tx, body.category ?? '', body.rateBasisPoints, actor.userId);
    const after = { category: rule.category, version: rule.version, rateBasisPoints: rule.rateBasisPoints };
    await audit(tx, actor, {
      action: 'commission_rule.add',
      resource: 'commission_rule',
      resourceId: rule.id,
      after,
    });
    return rule;
  });
}

async function move(tx: Tx, actor: Actor, id: number, from: CommissionStatus, to: CommissionStatus) {
  checkCommissionMove(from, to);
  const moved = await setCommissionStatus(tx, id, to);
  const entry = { action: 'commission.status', resource: 'commission', resourceId: id } as const;
  await audit(tx, actor, { ...entry, before: { status: from }, after: { status: to } });
  return moved;
}

async function salesOfPeriod(tx: Tx, employeeId: number, period: string): Promise<PricedSale[]> {
  const first = `${period}-01` as PlainDate;
  const accounts = await findSoldAccounts(tx, employeeId, first, lastOfMonth(first), MAX_LINES + 1);
  if (accounts.length > MAX_LINES) {
    throw invalidField('period', `has more than ${MAX_LINES} sales, the most that one commission holds`);
  }
  return accounts.map((account) => ({
    accountId: account.id,
    productId: account.product_id,
    saleDate: account.activation_date,
    quantity: 1,
    baseMinor: BigInt(account.total_minor),
    category: account.category,
  }));
}

/** Fills in what the caller left out: the account's total, or the product's price times the quantity. */
async function priceSales(tx: Tx, { currency }: Context, sales: readonly Sale[]): Promise<PricedSale[]> {
  const accounts = await findAccountsForSales(
    tx,
    sales.flatMap(({ accountId }) => accountId ?? []),
  );
  const products = await findProductsForSales(
    tx,
    sales.flatMap(({ productId }) => productId ?? []),
  );
  return sales.map((sale, index) => {
    const quantity = sale.quantity ?? 1;
    const saleDate = sale.saleDate ?? null;
    const given = sale.amount === undefined ? undefined : readAmount(sale.amount, currency);
    const account = sale.accountId === undefined ? undefined : accounts.get(sale.accountId);
    if (account) {
      const { id: accountId, product_id: productId, category } = account;
      const baseMinor = given ?? BigInt(account.total_minor);
      return { accountId, productId, saleDate, quantity, baseMinor, category };
    }
    const product = sale.productId === undefined ? undefined : products.get(sale.productId);
    if (product) {
      const baseMinor = given ?? BigInt(product.price_minor) * BigInt(quantity);
      if (baseMinor > maxAmountMinor(currency.decimals)) {
        throw invalidField(
          `salesData[${index}].quantity`,
          'makes a sale beyond the largest amount that the books hold',
        );
      }
      return {
        accountId: null,
        productId: product.id,
        saleDate,
        quantity,
        baseMinor,
        category: product.category,
      };
    }
    throw sale.accountId === undefined
      ? notFound('product', sale.productId, `salesData[${index}].productId`)
      : notFound('account', sale.accountId, `salesData[${index}].accountId`);
  });
}

function lineOf(sale: PricedSale, rule: CurrentRule | undefined): NewLine {
  const rateBasisPoints = rule?.rateBasisPoints ?? 0;
  const { category: _usedForTheRule, ...line } = sale;
  return {
    ...line,
    ruleId: rule?.id ?? null,
    rateBasisPoints,
    amountMinor: commissionOf(sale.baseMinor, rateBasisPoints),
  };
}

function alreadyPaid(employeeId: number, period: string): AppError {
  return new AppError(
    'DUPLICATE_ENTRY',
    `The commission of employee ${employeeId} for ${period} is paid already.`,
    {
      details: { resource: 'commission', field: 'period' },
    },
  );
}
