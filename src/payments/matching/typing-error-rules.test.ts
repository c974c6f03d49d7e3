import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { formatAccountNumber, readAccountNumber } from '../../accounts/account-number-rules.ts';
import { nearAccountNumbers } from './typing-error-rules.ts';

const RUNS = { numRuns: PROPERTY_RUNS };
const LARGEST_ID = Number.MAX_SAFE_INTEGER - 1_000_000;
const idArb = fc.oneof(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 1, max: LARGEST_ID }));

describe('nearAccountNumbers', () => {
  const CHARACTERS = [...'0123456789ABCXOZ'];
  const characterArb = fc.constantFrom(...CHARACTERS);
  const spellingArb = fc
    .record({ id: idArb, bare: fc.boolean() })
    .map(({ id, bare }) => ({ id, text: formatAccountNumber(id).slice(bare ? 3 : 0) }));

  /** Each function makes one typing error: a character is wrong, missing or added, or two neighbouring characters are swapped. */
  const SLIPS: Record<string, (text: string, at: number, character: string) => string> = {
    substitution: (text, at, character) => text.slice(0, at) + character + text.slice(at + 1),
    deletion: (text, at) => text.slice(0, at) + text.slice(at + 1),
    insertion: (text, at, character) => text.slice(0, at) + character + text.slice(at),
    transposition: (text, at) =>
      text.slice(0, at) +
      text
        .slice(at, at + 2)
        .split('')
        .reverse()
        .join('') +
      text.slice(at + 2),
  };

  it.each(Object.entries(SLIPS))('finds the account after any %s', (_name, slip) => {
    fc.assert(
      fc.property(spellingArb, fc.nat(), characterArb, ({ id, text }, position, character) => {
        const typed = slip(text, position % text.length, character);
        fc.pre(readAccountNumber(typed) !== id);
        expect(nearAccountNumbers(typed)).toContain(id);
      }),
      RUNS,
    );
  });

  it('finds the account in any form of the mistyped number', () => {
    expect(nearAccountNumbers(' acc-1000 0013 ')).toContain(1);
    expect(nearAccountNumbers('１０００００１３')).toContain(1);
    expect(nearAccountNumbers('AC10000012')).toContain(1);
    expect(nearAccountNumbers('ACC100O0012')).toContain(1);
  });

  it('finds the shortest account number without its prefix, after a character is left out', () => {
    const number = formatAccountNumber(1).slice(3);
    expect(nearAccountNumbers(number.slice(1))).toContain(1);
    expect(nearAccountNumbers(number.slice(0, -1))).toContain(1);
  });

  it('returns few numbers, without duplicates and without the typed number', () => {
    fc.assert(
      fc.property(spellingArb, fc.nat(), characterArb, ({ id, text }, position, character) => {
        const others = nearAccountNumbers(text);
        expect(others).not.toContain(id);
        expect(others.filter((other) => !Number.isSafeInteger(other))).toEqual([]);
        const near = nearAccountNumbers(SLIPS.substitution?.(text, position % text.length, character) ?? '');
        expect(near.length).toBeLessThanOrEqual(80);
        expect(near).toEqual([...new Set(near)].sort((a, b) => a - b));
      }),
      RUNS,
    );
  });

  it.each(['', 'ACC', '12345', 'nobody', 'x'.repeat(300), '1'.repeat(23), '(0)07 12'])(
    'finds nothing near %s',
    (typed) => {
      expect(nearAccountNumbers(typed)).toEqual([]);
    },
  );
});
