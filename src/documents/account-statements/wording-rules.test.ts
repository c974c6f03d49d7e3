import { describe, expect, it } from 'vitest';
import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { ChangedInstalments } from '../../accounts/plan-changes/outcome-rules.ts';
import type { Terms } from '../../accounts/schedule/rules.ts';
import type { PlanChangeKind } from '../../core/database/tables.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import type { Cover, MoneyMove } from './allocation-rules.ts';
import { fullLines, shortLines } from './folding-rules.ts';
import type { AccountEvent, Row } from './rules.ts';
import {
  coverageOfRow,
  describeDays,
  describeEnds,
  describeRow,
  describeRows,
  plainSpelling,
  printedSpelling,
} from './wording-rules.ts';

const day = (text: string) => text as PlainDate;
const DAY = day('2026-11-02');
const PLAIN = plainSpelling(2, 'en');
const PLAIN_SWAHILI = plainSpelling(2, 'sw');

/** A deposit of 20.00 and 10 instalments of 5.00. */
const TERMS: Terms = {
  depositMinor: 2000n,
  instalmentMinor: 500n,
  instalmentCount: 10,
  frequency: 'weekly',
  graceDays: 3,
  activationDate: DAY,
};

function row(fields: Partial<Row>): Row {
  return {
    type: 'payment',
    date: DAY,
    amountMinor: 123_456n,
    chargedMinor: 0n,
    dueMinor: 0n,
    paidMinor: 0n,
    dueSoFarMinor: 0n,
    owedInTotalMinor: 0n,
    item: null,
    covers: [],
    creditMinor: 0n,
    money: null,
    event: null,
    change: null,
    terms: TERMS,
    ...fields,
  };
}

const money: MoneyMove = {
  type: 'payment',
  date: DAY,
  amountMinor: 123_456n,
  reversedOn: null,
  paymentId: 31,
  creditMoveId: null,
  otherAccountId: null,
  transactionRef: null,
  paymentMethod: 'Cash',
  ledgerEventId: 10,
  reversalEventId: null,
};
const reversed: MoneyMove = { ...money, reversedOn: day('2026-12-24') };
const event: AccountEvent = {
  type: 'cancelled',
  date: DAY,
  amountMinor: 123_456n,
  ledgerEventId: 3,
};

/** The amounts, numbers, days, accounts and methods in a text. Languages have them in a different order. */
const figuresIn = (text: string) => text.match(/ACC\d+|Cash|\d[\d.,-]*\d|\d/g)?.sort();

function changed(
  kind: PlanChangeKind,
  chargedMinor = 0n,
  instalments: ChangedInstalments | null = null,
): Partial<Row> {
  const change = { id: 4, kind, date: DAY, reason: 'A test', before: TERMS, after: TERMS, instalments };
  return { type: 'plan_change', chargedMinor, change };
}

const DATES = { firstDueDate: day('2027-01-04'), lastDueDate: day('2027-02-01') };

/** Expects a translation with the same figures. */
function expectTranslation(inSwahili: string, inEnglish: string): void {
  expect(inSwahili).not.toBe(inEnglish);
  expect(figuresIn(inSwahili)).toEqual(figuresIn(inEnglish));
}

