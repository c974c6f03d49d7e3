export interface ListField {
  kind: Kind;
  /** The column that holds the value, with the alias of its table. The store declares the SQL of a computed field. */
  column?: string;
  /** Rows without a value sort last in both directions. */
  nullable?: boolean;
  /** Kind enum: the allowed values. */
  values?: readonly string[];
  /** Kind text: an indexed column that holds `of(text)`. The operators eq, ne, in and nin compare this column, not the text. */
  key?: { column: string; of: (text: string) => string };
}

export type Kind = 'id' | 'integer' | 'money' | 'date' | 'timestamp' | 'text' | 'enum' | 'boolean';

export type NamedField = ListField & { name: string };

/** The last field is the id, so that no two rows are equal in this order. */
export type ListOrder = { field: NamedField; direction: 'asc' | 'desc' }[];
