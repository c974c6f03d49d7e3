import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { queueUnfinishedBulkDeferrals } from '../../src/accounts/bulk-deferrals/commands.ts';
import { insertBulkDeferral } from '../../src/accounts/bulk-deferrals/store.ts';
import { workOnBulkDeferral } from '../../src/accounts/bulk-deferrals/work-on-bulk-deferral.ts';
import { inTransaction } from '../../src/core/database/transactions.ts';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newApiKey,
  newCustomer,
  pay,
  runJobs,
  setToday,
  statementsOf,
  useInstance,
  useService,
  waitingForLock,
  whileHolding,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { useQueuedJobs } from '../support/queued-jobs.ts';
import { eventually } from '../support/waiting.ts';

const DAY = '2026-11-02' as PlainDate;
const NEXT_DAY = '2026-11-03' as PlainDate;
const service = useService({ PLAN_CHANGE_REASONS: 'harvest', MAX_DEFERRED_DAYS: '60' });
const limited = useInstance(service, { APPROVAL_LIMIT: '30000' });
const runQueue = useQueuedJobs(service);

beforeEach(() => setToday(service, DAY));
afterAll(() => expectBooksToBalance(service.context));

type Data = Answer['body'];

const PATH = '/plan-changes/bulk-deferrals';
const TOTAL = 22_800; // of the weekly demo plan, whose instalments are due from 9 November on

let regions = 0;

/** Opens accounts of customers in a new region. @returns the filter that selects them, and their ids. */
async function region(count: number, fields: object = {}) {
  regions += 1;
  const metadata = { region: `region ${regions}` };
  const ids: number[] = [];
  for (let i = 0; i < count; i++) {
    const { id: customerId } = await newCustomer(service, { metadata });
    ids.push((await newAccount(service, { customerId, ...fields })).id);
  }
  return { filter: { customerMetadata: metadata }, ids };
}

const DEFERRAL = { from: '2026-11-09', periods: 4, reason: 'The harvest was lost' };

const post = (path: string, body?: object, options = {}) =>
  service.call('POST', `${PATH}${path}`, body, options);
const now = (id: number): Promise<Data> => dataOf(service.call('GET', `${PATH}/${id}`));
const confirm = (id: number) => post(`/${id}/confirm`);
const discard = (id: number) => post(`/${id}/discard`);
const stop = (id: number) => post(`/${id}/stop`);
const undo = (id: number) => post(`/${id}/undo`, { reason: 'The wrong region' });
const accountsOf = (id: number, query = ''): Promise<Data[]> =>
  dataOf(service.call('GET', `${PATH}/${id}/accounts?sort=accountId:asc${query}`));
const changesOf = (id: number): Promise<Data[]> =>
  dataOf(service.call('GET', `/accounts/${id}/plan-changes?sort=id:asc`));
const scheduleOf = async (id: number) =>
  (await dataOf(service.call('GET', `/accounts/${id}/schedule`))).items;
const versionsOf = (ids: number[]) =>
  Promise.all(ids.map(async (id) => (await accountNow(service, id)).planVersion));

const COUNTS_ACCOUNTS = /count\(\*\)( as count)? from bulk_deferral_accounts/;
const SILENT = { isLast: false, signal: new AbortController().signal };
const LAST = { ...SILENT, isLast: true };

/** Makes the write of an account fail, as if the process ended before it is committed. @returns a function that lets it succeed again. */
async function failAt(
  table: 'plan_changes' | 'bulk_deferral_accounts',
  write: 'insert' | 'update',
  accountId: number,
): Promise<() => Promise<unknown>> {
  const { db } = service.context;
  await sql`
    create or replace function fail_for_test() returns trigger language plpgsql as $$ begin
      raise exception 'the process ended'; end $$`.execute(db);
  await sql`create trigger fail_for_test before ${sql.raw(write)} on ${sql.table(table)} for each row
    when (new.account_id = ${sql.lit(accountId)}) execute function fail_for_test()`.execute(db);
  return () => sql`drop trigger fail_for_test on ${sql.table(table)}`.execute(db);
}

const WAIT_LOCK = 72_000;

/** Makes the write of an account wait in its transaction until `work` releases it. */
async function whileWaitingAt(
  table: 'plan_changes' | 'bulk_deferral_accounts',
  write: 'insert' | 'update',
  accountId: number,
  work: (holder: Holder) => Promise<unknown>,
): Promise<void> {
  const { db } = service.context;
  await sql`
    create or replace function wait_for_test() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(${sql.lit(WAIT_LOCK)}); return new; end $$`.execute(db);
  await sql`create trigger wait_for_test before ${sql.raw(write)} on ${sql.table(table)} for each row
    when (new.account_id = ${sql.lit(accountId)}) execute function wait_for_test()`.execute(db);
  await whileHeld(`select pg_advisory_xact_lock(${WAIT_LOCK})`, work);
  await sql`drop trigger wait_for_test on ${sql.table(table)}`.execute(db);
}

interface Holder {
  /** Waits until this many statements wait for a lock. */
  untilAwaited(count: number): Promise<void>;
  release(): Promise<unknown>;
}

/** Does the work while another transaction holds a lock. @param take - the statement that takes the lock. */
const whileHeld = (take: string, work: (holder: Holder) => Promise<unknown>) =>
  whileHolding(service, take, (client) =>
    work({
      untilAwaited: (count) => eventually(() => waitingForLock(client)).toHaveLength(count),
      release: () => client.query('rollback'),
    }),
  );

const failAtChange = (accountId: number) => failAt('plan_changes', 'insert', accountId);

/** The preview of a deferral. */
async function preview(filter: object, fields: object = {}): Promise<Data> {
  const { id } = await dataOf(post('', { ...DEFERRAL, filter, ...fields }), 201);
  await runQueue();
  return now(id);
}

/** Defers the accounts. */
async function defer(filter: object, fields: object = {}): Promise<Data> {
  const { id } = await preview(filter, fields);
  await dataOf(confirm(id));
  await runQueue();
  return now(id);
}

