import { createHash } from 'node:crypto';
import type { FieldProblem } from '../http/errors.ts';
import { parsePlainDate, parseTimestamp } from '../values/dates.ts';
import type { ListField, ListOrder, NamedField } from './fields.ts';

/**
 * A cursor is the position of a row in a sorted list. It is a JSON array in base64url: the scope, then the sort values of the
 * row. The scope is a hash of the list's fields and the sort. A cursor with the scope of another list or sort is refused.
 */

/** Where a page starts. */
export interface Position {
  scope: string;
  /** The sort values of the row before the page, one value for each sort key. Undefined for the first page. */
  values?: readonly CursorValue[];
}

/** A value as PostgreSQL writes it in JSON. A timestamp is text with a zone. An amount is in minor units. */
export type CursorValue = string | number | boolean | null;

/** Long enough for five sort values of the maximum length. */
export const MAX_CURSOR_LENGTH = 8_000;

/** Reads the parameter `after`. Empty means the first page. Adds a problem if the text is not a cursor of this list and order. */
export function readPosition(
  after: string,
  fields: readonly NamedField[],
  order: ListOrder,
  problems: FieldProblem[],
): Position {
  const scope = scopeOf(fields, order);
  if (after === '') return { scope };
  const refuse = (message: string) => {
    problems.push({ path: 'after', message });
    return { scope };
  };
  const [given, ...values] = decode(after) ?? [];
  if (typeof given !== 'string') {
    return refuse('must be the nextCursor of an earlier page, unchanged, or empty for the first page');
  }
  if (given !== scope) {
    return refuse(
      'is a cursor of another list or sort; repeat the sort of the first page, or send an empty cursor for the first page',
    );
  }
  if (values.length !== order.length || !order.every(({ field }, at) => isValueOf(field, values[at]))) {
    return refuse('was changed; send the nextCursor of an earlier page as it is');
  }
  return { scope, values: values as CursorValue[] };
}

/** @param values - the sort values of the last row of a page. */
export function writeCursor({ scope }: Position, values: readonly CursorValue[]): string {
  return Buffer.from(JSON.stringify([scope, ...values])).toString('base64url');
}

function scopeOf(fields: readonly NamedField[], order: ListOrder): string {
  const names = fields.map(({ name }) => name);
  const keys = order.map(({ field, direction }) => `${field.name}:${direction}`);
  return createHash('sha256')
    .update(JSON.stringify([names, keys]))
    .digest('base64url')
    .slice(0, 12);
}

function decode(cursor: string): unknown[] | undefined {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** Whether PostgreSQL accepts the value for the field. This is not certain, because a client can change a cursor. */
function isValueOf({ kind, nullable, values = [] }: ListField, value: unknown): boolean {
  if (value === null) return nullable === true;
  switch (kind) {
    case 'id':
    case 'integer':
    case 'money':
      return Number.isSafeInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'date':
      return typeof value === 'string' && parsePlainDate(value) !== undefined;
    case 'timestamp':
      return typeof value === 'string' && parseTimestamp(value) !== undefined;
    case 'enum':
      return values.some((allowed) => allowed === value);
    case 'text':
      return typeof value === 'string' && !value.includes('\0') && value.isWellFormed();
  }
}
