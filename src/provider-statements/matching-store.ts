import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import type { LineRow, ProviderStatementRow } from './store.ts';

/** How the lines of a statement are compared with the books, both ways. */

/** What an earlier comparison found that the file lacks; false when nothing is left of it. */
export async function deleteMissingAtProvider(tx: Tx, id: number, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from provider_statement_lines where id in (
      select id from provider_statement_lines
      where statement_id = ${id} and result = 'missing_at_provider' limit ${limit})`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
}

/**
 * Lines among the next ones to compare whose transaction staff have recorded and the provider has not reported yet. One
 * that the provider took back is left to staff, who reverse the payment.
 */
export async function findUnreportedLines(
  db: Db,
  statement: ProviderStatementRow,
  options: { provider: string; compared: number; limit: number },
): Promise<LineRow[]> {
  const { rows } = await sql<LineRow>`
    select l.* from (
      select * from provider_statement_lines
      where statement_id = ${statement.id} and line_number > ${statement.compared_to_line} and is_payment
      order by line_number limit ${options.compared}) l
    -- Each by the index: a semi-join would read all payments.
    cross join lateral (
      select from payments p
      where p.reference_key = l.receipt and p.reference_key is not null and p.status <> 'reversed' and p.provider is null
      limit 1) manual
    where not exists (
        select from notifications n where n.trans_id = l.receipt and n.provider = ${options.provider})
      and not ${isTakenBack('l.receipt')}
    order by l.line_number limit ${options.limit}`.execute(db);
  return rows;
}

/**
 * Compares the next lines with the books: by the transaction's id, or by the reference that staff entered. Only the
 * payment that is the transaction matches; a manual payment that is not linked to it is a conflict.
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
          when p.provider is null then 'conflict'
          when p.amount_minor <> b.amount_minor then 'amount_differs'
          else 'matched' end)::provider_line_result as result
      from batch b left join lateral (
        select * from (
          select id, status, amount_minor, payment_date, provider from payments
          where reference_key = b.receipt and reference_key is not null and status <> 'reversed' and provider is null
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
        attempts = 0, progressed_at = clock_timestamp(), updated_at = business_now()
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
        attempts = 0, progressed_at = clock_timestamp(), updated_at = business_now()
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
      update provider_statements set updated_at = business_now() where id in (select statement_id from found))
    select count(*) as lines from found`.execute(tx);
  return (rows[0]?.lines ?? 0) > 0;
}

/** Whether any statement has a withdrawal that takes this receipt back; where it came in later, too. */
export function isTakenBack(receipt: 'b.receipt' | 'l.receipt') {
  return sql<boolean>`exists (
    select from provider_statement_lines r where r.is_reversal and r.linked_receipt = ${sql.ref(receipt)})`;
}
