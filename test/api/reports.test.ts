import { parse } from 'csv-parse/sync';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { activateDueAccounts } from '../../src/accounts/activate-due-accounts.ts';
import { inTransaction } from '../../src/core/database/transactions.ts';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import { reportDaysOf } from '../../src/reports/rules.ts';
import { accountFigures, writeOffFigures } from '../../src/reports/summary-store.ts';
import { createRandom } from '../../tools/simulator/traffic.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  portfolioOf,
  type RawPayment,
  type RawPortfolio,
  readAll,
  readPortfolio,
} from '../support/expected-figures.ts';
import {
  move,
  newAccount,
  newCustomer,
  pay,
  reverse,
  setToday,
  type TestService,
  useService,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { REACHED_BY_MOVES, STATUS_MODEL, statusesWhere } from '../support/status-model.ts';

/** Answers of the API, whose shape other tests assert. */
type Any = Answer['body'];

const NOW = new Date('2026-11-15T09:00:00Z');
const NOT_STOPPING = new AbortController().signal;
const TODAY = '2026-11-15' as PlainDate;
const COLUMNS =
  'id,paymentDate,accountId,accountNumber,customerName,amount,currency,paymentMethod,transactionRef,status,reconciliationDate';

async function done(service: TestService, method: string, path: string, body?: unknown): Promise<Any> {
  const answer = await service.call(method, path, body);
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.body.data;
}

const SALE_UNDONE = statusesWhere(({ ends }) => ends === 'undone');
const OFFSET = { utcOffsetHours: 3 }; // of Africa/Nairobi

/** The events of a hundred accounts of every frequency, status and lateness, in the order of their days. */
async function livePortfolio(service: TestService): Promise<void> {
  const random = createRandom(20_261_115);
  const plans: number[] = [];
  for (const [deposit, instalmentAmount, instalmentCount, frequency] of [
    [1_500, 60, 90, 'daily'],
    [0, 45.55, 30, 'daily'],
    [2_000, 400, 26, 'weekly'],
    [0, 333.33, 60, 'weekly'],
    [5_000, 2_500, 12, 'monthly'],
    [99.99, 1_000.01, 3, 'monthly'],
  ] as const) {
    const name = `${frequency} ${deposit}`;
    const plan = { name, deposit, instalmentAmount, instalmentCount, frequency, graceDays: 3 };
    plans.push((await done(service, 'POST', '/payplans', plan)).id);
  }
  const days = new Map<PlainDate, (() => Promise<void>)[]>();
  const on = (day: PlainDate, event: () => Promise<void>) => {
    const when = day > TODAY ? TODAY : day;
    days.set(when, [...(days.get(when) ?? []), event]);
  };
  const monthEnds = ['2026-01-31', '2026-08-31', '2025-10-31', '2026-03-30', '2026-11-30', '2026-10-31'];
  const paths = [
    [],
    ['suspended', 'active'],
    ['suspended', 'repossessed', 'active'],
    ['suspended', 'defaulted'],
    ['suspended', 'defaulted', 'repossessed'],
    ['suspended', 'written_off'],
    ['suspended', 'cancelled'],
    ...REACHED_BY_MOVES.map((status) => STATUS_MODEL[status].movesFromActive),
  ];
  for (let n = 0; n < 100; n += 1) {
    const activationDate = (n < 12 ? monthEnds[n % 6] : addDays(TODAY, 15 - random(420))) as PlainDate;
    // Recorded before, on or long after the activation date.
    const recorded = addDays(activationDate, [-12, -3, 0, 0, 0, 40][n % 6] ?? 0);
    const path = (activationDate <= TODAY && paths[Math.floor(n / plans.length) % paths.length]) || [];
    const share = n % 17 === 0 ? 100 : ([0, 0, 30, 60, 60, 90, 100, 110][random(8)] ?? 0);
    const parts = share === 0 ? 0 : 1 + random(6);
    const moveDays = path.map(() => addDays(recorded, random(160))).sort();
    const paidIn = Array.from({ length: parts }, (_, i) => ({
      paymentDate: addDays(activationDate, random(260) - 10),
      // Most payments are recorded on their day, some later.
      recordedLate: i % 3 === 0 ? random(60) : 0,
      reverse: random(9) === 0,
    }));
    const payplanId = plans[n % plans.length];
    const productId = 1 + random(5);
    let account: Any;
    on(recorded, async () => {
      account = await newAccount(service, { activationDate, payplanId, productId });
    });
    path.forEach((status, i) => {
      on(moveDays[i] as PlainDate, async () => {
        // The API refuses a move that the status does not allow.
        const { status: code } = await service.call('PUT', `/accounts/${account.id}`, {
          status,
          reason: 'why',
        });
        expect([200, 400]).toContain(code);
      });
    });
    paidIn.forEach(({ paymentDate, recordedLate, reverse }, i) => {
      if (paymentDate > TODAY) return;
      const [, known = recorded] = [paymentDate, recorded].sort();
      on(addDays(known, recordedLate), async () => {
        const payment = await done(service, 'POST', '/payments', {
          accountId: account.id,
          amount: Math.ceil((account.total * share) / parts) / 100,
          paymentMethodId: 1 + (n % 4),
          paymentDate,
          transactionRef: `REF${n}-${i}`,
        });
        if (reverse) await done(service, 'POST', `/payments/${payment.id}/reverse`, { reason: 'twice' });
      });
    });
  }
  // A written-off account that is paid in full later.
  let late: Any;
  on('2026-10-26' as PlainDate, async () => {
    late = await newAccount(service, { activationDate: '2026-01-31', payplanId: plans[5] });
    await done(service, 'PUT', `/accounts/${late.id}`, { status: 'suspended' });
  });
  on('2026-10-27' as PlainDate, async () => {
    await done(service, 'PUT', `/accounts/${late.id}`, { status: 'written_off', reason: 'lost' });
  });
  on('2026-11-03' as PlainDate, async () => {
    await done(service, 'POST', '/payments', { accountId: late.id, amount: late.total, paymentMethodId: 1 });
  });
  for (const day of [...days.keys()].sort()) {
    setToday(service, day);
    await activateDueAccounts(service.context, NOT_STOPPING);
    for (const event of days.get(day) ?? []) await event();
  }
  service.clock.set(NOW);
  await activateDueAccounts(service.context, NOT_STOPPING);
  // The API cannot set the time of recording.
  await sql`update accounts a set created_at = h.changed_on + time '08:00' at time zone 'UTC'
    from account_status_changes h where h.account_id = a.id and h.from_status is null`.execute(
    service.context.db,
  );
  const { id } = await newAccount(service);
  await sql`update accounts set created_at = ${JUST_BEFORE_MIDNIGHT} where id = ${id}`.execute(
    service.context.db,
  );
}

/** In UTC. The business day is the next one. */
const JUST_BEFORE_MIDNIGHT = '2019-05-31T21:30:00Z';

const readerOf = (service: TestService) => async (path: string) => (await service.call('GET', path)).body;

/** The figures of a period. */
const summaryOf = (service: TestService, startDate: string, endDate: string) =>
  done(service, 'GET', `/reports/accounts/summary?startDate=${startDate}&endDate=${endDate}`);

const cents = (amount: number) => Math.round(amount * 100);
const units = (minor: number) => minor / 100;
const sum = <T>(rows: T[], of: (row: T) => number) => rows.reduce((total, row) => total + of(row), 0);

describe('GET /reports/accounts/summary', () => {
  const service = useService();
  let raw: RawPortfolio;

  beforeAll(async () => {
    await livePortfolio(service);
    raw = await readPortfolio(readerOf(service));
  });

  const summary = (startDate: string, endDate: string) => summaryOf(service, startDate, endDate);

  it('is tested on a portfolio with every status, lateness and kind of payment', async () => {
    const { byStatus, daysPastDue } = await summary('2026-11-01', '2026-11-30');
    for (const { status, count } of byStatus) expect(count, status).toBeGreaterThan(0);
    for (const { from, count } of daysPastDue) expect(count, `${from} days`).toBeGreaterThan(0);
    expect(raw.payments.some(({ status }) => status === 'reversed')).toBe(true);
    const moves = [...raw.moves.values()].flat().map(({ from, to }) => `${from} to ${to}`);
    for (const move of ['pending to active', 'suspended to active', 'written_off to completed'])
      expect(moves).toContain(move);
    const { writeOffs } = await summary('2026-01-01', '2026-11-30');
    for (const figure of ['count', 'amount', 'recovered'])
      expect(writeOffs[figure], figure).toBeGreaterThan(0);
  });

  it.each([
    ['the current month', '2026-11-01', '2026-11-30'],
    ['a period up to today', '2026-08-15', '2026-11-15'],
    ['one day', '2026-11-14', '2026-11-14'],
    ['last month', '2026-10-01', '2026-10-31'],
    ['a short February', '2026-02-01', '2026-02-28'],
    ['a month end', '2026-04-30', '2026-04-30'],
    ['a year', '2025-11-01', '2026-10-31'],
    ['a time before all', '2020-01-01', '2020-12-31'],
    ['a time ahead', '2027-01-01', '2027-01-31'],
    ['all time', '1900-01-01', '2999-12-31'],
  ])('returns the figures of %s like a plain calculation', async (_, startDate, endDate) => {
    const answer = await summary(startDate, endDate);
    expect(answer.period).toEqual({ startDate, endDate });
    expect(answer).toMatchObject(portfolioOf(raw, { startDate, endDate, today: TODAY, ...OFFSET }));
  });

  it.each([
    ['2026-11-01', '2026-11-30'],
    ['2026-10-01', '2026-10-31'],
    ['2025-11-01', '2026-10-31'],
  ] as const)(
    'has the same figures by the longer formulas, for accounts with runs and changed plans, from %s to %s',
    async (startDate, endDate) => {
      const period = { startDate: startDate as PlainDate, endDate: endDate as PlainDate };
      const days = reportDaysOf(period, TODAY);
      const figuresBy = (all: boolean) =>
        inTransaction(service.context.db, async (tx) => {
          const needs = { isDatedLater: false, hasRuns: all, hasChangedPlans: all, hasWriteOffs: true };
          const accounts = await accountFigures(tx, service.context, period, days, needs);
          const inOrder = accounts.map((row) => JSON.stringify(row)).sort();
          return { accounts: inOrder, writeOffs: await writeOffFigures(tx, period, days, needs) };
        });
      const shorter = await figuresBy(false);
      expect(shorter.accounts.length).toBeGreaterThan(10);
      expect(await figuresBy(true)).toEqual(shorter);
    },
  );

  it.each(['2026-11-30', '2026-07-31'])(
    'has buckets that add up to the outstanding sum, to %s',
    async (endDate) => {
      const { daysPastDue, outstanding, par30, byProduct, byStatus } = await summary('2026-07-01', endDate);
      expect(units(sum(daysPastDue, ({ balance }: Any) => cents(balance)))).toBe(outstanding);
      expect(units(sum(byProduct, (row: Any) => cents(row.outstanding)))).toBe(outstanding);
      expect(units(sum(byStatus, (row: Any) => cents(row.outstanding)))).toBe(outstanding);
      const accounts = sum(daysPastDue, ({ count }: Any) => count);
      for (const groups of [byProduct, byStatus])
        expect(sum(groups, ({ receivableCount }: Any) => receivableCount)).toBe(accounts);
      expect(par30.denominator).toBe(outstanding);
    },
  );

  it.each(['2026-11-30', '2026-07-31'])(
    'has a contract value that is the sum over products, and over all statuses that do not undo the sale, to %s',
    async (endDate) => {
      const { contractValue, byProduct, byStatus } = await summary('2026-07-01', endDate);
      const standing = byStatus.filter(({ status }: Any) => !SALE_UNDONE.includes(status));
      expect(standing.length).toBeLessThan(byStatus.length);
      for (const groups of [byProduct, standing])
        expect(units(sum(groups, (row: Any) => cents(row.contractValue)))).toBe(contractValue);
      const countOf = (groups: Any[]) => groups.reduce((total, { count }) => total + count, 0);
      expect(countOf(byProduct)).toBe(countOf(standing));
    },
  );

  it('links to the accounts behind each figure', async () => {
    const { daysPastDue, byStatus, byProduct, ...rest } = await summary('2026-11-01', '2026-11-30');
    const listed = async (url: string) => {
      const { status, body } = await service.call('GET', `${url.replace('/api', '')}&limit=100`);
      expect(status).toBe(200);
      return { count: body.pagination.total, balance: units(sum(body.data, (a: Any) => cents(a.balance))) };
    };
    for (const { accountsUrl, count, balance } of daysPastDue)
      expect(await listed(accountsUrl), accountsUrl).toEqual({ count, balance });
    for (const { accountsUrl, numerator, count } of [rest.par30, rest.par60, rest.par90])
      expect(await listed(accountsUrl), accountsUrl).toEqual({ count, balance: numerator });
    const { opened, activated, collectionRate, repaymentRate, writeOffs } = rest;
    const others = [opened, activated, collectionRate, repaymentRate, writeOffs];
    for (const { accountsUrl, count } of [...byStatus, ...byProduct, ...others])
      expect((await listed(accountsUrl)).count, accountsUrl).toBe(count);
  });

  it('has no link when the list of today would show other accounts', async () => {
    const { daysPastDue, byStatus, byProduct, opened, writeOffs, ...rest } = await summary(
      '2026-09-01',
      '2026-10-31',
    );
    const { activated, collectionRate, repaymentRate, par30, par60, par90 } = rest;
    const ofThatDay = [activated, collectionRate, repaymentRate, par30, par60, par90];
    for (const { accountsUrl } of [...daysPastDue, ...byStatus, ...byProduct, ...ofThatDay])
      expect(accountsUrl).toBeNull();
    // Events of a day can be listed on any later day.
    expect(writeOffs.count).toBeGreaterThan(0);
    for (const { accountsUrl, count } of [opened, writeOffs])
      expect((await service.call('GET', accountsUrl.replace('/api', ''))).body.pagination.total).toBe(count);
  });

  it('defaults to the current month', async () => {
    const data = await done(service, 'GET', '/reports/accounts/summary');
    expect(data.period).toEqual({ startDate: '2026-11-01', endDate: '2026-11-30' });
    expect(data).toEqual(await summary('2026-11-01', '2026-11-30'));
  });

  it('counts an account recorded shortly before midnight UTC on its business day', async () => {
    expect((await summary('2019-06-01', '2019-06-01')).opened.count).toBe(1);
    expect((await summary('2019-05-31', '2019-05-31')).opened.count).toBe(0);
  });

  it.each([
    ['startDate=2026-02-02&endDate=2026-02-01', 'startDate'],
    ['startDate=2026-02-30', 'startDate'],
    ['endDate=yesterday', 'endDate'],
    ['start=2026-02-01', 'start'],
    ['startDate=2026-02-01&startDate=2026-03-01', 'startDate'],
  ])('refuses ?%s and names the parameter', async (query, field) => {
    for (const report of ['accounts/summary', 'payments']) {
      const { status, body } = await service.call('GET', `/reports/${report}?${query}`);
      expect(status).toBe(400);
      expect(body.error.code).toBe('VALIDATION_ERROR');
      expect(body.error.details.fields.map(({ path }: Any) => path)).toEqual([field]);
    }
  });

  it('is allowed to admin, manager, finance and viewer', async () => {
    for (const [role, status] of [
      ['manager', 200],
      ['finance', 200],
      ['viewer', 200],
      ['agent', 403],
    ] as const) {
      const token = await service.signInAs(role);
      for (const path of ['/reports/accounts/summary', '/reports/payments', '/reports/payments?format=csv'])
        expect((await service.call('GET', path, undefined, { token })).status, `${role} ${path}`).toBe(
          status,
        );
    }
  });
});

describe('the figures of a past day', () => {
  const service = useService();
  const summary = (startDate: string, endDate: string) => summaryOf(service, startDate, endDate);
  const LATER = '2027-01-01';

  /** Without the addresses of lists, which show the present day. */
  const figuresOf = (data: Any) =>
    JSON.parse(JSON.stringify(data).replace(/"accountsUrl":("[^"]*"|null)/g, '"":0'));
  /** @returns a function that tells which statuses have more accounts on a day than now. */
  async function watchStatuses(...days: string[]) {
    const countsOf = async (day: string): Promise<Map<string, number>> =>
      new Map((await summary(day, day)).byStatus.map(({ status, count }: Any) => [status, count]));
    const before = new Map<string, Map<string, number>>();
    for (const day of days) before.set(day, await countsOf(day));
    return async (day: string) =>
      [...(await countsOf(day))]
        .filter(([status, count]) => count > (before.get(day)?.get(status) ?? 0))
        .map(([status]) => status);
  }

  it('do not change with later events on the accounts', async () => {
    setToday(service, '2026-03-02');
    const ids: number[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await newAccount(service, { activationDate: '2026-03-02' })).id);
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = ids;
    await newAccount(service, { activationDate: '2026-03-20' });
    const seen = new Map<string, Any>();
    const changes: Record<string, () => Promise<unknown>> = {
      '2026-03-05': () => pay(service, first, 2_000),
      '2026-03-11': () => move(service, second, 'suspended'),
      '2026-03-20': () => activateDueAccounts(service.context, NOT_STOPPING),
      '2026-04-01': () => move(service, second, 'written_off'),
      '2026-04-08': () => pay(service, second, 500),
      '2026-05-20': () => pay(service, first, 20_800),
      '2026-06-01': () => move(service, third, 'cancelled'),
      '2026-06-30': () => move(service, fourth, 'suspended'),
      '2026-07-09': () => move(service, fourth, 'repossessed'),
      '2026-08-15': () => move(service, fourth, 'active'),
      '2026-09-01': () => pay(service, fifth, 2_400),
      '2026-10-10': () => pay(service, second, 30_000),
    };
    for (const [day, change] of Object.entries(changes)) {
      setToday(service, day);
      await change();
      seen.set(day, figuresOf(await summary('2026-03-04', day)));
    }
    setToday(service, LATER);
    for (const [day, figures] of seen)
      expect(figuresOf(await summary('2026-03-04', day)), day).toEqual(figures);
    expect(new Set([...seen.values()].map((figures) => JSON.stringify(figures))).size).toBe(seen.size);
  });

  it('count an account as activated on its activation date even if the job runs weeks later', async () => {
    setToday(service, '2028-03-06');
    const { id } = await newAccount(service, { activationDate: '2028-03-15' });
    const paidOff = await newAccount(service, { activationDate: '2028-03-15' });
    await pay(service, paidOff.id, paidOff.total);
    setToday(service, '2028-04-10');
    await pay(service, id, 100);
    await activateDueAccounts(service.context, NOT_STOPPING);

    const history = async (accountId: number) =>
      (await service.call('GET', `/accounts/${accountId}/history?sort=id:asc`)).body.data;
    expect(await history(id)).toMatchObject([
      { to: 'pending', date: '2028-03-06' },
      { to: 'active', date: '2028-03-15', actor: 'system' },
    ]);
    expect((await history(paidOff.id)).at(-1)).toMatchObject({ to: 'completed', date: '2028-03-15' });

    const week = await summary('2028-03-13', '2028-03-19');
    expect(week.activated).toMatchObject({ count: 2, contractValue: 2 * paidOff.total });
    const figures = portfolioOf(await readPortfolio(readerOf(service)), {
      startDate: '2028-03-13',
      endDate: '2028-03-19',
      today: '2028-04-10',
      ...OFFSET,
    });
    expect(week).toMatchObject(figures);
    const before = await summary('2028-03-13', '2028-03-14');
    const statement = await done(service, 'GET', `/accounts/${id}/statement?to=2028-03-19`);
    expect(week.arrears - before.arrears).toBe(statement.closing.arrears);
    expect(statement.closing.arrears).toBe(2_000);
  });

  it('complete an account that was activated late on the day of its last payment', async () => {
    setToday(service, '2028-06-01');
    const { id, total } = await newAccount(service, { activationDate: '2028-06-05' });
    setToday(service, '2028-06-12');
    await pay(service, id, total);
    await activateDueAccounts(service.context, NOT_STOPPING);
    const { data } = (await service.call('GET', `/accounts/${id}/history?sort=id:asc`)).body;
    expect(data.slice(1)).toMatchObject([
      { to: 'active', date: '2028-06-05' },
      { to: 'completed', date: '2028-06-12' },
    ]);
  });

  it('show an account that was recorded late with its later status', async () => {
    setToday(service, LATER);
    const standingOf = await watchStatuses('2025-01-05', '2025-01-06', '2025-06-01');
    setToday(service, '2025-06-01');
    const { id } = await newAccount(service, { activationDate: '2025-01-06' });
    await move(service, id, 'suspended');
    setToday(service, LATER);
    expect(await standingOf('2025-01-05')).toEqual([]);
    expect(await standingOf('2025-01-06')).toEqual(['active']);
    expect(await standingOf('2025-06-01')).toEqual(['suspended']);
  });

  it('show an account as completed from the day of the last payment, unless that is reversed', async () => {
    setToday(service, LATER);
    const standingOf = await watchStatuses('2024-03-14', '2024-03-15', '2024-06-15');
    setToday(service, '2024-06-01');
    const { id, total } = await newAccount(service, { activationDate: '2024-01-01' });
    const payment = await pay(service, id, total, { paymentDate: '2024-03-15' });
    setToday(service, LATER);
    expect(await standingOf('2024-03-14')).toEqual(['active']);
    expect(await standingOf('2024-03-15')).toEqual(['completed']);
    await reverse(service, payment.id);
    expect(await standingOf('2024-03-15')).toEqual(['active']);
    expect(await standingOf('2024-06-15')).toEqual(['active']);
  });

  it('count as loss the balance at the end of the day of write-off, and later payments up to it as recovered', async () => {
    setToday(service, '2023-02-01');
    const { id, total } = await newAccount(service, { activationDate: '2023-02-01' });
    await move(service, id, 'suspended');
    setToday(service, '2023-03-10');
    await move(service, id, 'written_off');
    const writeOffs = async (startDate: string, endDate: string) => {
      const { count, amount, recovered } = (await summary(startDate, endDate)).writeOffs;
      return [count, amount, recovered];
    };
    expect(await writeOffs('2023-03-01', '2023-03-31')).toEqual([1, total, 0]);
    await pay(service, id, 1_000, { paymentDate: '2023-03-09' }); // recorded after the report of March was made
    await pay(service, id, 300, { paymentDate: '2023-03-10' });
    expect(await writeOffs('2023-03-01', '2023-03-31')).toEqual([1, total - 1_300, 0]);
    setToday(service, '2023-05-02');
    const last = await pay(service, id, total, { paymentDate: '2023-04-20' });
    expect(await writeOffs('2023-03-01', '2023-03-31')).toEqual([1, total - 1_300, 0]);
    expect(await writeOffs('2023-04-01', '2023-04-30')).toEqual([0, 0, total - 1_300]);
    expect(await writeOffs('2023-03-01', '2023-04-30')).toEqual([1, total - 1_300, total - 1_300]);
    await reverse(service, last.id);
    expect(await writeOffs('2023-03-01', '2023-04-30')).toEqual([1, total - 1_300, 0]);
    const account = (await service.call('GET', `/accounts/${id}`)).body.data;
    expect([account.status, account.writtenOffDate]).toEqual(['written_off', '2023-03-10']);
  });

  it('include written-off accounts in the repayment rate, and cancelled accounts in no rate', async () => {
    setToday(service, '2022-02-01');
    const activationDate = '2022-01-04'; // four instalments of 400 are due by 2022-02-01
    const [lost, undone] = [
      await newAccount(service, { activationDate }),
      await newAccount(service, { activationDate }),
    ];
    await pay(service, lost.id, 2_400);
    await pay(service, undone.id, 2_800);
    await move(service, lost.id, 'suspended');
    await move(service, lost.id, 'written_off');
    setToday(service, '2022-02-02');
    await move(service, undone.id, 'cancelled');
    setToday(service, LATER);
    const rates = async (day: string) => {
      const { repaymentRate, collectionRate, outstanding } = await summary('2022-01-05', day);
      const of = ({ numerator, denominator }: Any) => [numerator, denominator];
      return [of(repaymentRate), of(collectionRate), outstanding];
    };
    expect(await rates('2022-02-01')).toEqual([[1_200, 3_200], [1_200, 3_200], 20_000]);
    expect(await rates('2022-02-02')).toEqual([[400, 1_600], [400, 1_600], 0]);
  });
});

const REFS = [
  '=HYPERLINK("http://x","y")',
  '+254712345678',
  '0712345678',
  '254712345678',
  '-5+cmd',
  '@SUM(A1:A9)',
  '  =1+1',
  'plain, with "quotes"',
  "O'Neil;5",
  'ኢትዮ–é',
  '00012',
];

describe('GET /reports/payments', () => {
  const service = useService();

  beforeAll(async () => {
    service.clock.set(NOW);
    const names = [
      ['a;=1+1;b', 'c;+2'],
      ['=1+1', 'Wolde'],
      ['Anne, "Annie"', "O'Neil"],
      ['ወልደ', 'عمر'],
      ['+Plus', 'Minus'],
    ];
    const accounts = [];
    for (const [firstName, lastName] of names) {
      const { id: customerId } = await newCustomer(service, { firstName, lastName });
      accounts.push(await newAccount(service, { customerId, activationDate: '2026-01-01' }));
    }
    const random = createRandom(7);
    for (let n = 0; n < 60; n += 1) {
      const payment = await done(service, 'POST', '/payments', {
        accountId: accounts[n % accounts.length].id,
        amount: (1 + random(900_000)) / 100,
        paymentMethodId: 1 + random(4),
        paymentDate: addDays('2026-10-25' as PlainDate, random(20)),
        transactionRef: n < REFS.length ? REFS[n] : random(2) === 0 ? null : `R${n}`,
      });
      if (n % 7 === 3) await done(service, 'POST', `/payments/${payment.id}/reverse`, { reason: 'twice' });
      if (n % 5 === 0)
        await done(service, 'POST', '/payments/reconcile', {
          paymentIds: [payment.id],
          reconciliationDate: '2026-11-10',
        });
    }
    const unmatched = { TransTime: '20261105101530', BillRefNumber: 'nobody', MSISDN: '254700000000' };
    await done(service, 'POST', '/webhooks/payments/mobilemoney', {
      ...{ TransactionType: 'Pay Bill', TransID: 'UNMATCHED1', TransAmount: '12.50', BusinessShortCode: '1' },
      ...unmatched,
    });
  });

  const report = async (query = '') => {
    const { status, body } = await service.call('GET', `/reports/payments?${query}`);
    expect(status).toBe(200);
    return body;
  };
  const allRows = async (query: string) => {
    const rows: Any[] = [];
    for (let page = 1; ; page += 1) {
      const { data, pagination } = await report(`${query}&limit=9&page=${page}`);
      rows.push(...data.rows);
      if (page >= pagination.totalPages) return { rows, data, pagination };
    }
  };
  const csv = async (query: string) => {
    const { status, text, headers } = await service.call('GET', `/reports/payments?format=csv&${query}`);
    expect(status, text).toBe(200);
    return { text, headers, rows: parse(text, { columns: true }) as Record<string, string>[] };
  };

  it('returns all payments of the period, which add up to the totals of every grouping', async () => {
    const { rows, data, pagination } = await allRows('startDate=2026-10-28&endDate=2026-11-10');
    const listed = (await readAll<RawPayment & { id: number }>(readerOf(service), '/payments')).filter(
      ({ paymentDate }) => paymentDate >= '2026-10-28' && paymentDate <= '2026-11-10',
    );
    expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(listed.map(({ id }) => id));
    expect(rows).toEqual(rows.toSorted((a, b) => a.paymentDate.localeCompare(b.paymentDate) || a.id - b.id));
    expect(pagination).toEqual({
      page: pagination.page,
      limit: 9,
      total: rows.length,
      totalPages: pagination.page,
    });

    const reversed = rows.filter(({ status }) => status === 'reversed');
    const money = (of: Any[]) => units(sum(of, ({ amount }) => cents(amount)));
    expect(data.totals).toEqual({
      received: money(rows),
      reversed: money(reversed),
      refunded: 0,
      net: money(rows.filter(({ status }) => status !== 'reversed')),
      unmatched: 12.5,
      counts: {
        received: rows.length,
        matched: rows.filter(({ status }) => status === 'matched').length,
        unmatched: 1,
        reversed: reversed.length,
        refunded: 0,
      },
    });
    for (const groups of [data.byMethod, data.byDay]) {
      for (const key of ['received', 'reversed', 'net'])
        expect(units(sum(groups, (row: Any) => cents(row[key]))), key).toBe(data.totals[key]);
      expect(sum(groups, ({ count }: Any) => count)).toBe(rows.length);
    }
    for (const { paymentDate, received } of data.byDay)
      expect(received).toBe(money(rows.filter((row) => row.paymentDate === paymentDate)));
    for (const { paymentMethod, received } of data.byMethod)
      expect(received).toBe(money(rows.filter((row) => row.paymentMethod === paymentMethod)));
  });

  it('defaults to the current month and the first page of twenty rows', async () => {
    const { data, pagination } = await report();
    expect(data.period).toEqual({ startDate: '2026-11-01', endDate: '2026-11-30' });
    expect(data.currency).toBe('KES');
    expect(data.rows).toHaveLength(20);
    expect(pagination).toMatchObject({ page: 1, limit: 20 });
  });

  it('returns an empty page past the end, and totals of 0 for an empty period', async () => {
    const past = await report('page=1000');
    expect(past.data.rows).toEqual([]);
    expect(past.data.totals.counts.received).toBe(past.pagination.total);
    const empty = await report('startDate=2001-01-01&endDate=2001-12-31');
    expect(empty.data).toMatchObject({ rows: [], byMethod: [], totals: { received: 0, net: 0 } });
    const zero = { received: 0, reversed: 0, refunded: 0, net: 0, unmatched: 0, count: 0 };
    expect(empty.data.byDay).toHaveLength(365);
    expect(empty.data.byDay[0]).toEqual({ paymentDate: '2001-01-01', ...zero });
    expect(empty.data.byDay.at(-1)).toEqual({ paymentDate: '2001-12-31', ...zero });
    expect(empty.pagination).toEqual({ page: 1, limit: 20, total: 0, totalPages: 0 });
  });

  it('returns the same rows in the same order as CSV', async () => {
    const period = 'startDate=2026-10-01&endDate=2026-11-30';
    const { rows } = await allRows(period);
    const file = await csv(period);
    expect(file.text.split('\r\n', 1)[0]).toBe(COLUMNS);
    const neutral = (text: string | null) =>
      text === null ? '' : /^\s*([=+@-]|0\d+\s*$|\d{16,}\s*$)/.test(text) ? `'${text}` : text;
    expect(file.rows).toEqual(
      rows.map((row) => ({
        ...Object.fromEntries(
          Object.entries(row).map(([key, value]) => [key, value === null ? '' : String(value)]),
        ),
        amount: row.amount.toFixed(2),
        customerName: neutral(row.customerName).replace(/;(?=[=+])/g, ";'"),
        transactionRef: neutral(row.transactionRef),
      })),
    );
    expect(file.rows.some(({ reconciliationDate }) => reconciliationDate === '2026-11-10')).toBe(true);
    expect(new Set(file.rows.map(({ status }) => status))).toEqual(
      new Set(['matched', 'unmatched', 'reversed']),
    );
  });

  it('escapes text that a spreadsheet would run, round or strip of zeros', async () => {
    const { rows, text } = await csv('startDate=2026-10-01&endDate=2026-11-30');
    const refs = new Set(rows.map(({ transactionRef }) => transactionRef));
    for (const ref of ['\'=HYPERLINK("http://x","y")', "'+254712345678", "'-5+cmd", "'@SUM(A1:A9)", "'=1+1"])
      expect(refs).toContain(ref);
    for (const ref of ["'0712345678", "'00012"]) expect(refs).toContain(ref);
    for (const ref of ['254712345678', 'plain, with "quotes"', 'ኢትዮ–é', "O'Neil;5"])
      expect(refs).toContain(ref);
    const customers = new Set(rows.map(({ customerName }) => customerName));
    expect(customers).toEqual(
      new Set(["a;'=1+1;b c;'+2", "'=1+1 Wolde", 'Anne, "Annie" O\'Neil', 'ወልደ عمر', "'+Plus Minus", '']),
    );
    for (const row of rows)
      for (const cell of Object.values(row)) expect(cell).not.toMatch(/^\s*[=+@\-\t\r]/);
    const split = { delimiter: ';', relax_quotes: true, relax_column_count: true };
    for (const cell of parse(text, split).flat()) expect(cell).not.toMatch(/^\s*[=+@\-\t\r]/);
  });

  it('ends every line with CRLF and quotes only texts', async () => {
    const { text } = await csv('startDate=2026-10-01&endDate=2026-11-30');
    expect(text.endsWith('\r\n')).toBe(true);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    const [, line] = text.split('\r\n');
    expect(line).toMatch(/^\d+,2026-\d\d-\d\d,\d+,ACC\d{8},"[^"].*",\d+\.\d\d,KES,"[^"]+",/);
  });

  it('is an attachment that must not be cached', async () => {
    const { headers } = await csv('startDate=2026-10-01&endDate=2026-10-31');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="payments_2026-10-01_2026-10-31.csv"',
    );
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('has only the header for a period without payments', async () => {
    expect((await csv('startDate=2001-01-01&endDate=2001-01-31')).text).toBe(`${COLUMNS}\r\n`);
  });

  it('subtracts a refund on its own day and method, and lists it only in the CSV of refunds', async () => {
    setToday(service, '2024-03-01');
    const account = await newAccount(service);
    await pay(service, account.id, 3_500, { paymentMethodId: 2 });
    await move(service, account.id, 'cancelled');
    setToday(service, '2024-03-03');
    const refund = {
      amount: 500.02,
      reason: '=returned, broken',
      paymentMethodId: 3,
      transactionRef: '0001',
    };
    const { id } = await done(service, 'POST', `/accounts/${account.id}/credit/refund`, refund);
    const other = await newAccount(service);
    await done(service, 'POST', `/accounts/${account.id}/credit/transfer`, {
      ...{ toAccountId: other.id, amount: 100, reason: 'the family' },
    });
    service.clock.set(NOW);

    const period = 'startDate=2024-03-01&endDate=2024-03-03';
    const { data, pagination } = await report(period);
    expect(data.totals).toEqual({
      ...{ received: 3_500, reversed: 0, refunded: 500.02, net: 2_999.98, unmatched: 0 },
      counts: { received: 1, matched: 1, unmatched: 0, reversed: 0, refunded: 1 },
    });
    expect((await summaryOf(service, '2024-03-01', '2024-03-03')).collected).toBe(2_999.98);
    const sums = ({ received, refunded, net, count }: Any) => [received, refunded, net, count];
    expect(data.byMethod.map(sums)).toEqual([
      [3_500, 0, 3_500, 1],
      [0, 500.02, -500.02, 0],
    ]);
    expect(data.byMethod[1]).toMatchObject({ paymentMethodId: 3, paymentMethod: expect.stringMatching(/./) });
    expect(data.byDay.map(sums)).toEqual([
      [3_500, 0, 3_500, 1],
      [0, 0, 0, 0],
      [0, 500.02, -500.02, 0],
    ]);
    expect([data.rows.length, pagination.total]).toEqual([1, 1]);
    expect((await csv(period)).rows).toHaveLength(1);

    const file = await service.call('GET', `/reports/refunds.csv?${period}`);
    expect(file.headers.get('content-disposition')).toBe(
      'attachment; filename="refunds_2024-03-01_2024-03-03.csv"',
    );
    expect(parse(file.text, { columns: true, bom: true })).toEqual([
      {
        id: String(id),
        valueDate: '2024-03-03',
        accountId: String(account.id),
        accountNumber: account.accountNumber,
        customerName: expect.stringMatching(/./),
        amount: '500.02',
        currency: 'KES',
        paymentMethod: data.byMethod[1].paymentMethod,
        transactionRef: "'0001",
        reason: "'=returned, broken",
      },
    ]);
    const before = await service.call('GET', '/reports/refunds.csv?startDate=2024-03-01&endDate=2024-03-02');
    expect(before.text.split('\r\n')).toEqual([expect.stringMatching(/id,valueDate,.*,reason$/), '']);
    const { body } = await service.call(
      'GET',
      '/reports/refunds.csv?startDate=2024-03-02&endDate=2024-03-01',
    );
    expect(body.error.details.fields.map(({ path }: Any) => path)).toEqual(['startDate']);
  });

  it.each([
    ['format=xml', ['format']],
    ['format=csv&page=2&limit=10', ['page', 'limit']],
    ['limit=101', ['limit']],
    ['page=0', ['page']],
    ['sort=id:asc', ['sort']],
  ])('refuses ?%s and names the parameter', async (query, fields) => {
    const { status, body } = await service.call('GET', `/reports/payments?${query}`);
    expect(status).toBe(400);
    expect(body.error.details.fields.map(({ path }: Any) => path)).toEqual(fields);
  });
});

/** Its clock is set back. */
const ahead = useService({}, { slotMs: 200 });

describe('summaries', () => {
  it('run two at a time; a third waits, and is then refused with a delay', async () => {
    const { summaries } = ahead.parts;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const running = ['user 8', 'user 9'].map((user) => summaries.read(user, () => ended));
    const waiting = ahead.call('GET', '/reports/accounts/summary');
    expect((await ahead.call('GET', '/accounts')).status).toBe(200);
    const { status, headers } = await waiting;
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    end();
    await Promise.all(running);
    expect((await ahead.call('GET', '/reports/accounts/summary')).status).toBe(200);
  });
});

describe('a payment dated before its account', () => {
  it('is collected in its own month, so that months add up', async () => {
    setToday(ahead, '2026-06-15');
    const { id: accountId } = await newAccount(ahead, { activationDate: '2026-06-02' });
    const body = { accountId, amount: 1000, paymentMethodId: 2, paymentDate: '2026-05-30' };
    expect((await ahead.call('POST', '/payments', body)).status).toBe(201);
    const collected = async (period: string) => {
      const answer = await done(ahead, 'GET', `/reports/accounts/summary?${period}`);
      return [answer.collected, answer.contractValue];
    };
    // The payment is dated in May, before the account was recorded.
    expect(await collected('startDate=2026-05-01&endDate=2026-05-31')).toEqual([1000, 0]);
    expect((await collected('startDate=2026-06-01&endDate=2026-06-30'))[0]).toBe(0);
    expect((await collected('startDate=2026-05-01&endDate=2026-06-30'))[0]).toBe(1000);
  });
});

describe('an event dated after today, because a clock was set back', () => {
  const summary = (period: string) => done(ahead, 'GET', `/reports/accounts/summary?${period}`);
  const collected = async (period: string) => (await summary(period)).collected;

  it('counts in no figure before its day, within a month and across its end', async () => {
    setToday(ahead, '2026-10-31');
    const { id } = await newAccount(ahead);
    await pay(ahead, id, 1000, { paymentDate: '2026-10-02' });
    await pay(ahead, id, 30, { paymentDate: '2026-09-02' });
    expect(await collected('startDate=2026-10-01&endDate=2026-10-31')).toBe(1000);
    setToday(ahead, '2026-11-01');
    const tomorrow = await pay(ahead, id, 200);
    setToday(ahead, '2026-10-31');
    expect(await collected('startDate=2026-10-01&endDate=2026-10-31')).toBe(1000);
    expect(await collected('startDate=2026-10-01&endDate=2026-11-30')).toBe(1000);
    expect(await collected('startDate=2026-09-30&endDate=2026-10-31')).toBe(1000);
    // The lists would show more accounts than the figures count.
    expect((await summary('startDate=2026-10-01&endDate=2026-10-31')).par30.accountsUrl).toBeNull();
    setToday(ahead, '2026-11-01');
    expect(await collected('startDate=2026-10-01&endDate=2026-10-31')).toBe(1000);
    expect(await collected('startDate=2026-11-01&endDate=2026-11-30')).toBe(200);
    setToday(ahead, '2026-10-31');
    await pay(ahead, id, 5, { paymentDate: '2026-10-02' });
    await reverse(ahead, tomorrow.id);
    expect(await collected('startDate=2026-10-01&endDate=2026-10-31')).toBe(1005);
    setToday(ahead, '2026-11-01');
    expect(await collected('startDate=2026-11-01&endDate=2026-11-30')).toBe(0);
    await expectBooksToBalance(ahead.context);
  });

  it('does not change the status before its day', async () => {
    setToday(ahead, '2027-02-10');
    const { id } = await newAccount(ahead);
    setToday(ahead, '2027-02-11');
    await move(ahead, id, 'suspended');
    const suspended = async () =>
      (await summary('')).byStatus.find(({ status }: Any) => status === 'suspended').count;
    expect(await suspended()).toBe(1);
    setToday(ahead, '2027-02-10');
    expect(await suspended()).toBe(0);
  });
});
