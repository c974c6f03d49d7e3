import { beforeEach, describe, expect, it } from 'vitest';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  pay,
  runJobs,
  setToday,
  startTestService,
  type TestService,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

/** What a change of a plan must not hide: the lateness by the original terms, in the account, in lists and in the summary. */
type Data = Answer['body'];
const DAY = '2026-11-02' as PlainDate;
let service: TestService;
/** The figures of a summary are those of all accounts of a test. */
beforeEach(async () => {
  const started = await startTestService();
  service = started.service;
  return started.close;
});
const call: TestService['call'] = (...given) => service.call(...given);

async function change(id: number, body: object): Promise<Data> {
  const path = `/accounts/${id}/plan-changes`;
  const { version, paid } = await dataOf(call('POST', path, body));
  return dataOf(call('POST', path, { reason: 'a test', ...body, confirm: { version, paid } }), 201);
}

const summary = (day: PlainDate): Promise<Data> =>
  dataOf(call('GET', `/reports/accounts/summary?startDate=2026-11-01&endDate=${day}`));

const shares = ({ par30, byOriginalTerms, withRestructured }: Data) =>
  [par30, byOriginalTerms.par30, withRestructured.par30].map(({ numerator, count }) => [numerator, count]);

const later = (days: number) => addDays(DAY, days);

/** The weekly demo plan: a deposit of 2,000, and 52 instalments of 400 from 9 November on. The deposit is paid. */
async function paidDeposit(): Promise<number> {
  const { id } = await newAccount(service);
  await pay(service, id, 2_000);
  return id;
}

const deferral = { kind: 'deferral', periods: 20, arrears: 'behind' };

describe('the lateness by the original terms', () => {
  it('stays when the arrears are moved, until they are paid or the change is undone', async () => {
    await setToday(service, DAY);
    const id = await paidDeposit();
    const other = await paidDeposit();
    await setToday(service, later(42));
    await runJobs(service);
    const late = (await accountNow(service, id)).daysPastDue;
    expect(late).toBe(35);
    expect((await accountNow(service, id)).originalTerms).toBeNull();
    expect(shares(await summary(later(42)))).toEqual([
      [41_600, 2],
      [41_600, 2],
      [41_600, 2],
    ]);

    await change(id, { ...deferral, from: later(43) });
    expect(await accountNow(service, id)).toMatchObject({
      daysPastDue: 0,
      arrears: 0,
      restructured: { kind: 'deferral', date: later(42) },
      originalTerms: { nextDueDate: later(7), daysPastDue: 35 },
    });
    expect(shares(await summary(later(42)))).toEqual([
      [20_800, 1],
      [41_600, 2],
      [41_600, 2],
    ]);
    const found = await dataOf(call('GET', '/accounts?filter[largestDaysPastDue][gt]=30&sort=id:asc'));
    expect(found.map((one: Data) => one.id)).toEqual([id, other]);
    const changed = await dataOf(call('GET', '/accounts?filter[restructuredDate][isnull]=false'));
    expect(changed.map((one: Data) => one.id)).toEqual([id]);

    await pay(service, id, 800);
    expect((await accountNow(service, id)).originalTerms).toEqual({
      nextDueDate: later(21),
      daysPastDue: 21,
    });
    expect(shares(await summary(later(42)))).toEqual([
      [20_800, 1],
      [20_800, 1],
      [40_800, 2],
    ]);
    // The days before the change are as they were.
    expect(shares(await summary(later(41)))).toEqual([
      [41_600, 2],
      [41_600, 2],
      [41_600, 2],
    ]);

    await setToday(service, later(43));
    const undoneLater = shares(await summary(later(42)));
    await change(id, { kind: 'undo' });
    // Nor does an undo change the days before it.
    expect(shares(await summary(later(42)))).toEqual(undoneLater);
    expect(await accountNow(service, id)).toMatchObject({
      originalTerms: null,
      restructured: null,
      daysPastDue: 22,
    });

    await setToday(service, later(44));
    const nextDay = `startDate=${later(44)}&endDate=${later(44)}`;
    const sinceThen = await dataOf(call('GET', `/reports/accounts/summary?${nextDay}`));
    expect(shares(sinceThen)).toEqual([
      [20_800, 1],
      [20_800, 1],
      [20_800, 1],
    ]);
  });

  it('is capped at the present total, and gone when all is paid', async () => {
    await setToday(service, later(50));
    const id = await paidDeposit();
    await change(id, { kind: 'discount', amount: 20_000 });
    expect((await accountNow(service, id)).originalTerms).toEqual({ nextDueDate: later(57), daysPastDue: 0 });
    await pay(service, id, 800);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', originalTerms: null });
  });

  it('is the basis of rates that a forgiven balance does not raise, but a corrected price does', async () => {
    await setToday(service, later(400));
    const id = await paidDeposit();
    await setToday(service, later(800));
    const rates = async () => {
      const { repaymentRate, byOriginalTerms } = await summary(later(800));
      return [repaymentRate.denominator, byOriginalTerms.repaymentRate.denominator];
    };
    const [due = 0, original = 0] = await rates();
    await change(id, { kind: 'discount', amount: 10_000 });
    expect(await rates()).toEqual([due - 10_000, original]);
    await change(id, { kind: 'price_correction', amount: 800 });
    expect(await rates()).toEqual([due - 10_800, original - 800]);
    await change(id, { kind: 'undo' });
    await change(id, { kind: 'undo' });
    expect(await rates()).toEqual([due, original]);
  });

  it('includes price rises', async () => {
    await setToday(service, later(60));
    const id = await paidDeposit();
    const rise = { kind: 'price_rise', amount: 400, consent: 'agreed on the phone' };
    await change(id, rise);
    expect((await accountNow(service, id)).originalTerms).toBeNull();
    await change(id, { kind: 'deferral', periods: 1, from: later(61) });
    await change(id, rise);
    await pay(service, id, 53 * 400);
    const last = await dataOf(call('GET', `/accounts/${id}/schedule`));
    expect(await accountNow(service, id)).toMatchObject({
      nextDueDate: last.items.at(-1).dueDate,
      // By the original terms, the second rise follows the first one.
      originalTerms: { nextDueDate: last.items.at(-1).dueDate },
    });
  });
});
