import { LRUCache } from 'lru-cache';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import { parseTimestamp, type Stopwatch } from '../../core/values/dates.ts';
import { newApiKey } from '../../core/values/secret.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { checkExpiry, checkNetworks, checkStatus, grantOf } from './rules.ts';
import type { ApiKeyChanges, ApiKeyRotation, NewApiKey } from './schema.ts';
import * as store from './store.ts';

/** @returns the key with its secret, which is not shown again. */
export async function createApiKey(context: Context, actor: Actor, sent: NewApiKey) {
  const body = withTrimmed(sent, 'name');
  const now = new Date();
  const grant = grantOf(actor, body);
  const { networks = null, expiresAt = null } = readNetworksAndExpiry(body, now);
  const { key, hash, hint } = newApiKey();
  return inTransaction(context.db, async (tx) => {
    const { name } = body;
    const id = await store.insertApiKey(tx, {
      name,
      ...grant,
      networks,
      expires_at: expiresAt,
      created_by: actor.userId,
      created_at: now,
      updated_at: now,
    });
    await store.insertSecret(tx, id, { hash, hint }, now);
    const after = { name, ...grant, networks, expiresAt, hint };
    await audit(tx, actor, {
      action: 'api_key.create',
      resource: 'api_key',
      resourceId: id,
      after,
      event: event('api_key.created', { role: grant.role }),
    });
    return { ...(await store.getApiKey(tx, id)), key };
  });
}

/** A later `expiresAt` makes an expired key work again. @throws AppError NOT_FOUND, VALIDATION_ERROR for a revoked key. */
export async function changeApiKey(context: Context, actor: Actor, id: number, sent: ApiKeyChanges) {
  const body = withTrimmed(sent, 'name');
  const now = new Date();
  const changes = readNetworksAndExpiry(body, now);
  return inTransaction(context.db, async (tx) => {
    const before = await store.lockApiKey(tx, id);
    checkStatus(before.status, ['active', 'expired']);
    const { name } = body;
    await store.updateApiKey(
      tx,
      id,
      { name, networks: changes.networks, expires_at: changes.expiresAt },
      now,
    );
    await audit(tx, actor, {
      action: 'api_key.change',
      resource: 'api_key',
      resourceId: id,
      before,
      after: { ...(name !== undefined && { name }), ...changes },
      event: event('api_key.updated', { changedFields: Object.keys(body) }),
    });
    return store.getApiKey(tx, id);
  });
}

/**
 * Gives a key a new secret. The previous secret works until the end of the overlap. All older secrets end now.
 *
 * @returns the key with its new secret, which is not shown again.
 * @throws AppError NOT_FOUND, VALIDATION_ERROR for an expired or revoked key.
 */
export async function rotateApiKey(context: Context, actor: Actor, id: number, body: ApiKeyRotation) {
  const now = new Date();
  const { overlapSeconds = 0 } = body;
  const { key, hash, hint } = newApiKey();
  return inTransaction(context.db, async (tx) => {
    const before = await store.lockApiKey(tx, id);
    checkStatus(before.status, ['active']);
    await store.replaceSecrets(tx, id, new Date(now.getTime() + overlapSeconds * 1000), now);
    await store.insertSecret(tx, id, { hash, hint }, now);
    await store.updateApiKey(tx, id, {}, now);
    const after = await store.getApiKey(tx, id);
    await audit(tx, actor, {
      action: 'api_key.rotate',
      resource: 'api_key',
      resourceId: id,
      before,
      after: { hint, previousSecretEndsAt: after.previousSecretEndsAt },
      event: event('api_key.rotated', {}),
    });
    return { ...after, key };
  });
}

/** Revoking a revoked key changes nothing. @throws AppError NOT_FOUND */
export async function revokeApiKey(context: Context, actor: Actor, id: number) {
  const now = new Date();
  return inTransaction(context.db, async (tx) => {
    const before = await store.lockApiKey(tx, id);
    if (before.status === 'revoked') return before;
    await store.updateApiKey(tx, id, { revoked_at: now }, now);
    await audit(tx, actor, {
      action: 'api_key.revoke',
      resource: 'api_key',
      resourceId: id,
      before,
      after: { status: 'revoked' },
      event: event('api_key.revoked', {}),
    });
    return store.getApiKey(tx, id);
  });
}

function readNetworksAndExpiry(
  { networks, expiresAt }: Pick<NewApiKey, 'networks' | 'expiresAt'>,
  now: Date,
) {
  const expiry = typeof expiresAt === 'string' ? (parseTimestamp(expiresAt) ?? null) : expiresAt;
  checkNetworks(networks ?? []);
  checkExpiry(expiry ?? null, now);
  return { ...(networks !== undefined && { networks }), ...(expiry !== undefined && { expiresAt: expiry }) };
}

export interface UseRecorder {
  /** Records a use of a key in the background. Requests do not wait for this. */
  record(id: number, address: string): void;
  /** Waits for the uses that are being recorded. */
  close(): Promise<void>;
}

const RECORDED_EVERY_MS = 60_000;
const MAX_RECENT_KEYS = 10_000;

/** Each instance sends at most one update a minute for each key. If several instances send one, `recordUse` writes one. */
export function createUseRecorder({ db }: Pick<Context, 'db'>, log: Log, stopwatch: Stopwatch): UseRecorder {
  const recent = new LRUCache<number, true>({
    max: MAX_RECENT_KEYS,
    ttl: RECORDED_EVERY_MS,
    ttlResolution: 0,
    perf: stopwatch,
  });
  const running = new Set<Promise<void>>();
  return {
    record(id, address) {
      if (recent.has(id)) return;
      recent.set(id, true);
      const written = store
        .recordUse(db, id, address, new Date())
        .catch((err: unknown) =>
          log.warn({ err, apiKeyId: id }, 'The last use of an API key was not recorded.'),
        )
        .finally(() => running.delete(written));
      running.add(written);
    },
    close: async () => void (await Promise.all(running)),
  };
}
