import { describe, expect, it } from 'vitest';
import { dataOf, newApiKey, newCustomer, useService } from '../support/harness.ts';

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

describe('If-Match', () => {
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

  it('of a resource that does not exist is answered with 404', async () => {
    expect((await put('/customers/999999', { firstName: 'Neema' }, '"any"')).status).toBe(404);
  });
});
