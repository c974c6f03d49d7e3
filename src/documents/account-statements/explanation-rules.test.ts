import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import type { Terms } from '../../accounts/schedule/rules.ts';
import { ACCOUNT_STATUSES } from '../../accounts/status/rules.ts';
import type { Run } from '../../catalogue/pay-plans/rules.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import { addDays, addMonthsKeepingDay, type PlainDate } from '../../core/values/dates.ts';
import { EXPLANATION_STATES, explainDebt } from './explanation-rules.ts';
import { sayWhy } from './explanation-wording-rules.ts';
import { quoteOf } from './quote-rules.ts';

const START = '2026-01-01' as PlainDate;
const TERMS: Terms = {
  depositMinor: 150_000n,
  instalmentMinor: 6_000n,
  instalmentCount: 365,
  frequency: 'daily',
  graceDays: 0,
  activationDate: START,
};

interface Case {
  terms?: Partial<Terms>;
  status?: AccountStatus;
  paid: number;
  date: PlainDate;
  isToday?: boolean;
  language?: 'en' | 'sw';
}

function explain({ terms = {}, status = 'active', paid, date, isToday = true, language = 'en' }: Case) {
  const account = { terms: { ...TERMS, ...terms }, status, paidMinor: BigInt(paid) };
  const why = explainDebt(account, quoteOf(account, { date, amountMinor: null }), date);
  return { ...why, sentence: sayWhy(why, { date, isToday, decimals: 2, language }) };
}

/** Daily instalments of these amounts. */
const runsOf = (...amounts: bigint[]): Run[] =>
  amounts.map((amountMinor, i) => ({
    anchor: START,
    unit: 'day',
    every: 1,
    place: i + 1,
    count: 1,
    amountMinor,
  }));

const daysLater = (days: number) => addDays(START, days);

