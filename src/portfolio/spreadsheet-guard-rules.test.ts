import fc from 'fast-check';
import { expect, test } from 'vitest';
import { guarded, unguarded } from './spreadsheet-guard-rules.ts';

const risky = fc.string({
  unit: fc.constantFrom(...'=\'+-@,;|\t\n\r " 019a:/.EmayéÉ \u00a0\uff1d'.split('')),
  maxLength: 24,
});

const words = fc
  .array(
    fc.constantFrom(
      "'",
      ' ',
      '-',
      '/',
      '1',
      '12',
      '2026',
      'MAR',
      'fév',
      'mei',
      'E',
      'e+',
      'am',
      'true',
      'x',
      '\n',
    ),
  )
  .map((parts) => parts.join(''));

test('unguarded restores every guarded text', () => {
  fc.assert(
    fc.property(fc.oneof(risky, words, fc.string({ unit: 'grapheme' })), (text) => {
      expect(unguarded(guarded(text, 2), 2)).toBe(text);
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
  expect(guarded(text, 2)).toBe(expected);
});

test.each([
  ...[
    '12E45',
    '1e5',
    '1.50',
    '1,234',
    '1.234.567',
    '254712345678',
    '0712 345 678',
    '50%',
    '$5',
    '5-12',
    '3/4',
    '3/4/26',
  ],
  ...[
    '2026-01-05',
    '10:30',
    '10:30 AM',
    '3 p',
    'MAR1',
    'mar-1',
    '1 March 2026',
    'Dec-26',
    'May 5, 2026',
    'Sept. 5',
    '5 août',
  ],
  ...['1 Fév', 'mei 3', '31 Des 2026', 'TRUE', 'false', ' 007 ', "'5-12"],
])('guards %j, which a spreadsheet converts to a number, a date, a time or a truth value', (text) => {
  expect(guarded(text, 2)).toBe(`'${text}`);
  expect(unguarded(`'${text}`, 2)).toBe(text);
});

test('keeps an apostrophe of version 1 before a text that only version 2 guards', () => {
  expect(unguarded("'12E45", 1)).toBe("'12E45");
  expect(unguarded("'00123", 1)).toBe('00123');
});

test('reads long texts without backtracking', () => {
  for (const part of ["'", ' ', '1', '1 ', 'a1', "1'", '.', '1e', 'mar'])
    expect(unguarded(`${part.repeat(500_000)}!`, 2)).toHaveLength(part.length * 500_000 + 1);
});

test.each([
  'Wanjiru',
  "O'Neil",
  "'quoted'",
  'a, b',
  '123',
  '12345678901',
  'LOAN-2001',
  'SHS-80',
  'QAA1',
  'May',
  'Plan A',
  'mario',
])('leaves %j unchanged in both directions', (text) => {
  expect(guarded(text, 2)).toBe(text);
  expect(unguarded(text, 2)).toBe(text);
});
