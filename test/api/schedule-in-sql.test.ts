import fc from 'fast-check';
import { type RawBuilder, sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { balanceOf } from '../../src/accounts/ledger/money-on-account-rules.ts';
import type { AccountRow } from '../../src/accounts/ledger/rules.ts';
import {
  chargesOf,
  daysPastDue,
  dueBy,
  hasEqualInstalments,
  isBeyondGrace as isBeyondGraceInRules,
  lastDayOfGrace,
  nextItem,
  position,
  rhythmOf,
  runColumns,
  scheduleItems,
  termsOf,
} from '../../src/accounts/schedule/rules.ts';
import {
  arrearsOn,
  compareDaysPastDue,
  daysPastDueOn,
  depositDueBy,
  instalmentsDueBy,
  isBeyondGrace,
  isLate,
  isPastDue,
  LAST_DAY_OF_GRACE,
  nextDueDateWith,
  PAID_UNTIL,
  paidToInstalments,
} from '../../src/accounts/schedule/store.ts';
import { accountColumns, BALANCE, SELECT_SHOWN, type ShownAccountRow } from '../../src/accounts/store.ts';
import { dateInRun, type Run } from '../../src/catalogue/pay-plans/rules.ts';
import { FREQUENCIES } from '../../src/catalogue/pay-plans/schema.ts';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import { maxMinor, minMinor } from '../../src/core/values/money.ts';
import { newCustomer, useService } from '../support/harness.ts';
import { CLOSED, STATUSES } from '../support/status-model.ts';

/** Compares the SQL of schedule/store.ts, and of the balance, with the rules that it repeats, for random accounts. */
const service = useService();

const ACCOUNTS = 4_000;
const DAYS = ['2024-02-29', '2025-08-31', '2026-03-30', '2026-12-01'] as PlainDate[];
const COMPARED_DAYS = [-1, 0, 1, 14];

/** Runs that follow each other, the first on or after the activation date. */
const runsArb: fc.Arbitrary<(Omit<Run, 'anchor'> & { gap: number })[]> = fc.array(
  fc.record({
    gap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 60 })),
    unit: fc.constantFrom('day' as const, 'month' as const),
    every: fc.integer({ min: 1, max: 12 }),
    place: fc.integer({ min: 0, max: 3 }),
    count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 20 })),
    amountMinor: fc.bigInt({ min: 1n, max: 900n }),
  }),
  { minLength: 1, maxLength: 6 },
);

function runsAfter(
  activationDate: PlainDate,
  gaps: readonly (Omit<Run, 'anchor'> & { gap: number })[],
): Run[] {
  let last = addDays(activationDate, -1);
  return gaps.map(({ gap, ...rhythm }) => {
    const run: Run = { anchor: addDays(last, gap), ...rhythm };
    last = dateInRun(run, run.count - 1);
    return run;
  });
}

const account = fc
  .record({
    runs: fc.option(runsArb),
    status: fc.constantFrom(...STATUSES),
    frequency: fc.constantFrom(...FREQUENCIES),
    deposit_minor: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5_000 })),
    instalment_minor: fc.integer({ min: 1, max: 900 }),
    instalment_count: fc.integer({ min: 1, max: 60 }),
    grace_days: fc.integer({ min: 0, max: 20 }),
    activation_date: fc.tuple(fc.constantFrom(...DAYS), fc.integer({ min: -500, max: 40 })),
    reprieved: fc.option(fc.integer({ min: -5, max: 90 })),
    paidPermille: fc.integer({ min: -100, max: 1_100 }),
    paidExactly: fc.option(fc.integer({ min: 0, max: 60 })),
  })
  .map(({ activation_date: [day, days], reprieved, paidPermille, paidExactly, runs: gaps, ...equal }) => {
    const activation_date = addDays(day, days);
    const depositMinor = BigInt(equal.deposit_minor);
    const runs = gaps?.length ? runsAfter(activation_date, gaps) : undefined;
    const terms = {
      ...equal,
      ...runColumns({ runs }),
      ...(runs && {
        instalment_minor: Number(runs[0]?.amountMinor),
        instalment_count: runs.reduce((sum, { count }) => sum + count, 0),
      }),
    };
    const total = runs
      ? Number(runs.reduce((sum, { count, amountMinor }) => sum + BigInt(count) * amountMinor, depositMinor))
      : terms.deposit_minor + terms.instalment_minor * terms.instalment_count;
    const paid_minor =
      paidExactly === null
        ? Math.trunc((total * paidPermille) / 1_000)
        : terms.deposit_minor + paidExactly * terms.instalment_minor;
    const reprieved_on = reprieved === null ? null : addDays(activation_date, reprieved);
    return { ...terms, activation_date, reprieved_on, paid_minor };
  });

