export interface ListField {
  kind: Kind;
  /** The column, such as `p.created_at` (p is a table alias). Absent for a computed field, see `ListColumns.computed`. */
  column?: string;
  /** Whether the column can be null. Rows with null come last in both sort directions. */
  nullable?: boolean;
  /** For the kind enum: the allowed values. */
  values?: readonly string[];
  /** For the kind text: an indexed column that contains `of(text)`. The operators eq, ne, in and nin compare this column. */
  key?: { column: string; of: (text: string) => string };
}

export type Kind = 'id' | 'integer' | 'money' | 'date' | 'timestamp' | 'text' | 'enum' | 'boolean';

export type NamedField = ListField & { name: string };

/** The last field is the id, so that no two rows have the same place in the order. */
export type ListOrder = { field: NamedField; direction: 'asc' | 'desc' }[];
