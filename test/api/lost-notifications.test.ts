import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pullPayments } from '../../src/mobile-money/lost-notifications/pull-payments.ts';
import { createMobilemoneyApi } from '../../src/mobile-money/providers/mobilemoney-api.ts';
import { mobilemoneyPull } from '../../src/mobile-money/providers/mobilemoney-pull.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { accountNow, newAccount } from '../support/harness.ts';
import { SHORT_CODE, useProvider } from '../support/provider.ts';

const test = useProvider();
const { service } = test;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const USUAL = {
  ...({ pageSize: 100, listName: 'Response', isNested: true, zone: 'UTC', method: 'POST' } as const),
};

beforeAll(() => service.clock.set(new Date('2026-11-02T09:00:00Z')));
beforeEach(async () => {
  Object.assign(test.pull.behaviour, USUAL, { mostHiddenRows: 0, paddingBytes: 0, ignoresOffset: false });
  Object.assign(test.pull.behaviour, { unansweredQueries: 0, repeatedPages: 0, addedRows: [] });
  Object.assign(test.pull.behaviour, { offsets: 'rows', names: [], listsNothing: false, unlistedRows: 0 });
  // Longer than pulls overlap, so that each test starts with an empty period.
  await pullsAfter(60);
  expect(await test.pullRow()).toMatchObject({ failure: null });
});
afterAll(() => expectBooksToBalance(service.context));

function pass(minutes: number): void {
  service.clock.set(new Date(service.context.clock.now().getTime() + minutes * MINUTE_MS));
}

async function pullsAfter(minutes: number): Promise<void> {
  pass(minutes);
  await test.runsPulls();
}

/** Pulls with another time limit for a query. */
async function pullsWithLimit(timeoutMs: number): Promise<void> {
  const { context, parts } = service;
  const { mobilemoneyApi, mobilemoneyPull: settings } = context.config;
  if (!mobilemoneyApi || !settings) throw new Error('Pulls are turned off.');
  const pull = mobilemoneyPull(createMobilemoneyApi(mobilemoneyApi), settings, timeoutMs);
  const apis = new Map([['mobilemoney', { pull, status: undefined }]]);
  const key = { provider: 'mobilemoney', shortCode: SHORT_CODE };
  await pullPayments(context, parts.log, apis, key, { signal: new AbortController().signal });
}

async function paymentsOf(transId = ''): Promise<{ amount: number; source: string; paymentDate: string }[]> {
  const answer = await service.call('GET', `/payments?filter[transactionRef]=${transId}`);
  return answer.body.data;
}

/** Expects that each of the notified transactions has this number of payments. */
async function expectPaymentsFor(bodies: readonly Record<string, string>[], count: number): Promise<void> {
  const { rows } = await sql<{ transId: string; count: number }>`
    select sent.id as "transId", count(p.id)::int as count
    from unnest(${bodies.map(({ TransID }) => TransID)}::text[]) sent (id)
    left join payments p on p.provider_trans_id = sent.id
    group by sent.id`.execute(service.context.db);
  expect(rows).toHaveLength(bodies.length);
  expect(rows.filter((row) => row.count !== count)).toEqual([]);
}

async function notificationsOf(transId = '') {
  return (await service.call('GET', `/notifications?filter[transactionRef]=${transId}`)).body.data;
}

