import { readPhone } from '../core/values/phone.ts';
import { searchWords } from '../customers/rules.ts';
import { accountsBeginningWith, type IdRange, readAccountNumber } from './account-number-rules.ts';

/** The accounts that a search finds: those in one of the ranges, and those of the customers that match. */
export interface AccountSearch {
  ranges: IdRange[];
  /** As in the search of customers. Undefined if the customers are not searched. */
  customers: { words: string[]; phone: string | undefined } | undefined;
}

/** The index on the text of customers finds words from this length on. Without it, a search would read all customers. */
const SHORTEST_WORD = 3;

/**
 * Reads a text that is an account number or its beginning, or that customers are searched by.
 * @returns undefined if the text is blank, so that it finds all accounts.
 */
export function readAccountSearch(
  text: string,
  { phoneRegion, searchesCustomers }: { phoneRegion: string; searchesCustomers: boolean },
): AccountSearch | undefined {
  const words = searchWords(text);
  if (words.length === 0) return undefined;
  const id = readAccountNumber(text);
  const phone = readPhone(text, phoneRegion);
  const isSelective = words.some((word) => word.length >= SHORTEST_WORD);
  return {
    ranges: [...(id === undefined ? [] : [[id, id] satisfies IdRange]), ...accountsBeginningWith(text)],
    customers: searchesCustomers && isSelective ? { words, phone } : undefined,
  };
}
