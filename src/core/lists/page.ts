import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/db.ts';
import { UNNAMED } from '../database/named-statements.ts';
import { lookUp } from '../database/statements.ts';
import type { Page } from '../http/envelope.ts';
import { readerOf } from './json-rows.ts';
import { DEFAULT_LIMIT, type ListPlan, MAX_LIMIT } from './query.ts';
import { conditionsOf, type ListColumns, orderOf } from './sql.ts';

export interface ListSource<Row> extends ListColumns {
  /** `select … from …` of a row. The text must be constant; conditions and order are appended. */
  select: RawBuilder<Row>;
  /** The tables to count rows in: as many rows as `select`, and every column that the list filters and sorts by. */
  from: RawBuilder<unknown>;
  where?: RawBuilder<boolean>[];
  /**
   * A condition selects one customer or account, so few rows match and the page is quick. PostgreSQL may reuse its plan,
   * because it is good for any value.
   */
  byKey?: boolean;
  /**
   * An index returns the matching rows in the order of the page. PostgreSQL may reuse its plan, because it is the same
   * for frequent and for rare values.
   */
  inOrderOfIndex?: boolean;
}

/**
 * The SQL of columns under the names of an answer, such as 'created_at as createdAt'. Where every field of an answer is a
 * column, the store selects it this way, and the row is the answer: it needs no view.
 */
export function columnList(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(
    columns.map((column) => {
      const [name = '', alias = name] = column.split(' as ');
      return sql`${sql.ref(name)} as ${sql.ref(alias)}`;
    }),
  );
}

/** Skipping or counting this many rows of an index costs about as much as a look-up. */
const MOST_READ_QUICKLY = 500;
/** With a limit as a parameter PostgreSQL plans each page again, which takes longer than to run it. */
const LITERAL_LIMITS = [DEFAULT_LIMIT, MAX_LIMIT];

/** One page of rows and the exact number of all rows that match. */
export async function fetchPage<Row>(db: Db, plan: ListPlan, source: ListSource<Row>): Promise<Page<Row>> {
  const read = await readerOf(db, source.select);
  const { page, limit } = plan;
  const skipped = (page - 1) * limit;
  const conditions = [...conditionsOf(plan, source), ...(source.where ?? [])];
  const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
  const parts: Parts<Row> = {
    select: sql`${source.select} ${where}`,
    matching: sql`${source.from} ${where}`,
    orderBy: orderOf(plan, source),
    limit: LITERAL_LIMITS.includes(limit) ? sql.lit(limit) : sql`${limit}::bigint`,
    offset: skipped === 0 ? sql.lit(0) : sql`${skipped}::bigint`,
  };
  const isQuick = source.byKey || (source.inOrderOfIndex && skipped <= MOST_READ_QUICKLY);
  const found = isQuick ? await findQuickly(db, parts, source) : await find(db, parts);
  return { rows: found.rows.map(read), page, limit, total: totalOf(found, skipped, limit) };
}

/** Rows may come or go between the count and the page. The page decides where the two disagree. */
function totalOf({ rows, total }: Found<unknown>, skipped: number, limit: number): number {
  const end = skipped + rows.length;
  if (rows.length === limit) return Math.max(total, end);
  return rows.length > 0 ? end : Math.min(total, end);
}

interface Parts<Row> {
  select: RawBuilder<Row>;
  matching: RawBuilder<unknown>;
  orderBy: RawBuilder<unknown>;
  limit: RawBuilder<unknown>;
  offset: RawBuilder<unknown>;
}

interface Found<Row> {
  /** As JSON values; see json-rows.ts. */
  rows: Row[];
  total: number;
}

/** Reads the page and its total in two concurrent statements. PostgreSQL plans each for its values. */
async function find<Row>(db: Db, parts: Parts<Row>): Promise<Found<Row>> {
  const page = sql<{ rows: Row[] | null }>`select json_agg(row) as rows from (${pageOf(parts)}) as row`;
  const [[found], [counted]] = await Promise.all([planned(db, page), planned(db, countOf(parts))]);
  return { rows: found?.rows ?? [], total: counted?.total ?? 0 };
}

/**
 * Reads the page and its total in one statement on the connection that lists share. The total follows from a page that is
 * not full. After a full page the statement counts up to a bound; a second statement counts more rows than that.
 */
async function findQuickly<Row>(db: Db, parts: Parts<Row>, { byKey }: ListSource<Row>): Promise<Found<Row>> {
  const { limit, offset, matching, orderBy } = parts;
  // In any other order PostgreSQL might search the whole table for the first rows.
  const few = byKey ? matching : sql`${matching} order by ${orderBy}`;
  const { sql: text, parameters } = sql`
    select page.rows,
      case when page.length between 1 and ${limit} - 1 or ${offset} + page.length = 0 then ${offset} + page.length
        else (select nullif(count(*), ${TOO_MANY}) from (select ${few} limit ${TOO_MANY}) as few) end as total
    from (select count(*) as length, json_agg(row) as rows from (${pageOf(parts)}) as row) as page`.compile(
    db,
  );
  const [found] = await lookUp<{ rows: Row[] | null; total: number | null }>(db, text, parameters, 'lists');
  const total = found?.total ?? (await countOf(parts).execute(db)).rows[0]?.total ?? 0;
  return { rows: found?.rows ?? [], total };
}

const TOO_MANY = sql.lit(MOST_READ_QUICKLY + 1);

function pageOf<Row>({ select, orderBy, limit, offset }: Parts<Row>): RawBuilder<Row> {
  return sql`${select} order by ${orderBy} limit ${limit} offset ${offset}`;
}

function countOf({ matching }: Parts<unknown>) {
  return sql<{ total: number }>`select count(*) as total ${matching}`;
}

async function planned<Row>(db: Db, statement: RawBuilder<Row>): Promise<Row[]> {
  return (await sql<Row>`${sql.raw(UNNAMED)} ${statement}`.execute(db)).rows;
}
