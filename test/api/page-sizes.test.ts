import { sql } from 'kysely';
import type { OpenAPIV3_1 } from 'openapi-types';
import { beforeAll, describe, expect, it } from 'vitest';
import { today } from '../../src/core/context.ts';
import { addDays } from '../../src/core/values/dates.ts';
import { API_KEY_PERMISSIONS } from '../../src/rights.ts';
import { committedDescription } from '../support/api-description.ts';
import { newAccount, newCustomer, notify, pay, useService } from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { startReceiver } from '../support/receiver.ts';

/**
 * How large a page of each list can be. The tests write the longest row of each list, in characters with the most bytes, and
 * multiply its size by the rows of the largest page.
 */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

const service = useService({ WEBHOOKS_OUT_ALLOW: '127.0.0.1' });

/** A text with the given number of characters, and the most bytes that they can have. */
const long = (characters: number) => '😀'.repeat(characters);
/** Like `long`, for text that is cut by its length in UTF-16. */
const wide = (characters: number) => '漢'.repeat(characters);

async function done(method: string, path: string, body?: unknown, headers = {}) {
  const answer = await service.call(method, path, body, { headers });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const LONGEST_EMAIL = `${wide(240)}@example.com`;
const ids: Record<string, number> = {};

beforeAll(async () => {
  const product = await done('POST', '/products', { sku: 'A', name: 'A', category: 'a', price: 1 });
  const text = { sku: long(50), name: long(200), category: long(100), description: long(2_000) };
  await done('PUT', `/products/${product.id}`, text);
  await done('PUT', `/products/${product.id}`, {
    ...text,
    sku: long(49),
    name: long(199),
    description: long(1_999),
  });
  ids.product = product.id;
  const attributes = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [`key${n}`, long(500)]).concat([['last', long(60)]]),
  );
  await done('POST', `/products/${product.id}/configurations`, { name: long(200), attributes });

  const names = { firstName: long(100), lastName: long(100) };
  const customer = await newCustomer(service, {
    ...names,
    email: LONGEST_EMAIL,
    nationalId: `${long(49)}1`,
  });
  ids.customer = customer.id;
  const documents = [long(480), ...Array.from({ length: 7 }, () => ({ a: long(500) }))];
  await done('PUT', `/customers/${customer.id}/kyc`, {
    verificationType: 'business_registration',
    verificationStatus: 'pending',
    documents,
  });
  const account = await newAccount(service, { customerId: customer.id });
  ids.account = account.id;
  const note = await done('POST', `/customers/${customer.id}/notes`, {
    accountId: account.id,
    text: long(2_000),
  });
  await done('POST', `/customers/${customer.id}/notes/${note.id}/hide`, { reason: long(500) });
  for (let n = 1; n < 12; n++) await newAccount(service, { customerId: customer.id });
  await done('PUT', `/accounts/${account.id}`, { status: 'suspended', reason: long(500) });
  await done('POST', `/accounts/${account.id}/plan-changes`, {
    ...{ kind: 'price_rise', amount: 1, consent: long(500), reason: long(500), confirm: { version: 0 } },
  });
  const bulk = await done('POST', '/plan-changes/bulk-deferrals', {
    filter: { status: { in: ['suspended'] } },
    ...{ from: addDays(today(service.context), 60), periods: 1, reason: long(500) },
  });
  ids['plan-change'] = bulk.id;

  const employee = await done('POST', '/employees', { name: long(200) });
  await done('POST', '/users', {
    ...names,
    email: LONGEST_EMAIL,
    password: 'long enough',
    role: 'viewer',
    employeeId: employee.id,
  });
  await done('POST', '/users/invitations', { email: `${wide(239)}@example.com`, role: 'viewer' });
  await done('POST', '/payplans', {
    name: long(200),
    deposit: 1,
    instalmentAmount: 1,
    instalmentCount: 10_000,
    frequency: 'monthly',
  });
  const method = await done('POST', '/payment-methods', { code: 'a'.repeat(50), name: long(100) });
  await done('POST', '/commissions/rules', { category: long(100), rateBasisPoints: 1 });
  const salesData = Array.from({ length: 1_000 }, () => ({ productId: product.id, amount: 999_999_999.99 }));
  await done('POST', '/commissions/calculate', { employeeId: employee.id, period: '2026-03', salesData });

  await done('POST', '/calls', { accountId: account.id, result: 'no_answer', note: long(1_000) });
  const invoice = await done('POST', '/invoices', {
    accountId: account.id,
    items: Array.from({ length: 200 }, () => ({ description: long(500), quantity: 1, unitPrice: 1 })),
  });
  await done('POST', `/invoices/${invoice.id}/void`, { reason: long(500) });

  const paid = await pay(service, account.id, 30_000, {
    transactionRef: long(100),
    paymentMethodId: method.id,
  });
  const reversed = await pay(service, account.id, 1, { transactionRef: long(99) });
  await done('POST', `/payments/${reversed.id}/reverse`, { reason: long(500) });
  await done('POST', `/accounts/${account.id}/credit/refund`, {
    amount: 1,
    reason: long(500),
    paymentMethodId: method.id,
    transactionRef: long(98),
  });
  await done('POST', '/payments/reconcile', { paymentIds: [paid.id] });

  // Unmatched money of a payer whose name many customers have: ten of their accounts are suggested.
  const [first, last] = [wide(4), '字'.repeat(4)];
  for (let n = 0; n < 10; n++) {
    const namesake = await newCustomer(service, {
      firstName: `${first} ${long(95)}`,
      lastName: `${last} ${long(95)}`,
    });
    await newAccount(service, { customerId: namesake.id });
  }
  const sent = { BillRefNumber: wide(256), MSISDN: wide(256), BusinessShortCode: wide(256) };
  await notify(service, { ...sent, FirstName: first, LastName: last });
  // Each of these bytes becomes six characters in the answer. The notification is stored as unreadable.
  const rejected = await fetch(`${service.origin}/api/webhooks/payments/mobilemoney`, {
    method: 'POST',
    body: Buffer.alloc(64 * 1024, 1),
  });
  expect(rejected.status).toBe(400);

  const lines = [
    `Organization:,${wide(5_000)}`,
    'Receipt No.,Completion Time,Transaction Status,Paid In,A/C No.,Details,Other Party Info',
    `${'A'.repeat(64)},2026-01-02 10:00:00,Completed,1.00,${[wide(256), wide(256), wide(256)].join(',')}`,
    `${'B'.repeat(64)},2026-01-02 10:00:00,Completed,nothing,${[wide(256), wide(256), wide(256), wide(256)].join(',')}`,
  ];
  const statement = await done('POST', '/reconciliations/statements', lines.join('\n'), {
    'content-type': 'text/csv',
  });
  ids.reconciliation = statement.id;

  await done('POST', '/imports');

  const receiver = await startReceiver();
  // In JSON a byte that is not UTF-8 becomes three.
  receiver.answer = (_received, response) => response.end(Buffer.alloc(10_000, 0xff));
  const types = Array(50).fill('webhook_endpoint.resend_requested');
  const url = `${receiver.url}?${'漢'.repeat(1_900)}`;
  const endpoint = await done('POST', '/webhook-endpoints', { url, types, description: long(200) });
  await done('POST', `/webhook-endpoints/${endpoint.id}/test`, {});
  await receiver.close();
  ids['webhook-endpoint'] = endpoint.id;

  await done('POST', '/api-keys', {
    name: long(100),
    permissions: API_KEY_PERMISSIONS,
    networks: Array.from({ length: 50 }, (_, at) => `2001:db8:aaaa:bbbb:cccc:dddd:${1000 + at}:ffff/128`),
  });
}, 60_000);

