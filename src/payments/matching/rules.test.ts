import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import {
  areDifferentPayers,
  type Candidate,
  decideMatch,
  fitsMask,
  type InterpretationMethod,
  matchColumns,
  NO_MATCH,
  type RelatedAssignment,
  readMasked,
  readNumberOnly,
  readPayer,
  readReference,
  suggestedAccountIds,
} from './rules.ts';

const sha256 = (digits: string) => createHash('sha256').update(digits).digest();

describe('a phone that a customer without an open account was registered with later', () => {
  const phone = { method: 'phone', accountId: 7, isOpen: true, hasNewerHolder: true } as const;
  const payer = { ...phone, method: 'payer_phone' } as const;
  const number = { method: 'account_number', accountId: 7, isOpen: true } as const;

  it('matches no account, typed or of the payer, and stays a candidate', () => {
    expect(decideMatch([phone], false)).toEqual({ accountId: null, candidates: [phone] });
    expect(decideMatch([payer], true)).toEqual({ accountId: null, candidates: [payer] });
  });

  it('does not contradict the number of the account', () => {
    expect(decideMatch([phone, number], false)).toEqual({ accountId: 7, method: 'account_number' });
  });
});

describe('readReference', () => {
  const read = (reference: string | null, payer: string | null = null) =>
    readReference(reference, payer, 'KE');

  it.each(['445566778.0', '44556677,00', '4.45567E8'])(
    'reads no national id, phone, account or learned reference in %s',
    (text) => {
      const { accountId, nationalIdKey, phone, bareAccountId, typedKey } = readReference(text, null, 'KE');
      expect([accountId, nationalIdKey, phone, bareAccountId, typedKey]).toEqual(Array(5).fill(null));
    },
  );

  it('reads an account number in lower case, with spaces and a full stop, and without its prefix', () => {
    const number = formatAccountNumber(7);
    for (const typed of [
      number,
      number.toLowerCase(),
      ` ${number.slice(0, 5)} ${number.slice(5)}. `,
      number.slice(3),
    ]) {
      expect(read(typed).accountId, typed).toBe(7);
    }
  });

  it('does not read an account number that has a wrong check digit', () => {
    const number = formatAccountNumber(7);
    const wrong = `${number.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`;
    expect(read(wrong).accountId).toBeNull();
  });

  it('returns every possible interpretation of a text', () => {
    expect(read('0712345678')).toMatchObject({
      accountId: null,
      nationalIdKey: '0712345678',
      phone: '+254712345678',
      bareAccountId: null, // no id begins with zero
    });
    expect(read('712345678')).toMatchObject({ phone: '+254712345678', bareAccountId: 712345678 });
    expect(read('ab 12-3')).toMatchObject({ nationalIdKey: 'AB123', phone: null, bareAccountId: null });
  });

  it('reads full-width digits, and ignores white space around them', () => {
    expect(read(' １２３４５ ')).toMatchObject({ bareAccountId: 12345, nationalIdKey: '12345' });
  });

  it.each(['-', '0', 'n/a', '1234'])(
    'does not treat %s as a national id, because short values are often placeholders',
    (reference) => {
      expect(read(reference).nationalIdKey).toBeNull();
    },
  );

  it.each([null, '', '   ', '\u00a0'])('treats %j as an empty reference', (reference) => {
    expect(read(reference)).toEqual({
      accountId: null,
      nationalIdKey: null,
      phone: null,
      bareAccountId: null,
      payerSha256: null,
      typedKey: null,
      referenceIsEmpty: true,
    });
  });

  it('reads a text of up to 100 characters', () => {
    const number = formatAccountNumber(7);
    expect(read(number + '.'.repeat(100 - number.length)).accountId).toBe(7);
    expect(read(number + '.'.repeat(101 - number.length)).accountId).toBeNull();
  });

  it('reads up to 15 digits as the id of an account', () => {
    expect(read('123456789012345').bareAccountId).toBe(123_456_789_012_345);
    expect(read('1234567890123456').bareAccountId).toBeNull();
    expect(read('7').bareAccountId).toBe(7);
    expect(read('7a').bareAccountId).toBeNull();
    expect(read('a7').bareAccountId).toBeNull();
  });

  it('reads the payer’s number together with the reference', () => {
    expect(read('7', '0712345678').payerSha256).toEqual(sha256('254712345678'));
  });

  it('returns no interpretation of a text that is too long, but does not treat it as empty', () => {
    expect(read('7'.repeat(101))).toMatchObject({
      accountId: null,
      nationalIdKey: null,
      phone: null,
      bareAccountId: null,
      referenceIsEmpty: false,
    });
  });
});

