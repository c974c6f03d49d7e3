import { parse } from 'csv-parse/sync';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { committedDescription } from '../support/api-description.ts';
import { dataOf, newAccount, newApiKey, newCustomer, pay, setToday, useService } from '../support/harness.ts';

const service = useService();

beforeAll(() => setToday(service, '2026-11-16'));

const FILES = committedDescription()
  .operations.filter(({ tags }) => tags.includes('Files of lists'))
  .map(({ path }) => path.replace('/api', ''));

/** The rows of a file, by column. */
async function rowsOf(path: string, token?: string): Promise<Record<string, string>[]> {
  const answer = await service.call('GET', path, undefined, token === undefined ? {} : { token });
  expect(answer.status, answer.text).toBe(200);
  return parse(answer.text, { columns: true, bom: true });
}

async function lastExport() {
  const [entry] = await dataOf(service.call('GET', '/audit?filter[action]=list.export&sort=id:desc&limit=1'));
  return entry;
}

describe('GET /{list}.csv', () => {
  it('has the rows of the list with the same filters and the same order', async () => {
    const metadata = { region: 'Embu' };
    const first = await newAccount(service, { metadata });
    const second = await newAccount(service, { metadata });
    await newAccount(service);
    await pay(service, second.id, 2_000);
    const query = 'filter[metadata][region]=Embu&sort=balance:asc&expand=customer';

    const list = await dataOf(service.call('GET', `/accounts?${query}`));
    const rows = await rowsOf(`/accounts.csv?${query}`);

    expect(rows.map(({ id }) => Number(id))).toEqual([second.id, first.id]);
    expect(rows[0]).toMatchObject({
      accountNumber: second.accountNumber,
      balance: String(list[0].balance),
      nextDueDate: list[0].nextDueDate ?? '',
      metadata: '{"region":"Embu"}',
      'customer.name': list[0].customer.name,
    });
    expect(rows[0]).not.toHaveProperty('allowedMoves');
  });

  it('has a column for each field of a row with one value, also if no row matches', async () => {
    await pay(service, (await newAccount(service)).id, 700);
    const answer = await service.call('GET', '/payments.csv?filter[id]=0');
    const [payment] = await dataOf(service.call('GET', '/payments?limit=1&expand=people'));
    const head = answer.text.replace('\ufeff', '').trim().split(',');
    const single = Object.entries(payment as object).filter(([, value]) => !Array.isArray(value));
    expect(head).toEqual(single.map(([name]) => name));
  });

  it('says who recorded and who reversed a payment', async () => {
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, 700);
    await service.call('POST', `/payments/${id}/reverse`, { reason: 'typed twice' });
    const [row] = await rowsOf(`/payments.csv?filter[id]=${id}`);
    const [payment] = await dataOf(service.call('GET', `/payments?filter[id]=${id}&expand=people`));
    expect(payment.recordedBy).toEqual(expect.any(String));
    expect(row).toMatchObject({
      recordedBy: payment.recordedBy,
      reversedBy: payment.reversedBy,
      isCorrectable: 'false',
    });
    expect(row?.reversedBy).not.toBe('');
  });

  it('protects spreadsheets from formulas that people have typed', async () => {
    const customer = await newCustomer(service, { firstName: '=1+1', lastName: 'Kamau' });
    const [row] = await rowsOf(`/customers.csv?filter[id]=${customer.id}`);
    expect(row).toMatchObject({ firstName: "'=1+1", phone: `'${customer.phone}` });
  });

  it.each(FILES)('%s has its columns also if its filter excludes all rows', async (path) => {
    const { status, text } = await service.call('GET', `${path}?filter[createdAt][gte]=2999-01-01`);
    expect(status, text).toBe(200);
    const [head = [], ...rows]: string[][] = parse(text, { bom: true });
    expect(head).toEqual(expect.arrayContaining(['id', 'createdAt']));
    expect(rows).toEqual([]);
  });

  it('refuses pages and filters that the list does not have, with the name of the parameter', async () => {
    const { status, body } = await service.call('GET', '/accounts.csv?page=2&filter[colour]=red');
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.error.details.fields.map(({ path }: { path: string }) => path).sort()).toEqual([
      'filter[colour]',
      'page',
    ]);
  });

  it('records the query and the number of rows in the audit log before the file is sent', async () => {
    const customer = await newCustomer(service, { lastName: 'Wafula' });
    await newAccount(service, { customerId: customer.id });
    await newAccount(service, { customerId: customer.id });
    await rowsOf(`/accounts.csv?customerId=${customer.id}&sort=id:asc`);
    expect(await lastExport()).toMatchObject({
      actor: 'admin@example.com',
      resource: 'list',
      after: { list: 'accounts', query: { customerId: String(customer.id), sort: 'id:asc' }, rowCount: 2 },
    });
  });

  it('publishes no value of a filter', async () => {
    await rowsOf('/customers.csv?search=Wanjiru');
    const { rows } = await sql<{ data: object }>`
      select data from events where type = 'list.exported' order by id desc limit 1`.execute(
      service.context.db,
    );
    expect(rows[0]?.data).toEqual({ list: 'customers', rowCount: 0 });
  });

  it('is for admins, managers and finance, and a key also needs the permission of the list', async () => {
    const statusFor = async (token: string) =>
      (await service.call('GET', '/payments.csv', undefined, { token })).status;
    expect(await statusFor(await service.tokenOf('manager'))).toBe(200);
    expect(await statusFor(await service.tokenOf('finance'))).toBe(200);
    expect(await statusFor(await service.tokenOf('agent'))).toBe(403);
    expect(await statusFor(await service.tokenOf('viewer'))).toBe(403);
    const { key } = await newApiKey(service, ['lists:export', 'accounts:read']);
    const refused = await service.call('GET', '/payments.csv', undefined, { token: key });
    expect([refused.status, refused.body.error.details.permission]).toEqual([403, 'payments:read']);
    expect((await service.call('GET', '/accounts.csv', undefined, { token: key })).status).toBe(200);
  });
});