/** The query of a list that needs one. */
const QUERIES: Record<string, string> = {
  '/reports/payments': '?startDate=2020-01-01&endDate=2030-01-01',
  '/search': `?q=${encodeURIComponent(long(10))}`,
};

/** The address of the longest row of a list. */
function addressOf(path: string): string {
  const resource = /^\/([a-z-]+?)s(?=\/)/.exec(path)?.[1] ?? '';
  return path.replace(/{\w+}/, String(ids[resource])) + (QUERIES[path] ?? '');
}

/** Lists that need other settings or a job, and whose rows have only a few texts of limited length. */
const SHORT_ROWS = [
  '/accounts/{accountId}/payment-requests',
  '/approvals',
  '/cash/counts',
  '/cash/hand-overs',
  '/cash/settlements',
  '/call-list',
  '/imports/{id}/differences',
  '/imports/{id}/problems',
  '/promises',
  '/payment-requests',
  '/providers/balance-gaps',
  '/status-queries',
];

/** The lists of the description, with their largest `limit`. */
const LISTS = committedDescription().operations.flatMap(({ method, path, parameters }) => {
  const limit = parameters.find(({ name }) => name === 'limit')?.schema as { maximum: number } | undefined;
  return method === 'GET' && limit ? [{ path: path.replace('/api', ''), limit: limit.maximum }] : [];
});

describe('the largest page of a list', () => {
  it('is measured for every list of the description but those with short rows', () => {
    const paths = LISTS.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(SHORT_ROWS));
    expect(paths.length).toBeGreaterThan(40);
  });

  it.each(LISTS.filter(({ path }) => !SHORT_ROWS.includes(path)))(
    'has at most 2 MB: $path',
    async ({ path, limit }) => {
      const address = addressOf(path);
      const { status, body } = await service.call(
        'GET',
        `${address}${address.includes('?') ? '&' : '?'}limit=${limit}`,
      );
      expect(status).toBe(200);
      const rows: unknown[] = Array.isArray(body.data)
        ? body.data
        : (body.data.rows ?? body.data.events ?? body.data.entries);
      expect(rows.length).toBeGreaterThan(0);
      const longest = Math.max(...rows.map((row) => Buffer.byteLength(JSON.stringify(row))));
      expect(longest * limit).toBeLessThan(MAX_PAGE_BYTES);
    },
  );
});

