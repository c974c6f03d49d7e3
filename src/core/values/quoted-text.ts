// Spreadsheets keep a value as text by an apostrophe before it, or as ="…". People copy these characters together with the value.

// Regular expressions in the syntax that JavaScript and PostgreSQL share. Migration 0042 has the same ones.
const QUOTE = String.raw`'"\`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07`;
const LEADING = new RegExp(`^[${QUOTE}]*(=[${QUOTE}]+)*(?=[^${QUOTE}])`);
const TRAILING = new RegExp(`(?<=[^${QUOTE}])[${QUOTE}]+$`);

/** The text without the quotes at its ends, exactly as the database function without_quotes returns it. */
export function stripQuotes(text: string): string {
  return text.replace(LEADING, '').replace(TRAILING, '');
}

/**
 * The text without blanks, quotes and apostrophes at its ends, straight or typographic, and without the `=` of `="…"`. A text
 * that consists of nothing else stays as it is.
 */
export function withoutQuotes(text: string): string {
  return stripQuotes(text.trim()).trim();
}
