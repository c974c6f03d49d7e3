import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { lastDayOfGrace } from '../../src/accounts/schedule/rules.ts';
import { suspendLateAccounts } from '../../src/accounts/status/suspend-late-accounts.ts';
import { type AccountToSuspend, findAccountsToSuspend } from '../../src/accounts/status/suspension-store.ts';
import { today } from '../../src/core/context.ts';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { cleanUpAfterwards, databaseUrl, type Ended, runToEnd } from '../acceptance/process.ts';
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
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';
import { statusesWhere } from '../support/status-model.ts';

/** An account of 1,000 at once and 10 × 100 weekly, with 7 days of grace, opened on START. */
const START = '2026-03-02';
const DEPOSIT = 1000;
const TOTAL = 2000;
/** The first instalment is due on 9 March; 16 March is the last of its days of grace. */
const LAST_DAY_OF_GRACE = '2026-03-16';
const FIRST_DAY_BEYOND = '2026-03-17';

const service = useService();
let plans = 0;

beforeEach(async () => {
  setToday(service, START);
  // The accounts of earlier tests must not be late in this test.
  await sql`update pay_plans set auto_suspend = false`.execute(service.context.db);
});
afterAll(() => expectBooksToBalance(service.context));

async function newPlan(fields: object = {}): Promise<number> {
  plans += 1;
  return (
    await dataOf(
      service.call('POST', '/payplans', {
        name: `Plan ${plans}`,
        deposit: DEPOSIT,
        instalmentAmount: 100,
        instalmentCount: 10,
        frequency: 'weekly',
        graceDays: 7,
        autoSuspend: true,
        ...fields,
      }),
      201,
    )
  ).id;
}

/** An active account that has paid its deposit on the first day. */
async function newPolicyAccount(plan: object = {}) {
  const account = await newAccount(service, { payplanId: await newPlan(plan) });
  await pay(service, account.id, DEPOSIT);
  return account;
}

/** An account that the policy has suspended. */
async function newSuspended(plan: object = {}) {
  const account = await newPolicyAccount(plan);
  setToday(service, FIRST_DAY_BEYOND);
  await run();
  expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
  return account;
}

function run(): Promise<number> {
  return suspendLateAccounts(service.context, service.context.clock.now(), new AbortController().signal);
}

async function historyOf(id: number) {
  const answer: Answer = await service.call('GET', `/accounts/${id}/history`);
  return answer.body.data.map(({ from, to, reason, cause, actor }: Record<string, unknown>) => ({
    from,
    to,
    reason,
    cause,
    actor,
  }));
}

