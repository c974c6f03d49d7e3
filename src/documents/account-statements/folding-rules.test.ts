import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { scheduleItems, scheduleRuns, type Terms, termsOf } from '../../accounts/schedule/rules.ts';
import { totalMinor } from '../../catalogue/pay-plans/rules.ts';
import { FREQUENCIES } from '../../catalogue/pay-plans/schema.ts';
import { addDays, addMonthsKeepingDay, firstOfMonth, type PlainDate } from '../../core/values/dates.ts';
import { minMinor } from '../../core/values/money.ts';
import { coverRuns, isOut, type MoneyMove, signed } from './allocation-rules.ts';
import { statementDocument } from './document-view.ts';
import { explainDebt } from './explanation-rules.ts';
import { fullLines, type Line, MAX_SHORT_LINES, shortFrom, shortLines } from './folding-rules.ts';
import { quoteOf } from './quote-rules.ts';
import {
  type AccountEvent,
  coverageOf,
  type Row,
  type Statement,
  type StatementPeriod,
  statementOf,
} from './rules.ts';

const day = (text: string) => text as PlainDate;
const START = day('2026-01-31');
const CURRENCY = { code: 'KES', decimals: 2 };

const moneyArb = fc.record({
  days: fc.integer({ min: 0, max: 500 }),
  amountMinor: fc.oneof(fc.constant(60n), fc.bigInt({ min: 1n, max: 500n })),
  reversed: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, fc.constantFrom(0, 3, 40)),
  type: fc.oneof(
    { weight: 30, arbitrary: fc.constant('payment' as const) },
    fc.constantFrom('transfer_in' as const, 'transfer_out' as const, 'refund' as const),
  ),
  paymentMethod: fc.constantFrom('Cash', 'Mobile money'),
});

const termsArb: fc.Arbitrary<Terms> = fc.record({
  depositMinor: fc.constantFrom(0n, 1n, 1_500n),
  instalmentMinor: fc.bigInt({ min: 1n, max: 200n }),
  instalmentCount: fc.constantFrom(1, 24, 52, 365, 1_000),
  frequency: fc.constantFrom('daily' as const, ...FREQUENCIES),
  graceDays: fc.constant(0),
  activationDate: fc.integer({ min: 0, max: 40 }).map((days) => addDays(START, days)),
});

const caseArb = fc.record({
  terms: termsArb,
  money: fc.oneof(
    fc.array(moneyArb, { maxLength: 40 }),
    fc.array(moneyArb, { minLength: 150, maxLength: 300 }),
  ),
  end: fc.option(
    fc.record({ type: fc.constantFrom('cancelled' as const, 'written_off' as const), days: fc.nat(400) }),
    { freq: 4 },
  ),
  from: fc.option(fc.nat(400)),
  to: fc.integer({ min: 0, max: 700 }),
});

type Case = typeof caseArb extends fc.Arbitrary<infer C> ? C : never;

function historyOf({ terms, money, end }: Case) {
  const opened = { type: 'opened' as const, date: terms.activationDate, amountMinor: totalMinor(terms) };
  const events: AccountEvent[] = [{ ...opened, ledgerEventId: 1 }];
  if (end) {
    const date = addDays(terms.activationDate, end.days);
    events.push({ type: end.type, date, amountMinor: 1n, ledgerEventId: 101 });
  }
  const moves = money.map(({ days, reversed, type, paymentMethod, amountMinor }, at): MoneyMove => {
    const date = addDays(START, days);
    const isPayment = type === 'payment';
    const id = at + 1;
    return {
      ...{ type, date, amountMinor, paymentMethod, transactionRef: `R${id}` },
      paymentId: isPayment ? id : null,
      creditMoveId: isPayment ? null : id,
      otherAccountId: type === 'transfer_in' || type === 'transfer_out' ? 9 : null,
      reversedOn: isPayment && reversed !== null ? addDays(date, reversed) : null,
      ledgerEventId: 2 * id,
      reversalEventId: isPayment && reversed !== null ? 1_000 + id : null,
    };
  });
  return { terms, activated: true, events, money: moves };
}

function periodOf({ terms, from, to }: Case): StatementPeriod {
  const first = from === null ? START : addDays(terms.activationDate, from);
  return { from: first, to: addDays(first, to) };
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);
/** 1,234.50 and -0.01 as printed. */
const minorOf = (printed: string) => BigInt(printed.replace(/[,.]/g, '') || '0');

