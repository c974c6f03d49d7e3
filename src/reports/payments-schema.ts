import type { Readable } from 'node:stream';
import { Type } from 'typebox';
import { Choice, DateText, Id, Money, Nullable } from '../core/http/fields.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../core/lists/query.ts';
import { STATUSES } from '../payments/schema.ts';
import { Period, periodProperties } from './schema.ts';

const MAX_PAGE = 1_000_000_000;

export const PaymentsQuery = Type.Object({
  ...periodProperties,
  format: Type.Optional(Type.Enum(['json', 'csv'], { default: 'json' })),
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      description: 'Page of the rows, for json. Default: 1.',
      examples: [1],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `Rows per page, for json. Default: ${DEFAULT_LIMIT}.`,
      examples: [DEFAULT_LIMIT],
    }),
  ),
});

const sums = {
  received: Type.Number({ description: 'All payments of the period, including payments reversed later.' }),
  reversed: Type.Number({ description: 'The part of `received` that was reversed later.' }),
  refunded: Type.Number({
    description:
      'The refunds of credit in the period, by the day and the payment method of the refund. Not reduced by later reversals of payments.',
  }),
  net: Type.Number({ description: 'received − reversed − refunded. Negative if more was refunded.' }),
  unmatched: Type.Number({
    description:
      'The part of `received` that is on no account yet. net − unmatched is `collected` of the portfolio summary of the same period, if the period does not end after today.',
  }),
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
        refunded: Type.Integer({
          description: 'The number of refunds. All other counts are numbers of payments.',
        }),
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
        status: Choice('PaymentStatus', STATUSES),
        reconciliationDate: Nullable(DateText),
      }),
      { description: 'One page of the payments of the period, the oldest first.' },
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
          refunded: 100,
          net: 300,
          unmatched: 0,
          counts: { received: 1, matched: 1, unmatched: 0, reversed: 0, refunded: 1 },
        },
        byMethod: [
          {
            paymentMethodId: 2,
            paymentMethod: 'Cash',
            received: 400,
            reversed: 0,
            refunded: 100,
            net: 300,
            unmatched: 0,
            count: 1,
          },
        ],
        byDay: [
          {
            paymentDate: '2026-11-02',
            received: 400,
            reversed: 0,
            refunded: 100,
            net: 300,
            unmatched: 0,
            count: 1,
          },
        ],
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

/** Sent as a stream, without a serializer. */
export const CsvFile = Type.Unsafe<Readable>({
  type: 'string',
  examples: [
    'id,paymentDate,accountId,accountNumber,customerName,amount,currency,paymentMethod,transactionRef,status,reconciliationDate\r\n' +
      '1,2026-11-02,1,ACC10000012,Wanjiru Kamau,400.00,KES,Cash,RECEIPT-0001,matched,2026-11-02\r\n',
  ],
});

export const RefundsCsvFile = Type.Unsafe<Readable>({
  type: 'string',
  examples: [
    'id,valueDate,accountId,accountNumber,customerName,amount,currency,paymentMethod,transactionRef,reason\r\n' +
      '1,2026-11-02,1,ACC10000012,Wanjiru Kamau,100.00,KES,Cash,RECEIPT-0002,Paid twice\r\n',
  ],
});
