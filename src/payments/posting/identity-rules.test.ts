import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import { isOtherKey, isProbablySame, otherKeysOf } from './identity-rules.ts';

describe('the other ids of a payment in its report', () => {
  const keysOf = (fields: Record<string, string>) =>
    otherKeysOf({
      rawBody: JSON.stringify(fields),
      transId: 'SKB2XQ19ZT',
      billRef: 'ORDER-2026-17',
      payer: 'payer-254712345678',
    });

  it('are the ids of a bank or an aggregator', () => {
    expect(keysOf({ bank: 'ft26305abcde', note: 'Thanks' })).toEqual(['FT26305ABCDE']);
  });

  it('are not its own id, what the payer typed, or the payer', () => {
    expect(keysOf({ id: 'SKB2XQ19ZT', ref: 'order-2026-17', from: 'payer-254712345678' })).toEqual([]);
  });

  it('are no account numbers, which staff use for several payments', () => {
    expect(isOtherKey('FT26305ABCDE')).toBe(true);
    expect(isOtherKey('ACC10000012')).toBe(false);
    expect(isOtherKey('THANKS')).toBe(false);
    expect(keysOf({ account: 'ACC10000012', bank: 'FT26305ABCDE' })).toEqual(['FT26305ABCDE']);
  });
});

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
