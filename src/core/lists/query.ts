import { type RawBuilder, sql } from 'kysely';
import { type TProperties, Type } from 'typebox';
import { type Currency, today } from '../context.ts';
import { type FieldProblem, invalid } from '../http/errors.ts';
import { type Company, FURTHER_PROBLEMS } from '../http/validation.ts';
import { addDays, type PlainDate, parsePlainDate, parseTimestamp, startOfDayUtc } from '../values/dates.ts';
import { type Minor, parseMinor } from '../values/money.ts';

/**
 * The list grammar: `page`, `limit`, `sort=field:asc,other:desc` and `filter[field][op]=value`.
 * A resource declares its fields once; the query schema, the SQL and the API description come from
 * that table.
 */

const OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'contains',
  'startswith',
  'isnull',
] as const;
type Operator = (typeof OPERATORS)[number];

export type Comparison = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';

type Kind = 'id' | 'integer' | 'money' | 'date' | 'timestamp' | 'text' | 'enum' | 'boolean';

const ORDER: Operator[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'isnull'];
const OPERATORS_OF: Record<Kind, Operator[]> = {
  id: ORDER,
  integer: ORDER,
  money: ORDER,
  date: ORDER,
  timestamp: ORDER,
  text: [...OPERATORS],
  enum: ['eq', 'ne', 'in', 'nin', 'isnull'],
  boolean: ['eq', 'ne', 'isnull'],
};

/** What the API description calls the operators of a kind. */
const FILTER_TITLE: Record<Kind, string> = {
  id: 'OrderFilter',
  integer: 'OrderFilter',
  money: 'OrderFilter',
  date: 'OrderFilter',
  timestamp: 'OrderFilter',
  text: 'TextFilter',
  enum: 'EnumFilter',
  boolean: 'BooleanFilter',
};

const SQL_TYPE: Record<Exclude<Kind, 'enum'>, string> = {
  id: 'bigint',
  integer: 'bigint',
  money: 'bigint',
  date: 'date',
  timestamp: 'timestamptz',
  text: 'text',
  boolean: 'boolean',
};

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
const MAX_SORT_KEYS = 5;
const MAX_LIST_VALUES = 100;
const MAX_VALUE_LENGTH = 1_000;
const MAX_PAGE = 1_000_000_000;

/** One field of a list: where its value stands in SQL and how a caller's text is read. */
export interface ListField {
  kind: Kind;
  /** A column, or an expression that needs to know the business day. */
  column: RawBuilder<unknown> | ((day: PlainDate) => RawBuilder<unknown>);
  /** Rows may have no value here; they come last in either direction. */
  nullable?: boolean;
  /** For kind integer: a comparison in words that an index serves, where one with the column has none. */
  compare?: (operator: Comparison, value: number, day: PlainDate) => RawBuilder<boolean>;
  /** True of every row whose column has one of the values, and served by an index, where the column has none: for eq and in. */
  implies?: (values: unknown[]) => RawBuilder<boolean>;
  /** For kind text: the indexed column that says which texts are one, and what does; eq, ne, in and nin go by it. */
  key?: { column: RawBuilder<unknown>; of: (text: string) => string };
  /** For kind enum: the allowed values and the SQL type that they have. */
  values?: readonly string[];
  sqlType?: string;
}

const pageProperties = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  sort: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
};

export type ListQuery = Type.Static<Type.TObject<typeof pageProperties>>;

export interface ListDefinition<Extra extends TProperties> {
  /** Schema of the query string; the filters stand in it too, but only `read` looks at them. */
  query: Type.TObject<typeof pageProperties & Extra>;
  /** @throws AppError VALIDATION_ERROR naming every wrong sort and filter, where no validation has done so before. */
  read(query: ListQuery, company: Company): ListPlan;
}

export interface ListPlan {
  conditions: RawBuilder<boolean>[];
  orderBy: RawBuilder<unknown>;
  /** Nothing is filtered, and the order is that of creation. */
  isPlain: boolean;
  page: number;
  limit: number;
}

export function column(name: string): RawBuilder<unknown> {
  return sql.ref(name);
}

/**
 * @param fields must hold `id`, which is always the last sort key.
 * @param extra further plain query parameters, such as `status`.
 */
