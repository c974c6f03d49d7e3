import { beforeAll, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import { dataOf, newAccount, pay, reverse, setToday, useService } from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

// The figures of a past day or month use the terms that an account had then.

const service = useService();

type Data = Answer['body'];

async function change(id: number, body: object): Promise<Data> {
  const path = `/accounts/${id}/plan-changes`;
  const { version, paid } = await dataOf(service.call('POST', path, body));
  const confirmed = { reason: 'a test', ...body, confirm: { version, paid } };
  return dataOf(service.call('POST', path, confirmed), 201);
}

const summary = (startDate: string, endDate: string): Promise<Data> =>
  dataOf(service.call('GET', `/reports/accounts/summary?startDate=${startDate}&endDate=${endDate}`));

const MONTHS: [start: string, end: string][] = [
  ['2026-01-01', '2026-01-31'],
  ['2026-02-01', '2026-02-28'],
  ['2026-03-01', '2026-03-31'],
  ['2026-04-01', '2026-04-30'],
  ['2026-05-01', '2026-05-31'],
  ['2026-06-01', '2026-06-30'],
];

/** The summary of each month, as it was on the last day of the month. */
const summaries: Data[] = [];

const statement = (id: number, from: string, to: string): Promise<Data> =>
  dataOf(service.call('GET', `/accounts/${id}/statement?from=${from}&to=${to}`));

/** The statement of each account for each month, as it was on the last day of the month. */
const statements: { id: number; month: number; made: Data }[] = [];

const ids: number[] = [];

/** The figures without the addresses of lists, which a past day does not have. */
const figuresOf = (made: Data) =>
  JSON.parse(JSON.stringify(made, (name, value) => (name === 'accountsUrl' ? undefined : value)));

beforeAll(async () => {
  setToday(service, '2026-01-05');
  // The weekly demo plan: a deposit of 2,000, and 52 instalments of 400 from 12 January on.
  for (let n = 0; n < 6; n++) ids.push((await newAccount(service, { activationDate: '2026-01-05' })).id);
  const [deferred, discounted, revised, completed, raised, undone] = ids as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  for (const id of ids) await pay(service, id, 2_400);

  const work: (() => Promise<unknown>)[][] = [
    [
      () => change(discounted, { kind: 'discount', amount: 1_000 }),
      () => change(undone, { kind: 'deferral', from: '2026-02-02', periods: 4, arrears: 'behind' }),
    ],
    [
      () => change(deferred, { kind: 'deferral', from: '2026-03-02', periods: 3, arrears: 'behind' }),
      () => pay(service, completed, 21_000),
      () => change(undone, { kind: 'undo' }),
    ],
    [
      () => pay(service, revised, 1_000),
      () =>
        change(revised, {
          ...{ kind: 'revision', firstDueDate: '2026-04-15', instalmentCount: 5, frequency: 'monthly' },
          arrears: 'move',
        }),
      () => change(completed, { kind: 'price_correction', amount: 2_000 }),
    ],
    [
      () => change(raised, { kind: 'price_rise', amount: 1_600, consent: 'in writing' }),
      () => change(discounted, { kind: 'discount', amount: 500 }),
      async () => reverse(service, (await pay(service, discounted, 800)).id),
      () => change(completed, { kind: 'undo' }),
    ],
    [
      () => change(deferred, { kind: 'deferral', from: '2026-06-01', days: 9 }),
      () => pay(service, deferred, 3_000),
      () => change(discounted, { kind: 'undo' }),
    ],
    [() => change(revised, { kind: 'price_correction', amount: 3_000 })],
  ];
  for (const [month, [start, end]] of MONTHS.entries()) {
    setToday(service, `${end.slice(0, 8)}20`);
    for (const step of work[month] ?? []) await step();
    setToday(service, end);
    summaries.push(await summary(start, end));
    for (const id of ids) statements.push({ id, month, made: await statement(id, start, end) });
  }
  setToday(service, '2026-07-10');
}, 120_000);

describe('the summary of a past month', () => {
  it.each(MONTHS.map((dates, at) => [...dates, at] as const))(
    'from %s to %s is the same as on its last day, in spite of later changes',
    async (start, end, at) => {
      expect(figuresOf(await summary(start, end))).toEqual(figuresOf(summaries[at]));
    },
  );

  it('adds up with the other months to the figures of all months', async () => {
    const all = await summary('2026-01-01', '2026-06-30');
    const sums: [string, (made: Data) => number][] = [
      ['collected', ({ collected }) => collected],
      ['contract value of opened accounts', ({ opened }) => opened.contractValue],
      ['contract value of activated accounts', ({ activated }) => activated.contractValue],
      ['collected instalments', ({ collectionRate }) => collectionRate.numerator],
      ['instalments due', ({ collectionRate }) => collectionRate.denominator],
    ];
    for (const [what, read] of sums) {
      const months = summaries.reduce((sum, made) => sum + read(made), 0);
      expect(Math.round(months * 100), what).toBe(Math.round(read(all) * 100));
    }
    expect(all.opened.contractValue).toBe(6 * 22_800 - 1_000 + 1_600 - 3_000);
  });

  it('has the receivables with the prices of its last day', () => {
    const prices = [-1_000, -1_000, -1_000, -1_500 + 1_600, -1_000 + 1_600, -1_000 + 1_600 - 3_000];
    const total = 6 * 22_800;
    // The account that is paid in full has its corrected price in March only.
    const corrections = [0, 0, -2_000, 0, 0, 0];
    expect(summaries.map(({ contractValue }) => contractValue - total)).toEqual(
      prices.map((sum, at) => sum + (corrections[at] ?? 0)),
    );
  });

  it('leaves books in balance', () => expectBooksToBalance(service.context));
});

describe('the statement of a past month', () => {
  it('is the same as on its last day, in spite of later changes', async () => {
    for (const { id, month, made } of statements) {
      const [from, to] = MONTHS[month] as [string, string];
      const { status: _then, ...now } = await statement(id, from, to);
      const { status: _present, ...then } = made;
      expect(now).toEqual(then);
    }
  });

  it('begins with the closing figures of the month before', () => {
    for (const id of ids) {
      const own = statements.filter((one) => one.id === id).map(({ made }) => made);
      for (const [at, { opening }] of own.entries()) {
        const { dueSoFar, owedInTotal } = own[at - 1]?.closing ?? { dueSoFar: 0, owedInTotal: 0 };
        expect(opening).toEqual({ dueSoFar, owedInTotal });
      }
    }
  });
});

describe('the statement of all months', () => {
  it('shows each change as a row, with its reason', async () => {
    const changes = async (id: number) =>
      (await statement(id, '2026-01-01', '2026-06-30')).rows
        .filter(({ type }: Data) => type === 'plan_change')
        .map(({ date, description, due, charged, reason }: Data) => [
          date,
          description,
          due,
          charged,
          reason,
        ]);
    const [deferred, discounted, , , , undone] = ids as [number, number, number, number, number, number];
    expect(await changes(discounted)).toEqual([
      ['2026-01-20', 'Discount of 1000.00', 0, -1_000, 'a test'],
      ['2026-04-20', 'Discount of 500.00', 0, -500, 'a test'],
      ['2026-05-20', 'Change of the instalments undone, price raised by 500.00', 0, 500, 'a test'],
    ]);
    // Until 20 February, the instalments of 19 January to 16 February had fallen due: 5 × 400. They are due later.
    expect(await changes(deferred)).toEqual([
      [
        '2026-02-20',
        'Instalments deferred, the first of 45 from 2026-03-02 to 2026-03-23',
        -2_000,
        0,
        'a test',
      ],
      ['2026-05-20', 'Instalments deferred, the first of 40 from 2026-06-01 to 2026-06-10', 0, 0, 'a test'],
    ]);
    // The undo brings back the arrears of 19 January, and four instalments that were moved away from February.
    expect(await changes(undone)).toEqual([
      [
        '2026-01-20',
        'Instalments deferred, the first of 49 from 2026-02-02 to 2026-03-02',
        -400,
        0,
        'a test',
      ],
      ['2026-02-20', 'Change of the instalments undone', 1_600, 0, 'a test'],
    ]);
  });

  it('as CSV has the reasons and the ids of the changes', async () => {
    const [, discounted] = ids;
    const path = `/accounts/${discounted}/statement?from=2026-01-01&to=2026-06-30&format=csv`;
    const { text } = await service.call('GET', path);
    const [header, ...lines] = text.trim().split('\r\n');
    expect(header).toMatch(/ledgerEventId,planChangeId,reason$/);
    const changes = lines.filter((line: string) => line.includes(',plan_change,'));
    expect(changes).toHaveLength(3);
    expect(changes[0]).toMatch(/^2026-01-20,plan_change,"Discount of 1000.00",.*,\d+,"a test"$/);
  });

  it('as PDF is printed', async () => {
    const path = `/accounts/${ids[1]}/statement?from=2026-01-01&to=2026-06-30&format=pdf`;
    const { status, text } = await service.call('GET', path);
    expect(status, text.slice(0, 300)).toBe(200);
    expect(text.slice(0, 5)).toBe('%PDF-');
  });
});
