import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOSED, STATUS_MODEL, STATUSES } from '../../../test/support/status-model.ts';
import { balanceOf } from '../../accounts/ledger/money-on-account-rules.ts';
import { dueBy, position, type Terms } from '../../accounts/schedule/rules.ts';
import { isToComplete } from '../../accounts/status/rules.ts';
import { totalMinor } from '../../catalogue/pay-plans/rules.ts';
import { FREQUENCIES } from '../../catalogue/pay-plans/schema.ts';
import { AppError } from '../../core/http/errors.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import type { MoneyMove } from './allocation-rules.ts';
import { quoteOf } from './quote-rules.ts';
import {
  type AccountEvent,
  MAX_ROWS,
  ROW_TYPES,
  type Row,
  readStatementPeriod,
  statementOf,
  type TermsChange,
} from './rules.ts';

const day = (text: string) => text as PlainDate;
const START = day('2026-01-31');
const TODAY = day('2026-06-30');
const RUNS = { numRuns: 1000 };

const termsArb: fc.Arbitrary<Terms> = fc.record({
  depositMinor: fc.bigInt({ min: 0n, max: 300n }),
  instalmentMinor: fc.bigInt({ min: 1n, max: 60n }),
  instalmentCount: fc.integer({ min: 1, max: 26 }),
  frequency: fc.constantFrom(...FREQUENCIES),
  graceDays: fc.integer({ min: 0, max: 10 }),
  activationDate: fc.integer({ min: -40, max: 60 }).map((days) => addDays(START, days)),
});

const paymentArb = fc.record({
  days: fc.integer({ min: -20, max: 150 }),
  amountMinor: fc.bigInt({ min: 1n, max: 500n }),
  reversed: fc.constantFrom(null, null, null, 0, 3, 40),
  type: fc.constantFrom<MoneyMove['type'][]>(
    'payment',
    'payment',
    'payment',
    'transfer_in',
    'transfer_out',
    'refund',
  ),
});

function payment(
  id: number,
  date: PlainDate,
  amountMinor: bigint,
  reversedOn: PlainDate | null = null,
): MoneyMove {
  return {
    type: 'payment',
    date,
    amountMinor,
    reversedOn,
    paymentId: id,
    creditMoveId: null,
    otherAccountId: null,
    transactionRef: null,
    paymentMethod: 'Cash',
    ledgerEventId: 10 + 2 * id,
    reversalEventId: reversedOn && 1000 + id,
  };
}

function creditMove(type: MoneyMove['type'], id: number, date: PlainDate, amountMinor: bigint): MoneyMove {
  const common = {
    ...payment(id, date, amountMinor),
    type,
    paymentId: null,
    creditMoveId: id,
  };
  return type === 'refund' ? common : { ...common, otherAccountId: 7, paymentMethod: null };
}

const historyArb = fc
  .record({
    terms: termsArb,
    payments: fc.array(paymentArb, { maxLength: 15 }),
    end: fc.option(
      fc.record({
        type: fc.constantFrom('cancelled' as const, 'written_off' as const),
        days: fc.integer({ min: 0, max: 150 }),
        // An odd id, because payments have even ids. It can be before, between or after the ids of the payments.
        ledgerEventId: fc.integer({ min: 1, max: 25 }).map((n) => 2 * n + 1),
      }),
    ),
    changes: fc.array(fc.record({ days: fc.integer({ min: 0, max: 150 }), terms: termsArb }), {
      maxLength: 3,
    }),
    from: fc.integer({ min: -60, max: 150 }),
    length: fc.integer({ min: 0, max: 200 }),
  })
  .map(({ terms: original, payments, end, changes: changed, from, length }) => {
    const changes = changesOf(original, changed, end);
    const terms = changes.at(-1)?.after ?? original;
    const opened = { type: 'opened' as const, date: terms.activationDate, amountMinor: totalMinor(original) };
    const events: AccountEvent[] = [{ ...opened, ledgerEventId: 1 }];
    if (end) {
      const { type, ledgerEventId } = end;
      const date = addDays(terms.activationDate, end.days);
      events.push({ type, date, amountMinor: 1n, ledgerEventId });
    }
    const money = payments.map(({ days, amountMinor, reversed, type }, i) => {
      const date = addDays(START, days);
      if (type !== 'payment') return creditMove(type, i + 1, date, amountMinor);
      return payment(i + 1, date, amountMinor, reversed === null ? null : addDays(date, reversed));
    });
    const period = { from: addDays(START, from), to: addDays(START, from + length) };
    return { history: { terms, changes, activated: true, events, money }, period };
  });

/** Changes of the terms in the order of their days, none after a cancellation. All terms have one activation date. */
function changesOf(
  original: Terms,
  changed: readonly { days: number; terms: Terms }[],
  end: { type: string; days: number } | null,
): TermsChange[] {
  const last = end?.type === 'cancelled' ? end.days : Number.POSITIVE_INFINITY;
  let before = original;
  return changed
    .filter(({ days }) => days <= last)
    .sort((a, b) => a.days - b.days)
    .map(({ days, terms: { activationDate, ...others } }, i) => {
      const after = { ...others, activationDate: original.activationDate };
      const date = addDays(original.activationDate, days);
      const change: TermsChange = { id: i + 1, kind: 'revision', date, reason: 'a test', before, after };
      before = after;
      return change;
    });
}

