import { type Static, type TProperties, Type } from 'typebox';
import type { FieldProblem } from '../http/errors.ts';
import { type Company, clip, PARSE } from '../http/validation.ts';
import { addDays, parsePlainDate, parseTimestamp, startOfDayUtc } from '../values/dates.ts';
import { type Minor, parseMinor } from '../values/money.ts';

/**
 * The list grammar: `page`, `limit`, `sort=field:asc,other:desc` and `filter[field][op]=value`. A resource declares its
 * fields once with `defineList`. The query schema, the API description and the parser come from that declaration; the
 * handler receives the parsed `ListPlan`, and sql.ts writes it as SQL.
 */

export interface ListField {
  kind: Kind;
  /** The column that holds the value, with the alias of its table. The store declares the SQL of a computed field. */
  column?: string;
  /** Rows without a value sort last in both directions. */
  nullable?: boolean;
  /** Kind enum: the allowed values. */
  values?: readonly string[];
  /** Kind text: an indexed column that holds `of(text)`. eq, ne, in and nin compare it instead of the text. */
  key?: { column: string; of: (text: string) => string };
}

type Kind = 'id' | 'integer' | 'money' | 'date' | 'timestamp' | 'text' | 'enum' | 'boolean';
export type Comparison = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';
export type Operator = Comparison | 'in' | 'nin' | 'contains' | 'startswith' | 'isnull';

/** A query string as the handler receives it. */
export interface ListPlan {
  filters: Filter[];
  /** Ends with the id, so that the order is total. */
  order: { field: NamedField; direction: 'asc' | 'desc' }[];
  /** Nothing is filtered, and the order is that of creation. */
  isPlain: boolean;
  page: number;
  limit: number;
}

export interface Filter {
  field: NamedField;
  operator: Operator;
  /** Several for in and nin; for isnull, true or false. */
  values: FilterValue[];
}

export type NamedField = ListField & { name: string };
export type FilterValue = string | number | Minor | boolean | Date | BusinessDay;

/** What a date among timestamps means: all moments from `start` until before `end`. */
export interface BusinessDay {
  start: Date;
  end: Date;
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
const MAX_SORT_KEYS = 5;
const MAX_LIST_VALUES = 100;
const MAX_VALUE_LENGTH = 1_000;
const MAX_PAGE = 1_000_000_000;
const DEFAULT_SORT = 'createdAt:desc';

interface KindRules {
  operators: readonly Operator[];
  /** The name of this kind of filter in the API description. */
  title: string;
  /** @returns undefined for a text that is not a value of this kind. */
  read(text: string, field: ListField, company: Company): FilterValue | undefined;
  problem(field: ListField, company: Company): string;
}

const ORDERED = {
  operators: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'isnull'],
  title: 'OrderFilter',
} as const;

const WHOLE_NUMBER: KindRules = {
  ...ORDERED,
  read: (text) => {
    const value = Number(text);
    return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
  },
  problem: () => 'must be a whole number',
};

const BOOLEAN: KindRules = {
  operators: ['eq', 'ne', 'isnull'],
  title: 'BooleanFilter',
  read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  problem: () => 'must be true or false',
};

const KINDS: Record<Kind, KindRules> = {
  id: WHOLE_NUMBER,
  integer: WHOLE_NUMBER,
  boolean: BOOLEAN,
  money: {
    ...ORDERED,
    read: (text, _field, { currency }) => {
      const value = parseMinor(text, currency.decimals);
      return value !== undefined && value < 2n ** 62n && value > -(2n ** 62n) ? value : undefined;
    },
    problem: (_field, { currency }) => `must be an amount with at most ${currency.decimals} decimals`,
  },
  date: {
    ...ORDERED,
    read: (text) => parsePlainDate(text),
    problem: () => 'must be a date as YYYY-MM-DD',
  },
  timestamp: {
    ...ORDERED,
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
    title: 'EnumFilter',
    read: (text, { values }) => (values?.includes(text) ? text : undefined),
    problem: ({ values = [] }) => `must be one of ${values.join(', ')}`,
  },
  text: {
    operators: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains', 'startswith', 'isnull'],
    title: 'TextFilter',
    read: (text) => text,
    problem: () => 'must be text',
  },
};

type ListQuery<Extra extends TProperties> = ListPlan & Static<ReturnType<typeof Type.Object<Extra>>>;