/** Expects that the lines have each row once, and that each balance of a line is that of the rows so far. */
function expectSame(lines: readonly Line[], { opening, rows, closing, totals }: Statement): void {
  const place = new Map(rows.map((row, at) => [row, at]));
  const places = lines.map((line) => line.rows.map((row) => place.get(row) ?? -1));
  expect(places.flat().sort((a, b) => a - b)).toEqual(rows.map((_, at) => at));
  let rowsSoFar = 0;
  let lastSoFar = -1;
  let { dueSoFarMinor, owedInTotalMinor } = opening;
  for (const [at, { rows: own, dueMinor, chargedMinor, paidMinor, after }] of lines.entries()) {
    dueSoFarMinor += dueMinor - paidMinor;
    owedInTotalMinor += chargedMinor - paidMinor;
    rowsSoFar += own.length;
    lastSoFar = Math.max(lastSoFar, ...(places[at] ?? []));
    const kinds = new Set(own.map(({ type }) => type)).size;
    // The lines so far are the first rows of the statement, so that these were balances of the account.
    expect({ kinds, after, lastSoFar }).toEqual({
      kinds: 1,
      after: after && { dueSoFarMinor, owedInTotalMinor },
      lastSoFar: after === null ? lastSoFar : rowsSoFar - 1,
    });
  }
  const dueMinor = sum(lines.map((line) => line.dueMinor));
  const paidMinor = sum(lines.map((line) => line.paidMinor));
  expect([lines.at(-1)?.after ?? opening, { dueSoFarMinor, owedInTotalMinor }, dueMinor, paidMinor]).toEqual([
    ...[closing, closing, totals.dueMinor, totals.paidMinor],
  ]);
}

/** The sums of each month and kind of row. */
function byMonth(rows: readonly Row[]) {
  const sums: Record<string, bigint> = {};
  for (const { date, type, dueMinor, chargedMinor, paidMinor } of rows) {
    const key = `${firstOfMonth(date)} ${type}`;
    sums[key] = (sums[key] ?? 0n) + dueMinor * 1_000_000_007n + chargedMinor * 998_244_353n + paidMinor;
  }
  return sums;
}

