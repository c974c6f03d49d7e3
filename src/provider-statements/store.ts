import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import { businessDay, type PlainDate } from '../core/dates.ts';
import type { Db, Tx } from '../core/db.ts';
import { fetchPage, type ListPlan } from '../core/list-query.ts';
import type {
  PaymentStatus,
  ProviderLineResult,
  ProviderStatementLines,
  ProviderStatements,
  ProviderStatementTotals,
} from '../core/tables.ts';
import { LINE_COLUMNS, type StatementFile } from './reader.ts';
import type { Stage } from './rules.ts';
import { LINE_RESULTS } from './schema.ts';

export type ProviderStatementRow = Selectable<ProviderStatements>;
export type LineRow = Selectable<ProviderStatementLines>;

export const COPY_LINES = `copy provider_statement_lines (${LINE_COLUMNS}) from stdin`;

// Coming in --------------------------------------------------------------------------------------

export async function insertProviderStatement(tx: Tx, createdBy: number | null): Promise<number> {
  const { id } = await tx
    .insertInto('provider_statements')
    .values({ status: 'received', created_by: createdBy })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** A receipt counts once: where a later line says the same it is repeated, else it is contradictory. */
export async function setRepeatedReceipts(tx: Tx, statementId: number): Promise<void> {
  await sql`
    with ranked as (
      select id, amount_minor, completed_at, first_value(id) over receipt as first_id,
        first_value(line_number) over receipt as first_line,
        first_value(amount_minor) over receipt as first_amount,
        first_value(completed_at) over receipt as first_time
      from provider_statement_lines where statement_id = ${statementId} and is_payment
      window receipt as (partition by receipt order by id))
    update provider_statement_lines l set
      is_payment = false,
      result = (case when same then 'repeated' else 'contradictory' end)::provider_line_result,
      problem = case when not same then 'differs from line ' || first_line || ' with the same Receipt No.' end
    from (select *, (amount_minor, completed_at) = (first_amount, first_time) as same from ranked) r
    where l.id = r.id and r.id <> r.first_id`.execute(tx);
}

export async function completeProviderStatement(
  tx: Tx,
  id: number,
  file: StatementFile,
  timeZone: string,
): Promise<ProviderStatementRow> {
  await sql`
    insert into provider_statement_totals (statement_id, result, line_count, amount_minor)
    select statement_id, result, count(*), coalesce(sum(amount_minor), 0)
    from provider_statement_lines where statement_id = ${id} and result is not null group by statement_id, result`.execute(
    tx,
  );
  const { rows } = await sql<{ payments: number }>`
    select count(*) as payments from provider_statement_lines where statement_id = ${id} and is_payment`.execute(
    tx,
  );
  return tx
    .updateTable('provider_statements')
    .set({
      content_sha256: file.sha256,
      organisation: file.organisation,
      short_code: file.shortCode,
      line_count: file.lineCount,
      payment_count: rows[0]?.payments ?? 0,
      first_completed_at: file.firstCompletedAt,
      last_completed_at: file.lastCompletedAt,
      period_start: file.firstCompletedAt && businessDay(file.firstCompletedAt, timeZone),
      period_end: file.lastCompletedAt && businessDay(file.lastCompletedAt, timeZone),
      progressed_at: sql`clock_timestamp()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function findIdOfFile(db: Db, sha256: Buffer): Promise<number | undefined> {
  const row = await db
    .selectFrom('provider_statements')
    .select('id')
    .where('content_sha256', '=', sha256)
    .executeTakeFirst();
  return row?.id;
}

// Stages -----------------------------------------------------------------------------------------

export function findProviderStatementRow(db: Db, id: number): Promise<ProviderStatementRow | undefined> {
  return db.selectFrom('provider_statements').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockProviderStatement(tx: Tx, id: number): Promise<ProviderStatementRow | undefined> {
  return tx.selectFrom('provider_statements').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** The statements whose work has stood still, the longest first: the process that did it has died. */
export async function findStalledIds(db: Db, stallSeconds: number, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from provider_statements
    where status not in ('done', 'failed') and progressed_at < now() - ${stallSeconds} * interval '1 second'
    order by progressed_at limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Says that the work on these goes on in a process, also where others come first in it. */
export async function touchWaiting(db: Db, ids: readonly number[]): Promise<void> {
  await sql`
    update provider_statements set progressed_at = clock_timestamp() where id in (
      select id from provider_statements
      where id = any(${ids}::bigint[]) and status not in ('done', 'failed') order by id for no key update skip locked)`.execute(
    db,
  );
}

export interface Reconciling {
  by: number | null;
  date: PlainDate;
}

/** Begins a stage at its first line. The row is locked by the transaction. */
export async function setStage(
  tx: Tx,
  id: number,
  stage: Stage | 'done',
  reconciling?: Reconciling,
): Promise<ProviderStatementRow> {
  if (stage === 'matching') await clearTotals(tx, id);
  return tx
    .updateTable('provider_statements')
    .set({
      status: stage,
      ...(stage === 'matching' && {
        compared_count: 0,
        compared_to_line: 0,
        searched_to_date: null,
        searched_to_payment: null,
      }),
      ...(stage === 'taking_in' && { taken_in_to_line: 0 }),
      ...(stage === 'reconciling' && {
        reconciled_to_line: 0,
        reconciling_by: reconciling?.by ?? null,
        reconciling_date: reconciling?.date ?? null,
      }),
      failure: null,
      attempts: 0,
      progressed_at: sql`clock_timestamp()`,
      updated_at: sql`now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function clearTotals(tx: Tx, id: number): Promise<void> {
  await sql`
    delete from provider_statement_totals where statement_id = ${id} and result in
      ('matched', 'amount_differs', 'missing_in_books', 'reversed_in_books', 'reversed_at_provider',
        'missing_at_provider')`.execute(tx);
}

/** After several failures in a row the work is given up, with the reason of the last. */
export async function recordFailure(
  db: Db,
  id: number,
  failure: string,
  mostAttempts: number,
): Promise<void> {
  await sql`
    update provider_statements set attempts = attempts + 1, updated_at = now(),
      status = case when attempts + 1 >= ${mostAttempts} then 'failed' else status end,
      failure = case when attempts + 1 >= ${mostAttempts} then ${failure} end
    where id = ${id} and status not in ('done', 'failed')`.execute(db);
}

// Matching ---------------------------------------------------------------------------------------

/** Whether any statement has a withdrawal that takes this receipt back; where it came in later, too. */
function isTakenBack(receipt: 'b.receipt' | 'l.receipt') {
  return sql<boolean>`exists (
    select from provider_statement_lines r where r.is_reversal and r.linked_receipt = ${sql.ref(receipt)})`;
}

/** What an earlier comparison found that the file lacks; false when nothing is left of it. */
export async function deleteMissingAtProvider(tx: Tx, id: number, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from provider_statement_lines where id in (
      select id from provider_statement_lines
      where statement_id = ${id} and result = 'missing_at_provider' limit ${limit})`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
}

/**
 * Compares the next lines with the books: by the transaction's id, or by the reference that staff entered.
 * What was not reversed goes first, then the provider's own payment. The statement is locked.
 * @returns false when there are no further lines.
 */
export async function compareLines(
  tx: Tx,
  statement: ProviderStatementRow,
  options: { provider: string; timeZone: string; limit: number },
): Promise<boolean> {
  const { rows } = await sql<{ lastLine: number | null }>`
    with batch as materialized (
      select id, line_number, receipt, amount_minor, completed_at from provider_statement_lines
      where statement_id = ${statement.id} and line_number > ${statement.compared_to_line} and is_payment
      order by line_number limit ${options.limit}),
    compared as (
      select b.id, b.amount_minor, p.id as payment_id,
        p.payment_date <> (b.completed_at at time zone ${options.timeZone})::date as day_differs,
        (case when ${isTakenBack('b.receipt')} then 'reversed_at_provider'
          when p.id is null then 'missing_in_books'
          when p.status = 'reversed' then 'reversed_in_books'
          when p.amount_minor <> b.amount_minor then 'amount_differs'
          else 'matched' end)::provider_line_result as result
      from batch b left join lateral (
        select * from (
          select id, status, amount_minor, payment_date, provider from payments
          where reference_key = b.receipt and reference_key is not null and status <> 'reversed'
          union all
          select id, status, amount_minor, payment_date, provider from payments
          where provider = ${options.provider} and provider_trans_id = b.receipt) either
        order by status = 'reversed', provider is null, amount_minor <> b.amount_minor, id limit 1) p on true),
    stored as (
      update provider_statement_lines l
      set result = c.result, payment_id = c.payment_id, day_differs = c.day_differs
      from compared c where l.id = c.id),
    added as (
      insert into provider_statement_totals as t (statement_id, result, line_count, amount_minor)
      select ${statement.id}, result, count(*), sum(amount_minor) from compared group by result
      on conflict (statement_id, result) do update
      set line_count = t.line_count + excluded.line_count, amount_minor = t.amount_minor + excluded.amount_minor),
    moved as (
      update provider_statements set compared_count = compared_count + done.lines, compared_to_line = done.last_line,
        attempts = 0, progressed_at = clock_timestamp(), updated_at = now()
      from (select count(*)::integer as lines, max(line_number) as last_line from batch) done
      where id = ${statement.id} and done.lines > 0)
    select max(line_number) as "lastLine" from batch`.execute(tx);
  return rows[0]?.lastLine !== null;
}

/**
 * Looks for the next payments of the statement's days that no statement has a line for. A payment that is known
 * to have gone to another short code is left to that one's statement. The statement is locked.
 * @returns false when there are no further payments.
 */
export async function findMissingAtProvider(
  tx: Tx,
  statement: ProviderStatementRow,
  options: { provider: string; methodId: number; limit: number },
): Promise<boolean> {
  if (statement.period_start === null) return false;
  const { rows } = await sql<{ read: number }>`
    with batch as materialized (
      select id, payment_date, amount_minor, status, provider, payment_method_id, reference_key, source
      from payments
      where payment_date <= ${statement.period_end}::date
        and (payment_date, id) > (coalesce(${statement.searched_to_date}::date, ${statement.period_start}::date - 1),
          coalesce(${statement.searched_to_payment}::bigint, 9223372036854775807))
      order by payment_date, id limit ${options.limit}),
    missing as (
      select b.* from batch b
      where b.status <> 'reversed'
        and (b.provider = ${options.provider} or b.payment_method_id = ${options.methodId})
        and not exists (select from provider_statement_lines l where l.payment_id = b.id and l.is_payment)
        and not exists (
          select from notifications n
          where n.payment_id = b.id and n.business_short_code <> ${statement.short_code}::text)),
    stored as (
      insert into provider_statement_lines (statement_id, is_payment, result, receipt, amount_minor, payment_id)
      select ${statement.id}, false, 'missing_at_provider', reference_key, amount_minor, id
      from missing order by payment_date, id),
    added as (
      insert into provider_statement_totals as t (statement_id, result, line_count, amount_minor)
      select ${statement.id}, 'missing_at_provider', count(*), sum(amount_minor) from missing having count(*) > 0
      on conflict (statement_id, result) do update
      set line_count = t.line_count + excluded.line_count, amount_minor = t.amount_minor + excluded.amount_minor),
    moved as (
      update provider_statements set searched_to_date = done.payment_date, searched_to_payment = done.id,
        attempts = 0, progressed_at = clock_timestamp(), updated_at = now()
      from (select payment_date, id from batch order by payment_date desc, id desc limit 1) done
      where provider_statements.id = ${statement.id})
    select count(*) as read from batch`.execute(tx);
  return (rows[0]?.read ?? 0) > 0;
}

/**
 * Tells the other statements what the withdrawals of this one took back. Only lines whose comparison counts
 * already: one that is still to come sees the withdrawals itself. Of two statements that wait for each other
 * PostgreSQL undoes one, whose step is run again.
 * @returns false when no line is left that has to be told.
 */
export async function flagReversedElsewhere(tx: Tx, id: number, limit: number): Promise<boolean> {
  const { rows: told } = await sql`
    select s.id from provider_statements s
    where s.id in (
      select l.statement_id from provider_statement_lines r join provider_statement_lines l
        on l.receipt = r.linked_receipt and l.is_payment and l.result <> 'reversed_at_provider'
      where r.statement_id = ${id} and r.is_reversal)
    order by s.id for no key update`.execute(tx);
  if (told.length === 0) return false;
  const { rows } = await sql<{ lines: number }>`
    with found as materialized (
      select distinct on (l.id) l.id, l.statement_id, l.result, l.amount_minor
      from provider_statement_lines r
        join provider_statement_lines l
          on l.receipt = r.linked_receipt and l.is_payment and l.result <> 'reversed_at_provider'
        join provider_statements s on s.id = l.statement_id and l.line_number <= s.compared_to_line
      where r.statement_id = ${id} and r.is_reversal
      limit ${limit}),
    stored as (
      update provider_statement_lines l set result = 'reversed_at_provider' from found f where l.id = f.id),
    added as (
      insert into provider_statement_totals as t (statement_id, result, line_count, amount_minor)
      select statement_id, result, -count(*), -sum(amount_minor) from found group by statement_id, result
      union all
      select statement_id, 'reversed_at_provider', count(*), sum(amount_minor) from found group by statement_id
      on conflict (statement_id, result) do update
      set line_count = t.line_count + excluded.line_count, amount_minor = t.amount_minor + excluded.amount_minor),
    moved as (
      update provider_statements set updated_at = now() where id in (select statement_id from found))
    select count(*) as lines from found`.execute(tx);
  return (rows[0]?.lines ?? 0) > 0;
}

// Taking in, reconciling -------------------------------------------------------------------------

export async function findMissingLines(
  db: Db,
  statement: ProviderStatementRow,
  limit: number,
): Promise<LineRow[]> {
  const { rows } = await sql<LineRow>`
    select l.* from provider_statement_lines l
    where l.statement_id = ${statement.id} and l.result = 'missing_in_books'
      and l.line_number > ${statement.taken_in_to_line} and not ${isTakenBack('l.receipt')}
    order by l.line_number limit ${limit}`.execute(db);
  return rows;
}

/**
 * Counts what the import of these lines brought into the books, in this run or in one that died. Moves on only
 * from where the lines were read: of two processes that took them in, one counts them.
 */
export async function recordTakenIn(
  db: Db,
  from: ProviderStatementRow,
  provider: string,
  toLine: number,
): Promise<void> {
  await sql`
    update provider_statements set
      taken_in_count = taken_in_count + (
        select count(*)::integer from provider_statement_lines l
        where l.statement_id = ${from.id} and l.result = 'missing_in_books'
          and l.line_number > ${from.taken_in_to_line} and l.line_number <= ${toLine}
          and exists (
            select from notifications n
            where n.provider = ${provider} and n.trans_id = l.receipt and n.source = 'import'
              and n.outcome in ('matched', 'unmatched'))),
      taken_in_to_line = ${toLine}, attempts = 0, progressed_at = clock_timestamp(), updated_at = now()
    where id = ${from.id} and status = 'taking_in' and taken_in_to_line = ${from.taken_in_to_line}`.execute(
    db,
  );
}

/** The payments of the next matched lines; not those that the provider took back since the comparison. */
export async function findMatchedPayments(
  tx: Tx,
  statement: ProviderStatementRow,
  limit: number,
): Promise<{ lastLine: number; paymentIds: number[] } | undefined> {
  const { rows } = await sql<{ line_number: number; payment_id: number }>`
    select l.line_number, l.payment_id from provider_statement_lines l
    where l.statement_id = ${statement.id} and l.line_number > ${statement.reconciled_to_line}
      and l.result = 'matched' and not ${isTakenBack('l.receipt')}
    order by l.line_number limit ${limit}`.execute(tx);
  const lastLine = rows.at(-1)?.line_number;
  return lastLine === undefined ? undefined : { lastLine, paymentIds: rows.map(({ payment_id: id }) => id) };
}

export async function recordReconciled(tx: Tx, id: number, payments: number, toLine: number): Promise<void> {
  await tx
    .updateTable('provider_statements')
    .set({
      reconciled_count: sql`reconciled_count + ${payments}::integer`,
      reconciled_to_line: toLine,
      attempts: 0,
      progressed_at: sql`clock_timestamp()`,
      updated_at: sql`now()`,
    })
    .where('id', '=', id)
    .execute();
}

// Reading ----------------------------------------------------------------------------------------

type TotalRow = Selectable<ProviderStatementTotals>;

export async function findProviderStatement(db: Db, currency: Currency, id: number) {
  const row = await findProviderStatementRow(db, id);
  return row && toProviderStatement(row, await findTotals(db, [id]), currency);
}

export async function listProviderStatements(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<ProviderStatementRow>(db, plan, {
    select: sql`select s.* from provider_statements s`,
    from: sql`from provider_statements s`,
  });
  const totals = await findTotals(
    db,
    page.rows.map(({ id }) => id),
  );
  return { ...page, rows: page.rows.map((row) => toProviderStatement(row, totals, currency)) };
}

async function findTotals(db: Db, ids: readonly number[]): Promise<TotalRow[]> {
  const { rows } = await sql<TotalRow>`
    select statement_id, result, line_count, amount_minor from provider_statement_totals
    where statement_id = any(${ids}::bigint[])`.execute(db);
  return rows;
}

const GIVEN_UP =
  'It failed several times in a row and was given up. The log says why; it can be asked for again.';

function toProviderStatement(row: ProviderStatementRow, totals: readonly TotalRow[], currency: Currency) {
  const figures = (result: ProviderLineResult) => {
    const total = totals.find((one) => one.statement_id === row.id && one.result === result);
    return { lines: total?.line_count ?? 0, total: amountOf(total?.amount_minor ?? 0, currency) };
  };
  return {
    id: row.id,
    status: row.status,
    // The reason is for those who run the service: it stands in the log and in the table.
    failure: row.failure === null ? null : GIVEN_UP,
    organisation: row.organisation,
    shortCode: row.short_code,
    sha256: row.content_sha256?.toString('hex') ?? '',
    currency: currency.code,
    firstCompletedAt: row.first_completed_at?.toISOString() ?? null,
    lastCompletedAt: row.last_completed_at?.toISOString() ?? null,
    periodStart: row.period_start,
    periodEnd: row.period_end,
    progress: {
      lines: row.line_count,
      payments: row.payment_count,
      compared: row.compared_count,
      takenIn: row.taken_in_count,
      reconciled: row.reconciled_count,
    },
    results: Object.fromEntries(LINE_RESULTS.map((result) => [result, figures(result)])),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

type ListedLine = LineRow & {
  statement_created_at: Date;
  payment_status: PaymentStatus | null;
  payment_amount_minor: number | null;
  payment_date: PlainDate | null;
  reconciliation_id: number | null;
};

export async function listLines(db: Db, currency: Currency, statementId: number, plan: ListPlan) {
  const page = await fetchPage<ListedLine>(db, plan, {
    select: sql`
      select l.*, s.created_at as statement_created_at, p.status as payment_status,
        p.amount_minor as payment_amount_minor, p.payment_date, p.reconciliation_id
      from provider_statement_lines l join provider_statements s on s.id = l.statement_id
        left join payments p on p.id = l.payment_id`,
    from: sql`from provider_statement_lines l join provider_statements s on s.id = l.statement_id`,
    where: [sql<boolean>`l.statement_id = ${statementId}`],
  });
  return { ...page, rows: page.rows.map((row) => toLine(row, currency)) };
}

function toLine(row: ListedLine, currency: Currency) {
  return {
    id: row.id,
    lineNumber: row.line_number,
    result: row.result,
    problem: row.problem,
    receipt: row.receipt,
    completedAt: row.completed_at?.toISOString() ?? null,
    amount: row.amount_minor === null ? null : amountOf(row.amount_minor, currency),
    currency: currency.code,
    reference: row.reference,
    payer: row.payer,
    payerName: row.payer_name,
    providerStatus: row.provider_status,
    details: row.details,
    linkedReceipt: row.linked_receipt,
    paymentId: row.payment_id,
    paymentStatus: row.payment_status,
    paymentAmount: row.payment_amount_minor === null ? null : amountOf(row.payment_amount_minor, currency),
    paymentDate: row.payment_date,
    dayDiffers: row.day_differs,
    reconciliationId: row.reconciliation_id,
    createdAt: row.statement_created_at.toISOString(),
  };
}
