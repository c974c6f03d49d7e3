import createClient from 'openapi-fetch';
import type { components, paths } from '../../packages/client/src/generated/api.ts';

type Account = components['schemas']['Account'];

/**
 * Does the steps of the README with a client that is made only from openapi.json: register, customer, account, notification,
 * account. It is compiled under `strict`, which fails if the description lacks a type.
 */
export async function walk(baseUrl: string): Promise<{ before: Account; after: Account; listed: Account[] }> {
  const api = createClient<paths>({ baseUrl });

  const registered = await api.POST('/api/auth/register', {
    body: {
      email: 'client@example.com',
      password: 'a long enough password',
      firstName: 'My',
      lastName: 'Name',
    },
  });
  if (registered.error) throw new Error(registered.error.error.message);
  const { accessToken } = registered.data.data;
  api.use({
    onRequest({ request }) {
      request.headers.set('authorization', `Bearer ${accessToken}`);
    },
  });

  const customer = await api.POST('/api/customers', {
    params: { header: { 'Idempotency-Key': 'the first customer' } },
    body: { firstName: 'Solar', lastName: 'Customer', phone: '0712 345 678' },
  });
  if (customer.error) throw new Error(customer.error.error.message);

  const opened = await api.POST('/api/accounts', {
    body: { customerId: customer.data.data.id, productId: 1, payplanId: 2 },
  });
  if (opened.error) throw new Error(opened.error.error.message);
  const before = opened.data.data;

  const acknowledged = await api.POST('/api/webhooks/payments/mobilemoney', {
    body: {
      TransactionType: 'Pay Bill',
      TransID: 'CLIENT0001',
      TransTime: `${before.activationDate.replaceAll('-', '')}000001`,
      TransAmount: '2400.00',
      BusinessShortCode: '600638',
      BillRefNumber: before.accountNumber,
      MSISDN: '254712345678',
    },
  });
  if (acknowledged.error) throw new Error(acknowledged.error.error.message);

  const seen = await api.GET('/api/accounts/{id}', { params: { path: { id: before.id } } });
  if (seen.error) throw new Error(seen.error.error.message);

  const query = { customerId: before.customerId, 'filter[status]': { in: 'active,pending' }, limit: 5 };
  const found = await api.GET('/api/accounts', { params: { query } });
  if (found.error) throw new Error(found.error.error.message);

  return { before, after: seen.data.data, listed: found.data.data };
}

/** Never called: the compiler has to refuse each of these. */
export async function mistakes(baseUrl: string): Promise<void> {
  const api = createClient<paths>({ baseUrl });
  // @ts-expect-error an amount as text
  await api.POST('/api/payments', { body: { accountId: 1, amount: '400', paymentMethodId: 1 } });
  // @ts-expect-error a field that is missing
  await api.POST('/api/customers', { body: { firstName: 'Solar', phone: '+254712345678' } });
  // @ts-expect-error a status that does not exist, in a body
  await api.PUT('/api/accounts/{id}', { params: { path: { id: 1 } }, body: { status: 'closed' } });
  // @ts-expect-error a status that does not exist, in a filter
  await api.GET('/api/accounts', { params: { query: { 'filter[status]': { eq: 'closed' } } } });
  // @ts-expect-error an address that does not exist
  await api.GET('/api/account/{id}', { params: { path: { id: 1 } } });
}
