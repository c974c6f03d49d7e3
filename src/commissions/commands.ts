import type { Static } from 'typebox';
import { findEmployee } from '../catalogue/employees/store.ts';
import { event } from '../changes/events/change-rules.ts';
import { audit } from '../changes/events/change-store.ts';
import { type Actor, type Context, readAmount, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { CommissionStatus } from '../core/database/tables.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { AppError, invalidField, notFound, unconfirmed } from '../core/http/errors.ts';
import { lastOfMonth, type PlainDate } from '../core/values/dates.ts';
import { maxAmountMinor, maxAmountText } from '../core/values/money.ts';
import { withTrimmed } from '../core/values/text.ts';
import { cancelledAccounts } from './cancelled-sale-rules.ts';
import {
  type CurrentRule,
  checkPeriod,
  checkSales,
  checkSoldAccounts,
  commissionOf,
  hasEnded,
  ruleFor,
} from './rules.ts';
import {
  type CalculateBody,
  type CommissionChanges,
  MAX_LINES,
  type NewRule,
  PAYMENT_WARNINGS,
  type Sale,
  WHOLE_SALE,
} from './schema.ts';
import { canRecalculate, checkCommissionMove } from './status-rules.ts';
import {
  type CommissionRow,
  findAccountsForSales,
  findCancelledAccounts,
  findCurrentRules,
  findProductsForSales,
  findSharesOfOthers,
  findSoldAccounts,
  insertRule,
  lockCommission,
  lockOrInsertCommission,
  type NewLine,
  replaceLines,
  setCommissionStatus,
  type TakenShare,
  withLines,
} from './store.ts';

/** A sale with all data that determines its commission. */
interface PricedSale extends Omit<NewLine, 'rule_id' | 'rate_basis_points' | 'amount_minor'> {
  category: string;
}

/**
 * Calculates an employee's commission for a period, with one line per sale: the sales of the period, or the sales of the request, or
 * both. A new calculation replaces the lines and needs a new approval. A paid commission never changes.
 *
 * @throws AppError DUPLICATE_ENTRY for a paid commission, or if `salesData` requests more of a sale than other commissions leave.
 */
export async function calculateCommission(context: Context, actor: Actor, body: CalculateBody) {
  const { employeeId, period } = body;
  const sales = body.salesData ?? [];
  const includesDerived = body.includeDerived ?? sales.length === 0;
  if (!includesDerived && sales.length === 0) {
    throw invalidField('salesData', 'must have sales if includeDerived is false');
  }
  checkPeriod(period, today(context));
  checkSales(sales, period);
  return inTransaction(context.db, async (tx) => {
    if (!(await findEmployee(tx, employeeId))) throw notFound('employee', employeeId, 'employeeId');
    const commission = await lockOrInsertCommission(tx, employeeId, period);
    if (!canRecalculate(commission.status)) throw alreadyPaid(commission);
    const named = await priceSales(tx, context, sales, period, includesDerived);
    const keptIn = body.includeDerived ? commission.id : null;
    const derived = includesDerived ? await salesOfPeriod(tx, employeeId, period, named, keptIn) : [];
    if (derived.length + named.length > MAX_LINES) {
      throw invalidField('period', `must have at most ${MAX_LINES} sales`);
    }
    const priced = [
      ...(await keepFreeShares(tx, commission.id, derived)),
      ...(await checkShares(tx, commission.id, named)),
    ];
    const rules = await findCurrentRules(tx);
    const lines = priced.map((sale) => lineOf(sale, ruleFor(rules, sale.category)));
    const totalMinor = lines.reduce((sum, line) => sum + line.amount_minor, 0n);
    if (totalMinor > maxAmountMinor(context.currency.decimals)) {
      throw invalidField(
        'salesData',
        `is too large: the total commission must be at most ${maxAmountText(context.currency.decimals)}`,
      );
    }
    const calculated = await replaceLines(tx, commission.id, lines, {
      totalMinor,
      actor,
      isDerived: sales.length === 0,
    });
    await audit(tx, actor, {
      action: 'commission.calculate',
      resource: 'commission',
      resourceId: commission.id,
      before: { status: commission.status, totalMinor: commission.total_minor },
      after: { employeeId, period, lines: lines.length, status: calculated.status, totalMinor },
      event: event('commission.calculated', { employeeId, period, totalMinor }),
    });
    return withLines(tx, calculated);
  });
}

/**
 * @throws AppError VALIDATION_ERROR with status 409 if a commission would be paid before the end of its month, and the confirmation
 *   does not have the code of this warning. FORBIDDEN if payments need two persons, and the user has calculated the commission.
 */
export async function changeCommission(
  context: Context,
  actor: Actor,
  id: number,
  { status, paymentReference, confirmation }: Static<typeof CommissionChanges>,
) {
  const day = today(context);
  const confirmed: readonly string[] = confirmation?.codes ?? [];
  checkPaymentReference(status, paymentReference);
  return inTransaction(context.db, async (tx) => {
    const commission = await lockCommission(tx, id);
    if (!commission) throw notFound('commission', id);
    if (commission.status === status) {
      refuseOtherReference(commission, paymentReference?.trim());
      return withLines(tx, commission);
    }
    checkCommissionMove(commission.status, status);
    if (status === 'paid' && !confirmed.includes('month_not_ended') && !hasEnded(commission.period, day)) {
      throw unconfirmed([{ code: 'month_not_ended', message: PAYMENT_WARNINGS.month_not_ended }]);
    }
    if (status === 'paid') checkPayer(context, actor, commission);
    return withLines(tx, await move(tx, actor, commission, status, paymentReference?.trim()));
  });
}

/** Adds a new version of the rule for a category, or of the default rule. */
export async function addRule(context: Context, actor: Actor, sent: NewRule) {
  const body = withTrimmed(sent, 'category');
  return inTransaction(context.db, async (tx) => {
    const rule = await insertRule(tx, body.category ?? '', body.rateBasisPoints, actor.userId);
    const after = { category: rule.category, version: rule.version, rateBasisPoints: rule.rateBasisPoints };
    await audit(tx, actor, {
      action: 'commission_rule.add',
      resource: 'commission_rule',
      resourceId: rule.id,
      after,
      event: event('commission_rule.created', {
        category: rule.category,
        ruleVersion: rule.version,
        rateBasisPoints: rule.rateBasisPoints,
      }),
    });
    return rule;
  });
}

function checkPaymentReference(status: CommissionStatus, paymentReference: string | undefined): void {
  if (paymentReference !== undefined && status !== 'paid')
    throw invalidField('paymentReference', 'is only allowed with the status paid');
}

/** A commission is paid once, so a second reference may be a second payment. */
function refuseOtherReference({ id, payment_reference }: CommissionRow, given: string | undefined): void {
  if (given === undefined || given === payment_reference) return;
  const known =
    payment_reference === null ? 'without a reference' : `with the reference ${payment_reference}`;
  throw new AppError('DUPLICATE_ENTRY', `The commission is already paid, ${known}.`, {
    details: { resource: 'commission', field: 'paymentReference', id },
  });
}

/** Where money above a limit needs a second person, this is also so for commissions, of any amount. */
function checkPayer({ config }: Context, { userId }: Actor, { calculated_by }: CommissionRow): void {
  if (config.approvalLimitMinor === undefined) return;
  if (userId === null) {
    throw new AppError(
      'FORBIDDEN',
      'A user must mark a commission as paid, not an API key: APPROVAL_LIMIT is set.',
    );
  }
  if (userId !== calculated_by) return;
  throw new AppError(
    'FORBIDDEN',
    'You calculated this commission, so another user must mark it as paid: APPROVAL_LIMIT is set.',
  );
}

async function move(
  tx: Tx,
  actor: Actor,
  { id, status: from }: CommissionRow,
  to: CommissionStatus,
  paymentReference: string | undefined,
) {
  const cancelled = await findCancelledAccounts(tx, id);
  if (cancelled.length > 0) throw cancelledAccounts(cancelled, to);
  const moved = await setCommissionStatus(tx, id, to, paymentReference);
  const entry = { action: 'commission.status', resource: 'commission', resourceId: id } as const;
  const { employee_id: employeeId, period, total_minor: totalMinor } = moved;
  await audit(tx, actor, {
    ...entry,
    before: { status: from },
    after: { status: to, ...(paymentReference !== undefined && { paymentReference }) },
    event: event(`commission.${to}`, { employeeId, period, totalMinor }),
  });
  return moved;
}

/**
 * @param named - sales of the request, whose accounts are left out.
 * @param keptIn - the commission whose earlier sales stay in it, because a request has named them before. Null: none stay.
 */
async function salesOfPeriod(
  tx: Tx,
  employeeId: number,
  period: string,
  named: readonly PricedSale[],
  keptIn: number | null,
): Promise<PricedSale[]> {
  const first = `${period}-01` as PlainDate;
  const dates = { from: first, to: lastOfMonth(first), commissionId: keptIn };
  const accounts = await findSoldAccounts(tx, employeeId, dates, MAX_LINES + 1);
  const namedIds = new Set(named.map(({ account_id: id }) => id));
  const others = accounts.filter(({ id }) => !namedIds.has(id));
  return others.map((account) => ({
    account_id: account.id,
    product_id: account.product_id,
    sale_date: account.activation_date,
    quantity: 1,
    base_minor: BigInt(account.total_minor),
    share_basis_points: account.share,
    category: account.category,
  }));
}

/**
 * Checks that the requested shares are free.
 * @throws AppError DUPLICATE_ENTRY for the first sale whose free share is smaller than the requested share.
 */
async function checkShares(tx: Tx, commissionId: number, sales: PricedSale[]): Promise<PricedSale[]> {
  const others = await sharesOfOthers(tx, commissionId, sales);
  sales.forEach(({ account_id: accountId, share_basis_points: share }, index) => {
    const taken = others.get(accountId ?? 0);
    if (taken && taken.shareBasisPoints + share > WHOLE_SALE) {
      throw shareTaken(`salesData[${index}].accountId`, accountId, taken);
    }
  });
  return sales;
}

/** Reduces each sale to at most its free share: the whole minus the shares in other commissions. Removes sales without a free share. */
async function keepFreeShares(tx: Tx, commissionId: number, sales: PricedSale[]): Promise<PricedSale[]> {
  const others = await sharesOfOthers(tx, commissionId, sales);
  return sales.flatMap((sale) => {
    const taken = others.get(sale.account_id ?? 0)?.shareBasisPoints ?? 0;
    const share = Math.min(sale.share_basis_points, WHOLE_SALE - taken);
    return share > 0 ? [{ ...sale, share_basis_points: share }] : [];
  });
}

function sharesOfOthers(tx: Tx, commissionId: number, sales: readonly PricedSale[]) {
  return findSharesOfOthers(
    tx,
    commissionId,
    sales.flatMap((sale) => sale.account_id ?? []),
  );
}

/** The default amount of a sale is the account's total, or the product's price times the quantity. */
async function priceSales(
  tx: Tx,
  { currency }: Context,
  sales: readonly Sale[],
  period: string,
  includesEarlier: boolean,
): Promise<PricedSale[]> {
  const accounts = await findAccountsForSales(
    tx,
    sales.flatMap(({ accountId }) => accountId ?? []),
    lastOfMonth(`${period}-01` as PlainDate),
  );
  const products = await findProductsForSales(
    tx,
    sales.flatMap(({ productId }) => productId ?? []),
  );
  checkSoldAccounts(sales, accounts, period, includesEarlier);
  return sales.map((sale, index) => {
    const quantity = sale.quantity ?? 1;
    const share_basis_points = sale.shareBasisPoints ?? WHOLE_SALE;
    const requested = sale.amount === undefined ? undefined : readAmount(sale.amount, currency);
    const account = sale.accountId === undefined ? undefined : accounts.get(sale.accountId);
    if (account) {
      const { id: account_id, product_id, category } = account;
      const sale_date = sale.saleDate ?? account.activation_date;
      const base_minor = requested ?? BigInt(account.total_minor);
      return { account_id, product_id, sale_date, quantity, base_minor, share_basis_points, category };
    }
    const product = sale.productId === undefined ? undefined : products.get(sale.productId);
    if (product) {
      const base_minor = requested ?? BigInt(product.price_minor) * BigInt(quantity);
      if (base_minor > maxAmountMinor(currency.decimals)) {
        throw invalidField(
          `salesData[${index}].quantity`,
          `is too large: price × quantity must be at most ${maxAmountText(currency.decimals)}`,
        );
      }
      const { id: product_id, category } = product;
      const sale_date = sale.saleDate ?? null;
      return { account_id: null, product_id, sale_date, quantity, base_minor, share_basis_points, category };
    }
    throw sale.accountId === undefined
      ? notFound('product', sale.productId, `salesData[${index}].productId`)
      : notFound('account', sale.accountId, `salesData[${index}].accountId`);
  });
}

function lineOf(sale: PricedSale, rule: CurrentRule | undefined): NewLine {
  const { category: _usedForTheRule, ...line } = sale;
  const rate = rule?.rateBasisPoints ?? 0;
  const amount_minor = commissionOf(sale.base_minor, rate, sale.share_basis_points);
  return { ...line, rule_id: rule?.id ?? null, rate_basis_points: rate, amount_minor };
}

function alreadyPaid({ id, employee_id: employeeId, period }: CommissionRow): AppError {
  return new AppError(
    'DUPLICATE_ENTRY',
    `The commission of employee ${employeeId} for ${period} is already paid. To pay further sales of this month, name them in the commission of a later month.`,
    { details: { resource: 'commission', field: 'period', id } },
  );
}

function shareTaken(field: string, accountId: number | null, taken: TakenShare): AppError {
  const { shareBasisPoints, commissionId: id } = taken;
  return new AppError(
    'DUPLICATE_ENTRY',
    `Other commissions have ${shareBasisPoints} of ${WHOLE_SALE} basis points of the sale of account ${accountId}. This commission can have at most ${WHOLE_SALE - shareBasisPoints}.`,
    { details: { resource: 'commission', field, id } },
  );
}
