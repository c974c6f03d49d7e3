// CSV as RFC 4180 has it, for files that are made from rows in memory; large ones are streamed by copy.ts.

/** Begins a CSV file: without it a spreadsheet takes UTF-8 for the encoding of its country. */
export const BYTE_ORDER_MARK = '\ufeff';

/**
 * One line of a file, ended by CRLF. A text is quoted, which a reader that heeds quotes keeps as text; what is
 * already decimal text or a plain name is a bare cell; null is an empty one.
 */
export function csvLine(cells: readonly (Bare | string | null)[]): string {
  return `${cells.map((cell) => (cell === null ? '' : typeof cell === 'string' ? quoted(csvText(cell)) : cell.bare)).join(',')}\r\n`;
}

/** A cell without quotes: digits, a date, a name of this service. Never text of a person. */
export interface Bare {
  bare: string;
}

/** @throws RangeError for text that would need quotes. */
export function bare(value: string | number): Bare {
  const text = String(value);
  if (!/^[\w.-]*$/.test(text)) throw new RangeError('Only digits, dates and names can stand without quotes.');
  return { bare: text };
}

/**
 * Text of a person as a cell: what a spreadsheet would run as a formula, or shorten as a number, has an
 * apostrophe in front, also behind what it may split the cell at; line breaks become spaces. The same as csv_text in the
 * database, which says why.
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
