import { createHmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Db, Tx } from '../database/db.ts';
import { lockName } from '../database/named-locks.ts';
import { sqlState } from '../database/postgres-errors.ts';
import { isStandbyLate } from '../database/standby.ts';
import { deleteInBatches } from '../database/statements.ts';
import type { IdempotencyKeys } from '../database/tables.ts';
import { inTransaction } from '../database/transactions.ts';
import { actorOf, nameCaller } from './access.ts';
import { AppError, invalidField } from './errors.ts';
import type { HttpServer } from './server.ts';

// A POST with an `Idempotency-Key` is safe to repeat. The transaction that does the work also stores the answer, and a repeat
// gets the stored answer.

const HEADER = 'idempotency-key';
const MAX_KEY_LENGTH = 255;
const KEPT_HOURS = 24;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Does the work of a POST once for each key. `work` must use the context that it receives. If the request has a key, the `db` of
 * this context is the transaction that stores the answer. If the status of the answer is not 200, `work` must set it.
 * Payments are posted in batches, which store the answers themselves (payments/posting/post-payments.ts).
 */
export async function answerOnce<Answer>(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (context: Context, key?: IdempotencyKey) => Promise<Answer>,
): Promise<Answer> {
  const key = await idempotencyKeyOf(context, request);
  if (key === undefined) return work(context);
  const answered = inTransaction(context.db, async (tx) => {
    if (await insertKey(tx, key)) {
      const answer = await work({ ...context, db: tx }, key);
      // If the work took longer than the time limit, the client has already received 503, and `reply` may have this status.
      const status = reply.statusCode < 400 ? reply.statusCode : 200;
      await keepAnswer(tx, key, status, answer);
      return answer;
    }
    const [stored] = await findAnswers(tx, [key]);
    if (!stored) throw new Error('A committed idempotency key has no answer.');
    const kept = readAnswer(stored, key);
    if (kept instanceof AppError) throw kept;
    return replay<Answer>(reply, kept);
  });
  return answered.catch(async (error: unknown) => {
    if (error instanceof StillRunning) throw await stillRunning(context.db, error.cause);
    throw error;
  });
}

/** Refuses an `Idempotency-Key` on routes where a repeat would do the work again. */
export function refuseUnusableKeys(app: HttpServer): void {
  app.addHook('onRequest', async ({ routeOptions, headers }) => {
    if (routeOptions.config.repeatable === false && headers[HEADER] !== undefined)
      throw invalidField(
        'Idempotency-Key',
        'is not supported by this endpoint, where a repeated request does the work again; omit it',
      );
  });
}

/** The `Idempotency-Key` of a request, with its caller, path and body. */
export interface IdempotencyKey {
  /** See `nameCaller`. */
  caller: string;
  path: string;
  key: string;
  bodyHash: Buffer;
}

/** The stored answer to a key. */
export interface KeptAnswer {
  status: number;
  /** JSON text. */
  answer: string;
}

/** @returns undefined if the request has no key. @throws AppError VALIDATION_ERROR if its length is wrong. */
export async function idempotencyKeyOf(
  { secret }: Context,
  request: FastifyRequest,
): Promise<IdempotencyKey | undefined> {
  if (!request.routeOptions.config.repeatable)
    throw new Error('The config of this route lacks `repeatable: true`.');
  const key = readKey(request);
  if (key === undefined) return undefined;
  const bodyHash = await hashOf(request.body, secret);
  return { caller: nameCaller(actorOf(request)), path: addressOf(request), key, bodyHash };
}

/** The key of one item of a request. `#` separates it from the keys of all routes, because no path contains `#`. */
export function keyOfItem(key: IdempotencyKey, index: number): IdempotencyKey {
  return { ...key, path: `${key.path}#${index}` };
}

export function lockNameOf({ caller, path, key }: IdempotencyKey): string {
  return lockName('idempotency key', `${caller} ${path} ${key}`);
}

/** The row to insert for a key and its answer. */
export function answerRow(
  { caller, path, key, bodyHash }: IdempotencyKey,
  status: number,
  answer: unknown,
): Insertable<IdempotencyKeys> {
  return { caller, path, key, body_hash: bodyHash, status, answer: JSON.stringify(answer) };
}

