import { describe, expect, it } from 'vitest';
import type { AccountStatus } from '../core/database/tables.ts';
import { AppError } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { checkPeriod, checkSales, checkSoldAccounts, commissionOf, hasEnded, ruleFor } from './rules.ts';
import type { Sale } from './schema.ts';
import { canRecalculate, checkCommissionMove, MONTH_STATUSES, statusBefore } from './status-rules.ts';

const PERIOD = '2026-05';
const day = (text: string) => text as PlainDate;

function refusalOf(check: () => void): AppError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** The paths of the fields that a check refuses. Undefined if it refuses nothing. */
function wrong(check: () => void): string[] | undefined {
  const fields = refusalOf(check)?.details.fields as { path: string }[] | undefined;
  return fields?.map(({ path }) => path);
}

describe('the period of a commission', () => {
  it.each([
    ['2026-04', undefined],
    ['2026-05', undefined],
    ['2026-06', ['period']],
    ['2027-01', ['period']],
  ])('is not after the present month: %s', (period, problems) => {
    expect(wrong(() => checkPeriod(period, day('2026-05-31')))).toEqual(problems);
    expect(wrong(() => checkPeriod(period, day('2026-05-01')))).toEqual(problems);
  });

  it('is refused with the name of the present month', () => {
    const refusal = refusalOf(() => checkPeriod('2026-06', day('2026-05-31')));
    expect(refusal?.message).toContain('must not be after 2026-05, the present month');
  });
});

describe('the sales of a period', () => {
  const refused = (...sales: Sale[]) => wrong(() => checkSales(sales, PERIOD));

  it.each<[string, Sale]>([
    ['an account', { accountId: 1 }],
    ['an account with the quantity 1', { accountId: 1, quantity: 1 }],
    ['a part of the sale of an account', { accountId: 1, shareBasisPoints: 5_000 }],
    ['several pieces of a product', { productId: 1, quantity: 3 }],
    ['a product with an amount', { productId: 1, amount: 100 }],
    ['a sale on the first day', { productId: 1, saleDate: day('2026-05-01') }],
    ['a sale on the last day', { accountId: 1, saleDate: day('2026-05-31') }],
  ])('can contain %s', (_, sale) => {
    expect(refused(sale)).toBeUndefined();
  });

  it.each<[string, Sale, string]>([
    ['neither account nor product', { amount: 5 }, ''],
    ['both account and product', { accountId: 1, productId: 1 }, ''],
    ['a share of a product', { productId: 1, shareBasisPoints: 5_000 }, '.shareBasisPoints'],
    ['two pieces of an account', { accountId: 1, quantity: 2 }, '.quantity'],
    ['a date before the period', { productId: 1, saleDate: day('2026-04-30') }, '.saleDate'],
    ['a date after the period', { accountId: 1, saleDate: day('2026-06-01') }, '.saleDate'],
  ])('cannot contain a sale with %s', (_, sale, field) => {
    expect(refused({ productId: 9 }, sale)).toEqual([`salesData[1]${field}`]);
  });

  it('contain an account once, and a product any number of times', () => {
    expect(refused({ accountId: 1 }, { accountId: 2 }, { accountId: 1 })).toEqual(['salesData[2].accountId']);
    expect(refused({ productId: 1 }, { productId: 1 })).toBeUndefined();
  });

  it('are refused with all problems at once', () => {
    expect(refused({ amount: 5 }, { productId: 1, saleDate: day('2026-06-01') })).toEqual([
      'salesData[0]',
      'salesData[1].saleDate',
    ]);
  });
});

describe('a month', () => {
  it.each([
    ['2026-02', '2026-02-28', false],
    ['2026-02', '2026-03-01', true],
    ['2028-02', '2028-02-29', false],
    ['2026-12', '2026-12-31', false],
    ['2026-12', '2027-01-01', true],
    ['2026-12', '2026-11-30', false],
  ])('%s has ended on %s: %s', (period, today, expected) => {
    expect(hasEnded(period, day(today))).toBe(expected);
  });
});

