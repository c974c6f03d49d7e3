// Writes CSV (RFC 4180) from rows in memory. PostgreSQL writes large reports, with the database function csv_text instead of
// `csvText`. The package csv-stringify cannot be used, because it has another rule for formulas.

/** The start of a CSV file. Without this mark, a spreadsheet program may use the old encoding of its locale, not UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';

/** One line with CRLF. Text is in quotes: many programs convert unquoted text to numbers or dates. Null is an empty cell. */
export function csvLine(cells: readonly (Unquoted | string | null)[]): string {
  return `${cells.map((cell) => (cell === null ? '' : typeof cell === 'string' ? quoted(csvText(cell)) : cell.unquoted)).join(',')}\r\n`;
}

/** A cell without quotes: digits, a date or a name that this service defines, never text that a person wrote. */
interface Unquoted {
  unquoted: string;
}

/** @throws RangeError for text that would need quotes. */
export function unquoted(value: string | number): Unquoted {
  const text = String(value);
  if (!/^[\w.-]*$/.test(text))
    throw new RangeError(
      'The cell has characters that need quotes. Only digits, dates and names may be written without quotes.',
    );
  return { unquoted: text };
}

/**
 * Makes a cell from text that a person wrote. Puts an apostrophe before a formula, because a spreadsheet program would run it,
 * and before a number whose digits the program would change. A formula after a separator within the text gets an apostrophe too,
 * because the program may split the cell there. Line breaks become spaces. The database function csv_text does the same.
 */
export function csvText(value: string): string {
  const line = value.replace(/[\r\n]/g, ' ').replace(FORMULA_WITHIN, "$1'");
  return FORMULA.test(value) || LONG_NUMBER.test(value) ? `'${line}` : line;
}

// For use inside `[…]`, in the syntax that JavaScript and PostgreSQL share. They do not use \s, which differs between the two.
export const SPACE = String.raw`\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff`;
/** The characters that start a formula. */
export const OPERATOR = String.raw`=+@\uff0b\uff0d\uff1d\uff20-`;

const FORMULA = new RegExp(String.raw`^[${SPACE}]*[\t\r\n${OPERATOR}]`);
const FORMULA_WITHIN = new RegExp(String.raw`([,;|\t])(?=["${SPACE}]*[${OPERATOR}])`, 'g');
const LONG_NUMBER = new RegExp(`^[${SPACE}]*(0[0-9]+|[0-9]{16,})[${SPACE}]*$`);

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
