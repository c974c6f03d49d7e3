import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createRandom } from '../../tools/simulator/traffic.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { newAccount } from '../support/harness.ts';
import { useProvider } from '../support/provider.ts';

/** BOOKS_PAYMENTS=100000 is a large company. */
const PAYMENTS = Number(process.env.BOOKS_PAYMENTS ?? 540);
const HOUR_MS = 3_600_000;
const STEP_HOURS = 2;
const STEPS = 36;
/** The provider is down for 24 hours. */
const FIRST_STEP_DOWN = 12;
const FIRST_STEP_UP = 24;
const START = new Date('2026-11-02T04:00:00Z');

const test = useProvider();
const { service } = test;

type Body = Record<string, string>;

it('gives books equal to the provider’s after dropped, late and repeated notifications and a day without the provider', async () => {
  const random = createRandom(18);
  service.clock.set(START);
  Object.assign(test.pull.behaviour, { mostHiddenRows: 3, zone: 'East Africa', pageSize: PAYMENTS / STEPS });
  const accounts = [];
  for (let n = 0; n < 30; n += 1) accounts.push(await newAccount(service));
  await test.runsPulls();

  const late: Body[] = [];
  let droppedCount = 0;
  for (let step = 0; step < STEPS; step += 1) {
    const isDown = step >= FIRST_STEP_DOWN && step < FIRST_STEP_UP;
    const startMs = START.getTime() + step * STEP_HOURS * HOUR_MS;
    const endMs = startMs + STEP_HOURS * HOUR_MS;
    const arriving: Body[] = isDown ? [] : late.splice(0);
    const times = Array.from(
      { length: Math.ceil(PAYMENTS / STEPS) },
      () => startMs + random(endMs - startMs),
    );
    for (const time of times.sort()) {
      const account = accounts[random(accounts.length)];
      const reference = random(20) === 0 ? 'SOLAR' : (account?.accountNumber ?? '');
      const body = test.pays(reference, BigInt(100 + random(90_000)), new Date(time));
      const fate = random(100);
      if (isDown || fate < 5) droppedCount += 1;
      else if (fate < 10) late.push(body);
      else arriving.push(body);
      if (!isDown && fate >= 95) arriving.push(body);
    }
    service.clock.set(new Date(endMs));
    test.api.failures.isDown = isDown;
    if (step % 5 === 0) test.api.tokens.expireAll();
    for (let n = 0; n < arriving.length; n += 25)
      await Promise.all(arriving.slice(n, n + 25).map((body) => test.delivers(body)));
    await test.runsMinuteJobs();
  }
  service.clock.set(new Date(service.context.clock.now().getTime() + HOUR_MS));
  await test.runsMinuteJobs();
  for (const body of late) expect(await test.delivers(body)).toBe('repeated');

  expect(droppedCount).toBeGreaterThan(PAYMENTS / 4);
  await expectBooksToBalance(service.context);
  const { rows: paid } = await sql<{ transId: string; amount: string; accountId: number; isPulled: boolean }>`
    select provider_trans_id as "transId", amount_minor::text as amount, account_id as "accountId",
      source = 'pull' as "isPulled"
    from payments`.execute(service.context.db);
  const idOf = new Map(accounts.map(({ id, accountNumber }) => [accountNumber, id]));
  const line = (transId: string, amount: bigint | string, accountId: number | null) =>
    `${transId} ${amount} ${accountId}`;
  expect(paid.map(({ transId, amount, accountId }) => line(transId, amount, accountId)).sort()).toEqual(
    test.book.payments
      .map(({ transId, amountMinor, reference }) => line(transId, amountMinor, idOf.get(reference) ?? null))
      .sort(),
  );
  expect(paid.filter(({ isPulled }) => isPulled).length).toBeGreaterThanOrEqual(droppedCount);

  for (const { id, accountNumber } of accounts) {
    const expected = test.book.payments
      .filter(({ reference }) => reference === accountNumber)
      .reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
    const account = (await service.call('GET', `/accounts/${id}`)).body.data;
    expect(account.paid.toFixed(2), accountNumber).toBe((Number(expected) / 100).toFixed(2));
  }
});