describe('a pull of payments', () => {
  beforeAll(() => expectBooksToBalance(service.context)); // Jobs could repair what the tests above have done.

  it('posts a payment whose notification was lost, and keeps the row of the provider', async () => {
    const account = await newAccount(service);
    const { TransID: transId } = test.pays(account.accountNumber, 45_050n);
    await pullsAfter(15);
    expect(await paymentsOf(transId)).toMatchObject([{ amount: 450.5, source: 'pull', status: 'matched' }]);
    expect((await accountNow(service, account.id)).paid).toBe(450.5);
    const [stored] = await notificationsOf(transId);
    expect(stored).toMatchObject({
      outcome: 'matched',
      source: 'pull',
      flags: [],
      businessShortCode: SHORT_CODE,
    });
    expect(JSON.parse(stored.rawBody)).toMatchObject({ transactionId: transId, amount: '450.50' });
  });

  it('posts nothing twice if the notification comes later', async () => {
    const account = await newAccount(service);
    const body = test.pays(account.accountNumber, 40_000n);
    await pullsAfter(15);
    expect(await test.delivers(body)).toBe('repeated');
    expect(await test.delivers(body)).toBe('repeated');
    expect((await accountNow(service, account.id)).paid).toBe(400);
  });

  it('stores nothing for a payment whose notification came before', async () => {
    const account = await newAccount(service);
    const body = test.pays(account.accountNumber, 40_000n);
    expect(await test.delivers(body)).toBe('matched');
    await pullsAfter(15);
    await pullsAfter(15);
    expect(await notificationsOf(body.TransID)).toHaveLength(1);
    expect(await paymentsOf(body.TransID)).toMatchObject([{ source: 'webhook' }]);
  });

  it('reports another amount than that of the notification, and posts nothing', async () => {
    const account = await newAccount(service);
    const body = test.pays(account.accountNumber, 40_000n);
    await test.delivers({ ...body, TransAmount: '399.00' });
    await pullsAfter(15);
    const outcomes = (await notificationsOf(body.TransID)).map(({ outcome }: { outcome: string }) => outcome);
    expect(outcomes.sort()).toEqual(['differs', 'matched']);
    expect((await accountNow(service, account.id)).paid).toBe(399);
  });

  it('posts a payment whose confirmation came to the validation address', async () => {
    const account = await newAccount(service);
    const body = test.pays(account.accountNumber, 40_000n);
    await service.call('POST', '/webhooks/payments/mobilemoney/validation', body, { token: null });
    expect(await paymentsOf(body.TransID)).toEqual([]);
    await pullsAfter(15);
    expect(await paymentsOf(body.TransID)).toMatchObject([{ source: 'pull', status: 'matched' }]);
  });

  it.each([
    ['UTC', '22:30'],
    ['East Africa', '20:30'],
  ] as const)(
    'finds the business day of a payment if the times are in the zone %s (%s)',
    async (zone, time) => {
      const tomorrow = new Date(service.context.clock.now().getTime() + 24 * HOUR_MS);
      const moment = new Date(`${tomorrow.toISOString().slice(0, 10)}T${time}:00Z`);
      service.clock.set(moment);
      await test.runsPulls();
      Object.assign(test.pull.behaviour, { zone });
      const { TransID: transId } = test.pays('SOLAR', 1_000n, moment);
      await pullsAfter(15);
      const eastAfrican = new Date(moment.getTime() + 3 * HOUR_MS).toISOString().slice(0, 10);
      expect(await paymentsOf(transId)).toMatchObject([{ paymentDate: eastAfrican }]);
    },
  );

  it.each([
    ['in Transactions', { listName: 'Transactions' }],
    ['without a second list', { isNested: false }],
    ['only with GET', { method: 'GET' }],
  ] as const)('reads rows that the provider lists %s', async (_, behaviour) => {
    Object.assign(test.pull.behaviour, behaviour);
    const { TransID: transId } = test.pays('SOLAR', 1_000n);
    await pullsAfter(15);
    expect(await paymentsOf(transId)).toHaveLength(1);
  });

  it('finds every row while the pages shift between two queries', async () => {
    Object.assign(test.pull.behaviour, { pageSize: 20, mostHiddenRows: 5 });
    const bodies = Array.from({ length: 63 }, () => test.pays('SOLAR', 1_000n));
    for (let pull = 1; pull <= 2; pull += 1) {
      await pullsAfter(15);
    }
    await expectPaymentsFor(bodies, 1);
  });

  it.each([
    ['rows', ['TotalPages']],
    ['rows', ['TotalRecords']],
    ['pages from 0', ['TotalPages']],
    ['pages from 0', ['TotalRecords']],
    ['pages from 0', ['TotalPages', 'TotalRecords']],
    ['pages from 1', ['TotalPages']],
    ['pages from 1', ['TotalPages', 'TotalRecords']],
  ] as const)('finds every row if offsets count %s, and the provider names %j', async (offsets, names) => {
    Object.assign(test.pull.behaviour, { pageSize: 20, offsets, names });
    const bodies = Array.from({ length: 63 }, () => test.pays('SOLAR', 1_000n));
    await pullsAfter(15);
    expect(await test.pullRow()).toMatchObject({ failure: null });
    await expectPaymentsFor(bodies, 1);
  });

  it('reads a period again until the provider lists as many rows as it counts', async () => {
    const before = await test.pullRow();
    Object.assign(test.pull.behaviour, { pageSize: 20, names: ['TotalRecords'], unlistedRows: 3 });
    const bodies = Array.from({ length: 33 }, () => test.pays('SOLAR', 1_000n));
    await pullsAfter(15);
    expect(await test.pullRow()).toMatchObject({
      completeUntil: before.completeUntil,
      failure: expect.stringContaining('counts 33 rows, and lists 30'),
    });
    test.pull.behaviour.unlistedRows = 0;
    await pullsAfter(2);
    expect(await test.pullRow()).toMatchObject({ failure: null });
    await expectPaymentsFor(bodies, 1);
  });

  it('finds the pages that follow a page which the provider counts, and does not send at first', async () => {
    const before = await test.pullRow();
    const behaviour = { pageSize: 20, offsets: 'pages from 0', names: ['TotalPages'], unlistedRows: 30 };
    Object.assign(test.pull.behaviour, behaviour);
    const bodies = Array.from({ length: 50 }, () => test.pays('SOLAR', 1_000n));
    await pullsAfter(15);
    expect(await test.pullRow()).toMatchObject({
      completeUntil: before.completeUntil,
      failure: expect.stringContaining('names 3 pages, and sends 1'),
    });
    test.pull.behaviour.unlistedRows = 0;
    await pullsAfter(2);
    expect(await test.pullRow()).toMatchObject({ failure: null });
    await expectPaymentsFor(bodies, 1);
  });

  it('shortens the period if an answer is too large', async () => {
    Object.assign(test.pull.behaviour, { pageSize: 1_000, paddingBytes: 1024 * 1024 });
    const bodies = Array.from({ length: 12 }, () => {
      pass(10);
      return test.pays('SOLAR', 1_000n);
    });
    await pullsAfter(1);
    await expectPaymentsFor(bodies, 1);
  });

  it('is not complete if the provider ignores the offset', async () => {
    const before = await test.pullRow();
    Object.assign(test.pull.behaviour, { ignoresOffset: true });
    test.pays('SOLAR', 1_000n);
    await pullsAfter(15);
    const { completeUntil, failure } = await test.pullRow();
    expect(failure).toMatch(/repeated a page/);
    expect(completeUntil).toEqual(before.completeUntil);
  });

  it('fails after its time limit if the provider never answers, and finds the payments with the next try', async () => {
    const before = await test.pullRow();
    const bodies = [test.pays('SOLAR', 1_000n), test.pays('SOLAR', 2_000n)];
    pass(15);
    test.pull.behaviour.unansweredQueries = Number.POSITIVE_INFINITY;
    await pullsWithLimit(20);
    test.pull.behaviour.unansweredQueries = 0;
    expect(await test.pullRow()).toMatchObject({
      completeUntil: before.completeUntil,
      failure: expect.stringContaining('no answer within the time limit'),
    });
    await expectPaymentsFor(bodies, 0);
    await pullsAfter(2);
    expect(await test.pullRow()).toMatchObject({ failure: null });
    await expectPaymentsFor(bodies, 1);
  });

  it('posts every payment once if the provider sends a page twice', async () => {
    Object.assign(test.pull.behaviour, { pageSize: 4, repeatedPages: 1 });
    const bodies = Array.from({ length: 9 }, () => test.pays('SOLAR', 1_000n));
    await pullsAfter(15);
    expect(test.pull.behaviour.repeatedPages).toBe(0);
    expect(await test.pullRow()).toMatchObject({
      failure: expect.stringContaining('repeated a page'),
    });
    await pullsAfter(2);
    expect(await test.pullRow()).toMatchObject({ failure: null });
    await expectPaymentsFor(bodies, 1);
  });

  it('continues with another access token if its token expires between two pages', async () => {
    Object.assign(test.pull.behaviour, { pageSize: 2 });
    const bodies = Array.from({ length: 9 }, () => test.pays('SOLAR', 1_000n));
    pass(15);
    test.api.failures.singleUseTokens = true;
    const before = test.api.tokens.issuedCount;
    await test.runsPulls();
    expect(test.api.tokens.issuedCount).toBeGreaterThan(before + 1);
    await expectPaymentsFor(bodies, 1);
  });

  it('waits as long as the provider asks after too many calls, and then continues', async () => {
    const { TransID: transId } = test.pays('SOLAR', 1_000n);
    pass(15);
    Object.assign(test.api.failures, { refusedAsBusy: 1, retryAfterSeconds: 300 });
    await test.runsPulls();
    expect(await test.pullRow()).toMatchObject({ failuresInARow: 1, failure: expect.stringMatching(/429/) });
    await pullsAfter(3);
    expect(await paymentsOf(transId)).toEqual([]);
    await pullsAfter(3);
    expect(await paymentsOf(transId)).toHaveLength(1);
    expect(await test.pullRow()).toMatchObject({ failuresInARow: 0, failure: null });
  });

  it.each([
    ['closes connections', { isDown: true }],
    ['answers with an error', { errorStatus: 503 }],
  ])('continues where it stopped after the provider %s', async (_, failure) => {
    const { completeUntil } = await test.pullRow();
    const { TransID: transId } = test.pays('SOLAR', 1_000n);
    Object.assign(test.api.failures, failure);
    for (let hour = 0; hour < 5; hour += 1) {
      await pullsAfter(60);
    }
    expect(await test.pullRow()).toMatchObject({ completeUntil, failuresInARow: 5 });
    Object.assign(test.api.failures, { isDown: false, errorStatus: null });
    await pullsAfter(15);
    expect(await paymentsOf(transId)).toHaveLength(1);
  });

  it('reports the period that the provider no longer lists', async () => {
    const { completeUntil } = await test.pullRow();
    test.api.failures.isDown = true;
    await pullsAfter(50 * 60);
    test.api.failures.isDown = false;
    await pullsAfter(15);
    const state = await test.pullRow();
    expect(state.lostFrom).toEqual(completeUntil);
    expect(state.lostUntil?.getTime()).toBeGreaterThan((completeUntil?.getTime() ?? 0) + 2 * HOUR_MS);
  });

  it('stores a row without an amount once, for staff', async () => {
    const { TransID: transId } = test.pays('SOLAR', 0n);
    await pullsAfter(15);
    await pullsAfter(15);
    const rejected = (await service.call('GET', '/notifications?filter[status]=rejected&limit=100')).body
      .data;
    expect(
      rejected.filter(({ rawBody }: { rawBody: string }) => rawBody.includes(transId ?? '')),
    ).toMatchObject([{ failure: expect.stringMatching(/^TransAmount must be a decimal above 0/) }]);
  });

  const AMOUNT_RULE = /^TransAmount must be a decimal above 0/;
  const ID_RULE = /^TransID must be a text of 1 to 64 characters$/;
  it.each<[string, object, RegExp]>([
    ['an amount above every limit', { amount: 900_000_000_000_000_000 }, AMOUNT_RULE],
    ['an object as amount', { amount: { value: 5 } }, AMOUNT_RULE],
    ['no id', { transactionId: undefined }, ID_RULE],
    ['an unknown type', { transactiontype: 'p2p-gift' }, /^the transaction type "p2p-gift" is unknown$/],
    ['an own short code as payer', { msisdn: SHORT_CODE }, /is a short code of PAYBILL_NUMBERS$/],
  ])('stores a row with %s once, as a rejected notification of the pull', async (_, fields, failure) => {
    const billreference = randomUUID();
    const row = { transactionId: billreference.slice(0, 10), amount: '500', billreference, ...fields };
    test.pull.behaviour.addedRows = [row];
    for (let run = 0; run < 2; run += 1) {
      await pullsAfter(15);
    }
    const url = '/notifications?filter[status]=rejected&filter[source]=pull&limit=100';
    const rejected = (await service.call('GET', url)).body.data.filter(({ rawBody }: { rawBody: string }) =>
      rawBody.includes(billreference),
    );
    expect(rejected).toMatchObject([
      { failure: expect.stringMatching(failure), rawBody: JSON.stringify(row) },
    ]);
  });

  it('lists no row of an unknown type whose transaction was reported, and no row of another known type', async () => {
    const { TransID: transactionId } = test.pays('SOLAR', 1_000n);
    const billreference = randomUUID();
    await pullsAfter(15);
    test.pull.behaviour.addedRows = [
      { transactionId, amount: '10', billreference, transactiontype: 'p2p-gift' },
      { transactionId: 'B2C0000001', amount: '10', billreference, transactiontype: 'b2c-payment' },
    ];
    await pullsAfter(15);
    const rejected = await service.call('GET', '/notifications?filter[status]=rejected&sort=id:desc');
    expect(rejected.text).not.toContain(billreference);
    expect(await paymentsOf('B2C0000001')).toEqual([]);
  });

  describe('without rows', () => {
    const listsNothing = () => Object.assign(test.pull.behaviour, { listsNothing: true });
    /** The last pull was at the present time of the test. */
    const hasReachedPresent = async () => {
      const { failure, completeUntil } = await test.pullRow();
      return (
        failure === null &&
        service.context.clock.now().getTime() - (completeUntil?.getTime() ?? 0) < MINUTE_MS
      );
    };
    const incompletePeriods = async () => {
      const { data } = (await service.call('GET', '/providers/status')).body;
      return data[0].pulls[0].incompletePeriods;
    };

    it('is repeated for 6 hours if the provider has reported a payment, then left as incomplete', async () => {
      const before = await test.pullRow();
      pass(45);
      const reported = test.pays('SOLAR', 1_000n);
      await test.delivers(reported);
      pass(60);
      const lost = test.pays('SOLAR', 2_000n);
      listsNothing();
      await pullsAfter(15);
      for (let hour = 0; hour < 5; hour += 1) {
        expect(await test.pullRow()).toMatchObject({
          completeUntil: before.completeUntil,
          failure: expect.stringContaining(`has reported the payment ${reported.TransID}`),
        });
        await pullsAfter(60);
      }
      const periods = await incompletePeriods();
      await pullsAfter(75);
      expect(await hasReachedPresent()).toBe(true);
      const [incomplete, ...earlier] = await incompletePeriods();
      expect(earlier).toEqual(periods);
      expect(incomplete).toEqual({
        from: expect.any(String),
        until: expect.any(String),
        reason: expect.stringContaining('lists no payments'),
      });
      expect(new Date(incomplete.from).getTime()).toBeLessThanOrEqual(before.completeUntil?.getTime() ?? 0);
      await expectPaymentsFor([lost], 0);
    });

    it('is repeated until the provider lists the payments, and then finds the lost one', async () => {
      pass(45);
      await test.delivers(test.pays('SOLAR', 1_000n));
      pass(60);
      const lost = test.pays('SOLAR', 2_000n);
      listsNothing();
      await pullsAfter(15);
      expect(await test.pullRow()).toMatchObject({ failure: expect.any(String) });
      test.pull.behaviour.listsNothing = false;
      await pullsAfter(2);
      expect(await test.pullRow()).toMatchObject({ failure: null });
      await expectPaymentsFor([lost], 1);
    });

    it('asks about a longer period if the period is too short to contradict the books', async () => {
      await test.delivers(test.pays('SOLAR', 1_000n));
      listsNothing();
      await pullsAfter(10);
      expect(await test.pullRow()).toMatchObject({ failure: null });
      await pullsAfter(10);
      await pullsAfter(15);
      expect(await test.pullRow()).toMatchObject({ failure: expect.stringContaining('lists no payments') });
    });

    it.each<[string, (body: Record<string, string>) => Promise<unknown>]>([
      ['less than 30 minutes before its end', async (body) => test.delivers(body)],
      [
        'that was reversed',
        async (body) => {
          await test.delivers(body);
          pass(35);
          const [{ id }] = (await service.call('GET', `/payments?filter[transactionRef]=${body.TransID}`))
            .body.data;
          expect(
            (await service.call('POST', `/payments/${id}/reverse`, { reason: 'for the test' })).status,
          ).toBe(200);
        },
      ],
      [
        'whose time is unreadable',
        async (body) => {
          await test.delivers({ ...body, TransTime: 'yesterday' });
          pass(35);
        },
      ],
      [
        'of another short code',
        async (body) => {
          await test.delivers({ ...body, BusinessShortCode: '600639' });
          pass(35);
        },
      ],
    ])('is accepted if the books have only a payment %s', async (_, receive) => {
      pass(60);
      await receive(test.pays('SOLAR', 1_000n));
      listsNothing();
      await pullsAfter(25);
      expect(await hasReachedPresent()).toBe(true);
    });
  });

  it('registers the short code only once', () => {
    const registrations = test.api.calls.filter(({ path }) => path.endsWith('/register'));
    expect(registrations.map(({ fields }) => fields)).toEqual([
      {
        ShortCode: SHORT_CODE,
        RequestType: 'Pull',
        NominatedNumber: '254700000001',
        CallBackURL: 'https://pay.example.com/api/webhooks/payments/mobilemoney',
      },
    ]);
  });
});
