import { foldCase, withoutInvisible } from '../core/values/case-folding.ts';
import { withoutPhonePunctuation } from '../core/values/phone.ts';
import { withoutQuotes } from '../core/values/quoted-text.ts';

/**
 * Folds text for a search: removes compatibility forms, letter case and accents, in any script. Converts to upper case first,
 * because only upper case maps ß and ſ to the same letters as ss and s.
 */
export function foldForSearch(text: string): string {
  // NFKD would make a blank and an accent of this apostrophe.
  return withoutInvisible(text.replaceAll('\u00b4', "'").normalize('NFKD'))
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC');
}

// The searched text is `searchKey` of the search text: an index has it, so that customers of all versions are found.

/** Characters that people leave out: apostrophes and letters like them, dots and hyphens. */
const LEFT_OUT =
  '\u0027\u0060\u00b4\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u055a\u2018\u2019\u201a\u201b\u2032\u2035\ua78b\ua78c' +
  '\u0022\u201c\u201d\u201e\u002e\u00b7\u2022\u2024\u002d\u2010\u2011\u2012\u2013\u2014\u2015\u2212';
const SEPARATORS = ',;/()';
/** Letters that Unicode does not decompose into a letter and an accent, and the plain letters in the same order. */
const LETTERS = 'ƀɓđðɖɗɇǝəɛƒǥɠɣħɨɩɪƙłɲŋøɔɵɍŧƭʉʊʋƴƶ';
const PLAIN_LETTERS = 'bbddddeeeefggghiiiklnnooorttuuvyz';

/** The database function search_key does the same. @param folded - text in the form of `foldForSearch`. */
export function searchKey(folded: string): string {
  const plain = Array.from(folded, (char) => {
    if (LEFT_OUT.includes(char)) return '';
    if (SEPARATORS.includes(char)) return ' ';
    const at = LETTERS.indexOf(char);
    return at === -1 ? char : (PLAIN_LETTERS[at] ?? '');
  }).join('');
  return plain.replaceAll('æ', 'ae').replaceAll('œ', 'oe').replaceAll('þ', 'th');
}

/**
 * The words of a search, in the form of `searchKey`. A customer must match all of them. A name with a dot or a hyphen is several
 * words, because the customer may be stored without it, or with a blank.
 */
export function searchWords(search: string): string[] {
  const folded = foldForSearch(withoutPhonePunctuation(withoutQuotes(search)));
  const words = folded
    .split(/[\s,;/()]+/)
    .flatMap((part) =>
      part.includes('@') ? [part] : part.split(/(?<=\p{L})[.\p{Pd}]+|[.\p{Pd}]+(?=\p{L})/u),
    )
    .map(searchKey)
    .filter((word) => word !== '');
  // A search for punctuation alone finds nobody.
  return words.length > 0 || folded.trim() === '' ? words : [folded.trim()];
}

/** The key for comparing national ids: letters and digits, ignoring case and full-width forms. Empty if the id has no letter or digit. */
export function nationalIdKey(nationalId: string): string {
  return foldCase(nationalId).replace(/[^\p{L}\p{N}]/gu, '');
}

interface Identity {
  firstName: string;
  lastName: string;
  nationalId: string | null;
}

/** Whether the name or the national id changes, and not only their spelling. */
export function isOtherIdentity(before: Identity, after: Identity): boolean {
  const keysOf = ({ firstName, lastName, nationalId }: Identity) => [
    searchKey(foldForSearch(`${firstName} ${lastName}`)).replace(/\s+/g, ''),
    nationalId === null ? '' : nationalIdKey(nationalId),
  ];
  return keysOf(before).join('\n') !== keysOf(after).join('\n');
}