describe('the sentence', () => {
  it.each<[string, Case, string]>([
    [
      'late',
      { paid: 954_000, date: daysLater(289) },
      'Deposit 1,500 + 289 instalments of 60 due until today = 18,840; paid 9,540; 9,240 late since 16 May 2026, 60 due today.',
    ],
    [
      'suspended',
      { paid: 954_000, date: daysLater(289), status: 'suspended' },
      'Deposit 1,500 + 289 instalments of 60 due until today = 18,840; paid 9,540; 9,240 late since 16 May 2026, 60 due today. The account is suspended.',
    ],
    [
      'with money due today',
      { paid: 150_000, date: daysLater(1) },
      'Deposit 1,500 + 1 instalment of 60 due until today = 1,560; paid 1,500; 60 due today.',
    ],
    [
      'on time',
      { paid: 156_000, date: daysLater(1) },
      'Deposit 1,500 + 1 instalment of 60 due until today = 1,560; paid 1,560; nothing is due; next 60 on 3 Jan 2026.',
    ],
    [
      'paid ahead, with cents',
      { paid: 160_050, date: daysLater(1) },
      'Deposit 1,500 + 1 instalment of 60 due until today = 1,560; paid 1,600.50; 40.50 paid ahead; next 19.50 on 3 Jan 2026.',
    ],
    [
      'with instalments of several amounts',
      { terms: { runs: runsOf(6_000n, 4_000n, 6_000n) }, paid: 150_000, date: daysLater(3) },
      'Deposit 1,500 + 2 instalments of 60 + 1 instalment of 40 due until today = 1,660; paid 1,500; 100 late since 2 Jan 2026, 60 due today.',
    ],
    [
      'with instalments of many amounts',
      { terms: { runs: runsOf(6_000n, 4_000n, 3_000n, 2_000n) }, paid: 150_000, date: daysLater(4) },
      'Deposit 1,500 + 4 instalments of 150 together due until today = 1,650; paid 1,500; 130 late since 2 Jan 2026, 20 due today.',
    ],
    [
      'without a deposit, on the first day',
      { terms: { depositMinor: 0n }, paid: 0, date: START },
      'Nothing due until today = 0; paid 0; nothing is due; next 60 on 2 Jan 2026.',
    ],
    [
      'pending',
      { paid: 0, date: addDays(START, -3), status: 'pending' },
      'Deposit 1,500 + 365 instalments of 60 = 23,400; paid 0; the first payment is due on 1 Jan 2026.',
    ],
    [
      'completed with credit',
      { paid: 2_350_000, date: daysLater(20), status: 'completed' },
      'Deposit 1,500 + 365 instalments of 60 = 23,400; paid 23,500; paid in full; 100 credit.',
    ],
    [
      'cancelled',
      { paid: 10_000, date: daysLater(20), status: 'cancelled' },
      'The sale is cancelled, so nothing is due; paid 100; 100 credit.',
    ],
    [
      'written off',
      { paid: 10_000, date: daysLater(20), status: 'written_off' },
      'Deposit 1,500 + 365 instalments of 60 = 23,400; paid 100; 23,300 is unpaid and was written off.',
    ],
    [
      'repossessed, for another day',
      { paid: 150_000, date: daysLater(2), status: 'repossessed', isToday: false },
      'Deposit 1,500 + 2 instalments of 60 due until 3 Jan 2026 = 1,620; paid 1,500; 60 late since 2 Jan 2026, 60 due on 3 Jan 2026. The product was taken back.',
    ],
    [
      'in Swahili',
      { paid: 954_000, date: daysLater(289), language: 'sw' },
      'Malipo ya awali 1,500 + awamu 289 za 60, kufikia leo = 18,840; umelipa 9,540; 9,240 imechelewa tangu 16 Mei 2026, 60 inadaiwa leo.',
    ],
    [
      'in Swahili, with one instalment due on another day',
      { paid: 150_000, date: daysLater(1), language: 'sw', isToday: false },
      'Malipo ya awali 1,500 + awamu 1 ya 60, kufikia 2 Jan 2026 = 1,560; umelipa 1,500; 60 inadaiwa 2 Jan 2026.',
    ],
    [
      'in Swahili, on time',
      { paid: 156_000, date: daysLater(1), language: 'sw' },
      'Malipo ya awali 1,500 + awamu 1 ya 60, kufikia leo = 1,560; umelipa 1,560; hakuna kinachodaiwa; malipo yajayo 60 tarehe 3 Jan 2026.',
    ],
    [
      'in Swahili, paid ahead',
      { paid: 160_050, date: daysLater(1), language: 'sw' },
      'Malipo ya awali 1,500 + awamu 1 ya 60, kufikia leo = 1,560; umelipa 1,600.50; 40.50 imelipwa mapema; malipo yajayo 19.50 tarehe 3 Jan 2026.',
    ],
    [
      'in Swahili, pending',
      { paid: 0, date: addDays(START, -3), status: 'pending', language: 'sw' },
      'Malipo ya awali 1,500 + awamu 365 za 60 = 23,400; umelipa 0; malipo ya kwanza ni tarehe 1 Jan 2026.',
    ],
    [
      'in Swahili, completed with credit',
      { paid: 2_350_000, date: daysLater(20), status: 'completed', language: 'sw' },
      'Malipo ya awali 1,500 + awamu 365 za 60 = 23,400; umelipa 23,500; imelipwa yote; salio la ziada 100.',
    ],
    [
      'cancelled, and lacks money that left it',
      { paid: -10_000, date: daysLater(20), status: 'cancelled' },
      'The sale is cancelled, so nothing is due; paid -100; 100 is missing, because a payment was reversed after its credit had left the account.',
    ],
    [
      'in Swahili, cancelled, and lacks money that left it',
      { paid: -10_000, date: daysLater(20), status: 'cancelled', language: 'sw' },
      'Mauzo yametenguliwa, hakuna kinachodaiwa; umelipa -100; 100 inakosekana, kwa sababu malipo yalibatilishwa baada ya salio lake kuhamishwa.',
    ],
    [
      'in Swahili, written off',
      { paid: 10_000, date: daysLater(20), status: 'written_off', language: 'sw' },
      'Malipo ya awali 1,500 + awamu 365 za 60 = 23,400; umelipa 100; 23,300 haijalipwa na imefutwa vitabuni.',
    ],
    [
      'in Swahili, suspended',
      { paid: 156_000, date: daysLater(1), status: 'suspended', language: 'sw' },
      'Malipo ya awali 1,500 + awamu 1 ya 60, kufikia leo = 1,560; umelipa 1,560; hakuna kinachodaiwa; malipo yajayo 60 tarehe 3 Jan 2026. Akaunti imesimamishwa.',
    ],
    [
      'completed without credit',
      { paid: 2_340_000, date: daysLater(20), status: 'completed' },
      'Deposit 1,500 + 365 instalments of 60 = 23,400; paid 23,400; paid in full.',
    ],
    [
      'late with nothing due on the day',
      { terms: { frequency: 'weekly' }, paid: 150_000, date: daysLater(8) },
      'Deposit 1,500 + 1 instalment of 60 due until today = 1,560; paid 1,500; 60 late since 8 Jan 2026.',
    ],
    [
      'late with the deposit, which is no whole amount',
      { terms: { depositMinor: 150_050n }, paid: 0, date: daysLater(1) },
      'Deposit 1,500.50 + 1 instalment of 60 due until today = 1,560.50; paid 0; 1,500.50 late since 1 Jan 2026, 60 due today.',
    ],
    [
      'paid ahead, with five cents',
      { paid: 157_005, date: daysLater(1) },
      'Deposit 1,500 + 1 instalment of 60 due until today = 1,560; paid 1,570.05; 10.05 paid ahead; next 49.95 on 3 Jan 2026.',
    ],
  ])('of an account that is %s names its figures', (_, given, sentence) => {
    expect(explain(given).sentence).toBe(sentence);
  });
});

