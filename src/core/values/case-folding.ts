/**
 * Invisible characters: the Unicode category C (control, format, private use, unassigned, lone surrogate), and all characters
 * with the property Default_Ignorable_Code_Point, which programs should not display.
 */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}]/gu;
/** Separators, such as spaces, and U+2800, a braille cell without dots, which Unicode classifies as a symbol. */
const BLANK = /[\p{Z}\u2800]/gu;

/**
 * Texts that differ only in letter case, width or invisible characters have the same result, as in Unicode's toNFKC_Casefold.
 * JavaScript has no case folding. Lower case and then upper case make `ß`, `ẞ` and `ss` equal, as case folding does.
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

export function hasVisible(text: string): boolean {
  return withoutBlanks(withoutInvisible(text)) !== '';
}

function withoutBlanks(text: string): string {
  return text.replace(BLANK, '');
}
