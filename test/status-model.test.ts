import { describe, expect, it } from 'vitest';
import { checkStatusMove, isStatusIn, moneyEventOf, needsReason } from '../src/accounts/status/rules.ts';
import type { AccountStatus } from '../src/core/database/tables.ts';
import { STATUS_MODEL, STATUSES } from './support/status-model.ts';

function isAllowed(from: AccountStatus, to: AccountStatus): boolean {
  try {
    checkStatusMove(from, to, 'a reason');
    return true;
  } catch {
    return false;
  }
}

describe.each(STATUSES)('the status %s', (status) => {
  const model = STATUS_MODEL[status];

  it('has the row of the model in the status table', () => {
    const isUndone = isStatusIn(status, 'saleUndone');
    const isClosed = isStatusIn(status, 'closed');
    expect(model).toMatchObject({
      moves: STATUSES.filter((to) => isAllowed(status, to)),
      needsReason: needsReason(status),
      isOpen: isStatusIn(status, 'open'),
      isReceivable: isStatusIn(status, 'receivable'),
      completesWhenPaid: isStatusIn(status, 'completesWhenPaid'),
      isSuspendedWhenLate: isStatusIn(status, 'suspendedWhenLate'),
      ends: isUndone ? 'undone' : isClosed ? 'lost' : null,
      isSold: !isStatusIn(status, 'unsold'),
      changesPlan: isStatusIn(status, 'changesPlan'),
      isCalled: isStatusIn(status, 'called'),
      voidsPromises: isStatusIn(status, 'voidsPromises'),
      isReactivatedWhenPaid: isStatusIn(status, 'reactivatedWhenPaid'),
      isPaidInFull: isStatusIn(status, 'paidInFull'),
      refusesPaymentsWithoutBalance: isStatusIn(status, 'refusesPaymentsWithoutBalance'),
    });
    expect(isUndone).toBe(moneyEventOf(status) === 'account_cancelled');
    expect(isClosed).toBe(moneyEventOf(status) !== undefined);
  });
});
