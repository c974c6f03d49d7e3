import { describe, expect, it } from 'vitest';
import { STATUS_MODEL, STATUSES, statusesWhere } from '../../../test/support/status-model.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import { AppError } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import {
  ACCOUNT_STATUSES,
  checkStatusMove,
  closedBeforeActivation,
  eventOfMove,
  isStatusIn,
  isToComplete,
  moneyEventOf,
  movesByHand,
  movesFrom,
  needsReason,
  statusesIn,
  statusOn,
} from './rules.ts';

function refusal(from: AccountStatus, to: AccountStatus, reason?: string): AppError | undefined {
  try {
    checkStatusMove(from, to, reason);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

describe('a change of status', () => {
  it.each(STATUSES)('from %s is refused with the allowed statuses, unless it is one of them', (from) => {
    const allowed = [...STATUS_MODEL[from].moves];
    expect(STATUSES.filter((to) => !refusal(from, to, 'a reason')).sort()).toEqual(allowed.sort());
    for (const to of STATUSES.filter((one) => !allowed.includes(one))) {
      const error = refusal(from, to, 'a reason');
      expect(error).toMatchObject({ code: 'VALIDATION_ERROR', details: { from, to } });
      expect(new Set(error?.details.allowed as string[])).toEqual(new Set(allowed));
    }
  });

  it('needs a reason exactly for the statuses of the model', () => {
    for (const from of STATUSES)
      for (const to of STATUS_MODEL[from].moves) {
        const error = refusal(from, to);
        expect(error === undefined, `${from} to ${to}`).toBe(!STATUS_MODEL[to].needsReason);
        if (error) expect(error.details).toMatchObject({ fields: [{ path: 'reason' }] });
      }
    expect(STATUSES.filter(needsReason)).toEqual(statusesWhere((model) => model.needsReason));
  });

  it.each<[AccountStatus, AccountStatus, string]>([
    ['pending', 'active', 'account.activated'],
    ['suspended', 'active', 'account.reactivated'],
    ['repossessed', 'active', 'account.reactivated'],
    ['completed', 'active', 'account.reopened'],
    ['completed', 'written_off', 'account.reopened'],
    ['active', 'suspended', 'account.suspended'],
    ['suspended', 'written_off', 'account.written_off'],
    ['active', 'completed', 'account.completed'],
  ])('has an event that says what happened: from %s to %s, %s', (from, to, type) => {
    expect(eventOfMove(from, to)).toBe(type);
  });

  it('back to pending has no event, and fails', () => {
    expect(() => eventOfMove('active', 'pending')).toThrow('An account changed from active to pending.');
  });
});

describe('the sets of statuses', () => {
  it('agree with the model', () => {
    expect(ACCOUNT_STATUSES).toEqual(STATUSES);
    expect(statusesIn('open')).toEqual(statusesWhere(({ isOpen }) => isOpen));
    expect(statusesIn('closed')).toEqual(statusesWhere(({ ends }) => ends !== null));
    expect(statusesIn('saleUndone')).toEqual(statusesWhere(({ ends }) => ends === 'undone'));
    expect(statusesIn('unsold')).toEqual(statusesWhere(({ isSold }) => !isSold));
    expect(statusesIn('receivable')).toEqual(statusesWhere(({ isReceivable }) => isReceivable));
    expect(statusesIn('suspendedWhenLate')).toEqual(
      statusesWhere(({ isSuspendedWhenLate }) => isSuspendedWhenLate),
    );
    expect(statusesIn('completesWhenPaid')).toEqual(
      statusesWhere(({ completesWhenPaid }) => completesWhenPaid),
    );
    expect(statusesIn('awaitingActivation')).toEqual(['pending']);
    expect(isStatusIn('active', 'awaitingActivation')).toBe(false);
  });

  it('have one closed status that an account can get before its activation', () => {
    expect(closedBeforeActivation()).toEqual(['cancelled']);
  });

  it('have a money event for each status that ends the sale', () => {
    expect(STATUSES.map((status) => [status, moneyEventOf(status)]).filter(([, posts]) => posts)).toEqual([
      ['written_off', 'account_written_off'],
      ['cancelled', 'account_cancelled'],
    ]);
  });
});

describe('the status on a day', () => {
  const START = '2026-11-02' as PlainDate;

  it.each<[AccountStatus, string, AccountStatus]>([
    ['pending', '2026-11-01', 'pending'],
    ['pending', '2026-11-02', 'active'],
    ['pending', '2026-11-03', 'active'],
    ['suspended', '2026-11-03', 'suspended'],
    ['cancelled', '2026-11-03', 'cancelled'],
  ])(
    'counts a pending account as active from its activation date: %s on %s is %s',
    (status, day, expected) => {
      expect(statusOn(status, START, day as PlainDate)).toBe(expected);
    },
  );
});

describe('an account', () => {
  it.each(STATUSES)('is completed when the total is paid, if its status allows this: %s', (status) => {
    const { completesWhenPaid } = STATUS_MODEL[status];
    expect(isToComplete(status, 999n, 1000n)).toBe(false);
    expect(isToComplete(status, 1000n, 1000n)).toBe(completesWhenPaid);
    expect(isToComplete(status, 1001n, 1000n)).toBe(completesWhenPaid);
  });
});

describe('the changes that the console offers', () => {
  it('are those of staff, without the activation, which the service makes on its day', () => {
    expect(movesFrom('pending')).toContain('active');
    expect(movesByHand('pending')).toEqual(movesFrom('pending').filter((to) => to !== 'active'));
    for (const status of STATUSES.filter((one) => one !== 'pending'))
      expect(movesByHand(status)).toEqual(movesFrom(status));
  });
});
