import { describe, expect, it } from 'vitest';
import { accountRow } from '../../test/support/account-row.ts';
import { type AccountRow, booksOf } from '../accounts/ledger/rules.ts';
import { amountToApprove, providerActor, refusedMove } from './rules.ts';

describe('a refused change of a payment', () => {
  it.each([
    ['matched', ['unmatched', 'reversed']],
    ['unmatched', ['matched', 'reversed']],
    ['reversed', []],
  ] as const)('names the statuses to which a payment can change: %s to %j', (status, allowed) => {
    expect(refusedMove({ status }, status)).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { from: status, to: status, allowed },
    });
  });
});

describe('the amount to approve', () => {
  const payment = { amount_minor: 1000 };
  // 600 of 3,600 are unpaid.
  const owing = { paid_minor: 3000, receivable_minor: 600 };
  const lost: Partial<AccountRow> = {
    status: 'written_off',
    paid_minor: 3000,
    receivable_minor: 0,
    written_off_minor: 600,
  };
  const cancelled: Partial<AccountRow> = { status: 'cancelled', paid_minor: 3000, credit_minor: 3000 };

  it.each<[string, Partial<AccountRow> | undefined, bigint, bigint]>([
    ['the amount of a payment without an account', undefined, 0n, 1000n],
    ['the amount of a payment, if its account is open', owing, 500n, 1000n],
    ['the sum that is unpaid afterwards, if the account is written off', lost, 0n, 1600n],
    ['the sum that is unpaid afterwards, if the account is cancelled', cancelled, 0n, 1600n],
    ['the sum that is unpaid after all payments that are taken together', lost, 500n, 2100n],
    [
      'the amount of the payment, if less is unpaid afterwards',
      { ...lost, paid_minor: 4000, credit_minor: 400 },
      0n,
      1000n,
    ],
  ])('is %s', (_, fields, othersMinor, amount) => {
    const account = fields && accountRow(fields);
    expect(amountToApprove(payment, account, othersMinor)).toBe(amount);
  });

  it('counts no other payments unless they are given', () => {
    const account = accountRow(lost);
    const { totalMinor, paidMinor } = booksOf(account);
    expect(amountToApprove(payment, account)).toBe(totalMinor - paidMinor + 1000n);
  });
});

describe('the actor of the changes that a provider causes', () => {
  it('is the system, with the name of the provider', () => {
    expect(providerActor('mobilemoney')).toEqual({
      userId: null,
      name: 'provider mobilemoney',
      role: 'system',
      employeeId: null,
      requestId: null,
    });
  });
});
