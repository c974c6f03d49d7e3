import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { insertRows, rowsAsJson } from '../../core/database/rows.ts';
import { deleteInBatches, run } from '../../core/database/statements.ts';
import { notFound } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Health, Outcome } from './delivery-rules.ts';
import type { WebhookDelivery } from './delivery-schema.ts';
import type { Secrets } from './rules.ts';

/** The data of an endpoint that the owner of its lease needs. */
export interface DeliverySettings extends Health, Secrets {
  id: number;
  url: string;
  types: string[];
  inOrder: boolean;
  active: boolean;
  cursor: number;
  cursorMoves: number;
  healthResets: number;
}

export interface LeasedEndpoint extends DeliverySettings {
  /** Whether webhook_retries has an event that is due. */
  hasDueRetry: boolean;
}

const SETTINGS = sql`
  id, url, types, in_order as "inOrder", active and deleted_at is null as active, secret,
  previous_secret as "previousSecret", previous_secret_expires_at as "previousSecretExpiresAt", cursor,
  cursor_moves as "cursorMoves", failures_in_a_row as "failuresInARow", failing_since as "failingSince",
  paused_until as "pausedUntil", health_resets as "healthResets"`;

const leasedColumns = (now: Date) => sql`
  ${SETTINGS}, exists (select from webhook_retries r where r.endpoint_id = webhook_endpoints.id and r.next_attempt_at <= ${now})
    as "hasDueRetry"`;

/** The right of one instance to deliver. Leases end by the clock of PostgreSQL. */
export interface Lease {
  owner: string;
  seconds: number;
}

const endOf = ({ seconds }: Lease) => sql`clock_timestamp() + ${seconds} * interval '1 second'`;

/**
 * Renews the leases of an owner and takes free leases.
 * @returns the active endpoints whose leases the owner now has. Endpoints that another transaction has locked are missing;
 *   `findOwnedEndpoints` finds them.
 */
export async function leaseEndpoints(db: Db, lease: Lease, now: Date): Promise<LeasedEndpoint[]> {
  const { owner } = lease;
  const { rows } = await sql<LeasedEndpoint>`
    update webhook_endpoints set lease_owner = ${owner}, lease_expires_at = ${endOf(lease)}
    where id in (
      select id from webhook_endpoints
      where active and deleted_at is null and (lease_owner = ${owner} or lease_expires_at is null
        or lease_expires_at < clock_timestamp())
      order by id for update skip locked)
    returning ${leasedColumns(now)}`.execute(db);
  return rows;
}

