import { describe, expect, it } from 'vitest';
import { balanceOf } from '../ledger/rules.ts';
import { ACCOUNT_STATUSES, isStatusIn } from './status-rules.ts';

describe('the set saleUndone', () => {
  it.each(ACCOUNT_STATUSES)('agrees with the balance that the ledger gives a %s account', (status) => {
    const owed = isStatusIn(status, 'saleUndone') ? 0n : 100n;
    expect(balanceOf({ status, totalMinor: 100n, paidMinor: 0n })).toBe(owed);
  });
});
