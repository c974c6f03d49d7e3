import type { OpenAPIV3_1 } from 'openapi-types';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import {
  dataOf,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  PASSWORD,
  pay,
  startServiceForTest,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

/** What is the same for all resources: changes, duplicates, ETags and external ids. test/every-route.test.ts has what routes refuse. */
const service = useService();
const call: typeof service.call = (...given) => service.call(...given);

let count = 0;
const unique = (prefix: string) => {
  count += 1;
  return `${prefix}-${count}`;
};

interface Resource {
  resource: string;
  path: string;
  /** A new body that a POST accepts. */
  body(): Record<string, unknown>;
  /** A body that a PUT accepts. */
  change: Record<string, unknown>;
  /** A field whose values are unique. `respell` gives another spelling of a value. */
  unique?: { field: string; isInChanges: boolean; respell?: (value: string) => string };
  /** Names, which are stored without the blanks at their ends. */
  names: string[];
  hasExternalId: boolean;
  /** Whether PUT by the external id creates it. */
  isUpserted?: boolean;
  /** Whether one row can be read by its id. */
  isReadById?: false;
}

let customerId: number;
let accountId: number;
beforeAll(async () => {
  customerId = (await newCustomer(service)).id;
  accountId = (await newAccount(service, { customerId })).id;
});

const upperCase = (text: string) => text.toUpperCase();
const withBlanks = (text: string) => ` ${text} `;

const RESOURCES: Resource[] = [
  {
    resource: 'customer',
    path: '/customers',
    body: () => ({
      ...{ firstName: 'A', lastName: 'B', phone: '+254711000001' },
      email: unique('Customer@example.com'),
      ...{ nationalId: unique('NID'), secondPhone: '+254733000002', language: 'sw' },
    }),
    change: { firstName: 'Neema' },
    unique: { field: 'email', isInChanges: true, respell: upperCase },
    names: ['firstName', 'lastName'],
    hasExternalId: true,
    isUpserted: true,
  },
  {
    resource: 'product',
    path: '/products',
    body: () => ({ sku: unique('SKU'), name: 'Lamp', category: 'lamp', price: 10 }),
    change: { price: 12 },
    unique: { field: 'sku', isInChanges: true, respell: withBlanks },
    names: ['name', 'category'],
    hasExternalId: true,
    isUpserted: true,
  },
  {
    resource: 'employee',
    path: '/employees',
    body: () => ({ name: 'Juma Ali' }),
    change: { phone: '+254722000111' },
    names: ['name'],
    hasExternalId: true,
    isUpserted: true,
  },
  {
    resource: 'account',
    path: '/accounts',
    body: () => ({ customerId, productId: 1, payplanId: 2 }),
    change: { metadata: { branch: 'Embu' } },
    names: [],
    hasExternalId: true,
  },
  {
    resource: 'payment',
    path: '/payments',
    body: () => ({ accountId, amount: 10, paymentMethodId: 2 }),
    change: { metadata: { till: '5' } },
    names: [],
    hasExternalId: true,
  },
  {
    resource: 'payplan',
    path: '/payplans',
    body: () => ({
      name: unique('Plan'),
      ...{ deposit: 0, instalmentAmount: 1, instalmentCount: 2, frequency: 'weekly', graceDays: 0 },
    }),
    change: { autoSuspend: true },
    unique: { field: 'name', isInChanges: true, respell: withBlanks },
    names: ['name'],
    hasExternalId: false,
  },
  {
    resource: 'payment_method',
    path: '/payment-methods',
    body: () => ({ code: unique('method').replace('-', '_'), name: 'Bank' }),
    change: { name: 'Bank 1' },
    unique: { field: 'code', isInChanges: false },
    names: ['name'],
    hasExternalId: false,
    isReadById: false,
  },
  {
    resource: 'user',
    path: '/users',
    body: () => ({
      email: unique('user@example.com'),
      ...{ password: PASSWORD, firstName: 'A', lastName: 'B', role: 'viewer' },
    }),
    change: { role: 'agent' },
    unique: { field: 'email', isInChanges: false, respell: upperCase },
    names: ['firstName', 'lastName'],
    hasExternalId: false,
  },
  {
    resource: 'api_key',
    path: '/api-keys',
    body: () => ({ name: 'Key', role: 'viewer' }),
    change: { name: 'A new name' },
    names: [],
    hasExternalId: false,
  },
  {
    resource: 'webhook_endpoint',
    path: '/webhook-endpoints',
    body: () => ({ url: 'https://example.com/hook', types: ['payment.*'] }),
    change: { description: 'A new text' },
    names: [],
    hasExternalId: false,
  },
];

const create = ({ path, body }: Resource, fields: object = {}, options = {}) =>
  call('POST', path, { ...body(), ...fields }, options);

const put = (path: string, body: object, etag?: string) =>
  call('PUT', path, body, etag === undefined ? {} : { headers: { 'if-match': etag } });

const byExternalId = ({ path }: Resource, externalId: string) =>
  `${path}/by-external-id/${encodeURIComponent(externalId)}`;

const idsOf = (answer: Answer) => answer.body.data.map(({ id }: { id: number }) => id);

/** The current ETag of a resource. */
async function etagOf(path: string): Promise<string> {
  const { status, headers } = await call('GET', path);
  expect(status).toBe(200);
  return headers.get('etag') ?? '';
}

function duplicateOf(answer: Answer) {
  expect(answer.status, answer.text).toBe(409);
  expect(answer.body.error.code).toBe('DUPLICATE_ENTRY');
  return answer.body.error.details;
}

function expectStale(answer: Answer): void {
  expect(answer.status, answer.text).toBe(412);
  expect(answer.body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { fields: [{ path: 'If-Match', message: expect.stringContaining('was changed after you') }] },
  });
}

