import { type RawBuilder, sql } from 'kysely';
import { amountOf, type Context, type Currency, today } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import { UNNAMED } from '../core/database/named-statements.ts';
import { violatedForeignKey } from '../core/database/postgres-errors.ts';
import { lookUp } from '../core/database/statements.ts';
import type { AccountStatus, StatusCause } from '../core/database/tables.ts';
import { notFound } from '../core/http/errors.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { Filter, ListPlan } from '../core/lists/query.ts';
import type { ListColumns } from '../core/lists/sql.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { AccountRow } from '../ledger/rules.ts';
import { balanceOf } from '../ledger/rules.ts';
import { formatAccountNumber, readAccountNumber } from './account-number.ts';
import { isClosed, type Lateness } from './rules.ts';
import { position, type Terms } from './schedule.ts';

export interface NewAccountRow {
  customerId: number;
  productId: number;
  payplanId: number;
  employeeId: number | null;
  status: AccountStatus;
  terms: Terms;
}

/** @throws AppError NOT_FOUND naming the field that refers to nothing. */
export async function insertAccount(tx: Tx, account: NewAccountRow): Promise<AccountRow> {
  const { terms } = account;
  try {
    return await tx
      .insertInto('accounts')
      .values({
        customer_id: account.customerId,
        product_id: account.productId,
        payplan_id: account.payplanId,
        employee_id: account.employeeId,
        activation_date: terms.activationDate,
        status: account.status,
        deposit_minor: terms.depositMinor,
        instalment_minor: terms.instalmentMinor,
        instalment_count: terms.instalmentCount,
        frequency: terms.frequency,
        grace_days: terms.graceDays,
        receivable_minor: 0, // Until the sale is posted.
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    switch (violatedForeignKey(error)) {
      case 'accounts_customer_id_fkey':
        throw notFound('customer', account.customerId, 'customerId');
      case 'accounts_product_id_fkey':
        throw notFound('product', account.productId, 'productId');
      case 'accounts_employee_id_fkey':
        throw notFound('employee', account.employeeId, 'employeeId');
      default:
        throw error;
    }
  }
}

export async function findAccountRow(db: Db, id: number): Promise<AccountRow | undefined> {
  const [row] = await lookUp<AccountRow>(db, 'select * from accounts where id = $1', [id]);
  return row;
}

interface AccountUpdate {
  status: AccountStatus;
  reason: string | null;
  reprievedOn?: PlainDate;
  writtenOffOn?: PlainDate;
}

/** Writes to an account that the transaction has locked. */
export function updateAccount(
  tx: Tx,
  id: number,
  { status, reason, reprievedOn, writtenOffOn }: AccountUpdate,
): Promise<AccountRow> {
  return tx
    .updateTable('accounts')
    .set({
      status,
      status_reason: reason,
      ...(reprievedOn !== undefined && { reprieved_on: reprievedOn }),
      ...(writtenOffOn !== undefined && { written_off_on: writtenOffOn }),
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export interface StatusChangeRow {
  accountId: number;
  from: AccountStatus | null;
  to: AccountStatus;
  reason: string | null;
  cause: StatusCause | null;
  actorUserId: number | null;
  /** The business day of the move. */
  day: PlainDate;
}

export async function insertStatusChange(tx: Tx, change: StatusChangeRow): Promise<void> {
  await tx
    .insertInto('account_status_changes')
    .values({
      account_id: change.accountId,
      from_status: change.from,
      to_status: change.to,
      reason: change.reason,
      cause: change.cause,
      actor_user_id: change.actorUserId,
      changed_on: change.day,
    })
    .execute();
}

/** The move that completed the account last: which status it came from, and what the system had set that for. */
export async function findCompletion(tx: Tx, accountId: number) {
  const { rows } = await sql<{ from_status: AccountStatus | null; cause: StatusCause | null }>`
    select h.from_status, (
      select before.cause from account_status_changes before
      where before.account_id = h.account_id and before.id < h.id order by before.id desc limit 1) as cause
    from account_status_changes h
    where h.account_id = ${accountId} and h.to_status = 'completed'
    order by h.id desc limit 1`.execute(tx);
  return rows[0];
}

/** What the system moved the account to its present status for; null where it was not the system, or for no cause. */
export async function findCause(tx: Tx, accountId: number): Promise<StatusCause | null> {
  const last = await tx
    .selectFrom('account_status_changes')
    .select('cause')
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.cause ?? null;
}

/** The value date of the account's latest money, but not before the given date. */
export async function laterMoneyDate(tx: Tx, accountId: number, date: PlainDate): Promise<PlainDate> {
  const { rows } = await sql<{ date: PlainDate }>`
    select greatest(max(value_date), ${date}::date) as date from account_money where account_id = ${accountId}`.execute(
    tx,
  );
  return rows[0]?.date ?? date;
}

/** The accounts that wait for a day that has come; not those that another transaction works on. */
export async function lockAccountsToActivate(tx: Tx, day: PlainDate, limit: number): Promise<AccountRow[]> {
  return (
    tx
      .selectFrom('accounts')
      .selectAll()
      // Written out, so that a plan made for any value still sees that a partial index covers it.
      .where(sql<boolean>`status = 'pending'`)
      .where('activation_date', '<=', day)
      .orderBy('id')
      .limit(limit)
      .forNoKeyUpdate()
      .skipLocked()
      .execute()
  );
}

/** Last day before automatic suspension. Staff who make an account active start its days of grace again. */
const lastDayOfGrace = sql`greatest(a.next_due_date, a.reprieved_on) + a.grace_days`;

function isToSuspend(day: PlainDate) {
  return sql`a.status = 'active' and a.next_due_date is not null and ${lastDayOfGrace} < ${day}::date`;
}

/**
 * Active accounts beyond their days of grace whose pay plans say, now, that such are suspended; not those that
 * another transaction works on. They are looked up plan by plan in the order of the index accounts_grace, so
 * that a run with nothing to do reads nothing but the index; what was found is asked again once it is locked.
 */
export async function lockAccountsToSuspend(tx: Tx, day: PlainDate, limit: number): Promise<AccountRow[]> {
  const { rows } = await sql<AccountRow>`
    ${sql.raw(UNNAMED)}
    select a.* from accounts a
    where a.id = any(array(
      select late.id from pay_plans p cross join lateral (
        select a.id from accounts a where a.payplan_id = p.id and ${isToSuspend(day)}
        order by ${lastDayOfGrace} limit ${limit}) late
      where p.auto_suspend limit ${limit}))
      and ${isToSuspend(day)}
    order by a.id for no key update skip locked`.execute(tx);
  return rows;
}

/** Those of one plan, the longest beyond their days of grace first, for reading a page at a time. */
export async function findAccountsToSuspend(
  db: Db,
  day: PlainDate,
  { payplanId, after, limit }: { payplanId: number; after: AccountToSuspend | undefined; limit: number },
): Promise<AccountToSuspend[]> {
  const { rows } = await sql<AccountToSuspend>`
    ${sql.raw(UNNAMED)}
    select a.*, ${lastDayOfGrace} as last_day_of_grace from accounts a
    where a.payplan_id = ${payplanId} and ${isToSuspend(day)}
      and (${lastDayOfGrace}, a.id) > (${after?.last_day_of_grace ?? '-infinity'}::date, ${after?.id ?? 0})
    order by ${lastDayOfGrace}, a.id limit ${limit}`.execute(db);
  return rows;
}

export type AccountToSuspend = AccountRow & { last_day_of_grace: PlainDate };

export async function listAccounts(
  context: Context,
  query: ListPlan & { status?: AccountStatus; customerId?: number; accountNumber?: string },
) {
  const { status, customerId, accountNumber } = query;
  const day = today(context);
  const where = [
    // Written out, one of eight texts: each is planned for as many accounts as have that status, and counted in the smallest
    // index that holds them, as accounts_grace does the active ones.
    ...(status === undefined ? [] : [sql<boolean>`a.status = ${sql.lit(status)}`]),
    ...(accountNumber === undefined ? [] : [sql<boolean>`a.id = ${readAccountNumber(accountNumber) ?? 0}`]),
    ...(customerId === undefined ? [] : [sql<boolean>`a.customer_id = ${customerId}`]),
  ];
  const page = await fetchPage<ShownAccountRow>(context.db, query, {
    ...accountColumns(day),
    select: SHOWN,
    from: sql`from accounts a`,
    where,
    byKey: customerId !== undefined || accountNumber !== undefined,
    inOrderOfIndex: query.isPlain,
  });
  return { ...page, rows: page.rows.map((row) => toAccount(row, context.currency, day)) };
}

export function accountColumns(day: PlainDate): ListColumns {
  return {
    computed: {
      // The same as balanceOf in ledger/rules.ts.
      balance: sql`greatest(0, case when a.status = 'cancelled' then 0 else a.total_minor end - a.paid_minor)`,
      // The same as position in schedule.ts.
      daysPastDue: sql`(case
        when a.status = 'pending' or a.next_due_date is null then 0
        else greatest(0, ${day}::date - a.next_due_date) end)`,
    },
    indexed: { daysPastDue: (filter, usual) => compareDaysPastDue(filter, day) ?? usual },
  };
}

/** More days than lie between any two dates of the calendar, so that subtracting them leaves a date. */
const LONGEST_PAST_DUE = 1_000_000;

/** More than n days past due means: due before the day n days ago. The index on next_due_date serves that. */
function compareDaysPastDue({ operator, values }: Filter, day: PlainDate): RawBuilder<boolean> | undefined {
  const days = Number(values[0]);
  const daysAgo = (n: number) => sql`${day}::date - ${Math.min(n, LONGEST_PAST_DUE)}::integer`;
  const moreThan = (n: number): RawBuilder<boolean> =>
    n < 0 ? sql`true` : sql`(a.status <> 'pending' and a.next_due_date < ${daysAgo(n)})`;
  const exactly = (n: number): RawBuilder<boolean> =>
    n <= 0
      ? sql`(${moreThan(n - 1)} and ${moreThan(n)} is not true)`
      : sql`(a.status <> 'pending' and a.next_due_date = ${daysAgo(n)})`;
  switch (operator) {
    case 'gt':
      return moreThan(days);
    case 'gte':
      return moreThan(days - 1);
    case 'lt':
      return sql`${moreThan(days - 1)} is not true`;
    case 'lte':
      return sql`${moreThan(days)} is not true`;
    case 'eq':
      return exactly(days);
    case 'ne':
      return sql`${exactly(days)} is not true`;
    default:
      return undefined;
  }
}

export async function listStatusChanges(db: Db, plan: ListPlan, accountId: number) {
  const page = await fetchPage<{
    id: number;
    from_status: AccountStatus | null;
    to_status: AccountStatus;
    reason: string | null;
    cause: StatusCause | null;
    actor: string;
    changed_on: PlainDate;
    created_at: string;
  }>(db, plan, {
    select: sql`
      select h.id, h.from_status, h.to_status, h.reason, h.cause, coalesce(u.email, 'system') as actor,
        h.changed_on, h.created_at
      from account_status_changes h left join users u on u.id = h.actor_user_id`,
    from: sql`from account_status_changes h`,
    where: [sql<boolean>`h.account_id = ${accountId}`],
    byKey: true,
  });
  const rows = page.rows.map((row) => ({
    id: row.id,
    from: row.from_status,
    to: row.to_status,
    reason: row.reason,
    cause: row.cause,
    actor: row.actor,
    date: row.changed_on,
    createdAt: row.created_at,
  }));
  return { ...page, rows };
}

export function termsOf(row: ShownAccountRow): Terms {
  return {
    depositMinor: BigInt(row.deposit_minor),
    instalmentMinor: BigInt(row.instalment_minor),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    graceDays: row.grace_days,
    activationDate: row.activation_date,
  };
}

export function latenessOf(row: AccountRow): Lateness {
  return { nextDueDate: row.next_due_date, graceDays: row.grace_days };
}

/** What an answer shows of an account; a list reads no more. */
const SHOWN_COLUMNS = [
  'id',
  'customer_id',
  'product_id',
  'payplan_id',
  'employee_id',
  'activation_date',
  'status',
  'status_reason',
  'deposit_minor',
  'instalment_minor',
  'instalment_count',
  'frequency',
  'grace_days',
  'total_minor',
  'paid_minor',
  'credit_minor',
  'written_off_on',
  'created_at',
  'updated_at',
] as const satisfies (keyof AccountRow)[];

type ShownAccountRow = Pick<AccountRow, (typeof SHOWN_COLUMNS)[number]>;

const SHOWN = sql<ShownAccountRow>`select ${sql.raw(SHOWN_COLUMNS.map((name) => `a.${name}`).join(', '))} from accounts a`;

export function toAccount(row: ShownAccountRow, currency: Currency, day: PlainDate) {
  const books = {
    status: row.status,
    totalMinor: BigInt(row.total_minor),
    paidMinor: BigInt(row.paid_minor),
  };
  const at = position(termsOf(row), {
    paidMinor: books.paidMinor,
    today: day,
    closed: isClosed(row.status),
    activated: row.status !== 'pending',
  });
  return {
    id: row.id,
    accountNumber: formatAccountNumber(row.id),
    customerId: row.customer_id,
    productId: row.product_id,
    payplanId: row.payplan_id,
    employeeId: row.employee_id,
    activationDate: row.activation_date,
    status: row.status,
    reason: row.status_reason,
    writtenOffDate: row.written_off_on,
    currency: currency.code,
    deposit: amountOf(row.deposit_minor, currency),
    instalmentAmount: amountOf(row.instalment_minor, currency),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    graceDays: row.grace_days,
    total: amountOf(row.total_minor, currency),
    paid: amountOf(row.paid_minor, currency),
    balance: amountOf(balanceOf(books), currency),
    credit: amountOf(row.credit_minor, currency),
    arrears: amountOf(at.arrearsMinor, currency),
    paymentState: at.paymentState,
    daysPastDue: at.daysPastDue,
    paidUntil: at.paidUntil,
    nextDueDate: at.nextDueDate,
    nextDueAmount: at.nextDueAmountMinor === null ? null : amountOf(at.nextDueAmountMinor, currency),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
