import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  dataOf,
  newAccount,
  newApiKey,
  setToday,
  startInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';

const service = useService();
beforeAll(() => setToday(service, '2026-11-28'));

let month = 0;
/** Each test has a month of its own. */
let period: string;
beforeEach(() => {
  month += 1;
  period = `2025-${String(month).padStart(2, '0')}`;
});

async function newSeller(sales: number): Promise<number> {
  const { id } = await dataOf(service.call('POST', '/employees', { name: 'Seller' }), 201);
  for (let sale = 0; sale < sales; sale++)
    await newAccount(service, { employeeId: id, activationDate: `${period}-15` });
  return id;
}

const readMonth = () => dataOf(service.call('GET', `/commissions/months/${period}`));
const calculate = () => service.call('POST', `/commissions/months/${period}/calculate`);
const change = (body: object, call = service.call) =>
  call('POST', `/commissions/months/${period}/status`, body);
const commissions = () => dataOf(service.call('GET', `/commissions/payments?period=${period}&sort=id:asc`));

// Each sale of 22,800 earns the default 2 %.
describe('the commissions of a month', () => {
  it('are calculated, approved and paid for all employees at once', async () => {
    const first = await newSeller(1);
    const second = await newSeller(2);
    await newSeller(0);
    expect(await readMonth()).toMatchObject({ uncalculated: 2, calculated: { count: 0, total: 0 } });

    expect(await dataOf(calculate())).toMatchObject({
      uncalculated: 0,
      calculated: { count: 2, total: 1_368 },
    });
    expect(await commissions()).toMatchObject([
      { employeeId: first, total: 456, status: 'calculated' },
      { employeeId: second, total: 912, status: 'calculated' },
    ]);

    await dataOf(change({ status: 'approved', total: 1_368 }));
    const paid = await dataOf(change({ status: 'paid', total: 1_368, paymentReference: 'BATCH-7' }));
    expect(paid).toMatchObject({ approved: { count: 0 }, paid: { count: 2, total: 1_368 } });
    expect(await commissions()).toMatchObject([
      { status: 'paid', paymentReference: 'BATCH-7' },
      { status: 'paid', paymentReference: 'BATCH-7' },
    ]);
  });

  it('keep what is paid when the month is calculated again, and include later sales of others', async () => {
    const first = await newSeller(1);
    await dataOf(calculate());
    await dataOf(change({ status: 'approved', total: 456 }));
    await dataOf(change({ status: 'paid', total: 456 }));
    const second = await newSeller(1);
    await newAccount(service, { employeeId: first, activationDate: `${period}-20` });

    expect(await dataOf(calculate())).toMatchObject({
      calculated: { count: 1, total: 456 },
      paid: { count: 1, total: 456 },
    });
    expect(await commissions()).toMatchObject([
      { employeeId: first, total: 456, status: 'paid' },
      { employeeId: second, total: 456 },
    ]);
  });

  it('are calculated without touching what is approved, or was calculated with named sales', async () => {
    const approved = await newSeller(1);
    await dataOf(calculate());
    await dataOf(change({ status: 'approved', total: 456 }));
    const named = await newSeller(1);
    const salesData = [{ productId: 1, amount: 100, saleDate: `${period}-03` }];
    await dataOf(service.call('POST', '/commissions/calculate', { employeeId: named, period, salesData }));
    const other = await newSeller(1);
    for (const employeeId of [approved, named])
      await newAccount(service, { employeeId, activationDate: `${period}-20` });

    expect(await dataOf(calculate())).toMatchObject({ kept: 2, approved: { count: 1, total: 456 } });
    expect(await commissions()).toMatchObject([
      { employeeId: approved, status: 'approved', total: 456 },
      { employeeId: named, total: 2 },
      { employeeId: other, total: 456 },
    ]);
  });

  it('refuse a second reference of a payment, and repeat the first', async () => {
    await newSeller(1);
    await dataOf(calculate());
    await dataOf(change({ status: 'approved', total: 456 }));
    await dataOf(change({ status: 'paid', total: 456, paymentReference: 'A1' }));
    const [{ id }] = await commissions();
    const pay = (paymentReference: string) =>
      service.call('PUT', `/commissions/payments/${id}`, { status: 'paid', paymentReference });
    expect((await pay('A1')).status).toBe(200);
    const refused = await pay('B2');
    expect([refused.status, refused.body.error.code]).toEqual([409, 'DUPLICATE_ENTRY']);
    expect(await commissions()).toMatchObject([{ paymentReference: 'A1' }]);
  });

  it('are not approved with another sum than the user saw', async () => {
    const seller = await newSeller(1);
    await dataOf(calculate());
    await newAccount(service, { employeeId: seller, activationDate: `${period}-20` });
    await dataOf(calculate());
    const refused = await change({ status: 'approved', total: 456 });
    expect([refused.status, refused.body.error.details.fields[0].path]).toEqual([409, 'total']);
    expect(await readMonth()).toMatchObject({ calculated: { count: 1 }, approved: { count: 0 } });
    await dataOf(change({ status: 'approved', total: 912 }));
  });

  it('change all or none: the error names the employee whose account was cancelled', async () => {
    await newSeller(1);
    const second = await newSeller(1);
    await dataOf(calculate());
    const account = await newAccount(service, { employeeId: second, activationDate: `${period}-16` });
    await dataOf(calculate());
    const reason = 'returned';
    await dataOf(service.call('PUT', `/accounts/${account.id}`, { status: 'cancelled', reason }));

    const refused = await change({ status: 'approved', total: 1_368 });
    expect(wrongFields(refused)).toEqual(['status']);
    expect(refused.body.error.message).toContain(`employee ${second}`);
    expect(await readMonth()).toMatchObject({ calculated: { count: 2 }, approved: { count: 0 } });
  });

  it('refuse a month after the present one, a month without commissions, and a reference of what is not paid', async () => {
    const future = await service.call('POST', '/commissions/months/2026-12/calculate');
    expect(wrongFields(future)).toEqual(['period']);
    expect(wrongFields(await change({ status: 'approved', total: 0 }))).toEqual(['status']);
    await newSeller(1);
    await dataOf(calculate());
    const refused = await change({ status: 'approved', total: 456, paymentReference: 'X' });
    expect(wrongFields(refused)).toEqual(['paymentReference']);
  });

  it('need a second person for the payment, and only if APPROVAL_LIMIT is set', async () => {
    await newSeller(1);
    await newSeller(1);
    const strict = await startInstance(service, { APPROVAL_LIMIT: '1000000' });
    const as = (token: string) => (method: string, path: string, body?: unknown) =>
      strict.call(method, path, body, { token });
    await dataOf(as(service.adminToken)('POST', `/commissions/months/${period}/calculate`));
    await dataOf(change({ status: 'approved', total: 912 }, as(service.adminToken)));

    const refused = await change({ status: 'paid', total: 912 }, as(service.adminToken));
    expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN']);
    const [commission] = await commissions();
    const single = await as(service.adminToken)('PUT', `/commissions/payments/${commission.id}`, {
      status: 'paid',
    });
    expect(single.status).toBe(403);
    const { key } = await newApiKey(service, 'finance');
    expect((await change({ status: 'paid', total: 912 }, as(key))).status).toBe(403);
    const finance = await service.tokenOf('finance');
    expect(await dataOf(change({ status: 'paid', total: 912 }, as(finance)))).toMatchObject({
      paid: { count: 2 },
    });
    await strict.close();
  });

  it('are paid once when two users pay at the same time', async () => {
    await newSeller(1);
    await dataOf(calculate());
    await dataOf(change({ status: 'approved', total: 456 }));
    const answers = await Promise.all([
      change({ status: 'paid', total: 456, paymentReference: 'ONE' }),
      change({ status: 'paid', total: 456, paymentReference: 'TWO' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const winner = answers[0]?.status === 200 ? 'ONE' : 'TWO';
    expect(await commissions()).toMatchObject([{ status: 'paid', paymentReference: winner }]);
  });
});