/** The answers to these POSTs contain a secret, so they are not stored. */
const WITH_SECRET = ['api_key', 'webhook_endpoint'];

describe.each(RESOURCES.filter(({ resource }) => !WITH_SECRET.includes(resource)))(
  'an Idempotency-Key of a new $resource',
  ({ path, body }) => {
    it('gives a repeat the first answer, and is refused with another body', async () => {
      const given = body();
      const options = { headers: { 'idempotency-key': unique('key') } };
      const [first, second] = [
        await call('POST', path, given, options),
        await call('POST', path, given, options),
      ];
      expect(first.status, first.text).toBe(201);
      expect([second.status, second.body]).toEqual([201, first.body]);
      expect(second.headers.get('idempotent-replayed')).toBe('true');
      const [field = '', value] = Object.entries(given)[0] ?? [];
      const other = { ...given, [field]: typeof value === 'number' ? value + 1 : `${value}x` };
      expect((await call('POST', path, other, options)).status).toBe(422);
    });
  },
);

describe.each(RESOURCES)('a change of a $resource', (one) => {
  const { path, change, resource } = one;

  it('changes only the fields sent', async () => {
    const { id } = await dataOf(create(one), 201);
    const address = `${path}/${id}`;
    const { updatedAt, ...before } = await dataOf(
      one.isReadById === false ? put(address, change) : call('GET', address),
    );
    const changed = await dataOf(put(address, change));
    expect(changed).toEqual({ ...before, ...change, ...(updatedAt && { updatedAt: expect.any(String) }) });
    if (updatedAt) expect(changed.updatedAt > updatedAt).toBe(true);
    if (one.isReadById !== false) expect(await dataOf(call('GET', address))).toEqual(changed);
  });

  it('is refused without a field, and for an id that nothing has', async () => {
    const { id } = await dataOf(create(one), 201);
    expect(wrongFields(await put(`${path}/${id}`, {}))).toEqual(['body']);
    const nothing = await put(`${path}/999999`, change);
    expect(nothing.status).toBe(404);
    expect(nothing.body.error).toMatchObject({ code: 'NOT_FOUND', details: { resource, id: 999_999 } });
  });

  it('with If-Match is refused after another change, and changes nothing', async () => {
    const { id } = await dataOf(create(one), 201);
    const address = `${path}/${id}`;
    const etag =
      one.isReadById === false
        ? ((await put(address, { name: 'First' })).headers.get('etag') ?? '')
        : await etagOf(address);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const first = await put(address, change, etag);
    expect(first.status, first.text).toBe(200);
    expect(first.headers.get('etag')).not.toBe(etag);
    expectStale(await put(address, change, etag));
    if (one.isReadById !== false) expect(await etagOf(address)).toBe(first.headers.get('etag'));
    expect((await put(address, change)).status).toBe(200);
  });
});

