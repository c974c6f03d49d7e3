import {
  formatAccountNumber,
  LARGEST_IMPORTED_ID,
  numbersInText,
  readAccountNumber,
  readNumberInText,
} from '../../accounts/account-number-rules.ts';
import type { MatchMethod } from '../../core/database/tables.ts';
import { foldCase } from '../../core/values/case-folding.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { callingCode, phoneSha256, readPhone } from '../../core/values/phone.ts';
import { withoutQuotes } from '../../core/values/quoted-text.ts';
import { classifySpreadsheetChange } from '../../core/values/spreadsheet-change.ts';
import { nationalIdKey } from '../../customers/rules.ts';
import { nearAccountNumbers } from './typing-error-rules.ts';

// Finds the account that a payer meant. A payment matches an account if all interpretations of its reference (see MATCH_METHODS)
// lead to this account, or if staff have assigned the same reference from the same payer before.

/**
 * How the account of a payment was found. The most trusted method is first: if several methods lead to the account, the first of
 * them is stored.
 * - isInterpretation: whether the method interprets the reference or the payer's number.
 * - reason: shown with the payment. The reason of `learned` depends on the assignment and is stored with the payment.
 */
export const MATCH_METHODS = {
  account_number: { isInterpretation: true, reason: 'the reference is the account number' },
  national_id: { isInterpretation: true, reason: 'the reference is the national id of the customer' },
  phone: { isInterpretation: true, reason: 'the reference is the phone number of the customer' },
  account_id: {
    isInterpretation: true,
    reason: 'the reference is the id of the account, and the customer’s phone paid',
  },
  payer_phone: { isInterpretation: true, reason: 'the customer’s phone paid' },
  learned: { isInterpretation: false, reason: null },
  payment_request: {
    isInterpretation: false,
    reason: 'the payer answered a payment request for the account',
  },
  manual_entry: { isInterpretation: false, reason: 'staff had recorded it before the provider reported it' },
  assigned: { isInterpretation: false, reason: 'staff assigned it' },
} as const satisfies Record<MatchMethod, { isInterpretation: boolean; reason: string | null }>;

type MethodTable = typeof MATCH_METHODS;
export type InterpretationMethod = {
  [M in MatchMethod]: MethodTable[M]['isInterpretation'] extends true ? M : never;
}[MatchMethod];

export function learnedReason(accountNumber: string, assignedOn: PlainDate): string {
  return `the same reference from the same payer was assigned to ${accountNumber} on ${assignedOn}`;
}

/** The possible meanings of a reference and a payer's number. */
export interface Interpretations {
  /** The id of the account, if the reference is an account number. */
  accountId: number | null;
  nationalIdKey: string | null;
  phone: string | null;
  /** The digits of the reference, which may be the id of an account. */
  bareAccountId: number | null;
  payerSha256: Buffer | null;
  /** The reference in the form in which learned references are compared. */
  typedKey: string | null;
  referenceIsEmpty: boolean;
}

export type Candidate = InterpretationCandidate | LearnedCandidate;

interface InterpretationCandidate {
  method: InterpretationMethod;
  accountId: number;
  /** Whether payments to the account are still expected. */
  isOpen: boolean;
  /**
   * Only for a phone: whether it may belong to somebody else now, because a customer who was registered later, and has no account yet,
   * has the same phone.
   */
  hasNewerHolder?: boolean;
}

/** The open account to which staff last assigned the same reference from the same payer. */
interface LearnedCandidate {
  method: 'learned';
  accountId: number;
  isOpen: true;
  /** The other account to which the interpretations led at that assignment. Null if there was none. */
  overruledAccountId: number | null;
  assignedOn: PlainDate;
}

export type Match =
  | { accountId: number; method: InterpretationMethod }
  | { accountId: number; method: 'learned'; assignedOn: PlainDate }
  | { accountId: null; candidates: Candidate[] };

export const NO_MATCH: Match = { accountId: null, candidates: [] };

const MAX_REFERENCE_LENGTH = 100;
/** Shorter values are often placeholders such as "0" or "N/A". */
const MIN_NATIONAL_ID_LENGTH = 5;

/** @returns null also for a text with two readings, such as `ACC10000012 0`: a number, or a shorter number and a digit. */
function readAccount(text: string): number | null {
  const whole = readAccountNumber(text);
  const contained = readNumberInText(text);
  if (contained === undefined) return whole ?? null;
  // A longer number than any account has is the same number twice, or two numbers.
  const isOther = whole !== undefined && whole !== contained && whole <= LARGEST_IMPORTED_ID;
  return isOther ? null : contained;
}

/** @param payer - the number as the provider sent it: international, local, masked, or the SHA-256 of the digits in hex. */
export function readReference(
  reference: string | null,
  payer: string | null,
  region: string,
): Interpretations {
  const text = withoutQuotes((reference ?? '').normalize('NFKC'));
  const isReadable = text.length <= MAX_REFERENCE_LENGTH;
  const isExact = isReadable && classifySpreadsheetChange(text) === undefined;
  const idKey = isExact ? nationalIdKey(text) : '';
  const typedKey = isExact ? foldCase(text).replace(/[^\p{L}\p{M}\p{N}]/gu, '') : '';
  return {
    accountId: isReadable ? readAccount(text) : null,
    nationalIdKey: idKey.length >= MIN_NATIONAL_ID_LENGTH ? idKey : null,
    phone: isReadable ? (readPhone(text, region) ?? null) : null,
    bareAccountId: /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null,
    payerSha256: readPayer(payer, region),
    typedKey: typedKey === '' ? null : typedKey,
    referenceIsEmpty: text === '',
  };
}