export async function insertAnswers(tx: Tx, rows: Insertable<IdempotencyKeys>[]): Promise<void> {
  if (rows.length > 0) await tx.insertInto('idempotency_keys').values(rows).execute();
}

/** Finds the stored answers, in the order of the keys. Undefined for a new key, and without a key. */
export async function findAnswers(
  tx: Tx,
  keys: readonly (IdempotencyKey | undefined)[],
): Promise<(StoredAnswer | undefined)[]> {
  const given = keys.flatMap((key) => key ?? []);
  if (given.length === 0) return [];
  const { rows } = await sql<StoredAnswer & { at: number }>`
    select given.at::int as at, k.body_hash, k.status, k.answer
    from unnest(${given.map(({ caller }) => caller)}::text[], ${given.map(({ path }) => path)}::text[],
      ${given.map(({ key }) => key)}::text[]) with ordinality as given (caller, path, key, at)
    join idempotency_keys k on k.caller = given.caller and k.path = given.path and k.key = given.key`.execute(
    tx,
  );
  const found = new Map(rows.map((row) => [given[row.at - 1], row]));
  return keys.map((key) => key && found.get(key));
}

export type StoredAnswer = Pick<Selectable<IdempotencyKeys>, 'body_hash' | 'status' | 'answer'>;

/** The answer to replay, or an error (422) if the key was used with another body. */
export function readAnswer(
  { body_hash: hash, status, answer }: StoredAnswer,
  key: IdempotencyKey,
): KeptAnswer | AppError {
  if (!hash.equals(key.bodyHash)) return usedWithAnotherBody();
  if (status === null || answer === null) throw new Error('A committed idempotency key has no answer.');
  return { status, answer };
}

/**
 * Refuses a key if an interrupted request with this key and another body has done a part of its work.
 * @param count - the largest number of items of a request.
 * @throws AppError VALIDATION_ERROR (422).
 */
export async function refuseOtherBody(tx: Tx, key: IdempotencyKey, count: number): Promise<void> {
  const paths = Array.from({ length: count }, (_, index) => keyOfItem(key, index).path);
  const { rows } = await sql`
    select from idempotency_keys
    where caller = ${key.caller} and path = any(${paths}::text[]) and key = ${key.key}
      and body_hash <> ${key.bodyHash}
    limit 1`.execute(tx);
  if (rows.length > 0) throw usedWithAnotherBody();
}

export function usedWithAnotherBody(): AppError {
  return new AppError('VALIDATION_ERROR', 'This Idempotency-Key was used with another body.', {
    status: 422,
    details: { fields: [{ path: 'Idempotency-Key', message: 'was used with another body' }] },
  });
}

export function replay<Answer>(reply: FastifyReply, { status, answer }: KeptAnswer): Answer {
  reply.status(status).header('idempotent-replayed', 'true');
  return JSON.parse(answer) as Answer;
}

/**
 * Clears a field of a resource in the stored answers, so that no repeat gets it again.
 * @param path - the path of the resources, such as `/api/calls`. The answers are those of this path and of paths below the resource.
 * @param since - the time of the first answer that can have the field.
 */
export async function clearInAnswers(
  tx: Tx,
  { path, id, field, since }: { path: string; id: number; field: string; since: string },
): Promise<void> {
  await sql`
    update idempotency_keys
    set answer = jsonb_set(answer::jsonb, array['data', ${field}::text], 'null', false)::text
    where created_at >= ${since}::timestamptz and answer is not null
      and (path = ${path} or path like ${`${path}/${id}/%`}) and answer::jsonb #>> '{data,id}' = ${String(id)}::text`.execute(
    tx,
  );
}

/** Deletes expired answers. @returns the number of deleted answers. */
export function deleteOldAnswers(db: Db, now: Date, signal: AbortSignal): Promise<number> {
  const before = new Date(now.getTime() - KEPT_HOURS * 3_600_000);
  return deleteInBatches(db, signal, {
    table: 'idempotency_keys',
    where: sql`created_at < ${before}`,
  });
}

