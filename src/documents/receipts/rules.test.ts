import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatReceiptNumber, readReceiptNumber, readWrittenReceiptNumber } from './rules.ts';

const id = fc.integer({ min: 1, max: 999_999_999_999 });

describe('the number of a receipt', () => {
  it('leads back to its payment, as people type it', () => {
    fc.assert(
      fc.property(id, (paymentId) => {
        const number = formatReceiptNumber(paymentId);
        expect(readReceiptNumber(number)).toBe(paymentId);
        expect(readReceiptNumber(` ${number.toLowerCase().replace('r', 'r ')} `)).toBe(paymentId);
        expect(readReceiptNumber(number.slice(1))).toBe(paymentId);
        expect(readWrittenReceiptNumber(number)).toBe(paymentId);
        expect(readWrittenReceiptNumber(number.slice(1))).toBeUndefined();
      }),
    );
  });

  it('is refused with any one wrong digit, and with two swapped neighbours', () => {
    fc.assert(
      fc.property(id, fc.nat(), fc.integer({ min: 1, max: 9 }), (paymentId, position, by) => {
        const digits = formatReceiptNumber(paymentId).slice(1);
        const at = position % digits.length;
        const wrong = digits.slice(0, at) + ((Number(digits[at]) + by) % 10) + digits.slice(at + 1);
        if (!wrong.startsWith('0')) expect(readReceiptNumber(`R${wrong}`)).toBe('wrong_digit');
        const swapped =
          digits.slice(0, at) + (digits[at + 1] ?? '') + (digits[at] ?? '') + digits.slice(at + 2);
        if (swapped !== digits && !swapped.startsWith('0'))
          expect(readReceiptNumber(`R${swapped}`)).toBe('wrong_digit');
      }),
    );
  });

  it.each(['', 'R', 'R1', 'ACC10000012', 'R0', 'R012', 'R1x2', '<b>R425</b>'])('is not %j', (text) => {
    expect(readReceiptNumber(text)).toBe('malformed');
  });

  it('is searched only as it is written, with R at the beginning, and with its check digit', () => {
    const number = formatReceiptNumber(42);
    expect(readWrittenReceiptNumber(` ${number.toLowerCase()}`)).toBe(42);
    for (const text of [`-${number}`, `#${number}`, 'R421', 'R', 'Rose'])
      expect(readWrittenReceiptNumber(text)).toBeUndefined();
    expect(number).not.toBe('R421');
  });

  it('is no part of a longer text', () => {
    for (const text of [`${formatReceiptNumber(42)}X`, `${formatReceiptNumber(42)} and more`])
      expect(readReceiptNumber(text)).toBe('malformed');
  });
});
