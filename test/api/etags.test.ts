import { describe, expect, it } from 'vitest';
import { dataOf, newAccount, newApiKey, newCustomer, pay, useService } from '../support/harness.ts';

const service = useService();

const put = (path: string, body: object, etag?: string) =>
  service.call('PUT', path, body, etag === undefined ? {} : { headers: { 'if-match': etag } });

/** The current ETag of a resource. */
async function etagOf(path: string): Promise<string> {
  const { status, headers } = await service.call('GET', path);
  expect(status).toBe(200);
  return headers.get('etag') ?? '';
}

/** Resources with a change of each. */
const RESOURCES: [string, () => Promise<number>, object][] = [
  ['/accounts', async () => (await newAccount(service)).id, { metadata: { branch: 'Embu' } }],
  [
    '/payments',
    async () => (await pay(service, (await newAccount(service)).id, 100)).id,
    { metadata: { till: '5' } },
  ],
  ['/customers', async () => (await newCustomer(service)).id, { firstName: 'Neema' }],
  ['/employees', () => create('/employees', { name: 'Juma Ali' }), { phone: '+254722000111' }],
  ['/products', async () => 1, { name: 'A new name' }],
  ['/payplans', async () => 1, { name: 'A new name' }],
  [
    '/users',
    () =>
      create('/users', {
        email: 'etag@example.com',
        password: 'several words that nobody guesses',
        firstName: 'Neema',
        lastName: 'Mushi',
        role: 'viewer',
      }),
    { role: 'agent' },
  ],
  ['/api-keys', async () => (await newApiKey(service, 'viewer')).id, { name: 'A new name' }],
  [
    '/webhook-endpoints',
    () => create('/webhook-endpoints', { url: 'https://example.com/hook', types: ['payment.*'] }),
    { description: 'A new text' },
  ],
];

async function create(path: string, body: object): Promise<number> {
  return (await dataOf(service.call('POST', path, body), 201)).id;
}

describe.each(RESOURCES)('PUT %s/:id', (path, newId, change) => {
  it('with If-Match refuses the second of two editors, and changes nothing', async () => {
    const address = `${path}/${await newId()}`;
    const etag = await etagOf(address);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const first = await put(address, change, etag);
    expect(first.status, first.text).toBe(200);
    expect(first.headers.get('etag')).not.toBe(etag);
    expect(first.headers.get('etag')).toBe(await etagOf(address));
    const second = await put(address, change, etag);
    expect(second.status).toBe(412);
    expect(second.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { fields: [{ path: 'If-Match', message: expect.stringContaining('was changed after you') }] },
    });
    expect(await etagOf(address)).toBe(first.headers.get('etag'));
    expect((await put(address, change)).status).toBe(200);
  });
});

const PERSON = { firstName: 'Jane', lastName: 'Doe', phone: '+254712345678' };
const LAMP = { sku: 'ETAG-1', name: 'Lamp', category: 'lamp', price: 100 };

describe.each<[string, object, object]>([
  ['/customers', PERSON, { ...PERSON, firstName: 'Neema' }],
  ['/employees', { name: 'Juma Ali' }, { name: 'Juma Omari' }],
  ['/products', LAMP, { ...LAMP, price: 120 }],
])('PUT %s/by-external-id/:externalId', (path, first, second) => {
  it('with If-Match changes the version that the caller has read, and no other one', async () => {
    const address = `${path}/by-external-id/ETAG-2`;
    const missing = await put(address, first, '*');
    expect([missing.status, missing.body.error?.details.fields[0].path]).toEqual([412, 'If-Match']);
    expect((await service.call('GET', address)).status).toBe(404);
    expect((await put(address, first)).status).toBe(201);
    const etag = await etagOf(address);
    const changed = await put(address, second, etag);
    expect(changed.status, changed.text).toBe(200);
    expect(changed.headers.get('etag')).toBe(await etagOf(address));
    expect(changed.headers.get('etag')).not.toBe(etag);
    expect((await put(address, first, etag)).status).toBe(412);
    expect(await etagOf(address)).toBe(changed.headers.get('etag'));
    expect((await put(address, first)).status).toBe(200);
  });
});

