import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { literalList } from '../core/database/literal-list.ts';
import { violatedForeignKey } from '../core/database/postgres-errors.ts';
import { lookUp } from '../core/database/statements.ts';
import type { AccountStatus, Accounts } from '../core/database/tables.ts';
import { notFound } from '../core/http/errors.ts';
import { type ExternalValues, takenExternalId } from '../core/http/external-ids.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { ListColumns } from '../core/lists/sql.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { customerMatches } from '../customers/store.ts';
import { readAccountNumber } from './account-number-rules.ts';
import type { AccountRow } from './ledger/rules.ts';
import { TERM_COLUMNS } from './schedule/rules.ts';
import {
  arrearsOn,
  compareDaysPastDue,
  compareLargestDaysPastDue,
  daysPastDueOn,
  largestDaysPastDueOn,
  shownColumn,
} from './schedule/store.ts';
import type { AccountSearch } from './search-rules.ts';
import { statusesIn } from './status/rules.ts';

/** @throws AppError NOT_FOUND with the field whose resource does not exist, or DUPLICATE_ENTRY if the external id is taken. */
export async function insertAccount(
  tx: Tx,
  account: Omit<Insertable<Accounts>, 'receivable_minor'>,
): Promise<AccountRow> {
  try {
    return await tx
      .insertInto('accounts')
      .values({ ...account, receivable_minor: 0 }) // 0 until the sale is posted.
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    switch (violatedForeignKey(error)) {
      case 'accounts_customer_id_fkey':
        throw notFound('customer', account.customer_id, 'customerId');
      case 'accounts_product_id_fkey':
        throw notFound('product', account.product_id, 'productId');
      case 'accounts_employee_id_fkey':
        throw notFound('employee', account.employee_id ?? null, 'employeeId');
      default:
        throw takenExternalId(error, 'account', account.external_id) ?? error;
    }
  }
}

/** @throws AppError DUPLICATE_ENTRY if the external id is taken. */
export function updateExternalFields(
  tx: Tx,
  id: number,
  { externalId, metadata }: ExternalValues,
): Promise<AccountRow> {
  return tx
    .updateTable('accounts')
    .set({ external_id: externalId, metadata, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenExternalId(error, 'account', externalId) ?? error;
    });
}

export async function findAccountRow(db: Db, id: number): Promise<AccountRow | undefined> {
  const [row] = await lookUp(db, sql<AccountRow>`select * from accounts where id = ${id}`);
  return row;
}

/** @throws AppError NOT_FOUND. @param path - the field of the request that contains the id. */
export async function getAccountRow(db: Db, id: number, path?: string): Promise<AccountRow> {
  const row = await findAccountRow(db, id);
  if (!row) throw notFound('account', id, path);
  return row;
}

interface ExpandableAccount {
  id: number;
  status: AccountStatus;
  customer_id: number;
  product_id: number;
  external_id: string | null;
  customer_name: string;
  customer_phone: string;
}

export function findExpandableAccounts(db: Db, ids: readonly number[]): Promise<ExpandableAccount[]> {
  return lookUp(
    db,
    sql<ExpandableAccount>`select a.id, a.status, a.customer_id, a.product_id, a.external_id,
      c.first_name || ' ' || c.last_name as customer_name, c.phone as customer_phone
    from accounts a join customers c on c.id = a.customer_id
    where a.id = any(${ids}::bigint[])`,
  );
}

/** The later of two dates: the given date, and the latest value date of money on the account. */
export async function laterMoneyDate(tx: Tx, accountId: number, date: PlainDate): Promise<PlainDate> {
  const { rows } = await sql<{ date: PlainDate }>`
    select greatest(max(value_date), ${date}::date) as date
    from account_money where account_id = ${accountId}`.execute(tx);
  return rows[0]?.date ?? date;
}

/** Locks accounts whose activation date has come. Skips accounts that another transaction has locked. */
export function lockAccountsToActivate(tx: Tx, day: PlainDate, limit: number): Promise<AccountRow[]> {
  return tx
    .selectFrom('accounts')
    .selectAll()
    .where(sql<boolean>`status in ${literalList(statusesIn('awaitingActivation'))}`)
    .where('activation_date', '<=', day)
    .orderBy('activation_date')
    .orderBy('id')
    .limit(limit)
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
}

