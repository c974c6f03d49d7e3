import { describe, expect, it } from 'vitest';
import { changeableByRecording, changeableByReport, type Report } from '../../../test/support/decisions.ts';
import { missedInBatch } from './rules.ts';

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
