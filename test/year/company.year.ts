import { expect, it } from 'vitest';
import { createRandom } from '../../tools/simulator/traffic.ts';
import { inParallel, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  report,
  runToEnd,
  startService,
} from '../acceptance/process.ts';
import { send } from '../faults/clients.ts';
import {
  portfolioOf,
  type RawAccount,
  type RawMove,
  type RawPortfolio,
  readAll,
  readPortfolio,
} from '../support/expected-figures.ts';
import {
  Company,
  eveningOf,
  hundredths,
  isMeetingDay,
  type SentPayment,
  setClock,
  units,
} from './company.ts';
import { expectTheSameAfterMove } from './move.ts';

cleanUpAfterwards();

const ACCOUNTS = Number(process.env.YEAR_ACCOUNTS ?? 2_000);
const SEED = Number(process.env.YEAR_SEED ?? 20_280_101);
/** A leap year. Rows are recorded in real time, so `opened` is 0 in all months of that year. */
const YEAR = 2028;
const UTC_OFFSET_HOURS = 3;
const READERS = 6;

it(`a year of a company of ${ACCOUNTS} accounts (seed ${SEED}; YEAR_ACCOUNTS and YEAR_SEED choose others)`, async () => {
  const url = await newDatabase();
  const environment = { ...NO_RATE_LIMITS, DATABASE_URL: url, LOG_LEVEL: 'warn' };
  const service = await startService({ ...environment, TEST_CLOCK: 'on', ACCESS_TOKEN_TTL: '86400' });
  const token = await registerAdmin(service);
  const get = getter(service, token);
  const company = new Company(service, token, {
    year: YEAR,
    accounts: ACCOUNTS,
    random: createRandom(SEED),
  });
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1_000).toFixed(0);
  const proofs: number[] = [];
  const summaries: number[] = [];

  /** Compares the summary of a period with a calculation from the raw rows. */
  async function compareSummary(raw: RawPortfolio, startDate: string, endDate: string, today: string) {
    const asked = performance.now();
    const { data } = await get(`/reports/accounts/summary?startDate=${startDate}&endDate=${endDate}`);
    summaries.push(performance.now() - asked);
    const span = { startDate, endDate, today, utcOffsetHours: UTC_OFFSET_HOURS };
    expect(data, `${startDate} to ${endDate} on ${today}`).toMatchObject(portfolioOf(raw, span));
    return data;
  }

  await setClock(service, eveningOf(`${YEAR}-01-01`));
  await company.addPlans();
  const months: [first: string, last: string][] = [];
  for (let day = 0; company.date(day) <= `${YEAR}-12-31`; day++) {
    const today = company.date(day);
    await company.live(day);
    if (isMeetingDay(day)) await expectThePolicyToHold(get, today, company.graceFrom);
    if (!company.date(day + 1).endsWith('-01')) continue;

    const first = `${today.slice(0, 8)}01`;
    months.push([first, today]);
    const { data: proof } = await get(`/reports/proof?date=${today}`, proofs);
    expect(proof.checks.filter(({ holds }: { holds: boolean }) => !holds)).toEqual([]);
    expect(proof).toMatchObject({ holds: true, day: { holds: true } });
    const { payments, creditMoves, terms } = company;
    const raw = { ...(await readAccounts(get)), payments, creditMoves, terms };
    const { outstanding, par30 } = await compareSummary(raw, first, today, today);
    report(
      `${today}: ${company.contracts.length} accounts, ${payments.length} payments, ${seconds()} s; ` +
        `verify clean in ${secondsOf(proofs.at(-1))}; the summary agrees: outstanding ${outstanding}, ` +
        `PAR30 ${par30.ratio}`,
    );
  }

  // The end of the year: from here on, all data but the earlier schedules comes from the service, not from memory.
  const lastDay = `${YEAR}-12-31`;
  report(`reading everything back at ${seconds()} s`);
  const raw = { ...(await readPortfolio((path) => get(path))), terms: company.terms };
  expect(differences(company.payments, raw.payments as readonly SentPayment[])).toEqual([]);
  expect(raw.creditMoves.map(pickMove).sort()).toEqual(company.creditMoves.map(pickMove).sort());
  const paid = company.paidByAccount();
  const shown = raw.accounts as readonly (RawAccount & { paid: number })[];
  const wrong = shown.filter((account) => hundredths(account.paid) !== (paid.get(account.id) ?? 0n));
  expect(wrong.map((account) => `${account.id}: ${account.paid}`)).toEqual([]);
  for (const [first, last] of months) await compareSummary(raw, first, last, lastDay);
  await compareSummary(raw, `${YEAR}-01-01`, lastDay, lastDay);

  const asked = performance.now();
  const verify = await runToEnd([process.execPath, 'dist/cli/verify.js'], { DATABASE_URL: url });
  const verifySeconds = secondsOf(performance.now() - asked);
  expect(verify, verify.stdout).toMatchObject({ status: 0, stderr: '' });
  expect(verify.stdout).toMatch(/All \d+ checks pass/);

  const statuses = tally(raw.accounts.map(({ status }) => status));
  const moves = [...raw.moves.values()].flat() as (RawMove & { cause: string | null })[];
  const causes = tally(moves.flatMap(({ to, cause }) => (cause === null ? [] : `made ${to} for ${cause}`)));
  const money = company.payments.reduce((sum, payment) => sum + hundredths(payment.amount), 0n);
  const share = (100 * company.changed.size) / raw.accounts.length;
  report(`the plans of ${company.changed.size} accounts were changed (${share.toFixed(1)} %)`);
  report(`done: ${said(company.counts)}; by the policy: ${said(causes)}; at the end: ${said(statuses)}`);
  report(
    `a year in ${seconds()} s: ${raw.accounts.length} accounts, ${raw.payments.length} payments of ` +
      `${units(money)} in all; verify at 12 month ends clean, the slowest ${secondsOf(Math.max(...proofs))}, ` +
      `the command ${verifySeconds}; ${summaries.length} summaries, the slowest ` +
      `${secondsOf(Math.max(...summaries))}; differences 0`,
  );
  await expectTheSameAfterMove(
    { service, token, url },
    {
      moment: `${lastDay}T17:10:00Z`,
      // An export has the present terms of a changed plan. The months before have the terms of their time.
      periods: [[`${YEAR}-01-01`, lastDay]],
      accountIds: raw.accounts.map(({ id }) => id).filter((id) => !company.changed.has(id)),
    },
  );
  // The year must contain every case below. A small company does not have all of them.
  if (ACCOUNTS < 500) return;
  const kinds = ['by hand', 'mistyped', 'assigned', 're-assigned', 'reversed', 'cancelled', 'written_off'];
  const changes = ['deferral', 'revision', 'discount', 'price_correction', 'price_rise', 'undo'];
  for (const kind of [
    ...kinds,
    ...changes,
    'credit refunded',
    'credit transferred',
    'notifications repeated',
  ]) {
    expect(company.counts[kind], kind).toBeGreaterThan(0);
  }
  for (const status of ['active', 'suspended', 'completed', 'written_off', 'cancelled']) {
    expect(statuses[status], status).toBeGreaterThan(0);
  }
  for (const cause of ['made suspended for non_payment', 'made active for payment']) {
    expect(causes[cause], cause).toBeGreaterThan(0);
  }
});

