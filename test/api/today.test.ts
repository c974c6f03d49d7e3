import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { unavailable } from '../../src/core/http/errors.ts';
import {
  dataOf,
  forgetCredentials,
  move,
  newAccount,
  newApiKey,
  notify,
  pay,
  reverse,
  runJobs,
  setToday,
  useService,
} from '../support/harness.ts';
import { eventually } from '../support/waiting.ts';

const TODAY = '2026-11-18'; // a Wednesday

describe('the work of a company', () => {
  const service = useService({ CASH_COUNTS: 'on' });

  it('has the counts of the lists, and the accounts that have been late for the longest time', async () => {
    setToday(service, TODAY);
    const late = await newAccount(service, { activationDate: '2026-10-01' });
    const later = await newAccount(service, { activationDate: '2026-11-01' });
    const cancelled = await newAccount(service, { activationDate: '2026-09-01' });
    await move(service, cancelled.id, 'cancelled');
    await notify(service, { BillRefNumber: 'nobody' });
    await runJobs(service); // begins to watch the provider
    const work = await dataOf(service.call('GET', '/reports/today'));
    expect(work).toMatchObject({
      date: TODAY,
      unmatchedPayments: 1,
      conflicts: 0,
      rejectedNotifications: { from: '2026-11-12', count: 0 },
      pendingApprovals: 0,
      cash: {
        own: { openCounts: 0, toReceive: 0 },
        toConfirm: 0,
        all: { openCounts: 0, deposits: 0, settlements: 0 },
      },
      callsDue: 0,
      ownCallsDue: 0,
      ownDecisions: { from: '2026-11-12', count: 0 },
      brokenPromises: { from: '2026-11-12', count: 0 },
      failingWebhookEndpoints: 0,
      providers: [{ provider: 'mobilemoney', isSilent: false }],
      proof: { last: null, current: false },
      lateAccounts: { statuses: ['active', 'suspended', 'defaulted', 'repossessed'], total: 2 },
    });
    expect(work.lateAccounts.accounts.map(({ id }: { id: number }) => id)).toEqual([late.id, later.id]);
    expect(work.lateAccounts.accounts[0]).toEqual(
      await dataOf(service.call('GET', `/accounts/${late.id}?expand=customer`)),
    );
  });
});

const service = useService({ CASH_COUNTS: 'on' });