describe('readNumberOnly', () => {
  const nothingElse = {
    nationalIdKey: null,
    phone: null,
    bareAccountId: null,
    payerSha256: null,
    typedKey: null,
    referenceIsEmpty: false,
  };

  it('reads an account number, and no other meaning of the reference', () => {
    expect(readNumberOnly(formatAccountNumber(7).toLowerCase())).toEqual({ accountId: 7, ...nothingElse });
    expect(readNumberOnly('0712345678')).toEqual({ accountId: null, ...nothingElse });
    expect(readNumberOnly(null)).toEqual({ accountId: null, ...nothingElse });
  });
});

describe('readPayer', () => {
  it('reads the SHA-256 of a number that has white space around it', () => {
    const hash = sha256('254712345678');
    expect(readPayer(` ${hash.toString('hex')}\n`, 'KE')).toEqual(hash);
  });

  it.each([`0${'a'.repeat(64)}`, `${'a'.repeat(64)}0`, `x${'a'.repeat(64)}`, `${'a'.repeat(64)}x`])(
    'does not read %s, which only contains a SHA-256',
    (payer) => {
      expect(readPayer(payer, 'KE')).toBeNull();
    },
  );

  it.each(['2557123456 78', '1234567890123456'])(
    'does not read %s as a number of another country',
    (payer) => {
      expect(readPayer(payer, 'KE')).toBeNull();
    },
  );

  it.each(['254712345678', '+254712345678', '0712345678', '0712 345 678', '712345678'])(
    'converts %s to the SHA-256 of the digits of the international number',
    (payer) => {
      expect(readPayer(payer, 'KE')).toEqual(sha256('254712345678'));
    },
  );

  it.each(['255712345678', ' 255712345678 ', '+255712345678', '1234567890', '123456789012345'])(
    'accepts %j, a number of another country, with or without the plus',
    (payer) => {
      expect(readPayer(payer, 'KE')).toEqual(sha256(payer.replace(/\D/g, '')));
    },
  );

  it('accepts a SHA-256 in upper-case or lower-case hex', () => {
    const hex = sha256('254712345678').toString('hex');
    expect(readPayer(hex, 'KE')).toEqual(sha256('254712345678'));
    expect(readPayer(hex.toUpperCase(), 'KE')).toEqual(sha256('254712345678'));
  });

  it.each(['2547****149', '', null, 'John', `${'a'.repeat(63)}`, `${'g'.repeat(64)}`])(
    'returns null for %s',
    (payer) => {
      expect(readPayer(payer, 'KE')).toBeNull();
    },
  );
});

describe('the key of a reference', () => {
  const keyOf = (reference: string) => readReference(reference, null, 'KE').typedKey;

  it.each(['Kamau house', 'KAMAU-HOUSE', ' kamau  house. ', 'ｋａｍａｕ house'])(
    'has only letters and digits, all in upper case: %s',
    (typed) => {
      expect(keyOf(typed)).toBe('KAMAUHOUSE');
    },
  );

  it('keeps the vowel signs of scripts that have them', () => {
    expect(keyOf('किताब')).not.toBe(keyOf('कतब'));
  });

  it.each(['', ' ', '-', '…', 'x'.repeat(101)])('is null for %j', (typed) => {
    expect(keyOf(typed)).toBeNull();
  });
});

