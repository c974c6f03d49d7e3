import { describe, expect, it } from 'vitest';
import { withoutQuotes } from './quoted-text.ts';
import { referenceKey } from './reference.ts';

describe('withoutQuotes', () => {
  it.each([
    ["'QAA0000001", 'QAA0000001'],
    ["''QAA0000001", 'QAA0000001'],
    ['’QAA0000001', 'QAA0000001'],
    ['‘QAA0000001’', 'QAA0000001'],
    ['`QAA0000001', 'QAA0000001'],
    ['\t0712345678', '0712345678'],
    ['="QAA0000001"', 'QAA0000001'],
    ['=“QAA0000001”', 'QAA0000001'],
    ['\'="QAA0000001"', 'QAA0000001'],
    ['"QAA0000001"', 'QAA0000001'],
    ['"""QAA0000001"""', 'QAA0000001'],
    [' " 1,500.00 " ', '1,500.00'],
    ["O'Brien", "O'Brien"],
    ['=QAA0000001', '=QAA0000001'],
    ["'", "'"],
    ['""', '""'],
    ['', ''],
  ])('reads %j as %j', (text, plain) => {
    expect(withoutQuotes(text)).toBe(plain);
  });

  it('ends quickly for a long text of quotes', () => {
    expect(withoutQuotes(`'"=`.repeat(5_000))).toBeTypeOf('string');
  });
});

describe('referenceKey', () => {
  it.each(["'qaa0000001", '＇QAA 0000001', '="qaa0000001"', '\tQAA0000001', '„QAA0000001“'])(
    'reads %j as QAA0000001',
    (text) => {
      expect(referenceKey(text)).toBe('QAA0000001');
    },
  );
});
