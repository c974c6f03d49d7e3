import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { today } from '../../src/core/context.ts';
import { addDays } from '../../src/core/values/dates.ts';
import { committedDescription } from '../support/api-description.ts';
import {
  move,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  PASSWORD,
  pay,
  setToday,
  statementsOf,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { startReceiver } from '../support/receiver.ts';

/** The list grammar over the wire; reading it is tested in src/core/lists/query.test.ts. */
const service = useService({ WEBHOOKS_OUT_ALLOW: '127.0.0.1', CASH_COUNTS: 'on' });

const list = async (path: string) => {
  const answer = await service.call('GET', path);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
/** The values of one field of all rows. */
const column = async (field: string, path: string) =>
  (await list(path)).data.map((row: Record<string, unknown>) => row[field]);

const encoded = (value: string) => encodeURIComponent(value);

describe('pages', () => {
  beforeAll(async () => {
    for (let i = 0; i < 25; i++)
      await newCustomer(service, { firstName: 'Paged', lastName: String(i).padStart(2, '0') });
  });
  const PAGED = '/customers?filter[firstName]=Paged';

  it('have twenty rows, the newest first, with the exact totals', async () => {
    const page = await list(PAGED);
    expect(page.pagination).toEqual({ page: 1, limit: 20, total: 25, totalPages: 2 });
    expect(page.data).toHaveLength(20);
    expect(page.data[0].lastName).toBe('24');
    expect(Object.keys(page).sort()).toEqual(['data', 'message', 'pagination', 'success']);
  });

  it('together have every row once, for any limit', async () => {
    const everyone = Array.from({ length: 25 }, (_, i) => String(24 - i).padStart(2, '0'));
    for (const limit of [1, 7, 25, 100]) {
      const seen: unknown[] = [];
      const { totalPages } = (await list(`${PAGED}&limit=${limit}`)).pagination;
      expect(totalPages).toBe(Math.ceil(25 / limit));
      for (let page = 1; page <= totalPages; page++) {
        seen.push(...(await column('lastName', `${PAGED}&limit=${limit}&page=${page}`)));
      }
      expect(seen).toEqual(everyone);
    }
  });

  it('past the end are empty, with the exact totals', async () => {
    for (const page of [3, 1_000_000_000]) {
      expect(await list(`${PAGED}&page=${page}`)).toMatchObject({
        data: [],
        pagination: { page, limit: 20, total: 25, totalPages: 2 },
      });
    }
  });

  it('of an empty list have no rows', async () => {
    expect(await list('/customers?filter[firstName]=Nobody')).toMatchObject({
      data: [],
      pagination: { page: 1, total: 0, totalPages: 0 },
    });
  });

  it.each(['page=0', 'page=1.5', 'limit=0', 'limit=101', 'limit=all', 'page=', 'page=1&page=1'])(
    'with %s are refused',
    async (query) => {
      expect(wrongFields(await service.call('GET', `/customers?${query}`))).toEqual([query.split('=', 1)[0]]);
    },
  );
});

describe('sorting', () => {
  it('of text uses byte order, so that every server sorts in the same way', async () => {
    for (const lastName of ['b', 'B', 'a', 'Z', 'é', 'ወ', '_', '10', '9']) {
      await newCustomer(service, { firstName: 'Sorted', lastName });
    }
    const names = await column('lastName', '/customers?filter[firstName]=Sorted&sort=lastName:asc');
    expect(names).toEqual(['10', '9', 'B', 'Z', '_', 'a', 'b', 'é', 'ወ']);
    const reversed = await column('lastName', '/customers?filter[firstName]=Sorted&sort=lastName:desc');
    expect(reversed).toEqual(names.toReversed());
  });

  it('of equal values is by id, in the direction of the last key', async () => {
    for (let i = 0; i < 5; i++) await newCustomer(service, { firstName: 'Equal', lastName: 'Same' });
    const up: number[] = await column('id', '/customers?filter[firstName]=Equal&sort=lastName:asc');
    expect(up).toEqual(up.toSorted((a, b) => a - b));
    expect(await column('id', '/customers?filter[firstName]=Equal&sort=lastName:desc')).toEqual(
      up.toReversed(),
    );
  });

  it('accepts several keys', async () => {
    for (const [firstName, lastName] of [
      ['Keys1', 'b'],
      ['Keys2', 'a'],
      ['Keys1', 'a'],
      ['Keys2', 'b'],
    ]) {
      await newCustomer(service, { firstName, lastName });
    }
    const path = '/customers?filter[firstName][startswith]=Keys&sort=lastName:desc,firstName:asc';
    expect(
      (await list(path)).data.map((row: Record<string, string>) => `${row.lastName}${row.firstName}`),
    ).toEqual(['bKeys1', 'bKeys2', 'aKeys1', 'aKeys2']);
  });

  it('puts rows without a value last, in both directions', async () => {
    for (const email of ['a@null.example', null, 'b@null.example']) {
      await newCustomer(service, { firstName: 'Nulls', ...(email && { email }) });
    }
    const path = '/customers?filter[firstName]=Nulls&sort=email';
    expect(await column('email', `${path}:asc`)).toEqual(['a@null.example', 'b@null.example', null]);
    expect(await column('email', `${path}:desc`)).toEqual(['b@null.example', 'a@null.example', null]);
  });

  it.each(['nmae:asc', 'lastName:up', 'lastName:asc;id', '', 'id:asc:asc'])(
    'by "%s" is refused',
    async (sort) => {
      const answer = await service.call('GET', `/customers?sort=${encoded(sort)}`);
      expect(wrongFields(answer)).toEqual(['sort']);
    },
  );
});

describe('filters of text', () => {
  const ODD = ['50%', '50x', 'a_b', 'axb', 'c\\d', "o'x", 'ÉMILE', 'a,b'];
  beforeAll(async () => {
    for (const lastName of ODD) await newCustomer(service, { firstName: 'Odd', lastName });
  });
  const find = (operator: string, value: string) =>
    column(
      'lastName',
      `/customers?filter[firstName]=Odd&sort=id:asc&filter[lastName][${operator}]=${encoded(value)}`,
    );

  it.each([
    ['eq', '50%', ['50%']],
    ['eq', 'émile', []],
    ['ne', '50%', ODD.slice(1)],
    ['contains', '%', ['50%']],
    ['contains', '_', ['a_b']],
    ['contains', '\\', ['c\\d']],
    ['contains', "'", ["o'x"]],
    ['contains', 'émi', ['ÉMILE']],
    ['contains', '', ODD],
    ['startswith', '50', ['50%', '50x']],
    ['startswith', '%', []],
    ['startswith', 'A', ['a_b', 'axb', 'a,b']],
    ['in', 'axb,50x', ['50x', 'axb']],
    ['nin', 'axb,50x', ODD.filter((name) => name !== 'axb' && name !== '50x')],
    ['gt', 'o', ["o'x", 'ÉMILE']],
    ['lte', '50x', ['50%', '50x']],
    ['isnull', 'true', []],
    ['isnull', 'false', ODD],
  ])('%s "%s" finds %j', async (operator, value, found) => {
    expect(await find(operator, value)).toEqual(found);
  });

  it('that compare use byte order, like sorting', async () => {
    for (const lastName of ['B', 'a', 'Z', 'b']) await newCustomer(service, { firstName: 'Bytes', lastName });
    const path = '/customers?filter[firstName]=Bytes&sort=lastName:asc';
    expect(await column('lastName', `${path}&filter[lastName][lt]=a`)).toEqual(['B', 'Z']);
    expect(await column('lastName', `${path}&filter[lastName][gte]=a`)).toEqual(['a', 'b']);
  });

  it('without an operator mean eq, and several must all match', async () => {
    expect(await column('lastName', '/customers?filter[firstName]=Odd&filter[lastName]=axb')).toEqual([
      'axb',
    ]);
    expect(
      await column(
        'lastName',
        '/customers?filter[firstName]=Odd&filter[lastName][startswith]=a&filter[lastName][ne]=axb',
      ),
    ).toEqual(['a,b', 'a_b']);
  });

  it('treat a date as the whole day of a timestamp, and blanks as part of a text', async () => {
    const { id } = await newCustomer(service);
    // An earlier version stored names as they were sent.
    await sql`update customers set first_name = '  Spaced ' where id = ${id}`.execute(service.context.db);
    const total = async (filter: string) => (await list(`/customers?limit=1&${filter}`)).pagination.total;
    const created = String((await list(`/customers/${id}`)).data.createdAt);
    const day = new Date(created).toLocaleDateString('en-CA', { timeZone: 'Africa/Nairobi' });
    for (const [items, isIn] of [
      [day, 1],
      [`2020-01-01,${day}`, 1],
      [`2020-01-01,${created}`, 1],
      ['2020-01-01', 0],
      ['2020-01-01T00:00:00Z,2020-01-02', 0],
    ] as const) {
      expect(await total(`filter[id]=${id}&filter[createdAt][in]=${items}`), items).toBe(isIn);
      expect(await total(`filter[id]=${id}&filter[createdAt][nin]=${items}`), items).toBe(1 - isIn);
    }
    const everyone = await total('');
    for (const [operator, expected] of [
      ['eq', 1],
      ['in', 1],
      ['nin', everyone - 1],
    ] as const) {
      expect(await total(`filter[firstName][${operator}]=${encoded('  Spaced ')}`), operator).toBe(expected);
    }
  });

  it('find rows without a value only by ne, nin and isnull', async () => {
    await newCustomer(service, { firstName: 'None', email: 'x@none.example' });
    await newCustomer(service, { firstName: 'None' });
    const emails = (test: string) =>
      column('email', `/customers?filter[firstName]=None&sort=id:asc&filter[email]${test}`);
    expect(await emails('[ne]=x@none.example')).toEqual([null]);
    expect(await emails('[nin]=x@none.example')).toEqual([null]);
    expect(await emails('[nin]=y@none.example')).toEqual(['x@none.example', null]);
    expect(await emails('[isnull]=true')).toEqual([null]);
    expect(await emails('[isnull]=false')).toEqual(['x@none.example']);
    expect(await emails('[lt]=y')).toEqual(['x@none.example']);
  });

  it('find rows without a day only by ne, nin and isnull', async () => {
    const { id: accountId } = await newAccount(service);
    const items = [{ description: 'Deposit', quantity: 1, unitPrice: 100 }];
    await service.call('POST', '/invoices', { accountId, items });
    const total = async (test: string) =>
      (await list(`/invoices?filter[accountId]=${accountId}&filter[voidedAt]${test}`)).pagination.total;
    for (const [test, expected] of [
      ['[ne]=2020-01-01', 1],
      ['[nin]=2020-01-01', 1],
      ['[isnull]=true', 1],
      ['[eq]=2020-01-01', 0],
      ['[gt]=2020-01-01', 0],
    ] as const)
      expect(await total(test), test).toBe(expected);
  });

  it('cannot inject SQL', async () => {
    for (const value of ["'; drop table customers; --", '$1', '\\', '%00', "' or ''='"]) {
      const answer = await service.call(
        'GET',
        `/customers?filter[firstName]=Odd&filter[lastName]=${encoded(value)}`,
      );
      expect(answer.body.data).toEqual([]);
    }
  });
});

describe('filters of numbers, amounts, dates, values and flags', () => {
  let accountId: number;
  beforeAll(async () => {
    setToday(service, '2026-03-02');
    accountId = (await newAccount(service)).id;
    const payments = [
      { amount: 0.5, paymentDate: '2026-02-01', paymentMethodId: 2, transactionRef: 'p1' },
      { amount: 100, paymentDate: '2026-02-15', paymentMethodId: 3, transactionRef: 'p2' },
      { amount: 100.01, paymentDate: '2026-03-01', paymentMethodId: 3, transactionRef: 'p3' },
      { amount: 9_999_999.99, paymentDate: '2026-03-02', paymentMethodId: 4, transactionRef: 'p4' },
    ];
    for (const { amount, ...fields } of payments) await pay(service, accountId, amount, fields);
    const last = (await list('/payments?filter[transactionRef]=p4')).data[0];
    await service.call('POST', `/payments/${last.id}/reverse`, { reason: 'for the filters' });
  });
  const find = (tests: string) =>
    column('transactionRef', `/accounts/${accountId}/payments?sort=id:asc&${tests}`);

  it.each([
    ['filter[amount]=100', ['p2']],
    ['filter[amount][gt]=100', ['p3', 'p4']],
    ['filter[amount][gte]=100.00&filter[amount][lt]=9999999.99', ['p2', 'p3']],
    ['filter[amount][in]=0.50,100.01', ['p1', 'p3']],
    ['filter[amount][gt]=-5', ['p1', 'p2', 'p3', 'p4']],
    ['filter[paymentMethodId][ne]=3', ['p1', 'p4']],
    ['filter[paymentMethodId][nin]=2,4', ['p2', 'p3']],
    ['filter[paymentDate]=2026-02-15', ['p2']],
    ['filter[paymentDate][gte]=2026-02-15&filter[paymentDate][lte]=2026-03-01', ['p2', 'p3']],
    ['filter[paymentDate][in]=2026-02-01,2026-03-02', ['p1', 'p4']],
    ['filter[status]=reversed', ['p4']],
    ['filter[status][in]=matched,unmatched', ['p1', 'p2', 'p3']],
    ['filter[status][ne]=reversed', ['p1', 'p2', 'p3']],
    ['filter[source]=webhook', []],
    ['filter[matchMethod][isnull]=true', ['p1', 'p2', 'p3', 'p4']],
    ['filter[accountId][isnull]=true', []],
  ])('%s finds %j', async (tests, found) => {
    expect(await find(tests)).toEqual(found);
  });

  it('find active and inactive rows', async () => {
    await service.context.db.updateTable('products').set({ active: false }).where('id', '=', 2).execute();
    expect(await column('id', '/products?filter[active]=false')).toEqual([2]);
    expect(await column('id', '/products?active=false')).toEqual([2]);
    expect(await column('id', '/products?filter[active][ne]=false&sort=id:asc')).toEqual([1, 3, 4, 5]);
  });

  it.each([
    ['filter[nmae]', 'x', 'filter[nmae]'],
    ['filter[status][gt]', 'matched', 'filter[status][gt]'],
    ['filter[status]', 'lost', 'filter[status][eq]'],
    ['filter[amount]', '1,5', 'filter[amount][eq]'],
    ['filter[paymentDate][gte]', 'yesterday', 'filter[paymentDate][gte]'],
    ['filter[id][in]', '1,,2', 'filter[id][in]'],
  ])('refuse %s=%s by name', async (name, value, path) => {
    expect(wrongFields(await service.call('GET', `/payments?${name}=${encoded(value)}`))).toEqual([path]);
  });
});

describe('a query that is wrong in several ways', () => {
  it.each([
    ['limit=0&sort=nonsense', ['limit', 'sort']],
    ['unknown=1&filter[amount]=1,5&sort=id:up', ['filter[amount][eq]', 'sort', 'unknown']],
    [
      'page=x&filter[status][near]=matched&filter[status]=lost',
      ['filter[status][eq]', 'filter[status][near]', 'page'],
    ],
    ['limit=0&sort=id&sort=nonsense', ['limit', 'sort']],
    ['limit=0&filter[status]=matched&filter[status]=lost', ['filter[status][eq]', 'limit']],
    ['filter[amount]=1%00', ['filter[amount][eq]']],
  ])('gets all errors at once, each once: %s', async (query, paths) => {
    expect(wrongFields(await service.call('GET', `/payments?${query}`))).toEqual(paths);
  });

  it('gets them together with the errors of the path', async () => {
    const answer = await service.call('GET', '/accounts/abc/payments?limit=1&sort=nonsense&filter[id]=x');
    expect(wrongFields(answer)).toEqual(['accountId', 'filter[id][eq]', 'sort']);
  });
});

describe('a filter of text that must be unique', () => {
  const texts = { email: 'Same.One@Unique.example', nationalId: 'U-77 a' };
  let total: number;
  beforeAll(async () => {
    await newCustomer(service, { firstName: 'Unique', ...texts });
    await newCustomer(service, { firstName: 'Unique' });
    total = (await list('/customers?limit=1')).pagination.total;
  });

  it.each([
    ['email', 'sAME.oNE@uNIQUE.EXAMPLE'],
    ['nationalId', 'u77A'],
  ] as const)('finds %s in every spelling that counts as a duplicate', async (field, spelt) => {
    const found = async (operator: string, value: string) =>
      (await list(`/customers?limit=1&filter[${field}][${operator}]=${encoded(value)}`)).pagination.total;
    const taken = { firstName: 'A', lastName: 'B', phone: '+254711555001', [field]: spelt };
    expect((await service.call('POST', '/customers', taken)).body.error.code).toBe('DUPLICATE_ENTRY');
    expect(await found('eq', texts[field])).toBe(1);
    expect(await found('eq', spelt)).toBe(1);
    expect(await found('in', `nobody, ${spelt}`)).toBe(1);
    expect(await found('ne', spelt)).toBe(total - 1);
    expect(await found('nin', `nobody,${spelt}`)).toBe(total - 1);
  });

  it('is described in the API description', async () => {
    const operation = committedDescription().operations.find(({ name }) => name === 'GET /api/customers');
    const said = (name: string) => JSON.stringify(operation?.parameters.find((one) => one.name === name));
    expect(said('filter[email]')).toContain('ignore case, spaces and other differences in spelling');
    expect(said('filter[lastName]')).toContain('ignore case; the other operators do not');
  });
});

describe('a date for a timestamp', () => {
  it('means that whole business day', async () => {
    // The day in Nairobi begins at 21:00 UTC of the day before.
    const times = [
      '2026-02-28T20:59:59.999Z',
      '2026-02-28T21:00:00Z',
      '2026-03-01T20:59:59.999Z',
      '2026-03-01T21:00:00Z',
    ];
    for (const [i, time] of times.entries()) {
      const { id } = await newCustomer(service, { firstName: 'Timed', lastName: String(i) });
      await sql`update customers set created_at = ${time}::timestamptz where id = ${id}`.execute(
        service.context.db,
      );
    }
    const find = (test: string) =>
      column('lastName', `/customers?filter[firstName]=Timed&sort=createdAt:asc&filter[createdAt]${test}`);
    expect(await find('=2026-03-01')).toEqual(['1', '2']);
    expect(await find('[ne]=2026-03-01')).toEqual(['0', '3']);
    expect(await find('[gt]=2026-03-01')).toEqual(['3']);
    expect(await find('[gte]=2026-03-01')).toEqual(['1', '2', '3']);
    expect(await find('[lt]=2026-03-01')).toEqual(['0']);
    expect(await find('[lte]=2026-03-01')).toEqual(['0', '1', '2']);
    expect(await find('[gte]=2026-02-28T21:00:00Z')).toEqual(['1', '2', '3']);
    expect(await find(`[lt]=${encoded('2026-03-01T00:00:00+03:00')}`)).toEqual(['0']);
  });
});

describe('every list', () => {
  let accountId: number;
  let customerId: number;

  /** Two rows in every list. */
  beforeAll(async () => {
    const done = async (method: string, path: string, body?: object) => {
      const answer = await service.call(method, path, body);
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body.data;
    };
    customerId = (await newCustomer(service)).id;
    accountId = (await newAccount(service, { customerId })).id;
    await move(service, accountId, 'suspended');
    const rich = await newAccount(service);
    await pay(service, rich.id, rich.total + 2);
    for (const [version, name] of ['First', 'Second'].entries()) {
      const correction = { kind: 'price_correction', amount: 1, reason: name, confirm: { version } };
      await done('POST', `/accounts/${accountId}/plan-changes`, correction);
      const filter = { status: { eq: 'suspended' } };
      const deferral = { filter, from: addDays(today(service.context), 60), periods: 1, reason: name };
      await done('POST', '/plan-changes/bulk-deferrals', deferral);
      const toAccountId = accountId;
      await done('POST', `/accounts/${rich.id}/credit/transfer`, { toAccountId, amount: 1, reason: name });
      const file = [
        'Receipt No.,Completion Time,Transaction Status,Paid In,A/C No.',
        `${name}1,2026-01-02 10:00:00,Completed,1.00,nobody`,
        `${name}2,2026-01-02 10:00:00,Completed,2.00,nobody`,
      ].join('\n');
      const headers = { 'content-type': 'text/csv' };
      const upload = await service.call('POST', '/reconciliations/statements', file, { headers });
      expect(upload.status, upload.text).toBe(201);
      const { id: paymentId } = await pay(service, accountId, 10);
      await done('POST', '/payments/reconcile', { paymentIds: [paymentId] });
      await notify(service, { BillRefNumber: 'nobody' });
      await done('PUT', `/customers/${customerId}/kyc`, {
        verificationType: 'passport',
        verificationStatus: 'pending',
      });
      await done('POST', `/customers/${customerId}/notes`, { text: name });
      const late = await newAccount(service, { activationDate: addDays(today(service.context), -60) });
      await done('POST', '/calls', { accountId: late.id, result: 'no_answer' });
      const promising = await newAccount(service, { activationDate: addDays(today(service.context), -60) });
      const promise = { amount: 400, date: today(service.context) };
      await done('POST', '/calls', { accountId: promising.id, result: 'promise', promise });
      const holder = await service.signInAs('manager');
      for (const [cashPath, body] of [
        ['/cash/counts', { paymentMethodId: 2, counted: 10 }],
        ['/cash/hand-overs', { paymentMethodId: 2, amount: 10, slipNumber: name }],
      ] as const) {
        const answer = await service.call('POST', cashPath, body, { token: holder });
        expect(answer.status, answer.text).toBeLessThan(300);
      }
      await done('POST', '/invoices', {
        accountId,
        items: [{ description: name, quantity: 1, unitPrice: 1 }],
      });
      await done('POST', '/products/1/configurations', { name });
      await done('POST', '/imports');
      const { id: employeeId } = await done('POST', '/employees', { name });
      await done('POST', '/commissions/calculate', { employeeId, period: '2026-03' });
      await done('POST', '/commissions/rules', { rateBasisPoints: 1 });
      const email = `${name}@lists.example`;
      await done('POST', '/auth/register', {
        email,
        password: PASSWORD,
        firstName: name,
        lastName: 'Listed',
      });
      await newApiKey(service, 'viewer');
      await done('POST', '/users/invitations', { email: `invited.${email}`, role: 'viewer' });
    }
    const receiver = await startReceiver();
    const endpoint = { url: receiver.url, types: ['payment.*'] };
    const { id: endpointId } = await done('POST', '/webhook-endpoints', endpoint);
    await done('POST', '/webhook-endpoints', endpoint);
    for (let i = 0; i < 2; i++) await done('POST', `/webhook-endpoints/${endpointId}/test`, {});
    await receiver.close();
  });

  /** Lists whose rows need other settings or a job. The tests of their features fill them. */
  const FILLED_ELSEWHERE = [
    '/accounts/{accountId}/payment-requests',
    '/approvals',
    '/cash/settlements',
    '/imports/{id}/differences',
    '/imports/{id}/problems',
    '/payment-requests',
    '/plan-changes/bulk-deferrals/{id}/accounts',
    '/providers/balance-gaps',
    '/status-queries',
  ];

  /** Computed fields that are a nullable column, and are never null in the rows of the list when it is sorted by them. */
  const NEVER_NULL = ['/api/call-list nextDueDate', '/api/call-list lastCalledAt'];

  const pathOf = (name: string) => {
    const id = name.startsWith('/accounts') ? accountId : name.startsWith('/customers') ? customerId : 1;
    return name.replace(/{\w+}/, String(id));
  };

  const ofDescription = committedDescription().operations.filter(({ parameters }) =>
    parameters.some((parameter) => parameter.name === 'sort'),
  );

  const lists = ofDescription.filter(({ path }) => !path.endsWith('.csv'));
  const paths = lists.map(({ path }) => path.replace('/api', ''));
  const filledHere = paths.filter((path) => !FILLED_ELSEWHERE.includes(path));

  it('of the description is tested below', () => {
    expect(paths).toEqual(expect.arrayContaining(FILLED_ELSEWHERE));
    expect(filledHere.length).toBeGreaterThan(30);
  });

  it.each(ofDescription)('$name sorts and filters by each of its fields', async ({ name, parameters }) => {
    const path = pathOf(name.replace('GET /api', ''));
    for (const { name: parameter } of parameters) {
      const field = /^filter\[(\w+)\]$/.exec(parameter)?.[1];
      if (field === 'metadata') await list(`${path}?filter[metadata][region]=north`);
      else if (field) await list(`${path}?filter[${field}][isnull]=false&sort=${field}`);
    }
  });

  it.each(lists)(
    'puts rows without a value last, and only where the column is nullable: $path',
    async (one) => {
      const path = pathOf(one.path.replace('/api', ''));
      let columns = 0;
      for (const { name: parameter } of one.parameters) {
        const field = /^filter\[(\w+)\]$/.exec(parameter)?.[1];
        if (!field || field === 'metadata') continue;
        const statements = await statementsOf(() => list(`${path}?sort=${field}:desc`));
        const text = statements
          .map((statement) => statement.text)
          .find((each) => each.includes('json_agg(row)'));
        const order = /^[\s\S]*order by "?(\w+)"?\."?(\w+)"?(?: collate "C")? desc( nulls last)?/.exec(
          text ?? '',
        );
        if (!order || NEVER_NULL.includes(`${one.path} ${field}`)) continue; // A computed field is null only on purpose.
        const [, alias = '', column = '', nullsLast] = order;
        const isNullable = await nullableIn(text ?? '', alias, column);
        expect(nullsLast !== undefined, `${field}: ${alias}.${column}`).toBe(isNullable);
        columns += 1;
      }
      expect(columns).toBeGreaterThan(1);
    },
  );

  /** Whether a column can be null in the rows of a statement: by its table, or because its table is joined from the left. */
  async function nullableIn(text: string, alias: string, column: string): Promise<boolean> {
    const source = new RegExp(`(left join|join|from) (\\w+) ${alias}\\b`).exec(text);
    const { rows } = await sql<{ is_nullable: string }>`
      select is_nullable from information_schema.columns
      where table_schema = 'public' and table_name = ${source?.[2]} and column_name = ${column}`.execute(
      service.context.db,
    );
    expect(rows, `${alias}.${column}`).toHaveLength(1);
    return source?.[1] === 'left join' || rows[0]?.is_nullable === 'YES';
  }

  it.each(filledHere)('accepts page, limit, sort and a filter with gte: %s', async (name) => {
    const path = pathOf(name);
    const read = (query: string) => list(`${path}?limit=1&${query}`);
    const first = await read('sort=id:asc&filter[createdAt][gte]=2020-01-01');
    expect(first.data).toHaveLength(1);
    const { total } = first.pagination;
    expect(total).toBeGreaterThanOrEqual(2);
    expect(first.pagination).toEqual({ page: 1, limit: 1, total, totalPages: total });
    const second = await read('sort=id:asc&page=2');
    expect(second.pagination.page).toBe(2);
    expect(second.data[0].id).toBeGreaterThan(first.data[0].id);
    expect((await read('sort=id:desc')).data[0].id).toBeGreaterThan(first.data[0].id);
    expect((await read(`filter[id][gte]=${second.data[0].id}`)).pagination.total).toBe(total - 1);
    expect((await read('filter[createdAt][gte]=2999-01-01')).pagination.total).toBe(0);
  });

  it.each(filledHere)('walks by cursor in the order of each of its fields: %s', async (name) => {
    const path = pathOf(name);
    const operation = committedDescription().operations.find((one) => one.name === `GET /api${name}`);
    for (const { name: parameter } of operation?.parameters ?? []) {
      const field = /^filter\[(\w+)\]$/.exec(parameter)?.[1];
      if (!field || field === 'metadata') continue;
      for (const direction of ['asc', 'desc']) {
        const query = `${path}?sort=${field}:${direction}`;
        const numbered = await list(`${query}&limit=100`);
        const limit = Math.ceil(numbered.data.length / 2);
        const walked: unknown[] = [];
        for (let after: string | null = ''; after !== null; ) {
          const { data, pagination } = await list(`${query}&limit=${limit}&after=${after}`);
          walked.push(...data);
          after = pagination.nextCursor;
        }
        expect(walked.slice(0, 100), query).toEqual(numbered.data);
        expect(walked, query).toHaveLength(numbered.pagination.total);
      }
    }
  });
});
