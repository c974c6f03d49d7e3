import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { accountNow, breakPosting, newAccount, runJobs, startInstanceForTest } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';
import { SHORT_CODE, useProvider } from '../support/provider.ts';

const METRICS_TOKEN = 'a token of the monitoring';
const test = useProvider({ METRICS_TOKEN });
const { service } = test;
const MINUTE_MS = 60_000;
const WEEK_MINUTES = 7 * 24 * 60;

let day = new Date('2026-11-02T09:00:00Z');

beforeEach(async () => {
  day = new Date(day.getTime() + 60 * 24 * 60 * MINUTE_MS);
  service.clock.set(day);
  // As if all payments until now were pulled. Otherwise each test would pull the payments of two days.
  await sql`
    update provider_pulls set complete_until = business_now(), lost_from = null, lost_until = null`.execute(
    service.context.db,
  );
  await test.runsMinuteJobs();
});

function pass(minutes: number): void {
  service.clock.set(new Date(service.context.clock.now().getTime() + minutes * MINUTE_MS));
}

async function statusOf(name: string) {
  const answer = await service.call('GET', '/providers/status');
  return answer.body.data.find(({ provider }: { provider: string }) => provider === name);
}

async function gaps() {
  return (await service.call('GET', '/providers/balance-gaps?sort=id:asc&limit=100')).body.data;
}

async function eventsOf(type: string) {
  return (await service.call('GET', `/events?types=${type}&limit=1000`)).body.data.events;
}

describe('GET /providers/status', () => {
  it('shows when each provider last sent a notification, and until when its payments were pulled', async () => {
    const now = () => service.context.clock.now().getTime();
    const beforeMs = now();
    await test.delivers(test.pays('SOLAR', 1_000n));
    const afterMs = now();
    pass(15);
    await test.runsMinuteJobs();
    const status = await statusOf('mobilemoney');
    const heardAt = Date.parse(status.lastHeardAt);
    expect(heardAt).toBeGreaterThanOrEqual(beforeMs);
    expect(heardAt).toBeLessThanOrEqual(afterMs);
    expect(status).toMatchObject({
      silentSince: null,
      pulls: [{ shortCode: SHORT_CODE, failure: null, lostPeriod: null }],
    });
    expect(Date.parse(status.pulls[0].completeUntil)).toBeGreaterThan(heardAt);
    expect(await statusOf('tigopesa')).toEqual({
      provider: 'tigopesa',
      ...{ lastHeardAt: null, silentSince: null, openBalanceGaps: 0, pulls: [] },
    });
  });
});

describe('a notification without a balance', () => {
  it('is flagged if the provider has sent a balance of the short code before', async () => {
    await test.delivers(test.pays('SOLAR', 1_000n));
    pass(2);
    await test.runsMinuteJobs();
    const { OrgAccountBalance: _, ...body } = test.pays('SOLAR', 2_000n);
    await test.delivers({ ...body, OrgAccountBalance: '' });
    await test.delivers({
      ...test.pays('SOLAR', 2_000n),
      OrgAccountBalance: '',
      BusinessShortCode: '600639',
    });
    pass(2);
    await test.runsMinuteJobs();
    const url = '/notifications?filter[flags][contains]=without_balance';
    const flagged = (await service.call('GET', url)).body.data;
    expect(flagged.map((one: { transactionRef: string }) => one.transactionRef)).toEqual([body.TransID]);
    test.book.withdraw(4_000n); // The balance is again that of the first notification.
  });
});

