import { type RawBuilder, sql } from 'kysely';
import { type Db, lookUp, UNNAMED } from './db.ts';
import type { Page } from './envelope.ts';
import { readerOf } from './json-rows.ts';
import type { ListPlan } from './list-query.ts';

export interface ListSource<Row> {
  /** `select … from …` of one row; conditions and order are added. */
  select: RawBuilder<Row>;
  /** `from …` that is enough to count by. */
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

/** Reading so many rows of an index, past them or to count them, is as good as a look-up. */
const MOST_READ_QUICKLY = 1_000;

/** One page of rows and the exact number of all rows that match. */
export async function fetchPage<Row>(db: Db, plan: ListPlan, source: ListSource<Row>): Promise<Page<Row>> {
  const read = await readerOf(db, source.select);
  const skipped = (plan.page - 1) * plan.limit;
  const isQuick = source.byKey || (source.inOrderOfIndex && skipped <= MOST_READ_QUICKLY);
  const conditions = [...plan.conditions, ...(source.where ?? [])];
  const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
  const matching = sql`${source.from} ${where}`;
  const count = sql<{ total: number }>`select count(*) as total ${matching}`;

  // Written out: for numbers that may be any, PostgreSQL would plan the statement anew each time, longer than it runs.
  const limit = sql.lit(plan.limit);
  const offset = skipped === 0 ? sql.lit(0) : sql`${skipped}::bigint`;
  // A page that is not full tells by itself how many match.
  const statement = sql<Found<Row>>`
    select page.rows,
      case when page.length < ${limit} and (page.length > 0 or ${offset} = 0) then ${offset} + page.length
        else (${isQuick ? countOfFew(sql`${matching} order by ${plan.orderBy}`) : count}) end as total
    from (
      select count(*) as length, json_agg(row) as rows
      from (${source.select} ${where} order by ${plan.orderBy} limit ${limit} offset ${offset}) as row) as page`;
  const [found] = isQuick ? await lookUpRows(db, statement) : await planned(db, statement);
  const total = found?.total ?? (await count.execute(db)).rows[0]?.total ?? 0;
  return { rows: (found?.rows ?? []).map(read), page: plan.page, limit: plan.limit, total };
}

interface Found<Row> {
  /** Null for none. */
  rows: Row[] | null;
  /** Null where it takes long to count. */
  total: number | null;
}

/**
 * The number of rows where they are few, else null. They are read in the order of the page, which an index has; in any
 * other PostgreSQL might look for them in the whole table, where it would find the first of them late.
 */
function countOfFew(matching: RawBuilder<unknown>): RawBuilder<unknown> {
  const tooMany = sql.lit(MOST_READ_QUICKLY + 1);
  return sql`select nullif(count(*), ${tooMany}) from (select ${matching} limit ${tooMany}) as few`;
}

function lookUpRows<Row>(db: Db, statement: RawBuilder<Row>): Promise<Row[]> {
  const { sql: text, parameters } = statement.compile(db);
  return lookUp<Row>(db, text, parameters, 'lists');
}

async function planned<Row>(db: Db, statement: RawBuilder<Row>): Promise<Row[]> {
  return (await sql<Row>`${sql.raw(UNNAMED)} ${statement}`.execute(db)).rows;
}