describe('a sold account', () => {
  function refused(
    status: AccountStatus,
    activatedOn: string,
    sale: Sale = { accountId: 7 },
    includesEarlier = false,
  ) {
    const account = { status, activation_date: day(activatedOn) };
    const accounts = new Map([[7, account]]);
    return wrong(() => checkSoldAccounts([{ productId: 1 }, sale], accounts, PERIOD, includesEarlier));
  }

  it('earns commission in the month of its activation', () => {
    expect(refused('active', '2026-05-31')).toBeUndefined();
    expect(refused('active', '2026-06-01')).toEqual(['salesData[1].saleDate']);
  });

  it('earns commission in a later month, if earlier sales are included', () => {
    const sale = { accountId: 7 };
    expect(refused('active', '2026-04-30', sale)).toEqual(['salesData[1].saleDate']);
    expect(refused('active', '2026-04-30', sale, true)).toBeUndefined();
    expect(refused('active', '2026-06-01', sale, true)).toEqual(['salesData[1].saleDate']);
    expect(refused('cancelled', '2026-04-30', sale, true)).toEqual(['salesData[1].accountId']);
  });

  it('earns commission in the month of the sale date, if one is given', () => {
    expect(refused('active', '2026-06-01', { accountId: 7, saleDate: day('2026-05-30') })).toBeUndefined();
  });

  it.each<AccountStatus>(['pending', 'cancelled'])('earns no commission while it is %s', (status) => {
    expect(refused(status, '2026-05-31')).toEqual(['salesData[1].accountId']);
    expect(refused(status, '2026-06-01')).toEqual(['salesData[1].accountId', 'salesData[1].saleDate']);
  });
});

describe('the commission of a sale', () => {
  it.each([
    [25n, 200, 10_000, 1n, 'half a cent is rounded up'],
    [24n, 200, 10_000, 0n, 'less than half a cent is rounded down'],
    [2_280_000n, 350, 10_000, 79_800n, 'a whole sale'],
    [2_280_000n, 350, 5_000, 39_900n, 'half a sale'],
    [25n, 200, 5_000, 0n, 'a share is rounded down'],
    [150n, 200, 5_000, 1n, 'a share is a share of the rounded commission'],
    [2_280_000n, 0, 10_000, 0n, 'a rate of 0'],
  ])('of %s at %s, of which the employee has %s, is %s (%s)', (base, rate, share, commission) => {
    expect(commissionOf(base, rate, share)).toBe(commission);
  });

  it('is never exceeded by its shares', () => {
    const parts = [3_333, 3_333, 3_334].map((share) => commissionOf(1_000n, 1_000, share));
    expect(parts).toEqual([33n, 33n, 33n]);
  });

  it('follows the rule of the category, or else the default rule', () => {
    const pumps = { id: 2, rateBasisPoints: 350 };
    const others = { id: 1, rateBasisPoints: 200 };
    const rules = new Map([
      ['', others],
      ['pump', pumps],
    ]);
    expect(ruleFor(rules, 'pump')).toBe(pumps);
    expect(ruleFor(rules, ' pump ')).toBe(pumps);
    expect(ruleFor(rules, 'lamp')).toBe(others);
    expect(ruleFor(new Map([['pump', pumps]]), 'lamp')).toBeUndefined();
  });
});

describe('the status of a commission', () => {
  const STATUSES = ['calculated', 'approved', 'paid'] as const;

  it('changes from calculated to approved, and from approved to paid', () => {
    const moves = STATUSES.flatMap((from) =>
      STATUSES.filter((to) => !refusalOf(() => checkCommissionMove(from, to))).map((to) => `${from} → ${to}`),
    );
    expect(moves).toEqual(['calculated → approved', 'approved → paid']);
  });

  it('says which changes are allowed, if a change is refused', () => {
    const allowed = STATUSES.map((from) => refusalOf(() => checkCommissionMove(from, from))?.details.allowed);
    expect(allowed).toEqual([['approved'], ['paid'], []]);
  });

  it('allows a new calculation until the commission is paid', () => {
    expect(STATUSES.filter(canRecalculate)).toEqual(['calculated', 'approved']);
  });

  it('is approved and paid together with those of the month, one step at a time', () => {
    expect(MONTH_STATUSES.map((to) => [to, statusBefore(to)])).toEqual([
      ['approved', 'calculated'],
      ['paid', 'approved'],
    ]);
  });
});
