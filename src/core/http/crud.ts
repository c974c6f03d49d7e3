import type { FastifyContextConfig } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Actor, Context } from '../context.ts';
import type { Tx } from '../database/db.ts';
import { actorOf } from './access.ts';
import type { Api } from './api.ts';
import { Envelope, ListEnvelope, ok, okList, type Page } from './envelope.ts';
import { type ErrorCode, notFound, type Resource } from './errors.ts';
import { ifUnchanged } from './etags.ts';
import { IdParams } from './fields.ts';
import { answerOnce } from './idempotency.ts';

type Access = FastifyContextConfig['access'];

interface Described<Answer extends TSchema> {
  path: string;
  /** The resource in the singular: `pay plan`. The names, summaries and messages of the routes are made from it. */
  noun: string;
  answer: Answer;
}

interface ListAndCreateRoutes<Answer extends TSchema, Query extends TSchema, Body extends TSchema>
  extends Described<Answer> {
  read: { access: Access; query: Query; summary?: string };
  list(query: Static<Query>, actor: Actor): Promise<Page<Static<Answer>>>;
  creation: { access: Access; body: Body; summary?: string; errors?: ErrorCode[] };
  /** Must use the context that it receives. */
  create(context: Context, actor: Actor, body: Static<Body>): Promise<Static<Answer>>;
}

/** Adds GET and POST /<resources>. */
export function listAndCreateRoutes<Answer extends TSchema, Query extends TSchema, Body extends TSchema>(
  api: Api,
  context: Context,
  { path, noun, answer, read, list, creation, create }: ListAndCreateRoutes<Answer, Query, Body>,
): void {
  const { tags, name, withArticle } = namesOf(noun);
  const found = `${tags[0]} found.`;
  const created = `${capitalized(noun)} created.`;

  api.get(
    path,
    {
      config: { access: read.access },
      schema: {
        tags,
        operationId: `list${name}s`,
        summary: read.summary ?? `List ${noun}s`,
        querystring: read.query as TSchema,
        response: { 200: ListEnvelope<TSchema>(answer, found) },
      },
    },
    async (request) => okList(await list(request.query as Static<Query>, actorOf(request)), found),
  );

  api.post(
    path,
    {
      config: { access: creation.access, errors: creation.errors ?? ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: `create${name}`,
        summary: creation.summary ?? `Add ${withArticle}`,
        body: creation.body as TSchema,
        response: { 201: Envelope<TSchema>(answer, created) },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const data = await create(txContext, actorOf(request), request.body as Static<Body>);
        reply.status(201);
        return ok(data, created);
      }),
  );
}

interface GetRoute<Answer extends TSchema, Query extends TSchema> extends Described<Answer> {
  resource: Resource;
  access: Access;
  query?: Query;
  editable: NonNullable<FastifyContextConfig['editable']>;
  find(id: number, query: Static<Query>): Promise<Static<Answer> | undefined>;
}

/** Adds GET /<resources>/{id}. @returns the function that makes its answers. */
export function getRoute<Answer extends TSchema, Query extends TSchema>(
  api: Api,
  { path, noun, answer, resource, access, query, editable, find }: GetRoute<Answer, Query>,
) {
  const { tags, name, withArticle } = namesOf(noun);
  const found = `${capitalized(noun)} found.`;

  async function read(id: number, _actor: Actor, query: Static<Query>) {
    const data = await find(id, query);
    if (data === undefined) throw notFound(resource, id);
    return ok(data, found);
  }

  api.get(
    `${path}/:id`,
    {
      config: { access, errors: ['NOT_FOUND'], editable },
      schema: {
        tags,
        operationId: `get${name}`,
        summary: `Get ${withArticle}`,
        params: IdParams,
        ...(query && { querystring: query }),
        response: { 200: Envelope<TSchema>(answer, found) },
      },
    },
    async (request) => read(request.params.id, actorOf(request), request.query as Static<Query>),
  );
  return read;
}

interface ChangeRoute<Answer extends TSchema, Body extends TSchema> extends Described<Answer> {
  access: Access;
  errors?: ErrorCode[];
  description?: string;
  body: Body & NonNullable<FastifyContextConfig['editable']>;
  /** Locks the resource until the transaction ends. Returns at least the fields of `body`, as GET does. */
  lock(tx: Tx, id: number): Promise<object | undefined>;
  /** Must use the context that it receives. */
  change(context: Context, actor: Actor, id: number, body: Static<Body>): Promise<Static<Answer>>;
}

/** Adds PUT /<resources>/{id}. */
export function changeRoute<Answer extends TSchema, Body extends TSchema>(
  api: Api,
  context: Context,
  { path, noun, answer, access, errors, description, body, lock, change }: ChangeRoute<Answer, Body>,
): void {
  const { tags, name, withArticle } = namesOf(noun);
  const changed = `${capitalized(noun)} changed.`;
  api.put(
    `${path}/:id`,
    {
      config: { access, errors: errors ?? ['NOT_FOUND', 'DUPLICATE_ENTRY'], editable: body },
      schema: {
        tags,
        operationId: `update${name}`,
        summary: `Change ${withArticle}`,
        ...(description && { description }),
        params: IdParams,
        body: body as TSchema,
        response: { 200: Envelope<TSchema>(answer, changed) },
      },
    },
    async (request) => {
      const data = await ifUnchanged(context, request, lock, (txContext) =>
        change(txContext, actorOf(request), request.params.id, request.body as Static<Body>),
      );
      return ok(data, changed);
    },
  );
}

function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The tag, the name in operation ids, and the noun with its article, of a resource such as `pay plan`. */
export function namesOf(noun: string) {
  return {
    tags: [`${capitalized(noun)}s`],
    name: noun.split(' ').map(capitalized).join(''),
    withArticle: `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`,
  };
}
