import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/db.ts';
import { UNNAMED } from '../database/prepared-statements.ts';
import { lookUp, planAndRun, run } from '../database/statements.ts';
import { type Page, pageNumbers } from '../http/envelope.ts';
import { type CursorValue, type Position, writeCursor } from './cursor.ts';
import { readerOf } from './json-rows.ts';
import { DEFAULT_LIMIT, type ListPlan, MAX_LIMIT } from './query.ts';
import type { RowCursor } from './row-cursor.ts';
import { columnOf, conditionsOf, isAfter, type ListColumns, orderOf, sortValuesOf } from './sql.ts';

export interface ListSource<Row, Sum extends string = never> extends ListColumns {
  /** The SQL `select … from …`. Its text must be constant and have no parameters. Conditions and order are appended to it. */
  select: RawBuilder<Row>;
  /**
   * The SQL `from …` for counting. It must give the same rows as `select`, and contain all columns for filters and sorting. Its
   * text must have no parameters.
   */
  from: RawBuilder<unknown>;
  where?: RawBuilder<boolean>[];
  /**
   * Whether a condition selects one customer or account. Few rows then match, so the page is quick. PostgreSQL is allowed to
   * reuse the query plan, because one plan is good for every value.
   */
  byKey?: boolean;
  /**
   * Whether an index returns the matching rows in the order of the page. PostgreSQL is allowed to reuse the query plan, because
   * one plan is good for frequent and for rare values.
   */
  inOrderOfIndex?: boolean;
  /**
   * Whether an index finds the matching rows of a search, and `where` hides the searched values from the planner (`hidden` in sql.ts).
   * The statement then finds all rows first. PostgreSQL reuses its plan, because this plan does not depend on the values, until the
   * table is analyzed again.
   */
  isSearch?: boolean;
  /** For a list with totals: the SQL of each sum in minor units, an aggregate over the rows of `from`. */
  sums?: Readonly<Record<Sum, RawBuilder<unknown>>>;
}

/**
 * SQL for columns such as 'created_at as createdAt'. If each field of an answer is a column, the store selects the columns under
 * the names of the fields. The row is then the answer, and no view function is needed.
 */
export function columnList(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(
    columns.map((column) => {
      const [name = '', alias = name] = column.split(' as ');
      return sql`${sql.ref(name)} as ${sql.ref(alias)}`;
    }),
  );
}

/** Skipping or counting this many rows of an index takes about as long as a look-up by key. */
const MAX_QUICK_ROWS = 500;
/** Literals in the SQL. With a parameter, PostgreSQL would plan each page again, and planning takes longer than the query. */
const LITERAL_LIMITS = [DEFAULT_LIMIT, MAX_LIMIT];

/**
 * Reads one page of rows. Also returns the exact number of all matching rows or, for `after`, the cursor of the next page. For a plan
 * with a cursor, reads the next rows.
 */
export async function fetchPage<Row, Sum extends string = never>(
  db: Db,
  plan: ListPlan,
  source: ListSource<Row, Sum>,
): Promise<Page<Row, Sum>> {
  const select = textOf(db, source.select);
  const read = await readerOf<Row>(db, select);
  const found = plan.cursor
    ? await findNext(db, plan, plan.cursor, source)
    : plan.after
      ? await findAfter(db, plan, plan.after, source)
      : plan.totals && source.sums
        ? await findWithSums(db, plan, source, source.sums)
        : source.isSearch
          ? await findSearched(db, plan, source)
          : await findNumbered(db, plan, source, select);
  return { ...found, rows: found.rows.map(read) };
}

async function findNext<Row>(
  db: Db,
  plan: ListPlan,
  cursor: RowCursor,
  source: ListSource<Row, string>,
): Promise<Omit<Page<Row>, 'sums'>> {
  const where = whereOf([...conditionsOf(plan, source), ...(source.where ?? [])]);
  const rows = await cursor.next(db, sql<Row>`${source.select} ${where} order by ${orderOf(plan, source)}`);
  return { rows, pagination: { limit: rows.length } };
}

/**
 * Reads the page after a position, and one more row, which shows whether there is a next page. The statement also reads the last
 * row of the page again by its id: the next cursor needs its sort values, and `select` may not contain them.
 */
