import type { FastifyContextConfig } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Actor, Context } from '../context.ts';
import type { Tx } from '../database/db.ts';
import { actorOf } from './access.ts';
import type { Api } from './api.ts';
import { namesOf } from './crud.ts';
import { Envelope, ok } from './envelope.ts';
import { changedSince, ifLockedUnchanged } from './etags.ts';
import {
  type ExternalResource,
  externalIdParams,
  findIdByExternalId,
  lockByExternalId,
  pluralOf,
} from './external-ids.ts';

interface ExternalIdRoutes<Answer extends TSchema, Query extends TSchema, Body extends TSchema> {
  answer: Answer;
  /** An external id for the API description. */
  example: string;
  access: FastifyContextConfig['access'];
  editable: NonNullable<FastifyContextConfig['editable']>;
  query?: Query;
  read(
    id: number,
    actor: Actor,
    query: Static<Query>,
  ): Promise<{ success: true; data: Static<Answer>; message: string }>;
  /** Missing if the resource has no PUT. */
  upsert?: {
    access: FastifyContextConfig['access'];
    body: Body;
    /** Locks the resource until the transaction ends. Returns the same data as GET. */
    lock(tx: Tx, id: number): Promise<object | undefined>;
    /** Must use the context that it receives. */
    run(
      context: Context,
      actor: Actor,
      externalId: string,
      body: Static<Body>,
    ): Promise<{ result: Static<Answer>; isNew: boolean }>;
  };
}

/** Adds GET and PUT /<resources>/by-external-id/{externalId}. */
export function externalIdRoutes<Answer extends TSchema, Query extends TSchema, Body extends TSchema>(
  api: Api,
  context: Context,
  resource: ExternalResource,
  { answer, example, access, editable, query, read, upsert }: ExternalIdRoutes<Answer, Query, Body>,
): void {
  const plural = pluralOf(resource);
  const path = `/${plural}/by-external-id/:externalId`;
  const params = externalIdParams(example);
  const { tags, name, withArticle } = namesOf(resource);

  api.get(
    path,
    {
      config: { access, errors: ['NOT_FOUND'], editable },
      schema: {
        tags,
        operationId: `find${name}`,
        summary: `Find ${withArticle} by external id`,
        params,
        ...(query && { querystring: query }),
        response: { 200: Envelope<TSchema>(answer, `${name} found.`) },
      },
    },
    async (request) => {
      const id = await findIdByExternalId(context.db, resource, request.params.externalId);
      return read(id, actorOf(request), request.query as Static<Query>);
    },
  );

  if (!upsert) return;
  api.put(
    path,
    {
      config: { access: upsert.access, errors: ['DUPLICATE_ENTRY'], editable },
      schema: {
        tags,
        operationId: `upsert${name}`,
        summary: `Create or change ${withArticle}`,
        description: `Safe to repeat. Creates the ${resource} with this external id (201), or changes the given fields if the ${resource} exists (200).`,
        params,
        body: upsert.body as TSchema,
        response: {
          200: Envelope<TSchema>(answer, `${name} changed.`),
          201: Envelope<TSchema>(answer, `${name} created.`),
        },
      },
    },
    async (request, reply) => {
      const body = request.body as Static<Body>;
      const { externalId } = request.params;
      const lock = async (tx: Tx) => {
        const id = await lockByExternalId(tx, resource, externalId);
        // The caller has read the resource, so it must not be created again.
        if (id === undefined) throw changedSince();
        return upsert.lock(tx, id);
      };
      const { result, isNew } = await ifLockedUnchanged(context, request, lock, (txContext) =>
        upsert.run(txContext, actorOf(request), externalId, body),
      );
      if (isNew) reply.status(201);
      return ok(result, isNew ? `${name} created.` : `${name} changed.`);
    },
  );
}
