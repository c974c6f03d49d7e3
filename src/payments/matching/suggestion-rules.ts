import { nearAccountNumbers } from '../../accounts/account-number-rules.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { foldForSearch } from '../../customers/rules.ts';
import type { CONFIDENCES } from '../schema.ts';
import {
  type Candidate,
  fitsMask,
  type LadderMethod,
  learnedReason,
  type MaskedNumber,
  REASON,
} from './rules.ts';

/**
 * Which accounts unmatched money may be meant for. What was typed, whose phone paid and what the payer is
 * called are three witnesses; an account is as likely as its best clue of each together.
 */

type Witness = 'typed' | 'phone' | 'name';

const MAX_SUGGESTIONS = 10;
/** Below four letters a word is in too many names, and below two words so is a name. */
const MIN_WORD_LENGTH = 3;
const MAX_WORDS = 4;
const HIGH = 60;
const MEDIUM = 30;

/** How much a clue weighs. What is exact about the reference is enough alone; a name or a masked number is not. */
const CLUES = {
  learned: { witness: 'typed', weight: 70 },
  account_number: { witness: 'typed', weight: 66 },
  national_id: { witness: 'typed', weight: 64 },
  phone: { witness: 'typed', weight: 62 },
  account_id: { witness: 'typed', weight: 60 },
  near_number: { witness: 'typed', weight: 35 },
  learned_reference: { witness: 'typed', weight: 25 },
  payer_phone: { witness: 'phone', weight: 40 },
  learned_payer: { witness: 'phone', weight: 30 },
  masked_phone: { witness: 'phone', weight: 12 },
  full_name: { witness: 'name', weight: 20 },
  part_of_name: { witness: 'name', weight: 6 },
} as const satisfies Record<string, { witness: Witness; weight: number }>;

const WITNESSES: Witness[] = ['typed', 'phone', 'name'];

export interface Clue {
  accountId: number;
  kind: keyof typeof CLUES;
  reason: string;
}

/** An open account that was assigned to the same reference from another payer, or to the same payer with another. */
export interface Relative {
  accountId: number;
  kind: 'learned_reference' | 'learned_payer';
  assignedOn: PlainDate;
}

export interface Holder {
  accountNumber: string;
  customerName: string;
  phone: string;
}

/** What is known of the payer besides the reference and the exact number. */
export interface Payer {
  /** As `nameWords` gives them. */
  words: string[];
  masked: MaskedNumber | undefined;
}

export interface Suggestion {
  accountId: number;
  accountNumber: string;
  customerName: string;
  reason: string;
  confidence: (typeof CONFIDENCES)[number];
}

/** The words of a name by which customers are looked up, folded as their search text is. */
export function nameWords(name: string | null): string[] {
  const words = foldForSearch(name ?? '').split(/[^\p{L}\p{M}]+/u);
  return [...new Set(words)].filter((word) => word.length >= MIN_WORD_LENGTH).slice(0, MAX_WORDS);
}

export function clueOfCandidate(candidate: Candidate, accountNumber: string): Clue {
  const { accountId, method: kind } = candidate;
  const reason =
    candidate.method === 'learned'
      ? learnedReason(accountNumber, candidate.assignedOn)
      : REASON[candidate.method satisfies LadderMethod];
  return { accountId, kind, reason };
}

export function clueOfNearNumber(accountId: number): Clue {
  return { accountId, kind: 'near_number', reason: 'the reference is one slip away from the account number' };
}

/**
 * The accounts that a report without a match points to, by each clue of its reference or its payer's number that alone
 * gives a medium confidence. What was typed counts first; then whose phone paid, where staff assigned the payer's money,
 * and what is one slip away from what was typed. Accounts of a slip need not exist.
 */
export function suggestedAccountIds(
  candidates: readonly Candidate[],
  relatives: readonly Relative[],
  billRef: string | null,
): number[] {
  const typed = candidates.filter(({ method }) => method !== 'payer_phone');
  if (typed.length > 0) return typed.map(({ accountId }) => accountId);
  const learned = relatives.filter(({ kind }) => kind === 'learned_payer');
  return [
    ...[...candidates, ...learned].map(({ accountId }) => accountId),
    ...nearAccountNumbers(billRef ?? ''),
  ];
}

export function clueOfRelative({ accountId, kind, assignedOn }: Relative): Clue {
  const what =
    kind === 'learned_payer'
      ? 'the same payer with another reference'
      : 'the same reference from another payer';
  return { accountId, kind, reason: `${what} was assigned to the account on ${assignedOn}` };
}

/** The accounts, most likely first; those that nothing speaks for are left out. Equals stand by age. */
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
    const best = WITNESSES.flatMap((witness) => bestOf(own, witness));
    const weight = best.reduce((sum, { kind }) => sum + CLUES[kind].weight, 0);
    return weight > 0 ? [{ accountId, holder, best, weight }] : [];
  });
  return ranked
    .sort((a, b) => b.weight - a.weight || a.accountId - b.accountId)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ accountId, holder: { accountNumber, customerName }, best, weight }) => ({
      accountId,
      accountNumber,
      customerName,
      reason: best.map(({ reason }) => reason).join('; '),
      confidence: weight >= HIGH ? 'high' : weight >= MEDIUM ? 'medium' : 'low',
    }));
}

function cluesOfPayer(accountId: number, { words, masked }: Payer, holder: Holder): Clue[] {
  const clues: Clue[] = [];
  if (masked && fitsMask(holder.phone, masked)) {
    const reason = 'the customer’s phone has the digits that are shown of the payer’s';
    clues.push({ accountId, kind: 'masked_phone', reason });
  }
  const names = nameWords(holder.customerName);
  const shared = words.filter((word) => names.includes(word)).length;
  if (shared >= 2) clues.push({ accountId, kind: 'full_name', reason: 'the payer has the customer’s name' });
  // One name is nothing to go by, unless something else points to the account.
  else if (shared === 1)
    clues.push({ accountId, kind: 'part_of_name', reason: 'the payer shares a name with the customer' });
  return clues;
}

function bestOf(clues: Clue[], witness: Witness): Clue[] {
  const [best] = clues
    .filter(({ kind }) => CLUES[kind].witness === witness)
    .sort((a, b) => CLUES[b.kind].weight - CLUES[a.kind].weight);
  return best ? [best] : [];
}
