import type { AccountStatus } from '../../core/database/tables.ts';
import { withoutPhonePunctuation } from '../../core/values/phone.ts';
import { foldForSearch, searchKey, searchWords } from '../../customers/rules.ts';

export const SEARCHED_TYPES = ['customer', 'account', 'payment', 'invoice'] as const;
export type SearchedType = (typeof SEARCHED_TYPES)[number];

/** How a value matches, best first: it equals the text, begins with the text, or contains the text. */
export const MATCHES = ['exact', 'prefix', 'part'] as const;
export type Match = (typeof MATCHES)[number];

export const MATCHED_FIELDS = [
  'name',
  'phone',
  'email',
  'nationalId',
  'externalId',
  'accountNumber',
  'transactionRef',
  'number',
  'receiptNumber',
] as const;
export type MatchedField = (typeof MATCHED_FIELDS)[number];

/** A row that a search found. */
export interface Found {
  type: SearchedType;
  id: number;
  title: string;
  subtitle: string | null;
  status: string | null;
  externalId: string | null;
  matchedOn: MatchedField;
  match: Match;
}

/** For each customer that a search returns, it reads at most this many accounts, the newest ones. */
export const MAX_ACCOUNTS_READ = 100;

/** What a result says about an account. */
export interface FoundAccount {
  id: number;
  accountNumber: string;
  status: AccountStatus;
  /** Null if the caller may not read the catalogue. */
  productName: string | null;
  daysPastDue: number;
}

/** A result as the search returns it. Both fields are null for payments and invoices. */
export interface FoundWithAccount extends Found {
  account: FoundAccount | null;
  accountCount: number | null;
}

/** How the value matches the text, case-sensitively; undefined if it does not. */
export function matchOf(value: string | null, text: string): Match | undefined {
  if (value === null || !value.includes(text)) return undefined;
  if (value === text) return 'exact';
  return value.startsWith(text) ? 'prefix' : 'part';
}

export interface CustomerValues {
  name: string;
  phone: string;
  nationalPhone: string;
  secondPhone: string | null;
  nationalSecondPhone: string | null;
  email: string | null;
  nationalId: string | null;
  nationalIdKey: string | null;
}

/** The field of a customer that the text matches best. The words of a name can be in any order. Undefined if no field matches. */
export function matchCustomer(
  text: string,
  values: CustomerValues,
): { matchedOn: MatchedField; match: Match } | undefined {
  const fold = (value: string) => searchKey(foldForSearch(value)).replace(/\s+/g, ' ').trim();
  const folded = fold(text);
  const digits = withoutPhonePunctuation(text);
  const name = fold(values.name);
  const candidates: [MatchedField, Match | undefined][] = [
    ['name', matchOf(name, folded) ?? matchWords(name, searchWords(text))],
    ['phone', matchOf(values.phone, digits) ?? matchOf(values.nationalPhone, digits)],
    ['phone', matchOf(values.secondPhone, digits) ?? matchOf(values.nationalSecondPhone, digits)],
    ['email', matchOf(values.email && fold(values.email), folded)],
    [
      'nationalId',
      matchOf(values.nationalId && fold(values.nationalId), folded) ??
        matchOf(values.nationalIdKey && fold(values.nationalIdKey), folded),
    ],
  ];
  const best = candidates
    .flatMap(([matchedOn, match]) => (match ? [{ matchedOn, match }] : []))
    .sort((a, b) => MATCHES.indexOf(a.match) - MATCHES.indexOf(b.match));
  return best[0];
}

function matchWords(name: string, words: readonly string[]): Match | undefined {
  const parts = name.split(/\s+/);
  if (words.length === parts.length && words.every((word) => parts.includes(word))) return 'exact';
  if (words.every((word) => parts.some((part) => part.startsWith(word)))) return 'prefix';
  return words.every((word) => name.includes(word)) ? 'part' : undefined;
}

/** Returns each row once, with its best match. Sorts the rows by match (MATCHES), then by type (SEARCHED_TYPES). */
export function rank(found: readonly Found[]): Found[] {
  const first = new Map<string, Found>();
  const order = ({ match, type }: Found) =>
    MATCHES.indexOf(match) * SEARCHED_TYPES.length + SEARCHED_TYPES.indexOf(type);
  for (const one of found.toSorted((a, b) => order(a) - order(b))) {
    const key = `${one.type} ${one.id}`;
    if (!first.has(key)) first.set(key, one);
  }
  return [...first.values()];
}
