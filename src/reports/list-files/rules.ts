import { csvLine, unquoted } from '../../core/values/csv.ts';

/** A column of a list's file: a field of the answer, such as `customer.name`. */
export interface FileColumn {
  path: readonly string[];
}

/** The parts of a JSON schema that decide about columns. */
interface ObjectSchema {
  anyOf?: object[];
  type?: string;
  properties?: Record<string, object>;
  required?: string[];
}

/**
 * The columns for the rows of a list: each field with one value, and the fields of objects within the row. Fields that are lists are
 * left out. An optional object, such as `customer`, has columns only if the query expands it.
 */
export function columnsOf(item: object, expanded: ReadonlySet<string>): FileColumn[] {
  const { properties = {}, required = [] } = item as ObjectSchema;
  return Object.entries(properties).flatMap(([name, given]) => {
    const schema = withoutNull(given);
    if (schema.type === 'array') return [];
    const isObject = schema.properties !== undefined;
    if (isObject && !required.includes(name) && !expanded.has(name)) return [];
    if (!isObject) return [{ path: [name] }];
    return columnsOf(schema, expanded).map(({ path }) => ({ path: [name, ...path] }));
  });
}

function withoutNull(schema: object): ObjectSchema {
  const { anyOf } = schema as ObjectSchema;
  return (anyOf?.find((each) => (each as ObjectSchema).type !== 'null') ?? schema) as ObjectSchema;
}

export function headOf(columns: readonly FileColumn[]): string {
  return csvLine(columns.map(({ path }) => unquoted(path.join('.'))));
}

export function lineOf(columns: readonly FileColumn[], row: object): string {
  return csvLine(columns.map(({ path }) => cellOf(valueAt(row, path))));
}

function valueAt(row: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], row);
}

/** Free fields, such as metadata, are one cell with JSON. */
function cellOf(value: unknown) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return unquoted(String(value));
  return typeof value === 'string' ? value : JSON.stringify(value);
}
