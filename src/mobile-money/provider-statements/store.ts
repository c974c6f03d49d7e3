import { type Selectable, sql } from 'kysely';
import type { Actor } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import type {
  PaymentStatus,
  ProviderStatementLines,
  ProviderStatementStatus,
  ProviderStatements,
  ProviderStatementTotals,
} from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { businessDay, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { StatementLine, StatementPreamble } from '../providers/provider.ts';
import { COMPARED_RESULTS, checkStatementMove, STATUSES_WITH_JOB } from './rules.ts';

export type ProviderStatementRow = Selectable<ProviderStatements>;
export type StatementLineRow = Selectable<ProviderStatementLines>;
export type TotalRow = Selectable<ProviderStatementTotals>;

export function findStatement(db: Db, id: number): Promise<ProviderStatementRow | undefined> {
  return db.selectFrom('provider_statements').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockStatement(tx: Tx, id: number): Promise<ProviderStatementRow | undefined> {
  return tx.selectFrom('provider_statements').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function listStatements(db: Db, plan: ListPlan) {
  return fetchPage<ProviderStatementRow>(db, plan, {
    select: sql`select s.* from provider_statements s`,
    from: sql`from provider_statements s`,
  });
}

export async function findTotals(db: Db, ids: readonly number[]): Promise<TotalRow[]> {
  const { rows } = await sql<TotalRow>`
    select statement_id, result, line_count, amount_minor from provider_statement_totals
    where statement_id = any(${ids}::bigint[])`.execute(db);
  return rows;
}

export interface PreviousStatementRow {
  statement_id: number;
  previous_id: number;
  closing_balance_minor: number;
}

/**
 * Finds for each of these statements the last statement of the same short code that ended before it. Leaves out a statement without
 * balances, and one whose first transaction is inside the period of another statement.
 */
export async function findPreviousStatements(
  db: Db,
  ids: readonly number[],
): Promise<PreviousStatementRow[]> {
  const { rows } = await sql<PreviousStatementRow>`
    select s.id as statement_id, p.id as previous_id, p.closing_balance_minor
    from provider_statements s cross join lateral (
      select id, closing_balance_minor from provider_statements
      where short_code is not distinct from s.short_code and last_completed_at <= s.first_completed_at and id <> s.id
      order by last_completed_at desc, id desc limit 1) p
    where s.id = any(${ids}::bigint[]) and s.opening_balance_minor is not null and p.closing_balance_minor is not null
      and not exists (
        select from provider_statements o
        where o.short_code is not distinct from s.short_code and o.id <> s.id
          and o.first_completed_at < s.first_completed_at and o.last_completed_at > s.first_completed_at)`.execute(
    db,
  );
  return rows;
}

export type ListedLine = StatementLineRow & {
  statement_created_at: string;
  payment_status: PaymentStatus | null;
  payment_amount_minor: number | null;
  payment_date: PlainDate | null;
  reconciliation_id: number | null;
  /** What withdrawals that name the payment by its receipt took back. Null if there are none. */
  taken_back_minor: number | null;
};

export function listLines(db: Db, statementId: number, plan: ListPlan) {
  return fetchPage<ListedLine>(db, plan, {
    select: sql`
      select l.*, s.created_at as statement_created_at, p.status as payment_status,
        p.amount_minor as payment_amount_minor, p.payment_date, p.reconciliation_id,
        -- A withdrawal can be in several statements.
        case when l.result = 'reversed_at_provider' then (
          select -sum(amount_minor)::bigint from (
            select distinct receipt, amount_minor from provider_statement_lines
            where is_reversal and not is_inferred and linked_receipt = l.receipt) r) end as taken_back_minor
      from provider_statement_lines l join provider_statements s on s.id = l.statement_id
        left join payments p on p.id = l.payment_id`,
    from: sql`
      from provider_statement_lines l join provider_statements s on s.id = l.statement_id
        left join payments p on p.id = l.payment_id`,
    where: [sql<boolean>`l.statement_id = ${statementId}`],
  });
}

export async function insertStatement(tx: Tx, createdBy: number | null): Promise<number> {
  const { id } = await tx
    .insertInto('provider_statements')
    .values({ status: 'received', created_by: createdBy })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** The columns in the order of the values of toCopyRow. */
export const COPY_LINES = `copy provider_statement_lines (statement_id, line_number, is_payment, is_reversal, is_inferred,
  is_own_transfer, result, problem, receipt, completed_at, amount_minor, reference, payer, payer_name, provider_status, details, linked_receipt)
  from stdin`;

/** A row in the text format of COPY. The texts in a line contain no control characters. */
export function toCopyRow(statementId: number, lineNumber: number, line: StatementLine): string {
  const values = [
    statementId,
    lineNumber,
    line.isPayment,
    line.isReversal,
    line.isInferred,
    line.isOwnTransfer,
    line.result,
    line.problem,
    line.receipt,
    line.completedAt?.toISOString() ?? null,
    line.amountMinor,
    line.reference,
    line.payer,
    line.payerName,
    line.status,
    line.details,
    line.linkedReceipt,
  ];
  return `${values.map((value) => (value === null ? '\\N' : String(value).replaceAll('\\', '\\\\'))).join('\t')}\n`;
}

/**
 * If several payment lines have the same receipt, only the first line remains a payment. Any other line becomes `repeated` if it
 * has the amount and the time of the first line, and otherwise `contradictory`.
 */
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

/**
 * Money that was paid in and withdrawn again with the same receipt is a payment that was reversed in place, or an own transfer. If the
 * line of the payment names no payer and is no own transfer, it becomes `contradictory`.
 */
export async function setContradictoryPairs(tx: Tx, statementId: number): Promise<void> {
  await sql`
    update provider_statement_lines l set is_payment = false, result = 'contradictory',
      problem = 'the same amount was withdrawn with the same Receipt No., but the line names no payer'
    where l.statement_id = ${statementId} and l.is_payment and l.payer is null and l.payer_name is null and exists (
      select from provider_statement_lines r
      where r.is_reversal and r.linked_receipt = l.receipt and r.receipt = l.receipt and r.statement_id = l.statement_id
        and r.amount_minor = -l.amount_minor)`.execute(tx);
}

/** The columns that are known only after the whole file was read. */
export interface StatementFile {
  sha256: Buffer;
  stated: StatementPreamble;
  lineCount: number;
  firstCompletedAt: Date | null;
  lastCompletedAt: Date | null;
  /** The balances before the oldest and after the newest completed line. Null if the file has no running balance. */
  ends: { openingMinor: Minor; closingMinor: Minor } | null;
  /** The sums of the completed lines. */
  paidInMinor: Minor;
  withdrawnMinor: Minor;
}

export async function completeStatement(
  tx: Tx,
  id: number,
  file: StatementFile,
  timeZone: string,
): Promise<void> {
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
  await tx
    .updateTable('provider_statements')
    .set({
      content_sha256: file.sha256,
      organisation: file.stated.organisation ?? null,
      short_code: file.stated.shortCode ?? null,
      line_count: file.lineCount,
      payment_count: rows[0]?.payments ?? 0,
      opening_balance_minor: file.ends?.openingMinor ?? null,
      closing_balance_minor: file.ends?.closingMinor ?? null,
      paid_in_minor: file.paidInMinor,
      withdrawn_minor: file.withdrawnMinor,
      stated_opening_balance_minor: file.stated.openingBalanceMinor ?? null,
      stated_closing_balance_minor: file.stated.closingBalanceMinor ?? null,
      stated_paid_in_minor: file.stated.paidInMinor ?? null,
      stated_withdrawn_minor: file.stated.withdrawnMinor ?? null,
      first_completed_at: file.firstCompletedAt,
      last_completed_at: file.lastCompletedAt,
      period_start: file.firstCompletedAt && businessDay(file.firstCompletedAt, timeZone),
      period_end: file.lastCompletedAt && businessDay(file.lastCompletedAt, timeZone),
    })
    .where('id', '=', id)
    .execute();
}

export async function findIdOfFile(db: Db, sha256: Buffer): Promise<number | undefined> {
  const row = await db
    .selectFrom('provider_statements')
    .select('id')
    .where('content_sha256', '=', sha256)
    .executeTakeFirst();
  return row?.id;
}

export async function findIdsAtWork(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('provider_statements')
    .select('id')
    .where('status', 'in', STATUSES_WITH_JOB)
    .execute();
  return rows.map(({ id }) => id);
}

interface Reconciling {
  by: Pick<Actor, 'userId' | 'apiKey'>;
  date: PlainDate;
}

/** Changes the status. A new stage begins at the first line. The statement must be locked. */
export async function setStatus(
  tx: Tx,
  { id, status: from }: ProviderStatementRow,
  to: ProviderStatementStatus,
  reconciling?: Reconciling,
): Promise<void> {
  checkStatementMove(from, to);
  if (to === 'matching') {
    await tx
      .deleteFrom('provider_statement_totals')
      .where('statement_id', '=', id)
      .where('result', 'in', COMPARED_RESULTS)
      .execute();
  }
  await tx
    .updateTable('provider_statements')
    .set({
      status: to,
      ...(to === 'matching' && {
        compared_count: 0,
        compared_to_line: 0,
        searched_to_date: null,
        searched_to_payment: null,
      }),
      ...(to === 'importing' && { imported_to_line: 0 }),
      ...(to === 'reconciling' && {
        reconciled_to_line: 0,
        reconciling_by: reconciling?.by.userId ?? null,
        reconciling_api_key_id: reconciling?.by.apiKey?.id ?? null,
        reconciling_date: reconciling?.date ?? null,
      }),
      failure: null,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}

export async function recordStatementFailure(db: Db, id: number, failure: string): Promise<void> {
  await db
    .updateTable('provider_statements')
    .set({ status: 'failed', failure, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .where('status', 'in', STATUSES_WITH_JOB)
    .execute();
}
