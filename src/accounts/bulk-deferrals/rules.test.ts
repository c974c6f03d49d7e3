import { describe, expect, it } from 'vitest';
import { invalid, notFound } from '../../core/http/errors.ts';
import {
  BULK_DEFERRAL_MOVES,
  BULK_DEFERRAL_STATUSES,
  checkMove,
  nextStatuses,
  problemOf,
  problemOfUndo,
} from './rules.ts';

const BOTH = { hasWaiting: true, hasDeferred: true };

describe('a bulk deferral', () => {
  it('can be started as a draft with accounts, and undone when it is done and has deferred some', () => {
    const none = { hasWaiting: false, hasDeferred: false };
    expect(nextStatuses('draft', { ...none, hasWaiting: true })).toEqual(['running', 'expired']);
    expect(nextStatuses('draft', { ...none, hasDeferred: true })).toEqual(['expired']);
    expect(nextStatuses('done', { ...none, hasDeferred: true })).toEqual(['undoing']);
    expect(nextStatuses('done', { ...none, hasWaiting: true })).toEqual([]);
  });

  it('can be discarded while it is previewed and as a draft, and stopped while it runs', () => {
    expect(nextStatuses('previewing', BOTH)).toEqual(['expired']);
    expect(nextStatuses('running', BOTH)).toEqual(['done']);
    for (const status of ['expired', 'undoing', 'undone', 'failed'] as const)
      expect(nextStatuses(status, BOTH)).toEqual([]);
  });

  it.each(BULK_DEFERRAL_STATUSES)('that is %s allows only its next work', (status) => {
    for (const work of BULK_DEFERRAL_MOVES) {
      const check = () => checkMove(status, work);
      if (nextStatuses(status, BOTH).includes(work)) expect(check).not.toThrow();
      else expect(check).toThrow(`A bulk deferral cannot go from ${status} to ${work}.`);
    }
  });
});

describe('the problem of an account', () => {
  it('says whether its plan or its payments have changed since the preview', () => {
    const changed = (...paths: string[]) =>
      problemOf(invalid(paths.map((path) => ({ path, message: 'was 1, and is now 2' }))));
    expect(changed('confirm.version')).toMatchObject({ code: 'plan_changed' });
    expect(changed('confirm.paid')).toMatchObject({ code: 'money_posted' });
    expect(changed('confirm.paid', 'confirm.version')).toMatchObject({ code: 'plan_changed' });
  });

  it('is otherwise the refusal of its change', () => {
    const refusal = invalid([
      { path: 'from', message: 'must not be after the last instalment' },
      { path: 'days', message: 'must be left out' },
    ]);
    expect(problemOf(refusal)).toEqual({
      code: 'not_possible',
      text: 'from must not be after the last instalment; days must be left out',
    });
    const missing = notFound('payplan', 7);
    expect(problemOf(missing)).toEqual({ code: 'not_possible', text: missing.message });
  });

  it('of an undo is a later change, or an earlier undo', () => {
    expect(problemOfUndo(5, [3, 5])).toBeUndefined();
    expect(problemOfUndo(5, [3, 5, 9])).toMatchObject({ code: 'later_change' });
    expect(problemOfUndo(5, [3])).toMatchObject({ code: 'already_undone' });
    expect(problemOfUndo(5, [])).toMatchObject({ code: 'already_undone' });
  });
});