export function defineList<Extra extends TProperties>(
  fields: Record<string, ListField> & { id: ListField; createdAt: ListField },
  extra: Extra,
): ListDefinition<Extra> {
  const names = Object.keys(fields);
  const filtered = Object.entries(fields).map(([name, field]) => ({ parameter: `filter[${name}]`, field }));
  const filterProperties = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [`filter[${name}]`, filterSchema(name, field)]),
  );
  const sort = Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: `field:asc or field:desc, several by comma; fields: ${names.join(', ')}. Default: createdAt:desc.`,
    }),
  );
  const properties = { ...pageProperties, sort, ...extra, ...filterProperties };

  function planOf(given: Unchecked, company: Company) {
    const problems: FieldProblem[] = [];
    const day = today(company);
    const conditions: RawBuilder<boolean>[] = [];
    for (const { parameter, field } of filtered) {
      const tests = given[parameter] as Unchecked | undefined;
      if (!tests) continue;
      for (const operator of OPERATORS_OF[field.kind]) {
        const text = tests[operator];
        if (typeof text !== 'string') continue;
        const path = `${parameter}[${operator}]`;
        const condition = readCondition(field, operator, text, company, day);
        if ('problem' in condition) problems.push({ path, message: condition.problem });
        else conditions.push(condition.sql);
      }
    }
    const sort = typeof given.sort === 'string' ? given.sort : 'createdAt:desc';
    const orderBy = readSort(sort, fields, day, problems);
    const isPlain = conditions.length === 0 && /^createdAt(:asc|:desc)?$/.test(sort);
    return { conditions, orderBy, isPlain, problems };
  }

  function read(given: ListQuery, company: Company): ListPlan {
    const { problems, ...plan } = checked.get(given) ?? planOf(given, company);
    if (problems.length > 0) throw invalid(problems);
    const { page = 1, limit = DEFAULT_LIMIT } = given;
    return { ...plan, page, limit };
  }

  /** What the validator has asked for already is not made again. */
  const checked = new WeakMap<object, ReturnType<typeof planOf>>();
  const query = Object.assign(Type.Object<typeof pageProperties & Extra>(properties), {
    [FURTHER_PROBLEMS]: (given: Unchecked, company: Company) => {
      const plan = planOf(given, company);
      checked.set(given, plan);
      return plan.problems;
    },
  });
  return { query, read };
}

type Unchecked = Record<string, unknown>;

function filterSchema(name: string, field: ListField) {
  const operators = OPERATORS_OF[field.kind];
  const properties = Object.fromEntries(
    operators.map((operator) => [
      operator,
      Type.Optional(Type.String({ maxLength: MAX_VALUE_LENGTH, format: 'query-text' })),
    ]),
  );
  const allowed = field.values ? ` Values: ${field.values.join(', ')}.` : '';
  const spelling = field.kind === 'text' ? (field.key ? SPELT_IN_ANY_WAY : SPELT_SO) : '';
  return Type.Optional(
    Type.Object(properties, {
      title: FILTER_TITLE[field.kind],
      description: `filter[${name}][op]=value, ops ${operators.join(', ')}; filter[${name}]=value means eq.${allowed}${spelling}`,
    }),
  );
}

const SPELT_SO = ' Upper and lower case differ, but in contains and startswith.';
const SPELT_IN_ANY_WAY =
  ' eq, ne, in and nin take all spellings of a value as one; contains and startswith ignore case.';
const BY_KEY: Operator[] = ['eq', 'ne', 'in', 'nin'];

type Read<T> = { value: T } | { problem: string };
type Condition = { sql: RawBuilder<boolean> } | { problem: string };

function readCondition(
  field: ListField,
  operator: Operator,
  text: string,
  company: Company,
  day: PlainDate,
): Condition {
  const key = BY_KEY.includes(operator) ? field.key : undefined;
  const spelt = (given: string) => (key ? key.of(given.trim()) : given);
  const target = key?.column ?? (typeof field.column === 'function' ? field.column(day) : field.column);
  const type = sql.raw(field.kind === 'enum' ? (field.sqlType ?? 'text') : SQL_TYPE[field.kind]);
  if (operator === 'isnull') {
    if (text === 'true') return { sql: sql`${target} is null` };
    if (text === 'false') return { sql: sql`${target} is not null` };
    return { problem: 'must be true or false' };
  }
  if (operator === 'contains') return { sql: sql`${target} ilike ${`%${likeLiteral(text)}%`}` };
  if (operator === 'startswith') return { sql: sql`${target} ilike ${`${likeLiteral(text)}%`}` };
  if (operator === 'in' || operator === 'nin') {
    // Of a text the blanks count, as they do in eq.
    const items = text.split(',').map((item) => spelt(field.kind === 'text' ? item : item.trim()));
    return readItems(field, operator, items, target, type, company);
  }
  if (field.kind === 'timestamp' && parsePlainDate(text)) {
    return { sql: dayCondition(target, operator, text as PlainDate, company.config.BUSINESS_TIMEZONE) };
  }
  const read = readValue(field, spelt(text), company.currency);
  if ('problem' in read) return read;
  if (field.compare) return { sql: field.compare(operator, Number(read.value), day) };
  // As in sorting, text is before or after other text by its bytes.
  const byBytes = sql.raw(
    field.kind === 'text' && operator !== 'eq' && operator !== 'ne' ? ' collate "C"' : '',
  );
  const test = sql<boolean>`${target}${byBytes} ${sql.raw(COMPARISON[operator])} ${read.value}::${type}`;
  return { sql: operator === 'eq' ? served(test, field, [read.value]) : test };
}

