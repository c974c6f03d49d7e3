import { foldCase, withoutInvisible } from '../core/values/fold.ts';
import { nationalDigits } from '../core/values/phone.ts';

/**
 * Folds text so that a search finds it however it is written: compatibility forms, letter case and
 * accents are dropped, in any script. By way of upper case, because ß and ſ have no other in common.
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

/** What a customer is found by; the phone also as it is dialled at home, the id also without its punctuation. */
export function searchText({ firstName, lastName, email, phone, nationalId }: SearchableCustomer): string {
  const idKey = nationalId === null ? null : nationalIdKey(nationalId);
  const parts = [firstName, lastName, email, phone, nationalDigits(phone), nationalId, idKey];
  return foldForSearch(parts.filter((part) => part).join(' '));
}

/** The words of a search, each of which must occur. */
export function searchWords(search: string): string[] {
  return foldForSearch(search)
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** A national id as it is compared: its letters and digits, in any case and width as one; empty when there are none. */
export function nationalIdKey(nationalId: string): string {
  return foldCase(nationalId).replace(/[^\p{L}\p{N}]/gu, '');
}
