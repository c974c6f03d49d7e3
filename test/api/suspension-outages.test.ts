import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCoverage } from '../../src/mobile-money/lost-notifications/coverage-store.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { accountNow, breakPosting, dataOf, newAccount, pay } from '../support/harness.ts';
import { useProvider } from '../support/provider.ts';

// A customer who has paid is not suspended because an outage keeps the payment away from the books.

/** A company for one test, which moves the clock on: the time of an earlier test must not be later. */
function useCompany() {
  const test = useProvider();
  const { service } = test;
  let payplanId = 0;

  beforeAll(async () => {
    service.clock.set(new Date('2026-03-02T09:00:00Z'));
    const plan = {
      ...{ name: 'Weekly', deposit: 1000, instalmentAmount: 100, instalmentCount: 10, frequency: 'weekly' },
      ...{ graceDays: 7, autoSuspend: true },
    };
    payplanId = (await dataOf(service.call('POST', '/payplans', plan), 201)).id;
    await test.runsMinuteJobs();
  });
  afterAll(() => expectBooksToBalance(service.context));

  /** Moves the clock, and runs the minute jobs and the pulls that they queue. */
  async function runsAt(time: string): Promise<void> {
    service.clock.set(new Date(time));
    await test.runsMinuteJobs();
  }

  /** Moves the clock as if all payments until then were pulled. */
  async function pulledUntil(time: string): Promise<void> {
    service.clock.set(new Date(time));
    await sql`update provider_pulls set complete_until = business_now(), lost_from = null, lost_until = null`.execute(
      service.context.db,
    );
  }

  /** An account that has paid its deposit. Its days of grace end two weeks after the activation. */
  async function newPolicyAccount(activationDate: string) {
    const account = await newAccount(service, { payplanId, activationDate });
    await pay(service, account.id, 1000, { paymentDate: activationDate });
    return account;
  }
  const statusOf = async ({ id }: { id: number }) => (await accountNow(service, id)).status;
  return { test, service, runsAt, pulledUntil, newPolicyAccount, statusOf };
}

describe('suspension during an outage of the provider', () => {
  const { test, runsAt, pulledUntil, newPolicyAccount, statusOf } = useCompany();

  it('waits for the pull of payments that were made before the days of grace ended', async () => {
    const [payer, late, earlier] = [
      await newPolicyAccount('2026-03-02'),
      await newPolicyAccount('2026-03-02'),
      await newPolicyAccount('2026-03-01'),
    ];
    await pulledUntil('2026-03-16T09:00:00Z');
    test.api.failures.isDown = true;
    test.pays(payer.accountNumber, 10_000n);
    await runsAt('2026-03-16T21:30:00Z'); // 17 March in Nairobi
    expect([await statusOf(payer), await statusOf(late), await statusOf(earlier)]).toEqual([
      ...['active', 'active', 'suspended'],
    ]);
    test.api.failures.isDown = false;
    await runsAt('2026-03-16T22:00:00Z');
    await runsAt('2026-03-16T22:15:00Z');
    expect([await statusOf(payer), await statusOf(late)]).toEqual(['active', 'suspended']);
  });
});

describe('suspension while notifications cannot be posted', () => {
  const { test, service, runsAt, pulledUntil, newPolicyAccount, statusOf } = useCompany();

  it('waits for stored notifications whose posting failed, for at most a week', async () => {
    await pulledUntil('2026-04-01T09:00:00Z');
    const [payer, late, later] = [
      await newPolicyAccount('2026-03-18'),
      await newPolicyAccount('2026-03-18'),
      await newPolicyAccount('2026-03-25'),
    ];
    const mend = await breakPosting(service, 10_017);
    try {
      expect(await test.delivers(test.pays(payer.accountNumber, 10_017n))).toBe('pending');
      for (const time of ['2026-04-01T21:30:00Z', '2026-04-08T06:00:00Z']) {
        await pulledUntil(time);
        await test.runsMinuteJobs();
        expect([await statusOf(payer), await statusOf(late)]).toEqual(['active', 'active']);
      }
      await pulledUntil('2026-04-08T22:00:00Z');
      await test.runsMinuteJobs();
      expect([await statusOf(late), await statusOf(later)]).toEqual(['suspended', 'suspended']);
    } finally {
      await mend();
    }
    await runsAt('2026-04-08T22:30:00Z');
    expect((await accountNow(service, payer.id)).paid).toBe(1100.17);
  });
});

describe('suspension after a lost notification', () => {
  const { test, service, runsAt, pulledUntil, newPolicyAccount, statusOf } = useCompany();

  it('counts a payment from the time at which it was made if its notification was lost and its posting fails', async () => {
    await pulledUntil('2026-05-04T09:00:00Z');
    const [payer, late] = [await newPolicyAccount('2026-04-20'), await newPolicyAccount('2026-04-20')];
    const mend = await breakPosting(service, 10_023);
    try {
      test.pays(payer.accountNumber, 10_023n, new Date('2026-05-04T20:00:00Z'));
      await runsAt('2026-05-04T22:00:00Z'); // 5 May in Nairobi
      await runsAt('2026-05-04T22:10:00Z');
      expect([await statusOf(payer), await statusOf(late)]).toEqual(['active', 'active']);
    } finally {
      await mend();
    }
    await runsAt('2026-05-04T22:40:00Z');
    expect([await statusOf(payer), await statusOf(late)]).toEqual(['active', 'suspended']);
  });
});

describe('the coverage of payments', () => {
  const { service } = useCompany();

  it('reads only pending notifications, even if the statistics of the table are from an outage', async () => {
    const { db } = service.context;
    await sql`
      insert into notifications (provider, raw_body, status)
      select 'mobilemoney', 'plan', case when n % 50 = 0 then 'pending' else 'rejected' end::notification_status
      from generate_series(1, 10000) n`.execute(db);
    await sql`analyze notifications`.execute(db);
    await sql`update notifications set status = 'rejected' where raw_body = 'plan' and status = 'pending'`.execute(
      db,
    );
    const rowsRead = await db.transaction().execute(async (tx) => {
      const count = async () => {
        const { rows } = await sql<{ count: number }>`
          select (seq_tup_read + idx_tup_fetch)::int as count from pg_stat_xact_user_tables
          where relname = 'notifications'`.execute(tx);
        return rows[0]?.count ?? 0;
      };
      const before = await count();
      await findCoverage(tx, service.context.clock.now());
      return (await count()) - before;
    });
    expect(rowsRead).toBe(0);
  });
});
