import { type RawBuilder, sql } from 'kysely';
import type { CursorValue } from './cursor.ts';
import type { ListField, ListOrder, NamedField } from './fields.ts';
import type { BusinessDay, Comparison, Filter, FilterValue, ListPlan } from './query.ts';

/** SQL for list fields that a column name alone cannot describe. */
export interface ListColumns {
  /** The SQL of each computed field, which has no column. */
  computed?: Record<string, RawBuilder<unknown>>;
  /**
   * For some fields, a function that returns a condition that can use an index. This condition replaces the usual condition, which
   * it can contain.
   */
  indexed?: Record<string, (filter: Filter, usual: RawBuilder<boolean>) => RawBuilder<boolean>>;
}

export function conditionsOf(
  { filters, metadata }: Pick<ListPlan, 'filters' | 'metadata'>,
  columns: ListColumns,
): RawBuilder<boolean>[] {
  const conditions = filters.map((filter) => {
    const usual = usualCondition(filter, columns);
    return columns.indexed?.[filter.field.name]?.(filter, usual) ?? usual;
  });
  return metadata ? [...conditions, hasMetadata(metadata)] : conditions;
}

/** The condition `<> '{}'` lets PostgreSQL use the partial index on metadata. */
function hasMetadata({ column, values }: NonNullable<ListPlan['metadata']>): RawBuilder<boolean> {
  const has = sql.ref(column);
  return sql`(${has} @> ${JSON.stringify(values)}::jsonb and ${has} <> '{}')`;
}

export function orderOf({ order }: Pick<ListPlan, 'order'>, columns: ListColumns): RawBuilder<unknown> {
  const keys = order.map(({ field, direction }) => {
    const collation = field.kind === 'text' ? BYTE_ORDER : '';
    // On a non-null column, NULLS LAST prevents an index scan in descending order.
    const suffix = `${collation} ${direction}${field.nullable ? ' nulls last' : ''}`;
    if (field.column !== undefined) return sql.raw(`${field.column}${suffix}`);
    return sql`${columnOf(field, columns)}${sql.raw(suffix)}`;
  });
  return sql.join(keys);
}

/** A text that the planner cannot see, so that PostgreSQL makes one plan for all values. */
export function hidden(text: string): RawBuilder<unknown> {
  return sql`(select ${text}::text)`;
}

/** The SQL condition for rows that come after the row with these sort values. */
export function isAfter(
  order: ListOrder,
  values: readonly CursorValue[],
  columns: ListColumns,
): RawBuilder<boolean> {
  const keys = order.map(({ field, direction }, at) => ({
    column: orderedColumn(field, columns),
    value: sql`${values[at]}${castOf(field, 'bigint')}`,
    isNull: values[at] === null,
    isNullable: field.nullable ?? false,
    operator: sql.raw(direction === 'asc' ? '>' : '<'),
    direction,
  }));
  const [first] = keys;
  // With a row comparison, PostgreSQL starts an index scan at the position. With OR it cannot do this.
  if (first && keys.every((key) => !key.isNullable && key.direction === first.direction)) {
    return sql`(${sql.join(keys.map((key) => key.column))}) ${first.operator} (${sql.join(keys.map((key) => key.value))})`;
  }
  // Builds the condition from the last key to the first. Null comes after all values.
  return keys.reduceRight<RawBuilder<boolean>>((laterKeys, { column, value, operator, ...key }) => {
    if (key.isNull) return sql`(${column} is null and ${laterKeys})`;
    const orNull = key.isNullable ? sql` or ${column} is null` : sql``;
    return sql`(${column} ${operator} ${value}${orNull} or (${column} = ${value} and ${laterKeys}))`;
  }, sql`false`);
}

/** SQL for the sort values of a row, as a JSON array for a cursor. */
export function sortValuesOf(order: ListOrder, columns: ListColumns): RawBuilder<CursorValue[]> {
  return sql`json_build_array(${sql.join(order.map(({ field }) => columnOf(field, columns)))})`;
}

/** Makes PostgreSQL sort text in byte order, because other collations can differ between servers. */
const BYTE_ORDER = ' collate "C"';

