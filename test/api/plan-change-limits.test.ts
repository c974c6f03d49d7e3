import { beforeAll, describe, expect, it } from 'vitest';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  pay,
  runJobs,
  setToday,
  useInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

/** What a change of a plan must not do: hide lateness, suspend without grace, pass the approval limit in parts, or do what was not shown. */
type Data = Answer['body'];
const DAY = '2026-11-02' as PlainDate;
const service = useService();
const limited = useInstance(service, { APPROVAL_LIMIT: '1000' });
const later = (days: number) => addDays(DAY, days);

const send = (id: number, body: object, options: object = {}): Promise<Answer> =>
  service.call('POST', `/accounts/${id}/plan-changes`, { reason: 'a test', ...body }, options);

const show = (id: number, body: object): Promise<Data> => dataOf(send(id, body));

async function change(id: number, body: object): Promise<Data> {
  const { version, paid } = await show(id, body);
  return dataOf(send(id, { ...body, confirm: { version, paid } }), 201);
}

/** The fields of a confirmation that are no longer so. */
function conflictsOf({ status, body, text }: Answer): string[] {
  expect(status, text).toBe(409);
  return body.error.details.fields.map(({ path }: { path: string }) => path);
}

/** Monthly instalments after a deposit. */
const newPlan = (deposit: number, fields: object = {}): Promise<number> =>
  dataOf(
    service.call('POST', '/payplans', {
      name: `Monthly after ${deposit} ${JSON.stringify(fields)}`,
      ...{ deposit, instalmentAmount: 400, instalmentCount: 12, frequency: 'monthly', graceDays: 3 },
      ...{ autoSuspend: true, ...fields },
    }),
    201,
  ).then(({ id }) => id);

beforeAll(() => setToday(service, DAY));

describe('a correction of the sale', () => {
  it('with a higher deposit, which is due at once, begins the days of grace', async () => {
    const [small, large] = [await newPlan(500), await newPlan(900)];
    await setToday(service, DAY);
    const { id } = await newAccount(service, { payplanId: small });
    await pay(service, id, 500);
    await setToday(service, later(20));
    await change(id, { kind: 'sale_correction', payplanId: large });
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', arrears: 400, daysPastDue: 20 });
    await setToday(service, later(24));
    await runJobs(service);
    expect((await accountNow(service, id)).status).toBe('suspended');
  });

  it('is refused once an instalment of the original plan has fallen due, also if it was deferred', async () => {
    await setToday(service, DAY);
    const payplanId = await newPlan(700);
    const { id } = await newAccount(service);
    await change(id, { kind: 'deferral', from: later(7), periods: 10 });
    await setToday(service, later(6));
    expect((await send(id, { kind: 'sale_correction', payplanId })).status).toBe(200);
    await setToday(service, later(7));
    const refused = await send(id, { kind: 'sale_correction', payplanId });
    expect(wrongFields(refused)).toEqual(['kind']);
    expect(refused.text).toContain(later(7));
  });

  it('that was made by somebody else in between is a conflict', async () => {
    await setToday(service, DAY);
    const payplanId = await newPlan(800);
    const { id } = await newAccount(service);
    const body = { kind: 'sale_correction', payplanId, confirm: { version: 0 } };
    expect((await send(id, body)).status).toBe(201);
    const again = await send(id, body);
    expect(conflictsOf(again)).toEqual(['confirm.version']);
  });
});

it('an undo that reopens an account begins the days of grace', async () => {
  await setToday(service, DAY);
  const { id } = await newAccount(service, { payplanId: await newPlan(600) });
  await pay(service, id, 1_000);
  await change(id, { kind: 'price_correction', amount: 4_400 });
  expect((await accountNow(service, id)).status).toBe('completed');
  await setToday(service, later(90));
  await change(id, { kind: 'undo' });
  await runJobs(service);
  const account = await accountNow(service, id);
  expect(account.status).toBe('active');
  expect(account.daysPastDue).toBeGreaterThan(3);
});