describe('what a list leaves out', () => {
  it('is the end of a long notification, which its own route shows', async () => {
    const body = JSON.stringify(notification({ BillRefNumber: 'nobody', Extra: wide(10_000) }));
    const sent = await service.call('POST', '/webhooks/payments/mobilemoney', body, { token: null });
    const filter = `filter[paymentId]=${sent.body.data.paymentId}`;
    const [listed] = (await service.call('GET', `/notifications?${filter}`)).body.data;
    expect(listed.rawBody).toBe(`${body.slice(0, 2_000)}…`);
    const single = await service.call('GET', `/notifications/${listed.id}`);
    expect(single.body.data).toEqual({ ...listed, rawBody: body });
    expect((await service.call('GET', '/notifications/999999')).status).toBe(404);
  });
});

describe('a report of the longest period', () => {
  it('is refused, or has at most 4,000 rows in each list that is not a page', async () => {
    const { paths } = service.app.swagger() as OpenAPIV3_1.Document;
    const reports = Object.entries(paths ?? {}).flatMap(([path, item]) => {
      const parameters = item?.get?.parameters ?? [];
      return parameters.some((one) => 'name' in one && one.name === 'startDate')
        ? [path.replace('/api', '')]
        : [];
    });
    expect(reports).toContain('/reports/payments');
    for (const report of reports) {
      const { status, body } = await service.call('GET', `${report}?startDate=1900-01-01&endDate=2999-12-31`);
      if (status === 400) continue;
      expect(status, report).toBe(200);
      if (report.endsWith('.csv')) continue;
      const lists = Object.values<unknown>(body.data).filter(Array.isArray);
      expect(Math.max(0, ...lists.map(({ length }) => length)), report).toBeLessThanOrEqual(4_000);
    }
  });
});

describe('the sums by day of a payment report', () => {
  it('are refused beyond 4,000 days, for which CSV or a shorter period is advised', async () => {
    const period = 'startDate=2000-01-01&endDate=2015-12-31';
    await sql`
      insert into payments (account_id, amount_minor, payment_method_id, payment_date, status, source)
      select ${ids.account}, 100, 2, date '2000-01-01' + n, 'matched', 'manual' from generate_series(0, 4000) n`.execute(
      service.context.db,
    );
    const answer = await service.call('GET', `/reports/payments?${period}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.fields).toEqual([
      {
        path: 'endDate',
        message: expect.stringMatching(/4000 days or methods; .*shorter period, or for format=csv/),
      },
    ]);
    expect((await service.call('GET', `/reports/payments?${period}&format=csv`)).status).toBe(200);
    const shorter = await service.call('GET', `/reports/payments?${period.replace('2015', '2009')}`);
    expect(shorter.body.data.byDay).toHaveLength(3_653);
  });
});

describe('the sums by payment method of a payment report', () => {
  it('are refused beyond 4,000 methods, also in a period of many days', async () => {
    await sql`
      with methods as (
        insert into payment_methods (code, name) select 'method_' || n, 'M' from generate_series(1, 4001) n returning id
      )
      insert into payments (account_id, amount_minor, payment_method_id, payment_date, status, source)
      select ${ids.account}, 100, id, '2016-01-01', 'matched', 'manual' from methods`.execute(
      service.context.db,
    );
    const answer = await service.call('GET', '/reports/payments?startDate=2016-01-01&endDate=2016-12-31');
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.fields).toEqual([
      { path: 'endDate', message: expect.stringContaining('more than 4000 days or methods') },
    ]);
  });
});

describe('the size of a row is limited when it is written', () => {
  it('documents of a customer have at most 16 KB in total', async () => {
    const documents = Array.from({ length: 9 }, () => ({ a: long(500) }));
    const answer = await service.call('PUT', `/customers/${ids.customer}/kyc`, {
      verificationType: 'passport',
      verificationStatus: 'pending',
      documents,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.fields).toEqual([
      { path: 'documents', message: 'must have at most 16384 bytes in total' },
    ]);
  });

  it('attributes of a configuration have at most 16 KB in total', async () => {
    const attributes = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`key${n}`, long(500)]));
    const answer = await service.call('POST', `/products/${ids.product}/configurations`, {
      name: 'B',
      attributes,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.fields).toEqual([
      { path: 'attributes', message: 'must have at most 16384 bytes in total' },
    ]);
  });
});