describe('If-Match', () => {
  it('lets one of ten upserts at the same moment win', async () => {
    const address = '/customers/by-external-id/ETAG-3';
    expect((await put(address, PERSON)).status).toBe(201);
    const etag = await etagOf(address);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => put(address, { ...PERSON, firstName: `Name ${index}` }, etag)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(9);
  });

  it('lets one of ten editors at the same moment win', async () => {
    const { id } = await newCustomer(service);
    const etag = await etagOf(`/customers/${id}`);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => put(`/customers/${id}`, { firstName: `Name ${index}` }, etag)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(9);
  });

  it('accepts a list of tags, a tag that a proxy has made weak, and any version', async () => {
    const { id } = await newCustomer(service);
    const address = `/customers/${id}`;
    expect((await put(address, { firstName: 'Neema' }, `"other", ${await etagOf(address)}`)).status).toBe(
      200,
    );
    expect((await put(address, { firstName: 'Zawadi' }, `W/${await etagOf(address)}`)).status).toBe(200);
    expect((await put(address, { firstName: 'Rehema' }, '*')).status).toBe(200);
    expect((await put(address, { firstName: 'Neema' }, 'not a tag')).status).toBe(412);
  });

  it('does not refuse an editor because of a change that PUT cannot make', async () => {
    const { id } = await newCustomer(service);
    const etag = await etagOf(`/customers/${id}`);
    const record = { verificationType: 'passport', verificationStatus: 'verified', documents: [] };
    expect((await put(`/customers/${id}/kyc`, record)).status).toBe(200);
    expect((await put(`/customers/${id}`, { firstName: 'Neema' }, etag)).status).toBe(200);
  });

  it('on an account refuses a change of status after another change of status', async () => {
    const address = `/accounts/${(await newAccount(service)).id}`;
    const etag = await etagOf(address);
    expect((await put(address, { status: 'suspended', reason: 'Stolen' }, etag)).status).toBe(200);
    expect((await put(address, { status: 'repossessed', reason: 'Found' }, etag)).status).toBe(412);
    expect((await service.call('GET', address)).body.data.status).toBe('suspended');
  });

  it('on a suspended account accepts the current ETag, and refuses it after another change', async () => {
    const address = `/accounts/${(await newAccount(service)).id}`;
    expect((await put(address, { status: 'suspended', reason: 'Stolen' })).status).toBe(200);
    const etag = await etagOf(address);
    const changed = await put(address, { metadata: { branch: 'Embu' } }, etag);
    expect(changed.status, changed.text).toBe(200);
    expect((await put(address, { metadata: { branch: 'Meru' } }, etag)).status).toBe(412);
  });

  it('on an account does not refuse a change after a payment', async () => {
    const { id, externalId } = await newAccount(service, { externalId: 'ETAG-1' });
    const etag = await etagOf(`/accounts/by-external-id/${externalId}`);
    expect(await etagOf(`/accounts/${id}?expand=customer`)).toBe(etag);
    await pay(service, id, 100);
    expect(await etagOf(`/accounts/${id}`)).toBe(etag);
    expect((await put(`/accounts/${id}`, { metadata: { branch: 'Embu' } }, etag)).status).toBe(200);
  });

  it('on a payment method is compared with the ETag of the last PUT', async () => {
    const id = await create('/payment-methods', { code: 'etag_bank', name: 'Bank' });
    const address = `/payment-methods/${id}`;
    const first = await put(address, { name: 'Bank 1' });
    const etag = first.headers.get('etag') ?? '';
    expect((await put(address, { name: 'Bank 2' }, etag)).status).toBe(200);
    expect((await put(address, { name: 'Bank 3' }, etag)).status).toBe(412);
  });

  it('on DELETE refuses to delete a webhook endpoint that has changed', async () => {
    const id = await create('/webhook-endpoints', { url: 'https://example.com/hook', types: ['payment.*'] });
    const address = `/webhook-endpoints/${id}`;
    const etag = await etagOf(address);
    expect((await put(address, { description: 'A new text' })).status).toBe(200);
    const remove = (tag: string) =>
      service.call('DELETE', address, undefined, { headers: { 'if-match': tag } });
    expect((await remove(etag)).status).toBe(412);
    const deleted = await remove(await etagOf(address));
    expect([deleted.status, deleted.headers.get('etag')]).toEqual([200, null]);
  });

  it.each([
    [
      'PUT',
      '/customers/1/kyc',
      { verificationType: 'passport', verificationStatus: 'verified', documents: [] },
    ],
    ['PUT', '/commissions/payments/1', { status: 'approved' }],
    ['POST', '/customers', { firstName: 'Jane', lastName: 'Doe', phone: '+254712345678' }],
    ['POST', '/payments/1/reverse', { reason: 'Entered twice' }],
  ])('on %s %s, which has no ETag, is refused with 412', async (method, path, body) => {
    await newCustomer(service);
    const answer = await service.call(method as 'PUT', path, body, { headers: { 'if-match': '*' } });
    expect(answer.status, answer.text).toBe(412);
    expect(answer.body.error.details.fields[0]).toMatchObject({
      path: 'If-Match',
      message: expect.stringContaining('nothing that has an ETag'),
    });
  });

  it('of a resource that does not exist is answered with 404', async () => {
    expect((await put('/customers/999999', { firstName: 'Neema' }, '"any"')).status).toBe(404);
  });
});
