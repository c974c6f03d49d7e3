import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { STATUSES } from '../providers/mobilemoney-words.ts';
import { COMPARED_RESULTS } from './rules.ts';
import type { ProviderStatementRow, StatementLineRow } from './store.ts';

/** Compares the lines of a statement with payments, in both directions, and finds the lines to import or reconcile. */

/** Deletes lines that an earlier comparison added. @returns false if there was no such line. */
export async function deleteMissingAtProvider(tx: Tx, id: number, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from provider_statement_lines where id in (
      select id from provider_statement_lines
      where statement_id = ${id} and result = 'missing_at_provider' limit ${limit})`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
}

/**
 * Finds the lines, among the next lines to compare, with a payment that staff recorded and no notification reported. Excludes
 * transactions that the provider reversed, because staff must reverse the payments of these transactions.
 */
export async function findUnreportedLines(
  db: Db,
  statement: ProviderStatementRow,
  options: { provider: string; compared: number; limit: number },
): Promise<StatementLineRow[]> {
  const { rows } = await sql<StatementLineRow>`
    select l.* from (
      select * from provider_statement_lines
      where statement_id = ${statement.id} and line_number > ${statement.compared_to_line} and is_payment
      order by line_number limit ${options.compared}) l
    -- A lateral join uses the index; a semi-join would read all payments.
    cross join lateral (
      select from payments p
      where p.reference_key = l.receipt and p.reference_key is not null and p.status <> 'reversed' and p.provider is null
      limit 1) manual
    where not exists (
        select from notifications n
        where n.trans_id = l.receipt and n.provider = ${options.provider} and n.status <> 'rejected')
      and not ${isReversedByProvider('l')}
    order by l.line_number limit ${options.limit}`.execute(db);
  return rows;
}

/**
 * Compares the lines that are no payments. Their result becomes `contradictory`, or `other` again, in these cases:
 * - An own transfer has the receipt of a payment in the books.
 * - A withdrawal whose details name a payment is smaller than this payment: perhaps a part of it was taken back.
 * - Money came back from a withdrawal that had taken back a payment, and the payment is reversed in the books.
 * The statement must be locked.
 */
export async function compareOtherLines(tx: Tx, id: number, provider: string): Promise<void> {
  const paid = (receipt: RawBuilder<unknown>) => sql`
    select id, amount_minor, status from payments where provider = ${provider} and provider_trans_id = ${receipt}`;
  await sql`
    with compared as (
      select l.id, l.result as old_result, l.amount_minor, p.id as payment_id,
        case when p.id is not null then
          'the line looks like a transfer of the organisation, but payment ' || p.id || ' has its receipt' end as problem
      from provider_statement_lines l left join lateral (
        select id from payments
        where reference_key = l.receipt and reference_key is not null and status <> 'reversed' and provider is null
        union all
        select id from (${paid(sql`l.receipt`)}) linked where status <> 'reversed'
        limit 1) p on true
      where l.statement_id = ${id} and l.is_own_transfer
      union all
      select l.id, l.result, l.amount_minor, p.id,
        case when p.id is not null then
          'the details name the receipt of payment ' || p.id || ', which is larger: perhaps the provider took back a part of it' end
      from provider_statement_lines l left join lateral (${paid(sql`l.linked_receipt`)}) p
        on p.status <> 'reversed' and p.amount_minor > -l.amount_minor
      where l.statement_id = ${id} and l.is_reversal and l.is_inferred and l.linked_receipt <> l.receipt
      union all
      select l.id, l.result, l.amount_minor, p.id,
        case when p.id is not null then
          'the line gives back what ' || l.linked_receipt || ' took from payment ' || p.id
            || ', which is reversed in the books: record this payment again' end
      from provider_statement_lines l left join lateral (
        select p.id from provider_statement_lines r cross join lateral (${paid(sql`r.linked_receipt`)}) p
        where r.is_reversal and r.receipt = l.linked_receipt and p.status = 'reversed'
        limit 1) p on true
      where l.statement_id = ${id} and l.linked_receipt <> l.receipt and l.amount_minor > 0
        and l.result in ('other', 'contradictory') and lower(l.provider_status) in ${literalList(STATUSES.completed)}),
    changed as (
      select *, (case when payment_id is null then 'other' else 'contradictory' end)::provider_line_result as result
      from compared
      where (payment_id is null) <> (old_result = 'other')),
    stored as (
      update provider_statement_lines l set result = c.result, payment_id = c.payment_id, problem = c.problem
      from changed c where l.id = c.id)
    ${addToTotals(sql`
      select ${id}, result, sum(lines), sum(amount_minor) from (
        select old_result as result, -1 as lines, -amount_minor as amount_minor from changed
        union all
        select result, 1, amount_minor from changed) moved
      group by result`)}`.execute(tx);
}

/**
 * Compares the next lines with payments, by the transaction id or by the reference that staff entered. Only a payment that is
 * linked to the transaction matches. A manual payment without this link is a conflict. If several payments fit a line, prefers
 * unreversed payments, and among them the payments that the provider reported. The statement must be locked.
 * @returns false if there was no line to compare.
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
        (case when ${isReversedByProvider('b')} then 'reversed_at_provider'
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
      ${addToTotals(sql`select ${statement.id}, result, count(*), sum(amount_minor) from compared group by result`)}),
    moved as (
      update provider_statements set compared_count = compared_count + done.lines, compared_to_line = done.last_line,
        updated_at = business_now()
      from (select count(*)::integer as lines, max(line_number) as last_line from batch) done
      where id = ${statement.id} and done.lines > 0)
    select max(line_number) as "lastLine" from batch`.execute(tx);
  return rows[0]?.lastLine !== null;
}