async function findAfter<Row>(
  db: Db,
  plan: ListPlan,
  position: Position,
  source: ListSource<Row, string>,
): Promise<Omit<Page<Row>, 'sums'>> {
  const { order, limit } = plan;
  const id = order.at(-1)?.field;
  if (!id) throw new Error('The order of the list does not end with the id.');
  const conditions = [
    ...conditionsOf(plan, source),
    ...(source.where ?? []),
    ...(position.values ? [isAfter(order, position.values, source)] : []),
  ];
  const rows = sql`${source.select} ${whereOf(conditions)} order by ${orderOf(plan, source)} limit ${limit + 1}::bigint`;
  const [found] = await planAndRun(
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
 * Reads the page and the total in one statement. If the page has rows but is not full, it is the last page, and the total follows
 * from it. Otherwise the statement counts all rows, but in a quick list at most MAX_QUICK_ROWS. If a quick list has more rows, a
 * second statement counts all of them.
 */
async function findNumbered<Row>(
  db: Db,
  plan: ListPlan,
  source: ListSource<Row, string>,
  select: string,
): Promise<Omit<Page<Row>, 'sums'>> {
  const skipped = (plan.page - 1) * plan.limit;
  const isQuick = source.byKey || (source.inOrderOfIndex && skipped <= MAX_QUICK_ROWS);
  const where = whereOf([...conditionsOf(plan, source), ...(source.where ?? [])]);
  const from = textOf(db, source.from);
  const countAll = () =>
    sql<{ total: number }>`select count(*) as total ${sql.raw(from)} ${where}`.compile(db);
  // The code below joins the SQL as text. The query builder would need 10 µs more for each page.
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
    ? await lookUp<Found<Row>>(db, { compile: () => CompiledQuery.raw(text, values) }, 'lists')
    : await run<Found<Row>>(db, `${UNNAMED} ${text}`, values);
  if (!found) throw new Error('The statement of a list returned no row.');
  const { rows, total } = found;
  return { rows, pagination: pageNumbers(plan.page, plan.limit, total ?? (await countMany())) };

  /** Counts all rows. Corrects the total to fit the page, because rows can be added or deleted after the page was read. */
  async function countMany(): Promise<number> {
    const [counted] = (await db.executeQuery(countAll())).rows;
    const all = counted?.total ?? 0;
    return rows.length === 0 ? Math.min(all, skipped) : Math.max(all, skipped + rows.length);
  }
}

/** Reads the page and the total in one statement, which evaluates the conditions once for each row. */
async function findSearched<Row>(
  db: Db,
  plan: ListPlan,
  source: ListSource<Row, string>,
): Promise<Omit<Page<Row>, 'sums'>> {
  const { order, page, limit } = plan;
  const id = order.at(-1)?.field;
  if (!id) throw new Error('The order of the list does not end with the id.');
  const where = whereOf([...conditionsOf(plan, source), ...(source.where ?? [])]);
  const skipped = (page - 1) * limit;
  const { rows } = await sql<{ rows: Row[]; total: number }>`
    with found as materialized (
      select ${columnOf(id, source)} as found_id, row_number() over (order by ${orderOf(plan, source)}) as place
      ${source.from} ${where})
    select coalesce(page.rows, '[]') as rows, (select count(*) from found) as total
    from (select json_agg(row) as rows from (
      ${source.select} join found on found_id = ${columnOf(id, source)}
      where place > ${skipped}::bigint and place <= ${skipped + limit}::bigint order by place) as row) as page`.execute(
    db,
  );
  const [found] = rows;
  if (!found) throw new Error('The statement of a list returned no row.');
  return { rows: found.rows, pagination: pageNumbers(page, limit, found.total) };
}

/**
 * Reads the page, the total and the sums in one statement, so that they are of the same moment. It reads all matching rows once, for
 * the total and the sums.
 */
async function findWithSums<Row, Sum extends string>(
  db: Db,
  plan: ListPlan,
  source: ListSource<Row, Sum>,
  sums: Readonly<Record<Sum, RawBuilder<unknown>>>,
): Promise<Page<Row, Sum>> {
  const { page, limit } = plan;
  const where = whereOf([...conditionsOf(plan, source), ...(source.where ?? [])]);
  const rows = sql`${source.select} ${where} order by ${orderOf(plan, source)}
    limit ${limit}::bigint offset ${(page - 1) * limit}::bigint`;
  const pairs = Object.entries<RawBuilder<unknown>>(sums).map(
    ([name, sum]) => sql`${sql.lit(name)}, coalesce(${sum}, 0)::text`,
  );
  const statement = sql<{ rows: Row[]; total: number; sums: Record<Sum, string> }>`
    select coalesce(page.rows, '[]') as rows, matching.total, matching.sums
    from (select json_agg(row) as rows from (${rows}) as row) as page,
      (select count(*) as total, json_build_object(${sql.join(pairs)}) as sums ${source.from} ${where}) as matching`;
  const [found] = await (plan.readTotals
    ? plan.readTotals((tx) => planAndRun(tx, statement))
    : planAndRun(db, statement));
  if (!found) throw new Error('The statement of a list returned no row.');
  return { rows: found.rows, pagination: pageNumbers(page, limit, found.total), sums: found.sums };
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
