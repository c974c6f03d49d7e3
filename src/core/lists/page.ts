import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/db.ts';
import { UNNAMED } from '../database/prepared-statements.ts';
import { lookUp, run } from '../database/statements.ts';
import { type Page, pageNumbers } from '../http/envelope.ts';
import { type CursorValue, type Position, writeCursor } from './cursor.ts';
import { readerOf } from './json-rows.ts';
import { DEFAULT_LIMIT, type ListPlan, MAX_LIMIT } from './query.ts';
import { columnOf, conditionsOf, isAfter, type ListColumns, orderOf, sortValuesOf } from './sql.ts';

export interface ListSource<Row> extends ListColumns {
  /** The SQL `select … from …` of a row. The text must be constant. Conditions and order are appended. */
  select: RawBuilder<Row>;
  /**
   * The tables for counting. They must give the same rows as `select`, and all columns for filters and sorting. The text must have
   * no parameters.
   */
  from: RawBuilder<unknown>;
  where?: RawBuilder<boolean>[];
  /**
   * Whether a condition selects one customer or account, so that few rows match and the page is quick. PostgreSQL may reuse the
   * query plan, because the same plan is good for every value.
   */
  byKey?: boolean;
  /**
   * Whether an index returns the matching rows in the order of the page. PostgreSQL may reuse the query plan, because the plan is
   * the same for frequent and for rare values.
   */
  inOrderOfIndex?: boolean;
}

/**
 * The SQL of columns with the names of the answer, such as 'created_at as createdAt'. If every field of an answer is a column, the
 * store selects the columns this way. The row is then the answer and needs no view.
 */
export function columnList(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(
    columns.map((column) => {
      const [name = '', alias = name] = column.split(' as ');
      return sql`${sql.ref(name)} as ${sql.ref(alias)}`;
    }),
  );
}

/** Skipping or counting this many rows of an index takes about the time of a look-up. */
const MAX_QUICK_ROWS = 500;
/** If the limit were a parameter, PostgreSQL would plan each page again. Planning takes longer than running the query. */
const LITERAL_LIMITS = [DEFAULT_LIMIT, MAX_LIMIT];

/** Reads one page of rows, with the exact number of all matching rows or, for `after`, with the cursor of the next page. */
export async function fetchPage<Row>(db: Db, plan: ListPlan, source: ListSource<Row>): Promise<Page<Row>> {
  const select = textOf(db, source.select);
  const read = await readerOf<Row>(db, select);
  const found = plan.after
    ? await findAfter(db, plan, plan.after, source)
    : await findNumbered(db, plan, source, select);
  return { ...found, rows: found.rows.map(read) };
}

/**
 * Reads the page after a position. One additional row shows whether there is a next page. The same SQL statement reads the last row
 * again by its id, to get the sort values for the next cursor, because `select` does not always contain them.
 */
async function findAfter<Row>(
  db: Db,
  plan: ListPlan,
  position: Position,
  source: ListSource<Row>,
): Promise<Page<Row>> {
  const { order, limit } = plan;
  const id = order.at(-1)?.field;
  if (!id) throw new Error('The order of the list does not end with the id.');
  const conditions = [
    ...conditionsOf(plan, source),
    ...(source.where ?? []),
    ...(position.values ? [isAfter(order, position.values, source)] : []),
  ];
  const rows = sql`${source.select} ${whereOf(conditions)} order by ${orderOf(plan, source)} limit ${limit + 1}::bigint`;
  const [found] = await runUnnamed(
    db,
    sql<{ rows: Row[] | null; last: CursorValue[] | null }>`
      select page.rows, (
        select ${sortValuesOf(order, source)} ${source.from}
        where page.length > ${limit}::bigint and ${columnOf(id, source)} = (page.rows -> ${limit - 1}::int ->> 'id')::bigint
      ) as last
      from (select count(*) as length, json_agg(row) as rows from (${rows}) as row) as page`,
  );
  return {
    rows: found?.rows?.slice(0, limit) ?? [],
    pagination: { limit, nextCursor: found?.last ? writeCursor(position, found.last) : null },
  };
}

/**
 * Reads the page and the total in one statement. A page that has rows and is not full is the last one, and gives the total. For
 * another page, the statement counts all rows, but in a quick list at most MAX_QUICK_ROWS. If a quick list has more rows, a second
 * statement counts them.
 */
async function findNumbered<Row>(
  db: Db,
  plan: ListPlan,
  source: ListSource<Row>,
  select: string,
): Promise<Page<Row>> {
  const skipped = (plan.page - 1) * plan.limit;
  const isQuick = source.byKey || (source.inOrderOfIndex && skipped <= MAX_QUICK_ROWS);
  const where = whereOf([...conditionsOf(plan, source), ...(source.where ?? [])]);
  const from = textOf(db, source.from);
  const countAll = () =>
    sql<{ total: number }>`select count(*) as total ${sql.raw(from)} ${where}`.compile(db);
  // The rest of the SQL is joined as text. The query builder would need 10 µs more for each page.
  const { sql: ordered, parameters } = sql`${where} order by ${orderOf(plan, source)}`.compile(db);
  const values = [...parameters];
  const parameter = (value: number) => `$${values.push(value)}::bigint`;
  const limit = LITERAL_LIMITS.includes(plan.limit) ? String(plan.limit) : parameter(plan.limit);
  const offset = skipped === 0 ? '0' : parameter(skipped);
  // Counts in the order of the page. Without this order, PostgreSQL might read the whole table to find the rows.
  const countFew = () =>
    `select nullif(count(*), ${TOO_MANY}) from (select ${from} ${ordered} limit ${TOO_MANY}) as few`;
  const text = `
    select coalesce(page.rows, '[]') as rows,
      case when page.length between 1 and ${limit} - 1 or ${offset} + page.length = 0 then ${offset} + page.length
        else (${isQuick ? countFew() : countAll().sql}) end as total
    from (select count(*) as length, json_agg(row) as rows
      from (${select} ${ordered} limit ${limit} offset ${offset}) as row) as page`;

  const [found] = isQuick
    ? await lookUp<Found<Row>>(db, text, values, 'lists')
    : await run<Found<Row>>(db, `${UNNAMED} ${text}`, values);
  if (!found) throw new Error('The statement of a list returned no row.');
  const { rows, total } = found;
  return { rows, pagination: pageNumbers(plan.page, plan.limit, total ?? (await countMany())) };

  /** Counts all rows. If rows have been added or deleted since the page was read, the total is made to agree with the page. */
  async function countMany(): Promise<number> {
    const [counted] = (await db.executeQuery(countAll())).rows;
    const all = counted?.total ?? 0;
    return rows.length === 0 ? Math.min(all, skipped) : Math.max(all, skipped + rows.length);
  }
}

interface Found<Row> {
  /** Rows as JSON values, see json-rows.ts. */
  rows: Row[];
  /** Null if the statement did not count all rows. */
  total: number | null;
}

function whereOf(conditions: RawBuilder<boolean>[]): RawBuilder<unknown> {
  return conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
}

/** SQL without parameters, as text. */
function textOf(db: Db, part: RawBuilder<unknown>): string {
  const { sql: text, parameters } = part.compile(db);
  if (parameters.length > 0) throw new Error(`This part of a list must have no parameters: ${text}`);
  return text;
}

const TOO_MANY = MAX_QUICK_ROWS + 1;

async function runUnnamed<Row>(db: Db, statement: RawBuilder<Row>): Promise<Row[]> {
  return (await sql<Row>`${sql.raw(UNNAMED)} ${statement}`.execute(db)).rows;
}
