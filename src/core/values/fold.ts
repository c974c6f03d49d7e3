/**
 * Characters that show nothing: control and format characters, private use, unassigned code points, noncharacters, lone
 * surrogates, and what Unicode says that a program without support for it does not show.
 */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}]/gu;
/** White space, and U+2800, which is a symbol to Unicode but a braille cell without dots to the eye. */
const BLANK = /[\p{Z}\u2800]/gu;

/**
 * The form that texts share when they differ only in letter case, width or invisible characters, after Unicode's
 * toNFKC_Casefold. JavaScript has no case folding; lower case and then upper case joins `ß`, `ẞ` and `ss` as folding does.
 */
export function foldCase(text: string): string {
  return withoutInvisible(withoutInvisible(text).normalize('NFKC'))
    .toLowerCase()
    .toUpperCase()
    .normalize('NFKC');
}

/** As `foldCase`, but texts may also differ in blanks: only what a reader can see counts. */
export function foldVisible(text: string): string {
  return withoutBlanks(foldCase(withoutBlanks(text))).normalize('NFKC');
}

/** Drops every invisible character, among them line breaks, soft hyphens, joiners, fillers and variation selectors. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, '');
}

/** Whether a reader sees anything of a text. */
export function hasVisible(text: string): boolean {
  return withoutBlanks(withoutInvisible(text)) !== '';
}

function withoutBlanks(text: string): string {
  return text.replace(BLANK, '');
}