describe.each(RESOURCES.filter(({ names }) => names.length > 0))('the names of a $resource', (one) => {
  it('are stored without the blanks at their ends, also after a change', async () => {
    const named = (value: string) => Object.fromEntries(one.names.map((name) => [name, value]));
    const [name, other] = [unique('Ann'), unique('Ann')];
    const created = await dataOf(create(one, named(` ${name}\u00a0`)), 201);
    expect(created).toMatchObject(named(name));
    const changed = await dataOf(put(`${one.path}/${created.id}`, named(`\u3000${other} `)));
    expect(changed).toMatchObject(named(other));
  });
});

const WITH_UNIQUE = RESOURCES.flatMap(({ unique: value, ...one }) => (value ? [{ ...one, ...value }] : []));
const asWritten = (text: string) => text;

describe.each(WITH_UNIQUE)(
  'a duplicate of a $resource',
  ({ path, resource, body, field, respell = asWritten }) => {
    it('is refused, and the answer names the one that has the value, in every spelling', async () => {
      const given = body();
      const { id } = await dataOf(call('POST', path, given), 201);
      const again = { ...given, [field]: respell(String(given[field])) };
      const details = { resource, field, id };
      expect(duplicateOf(await call('POST', path, again))).toEqual(details);
      const options = { headers: { 'idempotency-key': unique('key') } };
      expect(duplicateOf(await call('POST', path, again, options))).toEqual(details);
    });
  },
);

describe.each(WITH_UNIQUE.filter(({ isInChanges }) => isInChanges))(
  'a change of a $resource to a value that another one has',
  ({ path, resource, body, field, respell = asWritten }) => {
    it('is refused, unless the value was its own', async () => {
      const [first, second] = [
        await dataOf(call('POST', path, body()), 201),
        await dataOf(call('POST', path, body()), 201),
      ];
      const taken = { [field]: respell(first[field]) };
      expect(duplicateOf(await put(`${path}/${second.id}`, taken))).toEqual({
        ...{ resource, field, id: first.id },
      });
      expect((await put(`${path}/${first.id}`, taken)).status).toBe(200);
    });
  },
);

