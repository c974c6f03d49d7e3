import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import type { Tx } from '../database/db.ts';
import type { FieldProblem } from '../http/errors.ts';
import { DateText, METADATA_KEY, METADATA_VALUE } from '../http/fields.ts';
import { type BusinessSettings, clip, PARSE } from '../http/validation.ts';
import { addDays, parsePlainDate, parseTimestamp, startOfDayUtc } from '../values/dates.ts';
import { type Minor, parseMinor } from '../values/money.ts';
import { MAX_CURSOR_LENGTH, type Position, readPosition } from './cursor.ts';
import type { Kind, ListField, ListOrder, NamedField } from './fields.ts';
import type { RowCursor } from './row-cursor.ts';

/**
 * The query parameters of lists: `page` or `after`, `limit`, `sort=field:asc,other:desc` and `filter[field][op]=value`.
 * `defineList` makes the schema of the query, its description in the API, and the parser from one declaration of the list's
 * fields. The handler receives the parsed `ListPlan`, and sql.ts converts the plan to SQL.
 */

export type Comparison = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';
export type Operator = Comparison | 'in' | 'nin' | 'contains' | 'startswith' | 'isnull';

export interface ListPlan {
  filters: Filter[];
  /** The metadata that rows must have, and the column with the metadata. Undefined without a filter on metadata. */
  metadata?: { column: string; values: Record<string, string> };
  order: ListOrder;
  /** True if the query has no `filter[…]` and sorts only by createdAt. The other parameters, such as `status`, do not matter. */
  isPlain: boolean;
  page: number;
  /** The position before the page. Replaces the page number if the query has `after`. */
  after?: Position;
  limit: number;
  /** Whether the answer also has the sums of all rows. */
  totals?: boolean;
  /** Where to read the totals, and the page with them. Default: as without totals. */
  readTotals?: <T>(read: (tx: Tx) => Promise<T>) => Promise<T>;
  /** Replaces the pages: each read of the list gives the next rows. */
  cursor?: RowCursor;
}

export interface Filter {
  field: NamedField;
  operator: Operator;
  /** One value. For the operators in and nin, one or more values. For isnull, true or false. */
  values: FilterValue[];
}

export type FilterValue = string | number | Minor | boolean | Date | BusinessDay;

/** The meaning of a date in a filter on timestamps: all times from `start` (included) to `end` (not included). */
export interface BusinessDay {
  start: Date;
  end: Date;
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
const MAX_SORT_KEYS = 5;
const MAX_LIST_VALUES = 100;
const MAX_VALUE_LENGTH = 1_000;
/** The maximum length of a list of values: room for 100 external ids. */
const MAX_LIST_LENGTH = 10_100;
const MAX_PAGE = 1_000_000_000;
const DEFAULT_SORT = 'createdAt:desc';
const TOTALS =
  'Adds `totals`: sums of all rows that the filters select. The service then reads all these rows, so ask only if you show the sums. ' +
  'If your earlier requests for totals or summaries are still running, the answer is 429. If other callers use all slots for them, it is 503. ' +
  'Cannot be combined with `after`.';
const AFTER =
  'Can be used instead of `page`. Send it empty for the first page. For each next page, send the `pagination.nextCursor` of the previous ' +
  'page, and the same sort. Every page takes the same time. The answer has no total.';

interface KindRules {
  operators: readonly Operator[];
  /** The name of this kind of filter in the API description. Absent if the values depend on the field. */
  title?: string;
  /** The schema that the API description shows for one value. Validation checks the text of the value with `read`. */
  value(field: ListField): TSchema;
  /** @returns undefined for a text that is not a value of this kind. */
  read(text: string, field: ListField, business: BusinessSettings): FilterValue | undefined;
  problem(field: ListField, business: BusinessSettings): string;
}

const ORDERED = {
  operators: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'isnull'],
} as const;

const WHOLE_NUMBER: KindRules = {
  ...ORDERED,
  title: 'IntegerFilter',
  value: () => Type.Integer(),
  read: (text) => {
    const value = Number(text);
    return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
  },
  problem: () => 'must be a whole number',
};

const BOOLEAN: KindRules = {
  operators: ['eq', 'ne', 'isnull'],
  title: 'BooleanFilter',
  value: () => Type.Boolean(),
  read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  problem: () => 'must be true or false',
};

