import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import type { Tx } from '../database/db.ts';
import { inTransaction } from '../database/transactions.ts';
import { AppError } from './errors.ts';
import { matchesEtag } from './negotiation.ts';
import type { HttpServer } from './server.ts';

// Two callers can read a resource, and then both change it. Each caller sends the ETag that it has read. The first change gives
// the resource a new ETag, so the second change is refused and does not overwrite the first.

interface Editable {
  readonly properties: Readonly<Record<string, unknown>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The schema of the body of PUT. Routes that read or change the resource declare this schema, and their answers have an ETag of
     * its fields.
     */
    editable?: Editable;
  }
}

export function addEtags(app: HttpServer): void {
  app.addHook('onRoute', (route) => {
    const editable = route.config?.editable;
    if (!editable || route.method === 'DELETE') return;
    route.preSerialization = async (_request, reply, payload) => {
      const { data } = payload as { data?: object };
      // The data of other answers, such as 202, is not the resource.
      if (data && reply.statusCode === 200) reply.header('etag', etagOf(data, editable));
      return payload;
    };
  });
  // Without this, a caller would believe that its change was protected.
  app.addHook('preHandler', async (request) => {
    if (request.headers['if-match'] === undefined || SAFE_METHODS.has(request.method) || request.is404)
      return;
    if (!request.routeOptions.config.editable) throw withoutEtag();
  });
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Runs a change if `If-Match` lists the ETag of the resource, or if the request has no such header. `change` must use the context
 * that it receives.
 * @param lock - locks the resource until the transaction ends. Returns the same data as GET, or undefined if there is no such
 *   resource. If it returns undefined, `change` runs and must throw NOT_FOUND.
 * @throws AppError VALIDATION_ERROR (412).
 */
export function ifUnchanged<Result>(
  context: Context,
  request: FastifyRequest<{ Params: { id: number } }>,
  lock: (tx: Tx, id: number) => Promise<object | undefined>,
  change: (context: Context) => Promise<Result>,
): Promise<Result> {
  return ifLockedUnchanged(context, request, (tx) => lock(tx, request.params.id), change);
}

/** Like `ifUnchanged`, for a resource that has no id in the path. */
export async function ifLockedUnchanged<Result>(
  context: Context,
  request: Pick<FastifyRequest, 'headers' | 'routeOptions'>,
  lock: (tx: Tx) => Promise<object | undefined>,
  change: (context: Context) => Promise<Result>,
): Promise<Result> {
  const wanted = request.headers['if-match'];
  if (wanted === undefined) return change(context);
  const { editable } = request.routeOptions.config;
  if (!editable) throw new Error('The config of this route lacks `editable`.');
  return inTransaction(context.db, async (tx) => {
    const current = await lock(tx);
    if (current && !matchesEtag(wanted, etagOf(current, editable))) throw changedSince();
    return change({ ...context, db: tx });
  });
}

export function changedSince(): AppError<'VALIDATION_ERROR'> {
  return refusedTag('is not the current ETag: the resource was changed after you read it; read it again');
}

function withoutEtag(): AppError<'VALIDATION_ERROR'> {
  return refusedTag('cannot be checked, because this request changes nothing that has an ETag; omit it');
}

function refusedTag(message: string): AppError<'VALIDATION_ERROR'> {
  return new AppError('VALIDATION_ERROR', `If-Match: ${message}`, {
    status: 412,
    details: { fields: [{ path: 'If-Match', message }] },
  });
}

/** A tag of the fields that PUT can change. Changes of other fields, such as the time of the last use, do not change the tag. */
function etagOf(data: object, { properties }: Editable): string {
  const values = data as Record<string, unknown>;
  const text = JSON.stringify(Object.keys(properties).map((name) => values[name] ?? null));
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}
