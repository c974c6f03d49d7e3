import { CompiledQuery, sql } from 'kysely';
import { Type } from 'typebox';
import type { Db, Tx } from '../database/db.ts';
import { lockName, takeLock } from '../database/named-locks.ts';
import { LostRace, violatedUnique } from '../database/postgres-errors.ts';
import { lookUp, run } from '../database/statements.ts';
import { inTransaction } from '../database/transactions.ts';
import { stripQuotes } from '../values/quoted-text.ts';
import { AppError, duplicate, notFound, type Resource } from './errors.ts';
import { Metadata, Nullable } from './fields.ts';
import { refuseSpreadsheetChange } from './validation.ts';

// External fields: the id of a resource in another system, and the metadata that the other system stores with the resource here.

const storedId = {
  minLength: 1,
  maxLength: 100,
  format: 'external-id',
  description:
    'The id in your system. Unique and case-sensitive. Spaces around the id are removed. Quotes around the id are kept, but an id with quotes is the same as the id without them. Invisible characters are refused.',
};
const ExternalId = Type.String(storedId);
const NewExternalId = Type.String({
  ...storedId,
  format: 'new-external-id',
  description: `${storedId.description} A number that a spreadsheet has changed, such as 12345678.0 or 7.1E8, is refused.`,
});

/** For bodies of new resources. */
export const ExternalFields = {
  externalId: Type.Optional(Nullable(NewExternalId)),
  metadata: Type.Optional(Metadata),
};

/** For changes. Null removes the external id. New metadata replaces all existing keys. A stored external id can be sent again. */
export const ChangedExternalFields = { ...ExternalFields, externalId: Type.Optional(Nullable(ExternalId)) };

export const ShownExternalFields = {
  externalId: Nullable(Type.String({ description: 'The id in another system.' })),
  metadata: Metadata,
};

/** @param example - an external id from the examples in the API description. */
export function externalIdParams(example: string) {
  return Type.Object({ externalId: { ...ExternalId, examples: [example] } });
}

export interface ExternalValues {
  externalId?: string | null;
  metadata?: Record<string, string>;
}

/** An external id without the spaces around it, in the composed form (NFC), so that ids that look the same are the same. */
function storedExternalId(text: string): string {
  return text.trim().normalize('NFC');
}

/**
 * The form in which external ids are compared: without the quotes that spreadsheets put around an id.
 * @param externalId - in its stored form.
 */
export function externalIdKey(externalId: string): string {
  return stripQuotes(externalId);
}

/**
 * A condition in SQL on rows whose external id has the key $1, or one of the keys $1. Uses the unique index, and the index of the
 * few ids with quotes.
 */
export function hasExternalIdKey(key: '$1' | 'any($1::text[])'): string {
  return `(external_id = ${key} or external_id <> without_quotes(external_id) and without_quotes(external_id) = ${key})`;
}

/** Earlier versions could store an id with quotes beside the id without them. $2 is the stored form of the external id. */
const ONE_ID = 'order by external_id = $2 desc, id limit 1';

/** The external fields of a body, in their stored form. */
export function externalFieldsOf({ externalId, metadata }: ExternalValues): ExternalValues {
  return {
    ...(externalId !== undefined && {
      externalId: externalId === null ? null : storedExternalId(externalId),
    }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** The tables whose rows have an external id, by resource. */
const TABLES = {
  account: 'accounts',
  customer: 'customers',
  employee: 'employees',
  payment: 'payments',
  product: 'products',
} as const satisfies Partial<Record<Resource, string>>;

export type ExternalResource = keyof typeof TABLES;

/** The plural of the resource in its path. */
export function pluralOf(resource: ExternalResource): string {
  return TABLES[resource];
}

/** @throws AppError NOT_FOUND if no resource has the external id. */
export async function findIdByExternalId(
  db: Db,
  resource: ExternalResource,
  externalId: string,
): Promise<number> {
  const text = `select id from ${TABLES[resource]} where ${hasExternalIdKey('$1')} ${ONE_ID}`;
  const stored = storedExternalId(externalId);
  const [row] = await lookUp<{ id: number }>(db, {
    compile: () => CompiledQuery.raw(text, [externalIdKey(stored), stored]),
  });
  if (!row) throw notFound(resource, externalId, 'externalId');
  return row.id;
}

/**
 * The ids of the resources that have the external ids, by key.
 * @param keys - in the form of `externalIdKey`.
 */
export async function findIdsByExternalId(
  tx: Tx,
  resource: ExternalResource,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map();
  const text = `select id, external_id from ${TABLES[resource]} where ${hasExternalIdKey('any($1::text[])')}`;
  const rows = await run<{ id: number; external_id: string }>(tx, text, [keys]);
  return new Map(rows.map((row) => [externalIdKey(row.external_id), row.id]));
}

/**
 * A resource with this external id exists, but has other values than the request. In a bulk call, the outcome of the item is
 * `failed`, not `existing`.
 */
export class NotTheSame extends AppError<'DUPLICATE_ENTRY'> {
  constructor(resource: ExternalResource, id: number, difference: string) {
    super('DUPLICATE_ENTRY', `Another ${resource} already has this externalId. It ${difference}.`, {
      details: { resource, field: 'externalId', id },
    });
  }
}

/** The error for an external id that another resource has. Undefined if `error` has another cause. */
export function takenExternalId(
  error: unknown,
  resource: ExternalResource,
  externalId: string | null | undefined,
): AppError | undefined {
  const table = TABLES[resource];
  if (violatedUnique(error) !== `${table}_external_id_unique`) return undefined;
  const key = externalIdKey(externalId ?? '');
  const existing = sql<{ id: number }>`
    select id from ${sql.table(table)}
    where external_id = ${key} or external_id <> without_quotes(external_id) and without_quotes(external_id) = ${key}
    order by id limit 1`;
  return duplicate(resource, 'externalId', existing);
}

/**
 * Locks an external id, and the resource that has it. Upserts of one external id run one after the other. Otherwise two of them could
 * both try to create the resource, and one could fail because of another unique field.
 * @returns the id of the resource. Undefined if no resource has the external id.
 */
export async function lockByExternalId(
  tx: Tx,
  resource: ExternalResource,
  externalId: string,
): Promise<number | undefined> {
  const stored = storedExternalId(externalId);
  const key = externalIdKey(stored);
  const text = `select id from ${TABLES[resource]} where ${hasExternalIdKey('$1')} ${ONE_ID} for no key update`;
  await takeLock(tx, lockName(`${resource} external id`, key));
  const [row] = await run<{ id: number }>(tx, text, [key, stored]);
  return row?.id;
}

/**
 * Changes the resource with an external id, or creates it, in one transaction. If another transaction creates the resource at the
 * same time, this transaction runs again and changes the resource.
 */
export async function upsertByExternalId<T>(
  db: Db | Tx,
  resource: ExternalResource,
  externalId: string,
  { create, change }: { create(tx: Tx): Promise<T>; change(tx: Tx, id: number): Promise<T> },
): Promise<{ result: T; isNew: boolean }> {
  return inTransaction(db, async (tx) => {
    const id = await lockByExternalId(tx, resource, externalId);
    if (id !== undefined) return { result: await change(tx, id), isNew: false };
    refuseSpreadsheetChange('externalId', externalId, null);
    try {
      return { result: await create(tx), isNew: true };
    } catch (error) {
      const isTaken = error instanceof AppError && error.details.field === 'externalId';
      throw isTaken ? new LostRace('another transaction has created the resource') : error;
    }
  });
}
