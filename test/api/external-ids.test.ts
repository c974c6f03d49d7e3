import { beforeAll, describe, expect, it } from 'vitest';
import {
  accountNow,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  pay,
  reverse,
  startInstanceForTest,
  statementsOf,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';

const service = useService();
const call: typeof service.call = (...given) => service.call(...given);

let count = 0;
const unique = (prefix: string) => {
  count += 1;
  return `${prefix}-${count}`;
};

interface Kind {
  resource: string;
  path: string;
  /** A body that a POST accepts. */
  body(): Promise<object>;
  /** Whether it has an upsert. */
  upsert: boolean;
}

let customerId: number;
let accountId: number;
beforeAll(async () => {
  customerId = (await newCustomer(service)).id;
  accountId = (await newAccount(service, { customerId })).id;
});

const KINDS: Kind[] = [
  {
    resource: 'customer',
    path: '/customers',
    body: async () => ({ firstName: 'A', lastName: 'B', phone: '+254711000001' }),
    upsert: true,
  },
  {
    resource: 'product',
    path: '/products',
    body: async () => ({ sku: unique('SKU'), name: 'Lamp', category: 'lamp', price: 10 }),
    upsert: true,
  },
  { resource: 'employee', path: '/employees', body: async () => ({ name: 'E' }), upsert: true },
  {
    resource: 'account',
    path: '/accounts',
    body: async () => ({ customerId, productId: 1, payplanId: 2 }),
    upsert: false,
  },
  {
    resource: 'payment',
    path: '/payments',
    body: async () => ({ accountId, amount: 10, paymentMethodId: 2 }),
    upsert: false,
  },
];

async function create({ path, body }: Kind, fields: object): Promise<Answer> {
  return call('POST', path, { ...(await body()), ...fields });
}

const byExternalId = ({ path }: Kind, externalId: string) =>
  call('GET', `${path}/by-external-id/${encodeURIComponent(externalId)}`);

const idsOf = (answer: Answer) => answer.body.data.map(({ id }: { id: number }) => id);

function expectDuplicate(answer: Answer, resource: string, id: number): void {
  expect(answer.status, answer.text).toBe(409);
  expect(answer.body.error).toMatchObject({
    code: 'DUPLICATE_ENTRY',
    details: { resource, field: 'externalId', id },
  });
}

describe.each(KINDS)('the external id of a $resource', (kind) => {
  const { resource, path } = kind;

  it('is stored without blanks around it, shown, and found by its exact spelling', async () => {
    const externalId = unique('Ext/ö 1?#');
    const { status, body, text } = await create(kind, {
      externalId: `  ${externalId} `,
      metadata: { region: 'north', 'k.2': '' },
    });
    expect(status, text).toBe(201);
    expect(body.data).toMatchObject({ externalId, metadata: { region: 'north', 'k.2': '' } });
    const found = await byExternalId(kind, externalId);
    expect(found.status, found.text).toBe(200);
    expect(found.body.data).toEqual((await call('GET', `${path}/${body.data.id}`)).body.data);
    const other = await byExternalId(kind, externalId.toLowerCase());
    expect(other.body.error).toMatchObject({
      code: 'NOT_FOUND',
      details: { resource, field: 'externalId', id: externalId.toLowerCase() },
    });
  });

  it('is null, and the metadata empty, if neither was sent', async () => {
    expect((await create(kind, {})).body.data).toMatchObject({ externalId: null, metadata: {} });
    expect((await create(kind, { externalId: null })).body.data).toMatchObject({ externalId: null });
  });

  it('is refused if another resource has it, with the id of that resource', async () => {
    const externalId = unique('DUP');
    const first = await create(kind, { externalId });
    expectDuplicate(await create(kind, { externalId: ` ${externalId}` }), resource, first.body.data.id);
    expect((await create(kind, { externalId: externalId.toLowerCase() })).status).toBe(201);
  });

  it('is found and refused in composed and decomposed Unicode', async () => {
    const externalId = unique('\u00c9');
    const { body } = await create(kind, { externalId: externalId.normalize('NFD') });
    expect(body.data.externalId).toBe(externalId);
    expect((await byExternalId(kind, externalId.normalize('NFD'))).body.data.id).toBe(body.data.id);
    expect((await create(kind, { externalId })).status).toBe(409);
  });

  it('is refused if it is empty, too long, or has invisible characters', async () => {
    for (const externalId of ['', '  ', 'x'.repeat(101), 'a\u200bb', 'a\nb', '\ud800', 5])
      expect(wrongFields(await create(kind, { externalId })), String(externalId)).toEqual(['externalId']);
    const longest = `${'x'.repeat(90)}${unique('-')}`.padEnd(100, 'ß');
    expect((await create(kind, { externalId: longest })).status).toBe(201);
    expect((await byExternalId(kind, longest)).status).toBe(200);
  });

  it('refuses metadata with wrong keys or values, and more than 20 keys', async () => {
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
      expect(wrongFields(await create(kind, { metadata })), JSON.stringify(metadata)).toEqual([field]);
    const most = { ...keys, k20: undefined, k1: 'x'.repeat(500) };
    expect((await create(kind, { metadata: most })).status).toBe(201);
  });

  it('can be changed and removed, and another one may have it afterwards', async () => {
    const externalId = unique('MOVE');
    const { id } = (await create(kind, { externalId, metadata: { a: '1', b: '2' } })).body.data;
    const { id: otherId } = (await create(kind, {})).body.data;
    expectDuplicate(await call('PUT', `${path}/${otherId}`, { externalId }), resource, id);
    const kept = await call('PUT', `${path}/${id}`, { metadata: { b: '3' } });
    expect(kept.body.data, kept.text).toMatchObject({ externalId, metadata: { b: '3' } });
    expect(kept.body.data.metadata).not.toHaveProperty('a');
    const removed = await call('PUT', `${path}/${id}`, { externalId: null });
    expect(removed.body.data).toMatchObject({ externalId: null, metadata: { b: '3' } });
    const moved = await call('PUT', `${path}/${otherId}`, { externalId });
    expect(moved.body.data, moved.text).toMatchObject({ id: otherId, externalId });
    expect((await byExternalId(kind, externalId)).body.data.id).toBe(otherId);
  });

  it('is audited, with the metadata', async () => {
    const externalId = unique('AUDIT');
    const { id } = (await create(kind, { externalId, metadata: { a: '1' } })).body.data;
    await call('PUT', `${path}/${id}`, { externalId: null, metadata: {} });
    const { body } = await call(
      'GET',
      `/audit?filter[resource]=${resource}&filter[resourceId]=${id}&sort=id:asc`,
    );
    const values = { externalId, metadata: { a: '1' } };
    expect(body.data).toMatchObject([
      { after: values },
      { before: values, after: { externalId: null, metadata: {} } },
    ]);
  });

  it('and its metadata filter lists', async () => {
    const externalId = unique('FILTER');
    const region = unique('region');
    const [one, two] = [
      (await create(kind, { externalId, metadata: { region, tier: 'a,b' } })).body.data.id,
      (await create(kind, { metadata: { region } })).body.data.id,
    ];
    const found = async (query: string) => idsOf(await call('GET', `${path}?${query}`));
    expect(await found(`filter[externalId]=${externalId}`)).toEqual([one]);
    expect(await found(`filter[externalId][in]=${externalId},none`)).toEqual([one]);
    expect(await found(`filter[externalId][startswith]=${externalId}`)).toEqual([one]);
    expect(await found(`filter[metadata][region]=${region}`)).toEqual([two, one]);
    expect(await found(`filter[metadata][region]=${region}&sort=id:asc&limit=1`)).toEqual([one]);
    expect(await found(`filter[metadata][region]=${region}&filter[metadata][tier]=a,b`)).toEqual([one]);
    expect(await found(`filter[metadata][region]=${region}&filter[externalId][isnull]=true`)).toEqual([two]);
    expect(await found(`filter[metadata][region]=${region.toUpperCase()}`)).toEqual([]);
    expect(await found(`filter[metadata][other]=${region}`)).toEqual([]);
  });

  it('refuses a metadata filter without a key, with a wrong key, and one given twice', async () => {
    const refused = async (query: string) => wrongFields(await call('GET', `${path}?${query}`));
    expect(await refused('filter[metadata]=north')).toEqual(['filter[metadata][eq]']);
    expect(await refused('filter[metadata][1x]=north')).toEqual(['filter[metadata][1x]']);
    expect(await refused('filter[metadata][a]=1&filter[metadata][a]=2')).toEqual(['filter[metadata][a]']);
    expect(await refused('sort=metadata')).toEqual(['sort']);
  });

  it('is given to one of ten concurrent creates', async () => {
    const externalId = unique('RACE');
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(kind, { externalId })));
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectDuplicate(answer, resource, created[0]?.body.data.id);
    expect((await call('GET', `${path}?filter[externalId]=${externalId}`)).body.pagination.total).toBe(1);
  });
});

