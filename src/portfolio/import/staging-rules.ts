import { columnOf } from '../../core/declared-fields.ts';
import { emailKey } from '../../core/values/email.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { nationalIdKey } from '../../customers/rules.ts';
import { type CustomerValues, customerFields } from '../../customers/schema.ts';
import { searchText } from '../../customers/search-text-rules.ts';
import { type Column, FILE_NAMES, type FileName, FORMAT, type Kind } from '../format-rules.ts';

// The staging tables of an import are temporary tables of its transaction. Each file has one table. The table has the columns of
// the file, and columns that are derived from these.

/** The values of a row by column. An unreadable cell is null. */
export type RowValues = Readonly<Record<string, string | null>>;

/** Columns for comparison and search. The tables of the books have such columns, too. The same functions compute their values. */
export const DERIVED: Readonly<
  Partial<Record<FileName, Readonly<Record<string, (row: RowValues) => string | null>>>>
> = {
  customers: {
    email_key: ({ email }) => (email ? emailKey(email) : null),
    national_id_key: ({ national_id: id }) => (id ? nationalIdKey(id) : null),
    search_text: (row) => {
      const { first_name, last_name, phone, second_phone = null, email = null, national_id = null } = row;
      if (!first_name || !last_name || !phone) return null;
      const declared = Object.keys(customerFields).map((name) => [name, row[columnOf(name)]]);
      return searchText({
        // The files contain only the fields that are declared with `file`. The others have no value yet.
        ...(Object.fromEntries(declared) as CustomerValues),
        ...{ phone, secondPhone: second_phone, email, nationalId: national_id },
      });
    },
  },
  payments: {
    reference_key: ({ transaction_ref: reference }) => (reference ? referenceKey(reference) : null),
    transaction_key: ({ provider_transaction_id: id }) => (id ? referenceKey(id) : null),
  },
  credit_moves: {
    reference_key: ({ transaction_ref: reference }) => (reference ? referenceKey(reference) : null),
  },
};

const TYPES: Readonly<Record<Kind['kind'], string>> = {
  name: 'text',
  text: 'text',
  paragraph: 'text',
  external_id: 'text',
  code: 'text',
  national_id: 'text',
  reference: 'text',
  amount: 'bigint',
  count: 'integer',
  date: 'date',
  timestamp: 'timestamptz(3)',
  phone: 'text',
  email: 'text',
  account_number: 'bigint',
  flag: 'boolean',
  choice: 'text',
  metadata: 'jsonb',
  assignments: 'jsonb',
  runs: 'jsonb',
  months: 'integer[]',
  harvest: 'jsonb',
};

/** Rows of these files get ids when they are staged, because ledger entries and reconciliations refer to them. */
const ID_SEQUENCES: Readonly<Partial<Record<FileName, string>>> = {
  payments: 'payments_id_seq',
  credit_moves: 'credit_moves_id_seq',
};

/** The staging table of a file. */
export function stagingTable(file: FileName): string {
  return `new_${file}`;
}

/** @param writesRows - whether the rows will be written, and therefore need ids. */
export function stagingTableStatements(writesRows: boolean): string[] {
  return FILE_NAMES.map((file) => {
    const sequence = ID_SEQUENCES[file];
    const columns = [
      // The place of the row among the rows of its file, counted from 1.
      'position integer not null',
      // Null for a row that the import derives from a column of accounts.csv.
      'line integer',
      ...columnsOf(file).map(({ name, type }) => `${name} ${type}`),
      `id bigint${writesRows && sequence ? ` default nextval('${sequence}')` : ''}`,
    ];
    return `create temporary table ${stagingTable(file)} (${columns.join(', ')}) on commit drop`;
  });
}

export function copyToStaging(file: FileName): string {
  const names = columnsOf(file).map(({ name }) => name);
  return `copy ${stagingTable(file)} (position, line, ${names.join(', ')}) from stdin`;
}

function columnsOf(file: FileName): { name: string; type: string }[] {
  return [
    ...FORMAT[file].columns.map((column: Column) => ({ name: column.name, type: TYPES[column.kind] })),
    ...Object.keys(DERIVED[file] ?? {}).map((name) => ({ name, type: 'text' })),
  ];
}

/** A row in the text format of COPY, with the derived columns at the end. */
export function rowAsText(
  file: FileName,
  position: number,
  line: number,
  values: readonly (string | null)[],
): string {
  const derived = DERIVED[file];
  const all = derived ? [...values, ...derivedValues(file, derived, values)] : values;
  let text = `${position}\t${line}`;
  for (const value of all) text += `\t${value === null ? '\\N' : escaped(value)}`;
  return `${text}\n`;
}

function derivedValues(
  file: FileName,
  derived: Readonly<Record<string, (row: RowValues) => string | null>>,
  values: readonly (string | null)[],
): (string | null)[] {
  const row = Object.fromEntries(FORMAT[file].columns.map(({ name }, at) => [name, values[at] ?? null]));
  return Object.values(derived).map((derive) => derive(row));
}

const SPECIAL = /[\\\n\r\t]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes a text for the text format of COPY. */
export function escaped(text: string): string {
  return text.replace(SPECIAL, (character) => ESCAPES[character] ?? character);
}