describe('the work of today', () => {
  it('counts the calls that are due, and the promises that were broken', async () => {
    const [made, due] = ['2026-11-14', '2026-11-16'];
    const counts = async () => {
      await runJobs(service);
      const { callsDue, brokenPromises } = await dataOf(service.call('GET', '/reports/today'));
      return [callsDue, brokenPromises.count];
    };
    // What other tests of this file have left.
    setToday(service, due);
    const [callsBefore, brokenBefore] = await counts();
    setToday(service, made);
    const [called, promised, kept] = [
      await newAccount(service, { activationDate: '2026-08-03' }),
      await newAccount(service, { activationDate: '2026-08-03' }),
      await newAccount(service, { activationDate: '2026-08-03' }),
    ];
    const promise = { amount: 400, date: '2026-11-15' };
    for (const [{ id }, body] of [
      [called, { result: 'reached', nextCallOn: '2026-11-16' }],
      [promised, { result: 'promise', promise }],
      [kept, { result: 'promise', promise }],
    ] as const) {
      await dataOf(service.call('POST', '/calls', { accountId: id, ...body }), 201);
    }
    await pay(service, kept.id, 7_200);
    setToday(service, due);
    expect(await counts()).toEqual([callsBefore + 2, brokenBefore + 1]);
    await dataOf(
      service.call('POST', '/calls', { accountId: called.id, result: 'reached', nextCallOn: '2026-11-18' }),
      201,
    );
    expect(await counts()).toEqual([callsBefore + 1, brokenBefore + 1]);
  });

  it('counts the due calls that are assigned to the caller', async () => {
    setToday(service, '2026-11-14');
    const accountIds = [
      (await newAccount(service, { activationDate: '2026-08-03' })).id,
      (await newAccount(service, { activationDate: '2026-08-03' })).id,
    ];
    for (const accountId of accountIds)
      await dataOf(
        service.call('POST', '/calls', { accountId, result: 'reached', nextCallOn: '2026-11-16' }),
        201,
      );
    const me = await dataOf(service.call('GET', '/auth/me'));
    const own = async () => (await dataOf(service.call('GET', '/reports/today'))).ownCallsDue;
    setToday(service, '2026-11-16');
    expect(await own()).toBe(0);
    const assignment = { accountIds: accountIds.slice(0, 1), userId: me.id };
    await dataOf(service.call('PUT', '/call-list/assignments', assignment));
    expect(await own()).toBe(1);
  });

  it('says that a provider is silent after 24 hours without a notification', async () => {
    setToday(service, TODAY);
    await notify(service, {});
    await runJobs(service);
    setToday(service, '2026-11-20');
    expect((await dataOf(service.call('GET', '/reports/today'))).providers).toMatchObject([
      { provider: 'mobilemoney', isSilent: true },
    ]);
  });

  it('takes at most two connections of the pool for requests', async () => {
    await newAccount(service, { activationDate: '2026-10-01' });
    const { pool } = service.parts;
    let taken = 0;
    let mostTaken = 0;
    const take = () => {
      taken += 1;
      mostTaken = Math.max(mostTaken, taken);
    };
    const release = () => {
      taken -= 1;
    };
    pool.on('acquire', take).on('release', release);
    await dataOf(service.call('GET', '/reports/today'));
    pool.off('acquire', take).off('release', release);
    expect(mostTaken).toBeGreaterThan(0);
    expect(mostTaken).toBeLessThanOrEqual(2); // a page of a list, and the count of its rows
  });

  it('is null where the caller has no permission', async () => {
    setToday(service, TODAY);
    const { id } = await newAccount(service, { activationDate: '2026-05-01' }); // later than any other
    const first = ({ lateAccounts }: { lateAccounts: { accounts: object[] } }) => lateAccounts.accounts[0];
    const all = await dataOf(service.call('GET', '/reports/today'));
    expect(first(all)).toMatchObject({ id, customer: expect.any(Object) });
    // The admin is not an employee.
    expect(Object.entries(all).filter(([, part]) => part === null)).toEqual([['own', null]]);

    const agent = await service.tokenOf('agent');
    expect(await dataOf(service.call('GET', '/reports/today', undefined, { token: agent }))).toMatchObject({
      unmatchedPayments: expect.any(Number),
      conflicts: null,
      rejectedNotifications: null,
      pendingApprovals: null,
      cash: { all: null },
      callsDue: null,
      ownCallsDue: null,
      ownDecisions: null,
      brokenPromises: null,
      failingWebhookEndpoints: null,
      providers: null,
      proof: null,
    });
    const { key } = await newApiKey(service, ['accounts:read']);
    const ofKey = await dataOf(service.call('GET', '/reports/today', undefined, { token: key }));
    expect(ofKey.unmatchedPayments).toBeNull();
    expect(first(ofKey)).toMatchObject({ id });
    expect(first(ofKey)).not.toHaveProperty('customer');
  });
});

describe('the work of a seller', () => {
  it('has the late accounts that the employee sold, and what the sales of two months earn', async () => {
    setToday(service, TODAY);
    const employee = await dataOf(service.call('POST', '/employees', { name: 'Atieno' }), 201);
    const other = await dataOf(service.call('POST', '/employees', { name: 'Barasa' }), 201);
    await dataOf(service.call('POST', '/commissions/rules', { category: null, rateBasisPoints: 500 }), 201);
    const sell = (employeeId: number, activationDate: string) =>
      newAccount(service, { employeeId, activationDate });
    const late = await sell(employee.id, '2026-10-05');
    await sell(employee.id, TODAY); // not late
    await sell(other.id, '2026-10-01');
    const october = { employeeId: employee.id, period: '2026-10' };
    const commission = await dataOf(service.call('POST', '/commissions/calculate', october));
    expect(commission.total).toBe(1_140); // 5 % of 22,800

    const token = await service.signInAs('agent');
    const call = (method: string, path: string) => service.call(method, path, undefined, { token });
    expect((await dataOf(call('GET', '/reports/today'))).own).toBeNull();
    const { id } = await dataOf(call('GET', '/auth/me'));
    await dataOf(service.call('PUT', `/users/${id}`, { employeeId: employee.id }));
    forgetCredentials(service);
    const { own } = await dataOf(call('GET', '/reports/today'));
    expect(own).toMatchObject({
      employeeId: employee.id,
      lateAccounts: { total: 1, accounts: [{ id: late.id, customer: expect.any(Object) }] },
      commissions: [
        { period: '2026-11', commission: null, unclaimed: { count: 1, expected: 1_140 } },
        {
          period: '2026-10',
          commission: { id: commission.id, status: 'calculated', total: 1_140 },
          unclaimed: { count: 0, expected: 0 },
        },
      ],
    });
    const november = { employeeId: employee.id, period: '2026-11' };
    expect((await dataOf(service.call('POST', '/commissions/calculate', november))).total).toBe(
      own.commissions[0].unclaimed.expected,
    );
  });
});

