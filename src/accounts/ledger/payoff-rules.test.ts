import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import { type Actor, SYSTEM } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { PayoffFacts } from '../payoffs/posting-rules.ts';
import { recordedTermsOf } from '../schedule/rules.ts';
import { closeBooks } from './close-books-rules.ts';
import { postWithPayoffs } from './payoff-rules.ts';
import { type AccountRow, type MoneyEvent, openBooks } from './rules.ts';

const day = (text: string) => text as PlainDate;
const TODAY = day('2026-10-20');
const ACTOR: Actor = { ...SYSTEM, name: 'clerk', requestId: 'r-1' };

/** 1,000 in total: ten weekly instalments of 100 from 19 October 2026. */
const ACCOUNT = accountRow({
  ...{ activation_date: day('2026-10-12'), deposit_minor: 0, instalment_minor: 100, instalment_count: 10 },
  ...{ total_minor: 1_000, receivable_minor: 1_000, next_due_date: day('2026-10-19') },
});

const FACTS: PayoffFacts = {
  offer: { basisPoints: 1_000, until: null, minDues: 2, roundingMinor: 1n },
  changeIds: [50],
  money: new Map(),
  latestChange: null,
  original: null,
  inEffect: null,
};

const money = (amount: number, on = TODAY, kind: 'money_in' | 'money_out' = 'money_in'): MoneyEvent => ({
  ...{ event: 'payment_received', actor: ACTOR, valueDate: on, contra: [] },
  movements: [{ accountId: ACCOUNT.id, movement: { kind, amountMinor: BigInt(amount) } }],
});

function posted(
  events: readonly MoneyEvent[],
  { account = ACCOUNT, ...facts }: Partial<PayoffFacts> & { account?: AccountRow } = {},
) {
  const running = openBooks(
    new Map([[account.id, account]]),
    new Map([[account.id, { ...FACTS, ...facts }]]),
  );
  for (const event of events) expect(postWithPayoffs(running, event)).toBeUndefined();
  const rows = closeBooks(running, new Map(), TODAY);
  const [account_] = rows.accounts;
  return {
    ...{ rows, account: account_, moves: rows.planMoves },
    events: rows.rows.changes?.map(({ type }) => type),
  };
}

describe('the payments of a batch', () => {
  // One instalment of 100 is due, and 90 is offered for the other nine.
  it('earn one payoff, however many come after it', () => {
    const { account, moves } = posted([money(450), money(460), money(40), money(500)]);
    expect(moves.map(({ change, byMinor }) => [change.id, change.kind, byMinor])).toEqual([
      [50, 'payoff', -90n],
    ]);
    expect(account).toMatchObject({
      ...{ paid_minor: 1_450, receivable_minor: 0, credit_minor: 540, status: 'completed' },
    });
  });

  it('earn what they would earn one after the other', () => {
    const before = day('2026-10-19');
    expect(posted([money(910), money(10, before)]).moves).toMatchObject([{ byMinor: -90n }]);
    expect(posted([money(200, before), money(720)]).moves).toMatchObject([{ byMinor: -80n }]);
    expect(posted([money(720), money(200, before)]).moves).toMatchObject([{ byMinor: -80n, day: TODAY }]);
  });

  it('lower the price before the status follows, with events in this order', () => {
    const { events, rows, moves } = posted([money(910)]);
    expect(events).toEqual(['account.plan_changed', 'account.paid_until_changed', 'account.completed']);
    expect(
      rows.entries.map(({ event, ledger_account: on, amount_minor: amount }) => [event, on, amount]),
    ).toEqual([
      ['payment_received', 'receivable', -910],
      ['price_discounted', 'receivable', -90],
      ['price_discounted', 'sales', 90],
    ]);
    expect(moves[0]).toMatchObject({
      account: { total_minor: 910, plan_version: 1, instalment_count: 10 },
      change: { version: 1, effective_on: TODAY, body: { earlyPayoff: { discountBasisPoints: 1_000 } } },
      original: { version: 1, total_minor: 1_000, corrected_minor: -90, run_count: [10] },
    });
  });
});

describe('money that leaves an account with a payoff', () => {
  const account = {
    ...{ ...ACCOUNT, status: 'completed' as const, total_minor: 910, plan_version: 1 },
    ...{ paid_minor: 960, receivable_minor: 0, credit_minor: 50, next_due_date: null },
  };
  const inEffect = {
    id: 40,
    effectiveOn: day('2026-10-14'),
    before: recordedTermsOf(ACCOUNT),
    originalBefore: null,
    since: [],
  };

  it('ends the payoff with its date, and reopens the account', () => {
    const reversal = { ...money(51, TODAY, 'money_out'), event: 'payment_reversed' as const };
    const { account: after, moves, events } = posted([reversal], { account, inEffect });
    expect(after).toMatchObject({
      status: 'active',
      status_reason: 'a payment was reversed',
      receivable_minor: 91,
    });
    expect(moves).toMatchObject([
      {
        byMinor: 90n,
        account: { total_minor: 1_000, plan_version: 2 },
        change: { kind: 'undo', undoes: 40, effective_on: '2026-10-14' },
        original: { version: 2, corrected_minor: 0 },
      },
    ]);
    expect(events).toContain('account.reopened');
  });

  it('ends the payoff and earns another one, if an amount is corrected to one that pays the price with the offer of the rest', () => {
    const before = day('2026-10-19');
    const paid = { ...account, total_minor: 930, paid_minor: 1_030, credit_minor: 100 };
    const facts = {
      ...{ account: paid, changeIds: [50, 51], money: new Map([[TODAY, 730n]]), latestChange: null },
      inEffect: { ...inEffect, effectiveOn: TODAY },
    };
    // 195 on the day before leave 805, so 80 is offered.
    const corrected = posted([money(300, before, 'money_out'), money(195, before)], facts);
    expect(corrected.moves).toMatchObject([
      { byMinor: 70n, change: { id: 50, kind: 'undo', undoes: 40, version: 2 } },
      { byMinor: -80n, change: { id: 51, kind: 'payoff', version: 3, effective_on: TODAY } },
    ]);
    expect(corrected.moves.at(-1)).toMatchObject({
      original: { version: 3, total_minor: 1_000, corrected_minor: -80 },
    });
    expect(corrected.account).toMatchObject({ status: 'completed', paid_minor: 925, credit_minor: 5 });
    expect(corrected.events).not.toContain('account.reopened');
    const reversed = posted([money(105, before, 'money_out')], facts);
    expect(reversed.moves.map(({ change }) => change.kind)).toEqual(['undo']);
  });

  it('leaves a payoff whose price the rest pays, also after the reversal of an amount that is corrected', () => {
    expect(posted([money(50, TODAY, 'money_out')], { account, inEffect }).moves).toEqual([]);
    const corrected = [money(960, TODAY, 'money_out'), money(910)];
    expect(posted(corrected, { account, inEffect })).toMatchObject({
      moves: [],
      account: { status: 'completed' },
    });
  });
});
