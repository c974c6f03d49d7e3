import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import { deleteInBatches, lookUp } from '../../core/database/statements.ts';
import type { Row } from '../../core/database/tables.ts';
import { PUBLISHING_LOCK } from './change-store.ts';
import type { Sample } from './rules.ts';

/**
 * Uses `pg_sequence_last_value`, because it locks the page of the sequence. A plain select takes no such lock: it could read a
 * higher value that `nextval` stores there for a moment, and so return an id that no transaction has taken yet. The subquery on
 * `pg_locks` depends on `taken.id`, so that PostgreSQL reads the locks after the sequence.
 */
const SAMPLE = sql<Sample>`
  select (pg_postmaster_start_time(), (pg_control_checkpoint()).checkpoint_lsn)::text as server,
    coalesce(taken.id, 0) as "lastId", array(
    select l.virtualtransaction from pg_locks l
    where l.locktype = 'advisory' and l.classid = ${PUBLISHING_LOCK.classId} and l.objid = ${PUBLISHING_LOCK.objectId} and l.objsubid = 2
      and l.database = (select oid from pg_database where datname = current_database())
      and taken.id is not null) as writers
  from (select pg_sequence_last_value('audit_entries_id_seq') as id offset 0) taken`;

/** The highest event id that any transaction has taken, and the transactions that can still commit events up to this id. */
export async function readSample(db: Db): Promise<Sample> {
  const [sample] = await lookUp(db, SAMPLE);
  if (!sample) throw new Error('Reading the state of the event ids returned no row.');
  return sample;
}

export type EventRow = Row<'events'>;

/** The number of ids that one statement covers, so that the statement is quick even if few events have the requested types. */
const IDS_AT_ONCE = 10_000;

export interface EventPage {
  events: EventRow[];
  /** Between `after` and this id, `events` has all events of the wanted types. */
  toId: number;
  /** The events up to this id were deleted. */
  deletedToId: number;
}

interface PageQuery {
  /** Default: from the oldest stored event. */
  after: number | undefined;
  /** The id of the horizon, see rules.ts. */
  upTo: number;
  types: readonly string[] | undefined;
  limit: number;
}

/** The next events in the order of their ids. A page can be empty although later pages have events. */
export async function findEvents(db: Db, { after, upTo, types, limit }: PageQuery): Promise<EventPage> {
  const from = sql`coalesce(${after ?? null}::bigint, f.deleted_to_id)`;
  const isWanted = types === undefined ? sql`true` : sql`e.type = any(${types})`;
  // Not `lookUp`, which is for a few rows: a page can return 1,000 rows, or scan 10,000 ids.
  const { rows } = await sql<{ deletedToId: number; toId: number } & (EventRow | { id: null })>`
    with feed as (
      select f.deleted_to_id, ${from} as after_id,
        greatest(${from}, least(${upTo}::bigint, ${from} + ${sql.lit(IDS_AT_ONCE)})) as to_id
      from event_feed f)
    select feed.deleted_to_id as "deletedToId", feed.to_id as "toId", e.*
    from feed left join lateral (
      select * from events e
      where e.id > feed.after_id and e.id <= feed.to_id and ${isWanted}
      order by e.id limit ${limit}) e on true`.execute(db);
  const [first] = rows;
  if (!first) throw new Error('The table event_feed has no row.');
  const events = rows.flatMap((row) => (row.id === null ? [] : [row]));
  const last = events.length === limit ? events.at(-1) : undefined;
  return { events, toId: last?.id ?? first.toId, deletedToId: first.deletedToId };
}

/** Events by their ids, in no order. An event that was deleted is missing. */
export function findEventsById(db: Db, ids: readonly number[]): Promise<EventRow[]> {
  return lookUp(db, sql<EventRow>`select * from events where id = any(${ids}::bigint[])`);
}

/**
 * Deletes the events before a time. Raises `deleted_to_id` first, so that readers that would miss an event get an error.
 * @returns the number of deleted events.
 */
export async function deleteEvents(db: Db, before: Date, signal: AbortSignal): Promise<number> {
  await sql`
    update event_feed set deleted_to_id = old.id
    from (select max(id) as id from events where id < coalesce(
      (select id from events where created_at >= ${before} order by id limit 1), ${Number.MAX_SAFE_INTEGER})) old
    where old.id > deleted_to_id`.execute(db);
  return deleteInBatches(db, signal, {
    table: 'events',
    where: sql`id <= (select deleted_to_id from event_feed)`,
  });
}
