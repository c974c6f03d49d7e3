import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ACCOUNT_STATUSES, statusesIn } from '../../src/accounts/status/rules.ts';
import type { AccountStatus } from '../../src/core/database/tables.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newAccountThatIs,
  newCustomer,
  pay,
  reverse,
  runJobs,
  setToday,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { createCaller } from '../support/http.ts';
import { CLOSED, STATUS_MODEL, STATUSES } from '../support/status-model.ts';

const service = useService();
const TODAY = '2026-03-02';
/** Deposit 2,000 and 52 × 400 a week. */
const TOTAL = 22_800;

beforeEach(() => setToday(service, TODAY));
afterAll(() => expectBooksToBalance(service.context));

const accountThatIs = (status: AccountStatus) => newAccountThatIs(service, status);
const unchanged = new Map<AccountStatus, ReturnType<typeof accountThatIs>>();
/** An account with the status, for tests that change nothing. No job of another test activates it. */
function unchangedAccountThatIs(status: AccountStatus) {
  const later = status === 'pending' && { activationDate: '2040-01-01' };
  const account = unchanged.get(status) ?? newAccountThatIs(service, status, { ...later });
  unchanged.set(status, account);
  return account;
}

describe('POST /accounts', () => {
  it('opens an active account with the terms of its pay plan', async () => {
    const customer = await newCustomer(service);
    const { status, body } = await service.call('POST', '/accounts', {
      customerId: customer.id,
      productId: 1,
      payplanId: 2,
      activationDate: TODAY,
    });
    expect(status).toBe(201);
    expect(body.data).toEqual({
      id: expect.any(Number),
      accountNumber: expect.stringMatching(/^ACC1\d{7}$/),
      customerId: customer.id,
      productId: 1,
      payplanId: 2,
      employeeId: null,
      activationDate: TODAY,
      status: 'active',
      reason: null,
      allowedMoves: ['suspended', 'defaulted', 'cancelled'],
      writtenOffDate: null,
      currency: 'KES',
      deposit: 2000,
      instalmentAmount: 400,
      instalmentCount: 52,
      frequency: 'weekly',
      hasEqualInstalments: true,
      rhythm: { frequency: 'weekly', every: 1, days: [] },
      graceDays: 7,
      planVersion: 0,
      restructured: null,
      originalTerms: null,
      total: TOTAL,
      paid: 0,
      balance: TOTAL,
      credit: 0,
      arrears: 2000,
      paymentState: 'current',
      daysPastDue: 0,
      paidUntil: null,
      nextDueDate: TODAY,
      nextDueAmount: 2000,
      externalId: null,
      metadata: {},
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await accountNow(service, body.data.id)).toEqual(body.data);
  });

  it('uses the business day as the default activation date', async () => {
    service.clock.set(new Date('2026-03-02T21:30:00Z')); // half past midnight in Nairobi
    expect(await newAccount(service)).toMatchObject({ activationDate: '2026-03-03', status: 'active' });
  });

  it('opens a pending account without anything due for a later activation date', async () => {
    expect(await newAccount(service, { activationDate: '2026-03-03' })).toMatchObject({
      status: 'pending',
      paymentState: 'not_due',
      arrears: 0,
      nextDueDate: '2026-03-03',
    });
  });

  it('opens an account with an earlier activation date and the arrears since then', async () => {
    expect(await newAccount(service, { activationDate: '2026-02-09' })).toMatchObject({
      status: 'active',
      arrears: 2000 + 3 * 400,
      daysPastDue: 21,
      paymentState: 'late',
    });
  });

  it('credits the sale to the employee in the body, or else to the caller', async () => {
    expect((await newAccount(service, { employeeId: 2 })).employeeId).toBe(2);
    const agent = await service.signInAs('agent');
    const me = (await service.call('GET', '/auth/me', undefined, { token: agent })).body.data;
    await service.context.db.updateTable('users').set({ employee_id: 3 }).where('id', '=', me.id).execute();
    const token = (
      await service.call('POST', '/auth/login', { email: me.email, password: 'a long enough password' })
    ).body.data.accessToken;
    const customer = await newCustomer(service);
    const body = { customerId: customer.id, productId: 1, payplanId: 2 };
    expect((await service.call('POST', '/accounts', body, { token })).body.data.employeeId).toBe(3);
  });

  it.each([
    ['customerId', 'customer'],
    ['productId', 'product'],
    ['payplanId', 'payplan'],
    ['employeeId', 'employee'],
  ])('answers 404 when %s refers to no %s', async (field, resource) => {
    const { id: customerId } = await newCustomer(service);
    const body = { customerId, productId: 1, payplanId: 2, [field]: 999_999 };
    const answer = await service.call('POST', '/accounts', body);
    expect(answer.status).toBe(404);
    expect(answer.body.error).toMatchObject({ code: 'NOT_FOUND', details: { resource, field, id: 999_999 } });
  });

  it('names the fields that are missing or wrong', async () => {
    expect(wrongFields(await service.call('POST', '/accounts', {}))).toEqual([
      'customerId',
      'payplanId',
      'productId',
    ]);
    const wrong = {
      customerId: '1',
      productId: null,
      payplanId: 1.5,
      activationDate: '2026-02-30',
      status: 'active',
    };
    expect(wrongFields(await service.call('POST', '/accounts', wrong))).toEqual([
      'activationDate',
      'customerId',
      'payplanId',
      'productId',
      'status',
    ]);
  });

  it('refuses a pay plan of another product', async () => {
    const { db } = service.context;
    const plan = await db
      .insertInto('pay_plans')
      .values({
        name: 'Pump only',
        product_id: 3,
        deposit_minor: 0,
        instalment_minor: 100,
        instalment_count: 1,
        frequency: 'daily',
        grace_days: 0,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    const { id: customerId } = await newCustomer(service);
    const body = { customerId, payplanId: plan.id };
    expect(wrongFields(await service.call('POST', '/accounts', { ...body, productId: 1 }))).toEqual([
      'payplanId',
    ]);
    expect((await service.call('POST', '/accounts', { ...body, productId: 3 })).status).toBe(201);
  });

  it('refuses an inactive product or pay plan', async () => {
    const { db } = service.context;
    await db.updateTable('products').set({ active: false }).where('id', '=', 5).execute();
    await db.updateTable('pay_plans').set({ active: false }).where('id', '=', 3).execute();
    const { id: customerId } = await newCustomer(service);
    const post = (body: object) => service.call('POST', '/accounts', { customerId, ...body });
    expect(wrongFields(await post({ productId: 5, payplanId: 2 }))).toEqual(['productId']);
    expect(wrongFields(await post({ productId: 1, payplanId: 3 }))).toEqual(['payplanId']);
  });
});

describe('the table of statuses', () => {
  it('has the order of the enum in the database, so that all lists of statuses have it', async () => {
    const { rows } = await sql<{ statuses: string[] }>`
      select enum_range(null::account_status)::text[] as statuses`.execute(service.context.db);
    expect(ACCOUNT_STATUSES).toEqual(rows[0]?.statuses);
  });
});

it.each(STATUSES)('a %s account names the statuses to which it can be moved', async (status) => {
  const { allowedMoves } = await accountThatIs(status);
  expect(allowedMoves).toEqual(STATUS_MODEL[status].moves);
});

describe('PUT /accounts/:id', () => {
  const pairs = STATUSES.flatMap((from) => STATUSES.map((to) => ({ from, to })));

  it.each(pairs.filter(({ from, to }) => STATUS_MODEL[from].moves.includes(to)))(
    'moves from $from to $to',
    async ({ from, to }) => {
      const { id } = await accountThatIs(from);
      const { status, body } = await service.call('PUT', `/accounts/${id}`, {
        status: to,
        reason: 'asked for',
      });
      expect(status).toBe(200);
      expect(body.data).toMatchObject({ id, status: to, reason: 'asked for' });
      expect(await accountNow(service, id)).toEqual(body.data);
    },
  );

  /** One for each status: the rules beside the table of statuses have all pairs. */
  const refused = STATUSES.flatMap((from) => {
    const to = STATUSES.findLast((one) => one !== from && !STATUS_MODEL[from].moves.includes(one));
    return to === undefined ? [] : [{ from, to }];
  });
  it.each(refused)('refuses to move from $from to $to and lists the allowed moves', async ({ from, to }) => {
    const before = await unchangedAccountThatIs(from);
    const answer = await service.call('PUT', `/accounts/${before.id}`, { status: to, reason: 'asked for' });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { from, to, allowed: STATUS_MODEL[from].moves },
    });
    expect(await accountNow(service, before.id)).toEqual(before);
  });

  it.each(STATUSES)('changes nothing when a %s account is moved to the same status', async (status) => {
    const before = await unchangedAccountThatIs(status);
    const answer = await service.call('PUT', `/accounts/${before.id}`, { status, reason: 'again' });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(before);
  });

  it('requires a reason only if the new status needs one', async () => {
    const { id } = await accountThatIs('suspended');
    const put = (status: AccountStatus) => service.call('PUT', `/accounts/${id}`, { status });
    expect(wrongFields(await put('written_off'))).toEqual(['reason']);
    expect((await put('active')).body.data).toMatchObject({ status: 'active', reason: null });
  });

  it('refuses an empty body, an unknown status, and a reason without a status', async () => {
    const { id } = await newAccount(service);
    const put = (body: object) => service.call('PUT', `/accounts/${id}`, body);
    expect(wrongFields(await put({}))).toEqual(['body']);
    expect(wrongFields(await put({ status: 'closed' }))).toEqual(['status']);
    expect(wrongFields(await put({ status: null, reason: '' }))).toEqual(['reason', 'status']);
    expect(wrongFields(await put({ reason: 'because' }))).toEqual(['status']);
  });

  it('answers 404 for an unknown account', async () => {
    const answer = await service.call('PUT', '/accounts/999999', { status: 'suspended' });
    expect(answer.body.error).toMatchObject({
      code: 'NOT_FOUND',
      details: { resource: 'account', id: 999_999 },
    });
  });

  it('accepts one of two concurrent moves', async () => {
    const { id } = await accountThatIs('suspended');
    const reason = 'at once';
    const answers = await Promise.all(
      ['cancelled', 'written_off'].map((status) =>
        service.call('PUT', `/accounts/${id}`, { status, reason }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('turns the sum paid into credit when the account is cancelled', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 2500);
    expect(await move(service, id, 'cancelled')).toMatchObject({
      paymentState: 'closed',
      paid: 2500,
      balance: 0,
      credit: 2500,
      arrears: 0,
      daysPastDue: 0,
    });
  });

  it('shows the balance of a written-off account without arrears', async () => {
    const { id } = await newAccount(service, { activationDate: '2026-01-05' });
    await pay(service, id, 2500);
    await move(service, id, 'defaulted');
    expect(await move(service, id, 'written_off')).toMatchObject({
      paymentState: 'closed',
      balance: TOTAL - 2500,
      credit: 0,
      arrears: 0,
      daysPastDue: 0,
    });
  });

  it('refuses to write off an account that owes nothing', async () => {
    const { id } = await accountThatIs('repossessed');
    await pay(service, id, TOTAL);
    expect((await accountNow(service, id)).status).toBe('repossessed');
    const answer = await service.call('PUT', `/accounts/${id}`, { status: 'written_off', reason: 'gone' });
    expect(wrongFields(answer)).toEqual(['status']);
  });
});

describe('completion', () => {
  // The decisions about payments have a table with all statuses, in src/accounts/ledger/money-on-account-rules.test.ts.
  it.each(['suspended', 'written_off'] as const)(
    'completes a %s account that is paid in full, and undoes that with a reversal',
    async (status) => {
      const { id } = await accountThatIs(status);
      await pay(service, id, TOTAL - 0.01);
      expect((await accountNow(service, id)).status).toBe(status);
      const last = await pay(service, id, 0.01);
      expect(await accountNow(service, id)).toMatchObject({
        status: 'completed',
        reason: 'paid in full',
        paymentState: 'paid_off',
        balance: 0,
        nextDueDate: null,
        nextDueAmount: null,
      });
      await reverse(service, last.id);
      // A written-off debt is no longer due, but it can be recovered.
      const nextDueAmount = CLOSED.includes(status) ? null : 0.01;
      expect(await accountNow(service, id)).toMatchObject({ status, balance: 0.01, nextDueAmount });
      await pay(service, id, 0.01);
      expect((await accountNow(service, id)).status).toBe('completed');
    },
  );

  it('stays when a reversal only reduces credit', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, TOTAL);
    const extra = await pay(service, id, 100);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', credit: 100 });
    await reverse(service, extra.id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', credit: 0 });
  });

  it('waits until a repossessed account is active again', async () => {
    const { id } = await accountThatIs('repossessed');
    await pay(service, id, TOTAL);
    expect(await accountNow(service, id)).toMatchObject({ status: 'repossessed', balance: 0 });
    expect((await move(service, id, 'active')).status).toBe('completed');
  });

  it('returns to the status before the latest of several completions', async () => {
    const { id } = await newAccount(service);
    const first = await pay(service, id, TOTAL);
    await reverse(service, first.id);
    await move(service, id, 'suspended');
    const second = await pay(service, id, TOTAL);
    await reverse(service, second.id);
    expect((await accountNow(service, id)).status).toBe('suspended');
  });
});

describe('pending accounts', () => {
  beforeAll(() => expectBooksToBalance(service.context)); // Jobs could repair what the tests above have done.

  it('are activated by the minute job on their activation date, not before', async () => {
    const { id } = await newAccount(service, { activationDate: '2026-03-10' });
    service.clock.set(new Date('2026-03-09T20:59:00Z')); // one minute to midnight in Nairobi
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject({ status: 'pending', paymentState: 'not_due' });
    service.clock.set(new Date('2026-03-09T21:00:00Z'));
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', arrears: 2000 });
    const [last] = (await service.call('GET', `/accounts/${id}/history`)).body.data;
    expect(last).toMatchObject({ from: 'pending', to: 'active', actor: 'system' });
  });

  it('complete on their activation date if they are already paid in full', async () => {
    const { id } = await newAccount(service, { activationDate: '2026-03-10' });
    await pay(service, id, TOTAL);
    expect((await accountNow(service, id)).status).toBe('pending');
    setToday(service, '2026-03-12');
    await runJobs(service);
    expect((await accountNow(service, id)).status).toBe('completed');
  });

  it('are not activated after they were cancelled or suspended', async () => {
    const cancelled = await newAccount(service, { activationDate: '2026-03-10' });
    const suspended = await newAccount(service, { activationDate: '2026-03-10' });
    await move(service, cancelled.id, 'cancelled');
    await move(service, suspended.id, 'suspended');
    setToday(service, '2026-03-10');
    await runJobs(service);
    expect((await accountNow(service, cancelled.id)).status).toBe('cancelled');
    expect((await accountNow(service, suspended.id)).status).toBe('suspended');
  });

  it('are activated once each, in several batches, by two concurrent jobs', async () => {
    const { id: customerId } = await newCustomer(service);
    const account = await newAccount(service, { customerId, activationDate: '2026-04-01' });
    await sql`
      with opened as (
        insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
          instalment_minor, instalment_count, frequency, grace_days, receivable_minor)
        select customer_id, product_id, payplan_id, activation_date, status, deposit_minor, instalment_minor,
          instalment_count, frequency, grace_days, receivable_minor
        from accounts, generate_series(1, 250) where id = ${account.id}
        returning id, receivable_minor),
      changes as (
        insert into account_status_changes (account_id, to_status, changed_on) select id, 'pending', date '2026-03-02' from opened)
      insert into ledger_entries (event_id, event, account_id, value_date, ledger_account, amount_minor)
      select 1000000 + id, 'account_opened', id, date '2026-03-02', line.account, line.sign * receivable_minor
      from opened, (values ('receivable'::ledger_account, 1), ('sales', -1)) as line (account, sign)`.execute(
      service.context.db,
    );
    setToday(service, '2026-04-01');
    await Promise.all([runJobs(service), runJobs(service)]);
    const list = await service.call('GET', `/accounts?customerId=${customerId}&status=active`);
    expect(list.body.pagination.total).toBe(251);
    const { rows } = await sql<{ moves: number }>`
      select count(*) as moves from account_status_changes h join accounts a on a.id = h.account_id
      where a.customer_id = ${customerId} and h.to_status = 'active'`.execute(service.context.db);
    expect(rows[0]?.moves).toBe(251);
  });
});

describe('GET /accounts', () => {
  it('lists accounts by status and customer, in pages', async () => {
    const { id: customerId } = await newCustomer(service);
    const [first, second, third] = [
      await newAccount(service, { customerId }),
      await newAccount(service, { customerId }),
      await newAccount(service, { customerId }),
    ];
    await newAccount(service); // of somebody else
    const suspended = await move(service, first.id, 'suspended');
    const list = async (query: string) =>
      (await service.call('GET', `/accounts?customerId=${customerId}&sort=id:asc&${query}`)).body;
    expect(await list('status=suspended')).toMatchObject({ data: [suspended], pagination: { total: 1 } });
    expect((await list('status=active&page=1&limit=1')).data).toEqual([second]);
    expect(await list('status=active&page=2&limit=1')).toMatchObject({
      data: [third],
      pagination: { page: 2, limit: 1, total: 2, totalPages: 2 },
    });
  });

  it.each(['status=closed', 'customerId=me'])('refuses %s and names the parameter', async (query) => {
    expect(wrongFields(await service.call('GET', `/accounts?${query}`))).toEqual([query.split('=', 1)[0]]);
  });
});

describe('GET /accounts/:id/history', () => {
  it('lists every move with who, when and why, the latest first', async () => {
    const { id } = await newAccount(service);
    await service.call('PUT', `/accounts/${id}`, { status: 'suspended', reason: 'moved house' });
    const manager = await service.signInAs('manager');
    await service.call('PUT', `/accounts/${id}`, { status: 'active' }, { token: manager });
    await pay(service, id, TOTAL);
    const { body } = await service.call('GET', `/accounts/${id}/history`);
    expect(body.pagination).toEqual({ page: 1, limit: 20, total: 4, totalPages: 1 });
    expect(body.data.map((row: object) => ({ ...row, id: 0, createdAt: '' }))).toEqual(
      [
        { from: 'active', to: 'completed', reason: 'paid in full', actor: 'system' },
        {
          from: 'suspended',
          to: 'active',
          reason: null,
          actor: expect.stringMatching(/^user\d+@example\.com$/),
        },
        { from: 'active', to: 'suspended', reason: 'moved house', actor: 'admin@example.com' },
        { from: null, to: 'active', reason: null, actor: 'admin@example.com' },
      ].map((row) => ({ ...row, id: 0, cause: null, date: TODAY, createdAt: '' })),
    );
    const times = body.data.map((row: { createdAt: string }) => row.createdAt);
    expect(times).toEqual(times.toSorted().reverse());
  });

  it('does not list refused moves and moves to the same status', async () => {
    const { id } = await newAccount(service);
    await service.call('PUT', `/accounts/${id}`, { status: 'active', reason: 'again' });
    await service.call('PUT', `/accounts/${id}`, { status: 'written_off', reason: 'no' });
    expect((await service.call('GET', `/accounts/${id}/history`)).body.pagination.total).toBe(1);
  });
});

describe('lateness', () => {
  beforeAll(() => expectBooksToBalance(service.context)); // Jobs could repair what the tests above have done.

  it.each([
    ['accounts_pending', 'awaitingActivation'],
    ['accounts_grace', 'suspendedWhenLate'],
  ] as const)('keeps in the index %s the statuses of the set %s', async (index, set) => {
    const { rows } = await sql<{ predicate: string }>`
      select pg_get_expr(indpred, indrelid) as predicate from pg_index
      where indexrelid = ${index}::regclass`.execute(service.context.db);
    const statuses = [...(rows[0]?.predicate ?? '').matchAll(/'(\w+)'/g)].map(([, status]) => status);
    expect(statuses).toEqual(statusesIn(set));
  });

  it('stores a due date except in closed statuses', async () => {
    const { id } = await newAccount(service);
    const closed: AccountStatus[] = [];
    class Undo extends Error {}
    const work = service.context.db.transaction().execute(async (tx) => {
      for (const status of STATUSES) {
        const { rows } = await sql<{ due: string | null }>`
          update accounts set status = ${status} where id = ${id} returning next_due_date as due`.execute(tx);
        if (rows[0]?.due === null) closed.push(status);
      }
      throw new Undo();
    });
    await expect(work).rejects.toThrow(Undo);
    expect(closed).toEqual(statusesIn('closed'));
  });

  it('follows the calendar and the payments', async () => {
    const { id } = await newAccount(service); // due: 2,000 on 2 March, then 400 every Monday
    await pay(service, id, 2000);
    const on = async (date: string) => {
      setToday(service, date);
      const { paymentState, daysPastDue, arrears, paidUntil, nextDueDate, nextDueAmount } = await accountNow(
        service,
        id,
      );
      return { paymentState, daysPastDue, arrears, paidUntil, nextDueDate, nextDueAmount };
    };
    const due = (nextDueDate: string, nextDueAmount: number, paidUntil: string) => ({
      nextDueDate,
      nextDueAmount,
      paidUntil,
    });
    const first = due('2026-03-09', 400, '2026-03-08');
    expect(await on('2026-03-02')).toEqual({ paymentState: 'current', daysPastDue: 0, arrears: 0, ...first });
    expect(await on('2026-03-09')).toEqual({
      paymentState: 'current',
      daysPastDue: 0,
      arrears: 400,
      ...first,
    });
    expect(await on('2026-03-10')).toEqual({
      paymentState: 'in_grace',
      daysPastDue: 1,
      arrears: 400,
      ...first,
    });
    expect(await on('2026-03-16')).toEqual({
      paymentState: 'in_grace',
      daysPastDue: 7,
      arrears: 800,
      ...first,
    });
    expect(await on('2026-03-17')).toEqual({ paymentState: 'late', daysPastDue: 8, arrears: 800, ...first });
    await pay(service, id, 900.5);
    const third = due('2026-03-23', 299.5, '2026-03-22');
    expect(await on('2026-03-17')).toEqual({ paymentState: 'current', daysPastDue: 0, arrears: 0, ...third });
    await pay(service, id, 700);
    const fifth = due('2026-04-06', 399.5, '2026-04-05');
    expect(await on('2026-03-17')).toEqual({
      paymentState: 'paid_ahead',
      daysPastDue: 0,
      arrears: 0,
      ...fifth,
    });
    expect(await on('2027-03-02')).toMatchObject({ paymentState: 'late', arrears: TOTAL - 3600.5 });
  });

  it('filters and sorts a list by the figures of the accounts', async () => {
    const { id: customerId } = await newCustomer(service);
    for (const activationDate of ['2026-01-05', '2026-02-02', '2026-03-02', '2026-03-09']) {
      await newAccount(service, { customerId, activationDate });
    }
    const lost = await newAccount(service, { customerId, activationDate: '2026-01-05' });
    await move(service, lost.id, 'defaulted');
    await move(service, lost.id, 'written_off');
    const list = async (query: string) =>
      (await service.call('GET', `/accounts?customerId=${customerId}&${query}`)).body.data as {
        activationDate: string;
        daysPastDue: number;
        balance: number;
      }[];
    expect(
      (await list('filter[daysPastDue][gt]=0&sort=daysPastDue:desc')).map((row) => row.daysPastDue),
    ).toEqual([56, 28]);
    expect((await list('sort=daysPastDue:asc,activationDate:asc')).map((row) => row.daysPastDue)).toEqual([
      0, 0, 0, 28, 56,
    ]);
    expect(await list('filter[balance]=22800')).toHaveLength(5);
    expect(
      (await list('filter[nextDueDate][lt]=2026-03-02')).map((row) => row.activationDate).sort(),
    ).toEqual(['2026-01-05', '2026-02-02']);
  });
});

describe('GET /accounts/:id/schedule', () => {
  const scheduleOf = (id: number) => dataOf(service.call('GET', `/accounts/${id}/schedule`));

  it('shows the deposit and every instalment with what is paid of it', async () => {
    setToday(service, '2026-10-19');
    const account = await newAccount(service);
    await pay(service, account.id, 2_500);
    setToday(service, '2026-11-02');
    const schedule = await scheduleOf(account.id);
    expect(schedule).toMatchObject({
      accountId: account.id,
      accountNumber: account.accountNumber,
      currency: 'KES',
    });
    expect(schedule.items).toHaveLength(53);
    expect(schedule.items.slice(0, 4)).toEqual([
      { number: 0, dueDate: '2026-10-19', amount: 2_000, paid: 2_000, state: 'paid' },
      { number: 1, dueDate: '2026-10-26', amount: 400, paid: 400, state: 'paid' },
      { number: 2, dueDate: '2026-11-02', amount: 400, paid: 100, state: 'due' },
      { number: 3, dueDate: '2026-11-09', amount: 400, paid: 0, state: 'upcoming' },
    ]);
    const { nextDueDate, nextDueAmount, total } = await accountNow(service, account.id);
    expect({ nextDueDate, nextDueAmount }).toEqual({ nextDueDate: '2026-11-02', nextDueAmount: 300 });
    const sum = schedule.items.reduce((all: number, { amount }: { amount: number }) => all + amount, 0);
    expect(sum).toBe(total);
  });

  it('follows a reversal and a cancellation', async () => {
    setToday(service, '2026-10-19');
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 2_400);
    setToday(service, '2026-10-27');
    await reverse(service, payment.id);
    expect((await scheduleOf(id)).items.slice(0, 3)).toMatchObject([
      { paid: 0, state: 'overdue' },
      { paid: 0, state: 'overdue' },
      { paid: 0, state: 'upcoming' },
    ]);
    await move(service, id, 'cancelled');
    const states = (await scheduleOf(id)).items.map(({ state }: { state: string }) => state);
    expect(new Set(states)).toEqual(new Set(['not_owed']));
  });

  it('answers the longest schedule of a plan', async () => {
    const terms = { deposit: 0, instalmentAmount: 1, instalmentCount: 10_000, frequency: 'daily' };
    const plan = await service.call('POST', '/payplans', { name: 'Longest', ...terms });
    const { id } = await newAccount(service, { payplanId: plan.body.data.id });
    const { items } = await scheduleOf(id);
    expect(items).toHaveLength(10_000);
    expect(items[0].number).toBe(1);
  });
});

describe('/api/v1', () => {
  it('is the same as /api', async () => {
    const v1 = createCaller(`${service.origin}/api/v1`);
    const { id: customerId } = await newCustomer(service);
    const opened = await v1(
      'POST',
      '/accounts',
      { customerId, productId: 1, payplanId: 2 },
      { token: service.adminToken },
    );
    expect(opened.status).toBe(201);
    expect(await accountNow(service, opened.body.data.id)).toEqual(opened.body.data);
    const list = await v1('GET', `/accounts?customerId=${customerId}`, undefined, {
      token: service.adminToken,
    });
    expect(list.body.data).toEqual([opened.body.data]);
  });
});
