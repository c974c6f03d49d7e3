import { describe, expect, it } from 'vitest';
import { isOtherKey, otherKeysOf } from './payment-to-post-rules.ts';

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