describe('the text of a row', () => {
  const ROWS: [text: string, row: Partial<Row>][] = [
    ['Account opened: 1234.56 in total', { type: 'opened', event }],
    ['Deposit', { type: 'deposit', item: 0 }],
    ['Instalment 3 of 10', { type: 'instalment', item: 3 }],
    ['Payment by Cash', { type: 'payment', money }],
    ['Payment by Cash, reversed on 2026-12-24: does not count', { type: 'payment', money: reversed }],
    [
      `Credit received from ${formatAccountNumber(7)}`,
      { type: 'transfer_in', money: { ...money, otherAccountId: 7 } },
    ],
    ['Credit received from another account', { type: 'transfer_in', money }],
    [
      `Credit given to ${formatAccountNumber(7)}`,
      { type: 'transfer_out', money: { ...money, otherAccountId: 7 } },
    ],
    ['Credit paid back by Cash', { type: 'refund', money }],
    ['Reversal of the payment of 1234.56 by Cash on 2026-11-02', { type: 'reversal', money: reversed }],
    ['Account cancelled', { type: 'cancelled', event }],
    ['1234.56 written off', { type: 'written_off', event }],
    ['Recovered: 1234.56 of the written-off amount', { type: 'recovery', money }],
    ['Discount of 1234.56', changed('discount', -123_456n)],
    ['Price lowered by 1234.56', changed('price_correction', -123_456n)],
    ['Price raised by 1234.56', changed('price_rise', 123_456n)],
    ['Instalments deferred', changed('deferral')],
    ['Instalments revised', changed('revision')],
    [
      'Instalments deferred, the first of 12 from 2026-12-07 to 2027-01-04',
      changed('deferral', 0n, { ...DATES, count: 12, movedFrom: day('2026-12-07') }),
    ],
    [
      'Instalments deferred, from 2026-12-07 to 2027-01-04',
      changed('deferral', 0n, { ...DATES, count: 1, movedFrom: day('2026-12-07') }),
    ],
    [
      'Instalments revised, 5 from 2027-01-04 to 2027-02-01',
      changed('revision', 0n, { ...DATES, count: 5, movedFrom: null }),
    ],
    ['Pay plan corrected, price lowered by 1234.56', changed('sale_correction', -123_456n)],
    ['Discount for early payoff, price lowered by 1234.56', changed('payoff', -123_456n)],
    ['Change of the instalments undone', changed('undo')],
    ['Change of the instalments undone, price raised by 1234.56', changed('undo', 123_456n)],
    ['Instalments changed before the import', changed('imported')],
  ];

  it.each(ROWS)('says what happened: %s', (text, fields) => {
    expect(describeRow(row(fields), PLAIN)).toBe(text);
  });

  it.each(ROWS)('has the same figures in Swahili: %s', (text, fields) => {
    expectTranslation(describeRow(row(fields), PLAIN_SWAHILI), text);
  });

  it('is in Swahili on request', () => {
    const inSwahili = printedSpelling(2, 'sw');
    expect(describeRow(row({ type: 'instalment', item: 3 }), inSwahili)).toBe('Awamu ya 3 kati ya 10');
    expect(describeRow(row({ type: 'payment', money: reversed }), inSwahili)).toBe(
      'Malipo kwa Cash, yalibatilishwa 24 Des 2026: hayahesabiwi',
    );
  });

  it('has dates and amounts for readers in a printed statement', () => {
    const printed = printedSpelling(2, 'en');
    const reversal = row({ type: 'reversal', money: reversed });
    expect(describeRow(reversal, printed)).toBe('Reversal of the payment of 1,234.56 by Cash on 2 Nov 2026');
    expect(printed.date(day('2026-01-31'))).toBe('31 Jan 2026');
    expect(printed.date(day('2026-12-01'))).toBe('1 Dec 2026');
  });
});

describe('the first and the last line of a file', () => {
  it('say in both languages what their balances are', () => {
    const { opening, closing } = describeEnds('en');
    expect([opening, closing]).toEqual([
      'Balances before this day',
      'Balances at the end of this day, and sums of the period',
    ]);
    expectTranslation(describeEnds('sw').opening, opening);
    expectTranslation(describeEnds('sw').closing, closing);
  });
});

