import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { BalanceGapState, Row } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { WITHOUT_BALANCE } from '../../payments/posting/rules.ts';
import type { Gap, LateReport, Segment } from './balance-rules.ts';

/** All transactions that stored notifications before this time have ended. */
const ALL_COMMITTED = sql`business_now() - interval '1 minute'`;
/** The first run reads the notifications since this time. */
const FIRST_READ = sql`business_now() - interval '1 day'`;
/** After a period in which notifications were missed, the provider has a day to deliver them. */
const BACKLOG_ENDED = sql`business_now() - interval '1 day'`;

export type WatchRow = Row<'provider_watches'>;
export type GapRow = Row<'balance_gaps'>;

/** Adds the providers that were never watched. */
export async function insertWatches(db: Db, providers: readonly string[]): Promise<void> {
  await sql`
    insert into provider_watches (provider, read_until)
    select provider, ${FIRST_READ} from unnest(${[...providers]}::text[]) as provider
    on conflict do nothing`.execute(db);
}

export function findWatches(db: Db): Promise<WatchRow[]> {
  return db.selectFrom('provider_watches').selectAll().orderBy('provider').execute();
}

/** @returns undefined if another instance is reading the notifications of the provider. */
export function tryLockWatch(tx: Tx, provider: string): Promise<WatchRow | undefined> {
  return tx
    .selectFrom('provider_watches')
    .selectAll()
    .where('provider', '=', provider)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
}

export interface ReadNotification {
  id: number;
  received_at: string;
  raw_body: string;
  amount_minor: number | null;
  trans_time: string | null;
  business_short_code: string | null;
  /**
   * Whether the provider's balance includes the payment. Also true for a pending notification: the service posts it later, but
   * this watch does not read it again. False for a repeat of another call, which has the same balance.
   */
  isInBalance: boolean;
  /** Whether the notification is the answer to a payment request. Such answers never have a balance. */
  isAnswer: boolean;
}

/** The next notifications that the provider posted, oldest first. */
export async function readNotifications(tx: Tx, watch: WatchRow, limit: number): Promise<ReadNotification[]> {
  const { rows } = await sql<ReadNotification>`
    select id, received_at, raw_body, amount_minor, trans_time, business_short_code,
      status <> 'rejected' and outcome is distinct from 'differs' and (outcome is distinct from 'repeated' or not exists (
        select from notifications e
        where e.trans_id = n.trans_id and e.provider = n.provider and e.source = 'webhook' and e.id < n.id
          and e.payment_request_id is null and e.status <> 'rejected' and e.outcome is distinct from 'differs'
      )) as "isInBalance", payment_request_id is not null as "isAnswer"
    from notifications n
    where (received_at, id) > (${watch.read_until}::timestamptz, ${watch.read_id}::bigint)
      and received_at < ${ALL_COMMITTED} and provider = ${watch.provider} and source = 'webhook'
    order by received_at, id limit ${limit}`.execute(tx);
  return rows;
}

export async function flagWithoutBalance(tx: Tx, ids: readonly number[]): Promise<void> {
  await sql`
    update notifications set flags = array_append(flags, ${WITHOUT_BALANCE})
    where id = any(${[...ids]}::bigint[]) and not ${WITHOUT_BALANCE} = any(flags)`.execute(tx);
}

/** @param last - the last notification that was read. */
export async function recordRead(tx: Tx, provider: string, last: ReadNotification): Promise<void> {
  const { received_at: at, id } = last;
  await sql`
    update provider_watches set read_until = ${at}::timestamptz, read_id = ${id},
      last_heard_at = greatest(last_heard_at, ${at}::timestamptz)
    where provider = ${provider}`.execute(tx);
}

/** Moves `read_until` forward to ALL_COMMITTED after everything was read, so that the next read is short. */
export async function moveToPresent(tx: Tx, provider: string): Promise<void> {
  await sql`
    update provider_watches set read_until = ${ALL_COMMITTED}, read_id = 0
    where provider = ${provider} and read_until < ${ALL_COMMITTED}`.execute(tx);
}

