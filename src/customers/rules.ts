import { foldCase, withoutInvisible } from '../core/values/case-folding.ts';
import { nationalDigits } from '../core/values/phone.ts';
import { withoutQuotes } from '../core/values/quoted-text.ts';

/**
 * Folds text for a search: removes compatibility forms, letter case and accents, in any script. Converts to upper case first,
 * because only upper case maps ß and ſ to the same letters as ss and s.
 */
export function foldForSearch(text: string): string {
  return withoutInvisible(text.normalize('NFKD'))
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC');
}

export interface SearchableCustomer {
  firstName: string;
  lastName: string;
  email: string | null;
  phone: string;
  nationalId: string | null;
}

/** The text that searches look in. It also contains the phone in national form, and the national id without punctuation. */
export function searchText({ firstName, lastName, email, phone, nationalId }: SearchableCustomer): string {
  const idKey = nationalId === null ? null : nationalIdKey(nationalId);
  const parts = [firstName, lastName, email, phone, nationalDigits(phone), nationalId, idKey];
  return foldForSearch(parts.filter((part) => part).join(' '));
}

/** The folded words of a search. A customer must match all of them. */
export function searchWords(search: string): string[] {
  return foldForSearch(withoutQuotes(search))
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** The key for comparing national ids: letters and digits, ignoring case and full-width forms. Empty if the id has no letter or digit. */
export function nationalIdKey(nationalId: string): string {
  return foldCase(nationalId).replace(/[^\p{L}\p{N}]/gu, '');
}
