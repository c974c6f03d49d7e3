import type { Readable } from 'node:stream';
import { Type } from 'typebox';
import { CalendarDate, DateText, Id, Money, Nullable } from '../core/http/fields.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../core/lists/query.ts';

const MAX_PAGE = 1_000_000_000;

const periodProperties = {
  startDate: Type.Optional(
    CalendarDate({
      format: 'calendar-date',
      description: 'First business day. Default: of the current month.',
      examples: ['2026-11-01'],
    }),
  ),
  endDate: Type.Optional(
    CalendarDate({
      format: 'calendar-date',
      description: 'Last business day. Default: of the current month.',
      examples: ['2026-11-30'],
    }),
  ),
};

export const SummaryQuery = Type.Object(periodProperties);

export const PaymentsQuery = Type.Object({
  ...periodProperties,
  format: Type.Optional(Type.Enum(['json', 'csv'], { default: 'json' })),
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, description: 'Of the rows; json only. Default: 1.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `Rows a page; json only. Default: ${DEFAULT_LIMIT}.`,
    }),
  ),
});

const Period = Type.Object({ startDate: DateText, endDate: DateText });

const AccountsUrl = Nullable(
  Type.String({
    description:
      'The list of the accounts behind the figure, whose total is the count; null for a past asOf, because ' +
      'the list shows the accounts as they are today.',
  }),
);

function Ratio(description: string) {
  return Type.Object(
    {
      numerator: Money,
      denominator: Money,
      ratio: Nullable(Type.Number({ description: 'Four decimals, halves up; null over 0.' })),
      asOf: DateText,
      count: Type.Integer({ description: 'The accounts behind it.' }),
      accountsUrl: AccountsUrl,
    },
    { description },
  );
}

const Opened = {
  count: Type.Integer(),
  contractValue: Money,
  accountsUrl: Type.String({ description: 'The accounts behind the figure.' }),
};

const group = {
  count: Type.Integer(),
  contractValue: Money,
  outstanding: Money,
  arrears: Money,
  accountsUrl: AccountsUrl,
};