/**
 * Reads the next payments of the statement's days. For each payment without a line in any statement, adds a line
 * `missing_at_provider`. Skips a payment whose notification has another short code, because the payment belongs to the statements
 * of that code. The statement must be locked.
 * @returns false if there was no payment to read.
 */
export async function addMissingAtProvider(
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
        and not exists (
          select from provider_statement_lines l
          where l.payment_id = b.id and (l.is_payment or l.is_own_transfer))
        -- What is left of a payment, recorded with the receipt of the withdrawal that took back the other part.
        and not exists (
          select from provider_statement_lines r
            join provider_statement_lines l on l.receipt = r.linked_receipt and l.is_payment
          where r.is_reversal and r.receipt = b.reference_key and b.provider is null
            and l.amount_minor + r.amount_minor = b.amount_minor)
        and not exists (
          select from notifications n
          where n.payment_id = b.id and n.business_short_code <> ${statement.short_code}::text)),
    stored as (
      insert into provider_statement_lines (statement_id, is_payment, result, receipt, amount_minor, payment_id)
      select ${statement.id}, false, 'missing_at_provider', reference_key, amount_minor, id
      from missing order by payment_date, id),
    added as (
      ${addToTotals(sql`
        select ${statement.id}, 'missing_at_provider', count(*), sum(amount_minor) from missing having count(*) > 0`)}),
    moved as (
      update provider_statements set searched_to_date = done.payment_date, searched_to_payment = done.id,
        updated_at = business_now()
      from (select payment_date, id from batch order by payment_date desc, id desc limit 1) done
      where provider_statements.id = ${statement.id})
    select count(*) as read from batch`.execute(tx);
  return (rows[0]?.read ?? 0) > 0;
}

/**
 * Marks the lines, also of other statements, whose payments were reversed by withdrawals of this statement. Skips lines that are
 * not compared yet, because their comparison will find the withdrawals.
 * @returns false if there was no line to mark.
 */
export async function markReversedElsewhere(tx: Tx, id: number, limit: number): Promise<boolean> {
  const { rows: affected } = await sql`
    select s.id from provider_statements s
    where s.id in (
      select l.statement_id from provider_statement_lines r join provider_statement_lines l
        on ${takesBack('l')} and l.is_payment and l.result <> 'reversed_at_provider'
      where r.statement_id = ${id} and r.is_reversal)
    order by s.id for no key update`.execute(tx);
  if (affected.length === 0) return false;
  const { rows } = await sql<{ lines: number }>`
    with found as materialized (
      select distinct on (l.id) l.id, l.statement_id, l.result, l.amount_minor
      from provider_statement_lines r
        join provider_statement_lines l
          on ${takesBack('l')} and l.is_payment and l.result <> 'reversed_at_provider'
        join provider_statements s on s.id = l.statement_id and l.line_number <= s.compared_to_line
      where r.statement_id = ${id} and r.is_reversal
      limit ${limit}),
    stored as (
      update provider_statement_lines l set result = 'reversed_at_provider' from found f where l.id = f.id),
    added as (
      ${addToTotals(sql`
        select statement_id, result, -count(*), -sum(amount_minor) from found group by statement_id, result
        union all
        select statement_id, 'reversed_at_provider', count(*), sum(amount_minor) from found group by statement_id`)}),
    moved as (
      update provider_statements set updated_at = business_now() where id in (select statement_id from found))
    select count(*) as lines from found`.execute(tx);
  return (rows[0]?.lines ?? 0) > 0;
}

/** @param counts - a query for these columns: the statement, the result, the number of lines to add, and the sum to add. */
function addToTotals(counts: RawBuilder<unknown>) {
  return sql`
    insert into provider_statement_totals as t (statement_id, result, line_count, amount_minor) ${counts}
    on conflict (statement_id, result) do update
    set line_count = t.line_count + excluded.line_count, amount_minor = t.amount_minor + excluded.amount_minor`;
}

/** Whether a withdrawal in any statement takes back the payment of this line. */
function isReversedByProvider(line: 'b' | 'l') {
  return sql<boolean>`exists (
    select from provider_statement_lines r where r.is_reversal and ${takesBack(line)})`;
}

/** Whether the withdrawal `r` takes back the payment of this line. */
function takesBack(line: 'b' | 'l') {
  const of = (column: string) => sql.ref(`${line}.${column}`);
  return sql<boolean>`r.linked_receipt = ${of('receipt')} and (not r.is_inferred or (
    r.amount_minor = -${of('amount_minor')} and (r.receipt = ${of('receipt')} or r.completed_at >= ${of('completed_at')})))`;
}

export async function findMissingLines(
  db: Db,
  statement: ProviderStatementRow,
  limit: number,
): Promise<StatementLineRow[]> {
  const { rows } = await sql<StatementLineRow>`
    select l.* from provider_statement_lines l
    where l.statement_id = ${statement.id} and l.result = 'missing_in_books'
      and l.line_number > ${statement.imported_to_line} and not ${isReversedByProvider('l')}
    order by l.line_number limit ${limit}`.execute(db);
  return rows;
}

/**
 * Adds to `imported_count` the payments that were posted from the lines up to `toLine`, in this attempt or in an earlier one that
 * failed. Leaves out payments posted from another statement. Updates nothing if another process has counted these lines already.
 */
export async function recordImported(
  db: Db,
  from: ProviderStatementRow,
  provider: string,
  toLine: number,
): Promise<void> {
  await sql`
    update provider_statements set
      imported_count = imported_count + (
        select count(*)::integer from provider_statement_lines l
        where l.statement_id = ${from.id} and l.result = 'missing_in_books'
          and l.line_number > ${from.imported_to_line} and l.line_number <= ${toLine}
          and exists (
            select from notifications n
            where n.provider = ${provider} and n.trans_id = l.receipt and n.provider_statement_id = ${from.id}
              and n.outcome in ('matched', 'unmatched'))),
      imported_to_line = ${toLine}, updated_at = business_now()
    where id = ${from.id} and status = 'importing' and imported_to_line = ${from.imported_to_line}`.execute(
    db,
  );
}

/**
 * Finds the payments of the next matched lines. Excludes payments that the provider reversed after the comparison. Also excludes
 * payments that are not linked to the transaction, which an earlier version of the service could match by the reference alone.
 */
export async function findMatchedPayments(
  tx: Tx,
  statement: ProviderStatementRow,
  limit: number,
): Promise<{ lastLine: number; paymentIds: number[] } | undefined> {
  const { rows } = await sql<{ line_number: number; payment_id: number }>`
    select l.line_number, l.payment_id
    from provider_statement_lines l join payments p on p.id = l.payment_id and p.provider_trans_id = l.receipt
    where l.statement_id = ${statement.id} and l.line_number > ${statement.reconciled_to_line}
      and l.result = 'matched' and not ${isReversedByProvider('l')}
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
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Counts the lines whose comparison with the books found a difference. */
export async function countBreaks(tx: Tx, id: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(line_count), 0)::integer as count from provider_statement_totals
    where statement_id = ${id} and result in ${literalList(COMPARED_RESULTS)} and result <> 'matched'`.execute(
    tx,
  );
  return rows[0]?.count ?? 0;
}