const sum = (rows: Row[], value: (row: Row) => bigint) => rows.reduce((total, row) => total + value(row), 0n);

describe('a statement', () => {
  it('has balances that add up in each row, and closing figures that agree with the formulas', () => {
    const reached = new Set<string>();
    fc.assert(
      fc.property(historyArb, ({ history, period }) => {
        const made = statementOf(history, period);
        let { dueSoFarMinor, owedInTotalMinor } = made.opening;
        for (const row of made.rows) {
          reached.add(row.type);
          dueSoFarMinor += row.dueMinor - row.paidMinor;
          owedInTotalMinor += row.chargedMinor - row.paidMinor;
          expect(row).toMatchObject({ dueSoFarMinor, owedInTotalMinor });
          expect(row.date >= period.from && row.date <= period.to).toBe(true);
        }
        expect(made.closing).toEqual({ dueSoFarMinor, owedInTotalMinor });
        expect(made.totals).toEqual({
          dueMinor: sum(made.rows, (row) => row.dueMinor),
          chargedMinor: sum(made.rows, (row) => row.chargedMinor),
          paidMinor: sum(made.rows, (row) => row.paidMinor),
        });
        // Arrears are dueSoFar. An account that has ended or not begun has none, even if more money left than came in.
        if (!['paid_off', 'closed', 'not_due'].includes(made.position.paymentState)) {
          const dueSoFar = made.closing.dueSoFarMinor;
          expect(made.position.arrearsMinor).toBe(dueSoFar > 0n ? dueSoFar : 0n);
        }
      }),
      RUNS,
    );
    expect(reached.size).toBe(ROW_TYPES.length); // Otherwise the test covers too little.
  });

  it('has the same rows for two halves of a period as for the whole period', () => {
    fc.assert(
      fc.property(historyArb, fc.nat(200), ({ history, period }, cut) => {
        const middle = addDays(period.from, cut);
        if (middle >= period.to) return;
        const whole = statementOf(history, period);
        const first = statementOf(history, { from: period.from, to: middle });
        const second = statementOf(history, { from: addDays(middle, 1), to: period.to });
        expect(second.opening).toEqual(first.closing);
        const outline = (rows: Row[]) =>
          rows.map(({ date, type, amountMinor, dueMinor, dueSoFarMinor, owedInTotalMinor, item }) => {
            return { date, type, amountMinor, dueMinor, dueSoFarMinor, owedInTotalMinor, item };
          });
        expect(outline([...first.rows, ...second.rows])).toEqual(outline(whole.rows));
      }),
      RUNS,
    );
  });

  it('shows the allocation of each payment on the payment and on the items', () => {
    fc.assert(
      fc.property(historyArb, ({ history, period }) => {
        // Items that fell due before a change show the payments that cover them by the terms of their day.
        const unchanged = { ...history, changes: [] };
        const all = statementOf(unchanged, { from: day('2000-01-01'), to: period.to });
        const ofPayments = all.rows.filter(({ type }) => type === 'payment' || type === 'transfer_in');
        for (const row of ofPayments) {
          const covered = row.covers.reduce((total, { amountMinor }) => total + amountMinor, 0n);
          expect(covered + row.creditMinor).toBe(row.money?.reversedOn ? 0n : row.amountMinor);
        }
        for (const row of all.rows.filter(({ item }) => item !== null)) {
          const same = ofPayments.flatMap(({ covers }) => covers).filter(({ item }) => item === row.item);
          expect(row.covers).toEqual(same);
        }
      }),
      RUNS,
    );
  });

  it('can have the maximum number of rows, and is refused with more rows', () => {
    const terms: Terms = {
      depositMinor: 1n,
      instalmentMinor: 2n,
      instalmentCount: 10_000,
      frequency: 'daily',
      graceDays: 0,
      activationDate: day('2000-01-01'),
    };
    const events: AccountEvent[] = [
      { type: 'opened', date: terms.activationDate, amountMinor: 1n, ledgerEventId: 1 },
    ];
    const money = Array.from({ length: 10_000 }, (_, i) => payment(i + 1, addDays(START, -i), 2n));
    const history = { terms, activated: true, events, money };
    expect(() => statementOf(history, { from: terms.activationDate, to: TODAY })).toThrow(AppError);
    const to = addDays(terms.activationDate, MAX_ROWS - 2);
    const { rows } = statementOf({ ...history, money: [] }, { from: terms.activationDate, to });
    expect(rows).toHaveLength(MAX_ROWS);
  });

  it('refuses a period that ends before it starts', () => {
    expect(readStatementPeriod({}, TODAY, START)).toEqual({ from: START, to: TODAY });
    expect(readStatementPeriod({ to: day('2026-01-01') }, TODAY, START).from).toBe('2026-01-01');
    expect(() => readStatementPeriod({ from: day('2026-07-01') }, TODAY, START)).toThrow(
      /must not be later than the field "to"/,
    );
  });
});