const KINDS: Record<Kind, KindRules> = {
  id: WHOLE_NUMBER,
  integer: WHOLE_NUMBER,
  boolean: BOOLEAN,
  money: {
    ...ORDERED,
    title: 'AmountFilter',
    value: () => Type.Number({ description: 'In units of the currency.' }),
    read: (text, _field, { currency }) => {
      const value = parseMinor(text, currency.decimals);
      return value !== undefined && value < 2n ** 62n && value > -(2n ** 62n) ? value : undefined;
    },
    problem: (_field, { currency }) => `must be an amount with at most ${currency.decimals} decimals`,
  },
  date: {
    ...ORDERED,
    title: 'DateFilter',
    value: () => DateText,
    read: (text) => parsePlainDate(text),
    problem: () => 'must be a date as YYYY-MM-DD',
  },
  timestamp: {
    ...ORDERED,
    title: 'TimestampFilter',
    value: () => Type.String({ description: 'ISO 8601 with a zone, or a date for the whole day.' }),
    read: (text, _field, { config: { BUSINESS_TIMEZONE } }) => {
      const day = parsePlainDate(text);
      if (!day) return parseTimestamp(text);
      const start = startOfDayUtc(day, BUSINESS_TIMEZONE);
      return { start, end: startOfDayUtc(addDays(day, 1), BUSINESS_TIMEZONE) };
    },
    problem: () => 'must be a date or an ISO 8601 timestamp with a zone',
  },
  enum: {
    operators: ['eq', 'ne', 'in', 'nin', 'isnull'],
    value: ({ values = [] }) => Type.Enum([...values]),
    read: (text, { values }) => (values?.includes(text) ? text : undefined),
    problem: ({ values = [] }) => `must be one of ${values.join(', ')}`,
  },
  text: {
    operators: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains', 'startswith', 'isnull'],
    title: 'TextFilter',
    value: () => Type.String({ maxLength: MAX_VALUE_LENGTH }),
    read: (text) => text,
    problem: () => 'must be text',
  },
};

type ListQuery<Extra extends TProperties> = ListPlan & Static<ReturnType<typeof Type.Object<Extra>>>;

/**
 * @param extra - further query parameters, such as `status`. The handler receives them together with the plan.
 * @param metadataColumn - the column that `filter[metadata][key]=value` searches. Undefined if the rows have no metadata.
 * @param options.hasTotals - whether the list has the query parameter `totals`. Its store then declares the sums.
 */
export function defineList<Extra extends TProperties>(
  declared: Record<string, ListField> & { id: ListField; createdAt: ListField },
  extra: Extra,
  metadataColumn?: string,
  { hasTotals = false } = {},
) {
  const fields = Object.entries(declared).map(([name, field]) => ({ name, ...field }));
  const names = fields.map(({ name }) => name);
  const filterable = fields.map((field) => ({ field, parameter: parameterOf(field) }));
  const extraNames = Object.keys(extra);
  const defaultOrder = readSort(DEFAULT_SORT, fields, []);
  const pages = {
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, examples: [1] })),
    after: Type.Optional(Type.String({ maxLength: MAX_CURSOR_LENGTH, description: AFTER, examples: [''] })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, examples: [DEFAULT_LIMIT] }),
    ),
    ...(hasTotals && { totals: Type.Optional(Type.Boolean({ description: TOTALS, examples: [false] })) }),
  };
  const conditions = {
    sort: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: `field:asc or field:desc, separated by commas. Fields: ${names.join(', ')}. Default: ${DEFAULT_SORT}.`,
        examples: [DEFAULT_SORT],
      }),
    ),
    ...extra,
    ...Object.fromEntries(filterable.map(({ field, parameter }) => [parameter, filterSchema(field)])),
    ...(metadataColumn !== undefined && { [METADATA_FILTER]: MetadataFilter }),
  };

  function parse(given: Given, business: BusinessSettings) {
    const problems: FieldProblem[] = [];
    const filters = filterable
      .filter(({ parameter }) => given[parameter])
      .flatMap(({ field, parameter }) => readFilters(field, given[parameter] as Given, business, problems));
    const sort = typeof given.sort === 'string' ? given.sort : DEFAULT_SORT;
    const order = sort === DEFAULT_SORT ? defaultOrder : readSort(sort, fields, problems);
    const metadata = metadataColumn !== undefined && readMetadata(given[METADATA_FILTER]);
    const isPlain = filters.length === 0 && !metadata && /^createdAt(:asc|:desc)?$/.test(sort);
    const { page = 1, limit = DEFAULT_LIMIT } = given;
    const after = readAfter(given, fields, order, problems);
    const value: Given = { filters, order, isPlain, page, limit };
    if (metadata) value.metadata = { column: metadataColumn, values: metadata };
    if (after) value.after = after;
    if (hasTotals && given.totals === true) {
      if (after) problems.push({ path: 'totals', message: 'cannot be combined with the parameter "after"' });
      value.totals = true;
    }
    for (const name of extraNames) value[name] = given[name];
    return { value, problems };
  }

  function parsed(parameters: TProperties) {
    return Type.Unsafe<ListQuery<Extra>>(Object.assign(Type.Object(parameters), { [PARSE]: parse }));
  }

  return {
    fields,
    /** The schema of the query string. A handler receives the parsed plan as `request.query`. */
    query: parsed({ ...pages, ...conditions }),
    /** The same without the parameters of pages, for a file with all rows. */
    queryOfAll: parsed(conditions),
    /** The plan of a query that the service makes itself, such as `{ 'filter[status]': { eq: 'pending' }, limit: 1 }`. */
    plan(given: Given, business: BusinessSettings): ListQuery<Extra> {
      const { value, problems } = parse(given, business);
      if (problems.length > 0)
        throw new Error(`A query of the service is wrong: ${JSON.stringify(problems)}`);
      return value as ListQuery<Extra>;
    },
  };
}