describe('the suspension policy', () => {
  it('suspends on the first day beyond the days of grace, and records why and who', async () => {
    const account = await newPolicyAccount();
    setToday(service, LAST_DAY_OF_GRACE);
    expect(await run()).toBe(0);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active', daysPastDue: 7 });
    setToday(service, FIRST_DAY_BEYOND);
    expect(await run()).toBe(1);
    const reason = '8 days past due, 7 days of grace';
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended', reason });
    const [last] = await historyOf(account.id);
    expect(last).toEqual({ from: 'active', to: 'suspended', reason, cause: 'non_payment', actor: 'system' });
    const audited = await service.call(
      'GET',
      `/audit?filter[resourceId]=${account.id}&filter[resource]=account`,
    );
    expect(audited.body.data[0]).toMatchObject({
      action: 'account.status',
      actor: 'system',
      before: { status: 'active', reason: null },
      after: { status: 'suspended', reason },
    });
  });

  it('changes nothing when it runs again, on the same day and the next', async () => {
    const account = await newSuspended();
    const before = [await accountNow(service, account.id), await historyOf(account.id)];
    expect(await run()).toBe(0);
    setToday(service, '2026-03-18');
    expect(await run()).toBe(0);
    expect(await historyOf(account.id)).toEqual(before[1]);
    expect((await accountNow(service, account.id)).updatedAt).toBe(before[0].updatedAt);
  });

  it('reads autoSuspend from the present pay plan, and the days of grace from the account', async () => {
    const account = await newPolicyAccount({ autoSuspend: false });
    setToday(service, FIRST_DAY_BEYOND);
    expect(await run()).toBe(0);
    const path = `/payplans/${account.payplanId}`;
    expect((await service.call('PUT', path, { autoSuspend: true, active: false })).status).toBe(200);
    expect(await run()).toBe(1);
    const other = await newPolicyAccount({ graceDays: 0 });
    await service.call('PUT', `/payplans/${other.payplanId}`, { autoSuspend: false });
    setToday(service, '2026-12-01');
    expect(await run()).toBe(0);
  });

  it('suspends no account with a status other than active', async () => {
    const payplanId = await newPlan();
    const byStatus = new Map<string, number>();
    for (const status of statusesWhere(({ isSuspendedWhenLate }) => !isSuspendedWhenLate)) {
      byStatus.set(status, (await newAccountThatIs(service, status, { payplanId })).id);
    }
    setToday(service, '2026-12-01');
    expect(await run()).toBe(0);
    for (const [status, id] of byStatus) {
      expect(await accountNow(service, id), status).toMatchObject({ status });
    }
  });

  it('works in batches until no account is left', async () => {
    const account = await newPolicyAccount();
    await sql`
      insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
        instalment_minor, instalment_count, frequency, grace_days, receivable_minor)
      select customer_id, product_id, payplan_id, activation_date, status, deposit_minor, instalment_minor,
        instalment_count, frequency, grace_days, total_minor
      from accounts, generate_series(1, 450) where id = ${account.id}`.execute(service.context.db);
    await sql`
      with opened as (
        select a.id, nextval('ledger_event_ids') as event_id, total_minor from accounts a
        where payplan_id = ${account.payplanId} and id > ${account.id}),
      changes as (
        insert into account_status_changes (account_id, to_status, changed_on)
        select id, 'active', ${START}::date from opened)
      insert into ledger_entries (event_id, event, ledger_account, account_id, amount_minor, value_date)
      select event_id, 'account_opened', side.name::ledger_account, id, total_minor * side.sign, ${START}::date
      from opened, (values ('receivable', 1), ('sales', -1)) as side(name, sign)`.execute(service.context.db);
    setToday(service, '2026-04-01');
    const listed: number[] = [];
    const { payplanId } = account;
    let after: AccountToSuspend | undefined;
    do {
      const page = await findAccountsToSuspend(service.context.db, today(service.context), {
        payplanId,
        after,
        limit: 200,
      });
      listed.push(...page.map(({ id }) => id));
      after = page.at(-1);
    } while (after);
    expect([listed.length, new Set(listed).size]).toEqual([451, 451]);
    const heard: number[] = [];
    const stopped = new AbortController();
    stopped.abort();
    expect(await suspendLateAccounts(service.context, service.context.clock.now(), stopped.signal)).toBe(0);
    const signal = new AbortController().signal;
    expect(
      await suspendLateAccounts(service.context, service.context.clock.now(), signal, (count) =>
        heard.push(count),
      ),
    ).toBe(451);
    expect(heard).toEqual([200, 400, 451]);
  });

  it('is one of the minute jobs', async () => {
    const account = await newPolicyAccount();
    setToday(service, FIRST_DAY_BEYOND);
    await runJobs(service);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
  });
});

