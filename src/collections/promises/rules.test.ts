import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { checkPromise, JUDGED_STATES, limitsOf, PROMISE_STATES, promiseLimitsOf } from './rules.ts';

const day = (text: string) => text as PlainDate;
const TODAY = day('2026-11-18');

describe('the amount that a customer can promise', () => {
  it.each<[string, { instalment: bigint; arrears: bigint; balance: bigint }, minimum: bigint]>([
    [
      'the arrears, if they are below an instalment',
      { instalment: 400n, arrears: 150n, balance: 900n },
      150n,
    ],
    ['an instalment, if more is late', { instalment: 400n, arrears: 800n, balance: 900n }, 400n],
    ['an instalment, if nothing is late', { instalment: 400n, arrears: 0n, balance: 900n }, 400n],
    ['the balance, if it is below an instalment', { instalment: 400n, arrears: 0n, balance: 150n }, 150n],
    ['the balance of a plan without instalments', { instalment: 0n, arrears: 0n, balance: 900n }, 900n],
    ['the balance of a late plan without instalments', { instalment: 0n, arrears: 50n, balance: 900n }, 900n],
  ])('is at least %s, and at most the balance', (_, { instalment, arrears, balance }, minimumMinor) => {
    const account = { instalmentMinor: instalment, arrearsMinor: arrears, balanceMinor: balance };
    expect(limitsOf(account, TODAY)).toEqual({
      minimumMinor,
      maximumMinor: balance,
      from: TODAY,
      until: '2026-12-18',
    });
  });
});

describe('what a customer can promise for an account', () => {
  // 2,000 and four weekly instalments of 400 from 19 October on: 3,600 are due on 16 November.
  const limits = (fields: Parameters<typeof accountRow>[0], date = TODAY) =>
    promiseLimitsOf(accountRow(fields), date);

  it('follows from its arrears and its balance on the day', () => {
    expect(limits({ paid_minor: 3_350 })).toMatchObject({ minimumMinor: 250n, maximumMinor: 250n });
    expect(limits({ paid_minor: 2_300 }, day('2026-10-26'))).toMatchObject({
      minimumMinor: 100n,
      maximumMinor: 1_300n,
      from: '2026-10-26',
    });
    // An instalment, because nothing is late on this day.
    expect(limits({ paid_minor: 2_400 }, day('2026-10-26'))).toMatchObject({ minimumMinor: 400n });
  });

  it('begins at the amount of the first instalment that is not fully paid', () => {
    const start = day('2026-11-02');
    const runs = {
      ...{ activation_date: start, instalment_minor: 700, instalment_count: 3, total_minor: 3_750 },
      run_anchor: [start, start, start],
      run_unit: ['month', 'month', 'month'],
      run_every: [1, 1, 1],
      run_place: [1, 2, 3],
      run_count: [1, 1, 1],
      run_amount_minor: [700, 150, 900],
    };
    const minimum = (paid_minor: number, date = start) => limits({ ...runs, paid_minor }, date)?.minimumMinor;
    // While the deposit of 2,000 is not paid, the first instalment counts, or what is left of the deposit.
    expect([0, 1_999].map((paid) => minimum(paid))).toEqual([700n, 1n]);
    expect([2_000, 2_699].map((paid) => minimum(paid))).toEqual([700n, 700n]);
    expect([2_700, 2_849].map((paid) => minimum(paid))).toEqual([150n, 150n]);
    expect([2_850, 3_700].map((paid) => minimum(paid))).toEqual([900n, 50n]);
    expect(minimum(2_700, day('2027-02-02'))).toBe(150n);
  });

  it('is nothing for a paid account', () => {
    expect(limits({ paid_minor: 3_600 })).toBeUndefined();
    expect(limits({ paid_minor: 3_599 })).toMatchObject({ minimumMinor: 1n, maximumMinor: 1n });
  });

  it.each<[AccountStatus, boolean]>([
    ['pending', false],
    ['active', true],
    ['suspended', true],
    ['defaulted', true],
    ['repossessed', false],
    ['completed', false],
    ['written_off', false],
    ['cancelled', false],
  ])('depends on whether payments are expected: an account with the status %s, %s', (status, can) => {
    expect(limits({ status }) !== undefined).toBe(can);
  });
});

describe('a promise', () => {
  const limits = {
    minimumMinor: 400n,
    maximumMinor: 900n,
    from: day('2026-11-18'),
    until: day('2026-12-18'),
  };
  const check = (amountMinor: bigint, date: string) =>
    checkPromise({ amountMinor, date: day(date) }, limits, (minor) => `KES ${minor}`);
  const refused = (path: string, ...texts: string[]) =>
    expect.objectContaining({
      code: 'VALIDATION_ERROR',
      details: {
        fields: [{ path, message: expect.stringMatching(new RegExp(texts.join('.*'))) }],
      },
    });

  it('is accepted within all limits', () => {
    for (const amountMinor of [400n, 650n, 900n])
      for (const date of ['2026-11-18', '2026-12-01', '2026-12-18'])
        expect(() => check(amountMinor, date)).not.toThrow();
  });

  it.each([399n, 901n])('of %i is refused with the limits of the amount', (amountMinor) => {
    expect(() => check(amountMinor, '2026-12-01')).toThrow(refused('promise.amount', 'KES 400', 'KES 900'));
  });

  it.each(['2026-11-17', '2026-12-19'])('for %s is refused with the limits of the date', (date) => {
    expect(() => check(650n, date)).toThrow(refused('promise.date', '2026-11-18', '2026-12-18'));
  });

  it('is open until it is judged', () => {
    expect(PROMISE_STATES).toEqual(['open', ...JUDGED_STATES]);
    expect(JUDGED_STATES).toEqual(['kept', 'partly_kept', 'broken', 'void', 'replaced']);
  });
});
