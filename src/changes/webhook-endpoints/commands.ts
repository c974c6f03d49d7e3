import { randomUUID } from 'node:crypto';
import type { Actor, Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { invalidField } from '../../core/http/errors.ts';
import { problemOfDestination } from '../../platform/outbound/destinations.ts';
import { createSender } from '../../platform/outbound/sender.ts';
import {
  messageHeaders,
  newSigningSecret,
  secretText,
  signatureOf,
} from '../../platform/outbound/standard-webhooks.ts';
import { event } from '../events/change-rules.ts';
import { audit } from '../events/change-store.ts';
import type { HorizonReader } from '../events/feed-horizon.ts';
import { checkTypeFilters, typesOf } from '../events/rules.ts';
import { isDelivered, orderKeyOf } from './delivery-rules.ts';
import { MAX_RESENT_EVENTS, type Resend } from './delivery-schema.ts';
import {
  findEventsToResend,
  findFirstEventSince,
  findLatestEvent,
  findMissingEvents,
  getDelivery,
  insertDeliveries,
  moveCursorBefore,
  saveRetries,
} from './delivery-store.ts';
import { DEFAULT_OVERLAP_SECONDS, secretsAt, withoutQuery } from './rules.ts';
import type { NewWebhookEndpoint, SecretRotation, WebhookEndpointChanges } from './schema.ts';
import * as store from './store.ts';

/** Limited, because each endpoint needs connections and statements, and gets every event of its types. */
const MAX_ENDPOINTS = 50;

/**
 * Adds an endpoint. It gets only new events.
 *
 * @returns the endpoint with its secret, which is not shown again.
 * @throws AppError VALIDATION_ERROR for an address or a type that is not allowed, or if there are `MAX_ENDPOINTS` already.
 */
export async function createEndpoint(
  context: Context,
  reader: HorizonReader,
  actor: Actor,
  body: NewWebhookEndpoint,
) {
  checkFields(context, body);
  const { url, types, description = null, inOrder = false } = body;
  const fields = { url, types, description, inOrder };
  const secret = newSigningSecret();
  const cursor = await reader.latest();
  return inTransaction(context.db, async (tx) => {
    if ((await store.countEndpoints(tx)) >= MAX_ENDPOINTS)
      throw invalidField(
        'url',
        `cannot be added, because the maximum is ${MAX_ENDPOINTS} endpoints; delete one first`,
      );
    const endpoint = await store.insertEndpoint(tx, { ...fields, secret, cursor });
    await audit(tx, actor, {
      action: 'webhook_endpoint.create',
      resource: 'webhook_endpoint',
      resourceId: endpoint.id,
      after: { ...fields, url: withoutQuery(url) },
      event: event('webhook_endpoint.created', {}),
    });
    return { ...endpoint, secret: secretText(secret) };
  });
}

/** @throws AppError NOT_FOUND; VALIDATION_ERROR for an address or a type that is not allowed. */
export async function changeEndpoint(
  context: Context,
  actor: Actor,
  id: number,
  body: WebhookEndpointChanges,
) {
  checkFields(context, body);
  const { active, ...changes } = body;
  return inTransaction(context.db, async (tx) => {
    const row = await store.lockEndpoint(tx, id);
    await store.updateEndpoint(tx, id, changes);
    if (active === true && !row.active) await store.enableEndpoint(tx, id);
    if (active === false && row.active) await store.disableEndpoint(tx, id, 'user');
    const mayWorkNow = (active === true && !row.active) || (changes.url ?? row.url) !== row.url;
    if (mayWorkNow) await store.resetFailures(tx, id, context.clock.now());
    if (changes.types) await store.deleteRetriesExcept(tx, id, typesOf(changes.types));
    await audit(tx, actor, {
      action: 'webhook_endpoint.change',
      resource: 'webhook_endpoint',
      resourceId: id,
      before: { ...row, url: withoutQuery(row.url) },
      after: { ...body, ...(body.url !== undefined && { url: withoutQuery(body.url) }) },
      event: event('webhook_endpoint.updated', { changedFields: Object.keys(body) }),
    });
    await store.waitForStartingAttempts(tx, id);
    return store.getEndpoint(tx, id);
  });
}

/** @throws AppError NOT_FOUND */
export async function deleteEndpoint(context: Context, actor: Actor, id: number): Promise<void> {
  await inTransaction(context.db, async (tx) => {
    const { url } = await store.lockEndpoint(tx, id);
    await store.markDeleted(tx, id);
    await audit(tx, actor, {
      action: 'webhook_endpoint.delete',
      resource: 'webhook_endpoint',
      resourceId: id,
      before: { url: withoutQuery(url) },
      after: { url: null },
      event: event('webhook_endpoint.deleted', {}),
    });
    await store.waitForStartingAttempts(tx, id);
  });
}

/**
 * Replaces the secret. Until the overlap ends, messages are signed with the new and with the previous secret.
 *
 * @returns the endpoint with its new secret, which is not shown again.
 * @throws AppError NOT_FOUND
 */
export async function rotateSecret(
  context: Context,
  actor: Actor,
  id: number,
  { overlapSeconds = DEFAULT_OVERLAP_SECONDS }: SecretRotation,
) {
  const secret = newSigningSecret();
  const previousUntil = new Date(context.clock.now().getTime() + overlapSeconds * 1000);
  return inTransaction(context.db, async (tx) => {
    await store.lockEndpoint(tx, id);
    await store.replaceSecret(tx, id, secret, previousUntil);
    await audit(tx, actor, {
      action: 'webhook_endpoint.rotate_secret',
      resource: 'webhook_endpoint',
      resourceId: id,
      after: { previousSecretExpiresAt: previousUntil.toISOString() },
      event: event('webhook_endpoint.secret_rotated', {}),
    });
    await store.waitForStartingAttempts(tx, id);
    return { ...(await store.getEndpoint(tx, id)), secret: secretText(secret) };
  });
}

/**
 * Sends a message of the type `test`, also to a disabled endpoint, and stores it as a delivery.
 * @throws AppError NOT_FOUND
 */
export async function testEndpoint(context: Context, id: number) {
  const { db, clock, config } = context;
  const now = clock.now();
  const body = JSON.stringify({ type: 'test', createdAt: now.toISOString(), data: {} });
  const message = { id: `msg_${id}_test_${randomUUID()}`, time: now, body };
  const sender = createSender({
    destinations: config.webhookDestinations,
    maxConnections: 1,
    timeoutMs: config.limits.deliveryMs,
  });
  const { signature, sent } = await inTransaction(db, async (tx) => {
    await store.holdChanges(tx, id);
    const endpoint = await store.getSigningEndpoint(tx, id);
    const signature = signatureOf(message, secretsAt(endpoint, now));
    return {
      signature,
      sent: sender.post({ url: endpoint.url, headers: messageHeaders(message, signature), body }),
    };
  });
  const result = await sent;
  sender.close();
  const [deliveryId] = await insertDeliveries(db, [
    {
      endpoint_id: id,
      event_id: null,
      event_type: 'test',
      message_id: message.id,
      signature,
      attempt: 1,
      outcome: isDelivered(result) ? 'delivered' : 'given_up',
      status: result.status,
      answer: result.answer,
      error: result.error,
      duration_ms: result.durationMs,
      next_attempt_at: null,
      created_at: now.toISOString(),
    },
  ]);
  if (deliveryId === undefined) throw new Error('Inserting a delivery returned no id.');
  return getDelivery(db, id, deliveryId);
}

/**
 * Delivers events of the endpoint's types again: single events, a range, or all events since an event or a time.
 *
 * @returns the number of events. Null if the range has no end: the feed is then read again from the start of the range.
 * @throws AppError NOT_FOUND, VALIDATION_ERROR for a wrong combination of fields, or a range that is too large.
 */
export async function resendEvents(context: Context, actor: Actor, id: number, body: Resend) {
  checkResend(body);
  if (body.since !== undefined && new Date(body.since) > context.clock.now())
    throw invalidField('since', 'must not be in the future');
  return inTransaction(context.db, async (tx) => {
    await checkEvents(tx, body);
    // The search scans many events. It runs before the endpoint is locked, so that deliveries continue meanwhile.
    const start =
      body.since === undefined ? body.fromEventId : await findFirstEventSince(tx, new Date(body.since));
    const { types: filters } = await store.lockEndpoint(tx, id);
    const types = typesOf(filters);
    const isOpenEnded = body.eventIds === undefined && body.toEventId === undefined;
    if (isOpenEnded && start !== undefined) await moveCursorBefore(tx, id, start);
    const eventCount = isOpenEnded ? null : await resendSome(tx, id, { ...body, types }, context.clock.now());
    await audit(tx, actor, {
      action: 'webhook_endpoint.resend',
      resource: 'webhook_endpoint',
      resourceId: id,
      after: { ...body, eventCount },
      event: event('webhook_endpoint.resend_requested', {}),
    });
    return { eventCount };
  });
}

function checkResend({ eventIds, fromEventId, toEventId, since }: Resend): void {
  const starts = [eventIds, fromEventId, since].filter((start) => start !== undefined);
  if (starts.length !== 1)
    throw invalidField('body', 'must have exactly one of eventIds, fromEventId and since');
  if (toEventId === undefined) return;
  if (fromEventId === undefined) throw invalidField('toEventId', 'requires fromEventId');
  const idCount = toEventId - fromEventId + 1;
  if (idCount < 1) throw invalidField('toEventId', 'must not be before fromEventId');
  if (idCount > MAX_RESENT_EVENTS)
    throw invalidField(
      'toEventId',
      `must be at most ${fromEventId + MAX_RESENT_EVENTS - 1}, because a range has at most ${MAX_RESENT_EVENTS} ids; omit toEventId to send without a limit`,
    );
}

/** @throws AppError VALIDATION_ERROR for an event that does not exist, or was deleted. */
async function checkEvents(tx: Tx, { eventIds = [], fromEventId }: Resend): Promise<void> {
  const [missing] = await findMissingEvents(tx, eventIds);
  if (missing !== undefined)
    throw invalidField('eventIds', `must be ids of events that are kept; there is no event ${missing}`);
  const latest = await findLatestEvent(tx);
  if (fromEventId !== undefined && fromEventId > latest)
    throw invalidField('fromEventId', `must be at most ${latest}, the id of the latest event`);
}

async function resendSome(
  tx: Tx,
  id: number,
  wanted: Resend & { types: string[] },
  now: Date,
): Promise<number> {
  const events = await findEventsToResend(tx, id, wanted);
  const retries = events.map((one) => ({
    endpoint_id: id,
    event_id: one.id,
    order_key: orderKeyOf(one),
    attempts: 0,
    first_attempt_at: null,
    next_attempt_at: now.toISOString(),
  }));
  await saveRetries(tx, id, { done: [], retries, known: [] });
  return events.length;
}

function checkFields({ config }: Context, { url, types }: { url?: string; types?: string[] }): void {
  const problem = url === undefined ? undefined : problemOfDestination(url, config.webhookDestinations);
  if (problem !== undefined) throw invalidField('url', problem);
  checkTypeFilters(types ?? []);
}