describe('a duplicate', () => {
  const created = async (path: string, body: object) => (await dataOf(call('POST', path, body), 201)).id;

  it('of a configuration names the one that has the name', async () => {
    const given = { name: unique('Configuration'), attributes: {} };
    const id = await created('/products/1/configurations', given);
    expect(duplicateOf(await call('POST', '/products/1/configurations', given))).toEqual({
      ...{ resource: 'configuration', field: 'name', id },
    });
  });

  it('of a customer names the one that has the national id, in every spelling', async () => {
    const { id } = await newCustomer(service, { nationalId: '12 34-56' });
    const again = { firstName: 'A', lastName: 'B', phone: '0712345678', nationalId: '123456' };
    const details = { resource: 'customer', field: 'nationalId', id };
    expect(duplicateOf(await call('POST', '/customers', again))).toEqual(details);
  });

  it('of a payment names the one with the reference, recorded by staff or by the provider', async () => {
    const byHand = await pay(service, accountId, 5, { transactionRef: 'hand 77' });
    const again = { accountId, amount: 5, paymentMethodId: 2, transactionRef: 'HAND77' };
    expect(duplicateOf(await call('POST', '/payments', again))).toEqual({
      resource: 'payment',
      field: 'transactionRef',
      id: byHand.id,
    });
    const reported = await notify(service, { TransID: 'TOLD77' });
    const repeated = { ...again, transactionRef: 'told 77' };
    expect(duplicateOf(await call('POST', '/payments', repeated))).toMatchObject({
      id: reported.body.data.paymentId,
    });
  });

  it('of a refund names the credit move with the reference', async () => {
    const { id, total } = await newAccount(service);
    await pay(service, id, total + 100);
    const refund = { amount: 10, reason: 'asked for it', paymentMethodId: 2, transactionRef: 'R1' };
    const first = await created(`/accounts/${id}/credit/refund`, refund);
    const again = await call('POST', `/accounts/${id}/credit/refund`, { ...refund, transactionRef: ' r 1' });
    expect(duplicateOf(again)).toEqual({ resource: 'refund', field: 'transactionRef', id: first });
  });

  it('of a registration names no user, because unregistered callers may not read users', async () => {
    const newcomer = { email: 'me@example.com', password: PASSWORD, firstName: 'A', lastName: 'B' };
    expect((await call('POST', '/auth/register', newcomer, { token: null })).status).toBe(201);
    const again = { ...newcomer, email: newcomer.email.toUpperCase() };
    const answer = await call('POST', '/auth/register', again, { token: null });
    expect(duplicateOf(answer)).toEqual({ resource: 'user', field: 'email' });
  });

  it.each<[string, () => Promise<never>]>([
    ['fails', () => Promise.reject(new Error('timeout exceeded when trying to connect'))],
    ['takes too long', () => new Promise(() => {})],
  ])('has no id where the lookup of the existing row %s', async (_how, secondConnection) => {
    const impatient = await startServiceForTest({}, { existingIdMs: 50 });
    const given = { sku: unique('FIRST'), name: 'Lamp', category: 'lamp', price: 1 };
    await dataOf(impatient.call('POST', '/products', given), 201);
    const { pool } = impatient.parts;
    const client = await pool.connect();
    const connect = vi.spyOn(pool, 'connect').mockImplementation(secondConnection);
    connect.mockImplementationOnce(async () => client);
    const sent = impatient.call('POST', '/products', given);
    const answer = await sent.finally(() => connect.mockRestore());
    expect(duplicateOf(answer)).toEqual({ resource: 'product', field: 'sku' });
  });
});

