import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import type { UserRole } from '../../core/database/tables.ts';
import { IS_DIFFERENCE } from './count-store.ts';

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

/** Longer than any transaction can take. Entries that commit later than a count can have an earlier time, but not by more. */
const MARGIN = sql`interval '1 day'`;

/** Refunds of cash, with who requested them. */
const REFUNDS = sql`
  select m.id, m.payment_method_id, m.amount_minor, m.created_at,
    case when a.id is null then m.created_by else a.requested_by end as holder_id
  from credit_moves m left join approvals a on a.credit_move_id = m.id
  join payment_methods pm on pm.id = m.payment_method_id and pm.cash
  where m.to_account_id is null and m.import_id is null`;

/** SQL: what a holder k recorded and refunded since a time, and no count has taken. */
const uncountedSince = (time: RawBuilder<unknown>) => sql`
  select sum(amount_minor) as sum from (
    select p.amount_minor from payments p
    where p.source = 'manual' and p.created_by = k.holder_id and p.import_id is null and p.payment_method_id = k.payment_method_id
      and p.created_at >= ${time}
      and not exists (select from cash_count_entries t where t.payment_id = p.id and t.event = 'payment_received')
    union all
    select -p.amount_minor from payments p
    where p.source = 'manual' and p.created_by = k.holder_id and p.import_id is null and p.payment_method_id = k.payment_method_id
      and p.status = 'reversed' and p.reversed_at >= ${time}
      and not exists (select from cash_count_entries t where t.payment_id = p.id and t.event = 'payment_reversed')
    union all
    select -r.amount_minor from (${REFUNDS}) r
    where r.holder_id = k.holder_id and r.payment_method_id = k.payment_method_id and r.created_at >= ${time}
      and not exists (
        select from ledger_entries e join cash_count_entries t on t.entry_id = e.id
        where e.credit_move_id = r.id and e.ledger_account = 'clearing')
  ) entries`;

/**
 * Reads the payments and refunds of a holder only since the last count, less the margin, because that count took all earlier ones. A count
 * itself takes what is missing, whatever its time, see count-store.ts. Before the opening count, all of them are read.
 *
 * @param holder - a condition on the column of the holder.
 */
const holderFigures = (holder: RawBuilder<unknown>) => sql`
  with last as materialized (
    select distinct on (c.holder_id, c.payment_method_id) c.holder_id, c.payment_method_id, c.id, c.status, c.counted_minor, c.created_at
    from cash_counts c where c.holder_id ${holder} order by c.holder_id, c.payment_method_id, c.number desc),
  holders as (
    select h.user_id as holder_id, h.payment_method_id from cash_holders h where h.user_id ${holder}
    union select r.holder_id, r.payment_method_id from (${REFUNDS}) r where r.holder_id ${holder}
    union select h.id, pm.id from users h cross join payment_methods pm cross join lateral (
      select from payments p
      where p.source = 'manual' and p.created_by = h.id and p.payment_method_id = pm.id and p.import_id is null limit 1
    ) any_payment where pm.cash and h.id ${holder}),
  moved as (
    select v.holder_id, v.payment_method_id, sum(v.amount_minor) as sum from cash_moves v
    where v.holder_id ${holder} and not exists (select from cash_count_moves t where t.move_id = v.id)
    group by v.holder_id, v.payment_method_id),
  differences as (
    select holder_id, payment_method_id, sum(amount_minor) as sum from (
      select c.holder_id, c.payment_method_id, c.difference_minor as amount_minor from cash_counts c
      where ${IS_DIFFERENCE} and c.holder_id ${holder}
      union all
      select s.holder_id, s.payment_method_id, -s.amount_minor from cash_settlements s
      where s.status = 'confirmed' and s.holder_id ${holder}
    ) parts group by holder_id, payment_method_id)
  select k.holder_id as "holderId", k.payment_method_id as "paymentMethodId",
    u.first_name || ' ' || u.last_name as holder, u.role, u.active, m.name as method,
    l.counted_minor::text as "countedMinor", l.created_at as "countedAt", case when l.status = 'open' then l.id end as "openCountId",
    (coalesce(n.sum, 0) + coalesce(v.sum, 0))::text as "uncountedMinor", coalesce(d.sum, 0)::text as "openDifferenceMinor"
  from holders k join users u on u.id = k.holder_id
  join payment_methods m on m.id = k.payment_method_id and m.cash
  left join last l on l.holder_id = k.holder_id and l.payment_method_id = k.payment_method_id
  left join moved v on v.holder_id = k.holder_id and v.payment_method_id = k.payment_method_id
  left join differences d on d.holder_id = k.holder_id and d.payment_method_id = k.payment_method_id
  cross join lateral (${uncountedSince(sql`coalesce(l.created_at - ${MARGIN}, '-infinity')`)}) n`;

