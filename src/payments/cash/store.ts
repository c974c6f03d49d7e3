import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedUnique } from '../../core/database/postgres-errors.ts';
import type { UserRole } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { duplicate } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { type CashCountRow, type HandoverRow, type HolderKey, type SettlementRow, slipKey } from './rules.ts';
import { findSummedThrough, postedCash } from './sums-store.ts';

/** The differences of counts. That of an opening count is cash from before, unless finance said otherwise. */
const IS_DIFFERENCE = sql`(c.number > 1 or c.is_earlier_cash is false)`;

export interface CashMethod {
  id: number;
  name: string;
}

export async function findCashMethods(db: Db): Promise<CashMethod[]> {
  const { rows } = await sql<CashMethod>`
    select id, name from payment_methods where cash order by id`.execute(db);
  return rows;
}

/** Whether it is a method with cash. It stays one until the transaction ends: changes of methods wait for this lock, payments do not. */
export async function lockCashMethod(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql`select from payment_methods where id = ${id} and cash for key share`.execute(tx);
  return rows.length > 0;
}

/** A person who counts cash, or could. */
export interface CashUser {
  id: number;
  firstName: string;
  lastName: string;
  role: UserRole;
  active: boolean;
}

export async function findCashUser(db: Db, id: number): Promise<CashUser | undefined> {
  const { rows } = await sql<CashUser>`
    select id, first_name as "firstName", last_name as "lastName", role, active from users where id = ${id}`.execute(
    db,
  );
  return rows[0];
}

/** The holders with an opening count, to whom cash can be handed over. */
export async function findReceivers(
  db: Db,
  roles: readonly UserRole[],
): Promise<(CashUser & { paymentMethodId: number })[]> {
  const { rows } = await sql<CashUser & { paymentMethodId: number }>`
    select u.id, u.first_name as "firstName", u.last_name as "lastName", u.role, u.active,
      h.payment_method_id as "paymentMethodId"
    from cash_holders h join users u on u.id = h.user_id join payment_methods m on m.id = h.payment_method_id and m.cash
    where h.count_number > 0 and u.active and u.role = any(${[...roles]}::user_role[])
    order by u.first_name, u.last_name, u.id, h.payment_method_id`.execute(db);
  return rows;
}

/**
 * Locks a holder's cash of a method. Counts, hand-overs, settlements and closings of the holder wait for each other. Payments never
 * take this lock. To avoid deadlocks, lock several holders in the order of their ids (`lockHolders`).
 * @returns the number of counts so far.
 */
async function lockHolder(tx: Tx, { holderId, paymentMethodId }: HolderKey): Promise<number> {
  await sql`
    insert into cash_holders (user_id, payment_method_id) values (${holderId}, ${paymentMethodId})
    on conflict do nothing`.execute(tx);
  const { rows } = await sql<{ count_number: number }>`
    select count_number from cash_holders where user_id = ${holderId} and payment_method_id = ${paymentMethodId}
    for no key update`.execute(tx);
  if (!rows[0]) throw new Error('The locked holder has no row.');
  return rows[0].count_number;
}

/** Locks the cash of several holders. @returns the number of counts so far, by holder. */
export async function lockHolders(
  tx: Tx,
  holderIds: readonly number[],
  paymentMethodId: number,
): Promise<Map<number, number>> {
  const numbers = new Map<number, number>();
  for (const holderId of [...new Set(holderIds)].toSorted((a, b) => a - b)) {
    numbers.set(holderId, await lockHolder(tx, { holderId, paymentMethodId }));
  }
  return numbers;
}

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

type Visible = 'all' | { userId: number };

export interface NewHandover {
  fromUserId: number;
  paymentMethodId: number;
  /** Null: the bank. */
  toUserId: number | null;
  amountMinor: Minor;
  slipNumber: string | null;
}

