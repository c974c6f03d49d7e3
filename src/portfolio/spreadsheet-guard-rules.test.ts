import fc from 'fast-check';
import { expect, test } from 'vitest';
import { guarded, unguarded } from './spreadsheet-guard-rules.ts';

const risky = fc.string({
  unit: fc.constantFrom(...'=\'+-@,;|\t\n\r " 019a \u00a0\uff1d'.split('')),
  maxLength: 24,
});

test('unguarded restores every guarded text', () => {
  fc.assert(
    fc.property(fc.oneof(risky, fc.string({ unit: 'grapheme' })), (text) => {
      expect(unguarded(guarded(text))).toBe(text);
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  ['=1+1', "'=1+1"],
  ['+254712345678', "'+254712345678"],
  ['  -5', "'  -5"],
  ['00123', "'00123"],
  ['1234567890123456', "'1234567890123456"],
  ["'=1", "''=1"],
  ['a,=1', "a,'=1"],
  ['a\n=1', "a\n'=1"],
])('guards %j as %j', (text, expected) => {
  expect(guarded(text)).toBe(expected);
});

test.each(['Wanjiru', "O'Neil", "'quoted'", 'a, b', '123', 'LOAN-2001', '2026-01-05'])(
  'leaves %j unchanged in both directions',
  (text) => {
    expect(guarded(text)).toBe(text);
    expect(unguarded(text)).toBe(text);
  },
);
