import { type Selectable, sql } from 'kysely';
import { totalOn } from '../accounts/schedule/store.ts';
import { statusesIn } from '../accounts/status/rules.ts';
import type { Actor } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import { literalList } from '../core/database/literal-list.ts';
import { LostRace, violatedCheck, violatedUnique } from '../core/database/postgres-errors.ts';
import { insertRows, rowsAsJson } from '../core/database/rows.ts';
import { run } from '../core/database/statements.ts';
import type {
  AccountStatus,
  CommissionLines,
  CommissionStatus,
  Commissions,
} from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import { lastOfMonth, type PlainDate } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';
import type { CurrentRule } from './rules.ts';
import { MAX_LEFT_OUT, type Rule, WHOLE_SALE } from './schema.ts';

export type CommissionRow = Selectable<Commissions>;
export type CommissionLineRow = Selectable<CommissionLines> & { account_status: AccountStatus | null };

export interface CommissionWithLines {
  commission: CommissionRow;
  lines: CommissionLineRow[];
  leftOut: LeftOut;
}

/** An account whose sale has a share that no commission has. */
export interface UnclaimedSaleRow {
  id: number;
  account_number: string;
  status: AccountStatus;
  employee_id: number | null;
  product_id: number;
  activation_date: PlainDate;
  total_minor: number;
  free_share: number;
  created_at: string;
}

/** The unclaimed sales of an employee up to the end of a period. `sales` has the newest of them. */
interface LeftOut {
  inPeriod: number;
  earlier: number;
  sales: UnclaimedSaleRow[];
}

/** A rule never changes, so `updatedAt` is the time of its creation. */
const RULE = sql`r.id, nullif(r.category, '') as category, r.version, r.rate_basis_points as "rateBasisPoints",
  r.created_at as "createdAt", r.created_at as "updatedAt"`;

/** A line to insert. The store adds the commission and the line number. */
export interface NewLine
  extends Omit<Selectable<CommissionLines>, 'commission_id' | 'line_number' | 'base_minor' | 'amount_minor'> {
  base_minor: Minor;
  amount_minor: Minor;
}

/** Locks the employee's commission of the period. Inserts the commission if there is none. */
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

const INSERT_LINES = insertRows(
  'commission_lines',
  [
    ...['commission_id', 'line_number', 'account_id', 'product_id', 'sale_date', 'quantity', 'base_minor'],
    ...['rule_id', 'rate_basis_points', 'share_basis_points', 'amount_minor'],
  ],
  '$1',
);