/** Changes the plan of one account. */
async function change(id: number, body: object): Promise<Data> {
  const { version, paid } = await dataOf(service.call('POST', `/accounts/${id}/plan-changes`, body));
  const confirmed = { reason: 'a test', ...body, confirm: { version, paid } };
  return dataOf(service.call('POST', `/accounts/${id}/plan-changes`, confirmed), 201);
}

describe('the preview of a bulk deferral', () => {
  it('has the totals of its accounts, and changes none of them', async () => {
    const { filter, ids } = await region(3);
    await pay(service, ids[0] ?? 0, 2_400);
    const started = await dataOf(post('', { ...DEFERRAL, filter, reasonCode: 'harvest' }), 201);
    expect(started).toMatchObject({
      ...{
        status: 'previewing',
        allowedMoves: ['expired'],
        selectedCount: 3,
        deferrableCount: null,
        balance: null,
      },
      counts: { selected: 3, waiting: 0 },
    });
    await runQueue();
    const shown = await now(started.id);
    expect(shown).toMatchObject({
      ...{
        status: 'draft',
        allowedMoves: ['running', 'expired'],
        filter,
        ...DEFERRAL,
        arrears: 'stay',
        days: null,
      },
      ...{ preparedOn: DAY, selectedCount: 3, deferrableCount: 3, balance: 3 * TOTAL - 2_400 },
      ...{ arrearsMoved: 0, reasonCode: 'harvest', needsApproval: false, createdBy: 'admin@example.com' },
      counts: { selected: 0, refused: 0, waiting: 3, deferred: 0, skipped: 0 },
      problems: [],
    });
    expect(await versionsOf(ids)).toEqual([0, 0, 0]);
    expect(await accountsOf(shown.id)).toMatchObject([
      { accountId: ids[0], state: 'waiting', balance: TOTAL - 2_400, problem: null, changeId: null },
      { accountId: ids[1], state: 'waiting', balance: TOTAL },
      { accountId: ids[2], state: 'waiting' },
    ]);
    const [listed] = await dataOf(service.call('GET', `${PATH}?sort=id:desc&limit=1`));
    const { counts: _1, problems: _2, filter: _3, restructuredCount: _4, ...inList } = shown;
    expect(listed).toEqual(inList);
  });

  it('is listed without counting its accounts', async () => {
    const { filter } = await region(2);
    const { id } = await defer(filter);
    const path = `${PATH}?filter[id]=${id}`;
    const statements = await statementsOf(async () => {
      expect(await dataOf(service.call('GET', path))).toMatchObject([{ allowedMoves: ['undoing'] }]);
    });
    expect(statements.filter(({ text }) => COUNTS_ACCOUNTS.test(text))).toEqual([]);
    await dataOf(undo(id));
    await runQueue();
    expect(await dataOf(service.call('GET', path))).toMatchObject([{ status: 'undone', allowedMoves: [] }]);
  });

  it('names the accounts that cannot be deferred, by reason', async () => {
    const { filter, ids } = await region(4);
    const [cancelled = 0, completed = 0, deferred = 0, fit = 0] = ids;
    await move(service, cancelled, 'cancelled');
    await pay(service, completed, TOTAL);
    await change(deferred, { kind: 'deferral', from: '2026-11-09', days: 50 });
    const shown = await preview(filter);
    expect(shown).toMatchObject({ selectedCount: 4, deferrableCount: 1, balance: TOTAL });
    expect(shown.counts).toMatchObject({ refused: 3, waiting: 1 });
    expect(shown.problems).toEqual([
      {
        state: 'refused',
        code: 'status',
        text: 'the account is cancelled',
        count: 1,
        accountIds: [cancelled],
      },
      {
        state: 'refused',
        code: 'status',
        text: 'the account is completed',
        count: 1,
        accountIds: [completed],
      },
      {
        ...{ state: 'refused', code: 'not_possible', count: 1, accountIds: [deferred] },
        text: expect.stringMatching(/^periods would defer .* at most 60 are possible/),
      },
    ]);
    expect(await accountsOf(shown.id, '&filter[state]=waiting')).toMatchObject([{ accountId: fit }]);
    expect(await accountsOf(shown.id, '&filter[problem]=status')).toHaveLength(2);
  });

  it('selects the accounts by the filters of the list of accounts', async () => {
    const { filter, ids } = await region(3);
    const [first = 0, second = 0, third = 0] = ids;
    await move(service, first, 'suspended');
    await dataOf(service.call('PUT', `/accounts/${third}`, { metadata: { crop: 'maize' } }));
    await pay(service, second, 10_000);
    const selected = async (more: object) => {
      const { id } = await preview({ ...filter, ...more });
      return (await accountsOf(id)).map(({ accountId }) => accountId);
    };
    expect(await selected({ status: { in: ['suspended', 'defaulted'] } })).toEqual([first]);
    expect(await selected({ status: { eq: 'active' }, balance: { gte: TOTAL } })).toEqual([third]);
    expect(await selected({ productId: { eq: 1 }, payplanId: { in: [2, 3] } })).toEqual(ids);
    expect(await selected({ employeeId: { isnull: true } })).toEqual(ids);
    expect(await selected({ metadata: { crop: 'maize' } })).toEqual([third]);
    expect(await selected({ status: { nin: ['suspended'] }, daysPastDue: { lte: 0 } })).toEqual([
      second,
      third,
    ]);
    expect(await selected({ paid: { gt: 0 }, nextDueDate: { gt: DAY } })).toEqual([second]);
  });

  it('counts the accounts that were deferred within 30 days, unless the deferral was undone', async () => {
    setToday(service, '2026-10-02');
    const { filter, ids } = await region(4);
    const [earlier = 0, recent = 0, undone = 0] = ids;
    const deferral = { kind: 'deferral', from: '2026-11-09', periods: 1 };
    await change(earlier, deferral);
    setToday(service, '2026-10-03');
    await change(recent, deferral);
    await change(undone, deferral);
    await change(undone, { kind: 'undo' });
    setToday(service, DAY);
    expect(await preview(filter)).toMatchObject({ deferrableCount: 4, restructuredCount: 1 });
  });

  it('keeps its accounts, also if others match the filter later', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview({ ...filter, status: { eq: 'active' } });
    const { id: customerId } = await newCustomer(service, { metadata: filter.customerMetadata });
    const { id: newer } = await newAccount(service, { customerId });
    await move(service, ids[0] ?? 0, 'suspended');
    await dataOf(confirm(id));
    await runQueue();
    expect(await versionsOf([...ids, newer])).toEqual([1, 1, 0]);
  });

  it('shows customers, and selects by them, only for callers who may read customers', async () => {
    const { filter, ids } = await region(1);
    const { id } = await preview({ ...filter, productId: { eq: 1 } });
    const permissions = ['accounts:read', 'accounts:change-plan'];
    const { key: token } = await newApiKey(service, permissions);
    const { key: reader } = await newApiKey(service, [...permissions, 'customers:read']);
    const seenBy = async (key: string) => ({
      filter: (await dataOf(service.call('GET', `${PATH}/${id}`, undefined, { token: key }))).filter,
      accounts: await dataOf(service.call('GET', `${PATH}/${id}/accounts`, undefined, { token: key })),
    });
    expect(await seenBy(token)).toMatchObject({
      filter: { productId: { eq: 1 } },
      accounts: [{ accountId: ids[0], customerName: null }],
    });
    expect((await seenBy(token)).filter).not.toHaveProperty('customerMetadata');
    expect(await seenBy(reader)).toMatchObject({ filter, accounts: [{ customerName: 'Test Customer' }] });
    const sent = { ...DEFERRAL, filter };
    const { status, body: refusal } = await post('', sent, { token });
    expect([status, refusal.error.details.permission]).toEqual([403, 'customers:read']);
    await dataOf(post('', { ...sent, filter: { productId: { eq: 1 } } }, { token }), 201);
    await dataOf(post('', sent, { token: reader }), 201);
    await runQueue();
  });

  const body = { ...DEFERRAL, filter: { status: { eq: 'active' } } };
  it.each([
    ['without a filter', { ...body, filter: {} }, ['filter']],
    ['with an unknown field', { ...body, filter: { colour: { eq: 'red' } } }, ['filter.colour']],
    ['with an unknown operator', { ...body, filter: { productId: { like: 1 } } }, ['filter.productId.like']],
    [
      'with a value of another type',
      { ...body, filter: { productId: { eq: 'x' } } },
      ['filter.productId.eq'],
    ],
    ['with too many decimals', { ...body, filter: { balance: { gt: 0.001 } } }, ['filter.balance']],
    [
      'with a date that does not exist',
      { ...body, filter: { nextDueDate: { eq: '2026-02-30' } } },
      ['filter.nextDueDate.eq'],
    ],
    ['whose filter selects no account', { ...body, filter: { productId: { eq: 999 } } }, ['filter']],
    ['that defers from today', { ...body, from: DAY }, ['from']],
    ['with periods and days', { ...body, days: 7 }, ['days']],
    ['without periods and days', { ...body, periods: undefined }, ['periods']],
    ['without a reason', { ...body, reason: undefined }, ['reason']],
    ['with an unknown reason code', { ...body, reasonCode: 'none' }, ['reasonCode']],
    ['that spreads arrears', { ...body, arrears: 'move' }, ['arrears']],
  ])('is refused %s', async (_what, sent, fields) => {
    await newAccount(service);
    expect(wrongFields(await post('', sent))).toEqual(fields);
  });

  it('is not stored if the filter selects more accounts than are possible', async () => {
    await region(2);
    const { db } = service.context;
    const before = await countOf('bulk_deferrals');
    const stored = await inTransaction(db, (tx) =>
      insertBulkDeferral(
        tx,
        {
          filter: {},
          body: { kind: 'deferral', ...DEFERRAL, from: DAY },
          day: DAY,
          caller: { userId: 1, apiKeyId: null },
        },
        { filters: [], metadata: undefined, customerMetadata: { region: `region ${regions}` } },
        1,
      ),
    );
    expect(stored).toEqual({ id: null, count: 2 });
    expect(await countOf('bulk_deferrals')).toBe(before);
  });

  async function countOf(table: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(table)}`.execute(service.context.db);
    return rows[0]?.count ?? 0;
  }

  it('can be confirmed only on its day, and is deleted after it, with its totals kept', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    setToday(service, NEXT_DAY);
    expect(wrongFields(await confirm(id))).toEqual(['id']);
    await runJobs(service);
    expect(await now(id)).toMatchObject({
      ...{ status: 'expired', allowedMoves: [], selectedCount: 2, deferrableCount: 2, balance: 2 * TOTAL },
      counts: { waiting: 0 },
    });
    expect((await confirm(id)).status).toBe(400);
    expect(await accountsOf(id)).toEqual([]);
    expect(await versionsOf(ids)).toEqual([0, 0]);
  });

  it('that was not computed on its day expires, too', async () => {
    const { filter } = await region(1);
    const { id } = await dataOf(post('', { ...DEFERRAL, filter }), 201);
    setToday(service, NEXT_DAY);
    await runQueue();
    await runJobs(service);
    expect(await now(id)).toMatchObject({ status: 'expired', deferrableCount: null });
  });

  it('that fails after some of its accounts is deleted, with its size kept', async () => {
    const { filter, ids } = await region(101); // One more than a step previews.
    const { id } = await dataOf(post('', { ...DEFERRAL, filter }), 201);
    const { context, parts } = service;
    const repair = await failAt('bulk_deferral_accounts', 'update', ids.at(-1) ?? 0);
    await expect(workOnBulkDeferral(context, parts.log, id, SILENT)).rejects.toThrow('the process ended');
    expect((await now(id)).counts).toMatchObject({ selected: 1, waiting: 100 });
    await expect(workOnBulkDeferral(context, parts.log, id, LAST)).rejects.toThrow('the process ended');
    await repair();
    expect(await now(id)).toMatchObject({
      ...{ status: 'failed', allowedMoves: [], selectedCount: 101, deferrableCount: null },
      ...{ failure: expect.any(String), counts: { selected: 0, waiting: 0 } },
    });
    expect(await accountsOf(id)).toEqual([]);
    await expectBooksToBalance(context);
  });

  it('that found no account that can be deferred cannot be confirmed', async () => {
    const { filter, ids } = await region(1);
    await move(service, ids[0] ?? 0, 'cancelled');
    const { id, allowedMoves } = await preview(filter);
    expect(allowedMoves).toEqual(['expired']);
    expect(wrongFields(await confirm(id))).toEqual(['id']);
  });
});

describe('a confirmed bulk deferral', () => {
  it('defers each of its accounts once, like a deferral of one account', async () => {
    const { filter, ids } = await region(3);
    const single = await newAccount(service);
    await change(single.id, { kind: 'deferral', ...DEFERRAL });
    const expected = await accountNow(service, single.id);
    const schedule = await scheduleOf(single.id);
    const done = await defer(filter, { reasonCode: 'harvest' });
    expect(done).toMatchObject({
      ...{ status: 'done', allowedMoves: ['undoing'], actor: 'admin@example.com', failure: null },
      counts: { waiting: 0, deferred: 3, skipped: 0 },
    });
    for (const accountId of ids) {
      const { nextDueDate, total, restructured } = expected;
      expect(await accountNow(service, accountId)).toMatchObject({
        ...{ planVersion: 1, nextDueDate, total, restructured },
      });
      expect(await scheduleOf(accountId)).toEqual(schedule);
      const changes = await changesOf(accountId);
      expect(changes).toMatchObject([
        {
          ...{ kind: 'deferral', reason: DEFERRAL.reason, reasonCode: 'harvest', effectiveOn: DAY },
          ...{ bulkDeferralId: done.id, actor: 'admin@example.com', approvalId: null },
        },
      ]);
    }
    expect(await dataOf(service.call('GET', `/plan-changes?filter[bulkDeferralId]=${done.id}`))).toHaveLength(
      3,
    );
    const entries = await dataOf(
      service.call('GET', `/audit?filter[resource]=bulk_deferral&filter[resourceId]=${done.id}&sort=id:asc`),
    );
    expect(entries).toMatchObject([
      { action: 'bulk_deferral.start', actor: 'admin@example.com', after: { accountCount: 3 } },
      { action: 'bulk_deferral.end', after: { changedCount: 3, skippedCount: 0 } },
    ]);
    expect((await confirm(done.id)).status).toBe(400);
  });

  it('moves the arrears of late accounts to the end', async () => {
    setToday(service, '2026-10-01');
    const { filter, ids } = await region(2);
    for (const id of ids) await pay(service, id, 2_400);
    setToday(service, DAY);
    expect(await accountNow(service, ids[0] ?? 0)).toMatchObject({ daysPastDue: 18, arrears: 1_200 });
    const shown = await preview(filter, { arrears: 'behind' });
    expect(shown).toMatchObject({ arrearsMoved: 2_400, arrears: 'behind' });
    await dataOf(confirm(shown.id));
    await runQueue();
    expect(await accountNow(service, ids[0] ?? 0)).toMatchObject({ daysPastDue: 0, arrears: 0 });
  });

  it('skips an account that was changed since the preview', async () => {
    const { filter, ids } = await region(2);
    const [changed = 0] = ids;
    const { id } = await preview(filter);
    await change(changed, { kind: 'discount', amount: 100 });
    await dataOf(confirm(id));
    await runQueue();
    expect(await now(id)).toMatchObject({
      ...{ status: 'done', counts: { deferred: 1, skipped: 1 } },
      problems: [{ state: 'skipped', code: 'plan_changed', count: 1, accountIds: [changed] }],
    });
    expect(await changesOf(changed)).toMatchObject([{ kind: 'discount' }]);
  });

  it('skips an account that has paid since the preview, only if the effect depends on it', async () => {
    const { filter, ids } = await region(2);
    const [paying = 0] = ids;
    const behind = await preview(filter, { arrears: 'behind' });
    const stay = await preview(filter);
    await pay(service, paying, 400);
    await dataOf(confirm(behind.id));
    await runQueue();
    expect(await now(behind.id)).toMatchObject({
      ...{ counts: { deferred: 1, skipped: 1 }, problems: [{ code: 'money_posted', accountIds: [paying] }] },
    });
    await dataOf(confirm(stay.id));
    await runQueue();
    expect(await now(stay.id)).toMatchObject({
      ...{ counts: { deferred: 1, skipped: 1 }, problems: [{ code: 'plan_changed', accountIds: [ids[1]] }] },
    });
    expect(await versionsOf(ids)).toEqual([1, 1]);
  });

  it('skips an account that was cancelled since the preview', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    await move(service, ids[0] ?? 0, 'cancelled');
    await dataOf(confirm(id));
    await runQueue();
    expect(await now(id)).toMatchObject({
      problems: [
        { state: 'skipped', code: 'status', text: 'the account is cancelled', accountIds: [ids[0]] },
      ],
    });
  });

  it('skips the accounts that it comes to only after the first date that moves', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter, { from: NEXT_DAY });
    await dataOf(confirm(id));
    setToday(service, NEXT_DAY);
    await runQueue();
    expect(await now(id)).toMatchObject({
      counts: { deferred: 0, skipped: 2 },
      problems: [{ code: 'not_possible', text: expect.stringMatching(/^from must be after 2026-11-03/) }],
    });
    expect(await versionsOf(ids)).toEqual([0, 0]);
  });

  it('is started once by repeated and concurrent confirmations', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    const key = { headers: { 'idempotency-key': `confirm ${id}` } };
    const answers = await Promise.all([
      ...Array.from({ length: 3 }, () => confirm(id)),
      post(`/${id}/confirm`, undefined, key),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    await runQueue();
    expect(await versionsOf(ids)).toEqual([1, 1]);
  });

  it('keeps the name of the API key that confirmed it', async () => {
    const { filter, ids } = await region(1);
    const { id } = await preview(filter);
    const { key: token } = await newApiKey(service, 'finance', { name: 'Field office' });
    await dataOf(post(`/${id}/confirm`, undefined, { token }));
    await runQueue();
    expect(await changesOf(ids[0] ?? 0)).toMatchObject([{ actor: 'api key Field office' }]);
    expect(await now(id)).toMatchObject({ actor: 'api key Field office' });
  });

  it('lets payments of its accounts be posted meanwhile', async () => {
    const { filter, ids } = await region(10);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    await Promise.all([runQueue(), ...ids.map((accountId) => pay(service, accountId, 100))]);
    expect((await now(id)).counts).toMatchObject({ deferred: 10, skipped: 0 });
    for (const accountId of ids)
      expect(await accountNow(service, accountId)).toMatchObject({ planVersion: 1, paid: 100 });
  });
});

describe('the job of a bulk deferral', () => {
  it('continues with the account at which it ended, and defers each account once', async () => {
    const { filter, ids } = await region(5);
    const { id } = await preview(filter);
    const repair = await failAtChange(ids[2] ?? 0);
    await dataOf(confirm(id));
    await expect(runQueue()).rejects.toThrow('the process ended');
    expect(await now(id)).toMatchObject({ status: 'running', counts: { deferred: 2, waiting: 3 } });
    expect(await versionsOf(ids)).toEqual([1, 1, 0, 0, 0]);
    await repair();
    const { context, parts } = service;
    await workOnBulkDeferral(context, parts.log, id, SILENT);
    expect(await now(id)).toMatchObject({ status: 'done', counts: { deferred: 5, waiting: 0 } });
    expect(await versionsOf(ids)).toEqual([1, 1, 1, 1, 1]);
  });

  it('counts the accounts only at the end', async () => {
    const { filter } = await region(11);
    const { id } = await preview(filter);
    const { context, parts } = service;
    const countsOf = async (start: (id: number) => Promise<Answer>) => {
      await dataOf(start(id));
      const statements = await statementsOf(() => workOnBulkDeferral(context, parts.log, id, SILENT));
      return statements.filter(({ text }) => COUNTS_ACCOUNTS.test(text)).length;
    };
    expect(await countsOf(confirm)).toBe(1);
    expect((await now(id)).counts.deferred).toBe(11);
    expect(await countsOf(undo)).toBe(1);
    expect((await now(id)).counts.undone).toBe(11);
  });

  it('on two instances at once defers each account once', async () => {
    const { filter, ids } = await region(8);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    const { context, parts } = service;
    await Promise.all([1, 2, 3].map(() => workOnBulkDeferral(context, parts.log, id, SILENT)));
    expect(await now(id)).toMatchObject({ status: 'done', counts: { deferred: 8 } });
    expect(await versionsOf(ids)).toEqual(Array(8).fill(1));
  });

  it('is queued again if it was lost, for example by a restore of a backup', async () => {
    const { filter } = await region(1);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    await sql`select graphile_worker.remove_job(${`bulk-deferral:${id}`})`.execute(service.context.db);
    await runQueue();
    expect((await now(id)).status).toBe('running');
    expect(await queueUnfinishedBulkDeferrals(service.context)).toBeGreaterThan(0);
    await runQueue();
    expect((await now(id)).status).toBe('done');
  });

  it('leaves out an account whose change fails at every attempt, and defers and undoes the others', async () => {
    const { filter, ids } = await region(3);
    const { id } = await preview(filter);
    const repair = await failAtChange(ids[1] ?? 0);
    await dataOf(confirm(id));
    const { context, parts } = service;
    await workOnBulkDeferral(context, parts.log, id, LAST);
    expect(await now(id)).toMatchObject({
      ...{ status: 'done', failure: null, counts: { deferred: 2, skipped: 1 } },
      problems: [{ code: 'failed', count: 1, accountIds: [ids[1]] }],
    });
    expect(await versionsOf(ids)).toEqual([1, 0, 1]);
    await repair();
    const repairUndo = await failAtChange(ids[2] ?? 0);
    await dataOf(undo(id));
    await workOnBulkDeferral(context, parts.log, id, LAST);
    await repairUndo();
    expect(await now(id)).toMatchObject({
      ...{ status: 'undone', counts: { undone: 1, notUndone: 1, skipped: 1 } },
    });
    expect(await versionsOf(ids)).toEqual([2, 0, 1]);
  });

  it('continues after all its attempts have failed, for example because the database was down', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    await sql`update graphile_worker._private_jobs set attempts = max_attempts where key = ${`bulk-deferral:${id}`}`.execute(
      service.context.db,
    );
    await runQueue();
    expect((await now(id)).status).toBe('running');
    await runJobs(service);
    await runQueue();
    expect((await now(id)).status).toBe('done');
    expect(await versionsOf(ids)).toEqual([1, 1]);
  });
});

describe('the undo of a bulk deferral', () => {
  it('gives each account its earlier terms again', async () => {
    const { filter, ids } = await region(3);
    const before = await scheduleOf(ids[0] ?? 0);
    const { id } = await defer(filter);
    const undone = await dataOf(undo(id));
    expect(undone).toMatchObject({ status: 'undoing', undoReason: 'The wrong region' });
    await runQueue();
    expect(await now(id)).toMatchObject({
      ...{ status: 'undone', allowedMoves: [], counts: { deferred: 0, undone: 3, notUndone: 0 } },
    });
    for (const accountId of ids) {
      expect(await accountNow(service, accountId)).toMatchObject({
        ...{ planVersion: 2, restructured: null },
      });
      expect(await scheduleOf(accountId)).toEqual(before);
      expect(await changesOf(accountId)).toMatchObject([
        { kind: 'deferral', bulkDeferralId: id },
        { kind: 'undo', reason: 'The wrong region', bulkDeferralId: id },
      ]);
    }
    expect((await undo(id)).status).toBe(400);
  });

  it('names the accounts whose deferral is not the newest change any more', async () => {
    const { filter, ids } = await region(4);
    const [discounted = 0, undoneAlone = 0, cancelled = 0] = ids;
    const { id } = await defer(filter);
    await change(discounted, { kind: 'discount', amount: 100 });
    await change(undoneAlone, { kind: 'undo' });
    await move(service, cancelled, 'cancelled');
    await dataOf(undo(id));
    await runQueue();
    const shown = await now(id);
    expect(shown).toMatchObject({ status: 'undone', counts: { undone: 1, notUndone: 3 } });
    expect((await accountsOf(id)).map(({ state, problem }) => [state, problem?.code])).toEqual([
      ['not_undone', 'later_change'],
      ['not_undone', 'already_undone'],
      ['not_undone', 'status'],
      ['undone', undefined],
    ]);
    expect(await versionsOf(ids)).toEqual([2, 2, 1, 2]);
  });

  it('needs a reason, and a deferral that is done', async () => {
    const { filter } = await region(1);
    const { id } = await preview(filter);
    expect(wrongFields(await post(`/${id}/undo`, {}))).toEqual(['reason']);
    expect((await undo(id)).status).toBe(400);
    expect((await undo(999_999)).status).toBe(404);
  });
});

/** The statuses of calls that all wait for the bulk deferral before one of them gets it. */
async function atOnce(id: number, calls: ((id: number) => Promise<Answer>)[]): Promise<number[]> {
  let answers: Promise<Answer>[] = [];
  await whileHeld(`select from bulk_deferrals where id = ${id} for update`, async (held) => {
    answers = calls.map((call) => call(id));
    await held.untilAwaited(calls.length);
  });
  return (await Promise.all(answers)).map(({ status }) => status);
}

describe('a discarded preview', () => {
  it('is expired, and names who discarded it', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    const finance = await service.tokenOf('finance');
    const discarded = await dataOf(post(`/${id}/discard`, undefined, { token: finance }));
    expect(discarded).toMatchObject({
      ...{ status: 'expired', allowedMoves: [], startedAt: null, endedAt: expect.any(String) },
      ...{
        selectedCount: 2,
        deferrableCount: 2,
        balance: 2 * TOTAL,
        actor: expect.stringMatching(/^user\d/),
      },
      counts: { waiting: 0 },
    });
    expect(await accountsOf(id)).toEqual([]);
    expect((await confirm(id)).status).toBe(400);
    expect(await dataOf(discard(id))).toEqual(discarded);
    expect((await stop(id)).status).toBe(409);
    expect((await discard(999_999)).status).toBe(404);
    expect(await versionsOf(ids)).toEqual([0, 0]);
  });

  it('that is not complete is not computed any more', async () => {
    const { filter } = await region(1);
    const { id } = await dataOf(post('', { ...DEFERRAL, filter }), 201);
    await dataOf(discard(id));
    await runQueue();
    expect(await now(id)).toMatchObject({ status: 'expired', deferrableCount: null });
  });

  it('has no accounts, also if a step of its job is at work', async () => {
    const { filter, ids } = await region(3);
    const { id } = await dataOf(post('', { ...DEFERRAL, filter }), 201);
    const { context, parts } = service;
    await whileWaitingAt('bulk_deferral_accounts', 'update', ids[1] ?? 0, async (held) => {
      const step = workOnBulkDeferral(context, parts.log, id, SILENT);
      await held.untilAwaited(1);
      const discarding = discard(id);
      await held.untilAwaited(2); // The discard waits for the accounts of the step.
      await held.release();
      expect((await discarding).status).toBe(200);
      await step;
    });
    expect(await now(id)).toMatchObject({ status: 'expired', counts: { selected: 0, waiting: 0 } });
    expect(await accountsOf(id)).toEqual([]);
  });

  it('is discarded by an API key that may change plans, and by no other one', async () => {
    const { filter } = await region(1);
    const { id } = await preview(filter);
    const { key: reader } = await newApiKey(service, ['accounts:read']);
    expect((await post(`/${id}/discard`, undefined, { token: reader })).status).toBe(403);
    expect((await post(`/${id}/stop`, undefined, { token: reader })).status).toBe(403);
    const { key: token } = await newApiKey(service, 'finance', { name: 'Harvest app' });
    await dataOf(post(`/${id}/discard`, undefined, { token }));
    expect(await now(id)).toMatchObject({ status: 'expired', actor: 'api key Harvest app' });
  });

  it('is discarded or confirmed, never both', async () => {
    const { filter, ids } = await region(1);
    const { id } = await preview(filter);
    const [discarded, confirmed, again] = await atOnce(id, [discard, confirm, discard]);
    await runQueue();
    const { status } = await now(id);
    if (status === 'expired') expect([discarded, confirmed, again]).toEqual([200, 400, 200]);
    else expect([status, discarded, confirmed, again]).toEqual(['done', 409, 200, 409]);
    expect(await versionsOf(ids)).toEqual([status === 'done' ? 1 : 0]);
  });

  it('that was confirmed meanwhile is not discarded, and the answer says so', async () => {
    const { filter, ids } = await region(1);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    const refused = await discard(id);
    expect([refused.status, refused.body.error]).toMatchObject([
      409,
      {
        message: 'The preview cannot be discarded any more: the bulk deferral is running.',
        details: { from: 'running', to: 'expired', allowed: ['done'] },
      },
    ]);
    await runQueue();
    expect((await discard(id)).status).toBe(409);
    expect(await versionsOf(ids)).toEqual([1]);
  });
});

describe('a stopped bulk deferral', () => {
  const auditOf = (id: number): Promise<Data[]> =>
    dataOf(service.call('GET', `/audit?filter[resource]=bulk_deferral&filter[resourceId]=${id}&sort=id:asc`));

  it('keeps the accounts that it has deferred, which can be undone, and skips the others', async () => {
    const { filter, ids } = await region(5);
    const { id } = await preview(filter);
    expect((await stop(id)).status).toBe(409);
    const repair = await failAtChange(ids[2] ?? 0);
    await dataOf(confirm(id));
    await expect(runQueue()).rejects.toThrow('the process ended');
    await repair();
    const running = await now(id);
    expect(running).toMatchObject({ status: 'running', allowedMoves: ['done'] });
    const { key: token } = await newApiKey(service, 'finance', { name: 'Field office' });
    const stopped = await dataOf(post(`/${id}/stop`, undefined, { token }));
    expect(stopped).toMatchObject({
      ...{
        status: 'done',
        allowedMoves: ['undoing'],
        startedAt: running.startedAt,
        actor: 'admin@example.com',
      },
      counts: { waiting: 0, deferred: 2, skipped: 3 },
      problems: [{ state: 'skipped', code: 'stopped', count: 3, accountIds: ids.slice(2) }],
    });
    expect((await auditOf(id)).at(-1)).toMatchObject({
      ...{ action: 'bulk_deferral.stop', actor: 'api key Field office' },
      after: { changedCount: 2, skippedCount: 3 },
    });
    await runQueue();
    expect(await versionsOf(ids)).toEqual([1, 1, 0, 0, 0]);
    const { problems: _, ...rest } = await dataOf(stop(id));
    expect(stopped).toMatchObject(rest);
    expect((await discard(id)).status).toBe(409);
    await dataOf(undo(id));
    expect((await stop(id)).status).toBe(409);
    await runQueue();
    expect(await now(id)).toMatchObject({ status: 'undone', counts: { undone: 2, skipped: 3 } });
    expect((await stop(id)).status).toBe(409);
    expect(await versionsOf(ids)).toEqual([2, 2, 0, 0, 0]);
    expect((await stop(999_999)).status).toBe(404);
  });

  it('is deferred once more by the same filter, whose preview counts these accounts, unless it leaves them out', async () => {
    const { filter, ids } = await region(3);
    const { id } = await preview(filter);
    const repair = await failAtChange(ids[2] ?? 0);
    await dataOf(confirm(id));
    await expect(runQueue()).rejects.toThrow('the process ended');
    await repair();
    expect(await dataOf(stop(id))).toMatchObject({ counts: { deferred: 2 }, restructuredCount: null });
    await runQueue();
    expect(await preview(filter)).toMatchObject({ deferrableCount: 3, restructuredCount: 2 });
    const rest = await preview({ ...filter, restructuredDate: { isnull: true } });
    expect(rest).toMatchObject({ deferrableCount: 1, restructuredCount: 0 });
  });

  it('has all its accounts deferred or skipped after a step that was reading them', async () => {
    const { filter, ids } = await region(7);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    const { context, parts } = service;
    await whileHeld(`select from accounts where id = ${ids[0]} for update`, async (held) => {
      const step = workOnBulkDeferral(context, parts.log, id, SILENT);
      await held.untilAwaited(1); // The step has chosen its accounts, and has not locked them.
      await dataOf(stop(id));
      await held.release();
      await step;
    });
    expect((await now(id)).counts).toMatchObject({ waiting: 0, deferred: 0, skipped: 7 });
    expect(await versionsOf(ids)).toEqual(Array(7).fill(0));
    await expectBooksToBalance(context);
  });

  it('keeps the accounts of the step that is at work, and publishes its end after their changes', async () => {
    const { filter, ids } = await region(7);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    const start = (await dataOf(service.call('GET', '/events?from=latest'))).after;
    const { context, parts } = service;
    const ending = new AbortController();
    await whileWaitingAt('plan_changes', 'insert', ids[1] ?? 0, async (held) => {
      const { signal } = ending;
      const step = workOnBulkDeferral(context, parts.log, id, { ...SILENT, signal });
      await held.untilAwaited(1);
      ending.abort(); // No further step, which could have its accounts before they are skipped.
      const stopping = stop(id);
      await held.untilAwaited(2);
      await held.release();
      expect((await dataOf(stopping)).counts).toMatchObject({ waiting: 0, deferred: 5, skipped: 2 });
      await step;
    });
    expect((await now(id)).counts).toMatchObject({ waiting: 0, deferred: 5, skipped: 2 });
    expect(await versionsOf(ids)).toEqual([1, 1, 1, 1, 1, 0, 0]);
    const { events } = await dataOf(service.call('GET', `/events?after=${start}&limit=1000`));
    const types = events
      .map(({ type }: Data) => type)
      .filter((type: string) => /^bulk_deferral|plan_changed/.test(type));
    expect(types).toEqual([...Array(5).fill('account.plan_changed'), 'bulk_deferral.ended']);
    await expectBooksToBalance(context);
  });

  it('ends once by concurrent calls', async () => {
    const { filter } = await region(2);
    const { id } = await preview(filter);
    await dataOf(confirm(id));
    expect(await atOnce(id, [stop, stop])).toEqual([200, 200]);
    expect((await auditOf(id)).map(({ action }) => action)).toEqual([
      'bulk_deferral.start',
      'bulk_deferral.stop',
    ]);
    await runQueue();
    expect(await now(id)).toMatchObject({ status: 'done', counts: { deferred: 0, skipped: 2 } });
  });
});

describe('above the approval limit', () => {
  const approve = async (id: number, options: object = {}) =>
    limited.call('POST', `/approvals/${id}/approve`, undefined, {
      token: await service.tokenOf('manager'),
      ...options,
    });
  const ask = (id: number, path = 'confirm', body?: object) =>
    limited.call('POST', `${PATH}/${id}/${path}`, body, { token: service.adminToken });

  it('the sum of the balances decides, and the deferral begins with the approval', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    const start = (await dataOf(service.call('GET', '/events?from=latest'))).after;
    expect(
      await dataOf(limited.call('GET', `${PATH}/${id}`, undefined, { token: service.adminToken })),
    ).toMatchObject({
      needsApproval: true,
    });
    const request = await dataOf(ask(id), 202);
    expect(request).toMatchObject({
      ...{ action: 'start_bulk_deferral', amount: 2 * TOTAL, bulkDeferralId: id, reason: DEFERRAL.reason },
    });
    expect((await ask(id)).status).toBe(409);
    expect((await ask(id, 'discard')).status).toBe(409);
    await runQueue();
    expect(await now(id)).toMatchObject({ status: 'draft', allowedMoves: [], pendingApprovalId: request.id });
    expect(await versionsOf(ids)).toEqual([0, 0]);
    await dataOf(approve(request.id));
    await runQueue();
    const { email: manager } = (await changesOf(ids[0] ?? 0)).map(({ actor }) => ({ email: actor }))[0] ?? {};
    expect(manager).toMatch(/^user\d/);
    expect(await now(id)).toMatchObject({ status: 'done', approvalId: request.id, actor: manager });
    for (const accountId of ids)
      expect(await changesOf(accountId)).toMatchObject([
        { actor: manager, approvalId: request.id, requestedBy: 'admin@example.com' },
      ]);
    const undoing = await dataOf(ask(id, 'undo', { reason: 'The wrong region' }), 202);
    expect(undoing).toMatchObject({ action: 'undo_bulk_deferral', reason: 'The wrong region' });
    await dataOf(approve(undoing.id));
    await runQueue();
    expect(await now(id)).toMatchObject({ status: 'undone', undoReason: 'The wrong region' });
    expect(await versionsOf(ids)).toEqual([2, 2]);
    const { events } = await dataOf(
      service.call('GET', `/events?after=${start}&limit=1000&types=approval.*`),
    );
    expect(events.map(({ type, data }: Data) => [type, data.action, data.bulkDeferralId])).toEqual([
      ['approval.requested', 'start_bulk_deferral', id],
      ['approval.approved', 'start_bulk_deferral', id],
      ['approval.requested', 'undo_bulk_deferral', id],
      ['approval.approved', 'undo_bulk_deferral', id],
    ]);
  });

  it('one account below the limit needs none', async () => {
    const { filter } = await region(1);
    const { id } = await preview(filter);
    expect((await ask(id)).status).toBe(200);
    await runQueue();
  });

  it('nothing starts beside a pending request, also if it would need no approval any more', async () => {
    const { filter, ids } = await region(2);
    const { id } = await preview(filter);
    const start = await dataOf(ask(id), 202);
    const beside = await confirm(id); // Without a limit.
    expect([beside.status, beside.body.error.details]).toEqual([
      409,
      { resource: 'approval', field: 'id', id: start.id },
    ]);
    await dataOf(approve(start.id));
    await runQueue();
    const reason = { reason: 'The wrong region' };
    const request = await dataOf(ask(id, 'undo', reason), 202);
    await pay(service, ids[0] ?? 0, 20_000); // The sum of the balances is now below the limit.
    expect((await ask(id, 'undo', reason)).status).toBe(409);
    expect((await undo(id)).status).toBe(409);
    expect(await now(id)).toMatchObject({ status: 'done', pendingApprovalId: request.id });
    await dataOf(approve(request.id));
    await runQueue();
    expect(await now(id)).toMatchObject({ status: 'undone', pendingApprovalId: null });
  });

  it('a request can be approved on a later day, until the first date that moves has come', async () => {
    const { filter, ids } = await region(2);
    const [early, late] = [await preview(filter, { from: '2026-11-16' }), await preview(filter)];
    const [earlyRequest, lateRequest] = [await dataOf(ask(early.id), 202), await dataOf(ask(late.id), 202)];
    setToday(service, '2026-11-09');
    const token = await service.signInAs('manager');
    expect((await approve(lateRequest.id, { token })).status).toBe(409);
    await runJobs(service);
    expect(await now(early.id)).toMatchObject({ status: 'draft' });
    await runJobs(service);
    expect(await now(late.id)).toMatchObject({ status: 'expired', pendingApprovalId: null });
    await dataOf(approve(earlyRequest.id, { token }));
    await runQueue();
    expect(await now(early.id)).toMatchObject({ status: 'done', counts: { deferred: 2 } });
    expect(await changesOf(ids[0] ?? 0)).toMatchObject([{ effectiveOn: '2026-11-09' }]);
  });

  it('an earlier version of the service refuses the database while a request is pending', async () => {
    const { filter } = await region(2);
    const oldestUsable = async () => {
      const { rows } = await sql<{ name: string }>`select oldest_usable_migration() as name`.execute(
        service.context.db,
      );
      return rows[0]?.name;
    };
    const token = await service.tokenOf('manager');
    const rejected = (id: number) =>
      dataOf(service.call('POST', `/approvals/${id}/reject`, { reason: 'no' }, { token }));
    const { id } = await preview(filter);
    expect(await oldestUsable()).not.toBe('0116_bulk_deferrals');
    const start = await dataOf(ask(id), 202);
    expect(await oldestUsable()).toBe('0116_bulk_deferrals');
    await rejected(start.id);
    await dataOf(confirm(id));
    await runQueue();
    expect(await oldestUsable()).toBe('0110_original_terms');
    const request = await dataOf(ask(id, 'undo', { reason: 'The wrong region' }), 202);
    expect(await oldestUsable()).toBe('0116_bulk_deferrals');
    await rejected(request.id);
    expect(await oldestUsable()).toBe('0110_original_terms');
  });

  it('a rejected request leaves the preview, which can be confirmed again on its day', async () => {
    const { filter } = await region(2);
    const { id } = await preview(filter);
    const request = await dataOf(ask(id), 202);
    const token = await service.tokenOf('manager');
    await dataOf(service.call('POST', `/approvals/${request.id}/reject`, { reason: 'no' }, { token }));
    expect(await now(id)).toMatchObject({ status: 'draft', allowedMoves: ['running', 'expired'] });
    const again = await dataOf(ask(id), 202);
    await dataOf(service.call('POST', `/approvals/${again.id}/reject`, { reason: 'no' }, { token }));
  });
});
