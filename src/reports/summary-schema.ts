import { Type } from 'typebox';
import { ACCOUNT_STATUSES, statusesIn } from '../accounts/status/rules.ts';
import { CalendarDate, Choice, DateText, Id, Money, Nullable } from '../core/http/fields.ts';
import { accountsUrl, atRiskByLargestUrl, atRiskUrl, bucketUrl, statusNotIn } from './rules.ts';
import { Period, periodProperties } from './schema.ts';

const SALE_UNDONE = statusesIn('saleUndone');
const UNSOLD = statusesIn('unsold');
const undone = SALE_UNDONE.join(' or ');

export const SummaryQuery = Type.Object(periodProperties);

const AccountsUrl = Nullable(
  Type.String({
    description:
      'The list of the accounts behind the figure. Null for an asOf in the past, because the list shows the present.',
  }),
);

function Ratio(description: string) {
  return Type.Object(
    {
      numerator: Money,
      denominator: Money,
      ratio: Nullable(
        Type.Number({ description: 'Four decimals, halves rounded up. Null if the denominator is 0.' }),
      ),
      asOf: DateText,
      count: Type.Integer({ description: 'The number of accounts behind the ratio.' }),
      accountsUrl: AccountsUrl,
    },
    { description },
  );
}

function portfolioAtRisk() {
  const ratio = Ratio('A part of the gross receivables.');
  return { par30: ratio, par60: ratio, par90: ratio };
}

const Opened = {
  count: Type.Integer(),
  contractValue: Money,
  accountsUrl: Type.String({ description: 'The list of the accounts behind the figure.' }),
};

const group = {
  count: Type.Integer(),
  receivableCount: Type.Integer({
    description: `The accounts behind the outstanding sum: those that are ${statusesIn('receivable').join(', ')}. They add up to the accounts of the buckets.`,
  }),
  contractValue: Money,
  outstanding: Money,
  arrears: Money,
  accountsUrl: AccountsUrl,
};

function exampleRatio(
  [numerator, denominator]: [number, number],
  ratio: number | null,
  count: number,
  accountsUrl: string | null,
) {
  return { numerator, denominator, ratio, asOf: '2026-11-02', count, accountsUrl };
}

