import { type Static, type TSchema, Type } from 'typebox';
import { Account, AccountSchedule, Status } from '../../accounts/schema.ts';
import { examplesOf } from '../../core/http/envelope.ts';
import { CustomerTextLanguage, Money, Nullable } from '../../core/http/fields.ts';
import { MAX_COVERAGE } from '../../documents/account-statements/rules.ts';
import { PaymentCoverage, Quote } from '../../documents/account-statements/schema.ts';
import { InvoiceSummary } from '../../documents/invoices/schema.ts';
import { PaymentRequest } from '../../mobile-money/payment-requests/schema.ts';
import { Payment } from '../../payments/schema.ts';

/** The number of rows of each list. */
export const LATEST = { coverage: 3, payments: 10, invoices: 20, paymentRequests: 5 };

function Latest<T extends TSchema>(row: T, rows: number, description: string) {
  const total = Type.Integer({ description: 'The number of all rows.' });
  return Type.Object({ rows: Type.Array(row), total }, { description: `The latest ${rows} ${description}` });
}

const UNREADABLE = 'Null if the caller may not read them.';

export const AccountOverviewQuery = Type.Object({ lang: CustomerTextLanguage });
export type AccountOverviewQuery = Static<typeof AccountOverviewQuery>;

export const AccountOverview = Type.Object(
  {
    account: Account,
    expectsPayments: Type.Boolean({
      description:
        'Whether the customer is expected to pay. False if the account is completed, cancelled, written off or repossessed.',
    }),
    moves: Type.Array(
      Type.Object({
        status: Status,
        givesUp: { ...Money, description: 'The unpaid balance that the customer no longer has to pay.' },
      }),
      {
        description:
          'The statuses to which staff change the account by hand. The service activates a pending account on its activation date.',
      },
    ),
    schedule: AccountSchedule,
    quote: Quote,
    sentence: Type.String({
      description:
        'The sentence of `quote.explanation` in the language `lang`, for the reader of the overview.',
    }),
    coverage: Nullable(
      Latest(
        PaymentCoverage,
        LATEST.coverage,
        `payments and credit moves, newest first, with the items that each covers. The statement has all of them. Also null if there are more than ${MAX_COVERAGE} payments or credit moves. ${UNREADABLE}`,
      ),
    ),
    payments: Nullable(Latest(Payment, LATEST.payments, `payments by payment date. ${UNREADABLE}`)),
    invoices: Nullable(Latest(InvoiceSummary, LATEST.invoices, `invoices. ${UNREADABLE}`)),
    paymentRequests: Nullable(
      Latest(PaymentRequest, LATEST.paymentRequests, `payment requests. ${UNREADABLE}`),
    ),
  },
  {
    title: 'AccountOverview',
    examples: [
      {
        account: examplesOf(Account)[0],
        expectsPayments: true,
        moves: [
          { status: 'suspended', givesUp: 0 },
          { status: 'defaulted', givesUp: 0 },
          { status: 'cancelled', givesUp: 19200 },
        ],
        schedule: examplesOf(AccountSchedule)[0],
        quote: examplesOf(Quote)[0],
        sentence:
          'Malipo ya awali 2,000 + awamu 4 za 400, kufikia 30 Nov 2026 = 3,600; umelipa 2,000; 1,200 imechelewa tangu 9 Nov 2026, 400 inadaiwa 30 Nov 2026.',
        coverage: { rows: examplesOf(PaymentCoverage), total: 1 },
        payments: { rows: examplesOf(Payment).slice(0, 1), total: 1 },
        invoices: { rows: examplesOf(InvoiceSummary).slice(0, 1), total: 1 },
        paymentRequests: { rows: [], total: 0 },
      },
    ],
  },
);