describe.each(KINDS.filter(({ upsert }) => upsert))('PUT by the external id of a $resource', (kind) => {
  const { path, resource } = kind;
  const put = (externalId: string, body: object) =>
    call('PUT', `${path}/by-external-id/${encodeURIComponent(externalId)}`, body);

  it('creates it, and then changes the fields sent', async () => {
    const externalId = unique('UP/1');
    const body = { ...(await kind.body()), metadata: { a: '1' } };
    const created = await put(externalId, body);
    expect([created.status, created.body.data.externalId], created.text).toEqual([201, externalId]);
    const same = await put(` ${externalId}`, await kind.body());
    expect(same.status, same.text).toBe(200);
    expect(same.body.data).toMatchObject({ id: created.body.data.id, externalId, metadata: { a: '1' } });
    const { body: audit } = await call(
      'GET',
      `/audit?filter[resource]=${resource}&filter[resourceId]=${created.body.data.id}&sort=id:asc`,
    );
    expect(audit.data.map(({ action }: { action: string }) => action)).toEqual([
      `${resource}.create`,
      `${resource}.change`,
    ]);
  });

  it('refuses an external id in the body, and a body that a create would refuse', async () => {
    const body = { ...(await kind.body()), externalId: 'X' };
    expect(wrongFields(await put(unique('UP'), body))).toEqual(['externalId']);
    expect(wrongFields(await put(unique('UP'), {})).length).toBeGreaterThan(0);
  });

  it('creates one for ten concurrent requests, which all succeed', async () => {
    const externalId = unique('UPRACE');
    const body = await kind.body();
    const answers = await Promise.all(Array.from({ length: 10 }, () => put(externalId, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
    expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(1);
  });
});

it('PUT by external id needs customers:create only to create a customer', async () => {
  const { key } = await newApiKey(service, ['customers:change']);
  const externalId = unique('RIGHT');
  const body = { firstName: 'A', lastName: 'B', phone: '+254711000001' };
  const put = () => call('PUT', `/customers/by-external-id/${externalId}`, body, { token: key });
  expect((await put()).body.error).toMatchObject({
    code: 'FORBIDDEN',
    details: { permission: 'customers:create' },
  });
  await newCustomer(service, { externalId });
  expect((await put()).status).toBe(200);
});

describe('a payment with an external id', () => {
  const record = (fields: object) =>
    call('POST', '/payments', { accountId, amount: 10, paymentMethodId: 2, ...fields });

  it('is recorded once among ten in one batch, and the others of the batch are recorded', async () => {
    const before = (await accountNow(service, accountId)).paid;
    const externalId = unique('BATCH');
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => record({ externalId })),
      ...Array.from({ length: 10 }, () => record({ externalId: unique('BESIDE') })),
      ...Array.from({ length: 10 }, () => record({})),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.slice(0, 10).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(statuses.slice(10)).toEqual(Array(20).fill(201));
    expect((await accountNow(service, accountId)).paid).toBe(before + 210);
  });

  it('is recorded once among ten that two instances receive', async () => {
    const second = await startInstanceForTest(service);
    const externalId = unique('INSTANCES');
    const body = { accountId, amount: 10, paymentMethodId: 2, externalId };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        at % 2
          ? record({ externalId })
          : second.call('POST', '/payments', body, { token: service.adminToken }),
      ),
    );
    const [won] = answers.filter(({ status }) => status === 201);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    for (const answer of answers.filter(({ status }) => status === 409))
      expectDuplicate(answer, 'payment', won?.body.data.id);
  });

  it('is recorded or changed, but not both, when both happen at once', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await pay(service, accountId, 10);
      const externalId = unique('BOTH');
      const answers = await Promise.all([
        record({ externalId }),
        call('PUT', `/payments/${id}`, { externalId }),
      ]);
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
    }
  });

  it('gets the same answer for a repeat with its Idempotency-Key', async () => {
    const body = {
      accountId,
      amount: 10,
      paymentMethodId: 2,
      externalId: unique('KEY'),
      metadata: { a: '1' },
    };
    const options = { headers: { 'idempotency-key': unique('key') } };
    const first = await call('POST', '/payments', body, options);
    const again = await call('POST', '/payments', body, options);
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
  });

  it('keeps its external id after a reversal, until that is removed', async () => {
    const externalId = unique('REVERSED');
    const { id } = (await record({ externalId })).body.data;
    expect(await reverse(service, id)).toMatchObject({ externalId });
    expectDuplicate(await record({ externalId }), 'payment', id);
    await call('PUT', `/payments/${id}`, { externalId: null });
    expect((await record({ externalId })).status).toBe(201);
  });

  it('asks PostgreSQL about external ids only if one was sent', async () => {
    const asked = async (fields: object) => {
      const statements = await statementsOf(() => record(fields));
      return statements.filter(({ text }) => text.includes('external_id = any')).length;
    };
    expect(await asked({})).toBe(0);
    expect(await asked({ externalId: unique('ASKED') })).toBe(1);
  });

  it('can be given by staff to a payment that the provider reported', async () => {
    const { accountNumber } = await newAccount(service);
    const sent = await notify(service, notification({ BillRefNumber: accountNumber }));
    const { paymentId } = sent.body.data;
    expect((await call('GET', `/payments/${paymentId}`)).body.data).toMatchObject({
      externalId: null,
      metadata: {},
    });
    const externalId = unique('PROVIDER');
    const changed = await call('PUT', `/payments/${paymentId}`, { externalId, metadata: { till: '1' } });
    expect(changed.body.data).toMatchObject({
      id: paymentId,
      externalId,
      metadata: { till: '1' },
      amount: 400,
    });
    expect((await call('PUT', '/payments/999999', { externalId })).status).toBe(404);
  });
});
