import { type RawBuilder, sql } from 'kysely';
import type {
  BusinessDay,
  Comparison,
  Filter,
  FilterValue,
  ListField,
  ListPlan,
  NamedField,
} from './query.ts';

/** What only the store knows about the fields of its list. */
export interface ListColumns {
  /** The SQL of each computed field, which has no column. */
  computed?: Record<string, RawBuilder<unknown>>;
  /** By field: narrows or replaces its usual condition with one that an index serves. */
  indexed?: Record<string, (filter: Filter, usual: RawBuilder<boolean>) => RawBuilder<boolean>>;
}

export function conditionsOf({ filters }: ListPlan, columns: ListColumns): RawBuilder<boolean>[] {
  return filters.map((filter) => {
    const usual = usualCondition(filter, columns);
    return columns.indexed?.[filter.field.name]?.(filter, usual) ?? usual;
  });
}

export function orderOf({ order }: Pick<ListPlan, 'order'>, columns: ListColumns): RawBuilder<unknown> {
  const keys = order.map(({ field, direction }) => {
    const column = columnOf(field, columns);
    // A collation may differ between servers; byte order does not.
    const ordered = field.kind === 'text' ? sql`${column} collate "C"` : column;
    // On a non-null column, NULLS LAST prevents an index scan in descending order.
    return sql`${ordered} ${sql.raw(field.nullable ? `${direction} nulls last` : direction)}`;
  });
  return sql.join(keys);
}

/** Makes %, _ and \ match themselves in a LIKE pattern. */
export function likeLiteral(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

function columnOf({ name, column }: NamedField, { computed }: ListColumns): RawBuilder<unknown> {
  const found = column === undefined ? computed?.[name] : sql.ref(column);
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
      // Like ne, nin is true where there is no value.
      return sql`(${isOneOf(field, column, values)}) is not true`;
    case 'eq':
    case 'ne':
      return compare(field, operator, ...byKey(field, column, [value]));
    default:
      return compare(field, operator, field.kind === 'text' ? sql`${column} collate "C"` : column, [value]);
  }
}

/** eq, ne, in and nin compare the key of a text where there is one. */
function byKey(
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

/** Without a cast, PostgreSQL would read a large number as the int4 of its column and refuse it. */
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
  const [target, others] = byKey(
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
      return sql`not (${column} >= ${start} and ${column} < ${end})`;
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
