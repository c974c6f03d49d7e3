import { setImmediate } from 'node:timers/promises';
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { type Static, type TSchema, Type } from 'typebox';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../concurrency-limit.ts';
import type { Actor, Context } from '../context.ts';
import { type ItemResult, runInSavepoint } from '../database/batching.ts';
import { takeLock } from '../database/named-locks.ts';
import { sqlState } from '../database/postgres-errors.ts';
import { inTransaction } from '../database/transactions.ts';
import type { TimeLimits } from '../time-limits.ts';
import { actorOf, callerOf } from './access.ts';
import type { Api } from './api.ts';
import { Envelope, examplesOf, ok, Problem } from './envelope.ts';
import { AppError, duplicate, internalError } from './errors.ts';
import {
  type ExternalResource,
  type ExternalValues,
  externalFieldsOf,
  externalIdKey,
  findIdsByExternalId,
  NotTheSame,
} from './external-ids.ts';
import { Id } from './fields.ts';
import {
  answerOnce,
  answerRow,
  findAnswers,
  type IdempotencyKey,
  insertAnswers,
  keyOfItem,
  lockNameOf,
  readAnswer,
  refuseOtherBody,
  StillRunning,
} from './idempotency.ts';
import { knownError } from './server.ts';
import { type Checked, closed } from './validation.ts';

// A bulk call creates up to 1,000 items. Each item has its own outcome, as if it had been sent alone.

const MAX_ITEMS = 1_000;
/**
 * The number of items that one transaction creates. A larger transaction would delay the events of all other changes. The
 * payments of a slice fit in one batch of the posting queue, so another payment waits for at most one batch of each bulk call.
 */
const SLICE = 100;
const CHECKED_AT_ONCE = 50;
const MAX_CALLS_AT_ONCE = 2;
const MAX_WAITING = 8;

export const BULK_DESCRIPTION =
  `Up to ${MAX_ITEMS} items, each as in a single call. The answer has an outcome for each item. An item that fails does not affect ` +
  'the others. Send an Idempotency-Key. If you get no answer, for example after a crash, repeat the call with the same key: the repeat creates ' +
  'only the missing items, and returns the outcome of all items. Correct the items that failed, and send them with a new key. If the ' +
  '`externalId` of an item exists, its outcome is `existing`, and the existing row is not changed. For the rate limit, a call counts as one bulk operation.';

/**
 * Limits the concurrent bulk calls of an instance, because each call can hold a database connection until the call ends.
 * @param poolSize - the number of connections for requests.
 */
export function openBulkSlots(poolSize: number, { bulkSlotMs }: TimeLimits): ConcurrencyLimit {
  return createConcurrencyLimit({
    what: 'bulk calls',
    slots: Math.min(MAX_CALLS_AT_ONCE, Math.floor(poolSize / 2)),
    maxPerCaller: 2,
    maxWaiting: MAX_WAITING,
    waitMs: bulkSlotMs,
  });
}

/**
 * Schema of the body. It does not validate the items. The route validates each item, so that one wrong item does not make the
 * whole call fail.
 */
export function BulkBody<T extends TSchema>(item: T, title: string) {
  // Remove the examples of the item, because the example of the body contains one of them.
  const { examples: _examples, ...described } = item as T & { examples?: unknown[] };
  const unchecked = Type.Unsafe<Static<T>>({ 'x-described-as': closed(described) });
  return Type.Object(
    { items: Type.Array(unchecked, { minItems: 1, maxItems: MAX_ITEMS }) },
    { title, examples: [{ items: examplesOf(item).slice(0, 1) }] },
  );
}

/** Like `Problem`, without the schemas of the error codes, because the serializer would compare each error with all of them. */
const UncheckedProblem = Type.Unsafe<Static<typeof Problem>>({
  type: 'object',
  additionalProperties: true,
  'x-described-as': Problem,
});

const ExistingItem = Type.Object(
  {
    index: Type.Integer(),
    status: Type.Literal('existing'),
    id: { ...Id, description: 'The id of the row that already has the `externalId` of the item.' },
  },
  { title: 'ExistingItem' },
);
const FailedItem = Type.Object(
  { index: Type.Integer(), status: Type.Literal('failed'), error: UncheckedProblem },
  { title: 'FailedItem' },
);