describe('a gap in the running balance', () => {
  it('is not found because a call is repeated with a hidden number', async () => {
    const body = test.pays('SOLAR', 1_000n);
    await test.delivers(body);
    expect(await test.delivers({ ...body, MSISDN: '' })).toBe('repeated');
    pass(1);
    await test.delivers(test.pays('SOLAR', 2_000n));
    const before = (await gaps()).length;
    pass(12);
    await test.runsMinuteJobs();
    expect(await gaps()).toHaveLength(before);
  });

  it('is explained by the payment that a pull finds', async () => {
    const account = await newAccount(service);
    await test.delivers(test.pays(account.accountNumber, 1_000n));
    pass(1);
    test.pays(account.accountNumber, 2_500n);
    pass(1);
    await test.delivers(test.pays(account.accountNumber, 3_000n));
    const before = (await gaps()).length;
    test.api.failures.isDown = true;
    pass(12);
    await test.runsMinuteJobs();
    expect((await gaps()).slice(before)).toMatchObject([
      { state: 'open', shortCode: SHORT_CODE, difference: 25, explained: 0, explainedAt: null },
    ]);
    expect((await statusOf('mobilemoney')).openBalanceGaps).toBe(1);
    test.api.failures.isDown = false;
    pass(2);
    await test.runsMinuteJobs();
    pass(1);
    await test.runsMinuteJobs();
    expect((await gaps()).slice(before)).toMatchObject([
      { state: 'payments_found', difference: 25, explained: 25 },
    ]);
    expect((await eventsOf('balance_gap.found')).at(-1)).toMatchObject({
      resource: 'balance_gap',
      data: { provider: 'mobilemoney', shortCode: SHORT_CODE, difference: 25 },
    });
  });

  it('is explained by money that left the short code if the pull finds nothing', async () => {
    await test.delivers(test.pays('SOLAR', 1_000n));
    test.book.withdraw(700n);
    pass(1);
    await test.delivers(test.pays('SOLAR', 3_000n));
    const before = (await gaps()).length;
    pass(12);
    await test.runsMinuteJobs();
    pass(1);
    await test.runsMinuteJobs();
    expect((await gaps()).slice(before)).toMatchObject([
      { state: 'money_left', difference: -7, explained: 0 },
    ]);
  });

  it('does not exist if notifications only arrive in another order', async () => {
    const bodies = [1_000n, 2_000n, 3_000n, 4_000n].map((amount) => test.pays('SOLAR', amount));
    const before = (await gaps()).length;
    for (const n of [2, 0, 3, 1]) await test.delivers(bodies[n] ?? {});
    pass(12);
    await test.runsMinuteJobs();
    expect(await gaps()).toHaveLength(before);
  });

  it('does not exist if a notification is posted minutes after it was stored', async () => {
    const account = await newAccount(service);
    await test.delivers(test.pays(account.accountNumber, 1_000n));
    const before = (await gaps()).length;
    pass(1);
    const mend = await breakPosting(service, 2_511);
    try {
      expect(await test.delivers(test.pays(account.accountNumber, 2_511n))).toBe('pending');
      pass(1);
      await test.delivers(test.pays(account.accountNumber, 3_000n));
      pass(2);
      await test.runsMinuteJobs();
    } finally {
      await mend();
    }
    pass(12);
    await test.runsMinuteJobs();
    expect((await accountNow(service, account.id)).paid).toBe(65.11);
    expect(await gaps()).toHaveLength(before);
  });
});

describe('the silence of a provider', () => {
  /** Notifications in the given weeks before now, one each minute for three hours around the present hour. */
  async function addHistory(weeks: number[], everyMinutes = 1): Promise<void> {
    for (const week of weeks) {
      await sql`
        insert into notifications (provider, raw_body, status, failure, source, received_at)
        select 'mobilemoney', 'history', 'rejected', 'history', 'webhook',
          business_now() - ${week * WEEK_MINUTES} * interval '1 minute' + n * interval '1 minute'
        from generate_series(-90, 90, ${everyMinutes}::int) n`.execute(service.context.db);
    }
  }
  const watch = () => runJobs(service);
  /** The answer of a new instance, because an instance caches the silent providers for some seconds. */
  async function health() {
    const instance = await startInstanceForTest(service);
    return await createCaller(instance.origin)('GET', '/health');
  }

  it('is reported once if three of the last four weeks had notifications in the same hours', async () => {
    await addHistory([1, 2, 4]);
    await test.delivers(test.pays('SOLAR', 1_000n));
    const before = (await eventsOf('provider.silent')).length;
    pass(9);
    await watch();
    expect((await statusOf('mobilemoney')).silentSince).toBeNull();
    pass(5);
    await watch();
    pass(1);
    await watch();
    const { silentSince, lastHeardAt } = await statusOf('mobilemoney');
    expect(silentSince).toBe(lastHeardAt);
    const silent = (await eventsOf('provider.silent')).slice(before);
    expect(silent).toMatchObject([{ resource: 'provider', data: { provider: 'mobilemoney', lastHeardAt } }]);
    expect((await health()).body).toMatchObject({ status: 'degraded', silentProviders: ['mobilemoney'] });
    const scrape = await createCaller(service.origin)('GET', '/metrics', undefined, { token: METRICS_TOKEN });
    expect(scrape.text).toContain('ams_provider_silent{provider="mobilemoney"} 1');

    await test.delivers(test.pays('SOLAR', 1_000n));
    await watch();
    expect((await statusOf('mobilemoney')).silentSince).toBeNull();
    expect((await eventsOf('provider.heard_again')).at(-1)).toMatchObject({
      data: { provider: 'mobilemoney' },
    });
    expect((await health()).body).toMatchObject({ status: 'ok', silentProviders: [] });
  });

  it.each([
    ['there is no history', [], 1],
    ['there are only two weeks of history', [1, 2], 1],
    ['so few notifications are usual', [1, 2, 3, 4], 10],
  ])('is not reported if %s', async (_, weeks, everyMinutes) => {
    await addHistory(weeks, everyMinutes);
    await test.delivers(test.pays('SOLAR', 1_000n));
    pass(60);
    await watch();
    expect((await statusOf('mobilemoney')).silentSince).toBeNull();
  });
});
