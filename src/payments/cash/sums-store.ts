import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';

/** How many entries a transaction adds, so that it ends soon. */
const ADDED_AT_ONCE = 100_000;

/** Clearing entries e of cash methods, with their holders: who recorded the payment, or who requested the refund; else null. */
const HELD_ENTRIES = sql`
  select e.id, e.payment_method_id, e.amount_minor, coalesce(p.import_id, m.import_id) as import_id,
    case
      when e.payment_id is not null then case when p.source = 'manual' and p.import_id is null then p.created_by end
      when m.import_id is not null then null
      when a.id is not null then a.requested_by
      else m.created_by
    end as holder_id
  from ledger_entries e
  join payment_methods pm on pm.id = e.payment_method_id and pm.cash
  left join payments p on p.id = e.payment_id
  left join credit_moves m on m.id = e.credit_move_id
  left join approvals a on a.credit_move_id = m.id`;

/** The entry up to which the sums of all cash methods are complete. It never decreases. */
export async function findSummedThrough(db: Db): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select coalesce(min(coalesce(g.through_entry_id, 0)), 0) as id
    from payment_methods m left join cash_sum_progress g on g.payment_method_id = m.id where m.cash`.execute(
    db,
  );
  return Number(rows[0]?.id ?? 0);
}

/**
 * SQL `select payment_method_id, holder_id, amount_minor …`: parts whose sum is all cash that was posted, by holder. They are the sums of
 * `cash_sums`, and the entries that are not in them yet.
 *
 * @param through - the result of `findSummedThrough`, as a value of its own so that PostgreSQL reads the entries by their ids.
 * @param holder - a condition on the column holder_id.
 */
export function postedCash(through: number, holder: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select payment_method_id, holder_id, sum_minor as amount_minor from cash_sums where holder_id ${holder}
    union all
    select e.payment_method_id, e.holder_id, e.amount_minor
    from (${HELD_ENTRIES} where e.ledger_account = 'clearing' and e.id > ${through}::bigint) e
    left join cash_sum_progress g on g.payment_method_id = e.payment_method_id
    where e.holder_id ${holder} and e.id > coalesce(g.through_entry_id, 0)`;
}

/**
 * Locks the progress of all cash methods until the end of the transaction.
 * @returns the methods. None if another instance adds to the sums, or an import is being undone.
 */
export async function lockProgress(tx: Tx): Promise<number[]> {
  await sql`
    insert into cash_sum_progress (payment_method_id) select id from payment_methods where cash on conflict do nothing`.execute(
    tx,
  );
  const { rows } = await sql<{ id: number }>`
    select g.payment_method_id as id from cash_sum_progress g join payment_methods m on m.id = g.payment_method_id and m.cash
    order by g.payment_method_id for update of g skip locked`.execute(tx);
  return rows.map(({ id }) => id);
}

/**
 * Adds the next entries of a method to its sums, if no earlier entry can still commit.
 *
 * A restored backup can contain a transaction id that its database has not reached. The transactions before it have then ended, too.
 * @returns whether the sums now contain more entries.
 */
export async function addNextEntries(tx: Tx, paymentMethodId: number): Promise<boolean> {
  const { rows } = await sql<{ from: number; through: number }>`
    select through_entry_id as "from", least(next_entry_id, through_entry_id + ${ADDED_AT_ONCE}::bigint) as through
    from cash_sum_progress
    where payment_method_id = ${paymentMethodId} and next_entry_id > through_entry_id
      and (next_transaction <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        or next_transaction > pg_snapshot_xmax(pg_current_snapshot())::text::bigint)`.execute(tx);
  const [next] = rows;
  if (!next) return false;
  await sql`
    insert into cash_sums as s (payment_method_id, holder_id, import_id, sum_minor)
    select e.payment_method_id, e.holder_id, e.import_id, sum(e.amount_minor)
    from (${HELD_ENTRIES}
      where e.ledger_account = 'clearing' and e.payment_method_id = ${paymentMethodId}::bigint
        and e.id > ${next.from}::bigint and e.id <= ${next.through}::bigint) e
    group by e.payment_method_id, e.holder_id, e.import_id
    on conflict (payment_method_id, coalesce(holder_id, 0), coalesce(import_id, 0))
    do update set sum_minor = s.sum_minor + excluded.sum_minor`.execute(tx);
  await sql`
    update cash_sum_progress set through_entry_id = ${next.through} where payment_method_id = ${paymentMethodId}`.execute(
    tx,
  );
  return true;
}

/**
 * Sets the entry up to which to add next, if all entries up to the last one are added.
 *
 * The transaction id is read after the entry, in a statement of its own. Posting locks accounts before it takes the ids of entries, so
 * each transaction that can still commit an earlier entry has a lower id.
 * @returns whether there are more entries to add.
 */
export async function setNextEntry(tx: Tx, paymentMethodId: number): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select l.id from cash_sum_progress g cross join (select max(id) as id from ledger_entries) l
    where g.payment_method_id = ${paymentMethodId} and g.next_entry_id = g.through_entry_id and l.id > g.next_entry_id`.execute(
    tx,
  );
  const [last] = rows;
  if (!last) return false;
  await sql`
    update cash_sum_progress
    set next_entry_id = ${last.id}, next_transaction = pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    where payment_method_id = ${paymentMethodId}`.execute(tx);
  return true;
}

/** Takes an import that is being undone out of the sums. Holds the lock of the sums until the end of the transaction. */
export async function deleteSumsOfImport(tx: Tx, importId: number): Promise<void> {
  await sql`select from cash_sum_progress order by payment_method_id for update`.execute(tx);
  await sql`delete from cash_sums where import_id = ${importId}`.execute(tx);
}
