import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../test/support/property-runs.ts';
import {
  accountsBeginningWith,
  dammCheckDigit,
  foldReference,
  formatAccountNumber,
  type IdRange,
  LARGEST_IMPORTED_ID,
  MAX_ACCOUNT_NUMBER_LENGTH,
  numbersInText,
  readAccountNumber,
  readNumberInText,
} from './account-number-rules.ts';

const RUNS = { numRuns: PROPERTY_RUNS };
const LARGEST_ID = Number.MAX_SAFE_INTEGER - 1_000_000;
const idArb = fc.oneof(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 1, max: LARGEST_ID }));

const KNOWN = [
  [1, 'ACC1000001'],
  [42, 'ACC1000042'],
  [8_999_999, 'ACC9999999'],
  [9_000_000, 'ACC10000000'],
] as const;

describe('dammCheckDigit', () => {
  it('returns 4 for 572, the published example', () => {
    expect(dammCheckDigit('572')).toBe(4);
    expect(dammCheckDigit('5724')).toBe(0);
  });

  it('returns 0 for any number followed by its check digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), (n) => {
        expect(dammCheckDigit(`${n}${dammCheckDigit(String(n))}`)).toBe(0);
        expect(dammCheckDigit(`000${n}`)).toBe(dammCheckDigit(String(n)));
      }),
      RUNS,
    );
  });
});

describe('formatAccountNumber', () => {
  it.each(KNOWN)('writes account %i as %s and one check digit', (id, start) => {
    const number = formatAccountNumber(id);
    expect(number.slice(0, -1)).toBe(start);
    expect(number).toMatch(/^ACC[0-9]+$/);
  });

  it('gives the same numbers as those printed on contracts', () => {
    expect([1, 2, 3, 42, 1234].map(formatAccountNumber)).toEqual([
      'ACC10000012',
      'ACC10000020',
      'ACC10000036',
      'ACC10000422',
      'ACC10012346',
    ]);
  });

  it('gives numbers of at most MAX_ACCOUNT_NUMBER_LENGTH characters', () => {
    expect(formatAccountNumber(LARGEST_ID)).toHaveLength(MAX_ACCOUNT_NUMBER_LENGTH);
  });

  it.each([0, -1, 1.5, 1 + Number.EPSILON, NaN, Infinity, LARGEST_ID + 1])('refuses the id %d', (id) => {
    expect(() => formatAccountNumber(id)).toThrow(RangeError);
  });
});

