import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { activateDueAccounts } from '../../src/accounts/activate-due-accounts.ts';
import { changeAccount } from '../../src/accounts/change-account.ts';
import { refundCredit } from '../../src/accounts/credit/commands.ts';
import type { AccountRow } from '../../src/accounts/ledger/rules.ts';
import { openAccount } from '../../src/accounts/open-account.ts';
import { termsOf } from '../../src/accounts/schedule/rules.ts';
import { suspendLateAccounts } from '../../src/accounts/status/suspend-late-accounts.ts';
import { findAccountRow } from '../../src/accounts/store.ts';
import { toAccount } from '../../src/accounts/view.ts';
import { addDays } from '../../src/core/values/dates.ts';
import type { Cover } from '../../src/documents/account-statements/allocation-rules.ts';
import { quoteOf } from '../../src/documents/account-statements/quote-rules.ts';
import type { Row } from '../../src/documents/account-statements/rules.ts';
import { makeStatement } from '../../src/documents/account-statements/view.ts';
import { reversePayment } from '../../src/payments/reverse-payment.ts';
import { reportPayments } from '../../src/reports/payments-view.ts';
import { summarizeAccounts } from '../../src/reports/summary-view.ts';
import { expectChecksToPass } from '../support/books.ts';
import { useService } from '../support/harness.ts';
import { CLOSED, GIVEN_BY_STAFF } from '../support/status-model.ts';
import { type Case, inCase, PLANS, RUNS, START, type Stage, setStage } from './in-process.ts';

const service = useService();
const signal = new AbortController().signal;
let stage: Stage;
beforeAll(async () => {
  stage = await setStage(service);
});