/** @throws LostRace if a concurrent transaction gave a share of one of the sales to another commission. */
export async function replaceLines(
  tx: Tx,
  id: number,
  lines: readonly NewLine[],
  { totalMinor, actor, isDerived }: { totalMinor: Minor; actor: Actor; isDerived: boolean },
) {
  await tx.deleteFrom('commission_lines').where('commission_id', '=', id).execute();
  const rows = lines.map((line, index) => ({ ...line, commission_id: id, line_number: index + 1 }));
  await run(tx, INSERT_LINES, [rowsAsJson(rows)]).catch((error: unknown) => {
    const isTaken = violatedCheck(error) === 'commission_sales_shared_once';
    throw isTaken ? new LostRace('another commission took the sale', { cause: error }) : error;
  });
  return tx
    .updateTable('commissions')
    .set({
      status: 'calculated',
      total_minor: totalMinor,
      calculated_by:
        actor.userId ?? sql`(select created_by from api_keys where id = ${actor.apiKey?.id ?? null}::bigint)`,
      is_derived: isDerived,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export function lockCommission(tx: Tx, id: number): Promise<CommissionRow | undefined> {
  return tx.selectFrom('commissions').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function setCommissionStatus(
  tx: Tx,
  id: number,
  status: CommissionStatus,
  paymentReference: string | undefined,
): Promise<CommissionRow> {
  return tx
    .updateTable('commissions')
    .set({
      status,
      updated_at: sql`business_now()`,
      ...(status === 'paid' && { paid_at: sql`business_now()`, payment_reference: paymentReference ?? null }),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The sum of the shares of a sale in other commissions, and the smallest id of these commissions. */
export interface TakenShare {
  shareBasisPoints: number;
  commissionId: number;
}

/** Finds the shares of each account's sale in other commissions. An account without such shares is not in the map. */
export async function findSharesOfOthers(
  db: Db,
  commissionId: number,
  accountIds: readonly number[],
): Promise<Map<number, TakenShare>> {
  const { rows } = await sql<TakenShare & { accountId: number }>`
    select account_id as "accountId", sum(share_basis_points)::integer as "shareBasisPoints",
      min(commission_id) as "commissionId"
    from commission_lines
    where account_id = any(${accountIds}::bigint[]) and commission_id <> ${commissionId}
    group by account_id`.execute(db);
  return new Map(rows.map(({ accountId, ...taken }) => [accountId, taken]));
}

/** Finds the cancelled accounts of a commission, in the order of its lines. */
export async function findCancelledAccounts(db: Db, commissionId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select a.id from commission_lines l join accounts a on a.id = l.account_id
    where l.commission_id = ${commissionId} and a.status in ${literalList(statusesIn('saleUndone'))} order by l.line_number`.execute(
    db,
  );
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

/** A later change of the price does not change the commission of a month. @param day - the last day of the month. */
const soldAccount = (day: PlainDate) =>
  sql`a.id, a.status, a.activation_date, ${totalOn(sql`${day}::date`)} as total_minor, a.product_id, p.category`;

/**
 * Finds at most `limit` sold accounts of an employee that were activated between `from` and `to`.
 * @param commissionId - also finds the earlier sales that this commission has. Null: none.
 */
export async function findSoldAccounts(
  db: Db,
  employeeId: number,
  { from, to, commissionId }: { from: PlainDate; to: PlainDate; commissionId: number | null },
  limit: number,
): Promise<(SoldAccount & { share: number })[]> {
  const { rows } = await sql<SoldAccount & { share: number }>`
    select ${soldAccount(to)}, coalesce(l.share_basis_points, ${WHOLE_SALE}) as share
    from accounts a join products p on p.id = a.product_id
      left join commission_lines l
        on l.account_id = a.id and l.commission_id = ${commissionId}::bigint and l.sale_date < ${from}::date
    where a.employee_id = ${employeeId} and a.status not in ${literalList(statusesIn('unsold'))}
      and (a.activation_date between ${from}::date and ${to}::date or l.account_id is not null)
    order by a.id limit ${limit}`.execute(db);
  return rows;
}

/** @param day - the last day of the month of the commission. */
export async function findAccountsForSales(
  db: Db,
  ids: readonly number[],
  day: PlainDate,
): Promise<Map<number, SoldAccount>> {
  const { rows } = await sql<SoldAccount>`
    select ${soldAccount(day)} from accounts a join products p on p.id = a.product_id
    where a.id = any(${ids}::bigint[])`.execute(db);
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

/**
 * Finds the newest rule of each category. The empty category has the default rule. Earlier versions stored categories with blanks at
 * their ends, so two stored categories can be the same one.
 */
export async function findCurrentRules(db: Db): Promise<Map<string, CurrentRule>> {
  const { rows } = await sql<CurrentRule & { category: string }>`
    select distinct on (category) category, id, rate_basis_points as "rateBasisPoints"
    from commission_rules order by category, version desc`.execute(db);
  rows.sort((a, b) => a.id - b.id); // The last entry of a key stays in the map.
  return new Map(rows.map(({ category, ...rule }) => [category.trim(), rule]));
}

/** @throws LostRace if a concurrent transaction inserted the same version. */
export async function insertRule(
  tx: Tx,
  category: string,
  rateBasisPoints: number,
  createdBy: number | null,
): Promise<Rule> {
  const { rows } = await sql<Rule>`
    insert into commission_rules as r (category, version, rate_basis_points, created_by)
    select ${category}, coalesce(max(version), 0) + 1, ${rateBasisPoints}, ${createdBy}::bigint
    from commission_rules where category = ${category}
    returning ${RULE}`
    .execute(tx)
    .catch((error: unknown) => {
      throw violatedUnique(error)
        ? new LostRace('another transaction added this version of the rule')
        : error;
    });
  const [row] = rows;
  if (!row) throw new Error('Inserting a commission rule returned no row.');
  return row;
}

export function listRules(db: Db, plan: ListPlan) {
  return fetchPage<Rule>(db, plan, {
    computed: { category: sql`nullif(r.category, '')` },
    select: sql`select ${RULE} from commission_rules r`,
    from: sql`from commission_rules r`,
  });
}

/**
 * The commissions that a user is allowed to see: all, or the commissions of one employee. With `employeeId: null`, the user sees
 * no commission.
 */
export type Visible = 'all' | { employeeId: number | null };

export function listCommissions(
  db: Db,
  query: ListPlan & { employeeId?: number; period?: string },
  visible: Visible,
) {
  const { employeeId, period } = query;
  const where = [
    ...visibleRows(visible),
    ...(employeeId === undefined ? [] : [sql<boolean>`c.employee_id = ${employeeId}`]),
    ...(period === undefined ? [] : [sql<boolean>`c.period = ${period}`]),
  ];
  return fetchPage<CommissionRow, 'total'>(db, query, {
    select: sql`select c.* from commissions c`,
    from: sql`from commissions c`,
    sums: { total: sql`sum(c.total_minor)` },
    where,
  });
}

/** The commissions of a month with one status: their number and sum. */
export interface MonthSum {
  status: CommissionStatus;
  count: number;
  total_minor: string;
}

export async function sumMonth(db: Db, period: string): Promise<MonthSum[]> {
  const { rows } = await sql<MonthSum>`
    select status, count(*)::int as count, sum(total_minor)::text as total_minor
    from commissions where period = ${period} group by status`.execute(db);
  return rows;
}

/**
 * The employees whose commission the calculation of a month makes or replaces: who sold an account in the month and have no commission for
 * it, or one that nobody has approved and for which no sale was named.
 */
export async function findEmployeesToCalculate(db: Db, period: string): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select e.id from employees e left join commissions c on c.employee_id = e.id and c.period = ${period}
    where case when c.id is null then ${soldIn(period)} else c.status = 'calculated' and c.is_derived end
    order by e.id`.execute(db);
  return rows.map(({ id }) => id);
}

/** The number of unpaid commissions that the calculation of a month leaves as they are. */
export async function countKept(db: Db, period: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from commissions
    where period = ${period} and (status = 'approved' or (status = 'calculated' and not is_derived))`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

/** The number of employees who sold an account in the month, and have no commission for it. */
export async function countUncalculated(db: Db, period: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from employees e
    where ${soldIn(period)} and not exists (select from commissions c where c.employee_id = e.id and c.period = ${period})`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

function soldIn(period: string) {
  const first = `${period}-01` as PlainDate;
  return sql<boolean>`exists (
    select from accounts a
    where a.employee_id = e.id and a.activation_date between ${first}::date and ${lastOfMonth(first)}::date
      and a.status not in ${literalList(statusesIn('unsold'))})`;
}

/** Locks the commissions of a month with a status, in the order of their ids. */
export function lockCommissionsOfMonth(
  tx: Tx,
  period: string,
  status: CommissionStatus,
): Promise<CommissionRow[]> {
  return tx
    .selectFrom('commissions')
    .selectAll()
    .where('period', '=', period)
    .where('status', '=', status)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** @returns undefined if the commission does not exist or the user is not allowed to see it. */
export async function findCommission(
  db: Db,
  visible: Visible,
  id: number,
): Promise<CommissionWithLines | undefined> {
  const { rows } = await sql<CommissionRow>`
    select c.* from commissions c
    where ${sql.join([sql`c.id = ${id}`, ...visibleRows(visible)], sql` and `)}`.execute(db);
  return rows[0] && withLines(db, rows[0]);
}

function visibleRows(visible: Visible) {
  return visible === 'all' ? [] : [sql<boolean>`c.employee_id = ${visible.employeeId}::bigint`];
}

const FREE_SHARE = sql`(${sql.lit(WHOLE_SALE)} - coalesce(s.share_basis_points, 0))`;
const UNCLAIMED_COLUMNS = sql`a.id, account_number(a.id) as account_number, a.status, a.employee_id, a.product_id,
  a.activation_date, a.total_minor, ${FREE_SHARE} as free_share, a.created_at`;
const UNCLAIMED_SALES = sql`from accounts a left join commission_sales s on s.account_id = a.id`;
const IS_UNCLAIMED = sql<boolean>`(a.status not in ${literalList(statusesIn('unsold'))} and ${FREE_SHARE} > 0)`;

export function listUnclaimedSales(db: Db, plan: ListPlan, visible: Visible) {
  return fetchPage<UnclaimedSaleRow>(db, plan, {
    select: sql`select ${UNCLAIMED_COLUMNS} ${UNCLAIMED_SALES}`,
    from: UNCLAIMED_SALES,
    where: [
      IS_UNCLAIMED,
      ...(visible === 'all' ? [] : [sql<boolean>`a.employee_id = ${visible.employeeId}::bigint`]),
    ],
  });
}

/** The commission of an employee for a month. Undefined if it was not calculated. */
export function findCommissionOfMonth(
  db: Db,
  employeeId: number,
  period: string,
): Promise<CommissionRow | undefined> {
  return db
    .selectFrom('commissions')
    .selectAll()
    .where('employee_id', '=', employeeId)
    .where('period', '=', period)
    .executeTakeFirst();
}

/** Sales that are alike, so that each earns the same commission. */
export interface AlikeSales {
  total_minor: number;
  free_share: number;
  category: string;
  count: number;
}

/** The sales of an employee in a month of which no commission has the whole share. Few rows: an employee sells few products and plans. */
export async function findUnclaimedSalesOfMonth(
  db: Db,
  employeeId: number,
  period: string,
): Promise<AlikeSales[]> {
  const first = `${period}-01` as PlainDate;
  const { rows } = await sql<AlikeSales>`
    select ${totalOn(sql`${lastOfMonth(first)}::date`)} as total_minor, ${FREE_SHARE} as free_share, p.category,
      count(*)::integer as count
    from accounts a join products p on p.id = a.product_id
      left join commission_sales s on s.account_id = a.id
    where a.employee_id = ${employeeId} and a.activation_date between ${first}::date and ${lastOfMonth(first)}::date
      and ${IS_UNCLAIMED}
    group by 1, 2, 3`.execute(db);
  return rows;
}

async function findLeftOut(db: Db, employeeId: number, period: string): Promise<LeftOut> {
  const first = `${period}-01` as PlainDate;
  const { rows } = await sql<UnclaimedSaleRow & { in_period: number; count: number }>`
    select ${UNCLAIMED_COLUMNS}, count(*) over () as count,
      count(*) filter (where a.activation_date >= ${first}::date) over () as in_period
    ${UNCLAIMED_SALES}
    where a.employee_id = ${employeeId} and a.activation_date <= ${lastOfMonth(first)}::date and ${IS_UNCLAIMED}
    order by a.activation_date desc, a.id desc limit ${MAX_LEFT_OUT}`.execute(db);
  const { in_period: inPeriod, count } = rows[0] ?? { in_period: 0, count: 0 };
  return { inPeriod, earlier: count - inPeriod, sales: rows };
}

export async function withLines(db: Db, commission: CommissionRow): Promise<CommissionWithLines> {
  const { rows: lines } = await sql<CommissionLineRow>`
    select l.*, a.status as account_status from commission_lines l left join accounts a on a.id = l.account_id
    where l.commission_id = ${commission.id}
    order by l.line_number`.execute(db);
  const leftOut = await findLeftOut(db, commission.employee_id, commission.period);
  return { commission, lines, leftOut };
}
