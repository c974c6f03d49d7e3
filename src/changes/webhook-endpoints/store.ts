import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { lockName, shareLock, takeLock } from '../../core/database/named-locks.ts';
import { notFound } from '../../core/http/errors.ts';
import { columnList, fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { DisabledReason, Secrets } from './rules.ts';
import type { WebhookEndpoint } from './schema.ts';

const ENDPOINT = [
  'id',
  'url',
  'types',
  'description',
  'in_order as inOrder',
  'active',
  'disabled_reason as disabledReason',
  'disabled_at as disabledAt',
  'failing_since as failingSince',
  'paused_until as pausedUntil',
  'previous_secret_expires_at as previousSecretExpiresAt',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

interface NewEndpoint {
  url: string;
  types: string[];
  description: string | null;
  inOrder: boolean;
  secret: Buffer;
  cursor: number;
}

export async function insertEndpoint(tx: Tx, { inOrder, ...fields }: NewEndpoint): Promise<WebhookEndpoint> {
  const { id } = await tx
    .insertInto('webhook_endpoints')
    .values({ ...fields, in_order: inOrder })
    .returning('id')
    .executeTakeFirstOrThrow();
  return getEndpoint(tx, id);
}

/** @throws AppError NOT_FOUND */
export async function getEndpoint(db: Db, id: number): Promise<WebhookEndpoint> {
  const { rows } = await sql<WebhookEndpoint>`
    select ${columnList(ENDPOINT)} from webhook_endpoints w where id = ${id} and deleted_at is null`.execute(
    db,
  );
  const [row] = rows;
  if (!row) throw notFound('webhook_endpoint', id);
  return row;
}

export function listEndpoints(db: Db, plan: ListPlan) {
  return fetchPage<WebhookEndpoint>(db, plan, {
    select: sql`select ${columnList(ENDPOINT)} from webhook_endpoints w`,
    from: sql`from webhook_endpoints w`,
    where: [sql<boolean>`w.deleted_at is null`],
  });
}

export async function countEndpoints(tx: Tx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_endpoints where deleted_at is null`.execute(tx);
  return rows[0]?.count ?? 0;
}

/** The data for sending a message. @throws AppError NOT_FOUND */
export async function getSigningEndpoint(db: Db | Tx, id: number): Promise<Secrets & { url: string }> {
  const { rows } = await sql<Secrets & { url: string }>`
    select url, secret, previous_secret as "previousSecret", previous_secret_expires_at as "previousSecretExpiresAt"
    from webhook_endpoints where id = ${id} and deleted_at is null`.execute(db);
  const [row] = rows;
  if (!row) throw notFound('webhook_endpoint', id);
  return row;
}

/** The fields that a user can change. */
type EndpointSettings = Pick<WebhookEndpoint, 'url' | 'types' | 'description' | 'inOrder' | 'active'>;

/** Locks an endpoint for a change. @throws AppError NOT_FOUND */
export async function lockEndpoint(tx: Tx, id: number): Promise<EndpointSettings> {
  const row = await tx
    .selectFrom('webhook_endpoints')
    .select(['url', 'types', 'description', 'in_order as inOrder', 'active'])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw notFound('webhook_endpoint', id);
  return row;
}

/**
 * Until the transaction ends, changes of the endpoint wait in `waitForStartingAttempts`. An attempt reads the settings and starts
 * under this lock. So an attempt that starts after the answer to a change uses the changed settings, on every instance.
 */
export async function holdChanges(tx: Tx, id: number): Promise<void> {
  await shareLock(tx, settingsLock(id));
}

/**
 * Waits for attempts that have read the settings, but have not started. Call it at the end of a change, so that attempts wait
 * only for the commit. The row of the endpoint may be locked, because attempts lock no rows.
 */
export async function waitForStartingAttempts(tx: Tx, id: number): Promise<void> {
  await takeLock(tx, settingsLock(id));
}

const settingsLock = (id: number) => lockName('webhook endpoint settings', String(id));

interface Changes {
  url?: string;
  types?: string[];
  description?: string | null;
  inOrder?: boolean;
}

export async function updateEndpoint(tx: Tx, id: number, { inOrder, ...changes }: Changes): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({ ...changes, ...(inOrder !== undefined && { in_order: inOrder }), updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

/** Forgets waiting events whose types the endpoint does not get any more. */
export async function deleteRetriesExcept(tx: Tx, id: number, types: readonly string[]): Promise<void> {
  await sql`
    delete from webhook_retries r using events e
    where r.endpoint_id = ${id} and e.id = r.event_id and e.type <> all(${types})`.execute(tx);
}

/** Resets the health and the retries of an endpoint, so that waiting events are sent immediately. */
export async function resetFailures(tx: Tx, id: number, now: Date): Promise<void> {
  await sql`
    update webhook_endpoints set failures_in_a_row = 0, failing_since = null, paused_until = null,
      health_resets = health_resets + 1
    where id = ${id}`.execute(tx);
  await sql`
    update webhook_retries set attempts = 0, first_attempt_at = null, next_attempt_at = ${now}
    where endpoint_id = ${id}`.execute(tx);
}

export async function enableEndpoint(tx: Tx, id: number): Promise<void> {
  await sql`
    update webhook_endpoints set active = true, disabled_reason = null, disabled_at = null, updated_at = business_now()
    where id = ${id}`.execute(tx);
}

export async function disableEndpoint(tx: Tx, id: number, reason: DisabledReason): Promise<void> {
  await sql`
    update webhook_endpoints set active = false, disabled_reason = ${reason}, disabled_at = business_now(),
      updated_at = business_now()
    where id = ${id}`.execute(tx);
}

export async function replaceSecret(tx: Tx, id: number, secret: Buffer, previousUntil: Date): Promise<void> {
  await sql`
    update webhook_endpoints set secret = ${secret}, previous_secret = secret,
      previous_secret_expires_at = ${previousUntil}, updated_at = business_now()
    where id = ${id}`.execute(tx);
}

/** Stops deliveries. A job (`deleteOldDeliveries`) later deletes the stored deliveries of the endpoint, and then its row. */
export async function markDeleted(tx: Tx, id: number): Promise<void> {
  await sql`
    update webhook_endpoints set deleted_at = business_now(), secret = '', previous_secret = null,
      previous_secret_expires_at = null, updated_at = business_now()
    where id = ${id}`.execute(tx);
  await sql`delete from webhook_retries where endpoint_id = ${id}`.execute(tx);
}