describe('readMasked', () => {
  const NUMBER = '+254712345149';

  it.each(['2547****149', '2547 ***** 149', '+25471xxxx149', '25471XX5149', '0712•••149', '254712***5149'])(
    'finds both ends of the number in %s',
    (payer) => {
      const masked = readMasked(payer, 'KE');
      expect(masked && fitsMask(NUMBER, masked)).toBe(true);
      expect(masked && fitsMask('+254712345148', masked)).toBe(false);
      expect(masked && fitsMask('+255712345149', masked)).toBe(false);
    },
  );

  it.each([
    null,
    '',
    '254712345149',
    'a'.repeat(64),
    '****149',
    '25*****149',
    '2547*****49',
    '2547****',
    '***',
    'John',
    '2547*149',
    'A2547****149',
    '2547****149A',
    `2547${'*'.repeat(13)}149`,
    `${'1'.repeat(13)}**149`,
    `254**${'1'.repeat(10)}`,
  ])('finds nothing in %s', (payer) => {
    expect(readMasked(payer, 'KE')).toBeUndefined();
  });

  it.each<[string, { start: string; end: string }]>([
    ['254**149', { start: '+254', end: '149' }],
    [`254712345678${'*'.repeat(12)}123456789`, { start: '+254712345678', end: '123456789' }],
    ['+254 71-**-149', { start: '+25471', end: '149' }],
    ['0712****149', { start: '+254712', end: '149' }],
  ])('reads the visible digits of %s in international form', (payer, masked) => {
    expect(readMasked(payer, 'KE')).toEqual(masked);
  });

  it('needs the country of the service only for a number in national form', () => {
    expect(readMasked('0712****149', 'XX')).toBeUndefined();
    expect(readMasked('254712****149', 'XX')).toEqual({ start: '+254712', end: '149' });
  });

  it('fits only numbers with at least one hidden digit', () => {
    expect(fitsMask('+2547149', { start: '+254', end: '149' })).toBe(true);
    expect(fitsMask('+254149', { start: '+254', end: '149' })).toBe(false);
    expect(fitsMask('+254149', { start: '+2541', end: '149' })).toBe(false);
  });

  it('never treats a masked number as exact', () => {
    const digits = fc.integer({ min: 0, max: 999_999_999 }).map((n) => `254${String(n).padStart(9, '0')}`);
    fc.assert(
      fc.property(
        digits,
        fc.integer({ min: 3, max: 7 }),
        fc.integer({ min: 2, max: 6 }),
        (number, start, hidden) => {
          const end = number.slice(start + hidden);
          fc.pre(end.length >= 3);
          const payer = number.slice(0, start) + '*'.repeat(hidden) + end;
          expect(readPayer(payer, 'KE')).toBeNull();
          expect(fitsMask(`+${number}`, readMasked(payer, 'KE') ?? { start: '', end: 'none' })).toBe(true);
        },
      ),
    );
  });
});

describe('areDifferentPayers', () => {
  const hash = sha256('254712345149').toString('hex');

  it.each<[boolean, string, string | null, string | null]>([
    [false, 'two forms of one number', '0712345149', '254712345149'],
    [false, 'a number and its SHA-256', '254712345149', hash],
    [true, 'two numbers', '0712345149', '0712345148'],
    [true, 'a number and the SHA-256 of another number', '0712345148', hash],
    [false, 'a number and a mask that fits it', ' 254712345149 ', '2547****149'],
    [false, 'a foreign number and a mask that fits it', ' 255712345149 ', '2557****149'],
    [true, 'a number and a mask with other digits at the start', '254712345149', '2541****149'],
    [true, 'a number and a mask with other digits at the end', '254712345149', '2547****148'],
    [true, 'a foreign number and a mask with other digits at the end', ' 255712345149 ', '2557****148'],
    [false, 'two masks that fit one number', '2547****149', '254712***5149'],
    [false, 'two masks of which each shows more at one end', '254712***149', '2547****45149'],
    [true, 'two masks with different digits at the start', '2547****149', '2541****149'],
    [true, 'two masks with different digits at the end', '2547****149', '2547****148'],
    [true, 'two masks with different digits at both ends', '2547****149', '2541****148'],
    [false, 'a mask and a SHA-256, which cannot be compared', '2541****148', hash],
    [false, 'a number and an unreadable text', '0712345149', 'John'],
    [false, 'a mask and an unreadable text', '2547****149', 'John'],
    [false, 'a number and none', '0712345149', null],
    [false, 'a mask and none', '2547****149', null],
    [false, 'none and none', null, null],
  ])('is %s for %s', (expected, _, one, other) => {
    expect(areDifferentPayers(one, other, 'KE')).toBe(expected);
    expect(areDifferentPayers(other, one, 'KE')).toBe(expected);
  });
});

