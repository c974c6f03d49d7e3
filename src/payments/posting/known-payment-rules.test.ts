import { describe, expect, it } from 'vitest';
import { changeableByRecording, changeableByReport, type Report } from '../../../test/support/decisions.ts';
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