describe('If-Match', () => {
  const PERSON = { firstName: 'Jane', lastName: 'Doe', phone: '+254712345678' };

  it.each([
    ['an upsert', async () => '/customers/by-external-id/ETAG-3'],
    ['a change', async () => `/customers/${(await newCustomer(service)).id}`],
  ])('lets one of ten at the same moment win: %s', async (_what, addressOf) => {
    const address = await addressOf();
    expect((await put(address, PERSON)).status).toBeLessThan(300);
    const etag = await etagOf(address);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => put(address, { ...PERSON, firstName: `Name ${index}` }, etag)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
  });

  it('accepts a list of tags, a tag that a proxy has made weak, and any version', async () => {
    const address = `/customers/${(await newCustomer(service)).id}`;
    expect((await put(address, { firstName: 'Neema' }, `"other", ${await etagOf(address)}`)).status).toBe(
      200,
    );
    expect((await put(address, { firstName: 'Zawadi' }, `W/${await etagOf(address)}`)).status).toBe(200);
    expect((await put(address, { firstName: 'Rehema' }, '*')).status).toBe(200);
    expect((await put(address, { firstName: 'Neema' }, 'not a tag')).status).toBe(412);
  });

  it('does not refuse an editor because of a change that PUT cannot make', async () => {
    const address = `/customers/${(await newCustomer(service)).id}`;
    const etag = await etagOf(address);
    const record = { verificationType: 'passport', verificationStatus: 'verified', documents: [] };
    expect((await put(`${address}/kyc`, record)).status).toBe(200);
    expect((await put(address, { firstName: 'Neema' }, etag)).status).toBe(200);
  });

  it('on an account refuses a change of status after another change of status', async () => {
    const address = `/accounts/${(await newAccount(service)).id}`;
    const etag = await etagOf(address);
    expect((await put(address, { status: 'suspended', reason: 'Stolen' }, etag)).status).toBe(200);
    expect((await put(address, { status: 'repossessed', reason: 'Found' }, etag)).status).toBe(412);
    expect((await call('GET', address)).body.data.status).toBe('suspended');
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

  it('on DELETE refuses to delete a webhook endpoint that has changed', async () => {
    const endpoint = { url: 'https://example.com/hook', types: ['payment.*'] };
    const { id } = await dataOf(call('POST', '/webhook-endpoints', endpoint), 201);
    const address = `/webhook-endpoints/${id}`;
    const etag = await etagOf(address);
    expect((await put(address, { description: 'A new text' })).status).toBe(200);
    const remove = (tag: string) => call('DELETE', address, undefined, { headers: { 'if-match': tag } });
    expect((await remove(etag)).status).toBe(412);
    const deleted = await remove(await etagOf(address));
    expect([deleted.status, deleted.headers.get('etag')]).toEqual([200, null]);
  });

  it.each<['PUT' | 'POST', string, object]>([
    [
      'PUT',
      '/customers/1/kyc',
      { verificationType: 'passport', verificationStatus: 'verified', documents: [] },
    ],
    ['PUT', '/commissions/payments/1', { status: 'approved' }],
    ['POST', '/customers', PERSON],
    ['POST', '/payments/1/reverse', { reason: 'Entered twice' }],
  ])('on %s %s, which has no ETag, is refused with 412', async (method, path, body) => {
    const answer = await call(method, path, body, { headers: { 'if-match': '*' } });
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

const WITH_EXTERNAL_ID = RESOURCES.filter(({ hasExternalId }) => hasExternalId);

describe('external ids and metadata', () => {
  const customers = RESOURCES[0] as Resource;

  it.each([/^New/, /Changes$/])('have the same rules in the bodies of all resources: %s', (names) => {
    const { components } = service.app.swagger() as OpenAPIV3_1.Document;
    const schemas = Object.entries(components?.schemas ?? {});
    const bodies = schemas.filter(([name, { properties = {} }]) => names.test(name) && properties.externalId);
    expect(bodies.length).toBeGreaterThanOrEqual(WITH_EXTERNAL_ID.length);
    const [, first] = bodies[0] ?? [];
    for (const [name, { properties = {} }] of bodies) {
      expect(properties.externalId, name).toEqual(first?.properties?.externalId);
      expect(properties.metadata, name).toEqual(first?.properties?.metadata);
    }
  });

  it('refuse an id that is empty, too long, or has invisible characters', async () => {
    for (const externalId of ['', '  ', 'x'.repeat(101), 'a\u200bb', 'a\nb', '\ud800', 5])
      expect(wrongFields(await create(customers, { externalId })), String(externalId)).toEqual([
        'externalId',
      ]);
    const longest = `${'x'.repeat(90)}${unique('-')}`.padEnd(100, 'ß');
    expect((await create(customers, { externalId: longest })).status).toBe(201);
    expect((await call('GET', byExternalId(customers, longest))).status).toBe(200);
  });

  it('refuse metadata with wrong keys or values, and more than 20 keys', async () => {
    const keys = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, '']));
    const wrong: [unknown, string][] = [
      [{ '1a': '' }, 'metadata.1a'],
      [{ [`k${'x'.repeat(40)}`]: '' }, `metadata.k${'x'.repeat(40)}`],
      [{ k: 5 }, 'metadata.k'],
      [{ k: null }, 'metadata.k'],
      [{ k: 'x'.repeat(501) }, 'metadata.k'],
      [{ k: { deep: '' } }, 'metadata.k'],
      [keys, 'metadata'],
      [null, 'metadata'],
      [['a'], 'metadata'],
    ];
    for (const [metadata, field] of wrong)
      expect(wrongFields(await create(customers, { metadata })), JSON.stringify(metadata)).toEqual([field]);
    const most = { ...keys, k20: undefined, k1: 'x'.repeat(500) };
    expect((await create(customers, { metadata: most })).status).toBe(201);
  });

  it('refuse a metadata filter without a key, with a wrong key, and one given twice', async () => {
    const refused = async (query: string) => wrongFields(await call('GET', `/customers?${query}`));
    expect(await refused('filter[metadata]=north')).toEqual(['filter[metadata][eq]']);
    expect(await refused('filter[metadata][1x]=north')).toEqual(['filter[metadata][1x]']);
    expect(await refused('filter[metadata][a]=1&filter[metadata][a]=2')).toEqual(['filter[metadata][a]']);
    expect(await refused('sort=metadata')).toEqual(['sort']);
  });
});

describe.each(WITH_EXTERNAL_ID)('the external id of a $resource', (one) => {
  const { resource, path } = one;

  it('is stored without blanks around it, shown, and found by its exact spelling', async () => {
    const externalId = unique('Ext/ö 1?#');
    const fields = { externalId: `  ${externalId} `, metadata: { region: 'north', 'k.2': '' } };
    const created = await dataOf(create(one, fields), 201);
    expect(created).toMatchObject({ ...fields, externalId });
    const found = await dataOf(call('GET', byExternalId(one, externalId)));
    expect(found).toEqual(await dataOf(call('GET', `${path}/${created.id}`)));
    const other = await call('GET', byExternalId(one, externalId.toLowerCase()));
    expect(other.body.error).toMatchObject({
      code: 'NOT_FOUND',
      details: { resource, field: 'externalId', id: externalId.toLowerCase() },
    });
  });

  it('is null, and the metadata empty, if neither was sent', async () => {
    expect((await create(one)).body.data).toMatchObject({ externalId: null, metadata: {} });
    expect((await create(one, { externalId: null })).body.data).toMatchObject({ externalId: null });
  });

  it('is refused if another one has it, composed or decomposed, with the id of that one', async () => {
    const externalId = unique('\u00c9');
    const { id, ...created } = await dataOf(create(one, { externalId: externalId.normalize('NFD') }), 201);
    expect(created.externalId).toBe(externalId);
    const details = { resource, field: 'externalId', id };
    expect(duplicateOf(await create(one, { externalId: ` ${externalId}` }))).toEqual(details);
    expect((await dataOf(call('GET', byExternalId(one, externalId.normalize('NFD'))))).id).toBe(id);
    expect((await create(one, { externalId: externalId.toLowerCase() })).status).toBe(201);
  });

  it('can be changed and removed, and another one may have it afterwards', async () => {
    const externalId = unique('MOVE');
    const { id } = await dataOf(create(one, { externalId, metadata: { a: '1', b: '2' } }), 201);
    const { id: otherId } = await dataOf(create(one), 201);
    const details = { resource, field: 'externalId', id };
    expect(duplicateOf(await put(`${path}/${otherId}`, { externalId }))).toEqual(details);
    const kept = await dataOf(put(`${path}/${id}`, { metadata: { b: '3' } }));
    expect(kept).toMatchObject({ externalId, metadata: { b: '3' } });
    expect(kept.metadata).not.toHaveProperty('a');
    const removed = await dataOf(put(`${path}/${id}`, { externalId: null }));
    expect(removed).toMatchObject({ externalId: null, metadata: { b: '3' } });
    expect(await dataOf(put(`${path}/${otherId}`, { externalId }))).toMatchObject({
      id: otherId,
      externalId,
    });
    expect((await dataOf(call('GET', byExternalId(one, externalId)))).id).toBe(otherId);
  });

  it('is audited, with the metadata', async () => {
    const values = { externalId: unique('AUDIT'), metadata: { a: '1' } };
    const { id } = await dataOf(create(one, values), 201);
    await put(`${path}/${id}`, { externalId: null, metadata: {} });
    const query = `filter[resource]=${resource}&filter[resourceId]=${id}&sort=id:asc`;
    expect(await dataOf(call('GET', `/audit?${query}`))).toMatchObject([
      { after: values },
      { before: values, after: { externalId: null, metadata: {} } },
    ]);
  });

  it('and its metadata filter lists', async () => {
    const externalId = unique('FILTER');
    const region = unique('region');
    const first = await dataOf(create(one, { externalId, metadata: { region, tier: 'a,b' } }), 201);
    const second = await dataOf(create(one, { metadata: { region } }), 201);
    const [id, otherId] = [first.id, second.id];
    const found = async (query: string) => idsOf(await call('GET', `${path}?${query}`));
    expect(await found(`filter[externalId]=${externalId}`)).toEqual([id]);
    expect(await found(`filter[externalId][in]=${externalId},none`)).toEqual([id]);
    expect(await found(`filter[externalId][startswith]=${externalId}`)).toEqual([id]);
    expect(await found(`filter[metadata][region]=${region}`)).toEqual([otherId, id]);
    expect(await found(`filter[metadata][region]=${region}&sort=id:asc&limit=1`)).toEqual([id]);
    expect(await found(`filter[metadata][region]=${region}&filter[metadata][tier]=a,b`)).toEqual([id]);
    expect(await found(`filter[metadata][region]=${region}&filter[externalId][isnull]=true`)).toEqual([
      otherId,
    ]);
    expect(await found(`filter[metadata][region]=${region.toUpperCase()}`)).toEqual([]);
    expect(await found(`filter[metadata][other]=${region}`)).toEqual([]);
  });

  it('is given to one of ten concurrent creates', async () => {
    const externalId = unique('RACE');
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(one, { externalId })));
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    const details = { resource, field: 'externalId', id: created[0]?.body.data.id };
    for (const answer of answers.filter(({ status }) => status !== 201))
      expect(duplicateOf(answer)).toEqual(details);
    expect((await call('GET', `${path}?filter[externalId]=${externalId}`)).body.pagination.total).toBe(1);
  });
});

describe.each(RESOURCES.filter(({ isUpserted }) => isUpserted))(
  'PUT by the external id of a $resource',
  (one) => {
    const { resource, body, change } = one;

    it('creates it, and then changes the fields sent', async () => {
      const externalId = unique('UP/1');
      const address = byExternalId(one, externalId);
      const created = await dataOf(put(address, { ...body(), metadata: { a: '1' } }), 201);
      expect(created.externalId).toBe(externalId);
      const same = await dataOf(put(byExternalId(one, ` ${externalId}`), body()));
      expect(same).toMatchObject({ id: created.id, externalId, metadata: { a: '1' } });
      const query = `filter[resource]=${resource}&filter[resourceId]=${created.id}&sort=id:asc`;
      const audited = await dataOf(call('GET', `/audit?${query}`));
      expect(audited.map(({ action }: { action: string }) => action)).toEqual([
        `${resource}.create`,
        `${resource}.change`,
      ]);
    });

    it('refuses an external id in the body, and a body that a create would refuse', async () => {
      const address = byExternalId(one, unique('UP'));
      expect(wrongFields(await put(address, { ...body(), externalId: 'X' }))).toEqual(['externalId']);
      expect(wrongFields(await put(address, {})).length).toBeGreaterThan(0);
    });

    it('creates one for ten concurrent requests, which all succeed', async () => {
      const address = byExternalId(one, unique('UPRACE'));
      const same = body();
      const answers = await Promise.all(Array.from({ length: 10 }, () => put(address, same)));
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
      expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(1);
    });

    it('with If-Match changes the version that the caller has read, and no other one', async () => {
      const address = byExternalId(one, unique('ETAG'));
      const [first, second] = [body(), { ...body(), ...change }];
      const missing = await put(address, first, '*');
      expect([missing.status, missing.body.error?.details.fields[0].path]).toEqual([412, 'If-Match']);
      expect((await call('GET', address)).status).toBe(404);
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
  },
);

it('PUT by external id needs customers:create only to create a customer', async () => {
  const { key } = await newApiKey(service, ['customers:change']);
  const externalId = unique('RIGHT');
  const body = { firstName: 'A', lastName: 'B', phone: '+254711000001' };
  const asKey = () => call('PUT', `/customers/by-external-id/${externalId}`, body, { token: key });
  expect((await asKey()).body.error).toMatchObject({
    code: 'FORBIDDEN',
    details: { permission: 'customers:create' },
  });
  await newCustomer(service, { externalId });
  expect((await asKey()).status).toBe(200);
});
