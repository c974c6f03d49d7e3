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
    for (const status of ['suspended', 'active', 'suspended']) await move(service, id, status);
    const items = [{ description: 'Cable', quantity: 1, unitPrice: 50 }];
    await dataOf(service.call('POST', '/invoices', { accountId: id, items }), 201);

    const read = (path: string) => dataOf(service.call('GET', path));
    const overview = await read(`/accounts/${id}/overview`);
    expect(overview).toEqual({
      account: await read(`/accounts/${id}?expand=customer,product`),
      moves: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'].map((status) => ({
        status,
        givesUp: ['written_off', 'cancelled'].includes(status) ? overview.account.balance : 0,
      })),
      schedule: await read(`/accounts/${id}/schedule`),
      quote: await read(`/accounts/${id}/quote`),
      payments: {
        rows: await read(`/accounts/${id}/payments?sort=paymentDate:desc,id:desc&limit=10&expand=people`),
        total: 12,
      },
      invoices: { rows: await read(`/invoices?filter[accountId]=${id}`), total: 1 },
      paymentRequests: { rows: [], total: 0 },
    });
    expect(overview.payments.rows[0]).toMatchObject({ amount: 112, paymentDate: '2026-11-12' });
  });

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

  it('has null where the caller has no permission', async () => {
    const { id } = await newAccount(service);
    const { key } = await newApiKey(service, ['accounts:read']);
    const overview = await dataOf(service.call('GET', `/accounts/${id}/overview`, undefined, { token: key }));
    expect(overview).toMatchObject({ payments: null, invoices: null, paymentRequests: null });
    expect(overview.account).toMatchObject({ id });
    expect(Object.keys(overview.account)).not.toContain('customer');
    expect(Object.keys(overview.account)).not.toContain('product');
  });

  it('is not found for an account that does not exist', async () => {
    const answer = await service.call('GET', '/accounts/999999/overview');
    expect([answer.status, answer.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });
});