describe('a payment on an account that the policy suspended', () => {
  it('makes it active in the same transaction once it is within its days of grace again', async () => {
    const account = await newSuspended();
    await pay(service, account.id, 100);
    const reason = 'paid: 1 day past due, 7 days of grace';
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active', reason, daysPastDue: 1 });
    const [last] = await historyOf(account.id);
    expect(last).toEqual({ from: 'suspended', to: 'active', reason, cause: 'payment', actor: 'system' });
    expect(await run()).toBe(0);
  });

  it('counts from every source: the provider, an assignment, the credit of another account', async () => {
    const [byPhone, byHand, byCredit] = [
      await newPolicyAccount(),
      await newPolicyAccount(),
      await newPolicyAccount(),
    ];
    const giver = await newPolicyAccount();
    await pay(service, giver.id, TOTAL);
    setToday(service, FIRST_DAY_BEYOND);
    expect(await run()).toBe(3);
    const post = (fields: object) =>
      service.call(
        'POST',
        '/webhooks/payments/mobilemoney',
        notification({ TransAmount: '100.00', ...fields }),
      );
    await post({ BillRefNumber: byPhone.accountNumber });
    await post({ BillRefNumber: 'NOBODY', TransID: 'POLICY0001' });
    const listed = await service.call('GET', '/payments?filter[transactionRef]=POLICY0001');
    await service.call('POST', `/payments/${listed.body.data[0].id}/assign`, { accountId: byHand.id });
    const transfer = { toAccountId: byCredit.id, amount: 100, reason: 'of the family' };
    expect((await service.call('POST', `/accounts/${giver.id}/credit/transfer`, transfer)).status).toBe(201);
    for (const { id } of [byPhone, byHand, byCredit]) {
      expect(await accountNow(service, id)).toMatchObject({ status: 'active' });
      expect((await historyOf(id))[0]).toMatchObject({ cause: 'payment' });
    }
  });

  it('does not suspend it at once when it is reversed, but with the next run', async () => {
    const account = await newSuspended();
    const payment = await pay(service, account.id, 100);
    await reverse(service, payment.id);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active', daysPastDue: 8 });
    expect(await run()).toBe(1);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
  });

  it('that completed it and is reversed, leaves it suspended with the cause from before', async () => {
    const account = await newSuspended();
    const payment = await pay(service, account.id, TOTAL - DEPOSIT);
    await reverse(service, payment.id);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
    expect((await historyOf(account.id))[0]).toMatchObject({ from: 'completed', cause: 'non_payment' });
    await pay(service, account.id, 100);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active' });
  });

  it('that completed it and is reversed while enough is paid, leaves it active', async () => {
    const account = await newSuspended();
    const last = await pay(service, account.id, 50);
    await pay(service, account.id, TOTAL - DEPOSIT - 50);
    await reverse(service, last.id);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active', daysPastDue: 0 });
  });
});

describe('a decision of staff', () => {
  it('keeps an account suspended that the policy suspended earlier', async () => {
    const account = await newSuspended();
    await pay(service, account.id, 100);
    await move(service, account.id, 'suspended');
    await pay(service, account.id, 100);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
  });

  it('starts the days of grace again when it makes an account active', async () => {
    const account = await newSuspended();
    await move(service, account.id, 'active');
    expect(await run()).toBe(0);
    setToday(service, '2026-03-24'); // seven days later
    expect(await run()).toBe(0);
    setToday(service, '2026-03-25');
    expect(await run()).toBe(1);
    expect((await accountNow(service, account.id)).reason).toBe('16 days past due, 7 days of grace');
  });

  it('gives the same last day of grace in the rules and in SQL, also for a reactivated account', async () => {
    const account = await newSuspended();
    await move(service, account.id, 'active');
    await newAccount(service, { payplanId: account.payplanId, activationDate: START });
    const late = await findAccountsToSuspend(service.context.db, '2026-12-01' as PlainDate, {
      payplanId: account.payplanId,
      after: undefined,
      limit: 10,
    });
    expect(late.map((row) => row.last_day_of_grace)).toEqual(['2026-03-09', '2026-03-24']);
    expect(late.map(lastDayOfGrace)).toEqual(['2026-03-09', '2026-03-24']);
  });
});

describe('concurrently', () => {
  it('a run and payments leave every paid account active, and every other account suspended', async () => {
    const payplanId = await newPlan();
    const customerId = (await newCustomer(service)).id;
    const accounts = [];
    for (let i = 0; i < 12; i += 1) {
      const account = await newAccount(service, { payplanId, customerId });
      await pay(service, account.id, DEPOSIT);
      accounts.push(account);
    }
    setToday(service, FIRST_DAY_BEYOND);
    const paying = accounts.filter((_, i) => i % 2 === 0);
    const [payments] = await Promise.all([
      Promise.all(paying.map(({ id }) => pay(service, id, 100))),
      run(),
      run(),
    ]);
    await run();
    for (const [i, { id }] of accounts.entries()) {
      expect(await accountNow(service, id)).toMatchObject({ status: i % 2 === 0 ? 'active' : 'suspended' });
    }
    // Also a reversal during the run.
    await Promise.all([...payments.map(({ id }) => reverse(service, id)), run(), run()]);
    await run();
    for (const { id } of accounts) {
      expect(await accountNow(service, id)).toMatchObject({ status: 'suspended' });
    }
  });
});