/** Reads only an account number from the reference. Ignores its other meanings and the payer's number. */
export function readNumberOnly(reference: string | null): Interpretations {
  return {
    accountId: readAccountNumber(reference ?? '') ?? null,
    nationalIdKey: null,
    phone: null,
    bareAccountId: null,
    payerSha256: null,
    typedKey: null,
    referenceIsEmpty: false,
  };
}

/** The SHA-256 of the payer's phone number; null for a masked or unreadable number. */
export function readPayer(payer: string | null, region: string): Buffer | null {
  const text = withoutQuotes(payer ?? '');
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const phone = readPlainPayer(text, region);
  return phone ? phoneSha256(phone) : null;
}

/** The payer's number in E.164; undefined for a masked, hashed or unreadable number. */
function readPlainPayer(payer: string | null, region: string): string | undefined {
  const text = withoutQuotes(payer ?? '');
  return readPhone(/^[1-9]\d{9,14}$/.test(text) ? `+${text}` : text, region);
}

/** The visible digits of a masked number such as `2547****149`. They lead to suggestions, but never to a match. */
export interface MaskedNumber {
  /** In E.164, with the plus. */
  start: string;
  end: string;
}

/** A masked number must show at least this many digits at its end. The index on phone numbers covers exactly these digits. */
export const MASK_END_LENGTH = 3;

/** @returns undefined if the number is not masked, or if too few digits are visible at its start or its end. */
export function readMasked(payer: string | null, region: string): MaskedNumber | undefined {
  const shown = /^\+?(\d{3,12})[*xX•]{2,12}(\d{1,9})$/.exec(withoutQuotes(payer ?? '').replace(/[\s-]/g, ''));
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
 * Whether two payer numbers certainly belong to different phones. Each number can be plain, masked or hashed. A masked number
 * fits every phone that has its visible digits at the start and at the end.
 */
export function areDifferentPayers(one: string | null, other: string | null, region: string): boolean {
  const [hash, otherHash] = [readPayer(one, region), readPayer(other, region)];
  if (hash && otherHash) return !hash.equals(otherHash);
  const [mask, otherMask] = [readMasked(one, region), readMasked(other, region)];
  if (mask && otherMask)
    return !overlap(mask.start, otherMask.start) || !overlapAtEnd(mask.end, otherMask.end);
  const masked = mask ?? otherMask;
  const phone = mask ? readPlainPayer(other, region) : readPlainPayer(one, region);
  return masked !== undefined && phone !== undefined && !fitsMask(phone, masked);
}

function overlap(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one);
}

function overlapAtEnd(one: string, other: string): boolean {
  return one.endsWith(other) || other.endsWith(one);
}

/**
 * Decides which account the payment matches, or returns the candidates. The payer's phone is used only if the reference is empty.
 *
 * A learned account is used if the interpretations lead to it, to no account or several accounts, or to the account that staff
 * replaced with it. If they lead to any other account, the payment matches no account. It also matches none if the payer typed
 * the number of another open account, because one phone can pay for several accounts.
 */
export function decideMatch(candidates: Candidate[], referenceIsEmpty: boolean): Match {
  const read = decideByInterpretation(candidates, referenceIsEmpty);
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

/** Like `decideMatch`, but without learned accounts. */
export function decideByInterpretation(
  candidates: Candidate[],
  referenceIsEmpty: boolean,
): Exclude<Match, { method: 'learned' }> {
  const deciding = candidates.flatMap((candidate) => {
    if (candidate.method === 'learned') return [];
    return candidate.method !== 'payer_phone' || referenceIsEmpty ? [candidate] : [];
  });
  const order = Object.keys(MATCH_METHODS) as MatchMethod[];
  const [best] = deciding.toSorted((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
  if (!best || best.hasNewerHolder || deciding.some(({ accountId }) => accountId !== best.accountId))
    return { accountId: null, candidates };
  return { accountId: best.accountId, method: best.method };
}

/** The columns of a payment that store how its account was found. */
export function matchColumns(match: Match): {
  match_method: MatchMethod | null;
  match_reason: string | null;
} {
  if (match.accountId === null) return { match_method: null, match_reason: null };
  const { accountId, method } = match;
  if (method !== 'learned') return { match_method: method, match_reason: null };
  const reason = learnedReason(formatAccountNumber(accountId), match.assignedOn);
  return { match_method: method, match_reason: reason };
}

/** An open account to which staff assigned the same reference from another payer, or another reference from the same payer. */
export interface RelatedAssignment {
  accountId: number;
  kind: 'learned_reference' | 'learned_payer';
  assignedOn: PlainDate;
}

/**
 * The ids of the accounts to suggest for a notification without a match, from clues of at least medium confidence. If the typed
 * reference leads to accounts, returns only these. Otherwise returns the accounts of the payer's phone, the accounts to which
 * staff assigned other payments of the payer, the ids whose account number differs from the reference by one typing error, and the
 * ids whose account number is part of the reference. It is possible that no account has such an id.
 */
export function suggestedAccountIds(
  candidates: readonly Candidate[],
  related: readonly RelatedAssignment[],
  billRef: string | null,
): number[] {
  const typed = candidates.filter(({ method }) => method !== 'payer_phone');
  if (typed.length > 0) return typed.map(({ accountId }) => accountId);
  const learned = related.filter(({ kind }) => kind === 'learned_payer');
  return [
    ...[...candidates, ...learned].map(({ accountId }) => accountId),
    ...nearAccountNumbers(billRef ?? ''),
    ...numbersInText(billRef ?? ''),
  ];
}
