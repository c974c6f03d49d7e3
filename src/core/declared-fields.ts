import { type Static, type TNull, type TOptional, type TSchema, type TUnion, Type } from 'typebox';
import { Nullable } from './http/fields.ts';
import type { ListField } from './lists/fields.ts';

/**
 * A field that means the same in bodies, in answers and in its column. The functions below derive its schemas, columns and list
 * fields. A field that is converted, such as a phone or an amount, is not declared but written by hand in each of these places.
 */
export interface DeclaredField {
  /** The schema of a value in a body. */
  schema: TSchema;
  /** Whether the value can be missing, which is null. */
  optional?: true;
  /** The value of a new row if its body has none. */
  default?: string | boolean;
  /** Whether the blanks at the ends of the text are removed. */
  trimmed?: true;
  /** Whether the value is personal data, which no event contains. */
  personal?: true;
  /** Whether a search finds the value. */
  searched?: true;
  /** Whether lists can be filtered and sorted by the field. */
  list?: true;
  /** What the column in the files of a portfolio means. Without it, the files do not have the field. */
  file?: string;
  /** Whether the value must be unique in the files. */
  unique?: true;
  example: string | boolean;
}

export type DeclaredFields = Readonly<Record<string, DeclaredField>>;

type Value<F> = F extends { optional: true; schema: infer S } ? TUnion<[S & TSchema, TNull]> : SchemaOf<F>;
type SchemaOf<F> = F extends { schema: infer S extends TSchema } ? S : never;
type Properties<Fields> = { -readonly [Name in keyof Fields]: Value<Fields[Name]> };
type BodyProperties<Fields> = {
  -readonly [Name in keyof Fields]: Fields[Name] extends { optional: true } | { default: string | boolean }
    ? TOptional<Value<Fields[Name]>>
    : Value<Fields[Name]>;
};
export type ValuesOf<Fields> = { -readonly [Name in keyof Fields]: Static<Value<Fields[Name]>> };
type ColumnOf<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnOf<Rest>}`
  : '';
type Named<Fields> = keyof Fields & string;
type RowOf<Values> = { [Name in Named<Values> as ColumnOf<Name>]: Values[Name] };

function mapFields(fields: DeclaredFields, of: (field: DeclaredField, name: string) => unknown): object {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, of(field, name)]));
}

/** homeVillage → home_village */
export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function isRequired(field: DeclaredField): boolean {
  return !field.optional && field.default === undefined;
}

export function bodyOf<Fields extends DeclaredFields>(fields: Fields) {
  return mapFields(fields, (field) => {
    const value = field.optional ? Nullable(field.schema) : field.schema;
    return isRequired(field) ? value : Type.Optional(value);
  }) as BodyProperties<Fields>;
}

/** The schemas of an answer have no limits, because an earlier version may have stored other values. */
export function answerOf<Fields extends DeclaredFields>(fields: Fields) {
  return mapFields(fields, ({ schema, optional }) => {
    const shown = Object.entries(schema).filter(([key]) => ['type', 'enum', 'title'].includes(key));
    const value = Type.Unsafe(Object.fromEntries(shown));
    return optional ? Nullable(value) : value;
  }) as Properties<Fields>;
}

/** The values of a new row, from a body that is valid. */
export function newValuesOf<Fields extends DeclaredFields>(
  fields: Fields,
  body: Partial<Record<Named<Fields>, unknown>>,
) {
  return mapFields(
    fields,
    ({ default: missing = null }, name) => body[name as Named<Fields>] ?? missing,
  ) as ValuesOf<Fields>;
}

/** The columns of the values. Values of other fields are left out. */
export function rowOf<Fields extends DeclaredFields, Values extends Partial<ValuesOf<Fields>>>(
  fields: Fields,
  values: Values,
) {
  const row = Object.keys(fields).map((name) => [columnOf(name), values[name as keyof Values]]);
  return Object.fromEntries(row) as RowOf<Pick<Values, keyof Values & keyof Fields>>;
}

/** The columns to select, under the names of the fields. */
export function columnsOf<Fields extends DeclaredFields>(fields: Fields) {
  type Columns = { [Name in Named<Fields>]: `${ColumnOf<Name>} as ${Name}` };
  return Object.keys(fields).map((name) => `${columnOf(name)} as ${name}`) as Columns[Named<Fields>][];
}

/** @param alias - of the table in the SQL of the list. */
export function listFieldsOf<Fields extends DeclaredFields>(fields: Fields, alias: string) {
  const listed = Object.fromEntries(Object.entries(fields).filter(([, { list }]) => list));
  return mapFields(listed, ({ schema, optional = false }, name): ListField => {
    const { type, enum: values } = schema as { type?: string; enum?: string[] };
    const kind = values ? 'enum' : type === 'boolean' ? 'boolean' : 'text';
    return { kind, column: `${alias}.${columnOf(name)}`, nullable: optional, ...(values && { values }) };
  }) as { [Name in keyof Fields as Fields[Name] extends { list: true } ? Name : never]: ListField };
}

export function namesWith<Fields extends DeclaredFields>(
  fields: Fields,
  property: 'trimmed' | 'personal' | 'searched',
): Named<Fields>[] {
  return Object.keys(fields).filter((name): name is Named<Fields> => fields[name]?.[property] === true);
}

export function exampleOf<Fields extends DeclaredFields>(fields: Fields) {
  return mapFields(fields, ({ example }) => example) as { [Name in keyof Fields]: string | boolean };
}
