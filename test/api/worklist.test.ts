import { beforeAll, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../books.ts';
import { newAccount, newCustomer, notify, pay, reverse, setToday, useService } from '../harness.ts';

const service = useService();
beforeAll(() => setToday(service, '2026-11-02'));

async function post(fields: Record<string, unknown>): Promise<number> {
  const answer = await notify(service, fields);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data.paymentId;
}

describe('GET /payments/unmatched', () => {
  it('shows money whose account is not known, with what the payer sent and who it may be from', async () => {
    const customer = await newCustomer(service, {
      firstName: 'Joy',
      lastName: 'Wambui',
      phone: '+254722000001',
    });
    const accounts = [
      await newAccount(service, { customerId: customer.id }),
      await newAccount(service, { customerId: customer.id }),
    ];
    const id = await post({ BillRefNumber: '0722000001', MSISDN: '254722000001', TransAmount: '12.34' });
    const { body } = await service.call('GET', `/payments/unmatched?filter[id]=${id}`);
    const payment = (await service.call('GET', `/payments/${id}`)).body.data;
    expect(body.data).toEqual([
      {
        ...payment,
        reference: '0722000001',
        payer: '254722000001',
        flags: [],
        suggestions: accounts.map(({ id: accountId, accountNumber }) => ({
          accountId,
          accountNumber,
          customerName: 'Joy Wambui',
          reason: 'the reference is the phone number of the customer',
        })),
      },
    ]);
    expect(payment).toMatchObject({
      amount: 12.34,
      status: 'unmatched',
      accountId: null,
      accountNumber: null,
    });
  });

  it('holds nothing that is matched, assigned or reversed', async () => {
    const account = await newAccount(service);
    const matched = await post({ BillRefNumber: account.accountNumber });
    const entered = await pay(service, account.id, 1);
    const assigned = await post({ BillRefNumber: 'nobody' });
    const reversed = await post({ BillRefNumber: 'nobody' });
    const waiting = await post({ BillRefNumber: 'nobody' });
    await service.call('POST', `/payments/${assigned}/assign`, { accountId: account.id });
    await reverse(service, reversed);
    const all = [matched, entered.id, assigned, reversed, waiting].join(',');
    const { body } = await service.call('GET', `/payments/unmatched?filter[id][in]=${all}`);
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([waiting]);
    expect(body.pagination.total).toBe(1);
    await expectBooksToBalance(service.context);
  });

  it('filters, sorts and pages as every list', async () => {
    const ids = [];
    for (const TransAmount of ['7001', '7003', '7002'])
      ids.push(await post({ BillRefNumber: 'nobody', TransAmount }));
    const path = `/payments/unmatched?filter[id][in]=${ids.join(',')}&sort=amount:desc&limit=2`;
    const { body } = await service.call('GET', path);
    expect(body.data.map(({ amount }: { amount: number }) => amount)).toEqual([7003, 7002]);
    expect(body.pagination).toEqual({ page: 1, limit: 2, total: 3, totalPages: 2 });
  });
});