/** A query, by parameter. A value can have any type, because the parser also runs on a query that the schema refuses. */
type Given = Record<string, unknown>;

const METADATA_FILTER = 'filter[metadata]';

const MetadataFilter = Type.Optional(
  Type.Object(
    {},
    {
      title: 'MetadataFilter',
      description: 'filter[metadata][key]=value. If there are several keys, all must match.',
      // parseQueryString turns `filter[metadata]=value`, which has no key, into the key `eq`. So this key is refused.
      propertyNames: { ...METADATA_KEY, pattern: METADATA_KEY.pattern.replace('^', '^(?!eq$)') },
      additionalProperties: METADATA_VALUE,
    },
  ),
);

/** Ignores a value that is not an object with keys. If the value has a wrong type, the schema refuses the query. */
function readMetadata(given: unknown): Record<string, string> | undefined {
  const isValid = typeof given === 'object' && given !== null && Object.keys(given).length > 0;
  return isValid ? (given as Record<string, string>) : undefined;
}

function parameterOf({ name }: NamedField): string {
  return `filter[${name}]`;
}

function filterSchema(field: NamedField) {
  const { operators, title } = KINDS[field.kind];
  const properties = Object.fromEntries(
    operators.map((operator) => [
      operator,
      Type.Optional(
        Type.String({
          maxLength: takesList(operator) ? MAX_LIST_LENGTH : MAX_VALUE_LENGTH,
          format: 'query-text',
          'x-described-as': operandOf(field, operator),
        }),
      ),
    ]),
  );
  const notes = [
    `${parameterOf(field)}[op]=value, operators ${operators.join(', ')}; ${parameterOf(field)}=value means eq.`,
    field.values && `Values: ${field.values.join(', ')}.`,
    field.kind === 'text' &&
      (field.key
        ? 'The operators eq, ne, in and nin ignore case, spaces and other differences in spelling. The operators contains and startswith ignore case.'
        : 'The operators contains and startswith ignore case; the other operators do not.'),
  ];
  const description = notes.filter(Boolean).join(' ');
  return Type.Optional(Type.Object(properties, { ...(title && { title }), description }));
}

/** The schema of an operator's value in the API description. */
function operandOf(field: NamedField, operator: Operator): TSchema {
  if (operator === 'isnull') return Type.Boolean();
  if (!takesList(operator)) return KINDS[field.kind].value(field);
  const description = `At most ${MAX_LIST_VALUES} values, separated by commas.`;
  return Type.String({ maxLength: MAX_LIST_LENGTH, description });
}

function takesList(operator: Operator): boolean {
  return operator === 'in' || operator === 'nin';
}

function readFilters(
  field: NamedField,
  conditions: Given,
  business: BusinessSettings,
  problems: FieldProblem[],
): Filter[] {
  return KINDS[field.kind].operators.flatMap((operator) => {
    const text = conditions[operator];
    if (typeof text !== 'string') return [];
    const { read, problem } = operator === 'isnull' ? BOOLEAN : KINDS[field.kind];
    const isList = takesList(operator);
    // In a list of text values, spaces belong to the values, as they do for eq.
    const items = isList
      ? text.split(',').map((item) => (field.kind === 'text' ? item : item.trim()))
      : [text];
    const values = items.map((item) => read(item, field, business)).filter((value) => value !== undefined);
    const isValid = values.length === items.length && items.length <= MAX_LIST_VALUES;
    if (isValid) return [{ field, operator, values }];
    const tooMany = items.length > MAX_LIST_VALUES && `must have at most ${MAX_LIST_VALUES} values`;
    problems.push({
      path: `${parameterOf(field)}[${operator}]`,
      message: tooMany || problem(field, business),
    });
    return [];
  });
}

