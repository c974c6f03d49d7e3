/** Characters that a reader does not see: Unicode says that a program without support for them shows nothing. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

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

/** Drops every code point that is ignored by default, among them soft hyphens, joiners, fillers and variation selectors. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, '');
}