describe('the money of today', () => {
  const service = useService();

  it('is compared with the same days of the week before, without reversed payments', async () => {
    setToday(service, TODAY);
    const { id } = await newAccount(service, { activationDate: '2026-10-01' });
    for (const [paymentDate, amount] of [
      ['2026-11-08', 1], // before both weeks
      ['2026-11-09', 10],
      ['2026-11-11', 100],
      ['2026-11-12', 1_000], // after the same days of the week before
      ['2026-11-16', 200],
      ['2026-11-18', 400],
    ] as const)
      await pay(service, id, amount, { paymentDate });
    const wrong = await pay(service, id, 5_000, { paymentDate: TODAY });
    await reverse(service, wrong.id);

    const money = await dataOf(service.call('GET', '/reports/today/money'));
    const summaryOf = (startDate: string) =>
      dataOf(service.call('GET', `/reports/accounts/summary?startDate=${startDate}&endDate=${TODAY}`));
    const [day, week] = [await summaryOf(TODAY), await summaryOf('2026-11-16')];
    expect(money).toEqual({
      currency: 'KES',
      day: {
        startDate: TODAY,
        endDate: TODAY,
        received: 400,
        refunded: 0,
        collectionRate: day.collectionRate,
        before: { startDate: '2026-11-11', endDate: '2026-11-11', received: 100 },
      },
      week: {
        startDate: '2026-11-16',
        endDate: TODAY,
        received: 600,
        refunded: 0,
        collectionRate: week.collectionRate,
        before: { startDate: '2026-11-09', endDate: '2026-11-11', received: 110 },
      },
      days: [
        { date: '2026-11-12', received: 1_000 },
        { date: '2026-11-13', received: 0 },
        { date: '2026-11-14', received: 0 },
        { date: '2026-11-15', received: 0 },
        { date: '2026-11-16', received: 200 },
        { date: '2026-11-17', received: 0 },
        { date: '2026-11-18', received: 400 },
      ],
      outstanding: day.outstanding,
      arrears: day.arrears,
      par30: day.par30,
    });
  });

  it('has equal figures for the day and the week on a Monday, and shows refunds', async () => {
    setToday(service, '2026-11-23');
    const { id } = await newAccount(service, { activationDate: '2026-11-23' });
    await pay(service, id, 300);
    await move(service, id, 'cancelled');
    await dataOf(
      service.call('POST', `/accounts/${id}/credit/refund`, { amount: 50.25, reason: 'returned' }),
      201,
    );
    const { day, week } = await dataOf(service.call('GET', '/reports/today/money'));
    expect(day).toMatchObject({ startDate: '2026-11-23', received: 300, refunded: 50.25 });
    expect(week).toEqual(day);
  });

  it('is read once for all callers of a business day within a minute', async () => {
    setToday(service, '2026-12-02');
    service.stopwatch.advance(60_000); // forgets what other tests have read
    service.stopwatch.stop();
    const { id } = await newAccount(service, { activationDate: '2026-12-01' });
    const read = vi.spyOn(service.parts.summaries, 'read');
    onTestFinished(() => read.mockRestore());
    const manager = await service.tokenOf('manager');
    const ask = (token = service.adminToken) =>
      service.call('GET', '/reports/today/money', undefined, { token });
    const received = async () => (await dataOf(ask(manager))).day.received;

    const [first, second] = await Promise.all([ask(), ask(manager)]);
    expect(second.body).toEqual(first.body);
    expect(read).toHaveBeenCalledTimes(1);

    await pay(service, id, 300);
    const ageOf = async () => Number((await ask()).headers.get('snapshot-age'));
    const age = await ageOf();
    await eventually(ageOf).toBeGreaterThan(age);
    service.stopwatch.advance(59_999);
    expect(await received()).toBe(0);
    expect(read).toHaveBeenCalledTimes(1);
    service.stopwatch.advance(1);
    expect(await received()).toBe(300);
    expect(read).toHaveBeenCalledTimes(2);

    setToday(service, '2026-12-03');
    expect((await dataOf(ask())).day).toMatchObject({ startDate: '2026-12-03', received: 0 });
    expect(read).toHaveBeenCalledTimes(3);
  });

  it('is read again after a failure', async () => {
    setToday(service, '2026-12-09');
    const read = vi.spyOn(service.parts.summaries, 'read').mockRejectedValueOnce(unavailable(new Error()));
    onTestFinished(() => read.mockRestore());
    expect((await service.call('GET', '/reports/today/money')).status).toBe(503);
    expect((await dataOf(service.call('GET', '/reports/today/money'))).day.startDate).toBe('2026-12-09');
  });
});