/** @returns the ids of active endpoints that still have this owner, even if the lease has expired. */
export async function findOwnedEndpoints(db: Db, owner: string, ids: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from webhook_endpoints
    where id = any(${ids}::bigint[]) and lease_owner = ${owner} and active and deleted_at is null`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}

/** @returns undefined if another instance has the lease. */
export async function findSettings(
  db: Db | Tx,
  owner: string,
  id: number,
): Promise<DeliverySettings | undefined> {
  const { rows } = await sql<DeliverySettings>`
    select ${SETTINGS} from webhook_endpoints where id = ${id} and lease_owner = ${owner}`.execute(db);
  return rows[0];
}

/** Frees an endpoint for other instances. */
export async function releaseEndpoint(db: Db, owner: string, id: number): Promise<void> {
  await sql`
    update webhook_endpoints set lease_owner = null, lease_expires_at = null
    where id = ${id} and lease_owner = ${owner}`.execute(db);
}

interface Progress extends Health {
  id: number;
  cursor: number;
  /**
   * The number of moves of the cursor when the cursor was read. If a user has moved the cursor since then, the cursor is not
   * overwritten.
   */
  cursorMoves: number;
  /** The number of resets when the health was read. If a user has reset the health since then, the health is not overwritten. */
  healthResets: number;
}

/** Renews the lease and stores progress. @returns undefined if another instance has the lease. */
export async function saveProgress(
  tx: Tx,
  lease: Lease,
  { id, cursor, cursorMoves, healthResets, failuresInARow, failingSince, pausedUntil }: Progress,
  now: Date,
): Promise<LeasedEndpoint | undefined> {
  const isCurrent = sql`health_resets = ${healthResets}`;
  const { rows } = await sql<LeasedEndpoint>`
    update webhook_endpoints set lease_expires_at = ${endOf(lease)},
      cursor = case when cursor_moves = ${cursorMoves} then greatest(cursor, ${cursor}::bigint) else cursor end,
      failures_in_a_row = case when ${isCurrent} then ${failuresInARow}::int else failures_in_a_row end,
      failing_since = case when ${isCurrent} then ${failingSince}::timestamptz else failing_since end,
      paused_until = case when ${isCurrent} then ${pausedUntil}::timestamptz else paused_until end
    where id = ${id} and lease_owner = ${lease.owner}
    returning ${leasedColumns(now)}`.execute(tx);
  return rows[0];
}

export interface DeliveryRow {
  endpoint_id: number;
  event_id: number | null;
  event_type: string;
  message_id: string;
  signature: string;
  attempt: number;
  outcome: Outcome;
  status: number | null;
  answer: string | null;
  error: string | null;
  duration_ms: number;
  next_attempt_at: string | null;
  created_at: string;
}

const DELIVERY_COLUMNS = [
  'endpoint_id',
  'event_id',
  'event_type',
  'message_id',
  'signature',
  'attempt',
  'outcome',
  'status',
  'answer',
  'error',
  'duration_ms',
  'next_attempt_at',
  'created_at',
] as const satisfies (keyof DeliveryRow)[];

const INSERT_DELIVERIES = insertRows('webhook_deliveries', DELIVERY_COLUMNS, '$1');

/** @returns the ids in the order of the rows. */
export async function insertDeliveries(db: Db, rows: readonly DeliveryRow[]): Promise<number[]> {
  if (rows.length === 0) return [];
  const inserted = await run<{ id: number }>(db, `${INSERT_DELIVERIES} returning id`, [rowsAsJson(rows)]);
  return inserted.map(({ id }) => id);
}

export interface RetryRow {
  endpoint_id: number;
  event_id: number;
  order_key: string;
  attempts: number;
  first_attempt_at: string | null;
  next_attempt_at: string;
}

/** A row of webhook_retries as it was read or written. */
export interface StoredRetry {
  eventId: number;
  /** Changes with each update of the row. */
  version: string;
}

interface RetryChanges {
  /** Events that need no more attempts. */
  done: readonly number[];
  retries: readonly RetryRow[];
  /** The rows of these events as the caller knows them. A row that a user has changed since then stays as it is. */
  known: readonly StoredRetry[];
}

/** @returns the versions of the saved retries by event id. */
export async function saveRetries(
  db: Db | Tx,
  endpointId: number,
  { done, retries, known }: RetryChanges,
): Promise<Map<number, string>> {
  if (done.length + retries.length === 0) return new Map();
  const [eventIds, versions] = [known.map(({ eventId }) => eventId), known.map(({ version }) => version)];
  const { rows } = await sql<StoredRetry>`
    with changed as (
      select r.event_id from webhook_retries r
      join unnest(${eventIds}::bigint[], ${versions}::text[]) as known (event_id, version) on known.event_id = r.event_id
      where r.endpoint_id = ${endpointId} and r.xmin::text <> known.version),
    done as (
      delete from webhook_retries where endpoint_id = ${endpointId} and event_id = any(${done}::bigint[])
        and event_id not in (select event_id from changed))
    insert into webhook_retries
    select * from json_populate_recordset(null::webhook_retries, ${rowsAsJson(retries)}::json)
    where event_id not in (select event_id from changed)
    on conflict (endpoint_id, event_id) do update
    set attempts = excluded.attempts, first_attempt_at = excluded.first_attempt_at,
      next_attempt_at = excluded.next_attempt_at
    returning event_id as "eventId", xmin::text as version`.execute(db);
  return new Map(rows.map(({ eventId, version }) => [eventId, version]));
}

interface DueRetry extends StoredRetry {
  attempts: number;
  firstAttemptAt: string | null;
}

/**
 * Due events of webhook_retries, the earliest due first. `inOrder` selects only the first event of each order key. `except` has the
 * ids of events that the caller already has.
 */
export async function findDueRetries(
  db: Db,
  { endpointId, inOrder, except, now, limit }: DueRetryQuery,
): Promise<DueRetry[]> {
  const { rows } = await sql<DueRetry>`
    select event_id as "eventId", xmin::text as version, attempts, first_attempt_at as "firstAttemptAt" from webhook_retries r
    where endpoint_id = ${endpointId} and next_attempt_at <= ${now} and event_id <> all(${except}::bigint[])
      and (not ${inOrder}::boolean or not exists (
        select from webhook_retries earlier where earlier.endpoint_id = r.endpoint_id
          and earlier.order_key = r.order_key and earlier.event_id < r.event_id))
    order by next_attempt_at, event_id limit ${limit}`.execute(db);
  return rows;
}

interface DueRetryQuery {
  endpointId: number;
  inOrder: boolean;
  except: readonly number[];
  now: Date;
  limit: number;
}

/** The order keys of all events that the endpoint has in webhook_retries. */
export async function findBlockedKeys(db: Db, endpointId: number): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    select distinct order_key as key from webhook_retries where endpoint_id = ${endpointId}`.execute(db);
  return new Set(rows.map(({ key }) => key));
}

const DELIVERY = sql<StoredDelivery>`
  select d.id, d.event_id as "eventId", d.event_type as "eventType", d.message_id as "messageId", d.signature, d.attempt,
    d.outcome, d.status, d.answer, d.error, d.duration_ms as "durationMs", d.next_attempt_at as "nextAttemptAt",
    d.created_at as "createdAt"
  from webhook_deliveries d`;

export interface StoredDelivery extends Omit<WebhookDelivery, 'requestHeaders'> {
  messageId: string;
  signature: string;
}

export function listDeliveries(db: Db, endpointId: number, plan: ListPlan) {
  return fetchPage(db, plan, {
    select: DELIVERY,
    from: sql`from webhook_deliveries d`,
    where: [sql<boolean>`d.endpoint_id = ${endpointId}`],
  });
}

