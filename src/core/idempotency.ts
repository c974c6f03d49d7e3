import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import type { Context } from './context.ts';
import { type Db, deleteInBatches, inTransaction, sendLast, sqlState, type Tx } from './db.ts';
import { AppError, invalidField } from './errors.ts';
import { actorOf } from './gate.ts';

/**
 * A POST that is safe to repeat: with an `Idempotency-Key`, the answer is stored in the transaction of
 * the work, and a repeat gets the stored answer instead of a second effect.
 */

const HEADER = 'idempotency-key';
const MAX_KEY_LENGTH = 255;
const KEPT_HOURS = 24;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Does the work of a POST once for each key. The work must use the context that it is given, whose `db`
 * is the transaction when a key was sent, and set the status before it ends.
 */
export async function repeatable<Answer>(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (context: Context) => Promise<Answer>,
): Promise<Answer> {
  if (!request.routeOptions.config.repeatable) throw new Error('This route does not declare repeatable.');
  const key = readKey(request);
  if (key === undefined) return work(context);
  return inTransaction(context.db, async (tx) => {
    const claim = claimOf(context, request, key);
    if (await insertClaim(tx, claim)) {
      const answer = await work({ ...context, db: tx });
      await keepAnswer(tx, claim, reply.statusCode, answer);
      return answer;
    }
    return replay<Answer>(await getClaim(tx, claim), claim, reply);
  });
}

/** Deletes the answers that are old enough to be forgotten; the number of them. */
export function deleteOldAnswers(db: Db, now: Date, signal: AbortSignal): Promise<number> {
  const before = new Date(now.getTime() - KEPT_HOURS * 3_600_000);
  return deleteInBatches(db, signal, {
    table: 'idempotency_keys',
    where: sql`created_at < ${before}`,
  });
}

interface Claim {
  userId: number;
  path: string;
  key: string;
  bodyHash: Buffer;
}

function readKey(request: FastifyRequest): string | undefined {
  const key = request.headers[HEADER];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || key.length < 1 || key.length > MAX_KEY_LENGTH) {
    throw invalidField('Idempotency-Key', `must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  return key;
}

function claimOf({ secret }: Context, request: FastifyRequest, key: string): Claim {
  const { userId } = actorOf(request);
  if (userId === null) throw new Error('A repeatable route needs a signed-in user.');
  const path = addressOf(request);
  // Keyed, because a body may hold a password: a plain hash that is kept would let it be guessed.
  const bodyHash = createHmac('sha256', secret).update(canonical(request.body)).digest();
  return { userId, path, key, bodyHash };
}

/**
 * The route's pattern filled with the parsed parameters. A client can spell one address in many ways (percent-encoding,
 * absolute form, the version prefix), and each spelling must find the same key. Repeatable routes have no query.
 */
function addressOf({ routeOptions, params }: FastifyRequest): string {
  const values = params as Record<string, string | number>;
  return (routeOptions.url ?? '')
    .replace(/^\/api\/v1\//, '/api/')
    .replace(/:(\w+)/g, (_parameter, name: string) => encodeURIComponent(String(values[name])));
}

/** The body's JSON with sorted keys: the order in which a client writes them says nothing. */
function canonical(body: unknown): string {
  return JSON.stringify(body ?? null, (_key, value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Waits for whoever holds the key; false when that one has stored an answer. */
async function insertClaim(tx: Tx, { userId, path, key, bodyHash }: Claim): Promise<boolean> {
  const inserted = await tx
    .insertInto('idempotency_keys')
    .values({ user_id: userId, path, key, body_hash: bodyHash })
    .onConflict((conflict) => conflict.doNothing())
    .returning('key')
    .executeTakeFirst()
    .catch((error: unknown) => {
      throw sqlState(error) === LOCK_NOT_AVAILABLE ? stillRunning(error) : error;
    });
  return inserted !== undefined;
}

async function keepAnswer(
  tx: Tx,
  { userId, path, key }: Claim,
  status: number,
  answer: unknown,
): Promise<void> {
  await sendLast(
    tx,
    tx
      .updateTable('idempotency_keys')
      .set({ status, answer: JSON.stringify(answer) })
      .where('user_id', '=', userId)
      .where('path', '=', path)
      .where('key', '=', key),
  );
}

function getClaim(tx: Tx, { userId, path, key }: Claim) {
  return tx
    .selectFrom('idempotency_keys')
    .select(['body_hash', 'status', 'answer'])
    .where('user_id', '=', userId)
    .where('path', '=', path)
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
}

type StoredClaim = Awaited<ReturnType<typeof getClaim>>;

function replay<Answer>(stored: StoredClaim, { bodyHash }: Claim, reply: FastifyReply): Answer {
  if (!stored.body_hash.equals(bodyHash)) {
    throw new AppError('VALIDATION_ERROR', 'This Idempotency-Key was used with another body.', {
      status: 422,
      details: { fields: [{ path: 'Idempotency-Key', message: 'was used with another body' }] },
    });
  }
  if (stored.status === null || stored.answer === null) throw new Error('A committed key holds an answer.');
  reply.status(stored.status).header('idempotent-replayed', 'true');
  return JSON.parse(stored.answer) as Answer;
}

function stillRunning(cause: unknown): AppError {
  return new AppError('DUPLICATE_ENTRY', 'The first request with this Idempotency-Key is still running.', {
    details: { resource: 'request', field: 'Idempotency-Key' },
    retryAfterSeconds: 1,
    cause,
  });
}
