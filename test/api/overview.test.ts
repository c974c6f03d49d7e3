import { describe, expect, it } from 'vitest';
import {
  dataOf,
  move,
  newAccount,
  newAccountThatIs,
  newApiKey,
  pay,
  setToday,
  useService,
} from '../support/harness.ts';
import { STATUS_MODEL, STATUSES } from '../support/status-model.ts';

describe('the overview of an account', () => {
  const service = useService();

  it('has the same account, schedule, quote and latest rows as their own calls', async () => {
    setToday(service, '2026-11-18');
    const { id } = await newAccount(service, { activationDate: '2026-10-01' });
    for (let day = 1; day <= 12; day += 1)
      await pay(service, id, 100 + day, { paymentDate: `2026-11-${String(day).padStart(2, '0')}` });
    await pay(service, id, 1_300, { paymentDate: '2026-11-18' });
    const wrong = await pay(service, id, 500, { paymentDate: '2026-11-17' });
    await dataOf(service.call('POST', `/payments/${wrong.id}/reverse`, { reason: 'another account' }));
    for (const status of ['suspended', 'active', 'suspended']) await move(service, id, status);
    const items = [{ description: 'Cable', quantity: 1, unitPrice: 50 }];
    await dataOf(service.call('POST', '/invoices', { accountId: id, items }), 201);

    const read = (path: string) => dataOf(service.call('GET', path));
    const overview = await read(`/accounts/${id}/overview`);
    expect(overview).toEqual({
      account: await read(`/accounts/${id}?expand=customer,product`),
      expectsPayments: true,
      moves: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'].map((status) => ({
        status,
        givesUp: ['written_off', 'cancelled'].includes(status) ? overview.account.balance : 0,
      })),
      schedule: await read(`/accounts/${id}/schedule`),
      quote: await read(`/accounts/${id}/quote`),
      sentence: overview.quote.explanation.sentence,
      coverage: { rows: await latestCoverage(id, 3), total: 14 },
      payments: {
        rows: await read(`/accounts/${id}/payments?sort=paymentDate:desc,id:desc&limit=10&expand=people`),
        total: 14,
      },
      invoices: { rows: await read(`/invoices?filter[accountId]=${id}`), total: 1 },
      paymentRequests: { rows: [], total: 0 },
    });
    expect(overview.payments.rows[0]).toMatchObject({ amount: 1_300, paymentDate: '2026-11-18' });
    expect(overview.coverage.rows.slice(0, 2)).toMatchObject([
      {
        ...{ date: '2026-11-18', amount: 1_300, paid: 1_300, credit: 0, reversedOn: null },
        coverRuns: [
          { firstItem: 0, lastItem: 0, amount: 722, isWhole: false },
          { firstItem: 1, lastItem: 1, firstDueDate: '2026-10-08', amount: 400, isWhole: true },
          { firstItem: 2, lastItem: 2, amount: 178, isWhole: false },
        ],
      },
      { date: '2026-11-17', amount: 500, paid: 0, coverRuns: [], credit: 0, reversedOn: '2026-11-18' },
    ]);
    const runsOf = (runs: Record<string, unknown>[]) =>
      runs.map((run) => [run.firstItem, run.lastItem, run.paid, run.amount, run.state]);
    expect(runsOf(overview.schedule.runs)).toEqual([
      [0, 0, 2_000, 2_000, 'paid'],
      [1, 1, 400, 400, 'paid'],
      [2, 2, 178, 400, 'overdue'],
      [3, 6, 0, 1_600, 'overdue'],
      [7, 52, 0, 18_400, 'upcoming'],
    ]);
  });

  /** The newest payments of the statement, with the fields of a coverage. */
  async function latestCoverage(id: number, count: number) {
    const { rows } = await dataOf(service.call('GET', `/accounts/${id}/statement`));
    return rows
      .filter(({ type }: { type: string }) => type === 'payment')
      .reverse()
      .slice(0, count)
      .map((row: Record<string, unknown>) => ({
        ...{ date: row.date, type: row.type, amount: row.amount, paid: row.paid },
        ...{ coverRuns: row.coverRuns, credit: row.credit, paymentId: row.paymentId },
        ...{ creditMoveId: row.creditMoveId, paymentMethod: row.paymentMethod },
        ...{ transactionRef: row.transactionRef, reversedOn: row.reversedOn },
      }));
  }

  it.each(STATUSES)(
    'offers the moves of the status %s, and the balance is given up where the sale ends',
    async (status) => {
      const { id, balance } = await newAccountThatIs(service, status);
      const { moves } = await dataOf(service.call('GET', `/accounts/${id}/overview`));
      const expected = STATUS_MODEL[status].moves.filter((to) => !(status === 'pending' && to === 'active'));
      expect(moves).toEqual(
        expected.map((to) => ({ status: to, givesUp: STATUS_MODEL[to].ends === null ? 0 : balance })),
      );
    },
  );

  it('leaves out what the payments cover if there are thousands of them', async () => {
    const { id } = await newAccount(service);
    const record = async (count: number) => {
      const items = Array.from({ length: count }, () => ({ accountId: id, amount: 1, paymentMethodId: 2 }));
      await dataOf(service.call('POST', '/payments/bulk', { items }));
    };
    await record(1_000);
    await record(1_000);
    const read = () => dataOf(service.call('GET', `/accounts/${id}/overview`));
    expect((await read()).coverage.total).toBe(2_000);
    await record(1);
    expect(await read()).toMatchObject({ coverage: null, payments: { total: 2_001 } });
  });

  it('says why an amount is owed in the language that the caller wants, and in that of the customer', async () => {
    const { id } = await newAccount(service);
    const read = (path: string) => dataOf(service.call('GET', `/accounts/${id}/${path}`));
    const { quote, sentence } = await read('overview?lang=sw');
    expect(quote).toEqual(await read('quote'));
    expect(quote.explanation.sentence).toContain('Deposit');
    expect(sentence).toBe((await read('quote?lang=sw')).explanation.sentence);
    expect(sentence).toContain('Malipo ya awali');
  });

  it('has null where the caller has no permission', async () => {
    const { id } = await newAccount(service);
    const { key } = await newApiKey(service, ['accounts:read']);
    const overview = await dataOf(service.call('GET', `/accounts/${id}/overview`, undefined, { token: key }));
    expect(overview).toMatchObject({ coverage: null, payments: null, invoices: null, paymentRequests: null });
    expect(overview.account).toMatchObject({ id });
    expect(Object.keys(overview.account)).not.toContain('customer');
    expect(Object.keys(overview.account)).not.toContain('product');
  });

  it('is not found for an account that does not exist', async () => {
    const answer = await service.call('GET', '/accounts/999999/overview');
    expect([answer.status, answer.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });
});