describe('decideMatch', () => {
  const found = (method: InterpretationMethod, accountId: number, isOpen = true): Candidate => ({
    method,
    accountId,
    isOpen,
  });

  it.each<InterpretationMethod>(['account_number', 'national_id', 'phone', 'account_id'])(
    'chooses the only account, found by %s',
    (method) => {
      expect(decideMatch([found(method, 7)], false)).toEqual({ accountId: 7, method });
    },
  );

  it('uses the payer’s phone only if there is no reference', () => {
    const candidates = [found('payer_phone', 7)];
    expect(decideMatch(candidates, true)).toEqual({ accountId: 7, method: 'payer_phone' });
    expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
  });

  it('returns the most trusted method if several interpretations lead to the same account', () => {
    const agreeing = [found('phone', 7), found('national_id', 7), found('account_id', 7)];
    expect(decideMatch(agreeing, false)).toEqual({ accountId: 7, method: 'national_id' });
  });

  it.each<[InterpretationMethod, InterpretationMethod]>([
    ['account_number', 'national_id'],
    ['national_id', 'phone'],
    ['phone', 'account_id'],
    ['phone', 'phone'],
  ])('chooses no account when %s and %s point to two accounts', (one, other) => {
    const candidates = [found(one, 7), found(other, 8)];
    expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
  });

  it('chooses no account if the payer has two accounts and typed no reference', () => {
    const candidates = [found('payer_phone', 7), found('payer_phone', 8)];
    expect(decideMatch(candidates, true)).toEqual({ accountId: null, candidates });
  });

  it('ignores another account of the payer if a reference is typed', () => {
    const candidates = [found('national_id', 7), found('payer_phone', 8)];
    expect(decideMatch(candidates, false)).toEqual({ accountId: 7, method: 'national_id' });
  });

  describe('with a learned account', () => {
    const taught = (accountId: number, overruledAccountId: number | null = null): Candidate => ({
      method: 'learned',
      accountId,
      isOpen: true,
      overruledAccountId,
      assignedOn: '2026-11-02' as PlainDate,
    });
    const learned = { accountId: 9, method: 'learned', assignedOn: '2026-11-02' };

    it('chooses the learned account if the interpretations find no account, or more than one', () => {
      expect(decideMatch([taught(9)], false)).toEqual(learned);
      expect(decideMatch([found('payer_phone', 7), taught(9)], false)).toEqual(learned);
      expect(decideMatch([found('phone', 8), found('phone', 9), taught(9)], false)).toEqual(learned);
      expect(decideMatch([found('phone', 7), found('national_id', 8), taught(9)], false)).toEqual(learned);
    });

    it('chooses the learned account if an interpretation that staff once replaced is not found any more', () => {
      expect(decideMatch([taught(9, 7)], false)).toEqual(learned);
    });

    it('chooses the learned account if the payer typed its number, and another interpretation contradicts', () => {
      const candidates = [found('account_number', 9), found('phone', 7), taught(9)];
      expect(decideMatch(candidates, false)).toEqual(learned);
    });

    it('returns the method of the interpretation that agrees with the learned account', () => {
      expect(decideMatch([found('phone', 9), taught(9)], false)).toEqual({ accountId: 9, method: 'phone' });
      const closed = found('account_number', 9, false);
      expect(decideMatch([closed, taught(9)], false)).toEqual({ accountId: 9, method: 'account_number' });
    });

    it.each<InterpretationMethod>(['national_id', 'phone', 'account_id'])(
      'prefers the learned account to an account found by %s only if staff replaced that account',
      (method) => {
        expect(decideMatch([found(method, 7), taught(9, 7)], false)).toEqual(learned);
        for (const overruled of [null, 8]) {
          const candidates = [found(method, 7), taught(9, overruled)];
          expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
        }
      },
    );

    it('never prefers the learned account to the typed number of another open account', () => {
      for (const others of [[], [found('national_id', 9)], [found('phone', 8)]]) {
        for (const overruled of [null, 7]) {
          const candidates = [found('account_number', 7), ...others, taught(9, overruled)];
          expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
        }
      }
    });

    it('prefers the learned account to the typed number of a closed account only if staff replaced the closed account', () => {
      const closed = found('account_number', 7, false);
      expect(decideMatch([closed, taught(9, 7)], false)).toEqual(learned);
      const candidates = [closed, taught(9)];
      expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
    });
  });

  it('chooses no account without candidates', () => {
    expect(decideMatch([], true)).toEqual({ accountId: null, candidates: [] });
  });
});

