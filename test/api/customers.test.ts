import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { foldForSearch, searchKey } from '../../src/customers/rules.ts';
import { dataOf, newAccount, newCustomer, useService, wrongFields } from '../support/harness.ts';

const service = useService();
const PERSON = { firstName: 'A', lastName: 'B', phone: '+254711000002' };

describe('POST /customers', () => {
  it('registers a customer and returns the fields sent', async () => {
    const body = {
      firstName: 'Ayanda',
      lastName: 'ወልደ',
      email: 'ayanda@example.com',
      phone: '+254711000001',
      nationalId: 'A 1234/56',
    };
    const { status, body: answer } = await service.call('POST', '/customers', body);
    expect(status).toBe(201);
    expect(answer).toMatchObject({ success: true, data: body });
    const again = await service.call('GET', `/customers/${answer.data.id}`);
    expect(again.body.data).toEqual(answer.data);
  });

  it('accepts a customer without e-mail and national id, or with null', async () => {
    expect(await newCustomer(service, PERSON)).toMatchObject({ email: null, nationalId: null });
    expect(await newCustomer(service, { email: null, nationalId: null })).toMatchObject({
      email: null,
      nationalId: null,
    });
  });

  it.each([
    ['0712 345 678', '+254712345678'],
    ['+1 555 010 9999', '+15550109999'],
  ])('converts the phone number %s to the international form', async (phone, international) => {
    expect((await newCustomer(service, { phone })).phone).toBe(international);
  });

  it.each(['+25471234567'])(
    'refuses the home number %j in every call that enters or changes a phone',
    async (phone) => {
      const { id } = await newCustomer(service);
      const { id: employeeId } = await dataOf(service.call('POST', '/employees', { name: 'Agent' }), 201);
      const { id: accountId } = await newAccount(service, { customerId: id });
      for (const [method, path, body] of [
        ['POST', '/customers', { ...PERSON, phone }],
        ['PUT', `/customers/${id}`, { phone }],
        ['PUT', '/customers/by-external-id/CRM-PHONE', { ...PERSON, phone }],
        ['POST', '/employees', { name: 'Agent', phone }],
        ['PUT', `/employees/${employeeId}`, { phone }],
        ['PUT', '/employees/by-external-id/HR-PHONE', { name: 'Agent', phone }],
        ['POST', `/accounts/${accountId}/payment-requests`, { amount: 400, phone }],
      ] as const) {
        expect(wrongFields(await service.call(method, path, body)), `${method} ${path}`).toEqual(['phone']);
      }
      const bulk = await service.call('POST', '/customers/bulk', { items: [{ ...PERSON, phone }] });
      expect(bulk.body.data.items[0].error).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { fields: [{ path: 'phone' }] },
      });
    },
  );

  it('keeps a stored number that is not a phone number when other fields are changed', async () => {
    const { id } = await newCustomer(service, { externalId: 'CRM-STORED' });
    await sql`update customers set phone = '+25471234567' where id = ${id}`.execute(service.context.db);
    const answers = [
      await service.call('PUT', `/customers/${id}`, { lastName: 'New', phone: '+25471234567' }),
      await service.call('PUT', '/customers/by-external-id/CRM-STORED', { ...PERSON, phone: '+25471234567' }),
    ];
    for (const answer of answers) {
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body.data.phone).toBe('+25471234567');
    }
    expect(wrongFields(await service.call('PUT', `/customers/${id}`, { phone: '+25471234568' }))).toEqual([
      'phone',
    ]);
  });

  it.each(['2547****149', '', 254711000001, null])('refuses the phone number %j', async (phone) => {
    expect(wrongFields(await service.call('POST', '/customers', { ...PERSON, phone }))).toEqual(['phone']);
  });

  it('names every wrong field at once', async () => {
    const answer = await service.call('POST', '/customers', { firstName: 5, email: 'no', phon: '1' });
    expect(wrongFields(answer)).toEqual(['email', 'firstName', 'lastName', 'phon', 'phone']);
  });

  it('accepts several customers with one phone', async () => {
    const { phone } = await newCustomer(service);
    expect((await newCustomer(service, { phone })).phone).toBe(phone);
  });

  it('registers one of ten concurrent duplicates', async () => {
    const body = { ...PERSON, nationalId: 'AT ONCE' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => service.call('POST', '/customers', body)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });
});

describe('POST /customers/check', () => {
  const check = (body: object) => service.call('POST', '/customers/check', body);

  it('applies the rules of POST /customers, and stores nothing', async () => {
    await newCustomer(service, { nationalId: 'CHECK-1' });
    const body = { ...PERSON, lastName: 'Checked', phone: '0712 345 678', nationalId: 'CHECK-2' };
    const answer = await check(body);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ phone: '+254712345678' });
    expect(wrongFields(await check({ ...body, phone: '12' }))).toEqual(['phone']);
    const taken = await check({ ...body, nationalId: 'check 1' });
    expect(taken.body.error).toMatchObject({ code: 'DUPLICATE_ENTRY', details: { field: 'nationalId' } });
    expect((await service.call('GET', '/customers?search=Checked')).body.data).toEqual([]);
    expect((await service.call('POST', '/customers', body)).status).toBe(201);
    for (const field of ['email', 'externalId']) {
      const other = await newCustomer(service, { [field]: `${field}@check.example` });
      const { error } = (await check({ ...PERSON, phone: '0712 345 678', [field]: other[field] })).body;
      expect(error).toMatchObject({ code: 'DUPLICATE_ENTRY', details: { field, id: other.id } });
    }
  });
});

