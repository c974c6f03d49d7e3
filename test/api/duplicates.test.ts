import { describe, expect, it, vi } from 'vitest';
import {
  dataOf,
  newAccount,
  newCustomer,
  notify,
  pay,
  startServiceForTest,
  useService,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

/** DUPLICATE_ENTRY names the row that already exists, so that a caller need not search for it. */
const service = useService();

function detailsOf(answer: Answer) {
  expect(answer.status, answer.text).toBe(409);
  expect(answer.body.error.code).toBe('DUPLICATE_ENTRY');
  return answer.body.error.details;
}

let names = 0;
const newName = () => `Name ${++names}`;

async function created(path: string, body: object): Promise<number> {
  return (await dataOf(service.call('POST', path, body), 201)).id;
}

describe('DUPLICATE_ENTRY', () => {
  const plan = () => ({
    name: newName(),
    deposit: 0,
    instalmentAmount: 1,
    instalmentCount: 1,
    frequency: 'weekly',
    graceDays: 0,
  });
  const product = () => ({ sku: newName(), name: 'Lamp', category: 'lamp', price: 1 });

  it.each<[resource: string, field: string, path: string, body: () => object]>([
    ['product', 'sku', '/products', product],
    ['configuration', 'name', '/products/1/configurations', () => ({ name: newName(), attributes: {} })],
    ['payplan', 'name', '/payplans', plan],
    ['payment_method', 'code', '/payment-methods', () => ({ code: `m${++names}`, name: 'M' })],
    [
      'user',
      'email',
      '/users',
      () => ({
        email: `u${++names}@example.com`,
        password: 'a long enough password',
        firstName: 'A',
        lastName: 'B',
        role: 'viewer',
      }),
    ],
  ])('of a %s names the one that has the %s', async (resource, field, path, body) => {
    const given = body();
    const id = await created(path, given);
    expect(detailsOf(await service.call('POST', path, given))).toEqual({ resource, field, id });
    const headers = { 'idempotency-key': newName() };
    expect(detailsOf(await service.call('POST', path, given, { headers }))).toEqual({ resource, field, id });
  });

  it('of a change names the other one', async () => {
    const [sku, name] = [newName(), newName()];
    const first = await created('/products', { ...product(), sku });
    const second = await created('/products', product());
    expect(detailsOf(await service.call('PUT', `/products/${second}`, { sku }))).toMatchObject({ id: first });
    const firstPlan = await created('/payplans', { ...plan(), name });
    const secondPlan = await created('/payplans', plan());
    const renamed = await service.call('PUT', `/payplans/${secondPlan}`, { name });
    expect(detailsOf(renamed)).toMatchObject({ id: firstPlan });
  });

  it('of a customer names the one with the e-mail or the national id, in every spelling', async () => {
    const first = await newCustomer(service, { email: 'one@example.com', nationalId: '12 34-56' });
    const second = { firstName: 'A', lastName: 'B', phone: '0712345678' };
    const sameMail = await service.call('POST', '/customers', { ...second, email: 'ONE@example.com' });
    expect(detailsOf(sameMail)).toEqual({ resource: 'customer', field: 'email', id: first.id });
    const sameId = await service.call('POST', '/customers', { ...second, nationalId: '123456' });
    expect(detailsOf(sameId)).toEqual({ resource: 'customer', field: 'nationalId', id: first.id });
    const other = await newCustomer(service);
    const changed = await service.call('PUT', `/customers/${other.id}`, { email: 'one@EXAMPLE.com' });
    expect(detailsOf(changed)).toMatchObject({ id: first.id });
  });

  it('of a payment names the one with the reference, recorded by staff or by the provider', async () => {
    const { id: accountId } = await newAccount(service);
    const byHand = await pay(service, accountId, 5, { transactionRef: 'hand 77' });
    const again = { accountId, amount: 5, paymentMethodId: 2, transactionRef: 'HAND77' };
    expect(detailsOf(await service.call('POST', '/payments', again))).toEqual({
      resource: 'payment',
      field: 'transactionRef',
      id: byHand.id,
    });
    const reported = await notify(service, { TransID: 'TOLD77' });
    const repeated = { ...again, transactionRef: 'told 77' };
    expect(detailsOf(await service.call('POST', '/payments', repeated))).toMatchObject({
      id: reported.body.data.paymentId,
    });
  });

  it('of a refund names the credit move with the reference', async () => {
    const { id, total } = await newAccount(service);
    await pay(service, id, total + 100);
    const refund = { amount: 10, reason: 'asked for it', paymentMethodId: 2, transactionRef: 'R1' };
    const first = await created(`/accounts/${id}/credit/refund`, refund);
    const again = await service.call('POST', `/accounts/${id}/credit/refund`, {
      ...refund,
      transactionRef: ' r 1',
    });
    expect(detailsOf(again)).toEqual({ resource: 'refund', field: 'transactionRef', id: first });
  });

  it('of a registration names no user, because unregistered callers may not read users', async () => {
    const newcomer = {
      email: 'me@example.com',
      password: 'a long enough password',
      firstName: 'A',
      lastName: 'B',
    };
    expect((await service.call('POST', '/auth/register', newcomer, { token: null })).status).toBe(201);
    const again = await service.call('POST', '/auth/register', newcomer, { token: null });
    expect(detailsOf(again)).toEqual({ resource: 'user', field: 'email' });
  });

  it.each<[string, () => Promise<never>]>([
    ['fails', () => Promise.reject(new Error('timeout exceeded when trying to connect'))],
    ['takes too long', () => new Promise(() => {})],
  ])('has no id where the lookup of the existing row %s', async (_how, secondConnection) => {
    const given = product();
    const own = await startServiceForTest({}, { existingIdMs: 50 });
    await dataOf(own.call('POST', '/products', given), 201);
    const { pool } = own.parts;
    const client = await pool.connect();
    const connect = vi.spyOn(pool, 'connect').mockImplementation(secondConnection);
    connect.mockImplementationOnce(async () => client);
    const answer = await own.call('POST', '/products', given).finally(() => connect.mockRestore());
    expect(detailsOf(answer)).toEqual({ resource: 'product', field: 'sku' });
  });
});
