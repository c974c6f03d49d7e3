import { describe, expect, it } from 'vitest';
import { position, type Terms } from '../../accounts/schedule/rules.ts';
import { AppError } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { compareMoney, type MoneyMove } from './allocation-rules.ts';
import { type AccountEvent, MAX_ROWS, type Row, refuseTooMany, statementOf } from './rules.ts';

/** A day of January 2026. */
const day = (n: number) => `2026-01-${String(n).padStart(2, '0')}` as PlainDate;
const JANUARY = { from: day(1), to: day(31) };

/** A deposit of 100 on 5 January, and instalments of 50 on 12, 19 and 26 January and 2 February. 300 in total. */
const TERMS: Terms = {
  depositMinor: 100n,
  instalmentMinor: 50n,
  instalmentCount: 4,
  frequency: 'weekly',
  graceDays: 3,
  activationDate: day(5),
};
const OPENED: AccountEvent = {
  type: 'opened',
  date: day(5),
  amountMinor: 300n,
  ledgerEventId: 1,
};
const ended = (type: 'cancelled' | 'written_off', on: number, amountMinor: bigint): AccountEvent => ({
  type,
  date: day(on),
  amountMinor,
  ledgerEventId: 100,
});

function payment(id: number, on: number, amountMinor: bigint, fields: Partial<MoneyMove> = {}): MoneyMove {
  return {
    type: 'payment',
    date: day(on),
    amountMinor,
    reversedOn: null,
    paymentId: id,
    creditMoveId: null,
    otherAccountId: null,
    transactionRef: null,
    paymentMethod: 'Cash',
    ledgerEventId: 10 + id,
    reversalEventId: null,
    ...fields,
  };
}

function creditMove(type: MoneyMove['type'], id: number, on: number, amountMinor: bigint): MoneyMove {
  return payment(id, on, amountMinor, { type, paymentId: null, creditMoveId: id });
}

function statement(
  money: MoneyMove[],
  { events = [OPENED], terms = TERMS, activated = true, period = JANUARY } = {},
) {
  return statementOf({ terms, activated, events, money }, period);
}

/** Day, type and amount of a row, the changes that are not 0, and the two balances after the row. */
function outline(rows: Row[]): string[] {
  return rows.map(({ date, type, amountMinor, chargedMinor, dueMinor, paidMinor, ...after }) => {
    const changes = Object.entries({ charged: chargedMinor, due: dueMinor, paid: paidMinor })
      .filter(([, minor]) => minor !== 0n)
      .map(([name, minor]) => ` ${name} ${minor}`);
    const balances = `${after.dueSoFarMinor}/${after.owedInTotalMinor}`;
    return `${Number(date.slice(8))} ${type} ${amountMinor}${changes.join('')}: ${balances}`;
  });
}

/** The items that a row covers, or the money that covers the row. */
const coversOf = ({ covers }: Row) => covers.map(({ item, amountMinor }) => `${amountMinor} of ${item}`);