const quotedArb = fc
  .record({
    terms: termsArb,
    paidPermille: fc.bigInt({ min: 0n, max: 1100n }),
    status: fc.constantFrom(...STATUSES.filter((status) => status !== 'completed')),
    ahead: fc.integer({ min: 0, max: 120 }),
    amountMinor: fc.bigInt({ min: 2n, max: 900n }),
  })
  .map(({ terms, paidPermille, ...rest }) => ({
    ...rest,
    account: { terms, status: rest.status, paidMinor: (totalMinor(terms) * paidPermille) / 1000n },
    on: { date: addDays(TODAY, rest.ahead) },
  }));

describe('a quote', () => {
  it('leaves no arrears on its day when the amount due is paid', () => {
    fc.assert(
      fc.property(quotedArb, ({ account, on }) => {
        const quote = quoteOf(account, { ...on, amountMinor: null });
        expect(quote.overdueMinor + quote.dueOnDateMinor).toBe(quote.amountDueMinor);
        if (quote.amountDueMinor === 0n) return;
        const { after } = quoteOf(account, { ...on, amountMinor: quote.amountDueMinor });
        expect(after?.position).toMatchObject({ arrearsMinor: 0n, daysPastDue: 0 });
        const less = quoteOf(account, { ...on, amountMinor: quote.amountDueMinor - 1n });
        expect(less.after?.position.arrearsMinor).toBe(1n);
        const paidMinor = account.paidMinor + quote.amountDueMinor;
        expect(dueBy(account.terms, on.date) - paidMinor).toBe(0n);
      }),
      RUNS,
    );
  });

  it('completes the account if the payoff amount is paid, but not if less is paid', () => {
    fc.assert(
      fc.property(quotedArb, ({ account, on }) => {
        const isBegun = account.status === 'pending' && on.date >= account.terms.activationDate;
        const status = isBegun ? 'active' : account.status;
        const { payoffMinor } = quoteOf(account, { ...on, amountMinor: null });
        const total = totalMinor(account.terms);
        expect(payoffMinor).toBe(balanceOf({ ...account, totalMinor: total }));
        if (payoffMinor === 0n) return;
        const { after } = quoteOf(account, { ...on, amountMinor: payoffMinor });
        expect(after).toMatchObject({
          balanceMinor: 0n,
          creditMinor: 0n,
          completes: STATUS_MODEL[status].completesWhenPaid,
        });
        expect(after?.completes).toBe(isToComplete(status, account.paidMinor + payoffMinor, total));
        const less = quoteOf(account, { ...on, amountMinor: payoffMinor - 1n });
        expect(less.after).toMatchObject({ balanceMinor: 1n, completes: false });
      }),
      RUNS,
    );
  });

  it('has the same result for two payments as for one payment of their sum', () => {
    fc.assert(
      fc.property(quotedArb, fc.bigInt({ min: 1n, max: 899n }), ({ account, on, amountMinor }, cut) => {
        if (cut >= amountMinor) return;
        const whole = quoteOf(account, { ...on, amountMinor }).after;
        const first = quoteOf(account, { ...on, amountMinor: cut }).after;
        const rest = quoteOf(
          { ...account, paidMinor: account.paidMinor + cut },
          { ...on, amountMinor: amountMinor - cut },
        ).after;
        expect(rest).toMatchObject({
          position: whole?.position,
          balanceMinor: whole?.balanceMinor,
          creditMinor: whole?.creditMinor,
          completes: whole?.completes,
        });
        expect((first?.itemsCovered ?? 0) + (rest?.itemsCovered ?? 0)).toBe(whole?.itemsCovered);
      }),
      RUNS,
    );
  });

  it('divides the whole amount into covered items, the remainder and credit', () => {
    fc.assert(
      fc.property(quotedArb, ({ account, on, amountMinor }) => {
        const { position: unpaid, after } = quoteOf(account, { ...on, amountMinor });
        expect(unpaid).toEqual(
          position(account.terms, {
            paidMinor: account.paidMinor,
            today: on.date,
            closed: CLOSED.includes(account.status),
            activated: account.status !== 'pending' || on.date >= account.terms.activationDate,
          }),
        );
        const owed = balanceOf({ ...account, totalMinor: totalMinor(account.terms) });
        const used = owed - (after?.balanceMinor ?? 0n);
        const before = quoteOf(account, { ...on, amountMinor: null });
        expect(before.after).toBeNull();
        if (owed > 0n) expect(used + (after?.creditMinor ?? 0n)).toBe(amountMinor);
        expect((after?.remainderMinor ?? 0n) <= amountMinor).toBe(true);
      }),
      RUNS,
    );
  });
});
