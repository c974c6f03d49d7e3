import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import { isProbablySame } from './known-payment-rules.ts';

describe('two payments with similar references', () => {
  const one = { amountMinor: 40_000n, paymentDate: '2026-11-02' as PlainDate };
  const isSame = (amount_minor: number, date: string) =>
    isProbablySame(one, { amount_minor, payment_date: date as PlainDate });

  it('are probably one payment if they have the same amount within three days', () => {
    for (const date of ['2026-10-30', '2026-11-02', '2026-11-05']) expect(isSame(40_000, date)).toBe(true);
    for (const date of ['2026-10-29', '2026-11-06']) expect(isSame(40_000, date)).toBe(false);
    expect(isSame(40_001, '2026-11-02')).toBe(false);
  });
});
