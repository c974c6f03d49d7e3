import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { dataOf, newAccount, pay, type TestService, useService, wrongFields } from '../support/harness.ts';

/** The other tests use KES, which has two decimals. */
async function expectPrinted(service: TestService, amount: number, currency: string, text: string) {
  const { id } = await newAccount(service);
  const paymentDate = '2026-01-05';
  await pay(service, id, amount, { paymentDate });
  const query = `startDate=${paymentDate}&endDate=${paymentDate}`;
  const answer = await service.call('GET', `/reports/payments?${query}&format=csv`);
  expect(parse(answer.text, { columns: true })).toMatchObject([{ amount: text, currency }]);
  const { rows } = await dataOf(service.call('GET', `/reports/payments?${query}`));
  expect(rows).toMatchObject([{ amount, currency }]);
}

describe('a currency without decimals', () => {
  const service = useService({ CURRENCY: 'UGX' });

  it('refuses a payment with decimals', async () => {
    const { id } = await newAccount(service);
    const half = { accountId: id, amount: 100.5, paymentMethodId: 2 };
    expect(wrongFields(await service.call('POST', '/payments', half))).toEqual(['amount']);
    expect((await pay(service, id, 100)).amount).toBe(100);
  });

  it('has a largest total of invoices without decimals', async () => {
    const { id } = await newAccount(service);
    const items = Array(2).fill({ description: 'x', quantity: 1, unitPrice: 999_999_999_999 });
    const { body } = await service.call('POST', '/invoices', { accountId: id, items });
    expect(body.error.details.fields).toEqual([
      { path: 'items', message: 'must add up to at most 999999999999' },
    ]);
  });

  it('has reports without decimals', () => expectPrinted(service, 1_234, 'UGX', '1234'));
});

describe('a currency with three decimals', () => {
  const service = useService({ CURRENCY: 'TND' });

  it('has reports with three decimals', () => expectPrinted(service, 1_234.005, 'TND', '1234.005'));
});
