import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Context } from '../context.ts';
import type { ItemResult } from '../database/batching.ts';
import { sqlState } from '../database/postgres-errors.ts';
import { callerOf } from './access.ts';
import { examplesOf, ok, Problem } from './envelope.ts';
import { AppError } from './errors.ts';
import { Choice } from './fields.ts';
import { type IdempotencyKey, repeatable } from './idempotency.ts';
import { knownError } from './server.ts';
import { createSharedSlots, type SharedSlots } from './shared-slots.ts';
import { type Checked, closed } from './validation.ts';

// A bulk call creates up to 1,000 items. Each item has its own outcome, as if it had been sent alone.

const MAX_ITEMS = 1_000;
const MAX_CALLS_AT_ONCE = 2;
const MAX_WAITING = 8;
const MAX_WAIT_MS = 10_000;

export const BULK_DESCRIPTION =
  `Up to ${MAX_ITEMS} items, each as in a single call. The answer has an outcome for each of them; one that fails does not affect the ` +
  'others. Send an Idempotency-Key: after a lost answer, also one lost by a crash, the same call with the same key creates only ' +
  'what is missing and returns the outcome of all items. Correct the items that failed, and send them with a new key. A call ' +
  'counts as one bulk operation.';

/** What every bulk route declares. A slow client needs time to send 4 MB; 1,000 items may wait for locks of others. */
export const BULK_ROUTE = {
  bodyLimit: 4 * 1024 * 1024,
  config: { rate: 'bulk', repeatable: true, bodyTimeoutMs: 60_000, answerTimeoutMs: 30_000 },
} as const;

/**
 * Limits the concurrent bulk calls of an instance, because each may hold a database connection until it ends.
 * @param poolSize - the number of connections of the instance.
 */
export function openBulkSlots(poolSize: number): SharedSlots {
  return createSharedSlots({
    what: 'bulk calls',
    slots: Math.min(MAX_CALLS_AT_ONCE, Math.floor(poolSize / 2)),
    maxPerCaller: 2,
    maxWaiting: MAX_WAITING,
    waitMs: MAX_WAIT_MS,
  });
}

/** Schema of the body. `answerBulk` validates the items, because a wrong one is an outcome and not a refusal of the call. */
export function BulkBody<T extends TSchema>(item: T, title: string) {
  // The description shows the examples of a body beside it, not in its schema.
  const { examples: _shownBeside, ...described } = item as T & { examples?: unknown[] };
  const unchecked = Type.Unsafe<Static<T>>({ 'x-described-as': closed(described) });
  return Type.Object(
    { items: Type.Array(unchecked, { minItems: 1, maxItems: MAX_ITEMS }) },
    { title, examples: [{ items: examplesOf(item).slice(0, 1) }] },
  );
}

/** The serializer would compare each error with the schema of each code. */
const UncheckedProblem = Type.Unsafe<Static<typeof Problem>>({
  type: 'object',
  additionalProperties: true,
  'x-described-as': Problem,
});

/** Schema of the data of the answer. */
export function BulkResult<T extends TSchema>(data: T, title: string) {
  const [example] = examplesOf(data);
  return Type.Object(
    {
      created: Type.Integer({ description: 'The number of items that were created.' }),
      failed: Type.Integer({ description: 'The number of items that were not.' }),
      items: Type.Array(
        Type.Object({
          index: Type.Integer({ description: 'The position of the item in the call, from 0.' }),
          status: Choice('BulkStatus', ['created', 'failed']),
          data: Type.Optional(data),
          error: Type.Optional(UncheckedProblem),
        }),
        {
          description: 'One outcome for each item, in their order: data if it was created, otherwise error.',
        },
      ),
    },
    {
      title,
      examples: [{ created: 1, failed: 0, items: [{ index: 0, status: 'created', data: example }] }],
    },
  );
}

/** A valid item of a bulk call, with its position. */
export interface BulkItem<Body> {
  index: number;
  body: Body;
}

interface BulkWork<Item extends TSchema, Data> {
  item: Item;
  /**
   * Creates the items.
   * @param txContext - see `repeatable`. @param key - the key of the call.
   * @returns the result of each item, in their order.
   */
  create(
    txContext: Context,
    items: BulkItem<Static<Item>>[],
    key: IdempotencyKey | undefined,
  ): Promise<ItemResult<Data>[]>;
}

type Outcome<Data> =
  | { index: number; status: 'created'; data: Data }
  | { index: number; status: 'failed'; error: Static<typeof Problem> };

/** Answers a bulk call. With an Idempotency-Key, a repeat gets the same answer. */
export async function answerBulk<Item extends TSchema, Data>(
  slots: SharedSlots,
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  { item, create }: BulkWork<Item, Data>,
) {
  const leave = await slots.enter(callerOf(request));
  try {
    return await repeatable(context, request, reply, async (txContext, key) => {
      // Fastify types every check as one that returns a boolean. Those of our compiler return `Checked`.
      const check = request.compileValidationSchema(item, 'body') as unknown as (body: unknown) => Checked;
      const { items: bodies } = request.body as { items: unknown[] };
      const checked = bodies.map(check);
      const valid = checked.flatMap((one, index) =>
        'value' in one ? [{ index, body: one.value as Static<Item> }] : [],
      );
      const results = (await create(txContext, valid, key)).values();
      const items = checked.map((one, index): Outcome<Data> => {
        const result = 'error' in one ? one : results.next().value;
        if (result && 'outcome' in result) return { index, status: 'created', data: result.outcome };
        const { code, message, details } = errorOf(request, result);
        return { index, status: 'failed', error: { code, message, details } };
      });
      const created = items.filter(({ status }) => status === 'created').length;
      return ok({ created, failed: items.length - created, items }, 'Items processed.');
    });
  } finally {
    leave();
  }
}

/**
 * The error of an item.
 * @throws the error after which the item may have been created: the call fails, and its repeat finds out.
 */
function errorOf(
  request: FastifyRequest,
  result: { error: unknown } | { busy: AppError } | undefined,
): AppError {
  if (!result) throw new Error('Each item of a bulk call has a result.');
  const error = 'busy' in result ? result.busy : result.error;
  const known = knownError(error);
  if (known && known !== error && sqlState(error) === undefined) throw error;
  if (!known) request.log.error({ err: error }, 'an item of a bulk call failed');
  return known ?? new AppError('INTERNAL_ERROR', 'An internal error occurred.');
}
