import { describe, expect, it } from 'vitest';
import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import {
  type Clue,
  clueOfAssignment,
  clueOfCandidate,
  clueOfContainedNumber,
  clueOfNearNumber,
  type Holder,
  nameWords,
  type Payer,
  rankSuggestions,
} from './suggestion-rules.ts';

const DAY = '2026-10-05' as PlainDate;
const AMINA: Holder = { first_name: 'Amina', last_name: 'Wanjiru Otieno', phone: '+254712345149' };
const STRANGER: Payer = { words: [], masked: undefined };

const clue = (kind: Clue['kind'], accountId = 7): Clue => ({
  accountId,
  kind,
  reason: `${kind} of ${accountId}`,
});

/** The suggestions for clues of accounts that all belong to Amina. */
function rank(clues: Clue[], payer = STRANGER, accountIds = clues.map(({ accountId }) => accountId)) {
  return rankSuggestions(clues, accountIds, payer, new Map(accountIds.map((id) => [id, AMINA])));
}

/** The codes of the reasons for account 7, with its confidence. */
function codes(clues: Clue[], payer = STRANGER): string[] {
  const [suggestion] = rank(clues, payer, [7]);
  return suggestion ? [...suggestion.reasons.map(({ code }) => code), suggestion.confidence] : [];
}

describe('the words of a name', () => {
  it.each<[string, string | null, string[]]>([
    ['are folded like the search text of customers', 'ÉMILE Otieno', ['emile', 'otieno']],
    [
      'are separated by everything that is not a letter',
      "Amina-Wanjiru O'tieno2Kamau",
      ['amina', 'wanjiru', 'tieno', 'kamau'],
    ],
    ['have at least three letters', 'Li Amo de Abebe', ['amo', 'abebe']],
    ['are listed once each', 'Otieno Amina OTIENO', ['otieno', 'amina']],
    ['are at most four', 'anna berta clara dora emma', ['anna', 'berta', 'clara', 'dora']],
    ['have no vowel signs, like the search text of customers', 'किताब', ['कतब']],
    ['are none without a name', null, []],
  ])('%s', (_, name, words) => {
    expect(nameWords(name)).toEqual(words);
  });
});

describe('a clue', () => {
  it('of an interpretation has the reason of its method', () => {
    expect(clueOfCandidate({ accountId: 7, method: 'phone', isOpen: true })).toEqual({
      accountId: 7,
      kind: 'phone',
      reason: 'the reference is the phone number of the customer',
    });
  });

  it('of a learned account names its number and the day of the assignment', () => {
    const learned = { isOpen: true, overruledAccountId: null, assignedOn: DAY } as const;
    expect(clueOfCandidate({ accountId: 7, method: 'learned', ...learned })).toEqual({
      accountId: 7,
      kind: 'learned',
      reason: `the same reference from the same payer was assigned to ${formatAccountNumber(7)} on 2026-10-05`,
      assignedOn: DAY,
    });
  });

  it('of a similar account number says so', () => {
    expect(clueOfNearNumber(7)).toEqual({
      accountId: 7,
      kind: 'near_number',
      reason: 'the reference is the account number with one typing error',
    });
  });

  it('of a longer text with an account number says so', () => {
    expect(clueOfContainedNumber(7)).toEqual({
      accountId: 7,
      kind: 'contained_number',
      reason: 'the reference contains the account number',
    });
  });

  it.each([
    ['learned_payer', 'a payment of the same payer with another reference'],
    ['learned_reference', 'a payment with the same reference from another payer'],
  ] as const)('of an earlier assignment says what the two payments have in common: %s', (kind, what) => {
    expect(clueOfAssignment({ accountId: 7, kind, assignedOn: DAY })).toEqual({
      accountId: 7,
      kind,
      reason: `${what} was assigned to the account on 2026-10-05`,
      assignedOn: DAY,
    });
  });
});

