import { readAccountNumber } from '../../accounts/account-number-rules.ts';
import type { MatchMethod } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { foldCase } from '../../core/values/fold.ts';
import { callingCode, phoneSha256, readPhone } from '../../core/values/phone.ts';
import { nationalIdKey } from '../../customers/rules.ts';

/**
 * Whose account a payer meant. A reference is read in every way that it can be read; the account is
 * found when all readings together point to exactly one, or when staff have said before whose money
 * comes with this reference from this payer.
 */

/** The order of trust: the first method that found the account is the one that is stored. */
const LADDER = ['account_number', 'national_id', 'phone', 'account_id', 'payer_phone'] as const;
export type LadderMethod = (typeof LADDER)[number];

/** What a match by each method says to whoever asks. */
export const REASON: Record<Exclude<MatchMethod, 'learned'>, string> = {
  account_number: 'the reference is the account number',
  national_id: 'the reference is the national id of the customer',
  phone: 'the reference is the phone number of the customer',
  account_id: 'the reference is the id of the account, and the customer’s phone paid',
  payer_phone: 'the customer’s phone paid',
  manual_entry: 'staff had recorded it before the provider reported it',
  assigned: 'staff assigned it',
};

export function learnedReason(accountNumber: string, assignedOn: PlainDate): string {
  return `the same reference from the same payer was assigned to ${accountNumber} on ${assignedOn}`;
}

/** What a reference and a payer's number can mean. */
export interface Readings {
  accountId: number | null;
  nationalIdKey: string | null;
  phone: string | null;
  bareAccountId: number | null;
  payerSha256: Buffer | null;
  /** What makes two references the same to whoever learns them. */
  typedKey: string | null;
  referenceIsEmpty: boolean;
}

export type Candidate = LadderCandidate | LearnedCandidate;

interface LadderCandidate {
  method: LadderMethod;
  accountId: number;
  /** Whether a payment may still be expected on the account. */
  isOpen: boolean;
}

/** The open account that staff last assigned the same reference from the same payer to. */
export interface LearnedCandidate {
  method: 'learned';
  accountId: number;
  isOpen: true;
  /** Where the reference alone led then, if to another account: what staff corrected. */
  overruledAccountId: number | null;
  assignedOn: PlainDate;
}

export type Match =
  | { accountId: number; method: LadderMethod }
  | { accountId: number; method: 'learned'; assignedOn: PlainDate }
  | { accountId: null; candidates: Candidate[] };

export const NO_MATCH: Match = { accountId: null, candidates: [] };

const MAX_REFERENCE_LENGTH = 100;
const MIN_NATIONAL_ID_LENGTH = 5;

/** @param payer as the provider sent it: plain, local, masked, or the SHA-256 of the digits in hex. */
export function readReference(reference: string | null, payer: string | null, region: string): Readings {
  const text = (reference ?? '').normalize('NFKC').trim();
  const readable = text !== '' && text.length <= MAX_REFERENCE_LENGTH;
  // Placeholders such as "0" or "N/A" stand in many places; no payer means one of them.
  const idKey = readable ? nationalIdKey(text) : '';
  const typedKey = readable ? foldCase(text).replace(/[^\p{L}\p{M}\p{N}]/gu, '') : '';
  return {
    accountId: readable ? (readAccountNumber(text) ?? null) : null,
    nationalIdKey: idKey.length >= MIN_NATIONAL_ID_LENGTH ? idKey : null,
    phone: readable ? (readPhone(text, region) ?? null) : null,
    bareAccountId: /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null,
    payerSha256: readPayer(payer, region),
    typedKey: typedKey === '' ? null : typedKey,
    referenceIsEmpty: text === '',
  };
}

/** The SHA-256 by which a customer with the payer's number is known; null for a masked or unreadable one. */
export function readPayer(payer: string | null, region: string): Buffer | null {
  const text = (payer ?? '').trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const phone = readPhone(/^[1-9]\d{9,14}$/.test(text) ? `+${text}` : text, region);
  return phone ? phoneSha256(phone) : null;
}

/** The ends of a number whose middle the provider hides: `2547****149`. It suggests, and never decides. */
export interface MaskedNumber {
  /** In E.164, with the plus. */
  start: string;
  end: string;
}

/** How many digits of the end a masked number must show to be of use: the index is over so many. */
export const MASK_END_LENGTH = 3;

/** @returns undefined for anything but a number with a hidden middle that shows enough of both ends. */
export function readMasked(payer: string | null, region: string): MaskedNumber | undefined {
  const shown = /^\+?(\d{3,12})[*xX•]{2,12}(\d{1,9})$/.exec((payer ?? '').replace(/[\s-]/g, ''));
  const [, start = '', end = ''] = shown ?? [];
  if (end.length < MASK_END_LENGTH) return undefined;
  const code = start.startsWith('0') ? callingCode(region) : undefined;
  if (start.startsWith('0') && code === undefined) return undefined;
  return { start: code === undefined ? `+${start}` : `+${code}${start.slice(1)}`, end };
}

export function fitsMask(phone: string, { start, end }: MaskedNumber): boolean {
  return phone.length > start.length + end.length && phone.startsWith(start) && phone.endsWith(end);
}

/**
 * The one account that is meant, or the candidates where there is none or more than one. Whose phone
 * paid decides only when the payer typed no reference; otherwise it is a suggestion.
 *
 * What staff have taught decides where the readings do not, and against the one account that they overruled.
 * It does not decide against the typed number of another open account: one phone pays for many.
 */
export function decideMatch(candidates: Candidate[], referenceIsEmpty: boolean): Match {
  const read = decideByReading(candidates, referenceIsEmpty);
  const learned = candidates.find((candidate) => candidate.method === 'learned');
  if (!learned || read.accountId === learned.accountId) return read;
  const namesAnother = candidates.some(
    ({ method, accountId, isOpen }) =>
      method === 'account_number' && isOpen && accountId !== learned.accountId,
  );
  const wasOverruled = read.accountId === null || read.accountId === learned.overruledAccountId;
  if (namesAnother || !wasOverruled) return { accountId: null, candidates };
  return { accountId: learned.accountId, method: 'learned', assignedOn: learned.assignedOn };
}

/** The one account that the readings alone point to. */
export function decideByReading(
  candidates: Candidate[],
  referenceIsEmpty: boolean,
): Exclude<Match, { method: 'learned' }> {
  const deciding = candidates.filter(
    ({ method }) => method !== 'learned' && (method !== 'payer_phone' || referenceIsEmpty),
  );
  const accounts = new Set(deciding.map(({ accountId }) => accountId));
  const [accountId] = accounts;
  if (accounts.size !== 1 || accountId === undefined) return { accountId: null, candidates };
  const method = LADDER.find((step) => deciding.some((candidate) => candidate.method === step));
  return method ? { accountId, method } : { accountId: null, candidates };
}
