import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Minor } from '../../core/values/money.ts';
import type { CashCountRow, HolderKey, Visible } from './rules.ts';

/** The differences of counts. That of an opening count is cash from before, unless finance said otherwise. */
export const IS_DIFFERENCE = sql`(c.number > 1 or c.is_earlier_cash is false)`;

/**
 * The committed clearing entries of a holder that no count has taken yet: of payments that the holder recorded, and of refunds that the
 * holder requested.
 *
 * Finds the entries by what is missing in `cash_count_entries`, and not by ids or times, because entries commit out of order. The
 * indexes of migration 0075 find the payments of a holder.
 */
function uncountedOf({ holderId, paymentMethodId }: HolderKey): RawBuilder<unknown> {
  const recorded = sql`p.source = 'manual' and p.created_by = ${holderId}::bigint and p.import_id is null
      and p.payment_method_id = ${paymentMethodId}::bigint`;
  return sql`
    select e.id as entry_id, e.amount_minor, e.event, e.payment_id
    from payments p
    join payment_methods pm on pm.id = p.payment_method_id and pm.cash
    join ledger_entries e on e.payment_id = p.id and e.ledger_account = 'clearing' and e.event = 'payment_received'
    where ${recorded}
      and not exists (select from cash_count_entries t where t.payment_id = p.id and t.event = 'payment_received')
    union all
    select e.id, e.amount_minor, e.event, e.payment_id
    from payments p
    join payment_methods pm on pm.id = p.payment_method_id and pm.cash
    join ledger_entries e on e.payment_id = p.id and e.ledger_account = 'clearing' and e.event = 'payment_reversed'
    where ${recorded} and p.status = 'reversed'
      and not exists (select from cash_count_entries t where t.payment_id = p.id and t.event = 'payment_reversed')
    union all
    select e.id, e.amount_minor, e.event, e.payment_id
    from (
      select m.id, m.payment_method_id, case when a.id is null then m.created_by else a.requested_by end as holder_id
      from credit_moves m left join approvals a on a.credit_move_id = m.id
      where m.to_account_id is null and m.import_id is null
    ) r
    join payment_methods pm on pm.id = r.payment_method_id and pm.cash
    join ledger_entries e on e.credit_move_id = r.id and e.ledger_account = 'clearing'
    where r.holder_id = ${holderId}::bigint and r.payment_method_id = ${paymentMethodId}::bigint
      and not exists (select from cash_count_entries t where t.entry_id = e.id)`;
}

interface Taken {
  entriesMinor: Minor;
  movesMinor: Minor;
}

/** Gives a new count all that no count of the holder has taken. The transaction has locked the holder. */
async function takeUncounted(tx: Tx, countId: number, key: HolderKey): Promise<Taken> {
  const entries = await sql<{ sum: string }>`
    with found as materialized (${uncountedOf(key)}),
    taken as (
      insert into cash_count_entries (entry_id, count_id, event, payment_id)
      select entry_id, ${countId}::bigint, event, payment_id from found)
    select coalesce(sum(amount_minor), 0)::text as sum from found`.execute(tx);
  const moves = await sql<{ sum: string }>`
    with found as materialized (
      select v.id, v.amount_minor from cash_moves v
      where v.holder_id = ${key.holderId} and v.payment_method_id = ${key.paymentMethodId}
        and not exists (select from cash_count_moves t where t.move_id = v.id)),
    taken as (insert into cash_count_moves (move_id, count_id) select id, ${countId}::bigint from found)
    select coalesce(sum(amount_minor), 0)::text as sum from found`.execute(tx);
  return { entriesMinor: BigInt(entries.rows[0]?.sum ?? 0), movesMinor: BigInt(moves.rows[0]?.sum ?? 0) };
}

export interface NewCount extends HolderKey {
  /** The number of counts before. */
  number: number;
  countedMinor: Minor;
  countedBy: number;
  /** Set for the count of a closing, which is closed at once. */
  closing?: { reason: string; confirmedBy: number };
}