/** A date among timestamps means that whole business day. */
function readItems(
  field: ListField,
  operator: 'in' | 'nin',
  items: string[],
  target: RawBuilder<unknown>,
  type: RawBuilder<unknown>,
  { currency, config }: Company,
): Condition {
  if (items.length > MAX_LIST_VALUES) return { problem: `must hold at most ${MAX_LIST_VALUES} values` };
  const values: unknown[] = [];
  const days: RawBuilder<boolean>[] = [];
  for (const item of items) {
    if (field.kind === 'timestamp' && parsePlainDate(item)) {
      days.push(dayCondition(target, 'eq', item as PlainDate, config.BUSINESS_TIMEZONE));
      continue;
    }
    const read = readValue(field, item, currency);
    if ('problem' in read) return read;
    values.push(read.value);
  }
  const oneOf = sql<boolean>`${target} = any(${values}::${type}[])`;
  const test = days.length > 0 ? sql<boolean>`(${sql.join([oneOf, ...days], sql` or `)})` : oneOf;
  // Like ne, nin holds where there is no value at all.
  return { sql: operator === 'in' ? served(test, field, values) : sql`(${test}) is not true` };
}

function served(test: RawBuilder<boolean>, { implies }: ListField, values: unknown[]): RawBuilder<boolean> {
  return implies ? sql`(${test} and ${implies(values)})` : test;
}

const COMPARISON: Record<Comparison, string> = {
  eq: '=',
  ne: 'is distinct from',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
};

/** A date given for a timestamp means that whole business day. */
function dayCondition(
  target: RawBuilder<unknown>,
  operator: Comparison,
  day: PlainDate,
  timeZone: string,
): RawBuilder<boolean> {
  const start = startOfDayUtc(day, timeZone);
  const end = startOfDayUtc(addDays(day, 1), timeZone);
  switch (operator) {
    case 'eq':
      return sql`(${target} >= ${start} and ${target} < ${end})`;
    case 'ne':
      return sql`not (${target} >= ${start} and ${target} < ${end})`;
    case 'gt':
      return sql`${target} >= ${end}`;
    case 'gte':
      return sql`${target} >= ${start}`;
    case 'lt':
      return sql`${target} < ${start}`;
    case 'lte':
      return sql`${target} < ${end}`;
  }
}

function readValue(
  field: ListField,
  text: string,
  currency: Currency,
): Read<string | number | Minor | boolean | Date> {
  switch (field.kind) {
    case 'id':
    case 'integer': {
      const value = Number(text);
      const canonical = /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(value);
      return canonical ? { value } : { problem: 'must be a whole number' };
    }
    case 'money': {
      const value = parseMinor(text, currency.decimals);
      const fits = value !== undefined && value < 2n ** 62n && value > -(2n ** 62n);
      return fits ? { value } : { problem: `must be an amount with at most ${currency.decimals} decimals` };
    }
    case 'date':
      return parsePlainDate(text) ? { value: text } : { problem: 'must be a date as YYYY-MM-DD' };
    case 'timestamp': {
      const value = parseTimestamp(text);
      return value ? { value } : { problem: 'must be a date or an ISO 8601 timestamp with a zone' };
    }
    case 'boolean':
      return text === 'true' || text === 'false'
        ? { value: text === 'true' }
        : { problem: 'must be true or false' };
    case 'enum':
      return field.values?.includes(text)
        ? { value: text }
        : { problem: `must be one of ${field.values?.join(', ')}` };
    case 'text':
      return { value: text };
  }
}

function readSort(
  text: string,
  fields: Record<string, ListField>,
  day: PlainDate,
  problems: FieldProblem[],
): RawBuilder<unknown> {
  const keys: RawBuilder<unknown>[] = [];
  const parts = text.split(',');
  if (parts.length > MAX_SORT_KEYS)
    problems.push({ path: 'sort', message: `must have at most ${MAX_SORT_KEYS} keys` });
  let idDirection = 'desc';
  for (const part of parts.slice(0, MAX_SORT_KEYS)) {
    const [name = '', direction = 'asc', ...rest] = part.trim().split(':');
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) {
      problems.push({
        path: 'sort',
        message: `"${name.slice(0, 40)}" is not a field; allowed: ${Object.keys(fields).join(', ')}`,
      });
    } else if ((direction !== 'asc' && direction !== 'desc') || rest.length > 0) {
      problems.push({ path: 'sort', message: `the direction of ${name} must be asc or desc` });
    } else {
      const target = typeof field.column === 'function' ? field.column(day) : field.column;
      // Byte order is the same on every server; a text column's own order may not be.
      const ordered = field.kind === 'text' ? sql`${target} collate "C"` : target;
      // Said of a column that has no nulls, `nulls last` would keep a descending sort off its index.
      const order = sql.raw(field.nullable ? `${direction} nulls last` : direction);
      keys.push(sql`${ordered} ${order}`);
      idDirection = direction;
    }
  }
  const idColumn = fields.id?.column;
  if (idColumn && typeof idColumn !== 'function') keys.push(sql`${idColumn} ${sql.raw(idDirection)}`);
  return sql.join(keys);
}

/** Makes %, _ and \ stand for themselves in a LIKE pattern. */
export function likeLiteral(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
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

/** A parameter that comes twice becomes a list, which no schema accepts: it is refused by name. */
function addValue(target: Record<string, unknown>, name: string, value: string): void {
  target[name] = target[name] === undefined ? value : [target[name], value].flat();
}
