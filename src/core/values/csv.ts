// CSV (RFC 4180) of rows in memory; copy.ts streams large files. csv-stringify guards formulas by another rule than the database's
// csv_text, and both kinds of files must agree.

/** Starts a CSV file. Without it, a spreadsheet assumes the encoding of its country instead of UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';

/** One line, with CRLF. Text is quoted, so that readers that respect quotes keep it as text; null is an empty cell. */
export function csvLine(cells: readonly (Bare | string | null)[]): string {
  return `${cells.map((cell) => (cell === null ? '' : typeof cell === 'string' ? quoted(csvText(cell)) : cell.bare)).join(',')}\r\n`;
}

/** A cell without quotes: digits, a date or a name of this service, never text that a person wrote. */
export interface Bare {
  bare: string;
}

/** @throws RangeError for text that would need quotes. */
export function bare(value: string | number): Bare {
  const text = String(value);
  if (!/^[\w.-]*$/.test(text))
    throw new RangeError('Only digits, dates and names may be written without quotes.');
  return { bare: text };
}

/**
 * Text that a person wrote, as a cell. An apostrophe precedes what a spreadsheet would run as a formula or round as a number, also
 * after a character at which it may split the cell. Line breaks become spaces. The same as csv_text in the database.
 */
export function csvText(value: string): string {
  const line = value.replace(/[\r\n]/g, ' ').replace(FORMULA_WITHIN, "$1'");
  return FORMULA.test(value) || LONG_NUMBER.test(value) ? `'${line}` : line;
}

const FORMULA = /^[\s\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]/;
const FORMULA_WITHIN = /([,;|\t])(?=["\s\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])/g;
const LONG_NUMBER = /^\s*(0[0-9]+|[0-9]{16,})\s*$/;

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