describe('the coverage', () => {
  const cover = (item: number, amountMinor: bigint, paymentDate = DAY): Cover => ({
    paymentId: 31,
    creditMoveId: null,
    paymentDate,
    item,
    dueDate: DAY,
    amountMinor,
  });

  it('of a payment is empty without an item and credit', () => {
    expect(coverageOfRow(row({}), PLAIN)).toBe('');
  });

  const PAYMENTS: [what: string, covers: Cover[], creditMinor: bigint, text: string][] = [
    ['the deposit', [cover(0, 2000n)], 0n, 'deposit'],
    ['a part of the deposit', [cover(0, 1999n)], 0n, '19.99 of deposit'],
    ['one instalment', [cover(3, 500n)], 0n, 'instalment 3'],
    ['neighbouring instalments', [cover(3, 500n), cover(4, 500n), cover(5, 500n)], 0n, 'instalments 3 to 5'],
    ['a part of an instalment', [cover(3, 499n)], 0n, '4.99 of instalment 3'],
    [
      'the deposit and instalments',
      [cover(0, 2000n), cover(1, 500n), cover(2, 500n)],
      0n,
      'deposit, instalments 1 to 2',
    ],
    [
      'instalments with a part at each end',
      [cover(1, 100n), cover(2, 500n), cover(3, 500n), cover(4, 150n)],
      0n,
      '1.00 of instalment 1, instalments 2 to 3, 1.50 of instalment 4',
    ],
    [
      'instalments that are not neighbours',
      [cover(1, 500n), cover(3, 500n)],
      0n,
      'instalment 1, instalment 3',
    ],
    ['an instalment and credit', [cover(10, 500n)], 20n, 'instalment 10, 0.20 credit'],
    ['only credit', [], 20n, '0.20 credit'],
  ];

  it.each(PAYMENTS)('of a payment names the items and the credit: %s', (_, covers, creditMinor, text) => {
    expect(coverageOfRow(row({ covers, creditMinor }), PLAIN)).toBe(text);
  });

  it.each(PAYMENTS)('of a payment has the same figures in Swahili: %s', (_, covers, creditMinor, text) => {
    expectTranslation(coverageOfRow(row({ covers, creditMinor }), PLAIN_SWAHILI), text);
  });

  const ITEMS: [text: string, covers: Cover[]][] = [
    ['open', []],
    ['paid 2026-11-02', [cover(3, 500n)]],
    ['paid 2026-11-09', [cover(3, 200n), cover(3, 300n, day('2026-11-09'))]],
    ['2.00 paid, 3.00 open', [cover(3, 100n), cover(3, 100n)]],
  ];

  it.each(ITEMS)('of an item has the same figures in Swahili: %s', (text, covers) => {
    const item = row({ type: 'instalment', item: 3, amountMinor: 500n, covers });
    expectTranslation(coverageOfRow(item, PLAIN_SWAHILI), text);
  });

  it.each(ITEMS)('of an item says how much is paid, and the day of the last payment: %s', (text, covers) => {
    const item = row({ type: 'instalment', item: 3, amountMinor: 500n, covers });
    expect(coverageOfRow(item, PLAIN)).toBe(text);
  });

  it('of the deposit is that of an item, too', () => {
    expect(coverageOfRow(row({ type: 'deposit', item: 0, amountMinor: 2000n }), PLAIN)).toBe('open');
  });
});

describe('a printed run of instalments', () => {
  const instalment = (item: number, fields: Partial<Row> = {}) =>
    row({ type: 'instalment', item, date: day(`2026-11-0${item}`), amountMinor: 500n, ...fields });
  const paidOn = (date: string): Partial<Row> => ({
    covers: [{ amountMinor: 500n, paymentDate: day(date) } as Cover],
  });
  const half: Partial<Row> = { covers: [{ amountMinor: 250n, paymentDate: DAY } as Cover] };

  it('has the instalments between two other rows, apart by what is paid and by amount', () => {
    const rows = [
      row({ type: 'deposit', item: 0 }),
      instalment(1, paidOn('2026-11-01')),
      instalment(2, paidOn('2026-11-03')),
      row({ type: 'payment' }),
      instalment(3, paidOn('2026-11-03')),
      instalment(4, half),
      instalment(5),
      instalment(6),
      instalment(7, { amountMinor: 100n }),
    ];
    const groups = fullLines(rows).map((line) => line.rows);
    expect(groups.flat()).toEqual(rows);
    expect(groups.map((group) => group.map(({ item }) => item))).toEqual([
      [0],
      [1, 2],
      [null],
      [3],
      [4],
      [5, 6],
      [7],
    ]);
  });

  it('says which instalments, how many, and since when they are paid, or how much of them is paid', () => {
    const printed = printedSpelling(2, 'en');
    const first = instalment(1, paidOn('2026-11-01'));
    const paid: [Row, Row] = [first, instalment(2, paidOn('2026-12-03'))];
    const description = 'Instalments 1 to 2 of 10: 2 × 5.00';
    expect(describeRows(paid, printed)).toEqual({ description, detail: 'paid 1 Nov – 3 Dec 2026' });
    const detail = '7.50 paid, 2.50 open';
    expect(describeRows([first, instalment(2, half)], printed)).toEqual({ description, detail });
    const open: [Row, Row, Row] = [instalment(5), instalment(6), instalment(7)];
    expect(describeRows(open, printedSpelling(2, 'sw'))).toEqual({
      description: 'Awamu ya 5 hadi 7 kati ya 10: 3 × 5.00',
      detail: 'haijalipwa',
    });
  });
});