function getter({ origin }: RunningService, token: string) {
  return async (path: string, times: number[] = []) => {
    const { status, body, ms } = await send(origin, 'GET', `/api${path}`, { token });
    expect(status, `${path} ${body}`).toBe(200);
    times.push(ms);
    return JSON.parse(body);
  };
}

/** The accounts and all their status changes, as the API shows them. Company does not know the changes that the system made. */
async function readAccounts(
  get: ReturnType<typeof getter>,
): Promise<Pick<RawPortfolio, 'accounts' | 'moves'>> {
  const accounts = await readAll<RawAccount>(get, '/accounts');
  const moves = await inParallel(READERS, accounts, ({ id }) =>
    readAll<RawMove>(get, `/accounts/${id}/history`),
  );
  return { accounts, moves: new Map(accounts.map(({ id }, at) => [id, moves[at] ?? []])) };
}

/**
 * Expects that no account of a plan with autoSuspend is active beyond its days of grace, and that no account that the policy
 * suspended is within them. The days of grace start again on the day on which staff make an account active, or undo a change of its plan.
 */
async function expectThePolicyToHold(
  get: ReturnType<typeof getter>,
  today: string,
  graceFrom: ReadonlyMap<number, string>,
): Promise<void> {
  const { data: plans } = await get('/payplans?limit=100');
  const wrong: string[] = [];
  for (const { id, graceDays } of plans.filter((plan: { autoSuspend: boolean }) => plan.autoSuspend)) {
    const ofPlan = (status: string, comparison: 'gt' | 'lte') =>
      readAll<RawAccount>(get, '/accounts', {
        status,
        'filter[payplanId]': String(id),
        [`filter[daysPastDue][${comparison}]`]: String(graceDays),
      });
    const historyOf = (account: RawAccount) =>
      readAll<RawMove & { actor: string; cause: string | null }>(get, `/accounts/${account.id}/history`);
    for (const account of await ofPlan('active', 'gt')) {
      const reprieve = (await historyOf(account)).findLast(
        ({ from, to, actor }) => from !== null && to === 'active' && actor !== 'system',
      );
      const since = [reprieve?.date, graceFrom.get(account.id)]
        .filter((date) => date !== undefined)
        .sort()
        .at(-1);
      if (!since || daysFrom(since, today) > graceDays)
        wrong.push(`account ${account.id} is active, more than ${graceDays} days past due`);
    }
    for (const account of await ofPlan('suspended', 'lte')) {
      const last = (await historyOf(account)).at(-1);
      if (last?.cause === 'non_payment')
        wrong.push(`account ${account.id} is suspended, at most ${graceDays} days past due`);
    }
  }
  expect(wrong, today).toEqual([]);
}

const daysFrom = (first: string, last: string) => (Date.parse(last) - Date.parse(first)) / 86_400_000;

const pickMove = ({ accountId, toAccountId, valueDate, amount }: RawPortfolio['creditMoves'][number]) =>
  `${valueDate} ${accountId} ${toAccountId} ${amount}`;

/** Compares the sent payments with the shown ones. @returns a line for each difference. */
function differences(sent: readonly SentPayment[], shown: readonly SentPayment[]): string[] {
  const line = ({ id, accountId, status, paymentDate, amount }: SentPayment) =>
    `${id}: ${amount} on ${paymentDate}, ${status}, account ${status === 'unmatched' ? 'none' : accountId}`;
  const expected = new Set(sent.map(line));
  const found = new Set(shown.map(line));
  return [
    ...[...expected].filter((one) => !found.has(one)).map((one) => `sent and not shown: ${one}`),
    ...[...found].filter((one) => !expected.has(one)).map((one) => `shown and not sent: ${one}`),
    ...(sent.length === shown.length ? [] : [`${sent.length} sent, ${shown.length} shown`]),
  ];
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function said(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
}

function secondsOf(ms = 0): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