export const AccountSummary = Type.Object(
  {
    period: Period,
    asOf: CalendarDate({ format: 'calendar-date', description: 'min(endDate, today).' }),
    currency: Type.String(),
    opened: Type.Object(Opened, { description: 'Accounts recorded in the period.' }),
    activated: Type.Object(
      { ...Opened, accountsUrl: AccountsUrl },
      {
        description:
          'Accounts with an activation date in the period, to asOf, that are not pending or cancelled.',
      },
    ),
    contractValue: Type.Number({ description: 'Totals of all accounts but the cancelled ones.' }),
    collected: Type.Number({
      description:
        'What came onto accounts, dated in the period, to asOf: unreversed payments, less credit that was refunded.',
    }),
    outstanding: Type.Number({
      description:
        'Gross receivables: the balances of active, suspended, defaulted and repossessed accounts. The buckets add up to it.',
    }),
    arrears: Type.Number({ description: 'What of the outstanding is due and not paid.' }),
    byStatus: Type.Array(Type.Object({ status: Type.String(), ...group }), {
      description: 'All accounts; the contract value of the cancelled ones is in no other figure.',
    }),
    byProduct: Type.Array(Type.Object({ productId: Id, productName: Type.String(), ...group }), {
      description: 'All accounts but the cancelled ones; contractValue is the sum over the products.',
    }),
    collectionRate: Ratio(
      'What came in for instalments in the period, to asOf, over the instalments due in it. Without deposits and cancelled accounts; prepayments and arrears are in the numerator.',
    ),
    repaymentRate: Ratio(
      'What of the instalments due to asOf is paid. With written-off, without cancelled accounts and deposits.',
    ),
    par30: Ratio('The balance of accounts more than 30 days past due over the gross receivables.'),
    par60: Ratio('The balance of accounts more than 60 days past due over the gross receivables.'),
    par90: Ratio('The balance of accounts more than 90 days past due over the gross receivables.'),
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
        count: Type.Integer({ description: 'Accounts written off in the period, to asOf.' }),
        amount: Type.Number({
          description: 'What they owed at the end of the day on which they were written off.',
        }),
        recovered: Type.Number({
          description:
            'What came in during the period, to asOf, on accounts after the day of their write-off, whenever that was, up to what they owed.',
        }),
        asOf: DateText,
        accountsUrl: Type.String({ description: 'The accounts written off in the period.' }),
      },
      { description: 'Losses and what of them came back; by value dates, as all other figures.' },
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
          accountsUrl:
            '/api/accounts?filter[activationDate][gte]=2026-11-01&filter[activationDate][lte]=2026-11-02&filter[status][nin]=pending,cancelled',
        },
        contractValue: 22800,
        collected: 3600,
        outstanding: 19200,
        arrears: 0,
        byStatus: [
          {
            status: 'active',
            count: 1,
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
            contractValue: 22800,
            outstanding: 19200,
            arrears: 0,
            accountsUrl: '/api/accounts?filter[productId]=1&filter[status][ne]=cancelled',
          },
        ],
        collectionRate: {
          numerator: 1600,
          denominator: 0,
          ratio: null,
          asOf: '2026-11-02',
          count: 1,
          accountsUrl: '/api/accounts?filter[status][ne]=cancelled',
        },
        repaymentRate: {
          numerator: 0,
          denominator: 0,
          ratio: null,
          asOf: '2026-11-02',
          count: 1,
          accountsUrl: '/api/accounts?filter[status][ne]=cancelled&filter[activationDate][lte]=2026-11-02',
        },
        par30: {
          numerator: 0,
          denominator: 19200,
          ratio: 0,
          asOf: '2026-11-02',
          count: 0,
          accountsUrl:
            '/api/accounts?filter[daysPastDue][gt]=30&filter[status][in]=active,suspended,defaulted,repossessed',
        },
        par60: {
          numerator: 0,
          denominator: 19200,
          ratio: 0,
          asOf: '2026-11-02',
          count: 0,
          accountsUrl:
            '/api/accounts?filter[daysPastDue][gt]=60&filter[status][in]=active,suspended,defaulted,repossessed',
        },
        par90: {
          numerator: 0,
          denominator: 19200,
          ratio: 0,
          asOf: '2026-11-02',
          count: 0,
          accountsUrl:
            '/api/accounts?filter[daysPastDue][gt]=90&filter[status][in]=active,suspended,defaulted,repossessed',
        },
        daysPastDue: [
          {
            from: 0,
            to: 0,
            count: 1,
            balance: 19200,
            accountsUrl:
              '/api/accounts?filter[status][in]=active,suspended,defaulted,repossessed&filter[daysPastDue][gte]=0&filter[daysPastDue][lte]=0',
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

const sums = {
  received: Type.Number({ description: 'Every payment of the period, also one reversed since.' }),
  reversed: Type.Number({ description: 'What of it is reversed.' }),
  net: Type.Number({ description: 'received − reversed.' }),
};

export const PaymentsReport = Type.Object(
  {
    period: Period,
    currency: Type.String(),
    totals: Type.Object({
      ...sums,
      counts: Type.Object({
        received: Type.Integer(),
        matched: Type.Integer(),
        unmatched: Type.Integer(),
        reversed: Type.Integer(),
      }),
    }),
    byMethod: Type.Array(
      Type.Object({ paymentMethodId: Id, paymentMethod: Type.String(), ...sums, count: Type.Integer() }),
    ),
    byDay: Type.Array(Type.Object({ paymentDate: DateText, ...sums, count: Type.Integer() })),
    rows: Type.Array(
      Type.Object({
        id: Id,
        paymentDate: DateText,
        accountId: Nullable(Type.Integer()),
        accountNumber: Nullable(Type.String()),
        customerName: Nullable(Type.String()),
        amount: Money,
        currency: Type.String(),
        paymentMethod: Type.String(),
        transactionRef: Nullable(Type.String()),
        status: Type.String(),
        reconciliationDate: Nullable(DateText),
      }),
      { description: 'A page of all payments of the period, oldest first.' },
    ),
  },
  {
    title: 'PaymentsReport',
    examples: [
      {
        period: { startDate: '2026-11-01', endDate: '2026-11-30' },
        currency: 'KES',
        totals: {
          received: 400,
          reversed: 0,
          net: 400,
          counts: { received: 1, matched: 1, unmatched: 0, reversed: 0 },
        },
        byMethod: [
          { paymentMethodId: 2, paymentMethod: 'Cash', received: 400, reversed: 0, net: 400, count: 1 },
        ],
        byDay: [{ paymentDate: '2026-11-02', received: 400, reversed: 0, net: 400, count: 1 }],
        rows: [
          {
            id: 1,
            paymentDate: '2026-11-02',
            accountId: 1,
            accountNumber: 'ACC10000012',
            customerName: 'Wanjiru Kamau',
            amount: 400,
            currency: 'KES',
            paymentMethod: 'Cash',
            transactionRef: 'RECEIPT-0001',
            status: 'matched',
            reconciliationDate: '2026-11-02',
          },
        ],
      },
    ],
  },
);

/** Sent as a stream, so that no serializer looks at it. */
export const CsvFile = Type.Unsafe<Readable>({
  type: 'string',
  examples: [
    'id,paymentDate,accountId,accountNumber,customerName,amount,currency,paymentMethod,transactionRef,status,reconciliationDate\r\n' +
      '1,2026-11-02,1,ACC10000012,Wanjiru Kamau,400.00,KES,Cash,RECEIPT-0001,matched,2026-11-02\r\n',
  ],
});
