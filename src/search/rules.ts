import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { foldForSearch, searchWords } from '../customers/rules.ts';

export const SEARCHED_TYPES = ['customer', 'account', 'payment', 'invoice'] as const;
export type SearchedType = (typeof SEARCHED_TYPES)[number];

/** How a value matches, best first: it is the text, it begins with it, or it has the text in it. */
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
] as const;
export type MatchedField = (typeof MATCHED_FIELDS)[number];

/** What a search finds. */
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

/** How the folded value matches the folded text; undefined if it does not. */
export function matchOf(value: string | null, text: string): Match | undefined {
  if (value === null || !value.includes(text)) return undefined;
  if (value === text) return 'exact';
  return value.startsWith(text) ? 'prefix' : 'part';
}

export interface CustomerValues {
  name: string;
  phone: string;
  nationalPhone: string;
  email: string | null;
  nationalId: string | null;
  nationalIdKey: string | null;
}

/** The field of a customer that the text matches best. Words may be in any order, and in different fields. */
export function matchCustomer(
  text: string,
  values: CustomerValues,
): { matchedOn: MatchedField; match: Match } | undefined {
  const folded = foldForSearch(text).trim();
  const digits = withoutPhonePunctuation(folded);
  const name = foldForSearch(values.name);
  const candidates: [MatchedField, Match | undefined][] = [
    ['name', matchOf(name, folded) ?? matchWords(name, searchWords(text))],
    ['phone', matchOf(values.phone, digits) ?? matchOf(values.nationalPhone, digits)],
    ['email', matchOf(values.email && foldForSearch(values.email), folded)],
    [
      'nationalId',
      matchOf(values.nationalId && foldForSearch(values.nationalId), folded) ??
        matchOf(values.nationalIdKey && foldForSearch(values.nationalIdKey), folded),
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

/** `0712-345 (678)` as `0712345678`; other text as it is. */
export function withoutPhonePunctuation(text: string): string {
  const digits = text.replace(/[\s().-]/g, '');
  return /^\+?\d+$/.test(digits) ? digits : text;
}

/** The best first; equal matches in the order of the types. */
export function rank(found: readonly Found[], limit: number): Found[] {
  const first = new Map<string, Found>();
  const order = ({ match, type }: Found) =>
    MATCHES.indexOf(match) * SEARCHED_TYPES.length + SEARCHED_TYPES.indexOf(type);
  for (const one of found.toSorted((a, b) => order(a) - order(b))) {
    const key = `${one.type} ${one.id}`;
    if (!first.has(key)) first.set(key, one);
  }
  return [...first.values()].slice(0, limit);
}

/** Ids, both included. */
export type IdRange = [from: number, to: number];

/** With fewer digits nearly every account number would match. */
const FEWEST_DIGITS = 3;
/** The digits of account numbers before the check digit. */
const NUMBER_LENGTHS = [7, 8, 9, 10];
const FIRST_ID = Number(formatAccountNumber(1).replace(/\D/g, '').slice(0, -1)) - 1;

/** The ids of the accounts whose numbers begin with the text, with or without the prefix and punctuation. */
export function accountsBeginningWith(text: string): IdRange[] {
  const digits = /^(?:ACC)?(\d+)$/.exec(
    text
      .normalize('NFKC')
      .replace(/[\s.-]/g, '')
      .toUpperCase(),
  )?.[1];
  if (digits === undefined || digits.length < FEWEST_DIGITS || digits.startsWith('0')) return [];
  return NUMBER_LENGTHS.filter((length) => length >= digits.length).flatMap((length): IdRange[] => {
    const factor = 10 ** (length - digits.length);
    const [from, to] = [Number(digits) * factor - FIRST_ID, (Number(digits) + 1) * factor - 1 - FIRST_ID];
    return to < 1 ? [] : [[Math.max(from, 1), to]];
  });
}