/** @throws AppError NOT_FOUND */
export async function getDelivery(db: Db, endpointId: number, id: number): Promise<StoredDelivery> {
  const { rows } = await sql<StoredDelivery>`
    ${DELIVERY} where d.id = ${id} and d.endpoint_id = ${endpointId}`.execute(db);
  const [row] = rows;
  if (!row) throw notFound('webhook_delivery', id, 'deliveryId');
  return row;
}

interface EventSubject {
  id: number;
  accountId: number | null;
  resource: string;
  resourceId: number | null;
}

/** Finds single events, or a range, to deliver again. Leaves out events after the cursor, because the feed delivers them. */
export async function findEventsToResend(
  db: Db,
  endpointId: number,
  { eventIds, fromEventId, toEventId, types }: ResendQuery,
): Promise<EventSubject[]> {
  const { rows } = await sql<EventSubject>`
    select e.id, e.account_id as "accountId", e.resource, e.resource_id as "resourceId"
    from events e join webhook_endpoints w on w.id = ${endpointId} and e.id <= w.cursor
    where e.type = any(${types}) and (e.id = any(${eventIds ?? []}::bigint[])
      or e.id between ${fromEventId ?? null}::bigint and ${toEventId ?? null}::bigint)
    order by e.id`.execute(db);
  return rows;
}

interface ResendQuery {
  eventIds?: number[];
  fromEventId?: number;
  toEventId?: number;
  types: string[];
}

/** The ids for which there is no event. */
export async function findMissingEvents(db: Db, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: number }>`
    select id from unnest(${ids}::bigint[]) as given (id)
    where not exists (select from events e where e.id = given.id)`.execute(db);
  return rows.map(({ id }) => id);
}

/** @returns 0 if there are no events. */
export async function findLatestEvent(db: Db): Promise<number> {
  const { rows } = await sql<{ id: number | null }>`select max(id) as id from events`.execute(db);
  return rows[0]?.id ?? 0;
}

export async function findFirstEventSince(db: Db, since: Date): Promise<number | undefined> {
  const { rows } = await sql<{ id: number | null }>`
    select min(id) as id from events where created_at >= ${since}`.execute(db);
  return rows[0]?.id ?? undefined;
}

/**
 * Moves the cursor back, so that the given event is sent next. If it was deleted, the oldest event that still exists is next. Never
 * moves the cursor forward. Deletes the retries from the given event on, because the feed delivers these events again.
 */
export async function moveCursorBefore(tx: Tx, endpointId: number, eventId: number): Promise<void> {
  await sql`
    update webhook_endpoints set cursor_moves = cursor_moves + 1,
      cursor = least(cursor, greatest(${eventId - 1}::bigint, (select deleted_to_id from event_feed)))
    where id = ${endpointId}`.execute(tx);
  await sql`delete from webhook_retries where endpoint_id = ${endpointId} and event_id >= ${eventId}`.execute(
    tx,
  );
}

/** Figures of all endpoints for /metrics. */
interface DeliveryState {
  /** Active endpoints whose latest attempt failed. */
  failing: number;
  /** Endpoints that the service disabled. */
  disabled: number;
  /** The age of the oldest event that waits for its delivery to an active endpoint. 0 if no event waits. */
  oldestPendingSeconds: number;
}

export async function readDeliveryState(db: Db): Promise<DeliveryState> {
  const { rows } = await sql<DeliveryState>`
    select count(*) filter (where w.active and w.failing_since is not null)::int as failing,
      count(*) filter (where w.disabled_reason <> 'user')::int as disabled,
      coalesce(extract(epoch from business_now() - min(least(next.created_at, waiting.created_at))
        filter (where w.active)), 0)::float8 as "oldestPendingSeconds"
    from webhook_endpoints w
    left join lateral (select created_at from events where id > w.cursor order by id limit 1) next on true
    left join lateral (
      select created_at from events where id = (
        select min(event_id) from webhook_retries r where r.endpoint_id = w.id)) waiting on true
    where w.deleted_at is null`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('Reading the state of deliveries returned no row.');
  return row;
}

const KEPT_DAYS = 30;

/** Deletes old deliveries, the deliveries of deleted endpoints, and then these endpoints. @returns the number of deleted rows. */
export async function deleteOldDeliveries(db: Db, now: Date, signal: AbortSignal): Promise<number> {
  const before = new Date(now.getTime() - KEPT_DAYS * 86_400_000);
  const deleted = sql`endpoint_id in (select id from webhook_endpoints where deleted_at is not null)`;
  const old = await deleteInBatches(db, signal, {
    table: 'webhook_deliveries',
    where: sql`created_at < ${before}`,
  });
  const orphans = await deleteInBatches(db, signal, { table: 'webhook_deliveries', where: deleted });
  if (signal.aborted) return old + orphans;
  const endpoints = await deleteInBatches(db, signal, {
    table: 'webhook_endpoints',
    where: sql`deleted_at is not null and not exists (
      select from webhook_deliveries d where d.endpoint_id = webhook_endpoints.id)`,
  });
  return old + orphans + endpoints;
}
