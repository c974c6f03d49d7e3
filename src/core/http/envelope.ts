import { type Static, type TSchema, Type } from 'typebox';
import { ERROR_DETAILS, type ErrorCode } from './errors.ts';

export const Pagination = Type.Object(
  {
    page: Type.Integer(),
    limit: Type.Integer(),
    total: Type.Integer({ description: 'The number of rows on all pages.' }),
    totalPages: Type.Integer(),
  },
  { title: 'Pagination' },
);

const PROBLEMS = Object.entries(ERROR_DETAILS).map(([code, details]) =>
  Type.Object({ code: Type.Literal(code), message: Type.String(), details }, { title: problemName(code) }),
);
const PROBLEM_OF_CODE = Object.fromEntries(
  Object.keys(ERROR_DETAILS).map((code) => [code, `#/components/schemas/${problemName(code)}`]),
);

const NUMBERED = { description: 'Absent if the query has the parameter `after`.' };
/** The pagination of a list, by page numbers or by cursor. */
const ListPagination = Type.Object(
  {
    page: Type.Optional(Type.Integer(NUMBERED)),
    limit: Type.Integer(),
    total: Type.Optional(Type.Integer(NUMBERED)),
    totalPages: Type.Optional(Type.Integer(NUMBERED)),
    nextCursor: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'Only if the query has the parameter `after`: the value of `after` for the next page, or null if there are no more rows.',
      }),
    ),
  },
  { title: 'ListPagination' },
);

export const Problem = Type.Unsafe<{ code: ErrorCode; message: string; details: object }>({
  oneOf: PROBLEMS,
  discriminator: { propertyName: 'code', mapping: PROBLEM_OF_CODE },
});

export const ErrorBody = Type.Object({ success: Type.Literal(false), error: Problem }, { $id: 'Error' });

/** The empty data of an answer that needs only a message. */
export const Nothing = Type.Object({}, { examples: [{}] });

/**
 * Schema of an answer that is not a list: `{success, data, message}`. `message` is also the description of the schema. The
 * examples of the schema contain the examples of `data`.
 */
export function Envelope<T extends TSchema>(data: T, message: string) {
  return Type.Object(
    { success: Type.Literal(true), data, message: Type.String() },
    { description: message, examples: examplesOf(data).map((example) => ok(example, message)) },
  );
}

/** Schema of a list answer: the envelope with `pagination` beside `data`. */
export function ListEnvelope<T extends TSchema>(item: T, message: string) {
  const examples = examplesOf(item).map((example) => [example]);
  return PagedEnvelope(Type.Array(item), examples, message, ListPagination);
}

/** Schema of a list answer that can also have `totals`. */
export function ListWithTotals<T extends TSchema, S extends TSchema>(item: T, message: string, totals: S) {
  const { properties, ...annotations } = ListEnvelope(item, message);
  return Type.Object({ ...properties, totals: Type.Optional(totals) }, annotations);
}

export function PagedEnvelope<T extends TSchema, P extends TSchema>(
  data: T,
  examples: unknown[],
  message: string,
  pagination: P,
) {
  const numbers = pageNumbers(1, 20, 1);
  return Type.Object(
    { success: Type.Literal(true), data, pagination, message: Type.String() },
    {
      description: message,
      examples: examples.map((example) => ({ ...ok(example, message), pagination: numbers })),
    },
  );
}

export function examplesOf(schema: TSchema): unknown[] {
  return (schema as { examples?: unknown[] }).examples ?? [];
}

export function ok<T>(data: T, message: string) {
  return { success: true as const, data, message };
}

export interface Page<T, Sum extends string = never> {
  rows: T[];
  pagination: Static<typeof ListPagination>;
  /** Sums of all rows in minor units, as text. Only if the query asks for totals. */
  sums?: Readonly<Record<Sum, string>>;
}

export function pageNumbers(page: number, limit: number, total: number): Static<typeof Pagination> {
  return { page, limit, total, totalPages: Math.ceil(total / limit) };
}

export function okList<T, Totals>(
  { rows, pagination, totals }: Pick<Page<T>, 'rows' | 'pagination'> & { totals?: Totals },
  message: string,
) {
  return { success: true as const, data: rows, pagination, ...(totals && { totals }), message };
}

/** AUTH_FAILED → AuthFailedProblem */
function problemName(code: string): string {
  return `${code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase())}Problem`;
}