describe('npm run apply-policy', () => {
  cleanUpAfterwards();

  async function command(...args: string[]): Promise<Ended> {
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(
      service.context.db,
    );
    const DATABASE_URL = databaseUrl(rows[0]?.name ?? '');
    return runToEnd([process.execPath, 'dist/cli/apply-suspension-policy.js', ...args], { DATABASE_URL });
  }

  /** The lines of its output. It must succeed. */
  async function linesOf(...args: string[]): Promise<string[]> {
    const { status, stdout, stderr } = await command(...args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout.trim().split('\n');
  }

  it('lists the accounts with --dry-run, suspends them without it, and then finds none', async () => {
    const account = await newAccount(service, { payplanId: await newPlan(), activationDate: '2026-01-05' });
    const covered = expect.stringMatching(/^Payments are known until 20[0-9T:.-]+Z\.$/);
    expect(await linesOf('--dry-run')).toEqual([
      covered,
      expect.stringMatching(
        new RegExp(`^${account.accountNumber}  active → suspended  [0-9]+ days past due, 7 days of grace$`),
      ),
      expect.stringMatching(/^1 accounts would be suspended on [0-9-]{10}\. Nothing was changed\.$/),
    ]);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active' });
    expect(await linesOf()).toEqual([
      covered,
      '1 accounts suspended …',
      '1 accounts were suspended for non-payment.',
    ]);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
    expect(await linesOf()).toEqual([covered, '0 accounts were suspended for non-payment.']);
  });

  it('prints its usage', async () => {
    const { status, stdout, stderr } = await command('--dryrun');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^Usage: npm run apply-policy/);
  });
});

describe('after an outage of the service', () => {
  // Other tests are about days on which all payments are known.
  afterAll(async () => {
    const { db } = service.context;
    await sql`delete from notifications where raw_body = 'history'`.execute(db);
    await sql`delete from missed_periods`.execute(db);
    await sql`delete from provider_watches`.execute(db);
  });

  /** Notifications of the weeks before now, one each minute for four hours around the present hour of each day. */
  async function addHistory() {
    await sql`
      insert into notifications (provider, raw_body, status, failure, source, received_at)
      select 'mobilemoney', 'history', 'rejected', 'history', 'webhook',
        business_now() - day * interval '1 day' + n * interval '1 minute'
      from generate_series(4, 22) day, generate_series(-120, 120) n`.execute(service.context.db);
  }
  const runAt = async (time: string) => {
    service.clock.set(new Date(time));
    await runJobs(service);
  };
  /** Moves the clock as if the service had run until then. */
  const ranUntil = async (time: string) => {
    service.clock.set(new Date(time));
    await sql`update provider_watches set read_until = business_now()`.execute(service.context.db);
  };

  it('suspends nobody whose days of grace ended in the outage, until the provider has had a day to deliver', async () => {
    const account = await newPolicyAccount();
    const earlier = await newPolicyAccount({ graceDays: 6 });
    // Earlier tests have run the jobs at later times.
    await sql`delete from provider_watches`.execute(service.context.db);
    await runAt('2026-03-16T20:30:00Z');
    await addHistory();
    await runAt('2026-03-16T21:30:00Z'); // 17 March in Nairobi
    expect((await accountNow(service, account.id)).status).toBe('active');
    expect((await accountNow(service, earlier.id)).status).toBe('suspended');
    // The second outage does not prolong the delay by the first one.
    await ranUntil('2026-03-17T21:00:00Z');
    await runAt('2026-03-17T21:29:00Z');
    expect((await accountNow(service, account.id)).status).toBe('active');
    await runAt('2026-03-17T21:31:00Z');
    expect((await accountNow(service, account.id)).status).toBe('suspended');
  });
});
