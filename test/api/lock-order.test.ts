import { beforeAll, describe, expect, it } from 'vitest';
import { suspendLateAccounts } from '../../src/accounts/commands.ts';
import { newAccount, notify, pay, setToday, statementsOf, useService } from '../harness.ts';

/** Transactions that lock several rows lock them in one order, so that no two of them wait for each other. */
const service = useService();
beforeAll(() => setToday(service, '2026-03-02'));

const LOCKS = /\bfor (no key )?update\b/;
const LOCKS_ONE = /\bid"? = \$\d+(?!.*any\()/s;

/** The statements that lock rows of accounts or payments. */
async function lockingStatements(work: () => Promise<unknown>): Promise<string[]> {
  const texts = (await statementsOf(work)).map(({ text }) => text.replaceAll(/\s+/g, ' '));
  return texts.filter((text) => LOCKS.test(text) && /from "?(accounts|payments)\b/.test(text));
}

function expectOrdered(statements: string[]): void {
  const unordered = statements.filter((text) => !/order by (a\.)?"?id"?( limit \$\d+)? for /.test(text));
  expect(unordered.filter((text) => !LOCKS_ONE.test(text))).toEqual([]);
}

describe('a transaction that locks several rows', () => {
  it('locks both accounts of a credit transfer in one statement by ascending id', async () => {
    const [giver, receiver] = [await newAccount(service), await newAccount(service)];
    await pay(service, giver.id, giver.total + 100);
    const statements = await lockingStatements(async () => {
      const answer = await service.call('POST', `/accounts/${giver.id}/credit/transfer`, {
        toAccountId: receiver.id,
        amount: 100,
        reason: 'asked for it',
      });
      expect(answer.status, answer.text).toBe(201);
    });
    expect(statements.length).toBe(1);
    expectOrdered(statements);
  });

  it('locks the accounts and the manual payments of a conflict in one statement each by ascending id', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    await pay(service, one.id, 100, { transactionRef: 'CONFLICT1', paymentMethodId: 1 });
    await pay(service, other.id, 100, { transactionRef: 'CONFLICT1', paymentMethodId: 2 });
    const told = await notify(service, { TransID: 'CONFLICT1', TransAmount: '100.00' });
    expect(told.body.data.outcome).toBe('conflict');
    const list = await service.call('GET', '/notifications?filter[outcome]=conflict');
    const statements = await lockingStatements(async () => {
      const { id } = list.body.data[0];
      const body = { paymentId: null, reason: 'neither is right' };
      const answer = await service.call('POST', `/notifications/${id}/resolve`, body);
      expect(answer.status, answer.text).toBe(200);
    });
    expect(
      statements.filter((text) => /from payments/.test(text) && !text.includes('skip locked')),
    ).toHaveLength(1);
    expectOrdered(statements);
  });

  it('locks the accounts that it suspends by ascending id', async () => {
    const statements = await lockingStatements(() =>
      suspendLateAccounts(service.context, new AbortController().signal),
    );
    expect(statements).toHaveLength(1);
    expectOrdered(statements);
  });
});
