import { type RawBuilder, sql } from 'kysely';
import { type Db, lookUp, UNNAMED } from '../database/db.ts';
import type { Page } from '../http/envelope.ts';
import { readerOf } from './json-rows.ts';
import { DEFAULT_LIMIT, type ListPlan, MAX_LIMIT } from './query.ts';

export interface ListSource<Row> {
  /** `select … from …` of one row, always the same text; conditions and order are added. */
  select: RawBuilder<Row>;
  /** `from …` that is enough to count by: it has as many rows, and whatever the list filters and sorts by. */
  from: RawBuilder<unknown>;
  where?: RawBuilder<boolean>[];
  /**
   * One of the conditions is the key of a customer or an account, so that few rows match, whatever else is asked:
   * a plan made for any value is as good as one for the value at hand, and the answer quick.
   */
  byKey?: boolean;
  /**
   * An index has the rows that match in the order of the page, whatever the values: they are read the same way for
   * one that many rows have as for one that few have, and need not be planned anew.
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

/** Reading so many rows of an index, past them or to count them, is as good as a look-up. */
const MOST_READ_QUICKLY = 500;
/** For a limit that may be any PostgreSQL plans a page anew each time, longer than it runs: usual ones are written out. */
const USUAL_LIMITS = [DEFAULT_LIMIT, MAX_LIMIT];

/** One page of rows and the exact number of all rows that match. */
export async function fetchPage<Row>(db: Db, plan: ListPlan, source: ListSource<Row>): Promise<Page<Row>> {
  const read = await readerOf(db, source.select);
  const { page, limit } = plan;
  const skipped = (page - 1) * limit;
  const conditions = [...plan.conditions, ...(source.where ?? [])];
  const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
  const parts: Parts<Row> = {
    select: sql`${source.select} ${where}`,
    matching: sql`${source.from} ${where}`,
    orderBy: plan.orderBy,
    limit: USUAL_LIMITS.includes(limit) ? sql.lit(limit) : sql`${limit}::bigint`,
    offset: skipped === 0 ? sql.lit(0) : sql`${skipped}::bigint`,
  };
  const isQuick = source.byKey || (source.inOrderOfIndex && skipped <= MOST_READ_QUICKLY);
  const found = isQuick ? await findQuickly(db, parts, source) : await find(db, parts);
  return { rows: found.rows.map(read), page, limit, total: totalBeside(found, skipped, limit) };
}

/** What was counted a moment before or after the page was read may say otherwise than the page itself. */
function totalBeside({ rows, total }: Found<unknown>, skipped: number, limit: number): number {
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
  /** As JSON has them. */
  rows: Row[];
  total: number;
}

/** The page and its total at once, each planned for the values at hand. */
async function find<Row>(db: Db, parts: Parts<Row>): Promise<Found<Row>> {
  const page = sql<{ rows: Row[] | null }>`select json_agg(row) as rows from (${pageOf(parts)}) as row`;
  const [[found], [counted]] = await Promise.all([planned(db, page), planned(db, countOf(parts))]);
  return { rows: found?.rows ?? [], total: counted?.total ?? 0 };
}

/**
 * Asks for both in one statement, on the connection that lists share. A page that is not full tells by itself how many
 * rows match; behind a full one they are counted as far as that is quick, and apart where it is not.
 */
async function findQuickly<Row>(db: Db, parts: Parts<Row>, { byKey }: ListSource<Row>): Promise<Found<Row>> {
  const { limit, offset, matching, orderBy } = parts;
  // In another order than that of the index the first of them might be looked for in the whole table.
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
