import { describe, expect, it } from 'vitest';
import { changeableByRecording, changeableByReport, type Report } from '../../../test/support/decisions.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { isOtherKey, isProbablySame, missedInBatch, otherKeysOf } from './rules.ts';

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

describe('the stored payments that a payment can change', () => {
  const payments: Report['payments'] = [
    { id: 1 },
    { id: 2, isReversed: true },
    { id: 3, kind: 'reported', on: null },
    { id: 4, kind: 'reported' },
    { id: 5, kind: 'reported', isReversed: true },
    { id: 6, isSimilar: true },
  ];

  it('are for a manual payment the reversed ones, whose transaction it can take over', () => {
    expect(changeableByRecording({ payments })).toEqual([2, 5]);
  });

  it('are for a notification without a match the manual ones, to which it can be linked', () => {
    expect(changeableByReport({ payments, typed: 'words that name nobody' })).toEqual([1, 6]);
  });

  it('are for a notification with a match also unmatched payments that nobody has changed', () => {
    expect(changeableByReport({ payments })).toEqual([1, 3, 6]);
  });
});