describe('a suggestion', () => {
  it('has the number of the account, its customer, and the reasons in words and as codes', () => {
    const assignment = clueOfAssignment({ accountId: 7, kind: 'learned_payer', assignedOn: DAY });
    expect(rank([assignment, clue('account_number')])).toEqual([
      {
        accountId: 7,
        accountNumber: formatAccountNumber(7),
        customerName: 'Amina Wanjiru Otieno',
        reason: `account_number of 7; ${assignment.reason}`,
        reasons: [
          { code: 'account_number', assignedOn: null },
          { code: 'learned_payer', assignedOn: DAY },
        ],
        confidence: 'high',
      },
    ]);
  });

  it.each<[Clue['kind'][], string[]]>([
    [
      ['phone', 'account_number', 'near_number'],
      ['account_number', 'high'],
    ],
    [
      ['learned_payer', 'payer_phone'],
      ['payer_phone', 'medium'],
    ],
    [
      ['payer_phone', 'near_number', 'learned_reference'],
      ['near_number', 'payer_phone', 'high'],
    ],
  ])('counts only the best clue of each source: of %j', (kinds, expected) => {
    expect(codes(kinds.map((kind) => clue(kind)))).toEqual(expected);
  });

  it.each<[Clue['kind'], string]>([
    ['learned', 'high'],
    ['account_number', 'high'],
    ['national_id', 'high'],
    ['phone', 'high'],
    ['account_id', 'high'],
    ['payer_phone', 'medium'],
    ['near_number', 'medium'],
    ['learned_payer', 'medium'],
    ['learned_reference', 'low'],
  ])('has for the clue %s alone the confidence %s', (kind, confidence) => {
    expect(codes([clue(kind)])).toEqual([kind, confidence]);
  });

  it.each<[string, string[], string[]]>([
    ['the whole name', ['otieno', 'wanjiru', 'amina'], ['full_name', 'low']],
    ['two words of the name', ['amina', 'otieno', 'kamau'], ['full_name', 'low']],
    ['one word of the name', ['kamau', 'amina'], ['part_of_name', 'low']],
    ['no word of the name', ['kamau', 'ami'], []],
  ])('is made for a payer who shares %s with the customer: %j', (_, words, expected) => {
    expect(codes([], { words, masked: undefined })).toEqual(expected);
  });

  it.each([
    ['149', ['masked_phone', 'low']],
    ['148', []],
  ])('is made if the customer’s phone has the visible digits of the payer’s number: %s', (end, expected) => {
    expect(codes([], { words: [], masked: { start: '+2547', end } })).toEqual(expected);
  });

  it('has words for the name and for the visible digits', () => {
    const masked = { start: '+2547', end: '149' };
    const [both] = rank([], { words: ['amina', 'otieno'], masked }, [7]);
    expect(both?.reason).toBe(
      'the customer’s phone has the visible digits of the payer’s number; the payer has the customer’s name',
    );
    const [one] = rank([], { words: ['amina'], masked: undefined }, [7]);
    expect(one?.reason).toBe('the payer shares a name with the customer');
  });

  it('has a high confidence if the payer’s phone and name agree', () => {
    expect(codes([clue('payer_phone')], { words: ['amina', 'otieno'], masked: undefined })).toEqual([
      'payer_phone',
      'full_name',
      'high',
    ]);
  });
});

describe('suggestions', () => {
  const idsOf = (suggestions: ReturnType<typeof rank>) => suggestions.map(({ accountId }) => accountId);

  it('start with the most likely account, and then with the older account', () => {
    const clues = [
      clue('near_number', 9),
      clue('payer_phone', 12),
      clue('payer_phone', 3),
      clue('phone', 20),
    ];
    expect(idsOf(rank(clues))).toEqual([20, 3, 12, 9]);
  });

  it('are at most ten', () => {
    const clues = Array.from({ length: 12 }, (_, at) => clue('phone', 12 - at));
    expect(idsOf(rank(clues))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('name each account once, and use only the clues of this account', () => {
    const clues = [clue('payer_phone', 7), clue('near_number', 7), clue('learned_reference', 8)];
    expect(rank(clues).map(({ accountId, reason }) => [accountId, reason])).toEqual([
      [7, 'near_number of 7; payer_phone of 7'],
      [8, 'learned_reference of 8'],
    ]);
  });

  it('omit accounts without a clue, and accounts whose customer was not found', () => {
    const holders = new Map([[7, AMINA]]);
    expect(rankSuggestions([clue('phone', 8)], [7, 8], STRANGER, holders)).toEqual([]);
  });
});