describe('the lines of a printed statement', () => {
  it('have each row once, add up like the rows, and have only balances that the account had', () => {
    const reached = { monthly: 0, every: 0, reversed: 0, credit: 0, recovery: 0 };
    fc.assert(
      fc.property(caseArb, (one) => {
        const history = historyOf(one);
        const period = periodOf(one);
        const statement = statementOf(history, period);
        const full = fullLines(statement.rows);
        const short = shortLines(statement.rows);
        for (const lines of [full, short]) {
          expectSame(lines, statement);
          expect(byMonth(lines.flatMap(({ rows }) => rows))).toEqual(byMonth(statement.rows));
        }
        const payments = statement.rows.filter(({ type }) => type === 'payment');
        expect(full.filter(({ rows }) => rows[0].type === 'payment').map(({ rows }) => rows)).toEqual(
          payments.map((row) => [row]),
        );
        expect(short.length).toBeLessThanOrEqual(full.length);
        if (short.length < full.length) reached.monthly++;
        else reached.every++;
        for (const { type, money } of statement.rows) {
          if (type === 'reversal') reached.reversed++;
          if (money && isOut(money)) reached.credit++;
          if (type === 'recovery') reached.recovery++;
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
    expect(Object.entries(reached).filter(([, times]) => times === 0)).toEqual([]); // Otherwise the test covers too little.
  });

  it('are few enough, because the statement begins later, with the balances of the day before', () => {
    let cuts = 0;
    fc.assert(
      fc.property(caseArb, (one) => {
        const history = historyOf(one);
        const period = periodOf(one);
        const whole = statementOf(history, period);
        const from = shortFrom(whole.rows, period);
        if (from === period.from) {
          if (firstOfMonth(period.to) > from)
            expect(shortLines(whole.rows).length).toBeLessThanOrEqual(MAX_SHORT_LINES);
          return;
        }
        cuts++;
        expect(from > period.from && from <= period.to && from.endsWith('-01')).toBe(true);
        const made = statementOf(history, { from, to: period.to });
        expect(made.opening).toEqual(statementOf(history, { ...period, to: addDays(from, -1) }).closing);
        expect(made.closing).toEqual(whole.closing);
        const lines = shortLines(made.rows);
        expectSame(lines, made);
        if (from < firstOfMonth(period.to)) expect(lines.length).toBeLessThanOrEqual(MAX_SHORT_LINES);
      }),
      { numRuns: PROPERTY_RUNS },
    );
    expect(cuts).toBeGreaterThan(0);
  });

  it('are printed with amounts that add up to the printed balances', () => {
    fc.assert(
      fc.property(caseArb, fc.constantFrom('en' as const, 'sw' as const), (one, language) => {
        const { statement, ...made } = madeOf(one);
        for (const lines of [fullLines(statement.rows), shortLines(statement.rows)]) {
          const sender = { company: { name: 'X', address: [], logo: null }, paybill: '600638' };
          const printed = statementDocument(CURRENCY, sender, { ...made, statement }, lines, language);
          const due = sum(printed.rows.map((row) => minorOf(row.due)));
          const paid = sum(printed.rows.map((row) => minorOf(row.paid)));
          expect({ due, paid }).toEqual({
            due: minorOf(printed.totals.due),
            paid: minorOf(printed.totals.paid),
          });
          expect(minorOf(printed.opening.dueSoFar) + due - paid).toBe(minorOf(printed.closing.dueSoFar));
          expect(printed.rows.at(-1)?.owedInTotal ?? printed.opening.owedInTotal).toBe(
            printed.closing.owedInTotal,
          );
          expect(printed.rows.every(({ days, description }) => days && description)).toBe(true);
          expect(printed.why).toMatch(/\.$/);
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});

/** A statement of an account as `makeStatement` makes it. */
function madeOf(one: Case) {
  const history = historyOf(one);
  const period = periodOf(one);
  const { terms } = history;
  const statement = statementOf(history, period);
  const account = accountRow({
    activation_date: terms.activationDate,
    frequency: terms.frequency,
    deposit_minor: Number(terms.depositMinor),
    instalment_minor: Number(terms.instalmentMinor),
    instalment_count: terms.instalmentCount,
    grace_days: terms.graceDays,
    total_minor: Number(totalMinor(terms)),
  });
  expect(termsOf(account)).toEqual(terms);
  return {
    ...{
      account,
      accountNumber: 'ACC10000012',
      customer: { name: 'A', phone: '+254700000000' },
      period,
      statement,
    },
    ...{ productName: 'Lamp', language: 'en' as const, isToday: true, isCut: false },
    status: statement.end ?? ('active' as const),
  };
}

describe('what an account owes', () => {
  it('is the same in the sentence and in the closing balances', () => {
    fc.assert(
      fc.property(caseArb, (one) => {
        const { statement, status, period } = madeOf(one);
        const account = { terms: one.terms, status, paidMinor: statement.paidMinor };
        const why = explainDebt(account, quoteOf(account, { date: period.to, amountMinor: null }), period.to);
        const { dueSoFarMinor, owedInTotalMinor } = statement.closing;
        expect(why.chargedMinor - why.paidMinor).toBe(
          why.lateMinor + why.dueOnDateMinor + why.remainingMinor - why.aheadMinor - why.creditMinor,
        );
        const isOpened = period.to >= one.terms.activationDate;
        if (['late', 'due', 'ahead', 'up_to_date'].includes(why.state)) {
          expect(why.lateMinor + why.dueOnDateMinor - why.aheadMinor).toBe(dueSoFarMinor);
        } else if (isOpened) {
          expect(why.remainingMinor - why.creditMinor).toBe(owedInTotalMinor);
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('is the same in the runs of the schedule and in what the payments cover', () => {
    fc.assert(
      fc.property(caseArb, (one) => {
        const { terms, money } = historyOf(one);
        const paidMinor = sum(money.filter(({ reversedOn }) => reversedOn === null).map(signed));
        const items = scheduleItems(terms, { paidMinor, today: START, closed: false, activated: true });
        const runs = scheduleRuns(items);
        expect(runs.length).toBeLessThan(8);
        for (const run of runs.filter(({ first, last }) => first !== last)) {
          expect(run.first.index).toBeGreaterThan(0);
          expect([0n, run.amountMinor]).toContain(run.paidMinor);
        }
        expect(sum(runs.map((run) => run.amountMinor))).toBe(totalMinor(terms));
        expect(sum(runs.map((run) => run.paidMinor))).toBe(minMinor(paidMinor, totalMinor(terms)));
        const count = runs.reduce((all, { first, last }) => all + last.index - first.index + 1, 0);
        expect(count).toBe(items.length);

        const coverage = coverageOf(terms, money, false);
        expect(new Set(coverage.map(({ paymentId, creditMoveId }) => paymentId ?? creditMoveId)).size).toBe(
          money.length,
        );
        for (const own of coverage) {
          const covered = sum(coverRuns(own.covers, terms).map((run) => run.amountMinor));
          const counts = own.reversedOn === null && !isOut(own);
          expect(covered + own.creditMinor).toBe(counts ? own.amountMinor : 0n);
          expect(coverRuns(own.covers, terms).length).toBeLessThan(5);
        }
        const covers = coverage.flatMap((own) => own.covers);
        // Money that left may be missing until a later payment replaces it.
        if (paidMinor >= 0n && !money.some(isOut)) {
          expect(sum(covers.map((cover) => cover.amountMinor))).toBe(sum(runs.map((run) => run.paidMinor)));
          const together = coverRuns(
            [...coverage].reverse().flatMap((own) => own.covers),
            terms,
          );
          expect(sum(together.map((run) => run.amountMinor))).toBe(sum(runs.map((run) => run.paidMinor)));
          expect(together.length).toBeLessThan(4);
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});

describe('the rows of a line', () => {
  const terms: Terms = {
    depositMinor: 0n,
    instalmentMinor: 100n,
    instalmentCount: 365,
    frequency: 'daily',
    graceDays: 0,
    activationDate: day('2026-01-31'),
  };
  const pay = (date: string, amountMinor: bigint, fields: Partial<MoneyMove> = {}): MoneyMove => {
    const paymentId = Number(date.replaceAll('-', ''));
    return {
      ...{ type: 'payment', date: day(date), amountMinor, paymentMethod: 'Cash', transactionRef: null },
      ...{ paymentId, creditMoveId: null, otherAccountId: null, reversedOn: null },
      ...{ ledgerEventId: paymentId, reversalEventId: null },
      ...fields,
    };
  };
  const rowsOf = (money: MoneyMove[], to: string, own: Partial<Terms> = {}) => {
    const all = { ...terms, ...own };
    const opened = { type: 'opened' as const, date: START, amountMinor: totalMinor(all), ledgerEventId: 1 };
    const period = { from: START, to: day(to) };
    return statementOf({ terms: all, activated: true, events: [opened], money }, period).rows;
  };
  /** The type of each line, with the days of its first and last row, and whether it has balances. */
  const outline = (lines: readonly Line[]) =>
    lines.map(({ rows, after }) => {
      const [first, last] = [rows[0], rows.at(-1)];
      const days = first === last ? first.date.slice(5) : `${first.date.slice(5)}..${last?.date.slice(5)}`;
      return `${days} ${rows.length} ${first.type}${after ? '' : ', no balances'}`;
    });

  it('are the instalments between two payments that are all paid, or all open', () => {
    expect(outline(fullLines(rowsOf([pay('2026-02-04', 350n)], '2026-02-08')))).toEqual([
      '01-31 1 opened',
      // Three are paid, one is paid in part.
      '02-01..02-03 3 instalment',
      '02-04 1 instalment',
      '02-04 1 payment',
      '02-05..02-08 4 instalment',
    ]);
  });

  it('are not instalments of which the next is paid, or paid in part', () => {
    const rows = rowsOf([pay('2026-01-31', 350n)], '2026-02-06');
    expect(outline(fullLines(rows))).toEqual([
      '01-31 1 opened',
      '01-31 1 payment',
      '02-01..02-03 3 instalment',
      '02-04 1 instalment',
      '02-05..02-06 2 instalment',
    ]);
  });

  it('are not two instalments that are paid in part', () => {
    const rows = rowsOf([pay('2026-01-31', 50n)], '2026-02-02').filter(({ type }) => type === 'instalment');
    const paidInPart = rows[0]?.covers ?? [];
    expect(paidInPart).toHaveLength(1);
    expect(fullLines(rows.map((row) => ({ ...row, covers: paidInPart })))).toHaveLength(2);
  });

  /** A payment each day, so that each day has a payment and an instalment. */
  const daily = (from: string, days: number, amountMinor = 100n) =>
    Array.from({ length: days }, (_, n) => pay(addDays(day(from), n), amountMinor));

  it('are not folded further, if the statement is short enough', () => {
    // The opening, and two lines for each of 16 days: 33 lines. Each payment is the row after its instalment.
    const rows = rowsOf(daily('2026-02-01', 16), '2026-02-16');
    expect(rows).toHaveLength(33);
    expect(shortLines(rows)).toEqual(fullLines(rows));
    // One more instalment: 34 lines.
    expect(outline(shortLines(rowsOf(daily('2026-02-01', 16), '2026-02-17')))).toHaveLength(MAX_SHORT_LINES);
  });

  it('are the instalments and the payments of a month, if the statement would be too long', () => {
    const lines = shortLines(rowsOf(daily('2026-02-01', 40), '2026-03-12'));
    expect(outline(lines)).toEqual([
      '01-31 1 opened',
      '02-01..02-28 28 instalment, no balances',
      '02-01..02-28 28 payment',
      '03-01..03-12 12 instalment, no balances',
      '03-01..03-12 12 payment',
    ]);
    expect(lines[1]).toMatchObject({ dueMinor: 2_800n, paidMinor: 0n });
    expect(lines[2]).toMatchObject({ dueMinor: 0n, paidMinor: 2_800n });
  });

  it('are the instalments of several months, if no payment is between them', () => {
    // Nothing is paid from March to May.
    const money = [...daily('2026-02-01', 28), pay('2026-06-02', 100n)];
    expect(outline(shortLines(rowsOf(money, '2026-06-03')))).toEqual([
      '01-31 1 opened',
      '02-01..02-28 28 instalment, no balances',
      '02-01..02-28 28 payment',
      '03-01..06-03 95 instalment, no balances',
      '06-02 1 payment',
    ]);
  });

  it('are not those before and after a payment that was reversed, which is a line of its own', () => {
    const reversed = { reversedOn: day('2026-02-20'), reversalEventId: 99_999_999 };
    const money = daily('2026-02-01', 28).map((one) =>
      one.date === '2026-02-10' ? { ...one, ...reversed } : one,
    );
    expect(outline(shortLines(rowsOf(money, '2026-02-28')))).toEqual([
      '01-31 1 opened',
      '02-01..02-10 10 instalment, no balances',
      '02-01..02-09 9 payment',
      '02-10 1 payment',
      '02-11..02-20 10 instalment, no balances',
      '02-11..02-20 10 payment',
      '02-20 1 reversal',
      '02-21..02-28 8 instalment, no balances',
      '02-21..02-28 8 payment',
    ]);
  });

  /** The rows of monthly instalments, each with a payment before it, and the day of the last one. */
  function ofMonths(months: number) {
    const ends = Array.from({ length: months + 1 }, (_, n) => addMonthsKeepingDay(START, n));
    const to = ends.at(-1) ?? START;
    const money = ends.slice(1).map((date) => pay(addDays(firstOfMonth(date), 2), 100n));
    return { to, rows: rowsOf(money, to, { frequency: 'monthly', instalmentCount: 60 }) };
  }

  it('are not folded, and keep their balances, if there are not fewer lines of months', () => {
    const { rows } = ofMonths(30);
    expect(shortLines(rows)).toEqual(fullLines(rows));
    expect(shortLines(rows)).toHaveLength(61);
  });

  it('are those of the last months, if even the months are too many', () => {
    const fromAfter = (months: number) => {
      const { rows, to } = ofMonths(months);
      return shortFrom(rows, { from: START, to });
    };
    // With the opening, 33 and 35 lines.
    expect(fromAfter(16)).toBe(START);
    expect(fromAfter(17)).toBe('2026-02-01');
    expect(fromAfter(30)).toBe('2027-03-01');
  });

  it('are those of the whole last month, or of the whole period, even if these are too many', () => {
    const reversed = { reversedOn: day('2026-03-31'), reversalEventId: 99_999_999 };
    const money = daily('2026-03-01', 25).map((one) => ({ ...one, ...reversed }));
    const from = (first: string) => {
      const rows = rowsOf(money, '2026-03-31').filter(({ date }) => date >= first);
      return shortFrom(rows, { from: day(first), to: day('2026-03-31') });
    };
    expect(from('2026-02-15')).toBe('2026-03-01');
    expect(from('2026-03-02')).toBe('2026-03-02');
  });
});
