import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import {
  currencyDecimals,
  divideHalfUp,
  MAX_AMOUNT_TEXT,
  maxAmountMinor,
  maxAmountText,
  maxMinor,
  minMinor,
  minorFromNumber,
  minorToNumber,
  minorToText,
  parseMinor,
  printedAmount,
} from './money.ts';

const RUNS = { numRuns: PROPERTY_RUNS };
const decimalsArb = fc.integer({ min: 0, max: 4 });
const digitsArb = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((ds) => ds.join(''));
const amountArb = decimalsArb.chain((decimals) => {
  const max = maxAmountMinor(decimals);
  return fc.record({
    decimals: fc.constant(decimals),
    minor: fc.oneof(fc.bigInt({ min: -max, max }), fc.bigInt({ min: -1000n, max: 1000n })),
  });
});

describe('currencyDecimals', () => {
  it('gives the decimals of East African and other currencies', () => {
    expect(currencyDecimals('KES')).toBe(2);
    expect(currencyDecimals('UGX')).toBe(0);
    expect(currencyDecimals('USD')).toBe(2);
    expect(currencyDecimals('TND')).toBe(3);
  });

  it.each(['ABQ', 'kes', '', 'KE', 'KESS', 'KES '])('refuses the unknown code "%s"', (code) => {
    expect(() => currencyDecimals(code)).toThrow(RangeError);
    expect(() => currencyDecimals(code)).toThrow(`Unknown currency "${code}"`);
  });

  it('returns for every currency decimals that the other functions accept', () => {
    for (const code of Intl.supportedValuesOf('currency')) {
      expect(() => minorToText(1n, currencyDecimals(code))).not.toThrow();
    }
  });
});