/** @param extra further query parameters, such as `status`. The handler receives them beside the plan. */
export function defineList<Extra extends TProperties>(
  declared: Record<string, ListField> & { id: ListField; createdAt: ListField },
  extra: Extra,
) {
  const fields = Object.entries(declared).map(([name, field]) => ({ name, ...field }));
  const names = fields.map(({ name }) => name);
  const schema = Type.Object({
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
    sort: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: `field:asc or field:desc, several by comma; fields: ${names.join(', ')}. Default: ${DEFAULT_SORT}.`,
      }),
    ),
    ...extra,
    ...Object.fromEntries(fields.map((field) => [parameterOf(field), filterSchema(field)])),
  });

  function parse(given: Given, company: Company) {
    const problems: FieldProblem[] = [];
    const filters = fields.flatMap((field) => readFilters(field, given, company, problems));
    const sort = typeof given.sort === 'string' ? given.sort : DEFAULT_SORT;
    const order = readSort(sort, fields, problems);
    const isPlain = filters.length === 0 && /^createdAt(:asc|:desc)?$/.test(sort);
    const others = Object.fromEntries(Object.keys(extra).map((name) => [name, given[name]]));
    const { page = 1, limit = DEFAULT_LIMIT } = given;
    return { value: { ...others, filters, order, isPlain, page, limit }, problems };
  }

  return {
    fields,
    /** The schema of the query string. A handler receives the parsed plan as `request.query`. */
    query: Type.Unsafe<ListQuery<Extra>>(Object.assign(schema, { [PARSE]: parse })),
  };
}

/** Unchecked: a parser also runs on a query that its schema refuses. */
type Given = Record<string, unknown>;

function parameterOf({ name }: NamedField): string {
  return `filter[${name}]`;
}

function filterSchema(field: NamedField) {
  const { operators, title } = KINDS[field.kind];
  const properties = Object.fromEntries(
    operators.map((operator) => [
      operator,
      Type.Optional(Type.String({ maxLength: MAX_VALUE_LENGTH, format: 'query-text' })),
    ]),
  );
  const notes = [
    `${parameterOf(field)}[op]=value, ops ${operators.join(', ')}; ${parameterOf(field)}=value means eq.`,
    field.values && `Values: ${field.values.join(', ')}.`,
    field.kind === 'text' &&
      (field.key
        ? 'eq, ne, in and nin match every spelling of a value; contains and startswith ignore case.'
        : 'contains and startswith ignore case; the other operators do not.'),
  ];
  return Type.Optional(Type.Object(properties, { title, description: notes.filter(Boolean).join(' ') }));
}

function readFilters(field: NamedField, given: Given, company: Company, problems: FieldProblem[]): Filter[] {
  const tests = (given[parameterOf(field)] ?? {}) as Given;
  return KINDS[field.kind].operators.flatMap((operator) => {
    const text = tests[operator];
    if (typeof text !== 'string') return [];
    const { read, problem } = operator === 'isnull' ? BOOLEAN : KINDS[field.kind];
    const isList = operator === 'in' || operator === 'nin';
    // Spaces are part of a text, in a list as in eq.
    const items = isList
      ? text.split(',').map((item) => (field.kind === 'text' ? item : item.trim()))
      : [text];
    const values = items.map((item) => read(item, field, company)).filter((value) => value !== undefined);
    const isValid = values.length === items.length && items.length <= MAX_LIST_VALUES;
    if (isValid) return [{ field, operator, values }];
    const tooMany = items.length > MAX_LIST_VALUES && `must hold at most ${MAX_LIST_VALUES} values`;
    problems.push({
      path: `${parameterOf(field)}[${operator}]`,
      message: tooMany || problem(field, company),
    });
    return [];
  });
}

function readSort(text: string, fields: NamedField[], problems: FieldProblem[]): ListPlan['order'] {
  const refuse = (message: string) => problems.push({ path: 'sort', message });
  const order: ListPlan['order'] = [];
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
  return order;
}

/** Folds `filter[field][op]=v` and `filter[field]=v` into one entry `filter[field]` = `{op: v}`. */
export function parseQueryString(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [key, value] of new URLSearchParams(text)) {
    const filter = /^filter\[([^[\]]*)\](?:\[([^[\]]*)\])?$/.exec(key);
    const name = filter ? `filter[${filter[1]}]` : key;
    if (filter && (query[name] === undefined || isTests(query[name]))) {
      query[name] ??= Object.create(null);
      addValue(query[name] as Record<string, unknown>, filter[2] ?? 'eq', value);
    } else {
      addValue(query, name, value);
    }
  }
  return query;
}

function isTests(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value);
}

/** A repeated parameter becomes a list, which every schema refuses with the name of the parameter. */
function addValue(target: Record<string, unknown>, name: string, value: string): void {
  target[name] = target[name] === undefined ? value : [target[name], value].flat();
}
