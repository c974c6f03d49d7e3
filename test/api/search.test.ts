import { beforeAll, describe, expect, it } from 'vitest';
import {
  dataOf,
  move,
  newAccount,
  newApiKey,
  newCustomer,
  pay,
  setToday,
  useService,
  wrongFields,
} from '../support/harness.ts';

const service = useService();
let customerId: number;
let account: { id: number; accountNumber: string };
let paymentId: number;
let invoice: { id: number; number: string };

beforeAll(async () => {
  const fields = { firstName: 'Wanjiru', lastName: 'Kamau', phone: '+254720111222', externalId: 'CRM-77/a' };
  customerId = (await newCustomer(service, fields)).id;
  await newCustomer(service, { firstName: 'Njeri', lastName: 'Wanjirukamau' });
  await newCustomer(service, { firstName: 'Émilie', lastName: 'Akamau' });
  account = await newAccount(service, { customerId, externalId: 'LOAN_77' });
  paymentId = (await pay(service, account.id, 100, { transactionRef: 'QKX 77 ref', externalId: 'PAY77' })).id;
  await pay(service, account.id, 1, { transactionRef: 'CRM-77/a' });
  const items = [{ description: 'Cable', quantity: 1, unitPrice: 1 }];
  invoice = (await service.call('POST', '/invoices', { accountId: account.id, items })).body.data;
});

async function search(q: string, query = '', token?: string) {
  const path = `/search?q=${encodeURIComponent(q)}${query}`;
  return dataOf(service.call('GET', path, undefined, token === undefined ? {} : { token }));
}
const titles = async (q: string, query = '') =>
  (await search(q, query)).map(({ title }: { title: string }) => title);

