import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import { type Db, LostRace, type Tx, violatedCheck, violatedUnique } from '../core/database/db.ts';
import type {
  AccountStatus,
  CommissionLines,
  CommissionRules,
  CommissionStatus,
  Commissions,
} from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';
import { type CurrentRule, UNSOLD_STATUSES } from './rules.ts';

export type CommissionRow = Selectable<Commissions>;
type LineRow = Selectable<CommissionLines> & { account_status: AccountStatus | null };
type RuleRow = Selectable<CommissionRules>;

export interface NewLine {
  accountId: number | null;
  productId: number | null;
  saleDate: PlainDate | null;
  quantity: number;
  baseMinor: Minor;
  ruleId: number | null;
  rateBasisPoints: number;
  shareBasisPoints: number;
  amountMinor: Minor;
}

/** The employee's commission of the period, made if there was none, and locked. */
export async function lockOrInsertCommission(
  tx: Tx,
  employeeId: number,
  period: string,
): Promise<CommissionRow> {
  await tx
    .insertInto('commissions')
    .values({ employee_id: employeeId, period, status: 'calculated', total_minor: 0n })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return tx
    .selectFrom('commissions')
    .selectAll()
    .where('employee_id', '=', employeeId)
    .where('period', '=', period)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/** @throws LostRace when another commission took a share of one of the sales at the same moment. */
export async function replaceLines(tx: Tx, id: number, lines: readonly NewLine[], totalMinor: Minor) {
  await tx.deleteFrom('commission_lines').where('commission_id', '=', id).execute();
  await sql`
    insert into commission_lines (commission_id, line_number, account_id, product_id, sale_date, quantity,
      base_minor, rule_id, rate_basis_points, share_basis_points, amount_minor)
    select ${id}::bigint, position, account_id, product_id, sale_date, quantity, base_minor, rule_id,
      rate_basis_points, share_basis_points, amount_minor
    from unnest(
      ${lines.map((line) => line.accountId)}::bigint[],
      ${lines.map((line) => line.productId)}::bigint[],
      ${lines.map((line) => line.saleDate)}::date[],
      ${lines.map((line) => line.quantity)}::integer[],
      ${lines.map((line) => line.baseMinor)}::bigint[],
      ${lines.map((line) => line.ruleId)}::bigint[],
      ${lines.map((line) => line.rateBasisPoints)}::integer[],
      ${lines.map((line) => line.shareBasisPoints)}::integer[],
      ${lines.map((line) => line.amountMinor)}::bigint[]
    ) with ordinality as line (account_id, product_id, sale_date, quantity, base_minor, rule_id,
      rate_basis_points, share_basis_points, amount_minor, position)`
    .execute(tx)
    .catch((error: unknown) => {
      const isTaken = violatedCheck(error) === 'commission_sales_shared_once';
      throw isTaken ? new LostRace('another commission took the sale meanwhile', { cause: error }) : error;
    });
  return tx
    .updateTable('commissions')
    .set({ status: 'calculated', total_minor: totalMinor, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export function lockCommission(tx: Tx, id: number): Promise<CommissionRow | undefined> {
  return tx.selectFrom('commissions').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function setCommissionStatus(tx: Tx, id: number, status: CommissionStatus): Promise<CommissionRow> {
  return tx
    .updateTable('commissions')
    .set({
      status,
      updated_at: sql`business_now()`,
      ...(status === 'paid' && { paid_at: sql`business_now()` }),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** How much of a sale's commission is given away, in basis points, and to which commission the first of it. */
export interface GivenShare {
  shareBasisPoints: number;
  commissionId: number;
}

/** What other commissions have of the sales of these accounts, by account. */
export async function findSharesOfOthers(
  db: Db,
  commissionId: number,
  accountIds: readonly number[],
): Promise<Map<number, GivenShare>> {
  const { rows } = await sql<GivenShare & { accountId: number }>`
    select account_id as "accountId", sum(share_basis_points)::integer as "shareBasisPoints",
      min(commission_id) as "commissionId"
    from commission_lines
    where account_id = any(${accountIds}::bigint[]) and commission_id <> ${commissionId}
    group by account_id`.execute(db);
  return new Map(rows.map(({ accountId, ...given }) => [accountId, given]));
}

/** The accounts of a commission whose sale was undone, in the order of its lines. */
export async function findCancelledAccounts(db: Db, commissionId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select a.id from commission_lines l join accounts a on a.id = l.account_id
    where l.commission_id = ${commissionId} and a.status = 'cancelled' order by l.line_number`.execute(db);
  return rows.map(({ id }) => id);
}

interface SoldAccount {
  id: number;
  status: AccountStatus;
  activation_date: PlainDate;
  total_minor: number;
  product_id: number;
  category: string;
}

/** The accounts that an employee sold, at most so many: activated from..to, neither pending nor cancelled. */
export async function findSoldAccounts(
  db: Db,
  employeeId: number,
  from: PlainDate,
  to: PlainDate,
  limit: number,
): Promise<SoldAccount[]> {
  const { rows } = await sql<SoldAccount>`
    select a.id, a.status, a.activation_date, a.total_minor, a.product_id, p.category
    from accounts a join products p on p.id = a.product_id
    where a.employee_id = ${employeeId} and a.activation_date between ${from}::date and ${to}::date
      and a.status <> all(${[...UNSOLD_STATUSES]}::account_status[])
    order by a.id limit ${limit}`.execute(db);
  return rows;
}

/** Accounts by id, with the category of what was sold. */
export async function findAccountsForSales(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, SoldAccount>> {
  const { rows } = await sql<SoldAccount>`
    select a.id, a.status, a.activation_date, a.total_minor, a.product_id, p.category
    from accounts a join products p on p.id = a.product_id where a.id = any(${ids}::bigint[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}

interface SoldProduct {
  id: number;
  price_minor: number;
  category: string;
}

export async function findProductsForSales(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, SoldProduct>> {
  const { rows } = await sql<SoldProduct>`
    select id, price_minor, category from products where id = any(${ids}::bigint[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The newest rule of each category; the empty category is the default. */
export async function findCurrentRules(db: Db): Promise<Map<string, CurrentRule>> {
  const { rows } = await sql<RuleRow>`
    select distinct on (category) * from commission_rules order by category, version desc`.execute(db);
  return new Map(rows.map((row) => [row.category, { id: row.id, rateBasisPoints: row.rate_basis_points }]));
}

/** @throws LostRace when another version was added at the same moment. */
export async function insertRule(
  tx: Tx,
  category: string,
  rateBasisPoints: number,
  createdBy: number | null,
) {
  const { rows } = await sql<RuleRow>`
    insert into commission_rules (category, version, rate_basis_points, created_by)
    select ${category}, coalesce(max(version), 0) + 1, ${rateBasisPoints}, ${createdBy}::bigint
    from commission_rules where category = ${category}
    returning *`
    .execute(tx)
    .catch((error: unknown) => {
      throw violatedUnique(error) ? new LostRace('another version of the rule was faster') : error;
    });
  const [row] = rows;
  if (!row) throw new Error('insert … returning gives a row');
  return toRule(row);
}

export async function listRules(db: Db, plan: ListPlan) {
  const page = await fetchPage<RuleRow>(db, plan, {
    select: sql`select r.* from commission_rules r`,
    from: sql`from commission_rules r`,
  });
  return { ...page, rows: page.rows.map(toRule) };
}

/** Whose commissions are visible: all, or one employee's; null: none. */
export type Visible = 'all' | { employeeId: number | null };

export async function listCommissions(
  db: Db,
  currency: Currency,
  plan: ListPlan,
  visible: Visible,
  { employeeId, period }: { employeeId?: number; period?: string },
) {
  const where = [
    ...visibleRows(visible),
    ...(employeeId === undefined ? [] : [sql<boolean>`c.employee_id = ${employeeId}`]),
    ...(period === undefined ? [] : [sql<boolean>`c.period = ${period}`]),
  ];
  const page = await fetchPage<CommissionRow>(db, plan, {
    select: sql`select c.* from commissions c`,
    from: sql`from commissions c`,
    where,
  });
  return { ...page, rows: page.rows.map((row) => toCommissionSummary(row, currency)) };
}

/** @returns undefined also for a commission that is not visible. */
export async function findCommission(db: Db, currency: Currency, visible: Visible, id: number) {
  const { rows } = await sql<CommissionRow>`
    select c.* from commissions c
    where ${sql.join([sql`c.id = ${id}`, ...visibleRows(visible)], sql` and `)}`.execute(db);
  return rows[0] && withLines(db, currency, rows[0]);
}

function visibleRows(visible: Visible) {
  return visible === 'all' ? [] : [sql<boolean>`c.employee_id = ${visible.employeeId}::bigint`];
}

/** A commission as it is answered, with its lines. */
export async function withLines(db: Db, currency: Currency, row: CommissionRow) {
  const { rows: lines } = await sql<LineRow>`
    select l.*, a.status as account_status from commission_lines l left join accounts a on a.id = l.account_id
    where l.commission_id = ${row.id}
    order by l.line_number`.execute(db);
  return { ...toCommissionSummary(row, currency), lines: lines.map((line) => toLine(line, currency)) };
}

function toCommissionSummary(row: CommissionRow, currency: Currency) {
  return {
    id: row.id,
    employeeId: row.employee_id,
    period: row.period,
    status: row.status,
    total: amountOf(row.total_minor, currency),
    currency: currency.code,
    paidAt: row.paid_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toLine(line: LineRow, currency: Currency) {
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

/** A rule is never changed, so that it was last updated when it was made. */
function toRule(row: RuleRow) {
  return {
    id: row.id,
    category: row.category === '' ? null : row.category,
    version: row.version,
    rateBasisPoints: row.rate_basis_points,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}