describe('the statement of an account', () => {
  it('charges the total when the account opens, makes items due, and subtracts payments', () => {
    const { opening, rows, closing, totals } = statement([payment(1, 5, 120n), payment(2, 21, 60n)]);
    expect(opening).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 0n });
    expect(outline(rows)).toEqual([
      '5 opened 300 charged 300: 0/300',
      '5 deposit 100 due 100: 100/300',
      '5 payment 120 paid 120: -20/180',
      '12 instalment 50 due 50: 30/180',
      '19 instalment 50 due 50: 80/180',
      '21 payment 60 paid 60: 20/120',
      '26 instalment 50 due 50: 70/120',
    ]);
    expect(closing).toEqual({ dueSoFarMinor: 70n, owedInTotalMinor: 120n });
    expect(totals).toEqual({ chargedMinor: 300n, dueMinor: 250n, paidMinor: 180n });
  });

  it('has the position, the balance and the credit at the end of the period', () => {
    const before = statement([payment(1, 5, 120n), payment(2, 21, 60n)], {
      period: { from: day(1), to: day(20) },
    });
    const standing = { paidMinor: 120n, today: day(20), closed: false, activated: true };
    expect(before).toMatchObject({
      end: null,
      position: position(TERMS, standing),
      paidMinor: 120n,
      balanceMinor: 180n,
      creditMinor: 0n,
    });
    expect(statement([payment(1, 5, 330n)])).toMatchObject({
      paidMinor: 330n,
      balanceMinor: 0n,
      creditMinor: 30n,
    });
    expect(statement([payment(1, 5, 300n)])).toMatchObject({ balanceMinor: 0n, creditMinor: 0n });
  });

  it('shows which items each payment covers, and which money covers each item', () => {
    const { rows } = statement([payment(1, 5, 120n), payment(2, 21, 300n)]);
    expect(rows.map(coversOf)).toEqual([
      [],
      ['100 of 0'],
      ['100 of 0', '20 of 1'],
      ['20 of 1', '30 of 1'],
      ['50 of 2'],
      ['30 of 1', '50 of 2', '50 of 3', '50 of 4'],
      ['50 of 3'],
    ]);
    expect(rows.map(({ creditMinor }) => creditMinor)).toEqual([0n, 0n, 0n, 0n, 0n, 120n, 0n]);
    expect(rows[3]?.covers[1]).toEqual({
      paymentId: 2,
      creditMoveId: null,
      paymentDate: day(21),
      item: 1,
      dueDate: day(12),
      amountMinor: 30n,
    });
  });

  it('starts with the balances of the day before the period', () => {
    const later = statement([payment(1, 5, 120n), payment(2, 20, 60n)], {
      period: { from: day(20), to: day(31) },
    });
    expect(later.opening).toEqual({ dueSoFarMinor: 80n, owedInTotalMinor: 180n });
    expect(outline(later.rows)).toEqual(['20 payment 60 paid 60: 20/120', '26 instalment 50 due 50: 70/120']);
    expect(later.rows.map(coversOf)).toEqual([['30 of 1', '30 of 2'], []]);
  });

  it('includes the first and the last day of the period', () => {
    const money = [payment(1, 11, 1n), payment(2, 12, 2n), payment(3, 19, 3n), payment(4, 20, 4n)];
    const { rows } = statement(money, { period: { from: day(12), to: day(19) } });
    expect(outline(rows)).toEqual([
      '12 instalment 50 due 50: 149/299',
      '12 payment 2 paid 2: 147/297',
      '19 instalment 50 due 50: 197/297',
      '19 payment 3 paid 3: 194/294',
    ]);
  });

  it('has no items before the activation of the account, and no deposit of 0', () => {
    expect(outline(statement([payment(1, 6, 40n)], { activated: false }).rows)).toEqual([
      '5 opened 300 charged 300: 0/300',
      '6 payment 40 paid 40: -40/260',
    ]);
    const terms = { ...TERMS, depositMinor: 0n };
    const { rows } = statement([], { terms, period: { from: day(1), to: day(12) } });
    expect(outline(rows)).toEqual(['5 opened 300 charged 200: 0/200', '12 instalment 50 due 50: 50/200']);
  });

  it('lists a reversed payment and its reversal, which do not change the balances', () => {
    const reversed = payment(1, 6, 120n, { reversedOn: day(14), reversalEventId: 90 });
    const { rows, totals, paidMinor } = statement([reversed], { period: { from: day(6), to: day(14) } });
    expect(outline(rows)).toEqual([
      '6 payment 120: 100/300',
      '12 instalment 50 due 50: 150/300',
      '14 reversal 120: 150/300',
    ]);
    expect(rows.map(({ money, creditMinor }) => [money, creditMinor])).toEqual([
      [reversed, 0n],
      [null, 0n],
      [reversed, 0n],
    ]);
    expect([totals.paidMinor, paidMinor]).toEqual([0n, 0n]);
  });

  it('lists the reversal of a payment that was made before the period, but no later reversal', () => {
    const money = [payment(1, 6, 120n, { reversedOn: day(14) }), payment(2, 6, 80n, { reversedOn: day(31) })];
    const { rows } = statement(money, { period: { from: day(13), to: day(18) } });
    expect(outline(rows)).toEqual(['14 reversal 120: 150/300']);
  });
});