describe('GET /search', () => {
  it.each(['1 2', '..', "''"])('says how many payments match the text %s, which has no word', async (q) => {
    for (const last of ['A', 'B', 'C']) await pay(service, account.id, 1, { transactionRef: `${q} ${last}` });
    const answer = await service.call('GET', `/search?q=${encodeURIComponent(q)}&limit=1`);
    expect(answer.status).toBe(200);
    expect(answer.body.total).toBeGreaterThanOrEqual(answer.body.data.length);
  });

  it('says how many rows match, also if it does not return all', async () => {
    for (let left = 45; left > 0; left -= 1)
      await newCustomer(service, { firstName: 'Zipporah', lastName: `N${left}` });
    const answer = async (query: string) =>
      (await service.call('GET', `/search?q=zipporah&types=customer${query}`)).body;
    for (const [query, shown] of [
      ['', 20],
      ['&limit=5', 5],
    ] as const) {
      const { data, total } = await answer(query);
      expect([data.length, total]).toEqual([shown, 45]);
    }
    expect((await service.call('GET', '/search?q=Zipporah%20N45')).body).toMatchObject({ total: 1 });
    expect((await service.call('GET', '/search?q=nobody%20at%20all')).body).toMatchObject({
      data: [],
      total: 0,
    });
  });

  it.each([
    ['Wanjiru Kamau', 'name', 'exact'],
    ['KAMAU  wanjirù', 'name', 'exact'],
    ['kam wan', 'name', 'prefix'],
    ['wa', 'name', 'prefix'],
    ['0720 111 222', 'phone', 'exact'],
    ['+254 (720) 111-222', 'phone', 'exact'],
    ['254720111222', 'phone', 'exact'],
    ['0720-111', 'phone', 'prefix'],
    ['+25472011', 'phone', 'prefix'],
    ['CRM-77/a', 'externalId', 'exact'],
    ['CRM-77', 'externalId', 'prefix'],
  ])('finds a customer by "%s"', async (q, matchedOn, match) => {
    const [first] = await search(q, '&types=customer');
    expect(first).toEqual({
      type: 'customer',
      id: customerId,
      title: 'Wanjiru Kamau',
      subtitle: '+254720111222',
      status: null,
      externalId: 'CRM-77/a',
      matchedOn,
      match,
      account: {
        id: account.id,
        accountNumber: account.accountNumber,
        status: 'active',
        productName: 'Home system 40 W',
        daysPastDue: 0,
      },
      accountCount: 1,
    });
  });

  it('shows of a customer the account that is late for the longest time, or else the newest one that is not closed', async () => {
    setToday(service, '2026-11-18');
    const { id } = await newCustomer(service, { firstName: 'Khadija', lastName: 'Several' });
    const shown = async () => (await search('khadija several'))[0];
    expect(await shown()).toMatchObject({ account: null, accountCount: 0 });
    const open = await newAccount(service, { customerId: id, activationDate: '2026-11-18', productId: 2 });
    const cancelled = await newAccount(service, { customerId: id, activationDate: '2026-11-18' });
    await move(service, cancelled.id, 'cancelled');
    expect(await shown()).toMatchObject({
      account: { id: open.id, productName: 'Home system 120 W with television', daysPastDue: 0 },
      accountCount: 2,
    });
    const late = await newAccount(service, { customerId: id, activationDate: '2026-10-01' });
    await newAccount(service, { customerId: id, activationDate: '2026-11-10' });
    const { daysPastDue } = await dataOf(service.call('GET', `/accounts/${late.id}`));
    expect(daysPastDue).toBeGreaterThan(40);
    const expected = { id: late.id, accountNumber: late.accountNumber, status: 'active', daysPastDue };
    expect(await shown()).toMatchObject({ account: expected, accountCount: 4 });
    expect((await search(late.accountNumber))[0]).toMatchObject({ account: expected, accountCount: null });
  });

  it('finds an account by its number in any spelling, by the beginning of it, and by its external id', async () => {
    const number = account.accountNumber;
    const found = {
      type: 'account',
      id: account.id,
      title: number,
      subtitle: 'Wanjiru Kamau',
      status: 'active',
    };
    const digits = number.slice(3);
    for (const q of [number, number.toLowerCase(), digits, `acc ${digits.slice(0, 4)} ${digits.slice(4)}`])
      expect((await search(q))[0], q).toMatchObject({ ...found, matchedOn: 'accountNumber', match: 'exact' });
    for (const q of [number.slice(0, -1), number.slice(0, 6), digits.slice(0, 3)])
      expect(await search(q), q).toContainEqual(
        expect.objectContaining({ ...found, matchedOn: 'accountNumber', match: 'prefix' }),
      );
    expect(await search('LOAN_77')).toMatchObject([{ ...found, matchedOn: 'externalId', match: 'exact' }]);
    expect(await search('LOAN_')).toMatchObject([{ ...found, matchedOn: 'externalId', match: 'prefix' }]);
    expect(await search('loan_77')).toEqual([]);
  });

  it('finds a payment by its reference in any spelling, by the beginning of it, and by its external id', async () => {
    const found = {
      type: 'payment',
      id: paymentId,
      title: 'QKX 77 ref',
      subtitle: account.accountNumber,
      status: 'matched',
    };
    expect(await search('qkx77REF')).toMatchObject([
      { ...found, matchedOn: 'transactionRef', match: 'exact' },
    ]);
    expect(await search('QKX7')).toMatchObject([{ ...found, matchedOn: 'transactionRef', match: 'prefix' }]);
    expect(await search('PAY77')).toMatchObject([{ ...found, matchedOn: 'externalId', match: 'exact' }]);
  });

  it('finds an invoice by its number and by the beginning of it', async () => {
    const found = { type: 'invoice', id: invoice.id, title: invoice.number, subtitle: 'Wanjiru Kamau' };
    expect(await search(invoice.number.toLowerCase())).toMatchObject([{ ...found, match: 'exact' }]);
    expect(await search('INV-')).toMatchObject([{ ...found, matchedOn: 'number', match: 'prefix' }]);
  });

  it('puts whole values before beginnings, and beginnings before parts', async () => {
    await newCustomer(service, { firstName: 'Kamau', lastName: 'Kamau' });
    const found = await titles('kamau', '&types=customer');
    expect(found.slice(0, 2).toSorted()).toEqual(['Kamau Kamau', 'Wanjiru Kamau']);
    expect(found.slice(2).toSorted()).toEqual(['Njeri Wanjirukamau', 'Émilie Akamau'].toSorted());
    await pay(service, account.id, 1, { externalId: 'kamau' });
    expect((await search('kamau'))[0]).toMatchObject({ type: 'payment', match: 'exact' });
    expect(await titles('crm-77/a', '&types=customer')).toEqual([]);
  });

  it('returns each row once, and at most as many as asked for', async () => {
    for (let i = 0; i < 25; i++) await newCustomer(service, { firstName: 'Many', lastName: `Name${i}` });
    expect(await titles('many')).toHaveLength(20);
    expect(await titles('many name', '&limit=3')).toHaveLength(3);
    expect(await titles('720111222')).toEqual(['Wanjiru Kamau']);
  });

  it.each(['%%', '__', '\\\\', "' or 1=1", 'no such thing', '0799 999 999', '\u{10FFFD}x'])(
    'finds nothing for "%s"',
    async (q) => {
      expect(await search(q)).toEqual([]);
    },
  );

  it('searches only the types asked for', async () => {
    const typesOf = async (types: string) =>
      (await search('CRM-77/a', types)).map(({ type }: { type: string }) => type);
    expect(await typesOf('')).toEqual(['customer', 'payment']);
    expect(await typesOf('&types=payment,invoice')).toEqual(['payment']);
    expect(await typesOf('&types=account')).toEqual([]);
  });

  it('refuses a text that is too short, too long or blank, and unknown types', async () => {
    const refused = async (query: string) => wrongFields(await service.call('GET', `/search?${query}`));
    expect(await refused('')).toEqual(['q']);
    expect(await refused('q=a')).toEqual(['q']);
    expect(await refused('q=%20%20')).toEqual(['q']);
    expect(await refused(`q=${'a'.repeat(101)}`)).toEqual(['q']);
    expect(await refused('q=ab&types=user&limit=21')).toEqual(['limit', 'types']);
  });

  it('leaves out the types and names that the caller may not read', async () => {
    const { key } = await newApiKey(service, ['accounts:read', 'payments:read']);
    const typesOf = async (q: string) => (await search(q, '', key)).map(({ type }: { type: string }) => type);
    expect(await typesOf('Wanjiru')).toEqual([]);
    expect(await typesOf('CRM-77/a')).toEqual(['payment']);
    expect(await typesOf(invoice.number)).toEqual([]);
    expect(await search('LOAN_77', '', key)).toMatchObject([
      { type: 'account', subtitle: null, account: { id: account.id, productName: null } },
    ]);
    const token = await service.signInAs('viewer');
    expect((await search('LOAN_77', '', token))[0].subtitle).toBe('Wanjiru Kamau');
  });
});