describe('parseMinor', () => {
  it.each([
    ['0', 2, 0n],
    ['-0', 2, 0n],
    ['-0.00', 2, 0n],
    ['1', 2, 100n],
    ['1234.5', 2, 123450n],
    ['-3.07', 2, -307n],
    ['5.000', 2, 500n],
    ['1.5000', 2, 150n],
    ['5.0', 0, 5n],
    ['007.10', 2, 710n],
    ['0.001', 3, 1n],
    [MAX_AMOUNT_TEXT, 2, 99_999_999_999_999n],
  ])('reads %s with %i decimals', (text, decimals, minor) => {
    expect(parseMinor(text, decimals)).toBe(minor);
  });

  it.each([
    '',
    '-',
    '.',
    '.5',
    '5.',
    '+5',
    ' 5',
    '5 ',
    '5\n',
    '1,000',
    '1_000',
    '1e3',
    '1E3',
    '0x10',
    '--5',
    '5.0.0',
    '5.001',
    '5.0000001',
    'NaN',
    'Infinity',
    '\u0665',
    '\uff15',
    '\u22125',
    '0'.repeat(41),
  ])('refuses %j', (text) => {
    expect(parseMinor(text, 2)).toBeUndefined();
  });

  it('refuses long text without reading it', () => {
    expect(parseMinor('0'.repeat(40), 2)).toBe(0n);
    expect(parseMinor('9'.repeat(10_000_000), 2)).toBeUndefined();
  });

  it('refuses any fraction in a currency without decimals', () => {
    expect(parseMinor('5.5', 0)).toBeUndefined();
  });

  it('agrees with a simpler calculation for random decimal texts', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        digitsArb(1, 18),
        digitsArb(0, 6),
        decimalsArb,
        (negative, whole, fraction, d) => {
          const text = `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
          // The simpler calculation scales the amount to 6 decimals, and checks whether the division has a remainder.
          const millionths = BigInt(whole + fraction.padEnd(6, '0')) * (negative ? -1n : 1n);
          const unit = 10n ** BigInt(6 - d);
          const expected = millionths % unit === 0n ? millionths / unit : undefined;
          expect(parseMinor(text, d)).toBe(expected);
        },
      ),
      RUNS,
    );
  });

  it('accepts nothing outside its grammar', () => {
    const near = fc
      .array(fc.constantFrom(...'0123456789.-+eE, _n'), { maxLength: 8 })
      .map((cs) => cs.join(''));
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (text) => {
        if (parseMinor(text, 2) !== undefined) expect(text).toMatch(/^-?\d+(\.\d{1,2}0*)?$/);
      }),
      RUNS,
    );
  });
});

describe('text and numbers', () => {
  it('prints exactly the decimals of the currency', () => {
    expect(minorToText(123450n, 2)).toBe('1234.50');
    expect(minorToText(-5n, 2)).toBe('-0.05');
    expect(minorToText(0n, 2)).toBe('0.00');
    expect(minorToText(1234n, 0)).toBe('1234');
    expect(minorToText(1n, 3)).toBe('0.001');
  });

  it('converts every amount to text and back', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), decimalsArb, (minor, decimals) => {
        expect(parseMinor(minorToText(minor, decimals), decimals)).toBe(minor);
      }),
      RUNS,
    );
  });

  it('converts every amount within the limit to a JSON number and back', () => {
    fc.assert(
      fc.property(amountArb, ({ decimals, minor }) => {
        const n = minorToNumber(minor, decimals);
        expect(Object.is(n, -0)).toBe(false);
        expect(minorToNumber(Number(minor), decimals)).toBe(n);
        expect(minorFromNumber(n, decimals)).toBe(minor);
        expect(minorFromNumber(JSON.parse(JSON.stringify(n)) as number, decimals)).toBe(minor);
      }),
      { numRuns: 10 * PROPERTY_RUNS },
    );
  });

  it('prints a JSON number like the text of the amount, without zeros at the end', () => {
    fc.assert(
      fc.property(amountArb, ({ decimals, minor }) => {
        const text = minorToText(minor, decimals);
        const shortest = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
        expect(JSON.stringify(minorToNumber(minor, decimals))).toBe(shortest);
      }),
      RUNS,
    );
  });

  it('fails instead of rounding if no JSON number is exact', () => {
    expect(() => minorToNumber(2n ** 53n, 0)).toThrow(RangeError);
    expect(() => minorToNumber(-(2n ** 53n), 2)).toThrow(RangeError);
    expect(() => minorToNumber(Number.MAX_SAFE_INTEGER, 2)).toThrow(RangeError);
    expect(minorToNumber(2n ** 53n - 1n, 0)).toBe(Number.MAX_SAFE_INTEGER);
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 15n, max: 2n ** 53n - 1n }), (minor) => {
        let n: number;
        try {
          n = minorToNumber(minor, 2);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          return;
        }
        expect(minorFromNumber(n, 2)).toBe(minor);
      }),
      RUNS,
    );
  });

  it.each([0.1 + 0.2, 1.005, 1e-7, 5e-324, 1e21, 1e300, 2 ** 53, NaN, Infinity, -Infinity, 0.001])(
    'refuses the number %d with two decimals',
    (n) => {
      expect(minorFromNumber(n, 2)).toBeUndefined();
    },
  );

  it('reads numbers of up to 2^53 - 1 minor units', () => {
    expect(minorFromNumber(Number.MAX_SAFE_INTEGER, 0)).toBe(2n ** 53n - 1n);
    expect(minorFromNumber(-Number.MAX_SAFE_INTEGER, 0)).toBe(1n - 2n ** 53n);
    expect(minorFromNumber(2 ** 53, 0)).toBeUndefined();
    expect(minorFromNumber(-(2 ** 53), 0)).toBeUndefined();
  });

  it('reads numbers by their shortest text', () => {
    expect(minorFromNumber(0.1, 2)).toBe(10n);
    expect(minorFromNumber(1.1 * 3, 2)).toBeUndefined();
    expect(minorFromNumber(-0, 2)).toBe(0n);
    expect(minorFromNumber(999999999999.99, 2)).toBe(maxAmountMinor(2));
    expect(minorFromNumber(1e3, 0)).toBe(1000n);
  });

  it('reads a number only if its text is an amount with these decimals', () => {
    fc.assert(
      fc.property(fc.double({ min: -9e11, max: 9e11, noNaN: true }), decimalsArb, (n, decimals) => {
        const minor = minorFromNumber(n, decimals);
        if (minor !== undefined) expect(Number(minorToText(minor, decimals))).toBe(n === 0 ? 0 : n);
        else expect(String(n)).toMatch(/e|\.\d+$/);
      }),
      RUNS,
    );
  });
});

describe('maxAmountMinor', () => {
  it('is the largest amount in minor units, truncated to the decimals', () => {
    expect(maxAmountMinor(0)).toBe(999_999_999_999n);
    expect(maxAmountMinor(1)).toBe(9_999_999_999_999n);
    expect(maxAmountMinor(2)).toBe(99_999_999_999_999n);
    expect(maxAmountMinor(3)).toBe(999_999_999_999_990n);
    expect(maxAmountMinor(4)).toBe(999_999_999_999_999n);
  });

  it('is shown in messages with the decimals of the currency', () => {
    expect([0, 1, 2, 3, 4].map(maxAmountText)).toEqual([
      '999999999999',
      '999999999999.9',
      '999999999999.99',
      '999999999999.990',
      '99999999999.9999',
    ]);
  });

  it.each([-1, 7, 1.5, NaN])('refuses %d decimals', (decimals) => {
    expect(() => maxAmountMinor(decimals)).toThrow(RangeError);
    expect(() => parseMinor('1', decimals)).toThrow(RangeError);
    expect(() => minorToText(1n, decimals)).toThrow(RangeError);
    expect(() => minorToNumber(1n, decimals)).toThrow(RangeError);
  });
});

describe('divideHalfUp', () => {
  it.each([
    [5n, 2n, 3n],
    [4n, 3n, 1n],
    [-5n, 2n, -3n],
    [5n, -2n, -3n],
    [-5n, -2n, 3n],
    [-1n, 3n, 0n],
    [0n, 7n, 0n],
    [10n, 5n, 2n],
  ])('%d / %d is %d', (numerator, denominator, quotient) => {
    expect(divideHalfUp(numerator, denominator)).toBe(quotient);
  });

  it('rounds to the nearest whole number, and halves away from zero', () => {
    const nonZero = fc.bigInt({ min: -1000n, max: 1000n }).filter((d) => d !== 0n);
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), nonZero, (n, d) => {
        const q = divideHalfUp(n, d);
        const abs = (x: bigint) => (x < 0n ? -x : x);
        expect(2n * abs(n - q * d) <= abs(d)).toBe(true);
        if (2n * abs(n - q * d) === abs(d)) expect(abs(q * d) > abs(n)).toBe(true);
        expect(divideHalfUp(-n, d)).toBe(-q);
      }),
      RUNS,
    );
  });

  it('refuses a zero denominator', () => {
    expect(() => divideHalfUp(1n, 0n)).toThrow(RangeError);
  });
});

describe('maxMinor and minMinor', () => {
  it.each([
    [1n, 2n],
    [2n, 1n],
    [-2n, -1n],
    [3n, 3n],
  ])('choose the larger and the smaller of %d and %d', (a, b) => {
    expect([minMinor(a, b), maxMinor(a, b)]).toEqual([a, b].sort((one, other) => Number(one - other)));
  });
});

describe('printedAmount', () => {
  it('has thousands separators and the decimals of the currency', () => {
    expect(printedAmount(123_456_750n, 2)).toBe('1,234,567.50');
    expect(printedAmount(0n, 2)).toBe('0.00');
    expect(printedAmount(99_999n, 0)).toBe('99,999');
    expect(printedAmount(1_000n, 3)).toBe('1.000');
    expect(printedAmount(-12_345_678n, 2)).toBe('-123,456.78');
    expect(printedAmount(-99_900n, 2)).toBe('-999.00');
  });
});
