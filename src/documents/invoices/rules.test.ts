import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxAmountMinor } from '../../core/values/money.ts';
import {
  INVOICE_STATUSES,
  illegalInvoiceMove,
  invoiceTotal,
  lineOf,
  printedQuantity,
  readQuantity,
  statusesBefore,
} from './rules.ts';

describe('lineOf', () => {
  it('rounds half up', () => {
    const total = (milli: bigint, price: bigint) => lineOf('', milli, price).lineTotalMinor;
    expect(total(500n, 1n)).toBe(1n); // half a cent
    expect(total(499n, 1n)).toBe(0n);
    expect(total(1_500n, 333n)).toBe(500n); // 499.5
    expect(total(3_000n, 33_333n)).toBe(99_999n);
    expect(total(1n, 0n)).toBe(0n);
  });

  it('stays within half a minor unit of the exact product', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 12n), fc.bigInt(0n, 10n ** 14n), (milli, price) => {
        const twiceError = 2n * (lineOf('', milli, price).lineTotalMinor * 1_000n - milli * price);
        return twiceError > -1_000n && twiceError <= 1_000n;
      }),
    );
  });
});

describe('readQuantity and printedQuantity', () => {
  it('read a number by its shortest decimal text', () => {
    expect(readQuantity(0.001)).toBe(1n);
    expect(readQuantity(1.1)).toBe(1_100n);
    expect(readQuantity(999_999_998.999)).toBe(999_999_998_999n);
    expect(() => readQuantity(0.1 + 0.2)).toThrow(RangeError);
    expect(() => readQuantity(1e-7)).toThrow(RangeError);
  });

  it('print what was read, without trailing zeros', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 999_999_999_000n), (milli) => {
        const text = printedQuantity(milli);
        return readQuantity(Number(text.replaceAll(',', ''))) === milli && !/\.\d*0$/.test(text);
      }),
    );
    expect(printedQuantity(1_000n)).toBe('1');
    expect(printedQuantity(10_000n)).toBe('10');
    expect(printedQuantity(1_234_567_250n)).toBe('1,234,567.25');
  });
});

describe('invoiceTotal', () => {
  it('adds the lines up to the largest amount of an invoice', () => {
    const lines = [lineOf('a', 1_000n, maxAmountMinor(2) - 1n), lineOf('b', 1_000n, 1n)];
    expect(invoiceTotal(lines, 2)).toBe(maxAmountMinor(2));
    expect(invoiceTotal([...lines, lineOf('c', 500n, 1n)], 2)).toBeUndefined();
  });
});

describe('the status of an invoice', () => {
  it('changes only from issued to void', () => {
    expect(INVOICE_STATUSES.map((to) => [to, statusesBefore(to)])).toEqual([
      ['issued', []],
      ['void', ['issued']],
    ]);
  });

  it('is named with the statuses that can follow, if a change is refused', () => {
    expect(illegalInvoiceMove('void', 'issued')).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { from: 'void', to: 'issued', allowed: [] },
    });
    expect(illegalInvoiceMove('issued', 'issued')).toMatchObject({ details: { allowed: ['void'] } });
  });
});