describe('GET /accounts?search=', () => {
  const found = async (text: string, token?: string) => {
    const answer = await service.call(
      'GET',
      `/accounts?sort=id:asc&search=${encodeURIComponent(text)}`,
      undefined,
      {
        ...(token !== undefined && { token }),
      },
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.pagination.total).toBe(answer.body.data.length);
    return answer.body.data.map(({ id }: { id: number }) => id);
  };

  it('finds the accounts of the customers that the text finds, and the accounts whose number begins with it', async () => {
    const { id: customerId } = await newCustomer(service, {
      firstName: 'Zawadi',
      lastName: "Ng'ang'a",
      phone: '+254720999888',
    });
    const accounts = [
      await newAccount(service, { customerId }),
      await newAccount(service, { customerId }),
    ] as const;
    const ids = accounts.map(({ id }) => id);
    for (const text of ['zawadi nganga', 'NGANG zaw', '0720 999 888', '720999'])
      expect(await found(text), text).toEqual(ids);
    const { accountNumber } = accounts[1];
    expect(await found(accountNumber)).toEqual([ids[1]]);
    expect(await found(accountNumber.slice(0, -1))).toEqual([ids[1]]);
    expect(await found(accountNumber.slice(0, -2))).toEqual(expect.arrayContaining(ids));
    expect(await found('nobody at all')).toEqual([]);
    expect(await found('%')).toEqual([]);
  });

  it('searches customers only for a word of at least three characters, because shorter ones would read all customers', async () => {
    const { id: customerId } = await newCustomer(service, { firstName: 'Xu', lastName: 'Xochitl' });
    const { id } = await newAccount(service, { customerId });
    for (const text of ['xu', 'x', 'xu xo']) expect(await found(text), text).toEqual([]);
    for (const text of ['xoc', 'xu xoc', 'xochitl x']) expect(await found(text), text).toEqual([id]);
  });

  it('finds all accounts for a blank text, and combines the text with filters', async () => {
    const all = (await service.call('GET', '/accounts')).body.pagination.total;
    expect((await service.call('GET', '/accounts?search=%20')).body.pagination.total).toBe(all);
    const query = '/accounts?search=wanjiru&filter[status]=cancelled';
    expect((await service.call('GET', query)).body.data).toEqual([]);
  });

  it('searches only account numbers for a caller who may not read customers', async () => {
    const { key } = await newApiKey(service, ['accounts:read']);
    expect(await found('wanjiru kamau', key)).toEqual([]);
    expect(await found(account.accountNumber, key)).toEqual([account.id]);
  });
});