describe('a line of several payments', () => {
  const cover = (item: number, amountMinor: bigint) => ({ item, amountMinor, dueDate: DAY }) as Cover;
  const payments: [Row, Row] = [
    row({ money, covers: [cover(3, 400n)] }),
    row({ money, covers: [cover(3, 100n), cover(4, 500n), cover(5, 200n)], creditMinor: 5n }),
  ];

  it('says how many, how they were paid, and what they cover together', () => {
    expect(describeRows(payments, printedSpelling(2, 'en'))).toEqual({
      description: '2 payments by Cash',
      detail: 'instalments 3 to 4, 2.00 of instalment 5, 0.05 credit',
    });
    const byPhone = row({ money: { ...money, paymentMethod: 'Mobile money' } });
    expect(describeRows([payments[0], byPhone], printedSpelling(2, 'sw')).description).toBe(
      'Malipo 2 kwa Cash, Mobile money',
    );
  });

  it('is not possible for rows that are never folded', () => {
    const rows: [Row, Row] = [row({ type: 'refund', money }), row({ type: 'refund', money })];
    expect(() => describeRows(rows, PLAIN)).toThrow('refund');
  });

  it('has the sum of recoveries', () => {
    const recovery = row({ type: 'recovery', amountMinor: 150n, money });
    expect(describeRows([recovery, recovery], PLAIN)).toEqual({
      description: 'Recovered: 3.00 of the written-off amount',
      detail: '',
    });
  });

  it('has the first and the last day', () => {
    const days = (...texts: string[]) => describeDays(texts.map(day), printedSpelling(2, 'en'));
    expect(days('2026-11-02', '2026-11-02')).toBe('2 Nov 2026');
    expect(days('2026-11-30', '2026-11-02', '2026-11-09')).toBe('2–30 Nov 2026');
    expect(days('2026-11-30', '2026-12-02')).toBe('30 Nov – 2 Dec 2026');
    expect(days('2026-11-02', '2027-11-02')).toBe('2 Nov 2026 – 2 Nov 2027');
    expect(describeDays([], PLAIN)).toBe('');
    expect(describeDays([day('2026-11-02'), day('2026-11-03')], PLAIN)).toBe('2026-11-02 – 2026-11-03');
  });
});

describe('the lines of a short statement', () => {
  /** A number of days, on each of which an instalment is due and paid. */
  const daily = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const date = addDays(day('2026-11-01'), at);
      return [
        row({ type: 'instalment', item: at + 1, date, amountMinor: 5n, dueMinor: 5n }),
        row({ date, amountMinor: 5n, paidMinor: 5n, money: { ...money, date } }),
      ];
    }).flat();

  it('are all payments, if they are few', () => {
    expect(shortLines(daily(17))).toEqual(fullLines(daily(17)));
    expect(shortLines(daily(17))).toHaveLength(34);
  });

  it('are the instalments and the payments of each month, and balances after the last line of a month', () => {
    const lines = shortLines(daily(61));
    expect(
      lines.map(({ rows: [{ type, date }], ...line }) => [date, type, line.dueMinor, line.paidMinor]),
    ).toEqual([
      ['2026-11-01', 'instalment', 150n, 0n],
      ['2026-11-01', 'payment', 0n, 150n],
      ['2026-12-01', 'instalment', 155n, 0n],
      ['2026-12-01', 'payment', 0n, 155n],
    ]);
    expect(lines.map(({ after }) => after !== null)).toEqual([false, true, false, true]);
  });

  it('are the payments and the recoveries of each month after a write-off', () => {
    const rows = daily(60)
      .filter(({ type }) => type === 'payment')
      .flatMap((paid) => [paid, { ...paid, type: 'recovery' as const }]);
    expect(shortLines(rows).map((line) => `${line.rows[0].type} ${line.rows.length}`)).toEqual([
      ...['payment 30', 'recovery 30', 'payment 30', 'recovery 30'],
    ]);
  });

  it('have a reversed payment, and months without a payment, on one line each', () => {
    const rows = daily(40);
    const late = daily(150).filter(({ type, date }) => type === 'instalment' && date > '2026-12-10');
    const wrong = row({ date: day('2026-11-15'), money: reversed });
    const lines = shortLines([...rows.slice(0, 30), wrong, ...rows.slice(30), ...late]);
    expect(lines.map(({ rows: own }) => `${own[0].type} ${own.length}`)).toEqual([
      ...['instalment 15', 'payment 15', 'payment 1', 'instalment 15', 'payment 15'],
      ...['instalment 31', 'payment 10', 'instalment 89'],
    ]);
  });
});
