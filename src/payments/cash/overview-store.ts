import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import type { UserRole } from '../../core/database/tables.ts';
import { IS_DIFFERENCE } from './count-store.ts';
import { findSummedThrough, postedCash } from './sums-store.ts';

/** The cash of a holder and a method. Sums are texts, because a sum can be larger than an exact number. */
export interface HolderRow {
  holderId: number;
  paymentMethodId: number;
  holder: string;
  role: UserRole;
  active: boolean;
  method: string;
  /** Null before the opening count. */
  countedMinor: string | null;
  countedAt: string | null;
  openCountId: number | null;
  /** The sum of what no count has taken: ledger entries and moves. */
  uncountedMinor: string;
  /** Differences that are neither offset by other differences nor settled. */
  openDifferenceMinor: string;
}

/** @param holder - a condition on the column of the holder. */
const holderFigures = (through: number, holder: RawBuilder<unknown>) => sql`
  with counts as (
    select c.holder_id, c.payment_method_id, sum(c.entries_minor + c.moves_minor) as taken,
      coalesce(sum(c.difference_minor) filter (where ${IS_DIFFERENCE}), 0) as differences
    from cash_counts c where c.holder_id ${holder} group by c.holder_id, c.payment_method_id),
  posted as (
    select holder_id, payment_method_id, sum(amount_minor) as sum from (${postedCash(through, holder)}) parts
    group by holder_id, payment_method_id),
  moved as (
    select v.holder_id, v.payment_method_id, sum(v.amount_minor) as sum from cash_moves v where v.holder_id ${holder}
    group by v.holder_id, v.payment_method_id),
  settled as (
    select s.holder_id, s.payment_method_id, sum(s.amount_minor) as sum from cash_settlements s
    where s.status = 'confirmed' and s.holder_id ${holder} group by s.holder_id, s.payment_method_id),
  holders as (
    select user_id as holder_id, payment_method_id from cash_holders where user_id ${holder}
    union select holder_id, payment_method_id from posted)
  select k.holder_id as "holderId", k.payment_method_id as "paymentMethodId",
    u.first_name || ' ' || u.last_name as holder, u.role, u.active, m.name as method,
    last.counted_minor::text as "countedMinor", last.created_at as "countedAt",
    case when last.status = 'open' then last.id end as "openCountId",
    (coalesce(p.sum, 0) + coalesce(v.sum, 0) - coalesce(c.taken, 0))::text as "uncountedMinor",
    (coalesce(c.differences, 0) - coalesce(s.sum, 0))::text as "openDifferenceMinor"
  from holders k join users u on u.id = k.holder_id
  join payment_methods m on m.id = k.payment_method_id and m.cash
  left join lateral (
    select l.id, l.status, l.counted_minor, l.created_at from cash_counts l
    where l.holder_id = k.holder_id and l.payment_method_id = k.payment_method_id order by l.number desc limit 1
  ) last on true
  left join counts c on c.holder_id = k.holder_id and c.payment_method_id = k.payment_method_id
  left join posted p on p.holder_id = k.holder_id and p.payment_method_id = k.payment_method_id
  left join moved v on v.holder_id = k.holder_id and v.payment_method_id = k.payment_method_id
  left join settled s on s.holder_id = k.holder_id and s.payment_method_id = k.payment_method_id`;

/**
 * The cash of all holders. What no count has taken is all that was posted and moved, less what the counts took. It reads the sums and the
 * entries since, and not all cash payments.
 */
export async function findHolders(db: Db): Promise<HolderRow[]> {
  const figures = holderFigures(await findSummedThrough(db), sql`is not null`);
  const { rows } = await sql<HolderRow>`
    ${figures} order by u.active desc, u.first_name, u.last_name, k.holder_id, k.payment_method_id`.execute(
    db,
  );
  return rows;
}

/** The cash of some holders, for each method. */
export async function findHolderRows(db: Db, holderIds: readonly number[]): Promise<HolderRow[]> {
  const figures = holderFigures(await findSummedThrough(db), sql`= any(${holderIds}::bigint[])`);
  const { rows } = await sql<HolderRow>`${figures} order by k.holder_id, k.payment_method_id`.execute(db);
  return rows;
}

/** Cash that no person holds: recorded by API keys and imports. One row for each method. */
export async function sumWithoutHolder(db: Db) {
  const posted = postedCash(await findSummedThrough(db), sql`is null`);
  const { rows } = await sql<{ paymentMethodId: number; method: string; sumMinor: string }>`
    select m.id as "paymentMethodId", m.name as method, sum(e.amount_minor)::text as "sumMinor"
    from (${posted}) e join payment_methods m on m.id = e.payment_method_id and m.cash
    group by m.id, m.name order by m.id`.execute(db);
  return rows;
}

/** The numbers of rows that wait for finance or for a second person. */
export async function countWaiting(db: Db) {
  const { rows } = await sql<{ openCounts: number; deposits: number; settlements: number }>`
    select (select count(*) from cash_counts where status = 'open') as "openCounts",
      (select count(*) from cash_handovers where status = 'deposited') as deposits,
      (select count(*) from cash_settlements where status = 'requested') as settlements`.execute(db);
  if (!rows[0]) throw new Error('Counting returned no row.');
  return rows[0];
}

/** The open cash-ups of a user, and the hand-overs that wait for the user's count. */
export async function countWaitingFor(db: Db, userId: number) {
  const { rows } = await sql<{ openCounts: number; toReceive: number }>`
    select (select count(*) from cash_counts where status = 'open' and holder_id = ${userId}) as "openCounts",
      (select count(*) from cash_handovers where status = 'pending' and to_user_id = ${userId}) as "toReceive"`.execute(
    db,
  );
  if (!rows[0]) throw new Error('Counting returned no row.');
  return rows[0];
}