describe('the statement of credit that moves', () => {
  it('takes outgoing credit from the latest money, so that this money covers fewer items', () => {
    const money = [
      payment(1, 5, 250n),
      payment(2, 6, 100n),
      creditMove('refund', 3, 7, 20n),
      creditMove('transfer_out', 4, 7, 30n),
    ];
    const { rows, creditMinor, balanceMinor } = statement(money, { period: { from: day(5), to: day(10) } });
    expect(outline(rows)).toEqual([
      '5 opened 300 charged 300: 0/300',
      '5 deposit 100 due 100: 100/300',
      '5 payment 250 paid 250: -150/50',
      '6 payment 100 paid 100: -250/-50',
      '7 refund 20 paid -20: -230/-30',
      '7 transfer_out 30 paid -30: -200/0',
    ]);
    expect(rows.slice(2).map(coversOf)).toEqual([
      ['100 of 0', '50 of 1', '50 of 2', '50 of 3'],
      ['50 of 4'],
      [],
      [],
    ]);
    // The second payment paid the last 50, and 50 went out again.
    expect(rows.slice(2).map((row) => row.creditMinor)).toEqual([0n, 50n, 0n, 0n]);
    expect([balanceMinor, creditMinor]).toEqual([0n, 0n]);
  });

  it('takes outgoing credit from several payments, the latest first', () => {
    const money = [
      payment(1, 5, 290n),
      payment(2, 6, 30n),
      payment(3, 7, 20n),
      creditMove('refund', 4, 8, 40n),
    ];
    const { rows } = statement(money, { period: { from: day(5), to: day(10) } });
    expect(rows.slice(2).map(coversOf)).toEqual([
      ['100 of 0', '50 of 1', '50 of 2', '50 of 3', '40 of 4'],
      ['10 of 4'],
      [],
      [],
    ]);
  });

  it('covers items by credit that other accounts have transferred', () => {
    const { rows } = statement([creditMove('transfer_in', 1, 5, 130n)]);
    expect(outline(rows)[2]).toBe('5 transfer_in 130 paid 130: -30/170');
    expect(coversOf(rows[2] as Row)).toEqual(['100 of 0', '30 of 1']);
    expect(rows[1]?.covers).toMatchObject([{ paymentId: null, creditMoveId: 1 }]);
  });

  it('replaces missing credit by the next money, before this money covers items', () => {
    // The payment whose credit was refunded is reversed. So the refund is not covered, and the next payments replace it.
    const money = [
      payment(1, 5, 330n, { reversedOn: day(8) }),
      creditMove('refund', 2, 6, 30n),
      payment(3, 9, 20n),
      payment(4, 10, 120n),
    ];
    const { rows, paidMinor } = statement(money, { period: { from: day(9), to: day(12) } });
    expect(outline(rows)).toEqual([
      '9 payment 20 paid 20: 110/310',
      '10 payment 120 paid 120: -10/190',
      '12 instalment 50 due 50: 40/190',
    ]);
    expect(rows.map(coversOf)).toEqual([[], ['100 of 0', '10 of 1'], ['10 of 1']]);
    expect(paidMinor).toBe(110n);
  });
});