function orderedColumn(field: NamedField, columns: ListColumns): RawBuilder<unknown> {
  const column = columnOf(field, columns);
  return field.kind === 'text' ? sql`${column}${sql.raw(BYTE_ORDER)}` : column;
}

/** Makes %, _ and \ match themselves in a LIKE pattern. */
export function likeLiteral(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

export function columnOf({ name, column }: NamedField, { computed }: ListColumns): RawBuilder<unknown> {
  const found = column === undefined ? computed?.[name] : sql.raw(column);
  if (!found) throw new Error(`The list field ${name} has no column, and its store declares no SQL for it.`);
  return found;
}

function usualCondition({ field, operator, values }: Filter, columns: ListColumns): RawBuilder<boolean> {
  const column = columnOf(field, columns);
  const [value = ''] = values;
  switch (operator) {
    case 'isnull':
      return value ? sql`${column} is null` : sql`${column} is not null`;
    case 'contains':
      return sql`${column} ilike ${`%${likeLiteral(String(value))}%`}`;
    case 'startswith':
      return sql`${column} ilike ${`${likeLiteral(String(value))}%`}`;
    case 'in':
      return isOneOf(field, column, values);
    case 'nin':
      // Like ne, nin is true for a row without a value.
      return sql`(${isOneOf(field, column, values)}) is not true`;
    case 'eq':
    case 'ne':
      return compare(field, operator, ...keyOrColumn(field, column, [value]));
    default:
      return compare(field, operator, orderedColumn(field, columns), [value]);
  }
}

/** The operators eq, ne, in and nin compare the column of the normalized text, such as `email_key`, if the field has one. */
function keyOrColumn(
  { key }: ListField,
  column: RawBuilder<unknown>,
  values: FilterValue[],
): [RawBuilder<unknown>, FilterValue[]] {
  return key ? [sql.ref(key.column), values.map((value) => key.of(String(value).trim()))] : [column, values];
}

const COMPARISON: Record<Comparison, string> = {
  eq: '=',
  ne: 'is distinct from',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
};

/** Without a cast, PostgreSQL would convert the number to the type of the column. For int4, this fails for a large number. */
function castOf({ kind }: ListField, type: 'bigint' | 'bigint[]'): RawBuilder<unknown> {
  return sql.raw(kind === 'id' || kind === 'integer' || kind === 'money' ? `::${type}` : '');
}

function compare(
  field: ListField,
  operator: Comparison,
  column: RawBuilder<unknown>,
  [value]: FilterValue[],
): RawBuilder<boolean> {
  if (isDay(value)) return compareDay(column, operator, value);
  return sql`${column} ${sql.raw(COMPARISON[operator])} ${value}${castOf(field, 'bigint')}`;
}

function isOneOf(field: ListField, column: RawBuilder<unknown>, values: FilterValue[]): RawBuilder<boolean> {
  const days = values.filter(isDay);
  const [target, others] = keyOrColumn(
    field,
    column,
    values.filter((value) => !isDay(value)),
  );
  const isOther = sql<boolean>`${target} = any(${others}${castOf(field, 'bigint[]')})`;
  if (days.length === 0) return isOther;
  return sql`(${sql.join([isOther, ...days.map((day) => compareDay(target, 'eq', day))], sql` or `)})`;
}

function isDay(value: FilterValue | undefined): value is BusinessDay {
  return typeof value === 'object' && 'start' in value;
}

function compareDay(
  column: RawBuilder<unknown>,
  operator: Comparison,
  { start, end }: BusinessDay,
): RawBuilder<boolean> {
  switch (operator) {
    case 'eq':
      return sql`(${column} >= ${start} and ${column} < ${end})`;
    case 'ne':
      return sql`(${column} >= ${start} and ${column} < ${end}) is not true`;
    case 'gt':
      return sql`${column} >= ${end}`;
    case 'gte':
      return sql`${column} >= ${start}`;
    case 'lt':
      return sql`${column} < ${start}`;
    case 'lte':
      return sql`${column} < ${end}`;
  }
}
