import { type RawBuilder, sql } from 'kysely';
import type { IdRange } from '../../accounts/account-number-rules.ts';
import { accountColumns } from '../../accounts/store.ts';
import type { Db } from '../../core/database/db.ts';
import { lookUp, planAndRun } from '../../core/database/statements.ts';
import type { AccountStatus, InvoiceStatus, PaymentStatus } from '../../core/database/tables.ts';
import { likeLiteral } from '../../core/lists/sql.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { MAX_ACCOUNTS_READ } from './rules.ts';

// Each statement stops after a few rows, so its cost does not grow with the table.

/** A statement reads more rows than a search returns, because it does not sort by how well a row matches. */
export const MAX_CANDIDATES = 40;
const LIMIT = sql`limit ${sql.lit(MAX_CANDIDATES)}`;

export interface CustomerHit {
  id: number;
  name: string;
  phone: string;
  second_phone: string | null;
  email: string | null;
  national_id: string | null;
  national_id_key: string | null;
  external_id: string | null;
}

const CUSTOMER = sql`c.id, c.first_name || ' ' || c.last_name as name, c.phone, c.second_phone, c.email, c.national_id, c.national_id_key, c.external_id`;

export function findCustomersByPhone(db: Db, phone: string): Promise<CustomerHit[]> {
  return lookUp(
    db,
    sql<CustomerHit>`
      select ${CUSTOMER} from customers c where c.phone = ${phone} or c.second_phone = ${phone} ${LIMIT}`,
  );
}

/** @param key - in the form of `externalIdKey`. */
export function findCustomersByExternalId(db: Db, key: string): Promise<CustomerHit[]> {
  return lookUp(db, sql<CustomerHit>`select ${CUSTOMER} from ${withExternalId('customers', key)} c`);
}

/**
 * The trigram index finds the beginning of a word if at least two characters are given, and any part of a word if at least three
 * are given.
 */
export const SHORTEST_BEGINNING = 2;
export const SHORTEST_PART = 3;

/** The customers for whom each of `words` is the beginning of a word in the search text. @param words - in the form of `searchKey`. */
export function findCustomersByWordBeginnings(db: Db, words: readonly string[]): Promise<CustomerHit[]> {
  return findCustomersWhere(db, words.map(beginsWord));
}

/** The customers whose search text contains all `words`, also within longer words. @param words - in the form of `searchKey`. */
export function findCustomersByParts(db: Db, words: readonly string[]): Promise<CustomerHit[]> {
  return findCustomersWhere(db, words.map(isPart));
}

function beginsWord(word: string): RawBuilder<unknown> {
  const text = likeLiteral(word);
  // Only the first condition uses the trigram index. The second condition filters the rows that the index finds.
  if (word.length >= SHORTEST_PART)
    return sql`${isPart(word)} and ' ' || search_key(c.search_text) like ${`% ${text}%`}`;
  return sql`(search_key(c.search_text) like ${`${text}%`} or search_key(c.search_text) like ${`% ${text}%`})`;
}

function isPart(word: string): RawBuilder<unknown> {
  return sql`search_key(c.search_text) like ${`%${likeLiteral(word)}%`}`;
}

/**
 * PostgreSQL makes a plan for the given words. For frequent words, it scans customers until it has found enough. For rare words, it
 * uses the index.
 */
function findCustomersWhere(db: Db, conditions: readonly RawBuilder<unknown>[]): Promise<CustomerHit[]> {
  return planAndRun(
    db,
    sql<CustomerHit>`select ${CUSTOMER} from customers c where ${sql.join(conditions, sql` and `)} ${LIMIT}`,
  );
}

export interface AccountHit {
  id: number;
  status: AccountStatus;
  external_id: string | null;
  customer_name: string;
}

const ACCOUNT = sql`a.id, a.status, a.external_id, c.first_name || ' ' || c.last_name as customer_name`;

/** Finds the first accounts of each range, in the order of their ids. */
export function findAccountsInRanges(db: Db, ranges: readonly IdRange[]): Promise<AccountHit[]> {
  return lookUp(
    db,
    sql<AccountHit>`select ${ACCOUNT}
    from ${unnested(ranges)} as r (low, high)
    cross join lateral (select * from accounts where id between r.low and r.high order by id ${LIMIT}) a
    join customers c on c.id = a.customer_id ${LIMIT}`,
  );
}

function unnested(ranges: readonly IdRange[]): RawBuilder<unknown> {
  return sql`unnest(${ranges.map(([from]) => from)}::bigint[], ${ranges.map(([, to]) => to)}::bigint[])`;
}

/** @param key - in the form of `externalIdKey`. */
export function findAccountsByExternalId(db: Db, key: string): Promise<AccountHit[]> {
  return lookUp(
    db,
    sql<AccountHit>`
      select ${ACCOUNT} from ${withExternalId('accounts', key)} a join customers c on c.id = a.customer_id`,
  );
}

/** An account of a result. */
export interface ResultAccount {
  /** The id of the result: an account or a customer. */
  result_id: number;
  id: number;
  status: AccountStatus;
  product_name: string;
  days_past_due: number;
  account_count: number;
}

export function findAccountsOfResults(
  db: Db,
  ids: readonly number[],
  day: PlainDate,
): Promise<ResultAccount[]> {
  return lookUp(
    db,
    sql<ResultAccount>`
      select a.id as result_id, a.id, a.status, p.name as product_name, ${daysPastDue(day)} as days_past_due, 1 as account_count
      from accounts a join products p on p.id = a.product_id
      where a.id = any(${ids}::bigint[])`,
  );
}

