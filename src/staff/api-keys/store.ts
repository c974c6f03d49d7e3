import { type Insertable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { lookUp } from '../../core/database/statements.ts';
import type { ApiKeys } from '../../core/database/tables.ts';
import { notFound } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { ApiKeyStatus, PresentedKey } from './rules.ts';
import type { ApiKey } from './schema.ts';

/** Keys expire by real time, not by the business clock. Sessions and tokens do the same. */
const STATUS_NOW = sql<ApiKeyStatus>`case
  when k.revoked_at is not null then 'revoked'
  when k.expires_at <= now() then 'expired'
  else 'active' end`;

/** Searches an index for the hash. The search time can reveal parts of the hash, but a secret cannot be computed from it. */
export async function findKeyBySecret(db: Db, secretHash: Buffer): Promise<PresentedKey | undefined> {
  const [key] = await lookUp(
    db,
    sql<PresentedKey>`select k.id, k.name, k.role, k.permissions, k.networks, k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
      s.replaced_at as "replacedAt"
    from api_key_secrets s join api_keys k on k.id = s.api_key_id where s.secret_hash = ${secretHash}`,
    'sessions',
  );
  return key;
}

/** Records a use, at most once a minute for all instances together. */
export async function recordUse(db: Db, id: number, address: string, now: Date): Promise<void> {
  const aMinuteAgo = new Date(now.getTime() - 60_000);
  await sql`
    update api_keys set last_used_at = ${now}, last_used_address = ${address}
    where id = ${id} and (last_used_at is null or last_used_at <= ${aMinuteAgo})`.execute(db);
}

export async function insertApiKey(tx: Tx, key: Insertable<ApiKeys>): Promise<number> {
  const { id } = await tx.insertInto('api_keys').values(key).returning('id').executeTakeFirstOrThrow();
  return id;
}

export async function insertSecret(
  tx: Tx,
  apiKeyId: number,
  { hash, hint }: { hash: Buffer; hint: string },
  now: Date,
): Promise<void> {
  await tx
    .insertInto('api_key_secrets')
    .values({ secret_hash: hash, api_key_id: apiKeyId, hint, created_at: now })
    .execute();
}

/** Sets the end of the newest secret to `at` and ends all earlier ones now. A key therefore has at most two valid secrets. */
export async function replaceSecrets(tx: Tx, apiKeyId: number, at: Date, now: Date): Promise<void> {
  await tx
    .updateTable('api_key_secrets')
    .set({ replaced_at: sql`case when replaced_at is null then ${at} else least(replaced_at, ${now}) end` })
    .where('api_key_id', '=', apiKeyId)
    .execute();
}

export async function updateApiKey(
  tx: Tx,
  id: number,
  changes: {
    name?: string | undefined;
    networks?: string[] | null | undefined;
    expires_at?: Date | null | undefined;
    revoked_at?: Date;
  },
  now: Date,
): Promise<void> {
  await tx
    .updateTable('api_keys')
    .set({ ...changes, updated_at: now })
    .where('id', '=', id)
    .execute();
}

/** Locks a key against other changes. @throws AppError NOT_FOUND */
export async function lockApiKey(tx: Tx, id: number): Promise<ApiKey> {
  await tx.selectFrom('api_keys').select('id').where('id', '=', id).forNoKeyUpdate().execute();
  return getApiKey(tx, id);
}

const SELECT = sql<ApiKey>`
  select k.id, k.name, k.role, k.permissions, k.networks, ${STATUS_NOW} as status, s.hint,
    (select max(earlier.replaced_at) from api_key_secrets earlier where earlier.api_key_id = k.id)
      as "previousSecretEndsAt",
    k.expires_at as "expiresAt", k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt",
    k.last_used_address as "lastUsedAddress", k.created_by as "createdBy", k.created_at as "createdAt",
    k.updated_at as "updatedAt"
  from api_keys k join api_key_secrets s on s.api_key_id = k.id and s.replaced_at is null`;

export function listApiKeys(db: Db, plan: ListPlan) {
  return fetchPage(db, plan, {
    computed: { status: STATUS_NOW },
    select: SELECT,
    from: sql`from api_keys k`,
  });
}

/** @throws AppError NOT_FOUND */
export async function getApiKey(db: Db, id: number): Promise<ApiKey> {
  const { rows } = await sql<ApiKey>`${SELECT} where k.id = ${id}`.execute(db);
  const [row] = rows;
  if (!row) throw notFound('api_key', id);
  return row;
}