describe('PUT /customers/:id', () => {
  const put = (id: number, body: object) => service.call('PUT', `/customers/${id}`, body);

  it('removes an e-mail or a national id with null, so that another customer may have it', async () => {
    const { id } = await newCustomer(service, { email: 'free@example.com', nationalId: 'FREE 1' });
    expect((await put(id, { email: null, nationalId: null })).body.data).toMatchObject({
      email: null,
      nationalId: null,
    });
    expect((await newCustomer(service, { email: 'free@example.com', nationalId: 'FREE 1' })).email).toBe(
      'free@example.com',
    );
  });

  it('stores a new phone in the international form', async () => {
    const { id } = await newCustomer(service);
    const { body } = await service.call('PUT', `/customers/${id}`, { phone: '0733 000 001' });
    expect(body.data.phone).toBe('+254733000001');
  });

  it('refuses null in a required field', async () => {
    const { id } = await newCustomer(service);
    expect(wrongFields(await put(id, { firstName: null, phone: null, id: 5 }))).toEqual([
      'firstName',
      'id',
      'phone',
    ]);
  });
});

describe('search', () => {
  beforeAll(async () => {
    await newCustomer(service, {
      firstName: 'Émilie',
      lastName: 'Wanjikũ',
      email: 'Searched@Example.com',
      phone: '+254720111222',
      nationalId: 'SRCH-77%_\\',
    });
    await newCustomer(service, { firstName: 'ሰላም', lastName: 'Иванова' });
  });
  const found = async (search: string) => {
    const { body } = await service.call('GET', `/customers?search=${encodeURIComponent(search)}`);
    return body.data.map((row: { firstName: string }) => row.firstName);
  };

  it.each([
    'émilie',
    'EMILIE',
    'wanjiku',
    'jik',
    'searched@',
    '+254720111222',
    '0720111222',
    'srch-77',
    'SRCH-77%_\\',
    'wanjiku emilie',
  ])('finds the customer for "%s"', async (search) => {
    expect(await found(search)).toEqual(['Émilie']);
  });

  it.each([
    ["Ng'ang'a", ['nganga', 'Ng’ang’a']],
    ['Đặng', ['dang']],
    ['J.P. Kiprono', ['jp kiprono', 'j.p.kiprono']],
  ])('finds %s for %j', async (name, searches) => {
    const { id } = await newCustomer(service, { firstName: name, lastName: 'Folded' });
    for (const search of searches) {
      const query = encodeURIComponent(search);
      const listed = (await service.call('GET', `/customers?search=${query}`)).body.data;
      expect(
        listed.map((row: { id: number }) => row.id),
        search,
      ).toContain(id);
      const results = (await service.call('GET', `/search?q=${query}&types=customer`)).body.data;
      expect(
        results.map((row: { id: number }) => row.id),
        search,
      ).toContain(id);
    }
  });

  it.each(['+254 (0)720 111-222', '720 111 222', "'0720111222", '0720-111'])(
    'finds the phone of the customer for "%s"',
    async (search) => {
      expect(await found(search)).toEqual(['Émilie']);
      const { body } = await service.call('GET', `/search?q=${encodeURIComponent(search)}&types=customer`);
      expect(body.data).toMatchObject([{ title: 'Émilie Wanjikũ', matchedOn: 'phone' }]);
    },
  );

  it('folds each text as the database does', async () => {
    const texts = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code + 1)).filter((text) =>
      text.isWellFormed(),
    );
    const folded = [...texts, '\ua78b', '\ua78c'].map((text) => `a${foldForSearch(text)}b`);
    const { rows } = await sql<{ key: string }>`
      select search_key(text) as key from unnest(${folded}::text[]) with ordinality as t (text, at) order by at`.execute(
      service.context.db,
    );
    expect(rows.map(({ key }) => key)).toEqual(folded.map(searchKey));
  });

  it('finds customers that an earlier version writes', async () => {
    await sql`
      insert into customers (first_name, last_name, phone, phone_sha256, search_text)
      values ('Earlier', 'Ng''eno', '+254733111333', '', 'earlier ng''eno +254733111333 0733111333')`.execute(
      service.context.db,
    );
    expect(await found('ngeno')).toEqual(['Earlier']);
  });

  it.each(['ሰላም', 'ИВАНОВА', 'иван'])('finds a name in its script for "%s"', async (search) => {
    expect(await found(search)).toEqual(['ሰላም']);
  });

  it.each(['srch%77', 'srch_77', 'emilie otieno', '\\\\', "'"])(
    'finds no customer for "%s"',
    async (search) => {
      expect(await found(search)).toEqual([]);
    },
  );

  it('returns matches in pages', async () => {
    for (const lastName of ['One', 'Two', 'Three'])
      await newCustomer(service, { firstName: 'Leafed', lastName });
    const { body } = await service.call('GET', '/customers?search=leafed&sort=id:asc&page=2&limit=2');
    expect(body.data.map((row: { lastName: string }) => row.lastName)).toEqual(['Three']);
    expect(body.pagination).toEqual({ page: 2, limit: 2, total: 3, totalPages: 2 });
  });

  it('finds every customer for an empty search', async () => {
    const everybody = await service.call('GET', '/customers');
    const nothing = await service.call('GET', '/customers?search=%20');
    expect(nothing.body.pagination.total).toBe(everybody.body.pagination.total);
  });

  it('finds a renamed customer only by the new name', async () => {
    const { id } = await newCustomer(service, { firstName: 'Oldname' });
    await service.call('PUT', `/customers/${id}`, { firstName: 'Newname' });
    expect(await found('oldname')).toEqual([]);
    expect(await found('newname')).toEqual(['Newname']);
  });
});