/** @param more - further fields of a created item, beside `data`. All are lists. */
export function BulkResult<T extends TSchema>(data: T, title: string, more: Record<string, TSchema> = {}) {
  const [example] = examplesOf(data);
  return Type.Object(
    {
      created: Type.Integer({ description: 'The number of items that were created.' }),
      existing: Type.Integer({ description: 'The number of items whose `externalId` existed.' }),
      failed: Type.Integer({ description: 'The number of items that failed.' }),
      items: Type.Array(
        // One schema for all three kinds of outcome. For a union, the serializer would compare each outcome with each kind.
        Type.Object(
          {
            index: Type.Integer(),
            status: Type.String(),
            data: Type.Optional(data),
            ...Object.fromEntries(
              Object.entries(more).map(([name, schema]) => [name, Type.Optional(schema)]),
            ),
            id: Type.Optional(Id),
            error: Type.Optional(UncheckedProblem),
          },
          { 'x-described-as': Type.Union([CreatedItem(data, more), ExistingItem, FailedItem]) },
        ),
        {
          description:
            'The outcomes in the order of the items. `index` is the position of the item in the call, from 0.',
        },
      ),
    },
    {
      title,
      examples: [
        {
          ...{ created: 1, existing: 0, failed: 0 },
          items: [
            {
              ...{ index: 0, status: 'created', data: example },
              ...Object.fromEntries(Object.keys(more).map((name) => [name, []])),
            },
          ],
        },
      ],
    },
  );
}

function CreatedItem(data: TSchema, more: Record<string, TSchema>) {
  return Type.Object({ index: Type.Integer(), status: Type.Literal('created'), data, ...more });
}

/** A valid item of a bulk call, with its position. */
export interface BulkItem<Body> {
  index: number;
  body: Body;
}

interface BulkRoute<Item extends TSchema, Data> {
  access: FastifyContextConfig['access'];
  tag: string;
  operationId: string;
  summary: string;
  description?: string;
  item: Item;
  body: TSchema;
  answer: TSchema;
  /**
   * Creates the items of a slice.
   * @param key - the key of the call. `keyOfItem` derives the key of each item, so that a repeat after a crash finds the created items.
   * @returns the results in the order of the items.
   */
  create(
    actor: Actor,
    items: readonly BulkItem<Static<Item>>[],
    key: IdempotencyKey | undefined,
  ): Promise<ItemResult<Data>[]>;
  /** The fields that the answer has for a created item. Default: `data`. */
  itemOf?(created: Data): object;
}

type Outcome =
  | { index: number; status: 'created' }
  | { index: number; status: 'existing'; id: number }
  | { index: number; status: 'failed'; error: Static<typeof Problem> };

/** Adds a POST route that creates many items. With an Idempotency-Key, a repeat gets the same answer. */
export function bulkRoute<Item extends TSchema, Data>(
  api: Api,
  context: Context,
  slots: ConcurrencyLimit,
  path: string,
  {
    access,
    tag,
    item,
    body,
    answer,
    create,
    itemOf = (data) => ({ data }),
    description = BULK_DESCRIPTION,
    ...schema
  }: BulkRoute<Item, Data>,
): void {
  const { limits } = context.config;
  api.post(
    path,
    {
      bodyLimit: 4 * 1024 * 1024,
      // A slow client needs time to send the body, and the items may wait for locks of other transactions.
      config: {
        access,
        rate: 'bulk',
        repeatable: true,
        bodyTimeoutMs: limits.bulkBodyMs,
        answerTimeoutMs: limits.bulkAnswerMs,
      },
      schema: {
        ...schema,
        tags: [tag],
        description,
        body,
        response: { 200: Envelope(answer, 'Items processed.') },
      },
    },
    async (request, reply) => {
      const leave = await slots.enter(callerOf(request));
      try {
        return await answerOnce(context, request, reply, async ({ db }, key) => {
          if (key) await checkInterruptedCall(context, key);
          // In Fastify's type, a check returns a boolean. The checks of our compiler return `Checked`.
          const check = request.compileValidationSchema(item, 'body') as unknown as (
            body: unknown,
          ) => Checked;
          const { items: bodies } = request.body as { items: unknown[] };
          const checked = await checkAll(bodies, check);
          const valid = checked.flatMap((one, index) =>
            'value' in one ? [{ index, body: one.value as Static<Item> }] : [],
          );
          const results: ItemResult<Data>[] = [];
          for (let start = 0; start < valid.length; start += SLICE) {
            results.push(...(await create(actorOf(request), valid.slice(start, start + SLICE), key)));
            // Keep the transaction of the key active: PostgreSQL ends a transaction that is idle for too long.
            if (key) await sql`select 1`.execute(db);
          }
          const items = outcomesOf(request, checked, results, itemOf);
          const count = (wanted: string) => items.filter(({ status }) => status === wanted).length;
          const counts = { created: count('created'), existing: count('existing'), failed: count('failed') };
          return ok({ ...counts, items }, 'Items processed.');
        });
      } finally {
        leave();
      }
    },
  );
}

/**
 * Refuses the key if an interrupted call has used it with another body. An interrupted call leaves no row for the call itself, so
 * only the rows of its items contain the hash of its body.
 */