/** @throws AppError DUPLICATE_ENTRY if another hand-over to the bank has the slip number. */
export async function insertHandover(tx: Tx, handover: NewHandover): Promise<HandoverRow> {
  const { slipNumber, paymentMethodId } = handover;
  const key = slipNumber === null ? null : slipKey(slipNumber);
  try {
    return await tx
      .insertInto('cash_handovers')
      .values({
        from_user_id: handover.fromUserId,
        payment_method_id: paymentMethodId,
        to_user_id: handover.toUserId,
        amount_minor: handover.amountMinor,
        slip_number: slipNumber,
        slip_key: key,
        status: handover.toUserId === null ? 'deposited' : 'pending',
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (violatedUnique(error) !== 'cash_handovers_slip') throw error;
    throw duplicate('cash_handover', 'slipNumber');
  }
}

export async function findHandoverRow(db: Db, id: number): Promise<HandoverRow | undefined> {
  return db.selectFrom('cash_handovers').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Locks a hand-over. Lock its holders first. */
export async function lockHandover(tx: Tx, id: number): Promise<HandoverRow> {
  return tx
    .selectFrom('cash_handovers')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

export interface HandoverEnding {
  status: 'received' | 'unequal' | 'withdrawn' | 'confirmed' | 'rejected';
  decidedBy: number;
  receivedMinor?: Minor;
  statementDate?: PlainDate;
  statementText?: string;
  reason?: string;
}

export function endHandover(tx: Tx, id: number, ending: HandoverEnding): Promise<HandoverRow> {
  return tx
    .updateTable('cash_handovers')
    .set({
      status: ending.status,
      decided_by: ending.decidedBy,
      decided_at: sql`business_now()`,
      received_minor: ending.receivedMinor,
      statement_date: ending.statementDate,
      statement_text: ending.statementText,
      reason: ending.reason,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', 'in', ['pending', 'deposited'])
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Locks the hand-overs from and to a holder that wait for a count of the receiver. The transaction has locked the holder. */
export async function lockPendingHandovers(tx: Tx, { holderId, paymentMethodId }: HolderKey) {
  const { rows } = await sql<HandoverRow>`
    select * from cash_handovers
    where status = 'pending' and payment_method_id = ${paymentMethodId}
      and (from_user_id = ${holderId} or to_user_id = ${holderId})
    order by id for no key update`.execute(tx);
  return rows;
}

export interface NewMove extends HolderKey {
  amountMinor: Minor;
  handoverId?: number;
  settlementId?: number;
}

/** Adds moves of cash. The transaction has locked their holders. */
export async function insertMoves(tx: Tx, moves: readonly NewMove[]): Promise<void> {
  await tx
    .insertInto('cash_moves')
    .values(
      moves.map((move) => ({
        holder_id: move.holderId,
        payment_method_id: move.paymentMethodId,
        amount_minor: move.amountMinor,
        handover_id: move.handoverId ?? null,
        settlement_id: move.settlementId ?? null,
      })),
    )
    .execute();
}

export type ListedHandover = HandoverRow & {
  giver: string;
  receiver: string | null;
  decider: string | null;
  method: string;
};

const HANDOVERS = sql`
  from cash_handovers v join users g on g.id = v.from_user_id left join users t on t.id = v.to_user_id
  left join users d on d.id = v.decided_by join payment_methods m on m.id = v.payment_method_id`;
const HANDOVER = sql<ListedHandover>`
  select v.*, g.first_name || ' ' || g.last_name as giver, t.first_name || ' ' || t.last_name as receiver,
    d.first_name || ' ' || d.last_name as decider, m.name as method ${HANDOVERS}`;

export function listHandovers(db: Db, plan: ListPlan, visible: Visible): Promise<Page<ListedHandover>> {
  return fetchPage<ListedHandover>(db, plan, {
    select: HANDOVER,
    from: HANDOVERS,
    where:
      visible === 'all'
        ? []
        : [sql<boolean>`(v.from_user_id = ${visible.userId} or v.to_user_id = ${visible.userId})`],
  });
}

export async function findHandover(db: Db, id: number): Promise<ListedHandover | undefined> {
  const { rows } = await sql<ListedHandover>`${HANDOVER} where v.id = ${id}`.execute(db);
  return rows[0];
}

/** The hand-overs of a user that have not ended: those that wait for the user, and those that the user started. */
export async function findOpenHandovers(db: Db, userId: number): Promise<ListedHandover[]> {
  const { rows } = await sql<ListedHandover>`
    ${HANDOVER} where v.status in ('pending', 'deposited') and (v.from_user_id = ${userId} or v.to_user_id = ${userId})
    order by v.id`.execute(db);
  return rows;
}

export interface NewSettlement extends HolderKey {
  kind: 'difference' | 'closing';
  amountMinor: Minor | null;
  countedMinor: Minor | null;
  reason: string;
  requestedBy: number;
}

/** @returns undefined if another settlement of the holder waits for a second person. */
export function insertSettlement(tx: Tx, settlement: NewSettlement): Promise<SettlementRow | undefined> {
  return tx
    .insertInto('cash_settlements')
    .values({
      kind: settlement.kind,
      holder_id: settlement.holderId,
      payment_method_id: settlement.paymentMethodId,
      amount_minor: settlement.amountMinor,
      counted_minor: settlement.countedMinor,
      reason: settlement.reason,
      requested_by: settlement.requestedBy,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function findSettlementRow(db: Db, id: number): Promise<SettlementRow | undefined> {
  return db.selectFrom('cash_settlements').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Locks a settlement. Lock its holder first. */
export async function lockSettlement(tx: Tx, id: number): Promise<SettlementRow> {
  return tx
    .selectFrom('cash_settlements')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

export function endSettlement(
  tx: Tx,
  id: number,
  ending: {
    status: 'confirmed' | 'rejected';
    decidedBy: number;
    amountMinor?: Minor;
    decisionReason?: string;
  },
): Promise<SettlementRow> {
  return tx
    .updateTable('cash_settlements')
    .set({
      status: ending.status,
      decided_by: ending.decidedBy,
      decided_at: sql`business_now()`,
      amount_minor: ending.amountMinor,
      decision_reason: ending.decisionReason,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'requested')
    .returningAll()
    .executeTakeFirstOrThrow();
}

export type ListedSettlement = SettlementRow & {
  holder: string;
  requester: string;
  decider: string | null;
  method: string;
};

const SETTLEMENTS = sql`
  from cash_settlements s join users h on h.id = s.holder_id join users r on r.id = s.requested_by
  left join users d on d.id = s.decided_by join payment_methods m on m.id = s.payment_method_id`;
const SETTLEMENT = sql<ListedSettlement>`
  select s.*, h.first_name || ' ' || h.last_name as holder, r.first_name || ' ' || r.last_name as requester,
    d.first_name || ' ' || d.last_name as decider, m.name as method ${SETTLEMENTS}`;

export function listSettlements(db: Db, plan: ListPlan): Promise<Page<ListedSettlement>> {
  return fetchPage<ListedSettlement>(db, plan, { select: SETTLEMENT, from: SETTLEMENTS });
}

export async function findSettlement(db: Db, id: number): Promise<ListedSettlement | undefined> {
  const { rows } = await sql<ListedSettlement>`${SETTLEMENT} where s.id = ${id}`.execute(db);
  return rows[0];
}

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

/** The sum of a holder's differences that are neither offset by other differences nor settled. */
export async function sumOpenDifference(tx: Tx, { holderId, paymentMethodId }: HolderKey): Promise<Minor> {
  const { rows } = await sql<{ sum: string }>`
    select ((select coalesce(sum(c.difference_minor), 0) from cash_counts c
        where c.holder_id = ${holderId} and c.payment_method_id = ${paymentMethodId} and ${IS_DIFFERENCE})
      - (select coalesce(sum(s.amount_minor), 0) from cash_settlements s
        where s.holder_id = ${holderId} and s.payment_method_id = ${paymentMethodId} and s.status = 'confirmed'))::text as sum`.execute(
    tx,
  );
  return BigInt(rows[0]?.sum ?? 0);
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

/**
 * Whether the cash of a payment has left the hand of its holder: the holder handed cash over since the payment was recorded, or the
 * payment is cash from before the opening count. Cash has no names, so every hand-over since then counts. A payment that corrects
 * another one is as old as the first one.
 */
export async function isHandedOver(tx: Tx, { id }: { id: number }): Promise<boolean> {
  const { rows } = await sql<{ handedOver: boolean }>`
    with recursive versions as (
      select id, created_at, corrects_payment_id from payments where id = ${id}
      union all
      select p.id, p.created_at, p.corrects_payment_id from versions v join payments p on p.id = v.corrects_payment_id
    )
    select exists (
      select from cash_moves v
      where v.holder_id = p.created_by and v.payment_method_id = p.payment_method_id and v.amount_minor < 0
        and v.created_at >= (select min(created_at) from versions)
    ) or exists (
      select from cash_count_entries t join cash_counts c on c.id = t.count_id
      where t.payment_id in (select id from versions) and t.event = 'payment_received' and c.number = 1 and c.is_earlier_cash is distinct from false
    ) as "handedOver"
    from payments p join payment_methods m on m.id = p.payment_method_id and m.cash
    where p.id = ${id} and p.source = 'manual' and p.created_by is not null and p.import_id is null`.execute(
    tx,
  );
  return rows[0]?.handedOver ?? false;
}

/** The role of the user who sent a request for approval. Null for an API key. */
export async function findRequesterRole(tx: Tx, approvalId: number): Promise<UserRole | null> {
  const { rows } = await sql<{ role: UserRole | null }>`
    select u.role from approvals a left join users u on u.id = a.requested_by where a.id = ${approvalId}`.execute(
    tx,
  );
  return rows[0]?.role ?? null;
}
