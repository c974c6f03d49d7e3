import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { foldForSearch } from '../../customers/rules.ts';
import type { CONFIDENCES, SUGGESTION_REASONS } from '../schema.ts';
import {
  type Candidate,
  fitsMask,
  learnedReason,
  MATCH_METHODS,
  type MaskedNumber,
  type RelatedAssignment,
} from './rules.ts';

// Suggests accounts for an unmatched payment. Clues come from three sources: the typed reference, the payer's phone and the
// payer's name. The weight of an account is the sum of the weights of its best clues, one from each source.

type Source = 'typed' | 'phone' | 'name';

const MAX_SUGGESTIONS = 10;
/** Shorter words occur in too many names. */
const MIN_WORD_LENGTH = 3;
const MAX_WORDS = 4;
const HIGH = 60;
const MEDIUM = 30;

/** The weights of clues. An exact reference alone gives a high confidence, and a name or a masked number alone a low one. */
const CLUES = {
  learned: { source: 'typed', weight: 70 },
  account_number: { source: 'typed', weight: 66 },
  national_id: { source: 'typed', weight: 64 },
  phone: { source: 'typed', weight: 62 },
  account_id: { source: 'typed', weight: 60 },
  contained_number: { source: 'typed', weight: 45 },
  near_number: { source: 'typed', weight: 35 },
  learned_reference: { source: 'typed', weight: 25 },
  payer_phone: { source: 'phone', weight: 40 },
  learned_payer: { source: 'phone', weight: 30 },
  masked_phone: { source: 'phone', weight: 12 },
  full_name: { source: 'name', weight: 20 },
  part_of_name: { source: 'name', weight: 6 },
} as const satisfies Record<(typeof SUGGESTION_REASONS)[number], { source: Source; weight: number }>;

const SOURCES: Source[] = ['typed', 'phone', 'name'];

export interface Clue {
  accountId: number;
  kind: keyof typeof CLUES;
  /** The reason in words, for staff. */
  reason: string;
  /** The day of the assignment, if the clue is an earlier assignment. */
  assignedOn?: PlainDate;
}

/** The customer of an account. */
export interface Holder {
  first_name: string;
  last_name: string;
  phone: string;
}

/** The payer's name and masked number. */
export interface Payer {
  /** In the form of `nameWords`. */
  words: string[];
  masked: MaskedNumber | undefined;
}

interface Suggestion {
  accountId: number;
  accountNumber: string;
  customerName: string;
  reason: string;
  reasons: { code: Clue['kind']; assignedOn: PlainDate | null }[];
  confidence: (typeof CONFIDENCES)[number];
}

/** The words of a name, in the form in which the search text of customers has them. */
export function nameWords(name: string | null): string[] {
  const words = foldForSearch(name ?? '').split(/\P{L}+/u);
  return [...new Set(words)].filter((word) => word.length >= MIN_WORD_LENGTH).slice(0, MAX_WORDS);
}

export function clueOfCandidate(candidate: Candidate): Clue {
  const { accountId, method: kind } = candidate;
  if (candidate.method !== 'learned')
    return { accountId, kind, reason: MATCH_METHODS[candidate.method].reason };
  const { assignedOn } = candidate;
  return { accountId, kind, reason: learnedReason(formatAccountNumber(accountId), assignedOn), assignedOn };
}

export function clueOfNearNumber(accountId: number): Clue {
  return {
    accountId,
    kind: 'near_number',
    reason: 'the reference is the account number with one typing error',
  };
}

export function clueOfContainedNumber(accountId: number): Clue {
  return { accountId, kind: 'contained_number', reason: 'the reference contains the account number' };
}

export function clueOfAssignment({ accountId, kind, assignedOn }: RelatedAssignment): Clue {
  const what =
    kind === 'learned_payer'
      ? 'a payment of the same payer with another reference'
      : 'a payment with the same reference from another payer';
  return { accountId, kind, reason: `${what} was assigned to the account on ${assignedOn}`, assignedOn };
}

/** The most likely accounts, at most MAX_SUGGESTIONS. If weights are equal, the older account comes first. */
export function rankSuggestions(
  clues: Clue[],
  accountIds: Iterable<number>,
  payer: Payer,
  holders: ReadonlyMap<number, Holder>,
): Suggestion[] {
  const ranked = [...new Set(accountIds)].flatMap((accountId) => {
    const holder = holders.get(accountId);
    if (!holder) return [];
    const own = [
      ...clues.filter((clue) => clue.accountId === accountId),
      ...cluesOfPayer(accountId, payer, holder),
    ];
    const best = SOURCES.flatMap((source) => bestOf(own, source));
    const weight = best.reduce((sum, { kind }) => sum + CLUES[kind].weight, 0);
    return weight > 0 ? [{ accountId, holder, best, weight }] : [];
  });
  return ranked
    .sort((a, b) => b.weight - a.weight || a.accountId - b.accountId)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ accountId, holder, best, weight }) => ({
      accountId,
      accountNumber: formatAccountNumber(accountId),
      customerName: nameOf(holder),
      reason: best.map(({ reason }) => reason).join('; '),
      reasons: best.map(({ kind, assignedOn = null }) => ({ code: kind, assignedOn })),
      confidence: weight >= HIGH ? 'high' : weight >= MEDIUM ? 'medium' : 'low',
    }));
}

function cluesOfPayer(accountId: number, { words, masked }: Payer, holder: Holder): Clue[] {
  const clues: Clue[] = [];
  if (masked && fitsMask(holder.phone, masked)) {
    const reason = 'the customer’s phone has the visible digits of the payer’s number';
    clues.push({ accountId, kind: 'masked_phone', reason });
  }
  const names = nameWords(nameOf(holder));
  const shared = words.filter((word) => names.includes(word)).length;
  if (shared >= 2) clues.push({ accountId, kind: 'full_name', reason: 'the payer has the customer’s name' });
  else if (shared === 1)
    clues.push({ accountId, kind: 'part_of_name', reason: 'the payer shares a name with the customer' });
  return clues;
}

function nameOf({ first_name: first, last_name: last }: Holder): string {
  return `${first} ${last}`;
}

function bestOf(clues: Clue[], source: Source): Clue[] {
  const [best] = clues
    .filter(({ kind }) => CLUES[kind].source === source)
    .sort((a, b) => CLUES[b.kind].weight - CLUES[a.kind].weight);
  return best ? [best] : [];
}