beforeAll(async () => {
  const { id } = await newCustomer(service);
  const rows = fc.sample(account, ACCOUNTS);
  await sql`
    insert into accounts (customer_id, product_id, payplan_id, status, frequency, deposit_minor, instalment_minor,
      instalment_count, grace_days, activation_date, reprieved_on, paid_minor, receivable_minor, run_anchor, run_unit, run_every,
      run_place, run_count, run_amount_minor)
    select ${id}, 1, 1, status, frequency, deposit_minor, instalment_minor, instalment_count, grace_days, activation_date,
      reprieved_on, paid_minor, 0, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor
    from json_populate_recordset(null::accounts, ${JSON.stringify(rows)}::json)`.execute(service.context.db);
});

/** The accounts, each with the values of some SQL. */
async function read<T>(columns: { [K in keyof T]: RawBuilder<unknown> }): Promise<(AccountRow & T)[]> {
  const selected = Object.entries<RawBuilder<unknown>>(columns).map(
    ([name, value]) => sql`${value} as ${sql.id(name)}`,
  );
  const { rows } = await sql<AccountRow & T>`
    select a.*, ${sql.join(selected)} from accounts a order by a.id`.execute(service.context.db);
  expect(rows).toHaveLength(ACCOUNTS);
  return rows;
}

function standingOf({ status, paid_minor }: Pick<AccountRow, 'status' | 'paid_minor'>, today: PlainDate) {
  return { paidMinor: BigInt(paid_minor), today, closed: CLOSED.includes(status), activated: true };
}

describe.each(DAYS)('the SQL of the schedule on %s', (day) => {
  it('has the sums, the lateness and the grace of the rules', async () => {
    const rows = await read<{
      deposit: number;
      instalments: number;
      arrears: number;
      days: number;
      pastDue: boolean | null;
      late: boolean | null;
      beyondGrace: boolean;
    }>({
      deposit: depositDueBy(day),
      instalments: instalmentsDueBy(day),
      arrears: arrearsOn(day),
      days: daysPastDueOn(day),
      pastDue: isPastDue(day),
      late: isLate(day),
      beyondGrace: isBeyondGrace(day),
    });
    const seen = new Set<string>();
    const byTheRules = rows.map((row) => {
      const terms = termsOf(row);
      const { paymentState, arrearsMinor, daysPastDue: days } = position(terms, standingOf(row, day));
      const { depositMinor } = chargesOf(terms, day);
      seen.add(paymentState);
      return {
        ...{ deposit: Number(depositMinor), instalments: Number(dueBy(terms, day) - depositMinor) },
        ...{ arrears: Number(arrearsMinor), days, daysOfDate: days },
        ...{ pastDue: days > 0, late: paymentState === 'late', beyondGrace: isBeyondGraceInRules(row, day) },
      };
    });
    // One comparison of all, because thousands of calls of `expect` take seconds.
    const bySql = rows.map(({ deposit, instalments, arrears, days, pastDue, late, beyondGrace, ...row }) => ({
      ...{ deposit, instalments, arrears, days, daysOfDate: daysPastDue(row.next_due_date, day) },
      ...{ pastDue: pastDue === true, late: late === true, beyondGrace },
    }));
    expect(bySql).toEqual(byTheRules);
    // If a state was not reached, the test covers too little.
    expect([...seen].sort()).toEqual([
      'closed',
      'current',
      'in_grace',
      'late',
      'not_due',
      'paid_ahead',
      'paid_off',
    ]);
  });

  it('compares days past due as the number itself is compared', async () => {
    const operators = ['gt', 'gte', 'lt', 'lte', 'eq', 'ne'] as const;
    const isHolding = {
      gt: (days: number, n: number) => days > n,
      gte: (days: number, n: number) => days >= n,
      lt: (days: number, n: number) => days < n,
      lte: (days: number, n: number) => days <= n,
      eq: (days: number, n: number) => days === n,
      ne: (days: number, n: number) => days !== n,
    };
    const { computed } = accountColumns(day);
    for (const n of COMPARED_DAYS) {
      const conditions = operators.map((operator) => {
        const filter = { operator, values: [String(n)] };
        return [operator, compareDaysPastDue(filter, day, sql`a.status <> 'pending'`)] as const;
      });
      const rows = await read<Record<(typeof operators)[number] | 'days', unknown>>({
        days: sql`${computed?.daysPastDue}`,
        ...Object.fromEntries(conditions),
      } as never);
      const wrong = rows.filter((row) => {
        const activated = row.status !== 'pending';
        const days = position(termsOf(row), { ...standingOf(row, day), activated }).daysPastDue;
        const isRight = operators.every(
          (operator) => (row[operator] === true) === isHolding[operator](days, n),
        );
        return row.days !== days || !isRight;
      });
      expect(wrong, `days past due compared with ${n}`).toEqual([]);
    }
  });
});

