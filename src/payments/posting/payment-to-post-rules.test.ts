import { describe, expect, it } from 'vitest';
import { isOtherKey, missedInBatch, otherKeysOf } from './payment-to-post-rules.ts';

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

describe('the payments of a batch', () => {
  /** The name for which each item of the batch has to wait. */
  const missed = (...items: [locks: string[], sharedLocks?: string[]][]) => {
    const batch = items.map(([locks, sharedLocks = []]) => ({ locks, sharedLocks }));
    const waiting = missedInBatch(batch);
    return batch.map((item) => (waiting.has(item) ? waiting.get(item) : 'is posted'));
  };

  it('are posted together if they have no name in common', () => {
    expect(missed([['A']], [['B', 'C']], [[]], [[]])).toEqual([
      'is posted',
      'is posted',
      'is posted',
      'is posted',
    ]);
  });

  it('wait for an earlier one that has one of their names', () => {
    expect(missed([['A', 'B']], [['C', 'B']], [['C']])).toEqual(['is posted', 'B', 'C']);
  });

  it('wait if their own name is an id that an earlier one contains, or the other way round', () => {
    expect(missed([['A'], ['B']], [['B']])).toEqual(['is posted', 'B']);
    expect(missed([['B']], [['A'], ['B']])).toEqual(['is posted', 'B']);
  });

  it('do not wait for each other if they only contain the same word', () => {
    expect(missed([['A'], ['WORD']], [['B'], ['WORD']])).toEqual(['is posted', 'is posted']);
  });
});