describe('the columns that store how an account was found', () => {
  it.each([
    ['a match by an interpretation', { accountId: 7, method: 'phone' as const }, 'phone', null],
    [
      'a match with a learned account',
      { accountId: 7, method: 'learned' as const, assignedOn: '2026-11-02' as PlainDate },
      'learned',
      `the same reference from the same payer was assigned to ${formatAccountNumber(7)} on 2026-11-02`,
    ],
    ['no match', NO_MATCH, null, null],
  ])('contain the method, and a reason only for a learned account: %s', (_, match, method, reason) => {
    expect(matchColumns(match)).toEqual({ match_method: method, match_reason: reason });
  });

  it('are null if several accounts were found', () => {
    expect(NO_MATCH).toEqual({ accountId: null, candidates: [] });
    const candidates: Candidate[] = [{ method: 'phone', accountId: 7, isOpen: true }];
    expect(matchColumns({ accountId: null, candidates }).match_method).toBeNull();
  });
});

describe('suggestedAccountIds', () => {
  const byPhone: Candidate = { method: 'payer_phone', accountId: 5, isOpen: true };
  const related: RelatedAssignment[] = [
    { kind: 'learned_payer', accountId: 6, assignedOn: '2026-11-02' as PlainDate },
    { kind: 'learned_reference', accountId: 8, assignedOn: '2026-11-02' as PlainDate },
  ];
  const mistyped = `${formatAccountNumber(7).slice(0, -1)}x`;

  it('are only the accounts of the typed reference, if it leads to accounts', () => {
    const typed: Candidate[] = [
      { method: 'phone', accountId: 3, isOpen: true },
      { method: 'national_id', accountId: 4, isOpen: true },
    ];
    expect(suggestedAccountIds([byPhone, ...typed], related, mistyped)).toEqual([3, 4]);
  });

  it('are otherwise the accounts of the payer’s phone and earlier payments, and of similar account numbers', () => {
    const ids = suggestedAccountIds([byPhone], related, mistyped);
    expect(ids.slice(0, 2)).toEqual([5, 6]);
    expect(ids.slice(2)).toContain(7);
    expect(ids).not.toContain(8);
  });

  it('are none without a reference and a known payer', () => {
    expect(suggestedAccountIds([], [], null)).toEqual([]);
  });
});

it.each([
  ['ACC10000012 0', null],
  ['ACC10000012-0', null],
  ['ACC10000012', 1],
  // Together, the digits are a number that no account has.
  ['ACC10000012 10000012', 1],
])('reads %s as the account %s, because two readings are none', (reference, accountId) => {
  expect(readReference(reference, null, 'KE').accountId).toBe(accountId);
});