function readKey(request: FastifyRequest): string | undefined {
  const key = request.headers[HEADER];
  if (key === undefined) return undefined;
  // Node joins two headers into a third key, and a repeat with one of them would do the work again.
  const names = request.raw.rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.filter((name) => name.toLowerCase() === HEADER).length > 1)
    throw invalidField('Idempotency-Key', 'must be sent once');
  if (typeof key !== 'string' || key.length < 1 || key.length > MAX_KEY_LENGTH) {
    throw invalidField('Idempotency-Key', `must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  return key;
}

/**
 * The path of the route with its parsed parameters. Clients can write the same path in many ways (percent-encoding, absolute form,
 * version prefix). All of them give the same text, so that a repeat finds its key. Repeatable routes have no query.
 */
function addressOf({ routeOptions, params }: FastifyRequest): string {
  const values = params as Record<string, string | number>;
  return (routeOptions.url ?? '')
    .replace(/^\/api\/v1\//, '/api/')
    .replace(/:(\w+)/g, (_parameter, name: string) => encodeURIComponent(String(values[name])));
}

/**
 * The HMAC of a body. With a plain hash, somebody who sees the hash could find a password of the body by guessing. A long body,
 * such as that of a bulk call, is hashed in parts, and other requests run after each part.
 */
async function hashOf(body: unknown, secret: string): Promise<Buffer> {
  const hmac = createHmac('sha256', secret);
  let text = '';
  for (const part of canonical(body ?? null)) {
    text += part;
    if (text.length < HASHED_AT_ONCE) continue;
    hmac.update(text);
    text = '';
    await setImmediate();
  }
  return hmac.update(text).digest();
}

const HASHED_AT_ONCE = 50_000;
/** Sorting more keys would take too long. No schema accepts an object with more keys. */
const MAX_SORTED_KEYS = 1_000;

/** Yields the parts of a JSON text with sorted keys, so that bodies that differ only in the order of keys have the same hash. */
function* canonical(value: unknown): Generator<string> {
  if (value === null || typeof value !== 'object') {
    yield JSON.stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (!isList && entries.length <= MAX_SORTED_KEYS) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  yield isList ? '[' : '{';
  for (const [index, [key, member]] of entries.entries()) {
    if (index > 0) yield ',';
    if (!isList) yield `${JSON.stringify(key)}:`;
    yield* canonical(member);
  }
  yield isList ? ']' : '}';
}

/** Inserts the key. Waits while another request with this key runs. @returns false if the key already has an answer. */
async function insertKey(tx: Tx, { caller, path, key, bodyHash }: IdempotencyKey): Promise<boolean> {
  const inserted = await tx
    .insertInto('idempotency_keys')
    .values({ caller, path, key, body_hash: bodyHash })
    .onConflict((conflict) => conflict.doNothing())
    .returning('key')
    .executeTakeFirst()
    .catch((error: unknown) => {
      throw sqlState(error) === LOCK_NOT_AVAILABLE ? new StillRunning(error) : error;
    });
  return inserted !== undefined;
}

async function keepAnswer(
  tx: Tx,
  { caller, path, key }: IdempotencyKey,
  status: number,
  answer: unknown,
): Promise<void> {
  await tx
    .updateTable('idempotency_keys')
    .set({ status, answer: JSON.stringify(answer) })
    .where('caller', '=', caller)
    .where('path', '=', path)
    .where('key', '=', key)
    .execute();
}

/**
 * Another transaction may be committing the work of this key, so the outcome of the work is not known yet. Usually it is the
 * transaction of a concurrent request (409). If a commit waits because no standby confirms it, the database is unavailable (503),
 * and the client has done nothing wrong.
 */
export class StillRunning extends AppError<'DUPLICATE_ENTRY' | 'INTERNAL_ERROR'> {
  constructor(cause: unknown, isUnavailable = false) {
    const message = 'The first request with this Idempotency-Key is still running.';
    if (isUnavailable) super('INTERNAL_ERROR', message, { status: 503, retryAfterSeconds: 1, cause });
    else {
      const details = { resource: 'request' as const, field: 'Idempotency-Key' };
      super('DUPLICATE_ENTRY', message, { details, retryAfterSeconds: 1, cause });
    }
  }
}

/** The error for a key that another transaction holds. */
export async function stillRunning(db: Db | Tx, cause: unknown): Promise<StillRunning> {
  return new StillRunning(cause, await isStandbyLate(db));
}