/** For each customer with accounts: the one that is late for the longest time, or else the newest one that is not paid or closed. */
export function findAccountsOfCustomers(
  db: Db,
  ids: readonly number[],
  day: PlainDate,
): Promise<ResultAccount[]> {
  return lookUp(
    db,
    sql<ResultAccount>`
      select c.id as result_id, shown.*
      from unnest(${ids}::bigint[]) as c (id)
      cross join lateral (
        select a.id, a.status, p.name as product_name, ${daysPastDue(day)} as days_past_due,
          (count(*) over ())::integer as account_count
        from (
          select * from accounts where customer_id = c.id order by id desc limit ${sql.lit(MAX_ACCOUNTS_READ)}
        ) a join products p on p.id = a.product_id
        order by days_past_due desc, a.next_due_date is null, a.id desc limit 1
      ) shown`,
  );
}

function daysPastDue(day: PlainDate): RawBuilder<unknown> {
  return sql`${accountColumns(day).computed?.daysPastDue}`;
}

export interface PaymentHit {
  id: number;
  status: PaymentStatus;
  account_id: number | null;
  transaction_ref: string | null;
  reference_key: string | null;
  external_id: string | null;
}

const PAYMENT = sql`p.id, p.status, p.account_id, p.transaction_ref, p.reference_key, p.external_id`;

/** @param key in the form of `referenceKey`. */
export function findPaymentsByReference(db: Db, key: string): Promise<PaymentHit[]> {
  return lookUp(
    db,
    sql<PaymentHit>`select ${PAYMENT} from payments p ${beginningWith('p.reference_key', key)}`,
  );
}

/** @param key - in the form of `externalIdKey`. */
export function findPaymentsByExternalId(db: Db, key: string): Promise<PaymentHit[]> {
  return lookUp(db, sql<PaymentHit>`select ${PAYMENT} from ${withExternalId('payments', key)} p`);
}

/** A payment with an account, because only such a payment has a receipt. */
export function findPaymentsWithReceipt(db: Db, id: number): Promise<PaymentHit[]> {
  return lookUp(
    db,
    sql<PaymentHit>`select ${PAYMENT} from payments p where p.id = ${id} and p.account_id is not null`,
  );
}

export interface InvoiceHit {
  id: number;
  number: string;
  status: InvoiceStatus;
  customer_name: string;
}

export function findInvoicesByNumber(db: Db, number: string): Promise<InvoiceHit[]> {
  return lookUp(
    db,
    sql<InvoiceHit>`
      select i.id, i.number, i.status, i.customer_name from invoices i ${beginningWith('i.number', number)}`,
  );
}

/**
 * Selects rows with a value of at least `text`, in the order of an index. Values that begin with `text` come first. Other values can
 * follow. A condition with LIKE would not use the index in every collation.
 */
function beginningWith(column: string, text: string): RawBuilder<unknown> {
  return sql`where ${sql.ref(column)} >= ${text} order by ${sql.ref(column)} ${LIMIT}`;
}

/** The rows of a table whose external id has a key of at least `key`, like `beginningWith`. An index has the few ids with quotes. */
function withExternalId(table: 'accounts' | 'customers' | 'payments', key: string): RawBuilder<unknown> {
  return sql`(
    (select * from ${sql.table(table)} ${beginningWith('external_id', key)})
    union all
    (select * from ${sql.table(table)}
      where external_id <> without_quotes(external_id) and without_quotes(external_id) >= ${key}
      order by without_quotes(external_id) ${LIMIT}))`;
}

/** Counting stops after this many rows, so that its cost does not grow with the table. */
export const MAX_COUNTED = 10_001;
const COUNTED = sql.lit(MAX_COUNTED);

/** How many customers match the words as in `findCustomersByParts`, or for short words as in `findCustomersByWordBeginnings`. */
export async function countCustomers(db: Db, words: readonly string[]): Promise<number> {
  const longest = Math.max(0, ...words.map((word) => word.length));
  if (longest < SHORTEST_BEGINNING) return 0;
  const conditions = words.map(longest >= SHORTEST_PART ? isPart : beginsWord);
  const [row] = await planAndRun(
    db,
    sql<{ count: number }>`
    select count(*)::integer as count from (
      select from customers c where ${sql.join(conditions, sql` and `)} limit ${COUNTED}) found`,
  );
  return row?.count ?? 0;
}

export function countAccountsInRanges(db: Db, ranges: readonly IdRange[]): Promise<number> {
  return count(
    db,
    sql`select count(*)::integer as count from (
      select from ${unnested(ranges)} as r (low, high)
      cross join lateral (select from accounts where id between r.low and r.high limit ${COUNTED}) a limit ${COUNTED}) found`,
  );
}

/** @param key in the form of `referenceKey`. */
export function countPaymentsByReference(db: Db, key: string): Promise<number> {
  return count(db, countBeginningWith('payments', 'reference_key', key));
}

export function countInvoicesByNumber(db: Db, number: string): Promise<number> {
  return count(db, countBeginningWith('invoices', 'number', number));
}

/** See `beginningWith`. */
function countBeginningWith(table: 'payments' | 'invoices', name: string, text: string): RawBuilder<unknown> {
  const column = sql.ref(name);
  return sql`select count(*)::integer as count from (
    select ${column} from ${sql.table(table)} where ${column} >= ${text} order by ${column} limit ${COUNTED}) found
    where starts_with(${column}, ${text})`;
}

async function count(db: Db, statement: RawBuilder<unknown>): Promise<number> {
  // Not on a shared connection: counting thousands of rows would delay other reads.
  const { rows } = await sql<{ count: number }>`${statement}`.execute(db);
  return rows[0]?.count ?? 0;
}