/** Saves a count. The transaction has locked the holder. */
export async function insertCount(tx: Tx, { number, closing, ...count }: NewCount): Promise<CashCountRow> {
  const { holderId, paymentMethodId, countedMinor } = count;
  const { rows: ids } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('cash_counts', 'id')) as id`.execute(tx);
  const id = Number(ids[0]?.id);
  const taken = await takeUncounted(tx, id, count);
  const last = await findLastCount(tx, count);
  const previousMinor = last ? BigInt(last.counted_minor) : 0n;
  const isOpening = number === 0;
  const isClosed =
    closing !== undefined ||
    (!isOpening && countedMinor === previousMinor + taken.entriesMinor + taken.movesMinor);
  const { rows } = await sql<CashCountRow>`
    insert into cash_counts (id, holder_id, payment_method_id, number, counted_minor, previous_minor, entries_minor, moves_minor,
      status, closed_at, reason, counted_by, confirmed_by, is_earlier_cash)
    overriding system value values (${id}, ${holderId}, ${paymentMethodId}, ${number + 1}, ${countedMinor}, ${previousMinor},
      ${taken.entriesMinor}, ${taken.movesMinor}, ${isClosed ? 'closed' : 'open'}::cash_count_status,
      ${isClosed ? sql`business_now()` : null}, ${closing?.reason ?? null}, ${count.countedBy},
      ${isOpening ? (closing?.confirmedBy ?? null) : null}, ${isOpening && closing ? false : null})
    returning *`.execute(tx);
  await sql`
    update cash_holders set count_number = ${number + 1}
    where user_id = ${holderId} and payment_method_id = ${paymentMethodId}`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('Saving a count returned no row.');
  return row;
}

export async function findLastCount(db: Db, { holderId, paymentMethodId }: HolderKey) {
  const { rows } = await sql<CashCountRow>`
    select * from cash_counts where holder_id = ${holderId} and payment_method_id = ${paymentMethodId}
    order by number desc limit 1`.execute(db);
  return rows[0];
}

/** Locks the last count of a holder, which can be explained or confirmed at the same time. The transaction has locked the holder. */
export async function lockLastCount(tx: Tx, { holderId, paymentMethodId }: HolderKey) {
  const { rows } = await sql<CashCountRow>`
    select * from cash_counts where holder_id = ${holderId} and payment_method_id = ${paymentMethodId}
    order by number desc limit 1 for no key update`.execute(tx);
  return rows[0];
}

export async function lockCount(tx: Tx, id: number): Promise<CashCountRow | undefined> {
  return tx.selectFrom('cash_counts').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function endCount(
  tx: Tx,
  id: number,
  ending: { reason?: string; confirmedBy?: number; isEarlierCash?: boolean },
): Promise<CashCountRow> {
  return tx
    .updateTable('cash_counts')
    .set({
      status: 'closed',
      reason: ending.reason,
      confirmed_by: ending.confirmedBy,
      is_earlier_cash: ending.isEarlierCash,
      closed_at: sql`business_now()`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'open')
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** A count with the names of its users and its method. */
export type ListedCount = CashCountRow & {
  holder: string;
  counter: string;
  confirmer: string | null;
  method: string;
};

const COUNTS = sql`
  from cash_counts c join users h on h.id = c.holder_id join users b on b.id = c.counted_by
  left join users f on f.id = c.confirmed_by join payment_methods m on m.id = c.payment_method_id`;
const COUNT = sql<ListedCount>`
  select c.*, h.first_name || ' ' || h.last_name as holder, b.first_name || ' ' || b.last_name as counter,
    f.first_name || ' ' || f.last_name as confirmer, m.name as method ${COUNTS}`;

export function listCounts(db: Db, plan: ListPlan, visible: Visible): Promise<Page<ListedCount>> {
  return fetchPage<ListedCount>(db, plan, {
    select: COUNT,
    from: COUNTS,
    where: visible === 'all' ? [] : [sql<boolean>`c.holder_id = ${visible.userId}`],
  });
}

export async function findCount(db: Db, id: number): Promise<ListedCount | undefined> {
  const { rows } = await sql<ListedCount>`${COUNT} where c.id = ${id}`.execute(db);
  return rows[0];
}
