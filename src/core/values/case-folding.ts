/**
 * Invisible characters: control and format characters, private use, unassigned code points, noncharacters, lone surrogates, and
 * Default_Ignorable_Code_Point, which programs should hide.
 */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}]/gu;
/** White space, and U+2800: Unicode calls it a symbol, but it looks blank (a braille cell without dots). */
const BLANK = /[\p{Z}\u2800]/gu;

/**
 * The common form of texts that differ only in letter case, width or invisible characters. It follows Unicode's toNFKC_Casefold.
 * JavaScript has no case folding. Lower case followed by upper case makes `ß`, `ẞ` and `ss` equal, like case folding.
 */
export function foldCase(text: string): string {
  return withoutInvisible(withoutInvisible(text).normalize('NFKC'))
    .toLowerCase()
    .toUpperCase()
    .normalize('NFKC');
}

/** Like `foldCase`, but also ignores blanks, so that only visible characters are compared. */
export function foldVisible(text: string): string {
  return withoutBlanks(foldCase(withoutBlanks(text))).normalize('NFKC');
}

/** Removes every invisible character, including line breaks, soft hyphens, joiners, fillers and variation selectors. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, '');
}

/** Whether a text has a visible character. */
export function hasVisible(text: string): boolean {
  return withoutBlanks(withoutInvisible(text)) !== '';
}

function withoutBlanks(text: string): string {
  return text.replace(BLANK, '');
}
