import { describe, expect, it } from 'vitest';
import {
  type Happened,
  type Recording,
  type Report,
  record,
  report,
} from '../../../test/support/decisions.ts';

// What the money of a payment does on account A, whose total is 1,000: 100 on 5 October, then 100 a week. Today is 2 November. The
// account has 7 days of grace.

type Money = Pick<Report & Recording, 'amount' | 'accounts' | 'earlierInBatch'>;
type Effect = Pick<Happened, 'ledger' | 'accountBecomes'>;

const CASES: [statement: string, money: Money, effect: Effect][] = [
  [
    'reduces what an active account owes',
    { amount: 400, accounts: { A: { status: 'active' } } },
    { ledger: { clearing: 400, receivable: -400 } },
  ],
  [
    'leaves an active account active that owes the rest',
    { amount: 599.99, accounts: { A: { status: 'active', paid: 400 } } },
    { ledger: { clearing: 599.99, receivable: -599.99 } },
  ],
  [
    'completes an active account that it pays in full',
    { amount: 600, accounts: { A: { status: 'active', paid: 400 } } },
    { ledger: { clearing: 600, receivable: -600 }, accountBecomes: 'completed' },
  ],
  [
    'becomes credit as far as it is beyond the total, and completes the account',
    { amount: 700, accounts: { A: { status: 'active', paid: 400 } } },
    {
      ledger: { clearing: 700, receivable: -600, customer_credit: -100 },
      accountBecomes: 'completed',
    },
  ],
  [
    'becomes credit on a completed account',
    { amount: 400, accounts: { A: { status: 'completed', paid: 1_000 } } },
    { ledger: { clearing: 400, customer_credit: -400 } },
  ],
  [
    'becomes credit on a cancelled account',
    { amount: 400, accounts: { A: { status: 'cancelled', paid: 200 } } },
    { ledger: { clearing: 400, customer_credit: -400 } },
  ],
  [
    'is a recovery on an account that was written off',
    { amount: 400, accounts: { A: { status: 'written_off', paid: 300, writtenOff: 700 } } },
    { ledger: { clearing: 400, recovery: -400 } },
  ],
  [
    'completes an account that was written off, and becomes credit beyond the loss',
    { amount: 900, accounts: { A: { status: 'written_off', paid: 300, writtenOff: 700 } } },
    {
      ledger: { clearing: 900, recovery: -700, customer_credit: -200 },
      accountBecomes: 'completed',
    },
  ],
  [
    'reduces what a pending account owes',
    { amount: 400, accounts: { A: { status: 'pending' } } },
    { ledger: { clearing: 400, receivable: -400 } },
  ],
  [
    'leaves a pending account pending that it pays in full, until the account is activated',
    { amount: 1_000, accounts: { A: { status: 'pending' } } },
    { ledger: { clearing: 1_000, receivable: -1_000 } },
  ],
  [
    'completes a suspended account that it pays in full',
    { amount: 1_000, accounts: { A: { status: 'suspended', suspendedBy: 'staff' } } },
    { ledger: { clearing: 1_000, receivable: -1_000 }, accountBecomes: 'completed' },
  ],
  [
    'reactivates an account that was suspended for late payment if it is within its days of grace again',
    { amount: 300, accounts: { A: { status: 'suspended', suspendedBy: 'the policy' } } },
    { ledger: { clearing: 300, receivable: -300 }, accountBecomes: 'active' },
  ],
  [
    'leaves an account suspended that is still beyond its days of grace',
    { amount: 299, accounts: { A: { status: 'suspended', suspendedBy: 'the policy' } } },
    { ledger: { clearing: 299, receivable: -299 } },
  ],
  [
    'leaves an account suspended that staff have suspended',
    { amount: 400, accounts: { A: { status: 'suspended', suspendedBy: 'staff' } } },
    { ledger: { clearing: 400, receivable: -400 } },
  ],
  [
    'completes a defaulted account that it pays in full',
    { amount: 1_000, accounts: { A: { status: 'defaulted' } } },
    { ledger: { clearing: 1_000, receivable: -1_000 }, accountBecomes: 'completed' },
  ],
  [
    'leaves a defaulted account defaulted that owes the rest',
    { amount: 999, accounts: { A: { status: 'defaulted' } } },
    { ledger: { clearing: 999, receivable: -999 } },
  ],
  [
    'leaves a repossessed account repossessed that it pays in full',
    { amount: 1_000, accounts: { A: { status: 'repossessed' } } },
    { ledger: { clearing: 1_000, receivable: -1_000 } },
  ],
  [
    'completes the account with the earlier payments of its batch',
    { amount: 400, accounts: { A: { paid: 200 } }, earlierInBatch: [100, 300] },
    { ledger: { clearing: 400, receivable: -400 }, accountBecomes: 'completed' },
  ],
  [
    'becomes credit if earlier payments of its batch have paid the rest',
    { amount: 400, accounts: { A: { paid: 200 } }, earlierInBatch: [500, 100] },
    {
      ledger: { clearing: 400, receivable: -200, customer_credit: -200 },
      accountBecomes: 'completed',
    },
  ],
];

describe.each<[what: string, decide: (money: Money) => Happened]>([
  ['a manual payment', (money) => record({ by: 'an agent', on: 'A', ...money })],
  ['a payment that a provider reports', (money) => report({ typed: 'the number of A', ...money })],
])('%s', (_what, decide) => {
  it.each(CASES)('%s', (_statement, money, effect) => {
    const { ledger, accountBecomes } = decide(money);
    expect({ ledger, accountBecomes }).toEqual(effect);
  });
});
