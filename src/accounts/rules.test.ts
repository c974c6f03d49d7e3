import { describe, expect, it } from 'vitest';
import type { AccountStatus } from '../core/database/tables.ts';
import { AppError } from '../core/http/errors.ts';
import { checkMove, isToComplete } from './rules.ts';
import { ACCOUNT_STATUSES } from './schema.ts';

/** The moves that staff may make, written out once more: the rules are held against this. */
const LEGAL: Record<AccountStatus, AccountStatus[]> = {
  pending: ['active', 'suspended', 'cancelled'],
  active: ['suspended', 'defaulted', 'cancelled'],
  suspended: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
  defaulted: ['active', 'repossessed', 'written_off'],
  repossessed: ['active', 'written_off'],
  completed: [],
  written_off: [],
  cancelled: [],
};
const NEED_REASON: AccountStatus[] = ['defaulted', 'repossessed', 'written_off', 'cancelled'];
const pairs = ACCOUNT_STATUSES.flatMap((from) => ACCOUNT_STATUSES.map((to) => ({ from, to })));

function refusal(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

describe('checkMove', () => {
  it.each(pairs.filter(({ from, to }) => LEGAL[from].includes(to)))(
    'lets an account go from $from to $to',
    (move) => {
      expect(() => checkMove(move.from, move.to, 'a reason')).not.toThrow();
    },
  );

  it.each(pairs.filter(({ from, to }) => !LEGAL[from].includes(to)))(
    'refuses to let an account go from $from to $to, and says where it may go',
    ({ from, to }) => {
      const error = refusal(() => checkMove(from, to, 'a reason'));
      expect(error).toMatchObject({ code: 'VALIDATION_ERROR', details: { from, to, allowed: LEGAL[from] } });
    },
  );

  it.each(pairs.filter(({ from, to }) => LEGAL[from].includes(to)))(
    'asks for a reason from $from to $to only where the move is a loss',
    ({ from, to }) => {
      const move = () => checkMove(from, to, undefined);
      if (!NEED_REASON.includes(to)) return expect(move).not.toThrow();
      expect(refusal(move).details).toEqual({
        fields: [{ path: 'reason', message: `is required for ${to}` }],
      });
    },
  );
});

describe('isToComplete', () => {
  it.each(ACCOUNT_STATUSES)('says whether a fully paid account that is %s completes', (status) => {
    const completes = ['active', 'suspended', 'defaulted', 'written_off'].includes(status);
    expect(isToComplete(status, 100n, 100n)).toBe(completes);
    expect(isToComplete(status, 101n, 100n)).toBe(completes);
    expect(isToComplete(status, 99n, 100n)).toBe(false);
  });
});
