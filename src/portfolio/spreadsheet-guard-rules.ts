// Protects the texts of exported files, so that a spreadsheet does not run a text as a formula or round it as a number. An import
// restores the original text. The changes that csvText in core/values/csv.ts makes cannot be reversed.

// Regular expressions in the syntax that JavaScript and PostgreSQL share. They do not use \s, which differs between the two.
const SPACE = String.raw`\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff`;
/** The characters that start a formula, for use inside `[…]`. */
export const OPERATOR = String.raw`=+@\uff0b\uff0d\uff1d\uff20-`;

/**
 * Matches a text that a spreadsheet would change. Apostrophes before it are allowed: `guarded` adds one more to them, so that
 * `unguarded` can remove exactly this one.
 */
export const NEEDS_GUARD = `^'*([${SPACE}]*[${OPERATOR}]|[${SPACE}]*(0[0-9]+|[0-9]{16,})[${SPACE}]*$)`;
/** Matches a separator before a formula. A spreadsheet can split the cell at the separator, and run the formula. */
export const NEEDS_GUARD_AFTER = String.raw`([,;|\t\r\n])(?=['"${SPACE}]*[${OPERATOR}])`;

const GUARDED = new RegExp(`^'(?=${NEEDS_GUARD.slice(1)})`);
const GUARDED_AFTER = new RegExp(NEEDS_GUARD_AFTER.replace(')(', ")'("), 'g');

/** Adds an apostrophe before each part that a spreadsheet would change. */
export function guarded(text: string): string {
  const inside = text.replace(new RegExp(NEEDS_GUARD_AFTER, 'g'), "$1'");
  return new RegExp(NEEDS_GUARD).test(text) ? `'${inside}` : inside;
}

/** Removes the apostrophes that `guarded` adds. */
export function unguarded(text: string): string {
  return text.replace(GUARDED_AFTER, '$1').replace(GUARDED, '');
}