describe('readAccountNumber', () => {
  it.each(['10000012.0', '10000012.00', '10000012,0', '1.0000012E7'])('finds no number in %s', (text) => {
    expect(readAccountNumber('10000012')).toBe(1);
    expect(readAccountNumber(text)).toBeUndefined();
  });

  it('returns the id of every formatted number', () => {
    fc.assert(
      fc.property(idArb, (id) => {
        const number = formatAccountNumber(id);
        expect(readAccountNumber(number)).toBe(id);
        expect(readAccountNumber(number.slice(3))).toBe(id);
        expect(readAccountNumber(number.toLowerCase())).toBe(id);
      }),
      RUNS,
    );
  });

  it('ignores case, spaces, punctuation and full-width forms', () => {
    const noise = fc.constantFrom(
      '',
      '',
      ' ',
      '-',
      '.',
      '/',
      '#',
      '_',
      ':',
      '\u00a0',
      '\u200b',
      '–',
      '−',
      '\t',
      '+',
      '=',
    );
    const wide = (c: string) => String.fromCharCode(c.charCodeAt(0) + 0xfee0);
    const forms = fc.constantFrom(
      (c: string) => c,
      (c: string) => c.toLowerCase(),
      wide,
    );
    const step = fc.tuple(noise, forms);
    const plan = fc.array(step, { minLength: 24, maxLength: 24 });
    fc.assert(
      fc.property(idArb, plan, (id, steps) => {
        const typed = [...formatAccountNumber(id)]
          .map((c, i) => `${steps[i]?.[0]}${steps[i]?.[1](c)}`)
          .join('');
        expect(readAccountNumber(typed)).toBe(id);
      }),
      RUNS,
    );
  });

  it('refuses every single-digit change', () => {
    fc.assert(
      fc.property(idArb, (id) => {
        const number = formatAccountNumber(id);
        const wrong = [];
        for (let at = 3; at < number.length; at += 1) {
          for (const digit of '0123456789') {
            if (digit !== number[at]) wrong.push(number.slice(0, at) + digit + number.slice(at + 1));
          }
        }
        expect(wrong.filter((typed) => readAccountNumber(typed) !== undefined)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('refuses every swap of two neighbouring digits', () => {
    fc.assert(
      fc.property(idArb, (id) => {
        const number = formatAccountNumber(id);
        const wrong = [];
        for (let at = 3; at + 1 < number.length; at += 1) {
          const a = number[at];
          const b = number[at + 1];
          if (a !== b) wrong.push(`${number.slice(0, at)}${b}${a}${number.slice(at + 2)}`);
        }
        expect(wrong.filter((typed) => readAccountNumber(typed) !== undefined)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('refuses a missing or added digit and other characters', () => {
    fc.assert(
      fc.property(idArb, fc.constantFrom('X', 'ACC', 'O', '٣', '🙂', 'a c', '€'), (id, extra) => {
        const number = formatAccountNumber(id);
        const digits = number.slice(3);
        expect(readAccountNumber(`0${digits}`)).toBeUndefined();
        expect(readAccountNumber(`ACC000${digits}`)).toBeUndefined();
        expect(readAccountNumber(`${number}${extra}`)).toBeUndefined();
        expect(readAccountNumber(`${extra}${number}`)).toBeUndefined();
        expect(readAccountNumber(`${number.slice(0, 6)}${extra}${number.slice(6)}`)).toBeUndefined();
        // One in ten shortened numbers is valid by chance, but never for the same account.
        expect(readAccountNumber(digits.slice(0, -1))).not.toBe(id);
        expect(readAccountNumber(digits.slice(1))).not.toBe(id);
      }),
      RUNS,
    );
  });

  it('never accepts two numbers for one account', () => {
    const typed = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom(...'0123456789 -ACcx'), { maxLength: 20 }).map((cs) => cs.join('')),
      fc.integer({ min: 1, max: 99_999_999 }).map(String),
    );
    fc.assert(
      fc.property(typed, (reference) => {
        const id = readAccountNumber(reference);
        if (id === undefined) return;
        expect(formatAccountNumber(id).slice(3)).toBe(reference.normalize('NFKC').replace(/[^0-9]/g, ''));
      }),
      { numRuns: 10 * PROPERTY_RUNS },
    );
  });

  it.each(['', 'ACC', '   ', '1', '0712345678', '9'.repeat(17), '1'.repeat(257)])(
    'refuses %j',
    (reference) => {
      expect(readAccountNumber(reference)).toBeUndefined();
    },
  );

  it('reads a reference of up to 256 characters', () => {
    const padded = (length: number) => `${'.'.repeat(length - 11)}ACC10000012`;
    expect(foldReference(padded(256))).toBe('ACC10000012');
    expect(readAccountNumber(padded(256))).toBe(1);
    expect(foldReference(padded(257))).toBeUndefined();
  });

  it('refuses numbers below the number of account 1 and above the exact range', () => {
    for (const digits of ['1000000', '0999999', '9007199254740992']) {
      expect(readAccountNumber(`ACC${digits}${dammCheckDigit(digits)}`)).toBeUndefined();
    }
    expect(readAccountNumber(formatAccountNumber(LARGEST_ID))).toBe(LARGEST_ID);
  });
});

describe('the largest id of an import', () => {
  it('has the last account number with nine digits before the check digit', () => {
    expect(formatAccountNumber(LARGEST_IMPORTED_ID).slice(0, -1)).toBe('ACC999999999');
  });
});

describe('accountsBeginningWith', () => {
  it('returns the ids of exactly the accounts whose numbers begin with the text', () => {
    const searched = fc.integer({ min: 1, max: 9_998_999_999 });
    fc.assert(
      fc.property(searched, searched, fc.integer({ min: 3, max: 7 }), (id, other, length) => {
        const beginning = formatAccountNumber(id).slice(0, 'ACC'.length + length);
        const found = (one: number) =>
          accountsBeginningWith(beginning).some(([from, to]) => from <= one && one <= to);
        expect(found(id)).toBe(true);
        expect(found(other)).toBe(formatAccountNumber(other).startsWith(beginning));
      }),
      RUNS,
    );
  });

  it.each<[string, IdRange[]]>([
    [
      '100',
      [
        [1, 9_999],
        [9_000_000, 9_099_999],
        [99_000_000, 99_999_999],
        [999_000_000, 1_008_999_999],
      ],
    ],
    [
      '1000000', // No account has the id 0.
      [
        [9_000_000, 9_000_009],
        [99_000_000, 99_000_099],
        [999_000_000, 999_000_999],
      ],
    ],
    [
      '1000001',
      [
        [1, 1],
        [9_000_010, 9_000_019],
        [99_000_100, 99_000_199],
        [999_001_000, 999_001_999],
      ],
    ],
    ['1234567890', [[1_233_567_890, 1_233_567_890]]],
    ['12345678901', []],
  ])('returns ranges of ids, one for each length of account numbers: %s', (text, ranges) => {
    expect(accountsBeginningWith(text)).toEqual(ranges);
  });

  it.each(['ACC1000001', 'acc1000001', ' acc 1.000-001 ', '１０００００１'])(
    'ignores the prefix, letter case, spaces, dots, hyphens and full-width forms: %s',
    (text) => {
      expect(accountsBeginningWith(text)).toEqual(accountsBeginningWith('1000001'));
    },
  );

  it.each(['10', 'ACC10', '012', '+255712', 'ABC100', '100a', 'xACC100', ''])(
    'returns no ids for "%s"',
    (text) => {
      expect(accountsBeginningWith(text)).toEqual([]);
    },
  );
});

// The numbers of the accounts 1 and 2 are ACC10000012 and ACC10000020.
describe('readNumberInText', () => {
  const padded = (length: number) => `${'-'.repeat(length - 11)}ACC10000012`;

  it.each([
    'ACC10000012',
    'payment for acc10000012',
    'ACC: 10000012',
    'ACC - 10000012 jane',
    'ACC10000012JANE',
    'ACC1000\u200b0012',
    'ＡＣＣ１００００012',
    'ACC10000012/ACC10000012',
    'ACC10000012 10000012',
    'ACC10000012 12345',
    'ACC10000012 2/11/2026',
    'ACC10000012 123  456',
    padded(256),
  ])('reads the only number with ACC: %s', (text) => {
    expect(readNumberInText(text)).toBe(1);
  });

  it.each([
    ['no number', 'jane'],
    ['no number with ACC', '10000012 jane'],
    ['a wrong check digit', 'ACC10000013'],
    ['two numbers with ACC', 'ACC10000012 ACC10000020'],
    ['a letter or digit after ACC', 'ACCX10000012'],
    ['a letter or digit after ACC', 'ACC5 10000012'],
    ['a zero before the number', 'ACC010000012'],
    ['a letter like 0 after the number', 'ACC10000012O'],
    ['a letter like 1 after the number', 'ACC10000012I'],
    ['a letter like 1 after the number', 'ACC10000012L'],
    ['a digit too many', 'ACC100000125'],
    ['another number of six digits', 'ACC10000012 123456'],
    ['another number of six digits with separators', 'ACC10000012 1 2-3 4-56'],
    ['a longer number that ends with its digits', 'ACC10000012 510000012'],
    ['a longer number that begins with its digits', 'ACC10000012 100000125'],
    ['more than 256 characters', padded(257)],
  ])('reads nothing from a text with %s: %s', (_why, text) => {
    expect(readNumberInText(text)).toBeUndefined();
  });
});

describe('numbersInText', () => {
  it.each<[string, number[]]>([
    ['jane', []],
    ['10000012', [1]],
    ['acc10000012', [1]],
    ['A10000012B', [1]],
    ['1000 0012', [1]],
    ['1000-0012', [1]],
    ['1000  0012', []],
    ['1000/0012', []],
    ['10000012, 10000012', [1]],
    ['10000020, 10000012', [1, 2]],
    ['10000013 10000012', [1]],
    ['1000002 O', []],
    ['10000013', []],
    [`${' '.repeat(248)}10000012`, [1]],
    [`${' '.repeat(249)}10000012`, []],
  ])('finds each number once, in ascending order: %s', (text, ids) => {
    expect(numbersInText(text)).toEqual(ids);
  });
});

describe('letters that look like digits', () => {
  // The number of account 1 is ACC10000012.
  it.each([
    ['1OOOO0I2', [1]],
    ['pay lOOOO0l2 now', [1]],
    ['IOOOO OI2', []],
    ['IOOOOOIE', []],
  ])('are digits in a word that has a digit: %s', (text, ids) => {
    expect(numbersInText(text)).toEqual(ids);
  });

  it('are digits also at the end of the number', () => {
    const id = Array.from({ length: 1_000 }, (_, i) => i + 1).find((one) =>
      formatAccountNumber(one).endsWith('00'),
    );
    const typed = `${formatAccountNumber(id ?? 0).slice(3, -2)}OO`;
    expect(numbersInText(typed)).toEqual([id]);
  });

  it('can make another number, so that the account number is not certain', () => {
    expect(readNumberInText('ACC10000012 for the oil shop')).toBe(1);
    expect(readNumberInText('ACC10000012 O712345678')).toBeUndefined();
    expect(readNumberInText('ACC10000012 71234567l')).toBeUndefined();
  });
});