const pay = fc.record({
  do: fc.constant('pay'),
  amountMinor: fc.oneof(
    fc.integer({ min: 2, max: 2_500 }),
    fc.constantFrom(600, 2_000, 3_600, 4_300, 6_900, 3_697, 9_000),
  ),
  daysAgo: fc.oneof(fc.constant(0), fc.nat({ max: 60 })),
});
const step = fc.oneof(
  { weight: 5, arbitrary: pay },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('reverse'), payment: fc.nat({ max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund'), permille: fc.constantFrom(300, 1_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('move'),
      to: fc.constantFrom(...GIVEN_BY_STAFF),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), days: fc.integer({ min: 1, max: 30 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const story = fc
  .record({
    plan: fc.nat({ max: PLANS.length - 1 }),
    offset: fc.oneof(fc.constant(0), fc.integer({ min: -60, max: 15 })),
    before: fc.array(step, { maxLength: 7 }),
    /** The payment that is split. */
    chosen: pay,
    after: fc.array(step, { maxLength: 7 }),
    permille: fc.integer({ min: 1, max: 999 }),
    asked: fc.record({ days: fc.nat({ max: 60 }), amountMinor: fc.integer({ min: 1, max: 5_000 }) }),
    period: fc.record({ from: fc.integer({ min: -30, max: 40 }), days: fc.nat({ max: 60 }) }),
  })
  .map(({ before, chosen, after, ...rest }) => ({
    ...rest,
    steps: [...before, chosen, ...after],
    split: before.filter((each) => each.do === 'pay').length,
  }));
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

/** Runs the events of a story. A payment may come in several parts, which have the same place in the list. */
async function live(
  run: Case,
  { plan, offset, steps }: Story,
  partsOf: (at: number, minor: number) => number[],
) {
  const { id } = await openAccount(run.context, stage.actor, {
    customerId: stage.customers[0]?.id ?? 0,
    productId: 1,
    payplanId: stage.planIds[plan] ?? 0,
    activationDate: addDays(START, offset),
  });
  const payments: number[][] = [];
  const refunds: number[] = [];
  for (const next of steps) await take(next);
  return { id, payments, refunds };

  async function take(next: Step): Promise<void> {
    switch (next.do) {
      case 'pay': {
        const ids: number[] = [];
        for (const part of partsOf(payments.length, next.amountMinor)) {
          const paymentDate = addDays(run.day, -next.daysAgo);
          const body = { accountId: id, amount: part / 100, paymentMethodId: 2, paymentDate };
          ids.push((await run.record(run.context, stage.actor, body)).id);
        }
        payments.push(ids);
        break;
      }
      case 'reverse':
        for (const paymentId of payments[next.payment % Math.max(1, payments.length)] ?? []) {
          await run.attempt((context, actor) => reversePayment(context, actor, paymentId, 'tried'));
        }
        break;
      case 'refund': {
        const { credit_minor: credit } = await rowOf(run, id);
        const amount = Math.ceil((credit * next.permille) / 1_000) / 100;
        if (amount === 0) return;
        const outcome = await refundCredit(run.context, stage.actor, id, { amount, reason: 'tried' });
        if (!('done' in outcome)) throw new Error('No refund needs approval here.');
        refunds.push(outcome.done.id);
        break;
      }
      case 'move': {
        const body = { status: next.to, reason: 'tried' };
        await run.attempt((context, actor) => changeAccount(context, actor, id, body));
        break;
      }
      case 'wait':
        run.wait(next.days);
    }
    // The minute job does the same.
    await activateDueAccounts(run.context, signal);
    await suspendLateAccounts(run.context, run.context.clock.now(), signal);
  }
}

async function rowOf({ tx }: Case, id: number): Promise<AccountRow> {
  return (await findAccountRow(tx, id)) ?? expect.fail();
}

type Summary = Awaited<ReturnType<typeof summarizeAccounts>>;
type Lived = Awaited<ReturnType<typeof live>>;

/** Everything that users see of the account and the books, without names and numbers of single payments. */
async function pictureOf(run: Case, lived: Lived, { asked, period: { from, days } }: Story) {
  const { context, tx, day } = run;
  const row = await rowOf(run, lived.id);
  // The reason of the reactivation states the days past due at the first part that was enough.
  const { id: _, accountNumber: __, reason: ___, ...account } = toAccount(row, context.currency, day);
  const quoted = { terms: termsOf(row), status: row.status, paidMinor: BigInt(row.paid_minor) };
  const begin = addDays(START, from);
  const period = { startDate: begin, endDate: addDays(begin, days) };
  const all = { startDate: addDays(START, -200), endDate: day };
  const summary = await summarizeAccounts(tx, context, period);
  const { data: report } = await reportPayments(tx, context.currency, all, day, {
    page: 1,
    limit: 1,
  });
  const { rows: books } = await sql`
    select event, ledger_account, value_date, payment_method_id, sum(amount_minor)::text as sum
    from ledger_entries group by 1, 2, 3, 4 having sum(amount_minor) <> 0 order by 1, 2, 3, 4`.execute(tx);
  const withoutCounts = <T extends { count: number }>(rows: T[]) => rows.map(({ count: _, ...rest }) => rest);
  return {
    account,
    statement: await storyTold(run, lived, {}),
    partOfStatement: await storyTold(run, lived, { from: begin, to: addDays(begin, days) }),
    quote: quoteOf(quoted, {
      date: addDays(day, asked.days),
      amountMinor: BigInt(asked.amountMinor),
    }),
    summary: period.endDate < day ? withoutSuspensions(summary) : summary,
    summaryOfAll: await summarizeAccounts(tx, context, all),
    report: {
      totals: { ...report.totals, counts: null },
      byMethod: withoutCounts(report.byMethod),
      byDay: withoutCounts(report.byDay),
    },
    books,
  };
}

/**
 * The summary of a past day without accounts that were suspended on that day. If a payment comes in two parts, the first part may
 * end a suspension before the second part completes the account. This change of status stays on record when both parts are reversed
 * later. A payment that came in one part completed the account without this change.
 */
function withoutSuspensions({ byStatus, ...rest }: Summary) {
  const of = (wanted: string) => byStatus.find(({ status }) => status === wanted) ?? expect.fail();
  const [active, suspended] = [of('active'), of('suspended')];
  const activeOrSuspended = {
    count: active.count + suspended.count,
    contractValue: active.contractValue + suspended.contractValue,
    outstanding: active.outstanding + suspended.outstanding,
    arrears: active.arrears + suspended.arrears,
  };
  return {
    ...rest,
    activeOrSuspended,
    byStatus: byStatus.filter((each) => each !== active && each !== suspended),
  };
}

/** A statement in which the parts of a payment are shown together, and the balances at the end of each day. */
async function storyTold(
  run: Case,
  { id, payments, refunds }: Lived,
  period: Parameters<typeof makeStatement>[2],
) {
  const { statement } = await makeStatement(run.context, id, period);
  const { rows, ...rest } = statement;
  const nameOf = ({ paymentId, creditMoveId }: Pick<Cover, 'paymentId' | 'creditMoveId'>) =>
    paymentId === null
      ? `refund ${refunds.indexOf(creditMoveId ?? 0)}`
      : `payment ${payments.findIndex((ids) => ids.includes(paymentId))}`;
  const sums = new Map<string, bigint>();
  const add = (what: string, minor: bigint) => {
    if (minor !== 0n) sums.set(what, (sums.get(what) ?? 0n) + minor);
  };
  const evenings = new Map<string, Pick<Row, 'dueSoFarMinor' | 'owedInTotalMinor'>>();
  for (const row of rows) {
    const { date, type, item, money, dueSoFarMinor, owedInTotalMinor } = row;
    const label = `${date} ${type} ${item ?? (money ? nameOf(money) : '')}`;
    evenings.set(date, { dueSoFarMinor, owedInTotalMinor });
    for (const of of ['amountMinor', 'dueMinor', 'chargedMinor', 'paidMinor', 'creditMinor'] as const) {
      add(`${label} ${of}`, row[of]);
    }
    for (const cover of row.covers) {
      const { paymentDate, dueDate, amountMinor } = cover;
      add(`${label}: ${nameOf(cover)} of ${paymentDate} covers ${cover.item} of ${dueDate}`, amountMinor);
    }
  }
  return { ...rest, sums, evenings };
}

const seen = new Set<string>();

describe('splitting a payment in two', () => {
  it(`changes nothing but the number of payments, ${RUNS} times`, async () => {
    await fc.assert(
      fc.asyncProperty(story, (chosen) =>
        inCase(stage, async (run) => {
          await sql`savepoint beginning`.execute(run.tx);
          const whole = await pictureOf(run, await live(run, chosen, (_, minor) => [minor]), chosen);
          await sql`rollback to savepoint beginning`.execute(run.tx);
          run.day = START;
          const inTwo = (at: number, minor: number) => {
            const part = Math.min(minor - 1, Math.max(1, Math.floor((minor * chosen.permille) / 1_000)));
            return at === chosen.split ? [part, minor - part] : [minor];
          };
          const parts = await live(run, chosen, inTwo);
          expect(parts.payments[chosen.split]).toHaveLength(2);
          expect(await pictureOf(run, parts, chosen)).toEqual(whole);
          await expectChecksToPass(run.tx);
          seen.add(whole.account.status);
          if (whole.statement.creditMinor > 0n) seen.add('credit');
        }),
      ),
      { numRuns: RUNS },
    );
    // In fewer runs, some cases may be missing. In many runs, the property would show too little without them.
    if (RUNS < 1_000) return;
    for (const end of ['active', 'suspended', 'completed', ...CLOSED, 'credit']) {
      expect(seen).toContain(end);
    }
  });
});