describe('the statement of a cancelled account', () => {
  const events = [OPENED, ended('cancelled', 14, 180n)];

  it('undoes the charge and what was due, so that everything paid is credit', () => {
    const {
      rows,
      end,
      balanceMinor,
      creditMinor,
      position: after,
    } = statement([payment(1, 5, 120n)], { events });
    expect(outline(rows)).toEqual([
      '5 opened 300 charged 300: 0/300',
      '5 deposit 100 due 100: 100/300',
      '5 payment 120 paid 120: -20/180',
      '12 instalment 50 due 50: 30/180',
      '14 cancelled 180 charged -300 due -150: -120/-120',
    ]);
    expect(rows.flatMap(coversOf)).toEqual([]);
    expect(rows[2]?.creditMinor).toBe(120n);
    expect({ end, balanceMinor, creditMinor }).toEqual({
      end: 'cancelled',
      balanceMinor: 0n,
      creditMinor: 120n,
    });
    expect(after.paymentState).toBe('closed');
  });

  it('has no due amount if the account was not activated', () => {
    const { rows } = statement([], { events, activated: false });
    expect(outline(rows)).toEqual(['5 opened 300 charged 300: 0/300', '14 cancelled 180 charged -300: 0/0']);
  });

  it('has no items and owes nothing after the cancellation', () => {
    const { opening, rows } = statement([payment(1, 16, 40n)], {
      events,
      period: { from: day(15), to: day(31) },
    });
    expect(opening).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 0n });
    expect(outline(rows)).toEqual(['16 payment 40 paid 40: -40/-40']);
  });

  it('makes the item of the day of the cancellation due, and counts the cancellation on its own day', () => {
    const onTwelfth = [OPENED, ended('cancelled', 12, 300n)];
    const until = (to: number) =>
      statement([], { events: onTwelfth, period: { from: day(12), to: day(to) } });
    expect(outline(until(12).rows)).toEqual([
      '12 instalment 50 due 50: 150/300',
      '12 cancelled 300 charged -300 due -150: 0/0',
    ]);
    expect(until(12).closing).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 0n });
    const from12 = statement([], { events: onTwelfth, period: { from: day(13), to: day(31) } });
    expect(from12.opening).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 0n });
  });

  it('does not know a cancellation after the end of the period', () => {
    const { end, closing } = statement([], { events, period: { from: day(5), to: day(13) } });
    expect(end).toBeNull();
    expect(closing).toEqual({ dueSoFarMinor: 150n, owedInTotalMinor: 300n });
  });
});

describe('the statement of a written-off account', () => {
  const events = [OPENED, ended('written_off', 14, 180n)];

  it('makes only the paid part of the total due, and makes each recovered amount due', () => {
    const { rows, end, balanceMinor, creditMinor } = statement([payment(1, 5, 120n), payment(2, 20, 60n)], {
      events,
    });
    expect(outline(rows)).toEqual([
      '5 opened 300 charged 300: 0/300',
      '5 deposit 100 due 100: 100/300',
      '5 payment 120 paid 120: -20/180',
      '12 instalment 50 due 50: 30/180',
      '14 written_off 180 due -30: 0/180',
      '20 payment 60 paid 60: -60/120',
      '20 recovery 60 due 60: 0/120',
    ]);
    expect({ end, balanceMinor, creditMinor }).toEqual({
      end: 'written_off',
      balanceMinor: 120n,
      creditMinor: 0n,
    });
  });

  it('starts with nothing due after the write-off', () => {
    const { opening, rows, closing } = statement([payment(1, 5, 120n), payment(2, 20, 60n)], {
      events,
      period: { from: day(15), to: day(31) },
    });
    expect(opening).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 180n });
    expect(outline(rows)).toEqual(['20 payment 60 paid 60: -60/120', '20 recovery 60 due 60: 0/120']);
    expect(closing).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 120n });
  });

  it('recovers at most the written-off amount, and the rest is credit', () => {
    const money = [payment(1, 5, 120n), payment(2, 20, 200n), payment(3, 21, 10n)];
    const { rows, creditMinor } = statement(money, { events, period: { from: day(15), to: day(31) } });
    expect(outline(rows)).toEqual([
      '20 payment 200 paid 200: -200/-20',
      '20 recovery 180 due 180: -20/-20',
      '21 payment 10 paid 10: -30/-30',
    ]);
    expect(creditMinor).toBe(30n);
  });

  it('takes a recovery back when credit leaves the account that was not there', () => {
    const money = [payment(1, 5, 120n), payment(2, 20, 180n), creditMove('refund', 3, 21, 30n)];
    const { rows, closing } = statement(money, { events, period: { from: day(20), to: day(31) } });
    expect(outline(rows)).toEqual([
      '20 payment 180 paid 180: -180/0',
      '20 recovery 180 due 180: 0/0',
      '21 refund 30 due -30 paid -30: 0/30',
    ]);
    expect(closing).toEqual({ dueSoFarMinor: 0n, owedInTotalMinor: 30n });
  });

  it('has no due amount if the account was not activated', () => {
    const { rows } = statement([], { events, activated: false });
    expect(outline(rows)).toEqual(['5 opened 300 charged 300: 0/300', '14 written_off 180: 0/300']);
  });
});