/** The conditions of a request body on fields of a list, by field and operator, such as `{ status: { in: ['active'] } }`. */
export type BodyConditions = Record<string, Record<string, unknown>>;

/** The schema of conditions on these fields in a request body. Each operator has the values that it has in the query of a list. */
export function bodyConditions(fields: readonly NamedField[]): TProperties {
  const conditionOf = (field: NamedField) => {
    const value = KINDS[field.kind].value(field);
    const operands = KINDS[field.kind].operators.map((operator) => {
      const list = Type.Array(value, { minItems: 1, maxItems: MAX_LIST_VALUES });
      const operand = operator === 'isnull' ? Type.Boolean() : takesList(operator) ? list : value;
      return [operator, Type.Optional(operand)] as const;
    });
    return Type.Object(Object.fromEntries(operands), { minProperties: 1 });
  };
  return Object.fromEntries(fields.map((field) => [field.name, Type.Optional(conditionOf(field))]));
}

/** The filters of valid conditions in a request body. @param path - the field of the body that has the conditions. */
export function readBodyConditions(
  fields: readonly NamedField[],
  given: BodyConditions,
  business: BusinessSettings,
  path: string,
): { filters: Filter[]; problems: FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const filters = fields.flatMap((field) => {
    const texts = Object.entries(given[field.name] ?? {}).map(([operator, value]) => [
      operator,
      [value].flat().join(','),
    ]);
    const found: FieldProblem[] = [];
    const read = readFilters(field, Object.fromEntries(texts), business, found);
    problems.push(...found.map(({ message }) => ({ path: `${path}.${field.name}`, message })));
    return read;
  });
  return { filters, problems };
}

function readSort(text: string, fields: NamedField[], problems: FieldProblem[]): ListOrder {
  const refuse = (message: string) => problems.push({ path: 'sort', message });
  const order: ListOrder = [];
  const parts = text.split(',');
  if (parts.length > MAX_SORT_KEYS) refuse(`must have at most ${MAX_SORT_KEYS} keys`);
  for (const part of parts.slice(0, MAX_SORT_KEYS)) {
    const [name = '', direction = 'asc', ...rest] = part.trim().split(':');
    const field = fields.find((each) => each.name === name);
    if (!field) {
      const allowed = fields.map((each) => each.name).join(', ');
      refuse(`"${clip(name)}" is not a field; allowed: ${allowed}`);
    } else if ((direction !== 'asc' && direction !== 'desc') || rest.length > 0) {
      refuse(`the direction of ${name} must be asc or desc`);
    } else {
      order.push({ field, direction });
    }
  }
  const id = fields.find(({ name }) => name === 'id');
  if (id) order.push({ field: id, direction: order.at(-1)?.direction ?? 'desc' });
  // Sort keys after the id have no effect, because no two ids are equal.
  return order.slice(0, order.findIndex(({ field }) => field === id) + 1);
}

function readAfter(
  { after, page }: Given,
  fields: NamedField[],
  order: ListOrder,
  problems: FieldProblem[],
): Position | undefined {
  if (typeof after !== 'string') return undefined;
  // Tools that fill in every parameter send the default, too.
  if (page !== undefined && page !== 1)
    problems.push({ path: 'page', message: 'cannot be combined with the parameter "after"' });
  const isSortWrong = problems.some(({ path }) => path === 'sort');
  return isSortWrong ? undefined : readPosition(after, fields, order, problems);
}

/** Collects all `filter[field][op]=v` of a field in one entry, `filter[field]`: `{op: v}`. The op of `filter[field]=v` is eq. */
export function parseQueryString(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [key, value] of new URLSearchParams(text)) {
    const filter = /^filter\[([^[\]]*)\](?:\[([^[\]]*)\])?$/.exec(key);
    const name = filter ? `filter[${filter[1]}]` : key;
    if (filter && (query[name] === undefined || isConditions(query[name]))) {
      query[name] ??= Object.create(null);
      addValue(query[name] as Record<string, unknown>, filter[2] ?? 'eq', value);
    } else {
      addValue(query, name, value);
    }
  }
  return query;
}

function isConditions(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value);
}

/** Makes a list of the values of a repeated parameter. Every schema refuses a list, and the error names the parameter. */
function addValue(target: Record<string, unknown>, name: string, value: string): void {
  target[name] = target[name] === undefined ? value : [target[name], value].flat();
}
