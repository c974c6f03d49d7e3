import { OPERATOR, SPACE } from '../core/values/csv.ts';

// Protects the texts of exported files, so that a spreadsheet does not run a text as a formula or round it as a number. An import
// restores the original text. The changes that csvText in core/values/csv.ts makes cannot be reversed.

/** `jan` as `[jJ][aA][nN]`: JavaScript and PostgreSQL do not ignore the case of all letters in the same way. */
function anyCase(words: string): string {
  return words.replace(/\p{Ll}/gu, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

// Short forms of months in English, French, German, Portuguese, Spanish and Swahili.
const MONTH = anyCase(
  'jan|ene|feb|fev|fév|mar|mac|mär|apr|abr|avr|may|mai|mei|jun|juin|jul|juil|aug|ago|aou|aoû|sep|set|oct|okt|out|nov|dec|des|dez|dic|déc',
);
const NUMBER_PARTS = String.raw`0-9.,:/%()+\u20ac\u00a3$${SPACE}-`;
const HAS_DIGIT = '(?=[^0-9]*[0-9])';
/** Matches a whole text that a spreadsheet would read as a number, a date, a time or a truth value, and write in another way. */
const CONVERTED = [
  // 007, 1.50, 3/4, 5-12, 2026-01-05, 10:30. Other whole numbers stay as they are, up to eleven digits.
  `(?![${SPACE}]*(0|[1-9][0-9]{0,10})[${SPACE}]*$)${HAS_DIGIT}[${NUMBER_PARTS}]+`,
  // 12E45
  `[${SPACE}]*[0-9][0-9.,]*[eE][+-]?[0-9]+[${SPACE}]*`,
  // 10:30 AM
  String.raw`[${SPACE}]*[0-9][0-9:.${SPACE}]*[aApP]\.?([mM]\.?)?[${SPACE}]*`,
  // MAR1, 5 May, Dec-26, 1 March 2026
  `${HAS_DIGIT}[${NUMBER_PARTS}]*(${MONTH})[A-Za-z\u00c0-\u024f]*[${NUMBER_PARTS}]*`,
  `[${SPACE}]*(${anyCase('true|false')})[${SPACE}]*`,
].join('|');

/** Version 1 guards fewer texts, so an apostrophe before other texts is a part of them. */
export type FormatVersion = 1 | 2;

/**
 * Matches a text that a spreadsheet would change. Apostrophes before it are allowed: `guarded` adds one more to them, so that
 * `unguarded` can remove exactly this one.
 */
const NEEDS_GUARD_BY_VERSION = {
  1: `^'*([${SPACE}]*[${OPERATOR}]|[${SPACE}]*(0[0-9]+|[0-9]{16,})[${SPACE}]*$)`,
  2: `^'*(?!')([${SPACE}]*[${OPERATOR}]|(${CONVERTED})$)`,
} as const satisfies Record<FormatVersion, string>;
/** Of version 2, which exports have. */
export const NEEDS_GUARD = NEEDS_GUARD_BY_VERSION[2];
/** Matches a separator before a formula. A spreadsheet can split the cell at the separator, and run the formula. */
export const NEEDS_GUARD_AFTER = String.raw`([,;|\t\r\n])(?=['"${SPACE}]*[${OPERATOR}])`;

const GUARDED = {
  1: new RegExp(`^'(?=${NEEDS_GUARD_BY_VERSION[1].slice(1)})`),
  2: new RegExp(`^'(?=${NEEDS_GUARD_BY_VERSION[2].slice(1)})`),
};
const GUARDED_AFTER = new RegExp(NEEDS_GUARD_AFTER.replace(')(', ")'("), 'g');

/** Adds an apostrophe before each part that a spreadsheet would change. */
export function guarded(text: string, version: FormatVersion): string {
  const inside = text.replace(new RegExp(NEEDS_GUARD_AFTER, 'g'), "$1'");
  return new RegExp(NEEDS_GUARD_BY_VERSION[version]).test(text) ? `'${inside}` : inside;
}

/** Removes the apostrophes that `guarded` of this version adds. */
export function unguarded(text: string, version: FormatVersion): string {
  return text.replace(GUARDED_AFTER, '$1').replace(GUARDED[version], '');
}