const SHOWN_COLUMNS = [
  'id',
  'customer_id',
  'product_id',
  'payplan_id',
  'employee_id',
  'status',
  'status_reason',
  ...TERM_COLUMNS,
  'plan_version',
  'restructured_kind',
  'restructured_on',
  'original_due_date',
  'total_minor',
  'paid_minor',
  'credit_minor',
  'written_off_on',
  'external_id',
  'metadata',
  'created_at',
  'updated_at',
] as const satisfies (keyof AccountRow)[];

/** The columns of runs are only for `termsOf`, see `shownColumn`. */
export type ShownAccountRow = Pick<AccountRow, (typeof SHOWN_COLUMNS)[number]>;

export const SELECT_SHOWN = sql.raw<ShownAccountRow>(
  `select ${SHOWN_COLUMNS.map(shownColumn).join(', ')} from accounts a`,
);

/** @throws AppError NOT_FOUND. */
export async function getShownAccountRow(db: Db, id: number): Promise<ShownAccountRow> {
  const [row] = await lookUp(db, sql<ShownAccountRow>`${SELECT_SHOWN} where a.id = ${id}`);
  if (!row) throw notFound('account', id);
  return row;
}

interface AccountFilters {
  status?: AccountStatus;
  customerId?: number;
  accountNumber?: string;
}

export function listAccounts(
  db: Db,
  query: ListPlan & AccountFilters,
  day: PlainDate,
  search?: AccountSearch,
) {
  const { status, customerId, accountNumber } = query;
  const where = [
    // A literal, so that PostgreSQL makes a query plan for each status and can use partial indexes such as accounts_grace.
    ...(status === undefined ? [] : [sql<boolean>`a.status = ${sql.lit(status)}`]),
    ...(accountNumber === undefined ? [] : [sql<boolean>`a.id = ${readAccountNumber(accountNumber) ?? 0}`]),
    ...(customerId === undefined ? [] : [sql<boolean>`a.customer_id = ${customerId}`]),
    ...(search === undefined ? [] : [isFoundBy(search)]),
  ];
  return fetchPage<ShownAccountRow, 'balance' | 'arrears'>(db, query, {
    select: SELECT_SHOWN,
    from: sql`from accounts a`,
    sums: { balance: sql`sum(${sql.raw(BALANCE)})`, arrears: sql`sum(${ifActivated(arrearsOn(day))})` },
    where,
    byKey: customerId !== undefined || accountNumber !== undefined,
    inOrderOfIndex: query.isPlain && search === undefined,
    ...accountColumns(day),
  });
}

/**
 * Each part of the union uses an index: one word of a search for customers is long enough for the index on their text. With OR, PostgreSQL
 * would compare every account. The ids are found first, because PostgreSQL cannot tell how many there are.
 */
function isFoundBy({ ranges, customers }: AccountSearch): RawBuilder<boolean> {
  const parts = [
    sql`select m.id from unnest(${ranges.map(([from]) => from)}::bigint[], ${ranges.map(([, to]) => to)}::bigint[]) as r (low, high)
      join accounts m on m.id between r.low and r.high`,
    ...(customers === undefined
      ? []
      : [
          sql`select m.id from accounts m join customers c on c.id = m.customer_id
            where ${sql.join(customerMatches(customers.words, customers.phone), sql` and `)}`,
        ]),
  ];
  return sql`a.id in (with found as materialized (${sql.join(parts, sql` union all `)}) select id from found)`;
}

const IS_ACTIVATED = sql<boolean>`a.status not in ${literalList(statusesIn('awaitingActivation'))}`;

const SALE_UNDONE = statusesIn('saleUndone').map((status) => `'${status}'`);

/** `balanceOf` of ledger/rules.ts in SQL, as a text for statements that are texts. */
export const BALANCE = `greatest(0, case when a.status in (${SALE_UNDONE.join(', ')}) then 0 else a.total_minor end - a.paid_minor)`;

/** A sum or a number of days of an account that is activated, else 0. */
const ifActivated = (value: RawBuilder<number>): RawBuilder<number> =>
  sql`(case when ${IS_ACTIVATED} then ${value} else 0 end)`;

/** The computed fields of a list of accounts a. */
export function accountColumns(day: PlainDate): ListColumns {
  return {
    computed: {
      balance: sql.raw(BALANCE),
      daysPastDue: ifActivated(daysPastDueOn(day)),
      largestDaysPastDue: ifActivated(largestDaysPastDueOn(day)),
    },
    indexed: {
      daysPastDue: (filter, usual) => compareDaysPastDue(filter, day, IS_ACTIVATED) ?? usual,
      largestDaysPastDue: (filter, usual) => compareLargestDaysPastDue(filter, day, IS_ACTIVATED) ?? usual,
    },
  };
}
