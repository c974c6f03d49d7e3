import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import { obstacleOf, type PaymentToReconcile, resultOf } from './rules.ts';

const DAY = '2026-11-02' as PlainDate;
const payment: PaymentToReconcile = {
  id: 31,
  amount_minor: 500,
  payment_date: DAY,
  status: 'matched',
  reconciliation_id: null,
};

describe('a payment', () => {
  it.each<[string, Partial<PaymentToReconcile>, ReturnType<typeof obstacleOf>]>([
    ['of the day of the statement can be reconciled', {}, null],
    ['of an earlier day can be reconciled', { payment_date: '2026-10-31' as PlainDate }, null],
    ['without an account can be reconciled, because its money has arrived', { status: 'unmatched' }, null],
    ['of a later day cannot be reconciled', { payment_date: '2026-11-03' as PlainDate }, 'dated_later'],
    ['that was reversed cannot be reconciled', { status: 'reversed' }, 'reversed'],
    [
      'that was reversed is called reversed, also if it is of a later day',
      { status: 'reversed', payment_date: '2026-11-03' as PlainDate },
      'reversed',
    ],
  ])('%s', (_, fields, obstacle) => {
    const found = { ...payment, ...fields };
    expect(obstacleOf(found, DAY)).toBe(obstacle);
    expect(resultOf(found, DAY)).toBe(obstacle === null ? 'reconciled' : 'not_reconcilable');
  });

  it('is reconciled only once', () => {
    expect(resultOf({ ...payment, reconciliation_id: 4 }, DAY)).toBe('already_reconciled');
    expect(resultOf({ ...payment, reconciliation_id: 4, status: 'reversed' }, DAY)).toBe(
      'already_reconciled',
    );
  });

  it('must exist', () => {
    expect(resultOf(undefined, DAY)).toBe('not_found');
  });
});