/** The segments of a provider, by short code. */
export async function findSegments(tx: Tx, provider: string): Promise<Map<string, Segment[]>> {
  const rows = await tx
    .selectFrom('provider_balances')
    .select(['short_code', sql<StoredSegment[]>`segments`.as('segments')])
    .where('provider', '=', provider)
    .execute();
  return new Map(rows.map((row) => [row.short_code, row.segments.map(readSegment)]));
}

type StoredSegment = Record<keyof Segment, string>;

function readSegment(stored: StoredSegment): Segment {
  return {
    beforeMinor: BigInt(stored.beforeMinor),
    afterMinor: BigInt(stored.afterMinor),
    firstTime: new Date(stored.firstTime),
    lastTime: new Date(stored.lastTime),
    receivedAt: new Date(stored.receivedAt),
  };
}

export async function storeSegments(
  tx: Tx,
  provider: string,
  shortCode: string,
  segments: readonly Segment[],
): Promise<void> {
  const text = JSON.stringify(segments, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  await sql`
    insert into provider_balances (provider, short_code, segments) values (${provider}, ${shortCode}, ${text}::json)
    on conflict (provider, short_code) do update set segments = excluded.segments`.execute(tx);
}

/** @returns the id of the gap. */
export async function insertGap(tx: Tx, provider: string, shortCode: string, gap: Gap): Promise<number> {
  const { id } = await tx
    .insertInto('balance_gaps')
    .values({
      provider,
      short_code: shortCode,
      from_time: gap.fromTime,
      until_time: gap.untilTime,
      difference_minor: gap.differenceMinor,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Adds a late payment to the oldest open gap whose period contains its time, if there is one. */
export async function addLate(
  tx: Tx,
  provider: string,
  shortCode: string,
  { time, amountMinor }: LateReport,
): Promise<void> {
  await sql`
    update balance_gaps set late_minor = late_minor + ${amountMinor}
    where id = (
      select id from balance_gaps
      where provider = ${provider} and short_code = ${shortCode} and state = 'open'
        and ${time}::timestamptz between from_time and until_time
      order by id limit 1)`.execute(tx);
}

/** Makes the next pull cover the time since the start of a gap. It is due at once if the last pull did not fail. */
export async function pullAgain(tx: Tx, provider: string, shortCode: string, from: Date): Promise<void> {
  await sql`
    update provider_pulls set complete_until = least(complete_until, ${from}::timestamptz),
      next_at = case when failures_in_a_row = 0 then business_now() else next_at end
    where provider = ${provider} and short_code = ${shortCode} and complete_until is not null`.execute(tx);
}

type OpenGap = GapRow & {
  /** Payments of the period that were found by a pull or on a statement. */
  now_found_minor: string;
  /** Null if the short code was never pulled, or if the list of the period was incomplete. */
  pulled_until: string | null;
};

/** The open gaps of the last 30 days, oldest first. */
export async function findOpenGaps(db: Db, limit: number): Promise<OpenGap[]> {
  const { rows } = await sql<OpenGap>`
    select g.*, case when exists (
        select from incomplete_pulls i
        where i.provider = g.provider and i.short_code = g.short_code
          and i.until_time >= g.from_time and i.from_time <= g.until_time) then null
      else p.complete_until end as pulled_until, (
      select coalesce(sum(n.amount_minor), 0)::text from notifications n
      where n.source <> 'webhook' and n.trans_time between g.from_time and g.until_time
        and n.provider = g.provider and n.business_short_code = g.short_code
        and n.outcome in ('matched', 'unmatched', 'linked', 'conflict')
        and not exists (
          select from notifications w
          where w.trans_id = n.trans_id and w.provider = n.provider and w.source = 'webhook' and w.status <> 'rejected'
            and w.received_at <= g.created_at)) as now_found_minor
    from balance_gaps g left join provider_pulls p on p.provider = g.provider and p.short_code = g.short_code
    where g.state = 'open' and g.created_at > business_now() - interval '30 days'
    order by g.id limit ${limit}`.execute(db);
  return rows;
}

export async function recordExplanation(
  db: Db,
  id: number,
  { state, foundMinor }: { state: BalanceGapState; foundMinor: bigint },
): Promise<void> {
  await sql`
    update balance_gaps set state = ${state}, found_minor = ${foundMinor},
      explained_at = case when ${state} = 'open' then null else business_now() end
    where id = ${id} and state = 'open'`.execute(db);
}

/** When the provider last posted a notification, even if `readNotifications` has not read it yet. */
export async function findLastHeard(
  db: Db,
  { provider, read_until: readUntil, last_heard_at: known }: WatchRow,
) {
  const { rows } = await sql<{ at: string | null }>`
    select greatest(${known}::timestamptz, (
      select max(received_at) from notifications
      where received_at > ${readUntil}::timestamptz and provider = ${provider} and source = 'webhook')) as at`.execute(
    db,
  );
  return rows[0]?.at ?? null;
}

/** Counts the notifications of each period, up to the limit. */
export async function countNotifications(
  db: Db,
  provider: string,
  periods: readonly { from: Date; to: Date }[],
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ count: number }>`
    select (
      select count(*)::int from (
        select from notifications n
        where n.received_at >= period.starts and n.received_at < period.ends
          and n.provider = ${provider} and n.source = 'webhook'
        limit ${limit}) counted) as count
    from unnest(${periods.map(({ from }) => from)}::timestamptz[], ${periods.map(({ to }) => to)}::timestamptz[])
      as period (starts, ends)`.execute(db);
  return rows.map(({ count }) => count);
}

/** @returns whether the silence is new. */
export async function recordSilence(tx: Tx, provider: string, since: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update provider_watches set silent_since = ${since}, last_heard_at = greatest(last_heard_at, ${since}::timestamptz)
    where provider = ${provider} and silent_since is null`.execute(tx);
  return numAffectedRows === 1n;
}

/** @returns whether there was a silence. */
export async function endSilence(tx: Tx, provider: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update provider_watches set silent_since = null
    where provider = ${provider} and silent_since is not null`.execute(tx);
  return numAffectedRows === 1n;
}

/** Records a period that ends now, and in which notifications were missed. */
export async function recordMissed(tx: Tx, provider: string, from: string): Promise<void> {
  await sql`delete from missed_periods where until_time <= ${BACKLOG_ENDED}`.execute(tx);
  await sql`
    insert into missed_periods (provider, from_time, until_time)
    values (${provider}, ${from}::timestamptz, business_now())`.execute(tx);
}

/** The starts of missed periods whose notifications may still arrive. */
export async function findMissed(db: Db): Promise<{ provider: string; from: string }[]> {
  const { rows } = await sql<{ provider: string; from: string }>`
    select provider, from_time as "from" from missed_periods where until_time > ${BACKLOG_ENDED}`.execute(db);
  return rows;
}

export async function findSilentProviders(db: Db): Promise<string[]> {
  const { rows } = await sql<{ provider: string }>`
    select provider from provider_watches where silent_since is not null order by provider`.execute(db);
  return rows.map(({ provider }) => provider);
}

export async function countOpenGaps(db: Db): Promise<Map<string, number>> {
  const { rows } = await sql<{ provider: string; count: number }>`
    select provider, count(*)::int as count from balance_gaps where state = 'open' group by provider`.execute(
    db,
  );
  return new Map(rows.map(({ provider, count }) => [provider, count]));
}

export function listGaps(db: Db, plan: ListPlan): Promise<Page<GapRow>> {
  return fetchPage<GapRow>(db, plan, {
    select: sql`select g.* from balance_gaps g`,
    from: sql`from balance_gaps g`,
  });
}
