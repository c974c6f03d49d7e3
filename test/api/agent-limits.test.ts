import { beforeAll, describe, expect, it } from 'vitest';
import {
  dataOf,
  newAccount,
  setToday,
  startInstanceForTest,
  useService,
  wrongFields,
} from '../support/harness.ts';

const [MOBILE_MONEY, CASH] = [1, 2];
const service = useService();
let agent: string;
let accountId: number;

beforeAll(async () => {
  setToday(service, '2026-11-02');
  agent = await service.signInAs('agent');
  accountId = (await newAccount(service)).id;
});

const record = (fields: object, token = agent) =>
  service.call('POST', '/payments', { accountId, amount: 10, paymentMethodId: CASH, ...fields }, { token });

describe('an agent', () => {
  it('can record payments only with cash methods, and the error lists these methods', async () => {
    expect((await record({})).status).toBe(201);
    const refused = await record({ paymentMethodId: MOBILE_MONEY });
    expect([refused.status, wrongFields(refused)]).toEqual([400, ['paymentMethodId']]);
    expect(refused.body.error.details.fields[0].message).toBe(
      'must refer to a payment method for cash: agents record only cash; possible are 2 (Cash)',
    );
    const box = { code: 'cash_box', name: 'Cash box', cash: true };
    const { id } = await dataOf(service.call('POST', '/payment-methods', box), 201);
    expect((await record({ paymentMethodId: id })).status).toBe(201);
    await dataOf(service.call('PUT', `/payment-methods/${id}`, { cash: false }));
    expect(wrongFields(await record({ paymentMethodId: id }))).toEqual(['paymentMethodId']);
  });

  it('records payments of today and of the seven days before', async () => {
    expect((await record({ paymentDate: '2026-10-26' })).status).toBe(201);
    const refused = await record({ paymentDate: '2026-10-25' });
    expect([refused.status, wrongFields(refused)]).toEqual([400, ['paymentDate']]);
    expect(refused.body.error.details.fields[0].message).toBe(
      'must not be before 2026-10-26: agents can record payments of today and of the 7 days before',
    );
    const strict = await startInstanceForTest(service, { AGENT_BACKDATING_DAYS: '0' });
    const body = { accountId, amount: 10, paymentMethodId: CASH, paymentDate: '2026-11-01' };
    expect(wrongFields(await strict.call('POST', '/payments', body, { token: agent }))).toEqual([
      'paymentDate',
    ]);
    const ofToday = { ...body, paymentDate: '2026-11-02' };
    expect((await strict.call('POST', '/payments', ofToday, { token: agent })).status).toBe(201);
  });

  it('gets the same refusals for the items of a bulk call', async () => {
    const items = [
      { accountId, amount: 10, paymentMethodId: CASH },
      { accountId, amount: 10, paymentMethodId: MOBILE_MONEY },
      { accountId, amount: 10, paymentMethodId: CASH, paymentDate: '2026-10-25' },
    ];
    const { items: results } = await dataOf(
      service.call('POST', '/payments/bulk', { items }, { token: agent }),
    );
    expect(
      results.map(({ error }: { error?: { details: { fields: { path: string }[] } } }) =>
        error?.details.fields.map(({ path }) => path.split('/').at(-1)?.split('.').at(-1)),
      ),
    ).toEqual([undefined, ['paymentMethodId'], ['paymentDate']]);
  });

  it('sees since when each method can be recorded, and so does every other role', async () => {
    const methodsOf = async (role: string) => {
      const token = role === 'agent' ? agent : await service.tokenOf(role);
      const rows = await dataOf(
        service.call('GET', '/payment-methods?sort=id:asc&limit=2', undefined, { token }),
      );
      return rows.map(({ recordableFrom }: { recordableFrom: string | null }) => recordableFrom);
    };
    expect(await methodsOf('agent')).toEqual([null, '2026-10-26']);
    expect(await methodsOf('finance')).toEqual(['2000-01-01', '2000-01-01']);
    expect(await methodsOf('viewer')).toEqual([null, null]);
  });
});

describe('other roles', () => {
  it.each(['admin', 'manager', 'finance'])('have no such limits: %s', async (role) => {
    const token = role === 'admin' ? service.adminToken : await service.tokenOf(role);
    const body = { paymentMethodId: MOBILE_MONEY, paymentDate: '2026-10-01' };
    expect((await record(body, token)).status).toBe(201);
  });
});