export const AccountSummary = Type.Object(
  {
    period: Period,
    asOf: CalendarDate({ format: 'calendar-date', description: 'min(endDate, today).' }),
    currency: Type.String(),
    opened: Type.Object(Opened, { description: 'Accounts recorded in the period.' }),
    activated: Type.Object(
      { ...Opened, accountsUrl: AccountsUrl },
      {
        description: `Accounts with an activation date in the period, up to asOf, that are not ${UNSOLD.join(' or ')}.`,
      },
    ),
    contractValue: Type.Number({ description: `The sum of the totals of accounts that are not ${undone}.` }),
    collected: Type.Number({
      description:
        'The unreversed payments on accounts in the period, up to asOf, minus the refunds of credit in the same time.',
    }),
    outstanding: Type.Number({
      description: `Gross receivables: the balances of the accounts that are ${statusesIn('receivable').join(', ')}. The buckets add up to this sum.`,
    }),
    arrears: Type.Number({ description: 'The due part of the outstanding sum.' }),
    byStatus: Type.Array(Type.Object({ status: Choice('AccountStatus', ACCOUNT_STATUSES), ...group }), {
      description: `All accounts. Without the ${undone} accounts, the contract values add up to the contractValue of the summary.`,
    }),
    byProduct: Type.Array(Type.Object({ productId: Id, productName: Type.String(), ...group }), {
      description: `All accounts except ${undone} ones. The contract values add up to the contractValue of the summary.`,
    }),
    collectionRate: Ratio(
      `The sum received for instalments divided by the instalments due, both in the period up to asOf. Deposits and ${undone} accounts are excluded. The numerator includes prepayments and arrears.`,
    ),
    repaymentRate: Ratio(
      `The paid part of the instalments due by asOf. Written-off accounts are included. Deposits and ${undone} accounts are excluded.`,
    ),
    par30: Ratio('The balance of accounts more than 30 days past due, divided by the gross receivables.'),
    par60: Ratio('The balance of accounts more than 60 days past due, divided by the gross receivables.'),
    par90: Ratio('The balance of accounts more than 90 days past due, divided by the gross receivables.'),
    byOriginalTerms: Type.Object(
      {
        ...portfolioAtRisk(),
        collectionRate: Ratio('Like collectionRate, with the instalments due by the original terms.'),
        repaymentRate: Ratio('Like repaymentRate, with the instalments due by the original terms.'),
      },
      {
        description:
          'The original terms are those of the sale with the price rises since then. The portfolio at risk has the larger of the days past due by the present and by the original terms. Of all changes, only price corrections, payoffs and sale corrections lower the instalments due.',
      },
    ),
    withRestructured: Type.Object(portfolioAtRisk(), {
      description:
        'The portfolio at risk of byOriginalTerms, together with all accounts that have a deferral or revision that is not undone.',
    }),
    daysPastDue: Type.Array(
      Type.Object({
        from: Type.Integer(),
        to: Nullable(Type.Integer()),
        count: Type.Integer(),
        balance: Money,
        accountsUrl: AccountsUrl,
      }),
    ),
    writeOffs: Type.Object(
      {
        count: Type.Integer({ description: 'Accounts written off in the period, up to asOf.' }),
        amount: Type.Number({
          description:
            'The debt that was written off: the sum that was unpaid at the end of the day of the write-off.',
        }),
        recovered: Type.Number({
          description:
            'The sum that was paid in the period, up to asOf, on written-off accounts after the day of their write-off. For each account it is at most the debt that was written off.',
        }),
        asOf: DateText,
        accountsUrl: Type.String({ description: 'The accounts written off in the period.' }),
      },
      { description: 'Losses and recoveries, by value date.' },
    ),
  },
  {
    title: 'AccountSummary',
    examples: [
      {
        period: { startDate: '2026-11-01', endDate: '2026-11-30' },
        asOf: '2026-11-02',
        currency: 'KES',
        opened: {
          count: 1,
          contractValue: 22800,
          accountsUrl: '/api/accounts?filter[createdAt][gte]=2026-11-01&filter[createdAt][lte]=2026-11-30',
        },
        activated: {
          count: 1,
          contractValue: 22800,
          accountsUrl: accountsUrl({
            '[activationDate][gte]': '2026-11-01',
            '[activationDate][lte]': '2026-11-02',
            ...statusNotIn(UNSOLD),
          }),
        },
        contractValue: 22800,
        collected: 3600,
        outstanding: 19200,
        arrears: 0,
        byStatus: [
          {
            status: 'active',
            count: 1,
            receivableCount: 1,
            contractValue: 22800,
            outstanding: 19200,
            arrears: 0,
            accountsUrl: '/api/accounts?filter[status]=active',
          },
        ],
        byProduct: [
          {
            productId: 1,
            productName: 'Home system 40 W',
            count: 1,
            receivableCount: 1,
            contractValue: 22800,
            outstanding: 19200,
            arrears: 0,
            accountsUrl: accountsUrl({ '[productId]': 1, ...statusNotIn(SALE_UNDONE) }),
          },
        ],
        collectionRate: exampleRatio([1600, 0], null, 1, accountsUrl(statusNotIn(SALE_UNDONE))),
        repaymentRate: exampleRatio(
          [0, 0],
          null,
          1,
          accountsUrl({ ...statusNotIn(SALE_UNDONE), '[activationDate][lte]': '2026-11-02' }),
        ),
        par30: exampleRatio([0, 19200], 0, 0, atRiskUrl(30)),
        par60: exampleRatio([0, 19200], 0, 0, atRiskUrl(60)),
        par90: exampleRatio([0, 19200], 0, 0, atRiskUrl(90)),
        byOriginalTerms: {
          par30: exampleRatio([0, 19200], 0, 0, atRiskByLargestUrl(30)),
          par60: exampleRatio([0, 19200], 0, 0, atRiskByLargestUrl(60)),
          par90: exampleRatio([0, 19200], 0, 0, atRiskByLargestUrl(90)),
          collectionRate: exampleRatio([1600, 0], null, 1, accountsUrl(statusNotIn(SALE_UNDONE))),
          repaymentRate: exampleRatio(
            [0, 0],
            null,
            1,
            accountsUrl({ ...statusNotIn(SALE_UNDONE), '[activationDate][lte]': '2026-11-02' }),
          ),
        },
        withRestructured: {
          par30: exampleRatio([0, 19200], 0, 0, null),
          par60: exampleRatio([0, 19200], 0, 0, null),
          par90: exampleRatio([0, 19200], 0, 0, null),
        },
        daysPastDue: [
          {
            from: 0,
            to: 0,
            count: 1,
            balance: 19200,
            accountsUrl: bucketUrl({ from: 0, to: 0 }),
          },
        ],
        writeOffs: {
          count: 0,
          amount: 0,
          recovered: 0,
          asOf: '2026-11-02',
          accountsUrl:
            '/api/accounts?filter[writtenOffDate][gte]=2026-11-01&filter[writtenOffDate][lte]=2026-11-02',
        },
      },
    ],
  },
);
