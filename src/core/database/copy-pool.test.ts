import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../values/dates.ts';
import { currencyLiteral, dateLiteral } from './copy-pool.ts';

describe('dateLiteral', () => {
  it('writes a calendar date as SQL', () => {
    expect(dateLiteral('2026-02-28' as PlainDate)).toBe("date '2026-02-28'");
  });

  it.each(["2026-02-28' or true --", '2026-02-29', '', "'", '2026-02-28\n', 'infinity'])(
    'refuses %j',
    (text) => {
      expect(() => dateLiteral(text as PlainDate)).toThrow(RangeError);
    },
  );
});

describe('currencyLiteral', () => {
  it('writes a currency code as SQL', () => {
    expect(currencyLiteral('KES')).toBe("'KES'");
  });

  it.each(["K'S", 'kes', 'KESS', 'KES\n', ''])('refuses %j', (code) => {
    expect(() => currencyLiteral(code)).toThrow(RangeError);
  });
});