/** The cash of all holders, for each method. */
export async function findHolders(db: Db): Promise<HolderRow[]> {
  const { rows } = await sql<HolderRow>`
    ${holderFigures(sql`is not null`)}
    order by u.active desc, u.first_name, u.last_name, k.holder_id, k.payment_method_id`.execute(db);
  return rows;
}

/** The cash of a holder, for each method. */
export async function findHolderRows(db: Db, holderId: number): Promise<HolderRow[]> {
  const { rows } = await sql<HolderRow>`
    ${holderFigures(sql`= ${holderId}::bigint`)} order by k.payment_method_id`.execute(db);
  return rows;
}

export interface InHandRow {
  holderId: number;
  paymentMethodId: number;
  inHandMinor: string;
}

/**
 * The cash in hand of users who have counted it within the last month. Others are left out, because reading what they recorded since then
 * could delay the transaction that asks.
 */
export async function findRecentlyCounted(db: Db, holderIds: readonly number[]): Promise<InHandRow[]> {
  const { rows } = await sql<InHandRow>`
    select k.holder_id as "holderId", k.payment_method_id as "paymentMethodId",
      (k.counted_minor + coalesce(n.sum, 0) + coalesce(v.sum, 0))::text as "inHandMinor"
    from (
      select distinct on (c.holder_id, c.payment_method_id) c.holder_id, c.payment_method_id, c.counted_minor, c.created_at
      from cash_counts c where c.holder_id = any(${holderIds}::bigint[])
      order by c.holder_id, c.payment_method_id, c.number desc
    ) k
    cross join lateral (${uncountedSince(sql`k.created_at - ${MARGIN}`)}) n
    cross join lateral (
      select sum(v.amount_minor) as sum from cash_moves v
      where v.holder_id = k.holder_id and v.payment_method_id = k.payment_method_id
        and not exists (select from cash_count_moves t where t.move_id = v.id)
    ) v
    where k.created_at > business_now() - interval '1 month'`.execute(db);
  return rows;
}

/** Cash that no person holds: recorded by API keys and imports. One row for each method. Reads all of these payments. */
export async function sumWithoutHolder(db: Db) {
  const { rows } = await sql<{ paymentMethodId: number; method: string; sumMinor: string }>`
    select m.id as "paymentMethodId", m.name as method, sum(x.amount_minor)::text as "sumMinor"
    from (
      -- A provider reports no payments of cash methods, and the index has only payments without a provider.
      select p.payment_method_id, p.amount_minor from payments p
      where p.provider is null and (p.created_by is null or p.import_id is not null) and p.status <> 'reversed'
      union all
      select r.payment_method_id, -r.amount_minor
      from credit_moves r left join approvals a on a.credit_move_id = r.id
      where r.to_account_id is null
        and (r.import_id is not null or case when a.id is null then r.created_by is null else a.requested_by is null end)
    ) x join payment_methods m on m.id = x.payment_method_id and m.cash
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

/** Everything that waits for a second person, with the people who may not decide. The literals let partial indexes be used. */
export async function findUndecided(db: Db) {
  const open = db
    .selectFrom('cash_counts')
    .where('status', '=', sql.lit('open' as const))
    .where('number', '=', 1);
  const deposited = db.selectFrom('cash_handovers').where('status', '=', sql.lit('deposited' as const));
  const requested = db.selectFrom('cash_settlements').where('status', '=', sql.lit('requested' as const));
  return {
    counts: await open.select(['status', 'number', 'holder_id', 'counted_by']).execute(),
    deposits: await deposited.select(['status', 'from_user_id']).execute(),
    settlements: await requested.select(['status', 'requested_by', 'holder_id']).execute(),
  };
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