function checkInterruptedCall(context: Context, key: IdempotencyKey): Promise<void> {
  return inTransaction(context.db, async (tx) => {
    // Wait: the interrupted call may still be committing its last slice.
    await takeLock(tx, lockNameOf(key));
    await refuseOtherBody(tx, key, MAX_ITEMS);
  });
}

/**
 * Creates the items of a slice in one transaction. Leaves out items that an interrupted call with the same key has created, and
 * items whose external id exists. An item that fails changes nothing and does not affect the other items.
 * @param create creates items and returns their answers. It must reject only after all its statements have been answered.
 */
export function createMissing<Body extends ExternalValues, Data>(
  context: Context,
  resource: ExternalResource,
  items: readonly BulkItem<Body>[],
  key: IdempotencyKey | undefined,
  create: (context: Context, bodies: readonly Body[]) => Promise<Data[]>,
): Promise<ItemResult<Data>[]> {
  return inTransaction(context.db, async (tx) => {
    const keyed = items.map((item) => ({ ...item, key: key && keyOfItem(key, item.index) }));
    // Wait: an interrupted call may still be committing its last slice.
    if (key) await takeLock(tx, lockNameOf(key));
    const answers = await findAnswers(
      tx,
      keyed.map((item) => item.key),
    );
    const keyOf = ({ body }: BulkItem<Body>) => {
      const { externalId } = externalFieldsOf(body);
      return externalId ? externalIdKey(externalId) : undefined;
    };
    const unanswered = keyed.filter((_item, at) => !answers[at]);
    const existing = await findIdsByExternalId(
      tx,
      resource,
      unanswered.flatMap((item) => keyOf(item) ?? []),
    );
    const existingId = (item: BulkItem<Body>) => existing.get(keyOf(item) ?? '');
    const missing = unanswered.filter((item) => existingId(item) === undefined);
    const created = await runInSavepoint(tx, missing, async (some) => {
      const data = await create(
        { ...context, db: tx },
        some.map(({ body }) => body),
      );
      await insertAnswers(
        tx,
        some.flatMap((item, at) => (item.key ? answerRow(item.key, 201, data[at]) : [])),
      );
      return data;
    });
    const results = created.values();
    return keyed.map((item, at): ItemResult<Data> => {
      const stored = answers[at];
      const id = existingId(item);
      if (!stored && id !== undefined) return { error: duplicate(resource, 'externalId', id) };
      if (!stored || !item.key)
        return results.next().value ?? { error: new Error('An item of the slice has no result.') };
      const kept = readAnswer(stored, item.key);
      return kept instanceof AppError ? { error: kept } : { outcome: JSON.parse(kept.answer) as Data };
    });
  });
}

/** Checks the items in groups. Other requests can run after each group, because listing the problems of all items takes long. */
async function checkAll(bodies: readonly unknown[], check: (body: unknown) => Checked): Promise<Checked[]> {
  const checked: Checked[] = [];
  for (let start = 0; start < bodies.length; start += CHECKED_AT_ONCE) {
    checked.push(...bodies.slice(start, start + CHECKED_AT_ONCE).map(check));
    await setImmediate();
  }
  return checked;
}

/** The outcome of each item: its problems if it is invalid, otherwise its result. */
function outcomesOf<Data>(
  request: FastifyRequest,
  checked: readonly Checked[],
  results: readonly ItemResult<Data>[],
  itemOf: (created: Data) => object,
): Outcome[] {
  const remaining = results.values();
  return checked.map((one, index) => {
    const result = 'error' in one ? one : remaining.next().value;
    if (result && 'outcome' in result) return { index, status: 'created', ...itemOf(result.outcome) };
    const error = errorOf(request, result);
    const { code, message, details } = error;
    const isExisting =
      code === 'DUPLICATE_ENTRY' && details.field === 'externalId' && !(error instanceof NotTheSame);
    if (isExisting && typeof details.id === 'number') return { index, status: 'existing', id: details.id };
    return { index, status: 'failed', error: { code, message, details } };
  });
}

/**
 * The error of an item.
 * @throws the error if it is unknown whether the item was created. The call then fails, and a repeat of the call returns the
 * outcome.
 */
function errorOf(request: FastifyRequest, result: { error: unknown } | undefined): AppError {
  if (!result) throw new Error('An item of the bulk call has no result.');
  const { error } = result;
  const known = knownError(error);
  if (error instanceof StillRunning) throw error;
  // An error that is not from PostgreSQL, such as a connection lost during the commit, does not say whether the item was created.
  if (known && known !== error && sqlState(error) === undefined) throw error;
  if (!known) request.log.error({ err: error }, 'an item of a bulk call failed');
  return known ?? internalError();
}
