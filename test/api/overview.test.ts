import { describe, expect, it } from 'vitest';
import { dataOf, move, newAccount, newApiKey, pay, setToday, useService } from '../support/harness.ts';

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
      schedule: await read(`/accounts/${id}/schedule`),
      quote: await read(`/accounts/${id}/quote`),
      statusChanges: { rows: await read(`/accounts/${id}/history?sort=id:desc`), total: 4 },
      payments: {
        rows: await read(`/accounts/${id}/payments?sort=paymentDate:desc,id:desc&limit=10`),
        total: 12,
      },
      invoices: { rows: await read(`/invoices?filter[accountId]=${id}`), total: 1 },
      paymentRequests: { rows: [], total: 0 },
    });
    expect(overview.payments.rows[0]).toMatchObject({ amount: 112, paymentDate: '2026-11-12' });
  });

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
