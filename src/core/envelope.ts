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

/** Schema of a single answer: `{success, data, message}`. */
export function Envelope<T extends TSchema>(data: T) {
  return Type.Object({ success: Type.Literal(true), data, message: Type.String() });
}

/** Schema of a list answer: the envelope with `pagination` beside `data`. */
export function ListEnvelope<T extends TSchema>(item: T) {
  return Type.Object({
    success: Type.Literal(true),
    data: Type.Array(item),
    pagination: Pagination,
    message: Type.String(),
  });
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