describe('the rows of one day', () => {
  it('are the opening, the item, money, the end, money that was posted after the end, and reversals', () => {
    const money = [payment(200, 12, 10n), payment(1, 12, 20n), payment(2, 10, 30n, { reversedOn: day(12) })];
    const events = [OPENED, ended('written_off', 12, 280n)];
    const { rows } = statement(money, { events, period: { from: day(12), to: day(12) } });
    expect(outline(rows)).toEqual([
      '12 instalment 50 due 50: 150/300',
      '12 payment 20 paid 20: 130/280',
      '12 written_off 280 due -130: 0/280',
      '12 payment 10 paid 10: -10/270',
      '12 recovery 10 due 10: 0/270',
      '12 reversal 30: 0/270',
    ]);
  });

  it('have money without a known ledger event before the end', () => {
    const events = [OPENED, ended('written_off', 12, 280n)];
    const { rows } = statement([payment(1, 12, 20n, { ledgerEventId: null })], {
      events,
      period: { from: day(12), to: day(12) },
    });
    expect(rows.map(({ type }) => type)).toEqual(['instalment', 'payment', 'written_off']);
  });

  it('have payments before credit moves, and each in the order of ids', () => {
    const sorted = [
      payment(9, 11, 1n),
      payment(1, 12, 1n),
      payment(4, 12, 1n),
      creditMove('transfer_in', 2, 12, 1n),
      creditMove('transfer_in', 3, 12, 1n),
      payment(2, 13, 1n),
    ];
    expect([...sorted].reverse().sort(compareMoney)).toEqual(sorted);
    const period = { from: day(10), to: day(13) };
    const { rows } = statement([...sorted].reverse(), { period });
    expect(rows.flatMap(({ money }) => money ?? [])).toEqual(sorted);
  });
});

describe('a statement with too many rows', () => {
  it('is refused, with the advice to request a shorter period', () => {
    expect(() => refuseTooMany(MAX_ROWS)).not.toThrow();
    expect(() => refuseTooMany(10, 10)).not.toThrow();
    try {
      refuseTooMany(11, 10);
      expect.fail();
    } catch (error) {
      const message = 'a statement has at most 10 rows; request a shorter period';
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).details).toEqual({
        fields: [
          { path: 'from', message },
          { path: 'to', message },
        ],
      });
    }
  });

  it('counts the second row of a recovery', () => {
    const money = Array.from({ length: MAX_ROWS / 2 }, (_, at) => payment(200 + at, 20, 1n));
    const terms = { ...TERMS, depositMinor: 1_000_000n };
    const events = [OPENED, ended('written_off', 14, 1_000_000n)];
    const period = { from: day(15), to: day(31) };
    expect(statement(money, { terms, events, period }).rows).toHaveLength(MAX_ROWS);
    expect(() => statement([...money, payment(1, 20, 1n)], { terms, events, period })).toThrow(AppError);
  });
});
