import { nationalDigits } from '../core/phone.ts';

/**
 * Folds text so that a search finds it however it is written: compatibility forms, letter case and
 * accents are dropped, in any script. By way of upper case, because ß and ſ have no other in common.
 */
export function foldForSearch(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase().normalize('NFKC');
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

/** What makes two national ids the same: letters and digits, in upper case; empty when there are none. */
export function nationalIdKey(nationalId: string): string {
  return nationalId
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