it('a confirmation that repeats the day is refused on another day', async () => {
  await setToday(service, DAY);
  const { id } = await newAccount(service);
  const { version, paid, effectiveOn } = await show(id, { kind: 'discount', amount: 5 });
  expect(effectiveOn).toBe(DAY);
  await setToday(service, later(1));
  const refused = await send(id, { kind: 'discount', amount: 5, confirm: { version, paid, effectiveOn } });
  expect(conflictsOf(refused)).toEqual(['confirm.effectiveOn']);
});

it('reductions of one day need approval together', async () => {
  await setToday(service, DAY);
  const { id } = await newAccount(service);
  const reduce = async (amount: number, version: number): Promise<number> => {
    const body = { kind: 'price_correction', reason: 'a test', amount, confirm: { version } };
    const token = service.adminToken;
    return (await limited.call('POST', `/accounts/${id}/plan-changes`, body, { token })).status;
  };
  expect(await reduce(600, 0)).toBe(201);
  expect(await reduce(400, 1)).toBe(201);
  expect(await reduce(0.01, 2)).toBe(202);
  await setToday(service, later(1));
  const { id: pending } = await dataOf(service.call('GET', '/approvals?filter[status]=pending')).then(
    ([one]) => one,
  );
  await dataOf(service.call('POST', `/approvals/${pending}/withdraw`));
  expect(await reduce(1_000, 2)).toBe(201);
});

it('a change that names its day can be approved on a later day', async () => {
  await setToday(service, DAY);
  const { id } = await newAccount(service);
  const confirm = { version: 0, effectiveOn: DAY };
  const body = { kind: 'price_correction', reason: 'a test', amount: 2_000, confirm };
  const token = service.adminToken;
  const sent = limited.call('POST', `/accounts/${id}/plan-changes`, body, { token });
  const { id: requested } = await dataOf(sent, 202);
  await setToday(service, later(1));
  const finance = { token: await service.signInAs('finance') };
  await dataOf(limited.call('POST', `/approvals/${requested}/approve`, undefined, finance));
  expect(await accountNow(service, id)).toMatchObject({ planVersion: 1, total: 20_800 });
});

it('what a change would do is computed again although an Idempotency-Key is given', async () => {
  const { id } = await newAccount(service);
  const options = { headers: { 'idempotency-key': 'show and do' } };
  const body = { kind: 'discount', amount: 5 };
  const shown = await dataOf(send(id, body, options));
  await pay(service, id, 10);
  const again = await dataOf(send(id, body, options));
  expect([shown.paid, again.paid]).toEqual([0, 10]);
  const confirm = { version: again.version, paid: again.paid };
  expect((await send(id, { ...body, confirm }, options)).status).toBe(201);
  expect((await send(id, { ...body, confirm }, options)).headers.get('idempotent-replayed')).toBe('true');
});

it('a later change of the price changes neither the commission of an earlier month nor a promise of an earlier day', async () => {
  await setToday(service, DAY);
  const { id: employeeId } = await dataOf(service.call('POST', '/employees', { name: 'Seller' }), 201);
  const { id } = await newAccount(service, { employeeId });
  await setToday(service, later(60));
  const { id: late } = await newAccount(service, { activationDate: later(-300) });
  await pay(service, late, 20_000);
  const promise = { amount: 400, date: later(63) };
  await dataOf(service.call('POST', '/calls', { accountId: late, result: 'promise', promise }), 201);
  const base = async (period: string) => {
    const { lines } = await dataOf(service.call('POST', '/commissions/calculate', { employeeId, period }));
    return lines[0].base;
  };
  await setToday(service, later(70));
  for (const one of [id, late]) await change(one, { kind: 'price_correction', amount: 2_800 });
  expect(await base('2026-11')).toBe(22_800);
  const [shown] = await dataOf(service.call('GET', `/promises?filter[accountId]=${late}`));
  expect(shown.state).toBe('broken');
});
