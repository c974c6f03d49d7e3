import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import {
  move,
  newAccount,
  newCustomer,
  notify,
  pay,
  reverse,
  startInstanceForTest,
  useService,
  wrongFields,
} from '../support/harness.ts';

const service = useService();
const set = (now: unknown) => service.call('PUT', '/test/clock', { now });
afterEach(() => {
  vi.useRealTimers();
  service.clock.set(null);
});

/** How far the clock of PostgreSQL may be from that of the tests. */
const CLOCK_DIFFERENCE_MS = 5_000;

describe('PUT /test/clock', () => {
  it('sets the business date until it is reset', async () => {
    vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
    const answer = await set('2027-05-04T20:59:00Z');
    expect(answer.status).toBe(200);
    expect(answer.body.data.now).toBe('2027-05-04T20:59:00.000Z');
    vi.setSystemTime(Date.now() + 59_999);
    expect(service.clock.now().toISOString()).toBe('2027-05-04T20:59:59.999Z');
    expect((await newAccount(service)).activationDate).toBe('2027-05-04');
    await set('2027-05-05T00:00:00+03:00');
    expect((await newAccount(service)).activationDate).toBe('2027-05-05');
    const real = await set(null);
    expect(Date.parse(real.body.data.now)).toBe(Date.now());
  });

  /** All timestamps in a part of an answer, with the names of their fields. */
  function momentsIn(part: unknown): [string, string][] {
    if (typeof part !== 'object' || part === null) return [];
    return Object.entries(part).flatMap(([name, value]) =>
      typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T/.test(value)
        ? [[name, value] as [string, string]]
        : momentsIn(value),
    );
  }

  it('dates new and changed rows', async () => {
    const [early, late] = ['2031-03-05T09:00:00Z', '2031-04-06T09:00:00Z'];
    await set(early);
    const customer = await newCustomer(service);
    const account = await newAccount(service, { customerId: customer.id });
    const [payment, wrong] = [await pay(service, account.id, 10), await pay(service, account.id, 20)];
    const item = { description: 'Panel', quantity: 1, unitPrice: 1 };
    const bill = { accountId: account.id, items: [item] };
    const invoice = (await service.call('POST', '/invoices', bill)).body.data;
    const product = { sku: 'DATED', name: 'Dated', category: 'test', price: 1 };
    const { id: productId } = (await service.call('POST', '/products', product)).body.data;
    const employee = (await service.call('POST', '/employees', { name: 'Dated' })).body.data;
    await notify(service, { BillRefNumber: account.accountNumber });

    await set(late);
    await service.call('PUT', `/customers/${customer.id}`, { firstName: 'Later' });
    const kyc = { verificationType: 'passport', verificationStatus: 'verified' };
    await service.call('PUT', `/customers/${customer.id}/kyc`, kyc);
    await move(service, account.id, 'suspended');
    await reverse(service, wrong.id);
    const reconciled = await service.call('POST', '/payments/reconcile', { paymentIds: [payment.id] });
    expect(reconciled.status, reconciled.text).toBe(200);
    await service.call('POST', `/invoices/${invoice.id}/void`, { reason: 'dated' });
    await service.call('PUT', `/products/${productId}`, { name: 'Later' });
    await service.call('PUT', `/employees/${employee.id}`, { name: 'Later' });

    const dayOf = (moment: string) => moment.slice(0, 10);
    const changed = [
      `/customers/${customer.id}`,
      `/accounts/${account.id}`,
      `/payments/${payment.id}`,
      `/payments/${wrong.id}`,
      `/invoices/${invoice.id}`,
      `/products/${productId}`,
      `/employees/${employee.id}`,
    ];
    for (const path of changed) {
      const moments = Object.fromEntries(momentsIn((await service.call('GET', path)).body.data));
      const { createdAt = '', ...later } = moments;
      expect(dayOf(createdAt), path).toBe(dayOf(early));
      expect(Object.keys(later), path).toContain('updatedAt');
      for (const [name, moment] of Object.entries(later))
        expect(dayOf(moment), `${path} ${name}`).toBe(dayOf(late));
    }
    const written = [
      `/customers/${customer.id}/kyc`,
      `/accounts/${account.id}/history`,
      '/reconciliations',
      '/notifications',
      `/audit?filter[createdAt][gte]=${dayOf(early)}`,
    ];
    for (const path of written) {
      const moments = momentsIn((await service.call('GET', path)).body.data);
      expect(moments, path).not.toEqual([]);
      for (const [name, moment] of moments) {
        expect([dayOf(early), dayOf(late)], `${path} ${name}`).toContain(dayOf(moment));
      }
    }
    const proof = await service.call('GET', '/reports/proof');
    expect(dayOf(proof.body.data.readAt)).toBe(dayOf(late));
    await set(null);
    const before = Date.now();
    const createdAt = Date.parse((await newCustomer(service)).createdAt);
    const [from, to] = [before - CLOCK_DIFFERENCE_MS, Date.now() + CLOCK_DIFFERENCE_MS];
    expect(createdAt).toBeGreaterThan(from);
    expect(createdAt).toBeLessThan(to);
  });

  it('dates every column with a default moment', async () => {
    const { rows } = await sql<{ column: string; default: string }>`
      select table_name || '.' || column_name as column, column_default as default
      from information_schema.columns
      where table_schema = 'public' and data_type = 'timestamp with time zone' and column_default is not null
        and table_name not like 'kysely%'`.execute(service.context.db);
    expect(rows.length).toBeGreaterThan(30);
    const others = rows.filter((row) => row.default !== 'business_now()').map(({ column }) => column);
    expect(others).toEqual([]);
  });

  it('does not affect sign-in, which uses real time', async () => {
    await set('2090-01-01T00:00:00Z');
    expect((await service.call('GET', '/auth/me')).status).toBe(200);
  });

  it.each([
    '5',
    'tomorrow',
    '2027-02-30T00:00:00Z',
    '2027-05-04',
    '+275760-09-13T00:00:00.000Z',
    '',
    0,
    undefined,
  ])('refuses %j, which is not a timestamp', async (now) => {
    expect(wrongFields(await set(now))).toEqual(['now']);
  });

  it('does not exist unless TEST_CLOCK is on', async () => {
    const without = await startInstanceForTest(service);
    const withIt = await startInstanceForTest(service, { TEST_CLOCK: 'on' });
    const body = { now: null };
    expect((await without.call('PUT', '/test/clock', body)).body.error.code).toBe('NOT_FOUND');
    expect((await withIt.call('PUT', '/test/clock', body)).status).toBe(200);
  });

  it('is refused in production', () => {
    const production = {
      NODE_ENV: 'production',
      JWT_SECRET: 'a secret of this test, longer than 32 bytes',
      WEBHOOK_SECRET: 'open sesame, open',
    };
    expect(() => readConfig({ ...production, TEST_CLOCK: 'on' })).toThrow('TEST_CLOCK');
  });
});
