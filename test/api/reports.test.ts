import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { sql } from 'kysely';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { openCopyPool } from '../../src/core/copy.ts';
import { addDays, daysBetween, type PlainDate } from '../../src/core/dates.ts';
import { databaseOn } from '../global-setup.ts';
import { newAccount, newCustomer, startTestService, type TestService, useService } from '../harness.ts';

/** Answers of the API, whose shape other tests hold. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they assert.
type Any = any;

const NOW = new Date('2026-11-15T09:00:00Z');
const TODAY = '2026-11-15' as PlainDate;
const COLUMNS =
  'id,paymentDate,accountId,accountNumber,customerName,amount,currency,paymentMethod,transactionRef,status,reconciliationDate';

/** A seeded generator (mulberry32), so that a failure can be repeated. */
function seeded(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

async function done(service: TestService, method: string, path: string, body?: unknown): Promise<Any> {
  const answer = await service.call(method, path, body);
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.body.data;
}

/** Sixty accounts of all frequencies, statuses and latenesses, with back-dated and reversed payments. */
async function openPortfolio(service: TestService): Promise<void> {
  const random = seeded(20_261_115);
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
  const monthEnds = ['2026-01-31', '2026-08-31', '2025-10-31', '2026-03-30', '2026-11-30', '2026-10-31'];
  for (let n = 0; n < 60; n += 1) {
    const activationDate = n < 12 ? monthEnds[n % 6] : addDays(TODAY, 15 - random(420));
    const account = await newAccount(service, {
      activationDate,
      payplanId: plans[n % plans.length],
      productId: 1 + random(5),
    });
    const share = [0, 0, 30, 60, 60, 90, 100, 110][random(8)] ?? 0;
    const parts = share === 0 ? 0 : 1 + random(6);
    for (let i = 0; i < parts; i += 1) {
      const amount = Math.round((account.total * share) / parts) / 100;
      const earliest = daysBetween(TODAY, account.activationDate) - 10;
      const paymentDate = addDays(TODAY, Math.min(0, earliest + random(Math.max(1, 10 - earliest))));
      const payment = await done(service, 'POST', '/payments', {
        accountId: account.id,
        amount,
        paymentMethodId: 1 + random(4),
        paymentDate,
        transactionRef: random(3) === 0 ? null : `REF${n}-${i}`,
      });
      if (random(9) === 0)
        await done(service, 'POST', `/payments/${payment.id}/reverse`, { reason: 'recorded twice' });
    }
    for (const status of [
      [],
      [],
      [],
      ['suspended'],
      ['defaulted', 'repossessed'],
      ['defaulted'],
      ['cancelled'],
      ['suspended', 'written_off'],
    ][random(8)] ?? []) {
      const now = (await done(service, 'GET', `/accounts/${account.id}`)).status;
      if (now === 'completed' || (now === 'pending' && status === 'defaulted')) break;
      await done(service, 'PUT', `/accounts/${account.id}`, { status, reason: 'as a test' });
    }
    // When a row was recorded cannot be set through the API.
    const created = addDays(TODAY, -random(100));
    await sql`update accounts set created_at = ${`${created}T08:00:00Z`} where id = ${account.id}`.execute(
      service.context.db,
    );
  }
  // A written-off account that pays in full completes, and had been written off the day before.
  const late = await newAccount(service, { activationDate: '2026-01-31', payplanId: plans[5] });
  await done(service, 'PUT', `/accounts/${late.id}`, { status: 'suspended' });
  await done(service, 'PUT', `/accounts/${late.id}`, { status: 'written_off', reason: 'lost' });
  await done(service, 'POST', '/payments', { accountId: late.id, amount: late.total, paymentMethodId: 1 });
}

async function everything(service: TestService, path: string): Promise<Any[]> {
  const rows: Any[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await service.call('GET', `${path}?limit=100&sort=id:asc&page=${page}`);
    rows.push(...body.data);
    if (page >= body.pagination.totalPages) return rows;
  }
}

const cents = (amount: number) => Math.round(amount * 100);
const units = (minor: number) => minor / 100;
const sum = <T>(rows: T[], of: (row: T) => number) => rows.reduce((total, row) => total + of(row), 0);

/** The dates of all instalments, counted up one by one. */
function instalmentDates(account: Any): string[] {
  const [year, month, day] = account.activationDate.split('-').map(Number);
  return Array.from({ length: account.instalmentCount }, (_, i) => {
    const k = i + 1;
    if (account.frequency !== 'monthly') {
      const days = account.frequency === 'daily' ? k : 7 * k;
      return new Date(Date.UTC(year, month - 1, day + days)).toISOString().slice(0, 10);
    }
    const last = new Date(Date.UTC(year, month - 1 + k + 1, 0)).getUTCDate();
    return new Date(Date.UTC(year, month - 1 + k, Math.min(day, last))).toISOString().slice(0, 10);
  });
}

/** The summary as the formulas of its decision page say it, from raw accounts and payments, account by account. */
function naiveSummary(raw: Raw, startDate: string, endDate: string) {
  const asOf = endDate < TODAY ? endDate : TODAY;
  const past = asOf < TODAY;
  const dayBefore = addDays(startDate as PlainDate, -1);
  const existing = raw.accounts.filter(
    (a) => !past || a.activationDate <= asOf || a.createdAt.slice(0, 10) <= asOf,
  );
  const accounts = existing.map((a) => {
    const total = cents(a.total);
    const deposit = cents(a.deposit);
    const paidBy = (day: string) =>
      sum(
        raw.payments.filter((p) => p.accountId === a.id && p.status === 'matched' && p.paymentDate <= day),
        (p) => cents(p.amount),
      );
    const paid = paidBy(asOf);
    const f = (x: number) => Math.max(0, Math.min(x - deposit, total - deposit));
    const dates = instalmentDates(a);
    const dueBy = (day: string) => dates.filter((date) => date <= day).length * cents(a.instalmentAmount);
    let standing = a.status;
    if (a.status === 'completed' && paid < total) standing = raw.completedFrom.get(a.id);
    if (a.status !== 'cancelled' && past && a.activationDate > asOf) standing = 'pending';
    // Items are covered one by one until the money runs out.
    let left = paid;
    let next: string | undefined;
    for (const [i, date] of [a.activationDate, ...dates].entries()) {
      left -= i === 0 ? deposit : cents(a.instalmentAmount);
      if (left < 0) {
        next = date;
        break;
      }
    }
    const receivable = ['active', 'suspended', 'defaulted', 'repossessed'].includes(standing);
    const due = a.activationDate <= asOf ? deposit + dueBy(asOf) : 0;
    return {
      productId: a.productId,
      status: a.status,
      standing,
      activationDate: a.activationDate,
      created: a.createdAt.slice(0, 10),
      total,
      outstanding: receivable ? Math.max(0, total - paid) : 0,
      arrears: receivable ? Math.max(0, due - paid) : 0,
      daysPastDue: receivable
        ? next && next < asOf
          ? daysBetween(next as PlainDate, asOf as PlainDate)
          : 0
        : null,
      collected: startDate > asOf ? 0 : paid - paidBy(dayBefore),
      collectedInstalments: startDate > asOf ? 0 : f(paid) - f(paidBy(dayBefore)),
      dueInPeriod: startDate > asOf ? 0 : dueBy(asOf) - dueBy(dayBefore),
      dueToDate: dueBy(asOf),
      repaid: Math.min(f(paid), dueBy(asOf)),
    };
  });
  const sold = accounts.filter((a) => a.standing !== 'cancelled');
  const receivables = sum(accounts, (a) => a.outstanding);
  const ratio = (numerator: number, denominator: number) => ({
    numerator: units(numerator),
    denominator: units(denominator),
    ratio: denominator === 0 ? null : Math.round((numerator / denominator) * 10_000) / 10_000,
    asOf,
  });
  const overdue = (days: number) =>
    ratio(
      sum(
        accounts.filter((a) => (a.daysPastDue ?? 0) > days),
        (a) => a.outstanding,
      ),
      receivables,
    );
  const group = (rows: typeof accounts) => ({
    count: rows.length,
    contractValue: units(sum(rows, (a) => a.total)),
    outstanding: units(sum(rows, (a) => a.outstanding)),
    arrears: units(sum(rows, (a) => a.arrears)),
  });
  const only = (rows: typeof accounts) => ({
    count: rows.length,
    contractValue: units(sum(rows, (a) => a.total)),
  });
  return {
    asOf,
    opened: only(accounts.filter((a) => a.created >= startDate && a.created <= endDate)),
    activated: only(
      accounts.filter(
        (a) =>
          a.activationDate >= startDate &&
          a.activationDate <= asOf &&
          !['pending', 'cancelled'].includes(a.status),
      ),
    ),
    contractValue: units(sum(sold, (a) => a.total)),
    collected: units(sum(accounts, (a) => a.collected)),
    outstanding: units(receivables),
    arrears: units(sum(accounts, (a) => a.arrears)),
    byStatus: [...STATUSES].map((status) => ({
      status,
      ...group(accounts.filter((a) => a.standing === status)),
    })),
    byProduct: [1, 2, 3, 4, 5]
      .map((productId) => ({ productId, ...group(accounts.filter((a) => a.productId === productId)) }))
      .filter(({ count }) => count > 0),
    collectionRate: ratio(
      sum(sold, (a) => a.collectedInstalments),
      sum(sold, (a) => a.dueInPeriod),
    ),
    repaymentRate: ratio(
      sum(sold, (a) => a.repaid),
      sum(sold, (a) => a.dueToDate),
    ),
    par30: overdue(30),
    par60: overdue(60),
    par90: overdue(90),
    daysPastDue: [
      [0, 0],
      [1, 30],
      [31, 60],
      [61, 90],
      [91, 180],
      [181, null],
    ].map(([from, to]) => {
      const rows = accounts.filter(
        (a) => a.daysPastDue !== null && a.daysPastDue >= (from ?? 0) && a.daysPastDue <= (to ?? 1e9),
      );
      return { from, to, count: rows.length, balance: units(sum(rows, (a) => a.outstanding)) };
    }),
  };
}

const STATUSES = [
  'pending',
  'active',
  'suspended',
  'defaulted',
  'repossessed',
  'completed',
  'written_off',
  'cancelled',
] as const;

interface Raw {
  accounts: Any[];
  payments: Any[];
  /** The status from which an account was completed last. */
  completedFrom: Map<number, string>;
}

describe('GET /reports/accounts/summary', () => {
  const service = useService();
  let raw: Raw;

  beforeAll(async () => {
    service.clock.set(NOW);
    await openPortfolio(service);
    const accounts = await everything(service, '/accounts');
    const completedFrom = new Map<number, string>();
    for (const { id, status } of accounts) {
      if (status !== 'completed') continue;
      const history = await done(service, 'GET', `/accounts/${id}/history?sort=id:desc`);
      completedFrom.set(id, history.find(({ to }: Any) => to === 'completed').from);
    }
    raw = { accounts, payments: await everything(service, '/payments'), completedFrom };
  }, 120_000);

  const summary = (startDate: string, endDate: string) =>
    done(service, 'GET', `/reports/accounts/summary?startDate=${startDate}&endDate=${endDate}`);

  it('is tried on a portfolio that has every status, lateness and kind of payment', async () => {
    const { byStatus, daysPastDue } = await summary('2026-11-01', '2026-11-30');
    for (const { status, count } of byStatus) expect(count, status).toBeGreaterThan(0);
    for (const { from, count } of daysPastDue) expect(count, `${from} days`).toBeGreaterThan(0);
    expect(raw.payments.some(({ status }) => status === 'reversed')).toBe(true);
    expect([...raw.completedFrom.values()]).toContain('written_off');
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
  ])('gives the figures of %s as a plain calculation does', async (_, startDate, endDate) => {
    const answer = await summary(startDate, endDate);
    expect(answer.period).toEqual({ startDate, endDate });
    expect(answer).toMatchObject(naiveSummary(raw, startDate, endDate));
  });

  it.each(['2026-11-30', '2026-07-31'])(
    'has buckets that add up to the outstanding, to %s',
    async (endDate) => {
      const { daysPastDue, outstanding, par30, byProduct, byStatus } = await summary('2026-07-01', endDate);
      expect(units(sum(daysPastDue, ({ balance }: Any) => cents(balance)))).toBe(outstanding);
      expect(units(sum(byProduct, (row: Any) => cents(row.outstanding)))).toBe(outstanding);
      expect(units(sum(byStatus, (row: Any) => cents(row.outstanding)))).toBe(outstanding);
      expect(par30.denominator).toBe(outstanding);
    },
  );

  it('links to the very accounts behind each figure', async () => {
    const { daysPastDue, byStatus, byProduct, opened, activated } = await summary('2026-11-01', '2026-11-30');
    const listed = async (url: string) => {
      const { status, body } = await service.call('GET', `${url.replace('/api', '')}&limit=100`);
      expect(status).toBe(200);
      return { count: body.pagination.total, balance: units(sum(body.data, (a: Any) => cents(a.balance))) };
    };
    for (const { accountsUrl, count, balance } of daysPastDue)
      expect(await listed(accountsUrl), accountsUrl).toEqual({ count, balance });
    for (const { accountsUrl, count } of [...byStatus, ...byProduct, opened, activated])
      expect((await listed(accountsUrl)).count, accountsUrl).toBe(count);
  });

  it('gives no link where the list of today would show other accounts', async () => {
    const { daysPastDue, byStatus } = await summary('2026-10-01', '2026-10-31');
    expect([...daysPastDue, ...byStatus].every(({ accountsUrl }) => accountsUrl === null)).toBe(true);
  });

  it('takes the current month where no dates are given', async () => {
    const data = await done(service, 'GET', '/reports/accounts/summary');
    expect(data.period).toEqual({ startDate: '2026-11-01', endDate: '2026-11-30' });
    expect(data).toEqual(await summary('2026-11-01', '2026-11-30'));
  });

  it('counts an account recorded shortly before midnight UTC to the business day', async () => {
    const account = await newAccount(service);
    await sql`update accounts set created_at = '2019-05-31T21:30:00Z' where id = ${account.id}`.execute(
      service.context.db,
    );
    expect((await summary('2019-06-01', '2019-06-01')).opened.count).toBe(1);
    expect((await summary('2019-05-31', '2019-05-31')).opened.count).toBe(0);
  });

  it.each([
    ['startDate=2026-02-02&endDate=2026-02-01', 'startDate'],
    ['startDate=2026-02-30', 'startDate'],
    ['endDate=yesterday', 'endDate'],
    ['start=2026-02-01', 'start'],
    ['startDate=2026-02-01&startDate=2026-03-01', 'startDate'],
  ])('refuses ?%s by name', async (query, field) => {
    for (const report of ['accounts/summary', 'payments']) {
      const { status, body } = await service.call('GET', `/reports/${report}?${query}`);
      expect(status).toBe(400);
      expect(body.error.code).toBe('VALIDATION_ERROR');
      expect(body.error.details.fields.map(({ path }: Any) => path)).toEqual([field]);
    }
  });

  it('is for admin, manager, finance and viewer', async () => {
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
    const random = seeded(7);
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
  }, 60_000);

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

  it('gives rows that are all payments of the period and add up to the totals, in every grouping', async () => {
    const { rows, data, pagination } = await allRows('startDate=2026-10-28&endDate=2026-11-10');
    const listed = (await everything(service, '/payments')).filter(
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
      net: money(rows.filter(({ status }) => status !== 'reversed')),
      counts: {
        received: rows.length,
        matched: rows.filter(({ status }) => status === 'matched').length,
        unmatched: 1,
        reversed: reversed.length,
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

  it('takes the current month and the first page of twenty where nothing is given', async () => {
    const { data, pagination } = await report();
    expect(data.period).toEqual({ startDate: '2026-11-01', endDate: '2026-11-30' });
    expect(data.currency).toBe('KES');
    expect(data.rows).toHaveLength(20);
    expect(pagination).toMatchObject({ page: 1, limit: 20 });
  });

  it('has an empty page past the end and an empty period with totals of 0', async () => {
    const past = await report('page=1000');
    expect(past.data.rows).toEqual([]);
    expect(past.data.totals.counts.received).toBe(past.pagination.total);
    const empty = await report('startDate=2001-01-01&endDate=2001-12-31');
    expect(empty.data).toMatchObject({ rows: [], byMethod: [], byDay: [], totals: { received: 0, net: 0 } });
    expect(empty.pagination).toEqual({ page: 1, limit: 20, total: 0, totalPages: 0 });
  });

  it('gives as CSV the same rows in the same order', async () => {
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
        customerName: neutral(row.customerName),
        transactionRef: neutral(row.transactionRef),
      })),
    );
    expect(file.rows.some(({ reconciliationDate }) => reconciliationDate === '2026-11-10')).toBe(true);
    expect(new Set(file.rows.map(({ status }) => status))).toEqual(
      new Set(['matched', 'unmatched', 'reversed']),
    );
  });

  it('writes text that a spreadsheet would run, round or strip of its zeros as text', async () => {
    const { rows } = await csv('startDate=2026-10-01&endDate=2026-11-30');
    const refs = new Set(rows.map(({ transactionRef }) => transactionRef));
    for (const ref of ['\'=HYPERLINK("http://x","y")', "'+254712345678", "'-5+cmd", "'@SUM(A1:A9)", "'=1+1"])
      expect(refs).toContain(ref);
    for (const ref of ["'0712345678", "'00012"]) expect(refs).toContain(ref);
    for (const ref of ['254712345678', 'plain, with "quotes"', 'ኢትዮ–é', "O'Neil;5"])
      expect(refs).toContain(ref);
    const customers = new Set(rows.map(({ customerName }) => customerName));
    expect(customers).toEqual(
      new Set(["'=1+1 Wolde", 'Anne, "Annie" O\'Neil', 'ወልደ عمر', "'+Plus Minus", '']),
    );
    for (const row of rows)
      for (const cell of Object.values(row)) expect(cell).not.toMatch(/^\s*[=+@\-\t\r]/);
  });

  it('ends every line with CRLF, quotes texts, and leaves numbers and dates bare', async () => {
    const { text } = await csv('startDate=2026-10-01&endDate=2026-11-30');
    expect(text.endsWith('\r\n')).toBe(true);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    const [, line] = text.split('\r\n');
    expect(line).toMatch(/^\d+,2026-\d\d-\d\d,\d+,ACC\d{8},"[^"].*",\d+\.\d\d,KES,"[^"]+",/);
  });

  it('is a file to save that nobody keeps a copy of', async () => {
    const { headers } = await csv('startDate=2026-10-01&endDate=2026-10-31');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="payments_2026-10-01_2026-10-31.csv"',
    );
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('has the header alone for a period without payments', async () => {
    expect((await csv('startDate=2001-01-01&endDate=2001-01-31')).text).toBe(`${COLUMNS}\r\n`);
  });

  it('answers HEAD with the headers of the file and no export', async () => {
    const { status, headers, text } = await service.call('HEAD', '/reports/payments?format=csv');
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/csv; charset=utf-8']);
    expect(headers.get('content-length')).toBeNull();
    const json = await fetch(`${service.origin}/api/reports/payments`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${service.adminToken}` },
    });
    expect([json.status, await json.text()]).toEqual([200, '']);
    expect(await exportsRunning(service)).toBe(0);
  });

  it.each([
    ['format=xml', ['format']],
    ['format=csv&page=2&limit=10', ['page', 'limit']],
    ['limit=101', ['limit']],
    ['page=0', ['page']],
    ['sort=id:asc', ['sort']],
  ])('refuses ?%s by name', async (query, fields) => {
    const { status, body } = await service.call('GET', `/reports/payments?${query}`);
    expect(status).toBe(400);
    expect(body.error.details.fields.map(({ path }: Any) => path)).toEqual(fields);
  });

  it.each([
    ['UGX', 1_234, '1234'],
    ['TND', 1_234.005, '1234.005'],
  ])('prints amounts of %s with its decimals', async (currency, amount, text) => {
    const { service: other, close } = await startTestService({ CURRENCY: currency });
    try {
      const account = await newAccount(other);
      await done(other, 'POST', '/payments', { accountId: account.id, amount, paymentMethodId: 1 });
      const answer = await other.call('GET', '/reports/payments?format=csv');
      expect(parse(answer.text, { columns: true })).toMatchObject([{ amount: text, currency }]);
      const { data } = (await other.call('GET', '/reports/payments')).body;
      expect(data.rows).toMatchObject([{ amount, currency }]);
    } finally {
      await close();
    }
  });
});

/** Exports that the server is busy with, of this service's own database. */
async function exportsRunning(service: TestService): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and query ilike 'copy%' and state = 'active'`.execute(
    service.context.db,
  );
  return rows[0]?.n ?? 0;
}

async function until(test: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await test()); waited += 50) {
    if (waited > 10_000) throw new Error('It did not become true within 10 s.');
    await delay(50);
  }
}

describe('a long export', () => {
  const service = useService();
  // Together 24 MB, more than what the sockets' buffers take.
  const ROWS = 30_000;
  const REF_LENGTH = 800;
  const QUERY = '/api/reports/payments?format=csv&startDate=2026-01-01&endDate=2026-12-31';

  const SHORT = '/reports/payments?format=csv&startDate=2026-01-01&endDate=2026-01-02';

  beforeAll(async () => {
    service.clock.set(NOW);
    const { id } = await newAccount(service, { activationDate: '2026-01-01' });
    for (let first = 1; first <= ROWS; first += 10_000) {
      await sql`
        insert into payments
          (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status, source)
        select ${id}, 100 + n, 1, ref, ref, date '2026-01-01' + (n % 300)::int, 'matched', 'manual'
        from generate_series(${first}::int, ${first + 9_999}::int) n, lpad(n::text, ${REF_LENGTH}::int, 'X') ref`.execute(
        service.context.db,
      );
    }
  });

  /** Starts an export and stops reading after the first bytes. */
  async function startReading() {
    const request = http.get(`${service.origin}${QUERY}`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
      agent: false,
    });
    request.on('error', () => {}); // a reset is told to the response too
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.pause();
    return { request, response };
  }

  async function readToEnd(response: http.IncomingMessage) {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const failure = await new Promise<Error | null>((resolve) => {
      response.resume();
      response.on('end', () => resolve(null));
      response.on('error', resolve);
    });
    return { bytes, failure };
  }

  it('arrives whole', async () => {
    const { text } = await service.call('GET', QUERY.replace('/api', ''));
    expect(text.split('\r\n')).toHaveLength(ROWS + 2);
  });

  it('breaks the connection when the database ends it midway, and never ends cleanly', async () => {
    const { response } = await startReading();
    expect(response.statusCode).toBe(200);
    const { rows } = await sql`
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and query ilike 'copy%' and state = 'active'`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ ended: true }]);
    const { failure, bytes } = await readToEnd(response);
    expect(failure).toBeInstanceOf(Error);
    expect((failure as NodeJS.ErrnoException).code).toBe('ECONNRESET');
    expect(response.complete).toBe(false);
    expect(bytes).toBeLessThan(ROWS * REF_LENGTH);
    expect((await service.call('GET', SHORT)).status).toBe(200);
  });

  it('ends on the server when the reader goes away', async () => {
    const { request } = await startReading();
    await until(async () => (await exportsRunning(service)) === 1);
    request.destroy();
    await until(async () => (await exportsRunning(service)) === 0);
    // Nor does one stay behind whose reader left before the first byte.
    for (let i = 0; i < 6; i += 1) {
      const hasty = http.get(`${service.origin}${QUERY}`, {
        headers: { authorization: `Bearer ${service.adminToken}` },
        agent: false,
      });
      hasty.on('error', () => {});
      await delay(15 * i);
      hasty.destroy();
    }
    await until(async () => (await exportsRunning(service)) === 0);
    await until(async () => (await service.call('GET', SHORT)).status === 200);
  });

  it('runs beside one other; a third is told when to come back', async () => {
    const [first, second] = [await startReading(), await startReading()];
    const third = await service.call('GET', QUERY.replace('/api', ''));
    expect(third.status).toBe(503);
    expect(third.body.error.code).toBe('INTERNAL_ERROR');
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.call('GET', '/reports/payments')).status).toBe(200);
    const [one] = await Promise.all([readToEnd(first.response), second.request.destroy()]);
    expect(one.failure).toBeNull();
    await until(async () => (await service.call('GET', SHORT)).status === 200);
  });

  it('is broken off when nothing is read for too long', async () => {
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(
      service.context.db,
    );
    const pool = openCopyPool({
      connection: databaseOn(inject('server'), rows[0]?.name ?? ''),
      onConnectionLost: () => {},
      stallMs: 200,
    });
    const stream = await pool.open('select id, transaction_ref from payments', ['transaction_ref']);
    const [error] = await once(stream, 'error');
    expect(error.message).toContain('Nothing was read');
    await until(async () => (await exportsRunning(service)) === 0);
    await pool.close();
  });

  it('whose statement is wrong fails before anything is sent, and takes no place', async () => {
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(
      service.context.db,
    );
    const pool = openCopyPool({
      connection: databaseOn(inject('server'), rows[0]?.name ?? ''),
      onConnectionLost: () => {},
    });
    for (let i = 0; i < 4; i += 1)
      await expect(pool.open('select nothing', ['nothing'])).rejects.toThrow(/nothing/);
    const stream = await pool.open("select 'a' as x", ['x']);
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('x\r\n"a"\r\n');
    await pool.close();
  });
});

describe('a payment from before its account', () => {
  const early = useService();

  it('is collected in its own month, so that months add up', async () => {
    const { id: accountId } = await newAccount(early, { activationDate: '2026-11-02' });
    const body = { accountId, amount: 1000, paymentMethodId: 2, paymentDate: '2026-10-30' };
    expect((await early.call('POST', '/payments', body)).status).toBe(201);
    const collected = async (period: string) => {
      const { body: answer } = await early.call('GET', `/reports/accounts/summary?${period}`);
      return [answer.data.collected, answer.data.contractValue];
    };
    // The money was there in October; the account, made on the day of this test, was not.
    expect(await collected('startDate=2026-10-01&endDate=2026-10-31')).toEqual([1000, 0]);
    expect((await collected('startDate=2026-11-01&endDate=2026-11-30'))[0]).toBe(0);
    expect((await collected('startDate=2026-10-01&endDate=2026-11-30'))[0]).toBe(1000);
  });
});
