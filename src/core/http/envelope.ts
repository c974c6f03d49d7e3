import { type TSchema, Type } from 'typebox';
import { ERROR_STATUS, type ErrorCode } from './errors.ts';

export const Pagination = Type.Object({
  page: Type.Integer(),
  limit: Type.Integer(),
  total: Type.Integer(),
  totalPages: Type.Integer(),
});

export const ErrorBody = Type.Object(
  {
    success: Type.Literal(false),
    error: Type.Object({
      code: Type.Enum(Object.keys(ERROR_STATUS) as ErrorCode[]),
      message: Type.String(),
      details: Type.Object({}, { additionalProperties: true }),
    }),
  },
  { $id: 'Error' },
);

/** The data of an answer whose message says everything. */
export const Nothing = Type.Object({}, { examples: [{}] });

/** Schema of a single answer: `{success, data, message}`, described by its message. The examples are those of the data. */
export function Envelope<T extends TSchema>(data: T, message: string) {
  return Type.Object(
    { success: Type.Literal(true), data, message: Type.String() },
    { description: message, examples: examplesOf(data).map((example) => ok(example, message)) },
  );
}

/** Schema of a list answer: the envelope with `pagination` beside `data`. */
export function ListEnvelope<T extends TSchema>(item: T, message: string) {
  return PagedEnvelope(
    Type.Array(item),
    examplesOf(item).map((example) => [example]),
    message,
  );
}

/** Schema of an answer with pages of data. */
export function PagedEnvelope<T extends TSchema>(data: T, examples: unknown[], message: string) {
  const pagination = { page: 1, limit: 20, total: 1, totalPages: 1 };
  return Type.Object(
    { success: Type.Literal(true), data, pagination: Pagination, message: Type.String() },
    { description: message, examples: examples.map((example) => ({ ...ok(example, message), pagination })) },
  );
}

/** The examples of a schema. */
export function examplesOf(schema: TSchema): unknown[] {
  return (schema as { examples?: unknown[] }).examples ?? [];
}

export function ok<T>(data: T, message: string) {
  return { success: true as const, data, message };
}

export interface Page<T> {
  rows: T[];
  page: number;
  limit: number;
  total: number;
}

export function okList<T>({ rows, page, limit, total }: Page<T>, message: string) {
  const pagination = { page, limit, total, totalPages: Math.ceil(total / limit) };
  return { success: true as const, data: rows, pagination, message };
}