describe('the SQL of an account', () => {
  it('has the next due date, the last day of grace, the day paid until and the balance of the rules', async () => {
    const other = sql`(a.paid_minor * 3 / 4)`;
    const rows = await read<{
      last: PlainDate | null;
      until: PlainDate | null;
      next: PlainDate | null;
      nextWithOther: PlainDate | null;
      ofInstalments: number;
      balance: number;
      other: number;
    }>({
      last: LAST_DAY_OF_GRACE,
      until: sql.raw(PAID_UNTIL),
      next: nextDueDateWith(sql`a.paid_minor`),
      nextWithOther: nextDueDateWith(other),
      ofInstalments: paidToInstalments(sql`a.paid_minor`),
      balance: sql.raw(BALANCE),
      other,
    });
    const byTheRules = rows.map((row) => {
      const terms = termsOf(row);
      const { chargedMinor: totalMinor, depositMinor } = chargesOf(terms);
      const paidMinor = BigInt(row.paid_minor);
      const { nextDueDate, paidUntil } = position(terms, standingOf(row, DAYS[0] as PlainDate));
      return {
        next_due_date: nextDueDate,
        last: row.next_due_date === null ? row.last : lastDayOfGrace(row),
        total_minor: Number(totalMinor),
        until: paidUntil,
        next: nextItem(terms, paidMinor)?.date ?? null,
        nextWithOther: nextItem(terms, BigInt(row.other))?.date ?? null,
        ofInstalments: Number(maxMinor(minMinor(paidMinor, totalMinor) - depositMinor, 0n)),
        balance: Number(balanceOf({ status: row.status, totalMinor, paidMinor })),
      };
    });
    expect(rows).toEqual(byTheRules.map((row) => expect.objectContaining(row)));
  });
});

describe('the SQL of accounts without runs', () => {
  it('is as that of all accounts', async () => {
    const day = '2025-08-31' as PlainDate;
    const other = sql`(a.paid_minor * 3 / 4)`;
    const rows = await read<Record<'due' | 'dueWithoutRuns' | 'next' | 'nextWithoutRuns', unknown>>({
      ...{ due: instalmentsDueBy(day), dueWithoutRuns: instalmentsDueBy(day, false) },
      ...{ next: nextDueDateWith(other), nextWithoutRuns: nextDueDateWith(other, false) },
    });
    const equal = rows.filter(({ run_anchor }) => run_anchor === null);
    expect(equal.length).toBeGreaterThan(100);
    expect(equal.map(({ dueWithoutRuns, nextWithoutRuns }) => [dueWithoutRuns, nextWithoutRuns])).toEqual(
      equal.map(({ due, next }) => [due, next]),
    );
  });
});

describe('the terms of an account in a list', () => {
  it('have the items and the rhythm of the account', async () => {
    const full = await read<object>({ one: sql`1` });
    const { rows: shown } = await sql<ShownAccountRow>`${SELECT_SHOWN} order by a.id`.execute(
      service.context.db,
    );
    const answers = (rows: ShownAccountRow[]) =>
      rows.map((row) => {
        const terms = termsOf(row);
        const items = scheduleItems(terms, { ...standingOf(row, '2025-08-31' as PlainDate) });
        return { items, rhythm: rhythmOf(terms), isEqual: hasEqualInstalments(terms) };
      });
    expect(answers(shown)).toEqual(answers(full));
    expect(shown.filter((row) => row.run_anchor && !row.run_count).length).toBeGreaterThan(100);
    expect(shown.filter((row) => row.run_count).length).toBeGreaterThan(100);
  });
});