describe('the figures', () => {
  const NOTHING = { lateMinor: 0n, dueOnDateMinor: 0n, aheadMinor: 0n, creditMinor: 0n, remainingMinor: 0n };

  it.each<[string, Case, object]>([
    [
      'late',
      { paid: 150_000, date: daysLater(3) },
      { state: 'late', lateMinor: 12_000n, dueOnDateMinor: 6_000n },
    ],
    ['due', { paid: 153_000, date: daysLater(1) }, { state: 'due', dueOnDateMinor: 3_000n, lateSince: null }],
    ['ahead', { paid: 157_000, date: daysLater(1) }, { state: 'ahead', aheadMinor: 1_000n }],
    ['on time', { paid: 156_000, date: daysLater(1) }, { state: 'up_to_date', lateSince: null }],
    [
      'pending',
      { paid: 100, date: addDays(START, -1), status: 'pending' },
      { state: 'not_started', remainingMinor: 2_339_900n },
    ],
    [
      'completed',
      { paid: 2_340_100, date: daysLater(9), status: 'completed' },
      { state: 'paid_off', creditMinor: 100n },
    ],
    [
      'written off',
      { paid: 100, date: daysLater(9), status: 'written_off' },
      { state: 'written_off', remainingMinor: 2_339_900n },
    ],
  ])('of an account that is %s have only the parts of this state', (_, given, figures) => {
    const why = explain(given);
    expect(why).toMatchObject({ ...NOTHING, ...figures });
    expect(EXPLANATION_STATES).toContain(why.state);
  });

  it('of a cancelled account charge nothing', () => {
    expect(explain({ paid: 100, date: daysLater(9), status: 'cancelled' })).toMatchObject({
      ...NOTHING,
      state: 'cancelled',
      depositMinor: 0n,
      instalmentCount: 0,
      chargedMinor: 0n,
      creditMinor: 100n,
    });
  });
});

const anyCase = fc.record({
  terms: fc.record({
    depositMinor: fc.bigInt({ min: 0n, max: 500_000n }),
    instalmentMinor: fc.bigInt({ min: 1n, max: 100_000n }),
    instalmentCount: fc.integer({ min: 1, max: 120 }),
    frequency: fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const),
  }),
  status: fc.constantFrom(...ACCOUNT_STATUSES),
  // Payments, and reversals and refunds as negative amounts, as parts of the price.
  money: fc.array(fc.double({ min: -0.4, max: 0.7, noNaN: true }), { maxLength: 6 }),
  days: fc.integer({ min: -20, max: 400 }),
  language: fc.constantFrom('en' as const, 'sw' as const),
});

