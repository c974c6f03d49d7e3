import { expect } from 'vitest';
import { accountNow, dataOf, newAccount, type TestService } from './harness.ts';

export interface StatementRow {
  date: string;
  type: string;
  amount: number;
  due: number;
  charged: number;
  paid: number;
  dueSoFar: number;
  owedInTotal: number;
  item: number | null;
  paymentId: number | null;
  creditMoveId: number | null;
  description: string;
  ledgerEventId: number | null;
  covers: { item: number; paymentId: number; amount: number }[];
}

export async function statementOf(service: TestService, id: number, query: Record<string, string> = {}) {
  const answer = await service.call('GET', `/accounts/${id}/statement?${new URLSearchParams(query)}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as {
    period: { from: string; to: string };
    opening: { dueSoFar: number; owedInTotal: number };
    rows: StatementRow[];
    totals: { due: number; charged: number; paid: number };
    closing: Record<string, number | string | null>;
  };
}

export const cents = (amount: number | string | null | undefined) => Math.round(Number(amount) * 100);

/** Asserts that the statement of today adds up and closes with the figures of the account. */
export async function expectToAgree(service: TestService, id: number) {
  const statement = await statementOf(service, id);
  const { opening, closing, totals, rows } = statement;
  const account = await accountNow(service, id);
  const shown = [
    'balance',
    'credit',
    'arrears',
    'paymentState',
    'daysPastDue',
    'paidUntil',
    'nextDueDate',
    'nextDueAmount',
  ];
  for (const name of shown) expect(closing[name], name).toBe(account[name]);
  const sum = (name: 'due' | 'charged' | 'paid') => rows.reduce((total, row) => total + cents(row[name]), 0);
  expect(cents(opening.dueSoFar) + sum('due') - sum('paid')).toBe(cents(closing.dueSoFar));
  expect(cents(opening.owedInTotal) + sum('charged') - sum('paid')).toBe(cents(closing.owedInTotal));
  expect([sum('due'), sum('charged'), sum('paid')]).toEqual(
    [totals.due, totals.charged, totals.paid].map(cents),
  );
  expect(opening).toEqual({ dueSoFar: 0, owedInTotal: 0 });
  return statement;
}

/** Sells with a daily plan. @returns the account. */
export async function sellDaily(service: TestService, activationDate: string, instalmentCount: number) {
  const terms = { deposit: 1_500, instalmentAmount: 60, instalmentCount, frequency: 'daily' };
  const plan = await dataOf(
    service.call('POST', '/payplans', {
      name: `Daily from ${activationDate}, ${instalmentCount}`,
      ...terms,
    }),
    201,
  );
  return newAccount(service, { payplanId: plan.id, activationDate });
}

/** Records payments in cash. */
export async function payInBulk(
  service: TestService,
  accountId: number,
  count: number,
  paymentOf: (at: number) => { amount: number; paymentDate: string },
): Promise<void> {
  const payments = Array.from({ length: count }, (_, at) => ({
    ...paymentOf(at),
    ...{ accountId, paymentMethodId: 2, transactionRef: `B${accountId}-${at}` },
  }));
  for (let at = 0; at < count; at += 100) {
    const items = payments.slice(at, at + 100);
    const answer = await service.call('POST', '/payments/bulk', { items });
    expect(answer.status, answer.text.slice(0, 500)).toBe(200);
    expect(answer.body.data.failed ?? 0, answer.text.slice(0, 500)).toBe(0);
  }
}
