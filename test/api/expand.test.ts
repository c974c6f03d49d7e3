import { beforeAll, describe, expect, it } from 'vitest';
import {
  dataOf,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  pay,
  statementsOf,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';

const service = useService();
const CUSTOMER = { name: 'Wanjiru Kamau', phone: '+254720000001' };
let account: { id: number; accountNumber: string; customerId: number };
let paymentId: number;
let invoiceId: number;

beforeAll(async () => {
  service.stopwatch.stop(); // So that no session is read again while a test counts statements.
  const fields = { firstName: 'Wanjiru', lastName: 'Kamau', phone: CUSTOMER.phone };
  const customerId = (await newCustomer(service, fields)).id;
  account = await newAccount(service, { customerId, externalId: 'LOAN/1' });
  await newAccount(service);
  paymentId = (await pay(service, account.id, 100, { externalId: 'PAY-1' })).id;
  const items = [{ description: 'Cable', quantity: 1, unitPrice: 1 }];
  invoiceId = (await service.call('POST', '/invoices', { accountId: account.id, items })).body.data.id;
});

const read = (path: string) => dataOf(service.call('GET', path));
const expandedAccount = () => ({
  id: account.id,
  accountNumber: account.accountNumber,
  status: 'active',
  customerId: account.customerId,
  productId: 1,
  externalId: 'LOAN/1',
});

describe('expand on accounts', () => {
  it.each(['', 'customer', 'product', 'product, customer'])(
    'adds exactly what "%s" names, in lists and on one account',
    async (expand) => {
      const query = expand === '' ? '' : `expand=${encodeURIComponent(expand)}`;
      const plain = await read(`/accounts/${account.id}`);
      const expected = {
        ...plain,
        ...(expand.includes('customer') && { customer: { id: account.customerId, ...CUSTOMER } }),
        ...(expand.includes('product') && { product: { id: 1, name: 'Home system 40 W' } }),
      };
      expect(await read(`/accounts/${account.id}?${query}`)).toEqual(expected);
      expect(await read(`/accounts/by-external-id/LOAN%2F1?${query}`)).toEqual(expected);
      expect(await read(`/accounts?customerId=${account.customerId}&${query}`)).toEqual([expected]);
      const walked = await read(`/accounts?after=&limit=1&sort=id:asc&${query}`);
      expect(walked).toEqual([expected]);
    },
  );
});

describe('expand on payments and invoices', () => {
  it.each(['', 'account', 'customer', 'account,customer'])('adds exactly what "%s" names', async (expand) => {
    const query = expand === '' ? '' : `expand=${expand}`;
    const expanded = {
      ...(expand.includes('account') && { account: expandedAccount() }),
      ...(expand.includes('customer') && { customer: { id: account.customerId, ...CUSTOMER } }),
    };
    const expected = { ...(await read(`/payments/${paymentId}`)), ...expanded };
    expect(await read(`/payments/${paymentId}?${query}`)).toEqual(expected);
    expect(await read(`/payments/by-external-id/PAY-1?${query}`)).toEqual(expected);
    expect(await read(`/payments?filter[id]=${paymentId}&${query}`)).toEqual([expected]);
    expect(await read(`/accounts/${account.id}/payments?limit=1&${query}`)).toEqual([expected]);
    expect(await read(`/invoices/${invoiceId}?${query}`)).toEqual({
      ...(await read(`/invoices/${invoiceId}`)),
      ...expanded,
    });
    const [plain] = await read('/invoices');
    expect(await read(`/invoices?${query}`)).toEqual([{ ...plain, ...expanded }]);
  });

  it('are null for a payment without an account', async () => {
    const { paymentId: unmatchedId } = (await notify(service, notification())).body.data;
    expect(await read(`/payments/${unmatchedId}?expand=account,customer`)).toMatchObject({
      account: null,
      customer: null,
    });
  });
});

describe('expand', () => {
  it('reads a page of rows with one more statement for each kind', async () => {
    for (let i = 0; i < 5; i++) await pay(service, (await newAccount(service)).id, 1);
    const count = async (path: string) => (await statementsOf(() => read(path))).length;
    for (const [path, kinds] of [
      ['/accounts?expand=customer,product', 2],
      ['/payments?expand=account,customer', 1],
    ] as const) {
      await read(path);
      expect(await count(path), path).toBe((await count(path.replace(/\?.*/, ''))) + kinds);
    }
  });

  it('refuses an unknown value, and names the allowed ones', async () => {
    for (const [path, allowed] of [
      ['/accounts', 'customer, product'],
      [`/accounts/${account.id}`, 'customer, product'],
      ['/payments', 'account, customer, people'],
      [`/payments/${paymentId}`, 'account, customer, people'],
      ['/invoices', 'account, customer'],
    ] as const) {
      for (const expand of ['payer', 'customer,', '']) {
        const answer = await service.call('GET', `${path}?expand=${expand}&unknown=1`);
        expect(wrongFields(answer), path).toEqual(['expand', 'unknown']);
        const message = `must be one or more of ${allowed}, separated by commas`;
        expect(answer.body.error.details.fields).toContainEqual({ path: 'expand', message });
      }
    }
    expect(wrongFields(await service.call('GET', '/payments/unmatched?expand=account'))).toEqual(['expand']);
  });

  it('is refused to a caller who may not read the resource itself', async () => {
    const refused = async (permissions: string[], path: string) => {
      const { key } = await newApiKey(service, permissions);
      const answer = await service.call('GET', path, undefined, { token: key });
      return answer.body.error?.details.permission;
    };
    const payments = '/payments?expand=account,customer';
    expect(await refused(['accounts:read'], '/accounts?expand=customer')).toBe('customers:read');
    expect(await refused(['accounts:read'], `/accounts/${account.id}?expand=product`)).toBe('catalogue:read');
    expect(await refused(['payments:read', 'customers:read'], payments)).toBe('accounts:read');
    expect(await refused(['payments:read', 'accounts:read'], `/payments/${paymentId}?expand=customer`)).toBe(
      'customers:read',
    );
    expect(await refused(['invoices:read'], '/invoices?expand=customer')).toBe('customers:read');
    expect(await refused(['payments:read', 'accounts:read', 'customers:read'], payments)).toBeUndefined();
    for (const role of ['agent', 'viewer']) {
      const token = await service.signInAs(role);
      expect((await service.call('GET', payments, undefined, { token })).status).toBe(200);
    }
  });
});