/** The amounts of the sentence in minor units, without numbers of dates. */
function amountsIn(sentence: string): bigint[] {
  const withoutDates = sentence.replace(/\d+ [A-Z][a-z]{2} \d{4}/g, '');
  return (withoutDates.match(/-?\d[\d,]*(?:\.\d+)?/g) ?? []).map((text) => {
    const [whole = '', cents = ''] = text.replaceAll(',', '').split('.');
    return BigInt(`${whole}${cents.padEnd(2, '0')}`);
  });
}

describe('the figures of a random account', () => {
  it('add up to the minor unit, and are those of a count item by item', () => {
    fc.assert(
      fc.property(anyCase, ({ terms, status, money, days, language }) => {
        const total = terms.depositMinor + BigInt(terms.instalmentCount) * terms.instalmentMinor;
        const paid = money.reduce((sum, share) => sum + Math.round(share * Number(total)), 0);
        const date = addDays(START, days);
        const why = explain({ terms, status, paid, date, language });
        expect(why.chargedMinor - why.paidMinor).toBe(
          why.lateMinor + why.dueOnDateMinor + why.remainingMinor - why.aheadMinor - why.creditMinor,
        );
        const instalments = why.instalments.map(({ count, amountMinor }) => BigInt(count) * amountMinor);
        expect(why.chargedMinor).toBe(instalments.reduce((sum, amount) => sum + amount, why.depositMinor));
        expect(why.instalments.reduce((sum, { count }) => sum + count, 0)).toBe(why.instalmentCount);
        for (const part of [why.lateMinor, why.dueOnDateMinor, why.aheadMinor, why.creditMinor])
          expect(part >= 0n).toBe(true);

        if (!['late', 'due', 'ahead', 'up_to_date'].includes(why.state)) return;
        // Independent of the rules of schedules: counts each item that has a date up to the day.
        let [charged, chargedBefore, firstOpen] = [0n, 0n, undefined as PlainDate | undefined];
        for (let item = 0; item <= terms.instalmentCount; item++) {
          const due =
            terms.frequency === 'monthly'
              ? addMonthsKeepingDay(START, item)
              : addDays(START, terms.frequency === 'weekly' ? 7 * item : item);
          if (due > date) break;
          charged += item === 0 ? terms.depositMinor : terms.instalmentMinor;
          if (due < date) chargedBefore = charged;
          if (charged > BigInt(paid)) firstOpen ??= due;
        }
        const max = (amount: bigint) => (amount > 0n ? amount : 0n);
        expect(why.chargedMinor).toBe(charged);
        expect(why.lateMinor).toBe(max(chargedBefore - BigInt(paid)));
        expect(why.lateMinor + why.dueOnDateMinor).toBe(max(charged - BigInt(paid)));
        expect(why.aheadMinor).toBe(max(BigInt(paid) - charged));
        if (why.lateMinor > 0n) expect(why.lateSince).toBe(firstOpen);
      }),
      { numRuns: PROPERTY_RUNS * 20 },
    );
  });

  it('are those of the sentence', () => {
    fc.assert(
      fc.property(anyCase, ({ terms, status, money, days, language }) => {
        const total = terms.depositMinor + BigInt(terms.instalmentCount) * terms.instalmentMinor;
        const paid = money.reduce((sum, share) => sum + Math.round(share * Number(total)), 0);
        const why = explain({ terms, status, paid, date: addDays(START, days), language });
        const said = amountsIn(why.sentence);
        expect(said).toContain(BigInt(paid));
        if (why.state === 'late' || why.state === 'due' || why.state === 'ahead') {
          const [chargedAt, paidAt] = [said.indexOf(why.chargedMinor), said.lastIndexOf(BigInt(paid))];
          expect(chargedAt).toBeGreaterThanOrEqual(0);
          expect(paidAt).toBeGreaterThanOrEqual(0);
        }
        for (const part of [
          why.lateMinor,
          why.dueOnDateMinor,
          why.aheadMinor,
          why.creditMinor,
          why.remainingMinor,
        ])
          if (part > 0n && why.state !== 'not_started') expect(said).toContain(part);
      }),
      { numRuns: PROPERTY_RUNS * 4 },
    );
  });
});
