import { Type } from 'typebox';
import { NO_PAYOFF_REASONS } from '../../accounts/payoffs/rules.ts';
import { HasEqualInstalments, paymentStateFields, Rhythm } from '../../accounts/schema.ts';
import { ACCOUNT_STATUSES } from '../../accounts/status/rules.ts';
import { FREQUENCIES } from '../../catalogue/pay-plans/schema.ts';
import {
  AmountAboveZero,
  CalendarDate,
  Choice,
  CustomerTextLanguage,
  DateText,
  Id,
  LANGUAGES,
  Money,
  Nullable,
} from '../../core/http/fields.ts';
import { MONEY_TYPES } from './allocation-rules.ts';
import { EXPLANATION_STATES } from './explanation-rules.ts';
import { MAX_ROWS, ROW_TYPES } from './rules.ts';

const dateOf = (description: string, example: string) =>
  Type.Optional(CalendarDate({ format: 'calendar-date', description, examples: [example] }));

export const StatementQuery = Type.Object({
  from: dateOf(
    'First business day. Default: the opening, the activation date or the first payment, whichever is earliest; a short PDF can begin later.',
    '2026-11-01',
  ),
  to: dateOf('Last business day, which may be in the future. Default: today.', '2026-11-30'),
  format: Type.Optional(Type.Enum(['json', 'csv', 'pdf'], { default: 'json' })),
  detail: Type.Optional(
    Type.Enum(['short', 'full'], {
      default: 'short',
      description: 'For a PDF: `full` prints each payment. JSON and CSV always have each payment.',
    }),
  ),
  lang: CustomerTextLanguage,
});

const dueSoFar = Type.Number({
  description: 'The sum that has fallen due and is not paid. Negative if the customer has paid ahead.',
});
const owedInTotal = Type.Number({
  description: 'The unpaid part of the whole price, due or not. Negative if the customer has credit.',
});
const Figures = Type.Object({ dueSoFar, owedInTotal });

const Cover = Type.Object({
  paymentId: Nullable(Type.Integer()),
  creditMoveId: Nullable(Type.Integer({ description: 'Set for credit from another account.' })),
  paymentDate: DateText,
  item: Type.Integer({ description: '0 for the deposit, otherwise the number of the instalment.' }),
  dueDate: DateText,
  amount: Money,
});

const CoverRun = Type.Object({
  firstItem: Type.Integer({ description: '0 for the deposit, which is a run of its own.' }),
  lastItem: Type.Integer(),
  firstDueDate: DateText,
  lastDueDate: DateText,
  amount: Money,
  isWhole: Type.Boolean({ description: 'Whether the money covers each item of the run completely.' }),
});

const StatementRow = Type.Object({
  date: DateText,
  type: Choice('StatementRowType', ROW_TYPES),
  description: Type.String(),
  amount: Type.Number({ description: 'The amount of the item, payment or event, reversed or not.' }),
  due: Type.Number({ description: 'Added to dueSoFar.' }),
  charged: Type.Number({ description: 'Added to owedInTotal.' }),
  paid: Type.Number({ description: 'Subtracted from dueSoFar and owedInTotal.' }),
  dueSoFar,
  owedInTotal,
  item: Nullable(
    Type.Integer({
      description: 'For a due item: 0 for the deposit, otherwise the number of the instalment.',
    }),
  ),
  covers: Type.Array(Cover, {
    description:
      'For a payment or an incoming transfer: the items that it covers. For a due item: the payments and transfers that cover it.',
  }),
  coverRuns: Type.Array(CoverRun, {
    description:
      'For a payment or an incoming transfer: `covers`, with neighbouring instalments that it covers completely in one run.',
  }),
  covered: Nullable(Type.Number({ description: 'For a due item: the paid part.' })),
  credit: Nullable(
    Type.Number({ description: 'For a payment or an incoming transfer: the part that covers no item.' }),
  ),
  paymentId: Nullable(Type.Integer()),
  creditMoveId: Nullable(Type.Integer({ description: 'Set for a transfer or a refund of credit.' })),
  paymentMethod: Nullable(Type.String()),
  transactionRef: Nullable(Type.String()),
  reversedOn: Nullable(DateText),
  ledgerEventId: Nullable(
    Type.Integer({
      description:
        'The ledger event. Null for a due item, which is computed from the terms, and for a change of the terms.',
    }),
  ),
  planChangeId: Nullable(
    Type.Integer({
      description:
        'Set for a change of the terms (plan_change): `due` is by how much more is due on its day, and `charged` by how much the price changed.',
    }),
  ),
  reason: Nullable(Type.String({ description: 'The reason of a change of the terms.' })),
});

const example = {
  date: '2026-11-02',
  type: 'payment',
  description: 'Payment by Cash',
  amount: 2000,
  due: 0,
  charged: 0,
  paid: 2000,
  dueSoFar: 0,
  owedInTotal: 20800,
  item: null,
  covers: [
    {
      paymentId: 1,
      creditMoveId: null,
      paymentDate: '2026-11-02',
      item: 0,
      dueDate: '2026-11-02',
      amount: 2000,
    },
  ],
  coverRuns: [
    {
      ...{ firstItem: 0, lastItem: 0, firstDueDate: '2026-11-02', lastDueDate: '2026-11-02' },
      ...{ amount: 2000, isWhole: true },
    },
  ],
  covered: null,
  credit: 0,
  paymentId: 1,
  creditMoveId: null,
  paymentMethod: 'Cash',
  transactionRef: 'RECEIPT-0001',
  reversedOn: null,
  ledgerEventId: 2,
  planChangeId: null,
  reason: null,
};

/** A payment or a credit move, with what it covers. The fields are those of a statement row. */
export const PaymentCoverage = Type.Object(
  {
    date: DateText,
    type: Choice('MoneyType', MONEY_TYPES),
    amount: Type.Number({ description: 'Greater than 0, also for outgoing credit.' }),
    paid: Type.Number({ description: 'Counts as paid: negative for outgoing credit, 0 if reversed.' }),
    coverRuns: StatementRow.properties.coverRuns,
    credit: StatementRow.properties.credit,
    paymentId: StatementRow.properties.paymentId,
    creditMoveId: StatementRow.properties.creditMoveId,
    paymentMethod: StatementRow.properties.paymentMethod,
    transactionRef: StatementRow.properties.transactionRef,
    reversedOn: StatementRow.properties.reversedOn,
  },
  {
    title: 'PaymentCoverage',
    examples: [
      {
        date: '2026-11-02',
        type: 'payment',
        amount: 2000,
        paid: 2000,
        coverRuns: example.coverRuns,
        credit: 0,
        paymentId: 1,
        creditMoveId: null,
        paymentMethod: 'Cash',
        transactionRef: 'RECEIPT-0001',
        reversedOn: null,
      },
    ],
  },
);

export const AccountStatement = Type.Object(
  {
    accountId: Id,
    accountNumber: Type.String(),
    customerName: Type.String(),
    productName: Type.String(),
    status: Choice('AccountStatus', ACCOUNT_STATUSES, { description: 'The present status.' }),
    currency: Type.String(),
    terms: Type.Object({
      activationDate: DateText,
      deposit: Money,
      instalmentAmount: Money,
      instalmentCount: Type.Integer(),
      frequency: Choice('Frequency', FREQUENCIES),
      hasEqualInstalments: HasEqualInstalments,
      rhythm: Rhythm,
      total: Money,
    }),
    period: Type.Object({ from: DateText, to: DateText }),
    opening: Figures,
    rows: Type.Array(StatementRow, { description: `Oldest first; at most ${MAX_ROWS}.` }),
    totals: Type.Object(
      { due: Money, charged: Money, paid: Money },
      {
        description:
          'The sums of the rows. opening.dueSoFar + due − paid = closing.dueSoFar, and opening.owedInTotal + charged − paid = closing.owedInTotal.',
      },
    ),
    closing: Type.Object(
      {
        dueSoFar,
        owedInTotal,
        balance: Type.Number({ description: 'owedInTotal, but at least 0.' }),
        credit: Money,
        arrears: Money,
        ...paymentStateFields,
      },
      {
        description:
          'The figures at the end of the period. If the period ends today, they equal the figures of the account.',
      },
    ),
  },
  {
    title: 'AccountStatement',
    examples: [
      {
        accountId: 1,
        accountNumber: 'ACC10000012',
        customerName: 'Wanjiru Kamau',
        productName: 'Home system 40 W',
        status: 'active',
        currency: 'KES',
        terms: {
          activationDate: '2026-11-02',
          deposit: 2000,
          instalmentAmount: 400,
          instalmentCount: 52,
          frequency: 'weekly',
          hasEqualInstalments: true,
          rhythm: { frequency: 'weekly', every: 1, days: [] },
          total: 22800,
        },
        period: { from: '2026-11-01', to: '2026-11-02' },
        opening: { dueSoFar: 0, owedInTotal: 0 },
        rows: [
          {
            ...example,
            type: 'opened',
            description: 'Account opened: 22800.00 in total',
            amount: 22800,
            charged: 22800,
            paid: 0,
            owedInTotal: 22800,
            covers: [],
            coverRuns: [],
            credit: null,
            paymentId: null,
            paymentMethod: null,
            transactionRef: null,
            ledgerEventId: 1,
          },
          {
            ...example,
            type: 'deposit',
            description: 'Deposit',
            due: 2000,
            paid: 0,
            dueSoFar: 2000,
            owedInTotal: 22800,
            item: 0,
            coverRuns: [],
            covered: 2000,
            credit: null,
            paymentId: null,
            paymentMethod: null,
            transactionRef: null,
            ledgerEventId: null,
          },
          example,
        ],
        totals: { due: 2000, charged: 22800, paid: 2000 },
        closing: {
          dueSoFar: 0,
          owedInTotal: 20800,
          balance: 20800,
          credit: 0,
          arrears: 0,
          paymentState: 'current',
          daysPastDue: 0,
          paidUntil: '2026-11-08',
          nextDueDate: '2026-11-09',
          nextDueAmount: 400,
        },
      },
    ],
  },
);

/** Sent as text, without a serializer. */
export const StatementCsv = Type.Unsafe<string>({
  type: 'string',
  examples: [
    'date,type,description,covers,due,charged,paid,dueSoFar,owedInTotal,amount,currency,accountNumber,paymentId,creditMoveId,transactionRef,reversedOn,ledgerEventId,planChangeId,reason\r\n' +
      '2026-11-02,payment,"Payment by Cash","deposit",0.00,0.00,2000.00,0.00,20800.00,2000.00,KES,ACC10000012,1,,"RECEIPT-0001",,2,,\r\n',
  ],
});

export const QuoteQuery = Type.Object({
  date: Type.Optional(
    CalendarDate({
      format: 'calendar-date',
      description: 'The business day of the payment, also a past one. Default: today.',
      examples: ['2099-12-31'],
    }),
  ),
  amount: Type.Optional({ ...AmountAboveZero, examples: [1000] }),
  lang: CustomerTextLanguage,
});

export const PaymentInstructionsQuery = Type.Object({ lang: CustomerTextLanguage });

export const PaymentInstructions = Type.Object(
  {
    accountNumber: Type.String(),
    paybillNumber: Nullable(
      Type.String({ description: 'The first of `PAYBILL_NUMBERS`. Null if the service does not know it.' }),
    ),
    language: Choice('CustomerLanguage', LANGUAGES),
    text: Type.String({ description: 'A message to the customer that says how to pay.' }),
  },
  {
    title: 'PaymentInstructions',
    examples: [
      {
        accountNumber: 'ACC10000012',
        paybillNumber: null,
        language: 'en',
        text: 'Sunrise Pumps Ltd\nAccount number: ACC10000012\nGive this account number as the reference with every payment.',
      },
    ],
  },
);

const Explanation = Type.Object(
  {
    language: Choice('CustomerLanguage', LANGUAGES),
    sentence: Type.String({ description: 'The figures below as one sentence for the customer.' }),
    state: Choice('ExplanationState', EXPLANATION_STATES),
    deposit: Type.Number({ description: 'The deposit, if it counts in `charged`; otherwise 0.' }),
    instalmentCount: Type.Integer({ description: 'The number of instalments in `charged`.' }),
    instalmentAmount: {
      ...Money,
      deprecated: true,
      description: 'The first instalment of the account. Use instalments, because instalments can differ.',
    },
    instalments: Type.Array(
      Type.Object({ count: Type.Integer(), amount: Money }, { title: 'EqualInstalments' }),
      { description: 'The instalments in `charged`, by amount. Most accounts have only one amount.' },
    ),
    charged: Type.Number({
      description:
        'deposit + the sum of count × amount of `instalments`: what is due until `date`. The whole price before the first day, and for an account that is paid off or written off. 0 for a cancelled sale.',
    }),
    paid: Type.Number({
      description:
        'Unreversed payments and credit received, less credit that was transferred or paid back. It can be negative.',
    }),
    late: Type.Number({ description: 'The unpaid part that was due before `date`.' }),
    lateSince: Nullable({
      ...DateText,
      description: 'The due date of the first item that is not fully paid.',
    }),
    dueOnDate: Type.Number({ description: 'The unpaid part that is due on `date`.' }),
    ahead: Type.Number({ description: 'Paid for items that are not due yet.' }),
    credit: Type.Number({ description: 'Paid above the price, or for a cancelled sale.' }),
    remaining: Type.Number({
      description:
        'Unpaid and not due on `date`: before the first day, or of a written-off or cancelled account.',
    }),
  },
  {
    title: 'DebtExplanation',
    description:
      'Why the customer owes this. Always: charged − paid = late + dueOnDate + remaining − ahead − credit.',
  },
);

export const Quote = Type.Object(
  {
    accountId: Id,
    accountNumber: Type.String(),
    currency: Type.String(),
    status: Choice('AccountStatus', ACCOUNT_STATUSES),
    date: DateText,
    overdue: Type.Number({ description: 'The unpaid sum that fell due before `date`.' }),
    dueOnDate: Type.Number({ description: 'The unpaid sum that falls due on `date`.' }),
    amountDue: Type.Number({
      description: 'overdue + dueOnDate. If the customer pays this amount, there are no arrears on `date`.',
    }),
    settlement: Type.Number({ description: 'The payoff amount: the whole balance on `date`.' }),
    earlyPayoff: Nullable(
      Type.Object(
        {
          amount: Type.Number({
            description: 'What the customer has to pay on `date`. With it, the account is completed.',
          }),
          discount: Money,
          until: Nullable({
            ...DateText,
            description: 'The last day of the offer. Null: the offer has no end.',
          }),
          duesLeft: Type.Integer({ description: 'The number of unpaid instalments after `date`.' }),
        },
        {
          title: 'EarlyPayoffOffer',
          description:
            'The discount that the customer gets for paying all that is left on `date`. Null: none.',
        },
      ),
    ),
    noEarlyPayoff: Nullable(
      Choice('NoEarlyPayoff', NO_PAYOFF_REASONS, {
        description:
          'Why there is no `earlyPayoff`. Null if there is. With `later_entries`, if money is dated after `date`, a payment on `date` can still ' +
          'earn a payoff on the latest date with money. `payment` shows whether `amount` does.',
      }),
    ),
    ...paymentStateFields,
    explanation: Explanation,
    payment: Nullable(
      Type.Object(
        {
          amount: Money,
          itemsCovered: Type.Integer({
            description: 'The number of items, including the deposit, that the payment completes.',
          }),
          remainder: Type.Number({
            description: 'The part of the payment that pays only a part of the next item.',
          }),
          balance: Money,
          credit: Money,
          arrears: Money,
          completes: Type.Boolean({ description: 'Whether the payment completes the account.' }),
          ...paymentStateFields,
        },
        {
          description:
            'The account after a payment of the amount in the query. Null if the query has no amount.',
        },
      ),
    ),
  },
  {
    title: 'Quote',
    examples: [
      {
        accountId: 1,
        accountNumber: 'ACC10000012',
        currency: 'KES',
        status: 'active',
        date: '2026-11-30',
        overdue: 1200,
        dueOnDate: 400,
        amountDue: 1600,
        settlement: 20800,
        earlyPayoff: null,
        noEarlyPayoff: 'not_offered',
        paymentState: 'late',
        daysPastDue: 21,
        paidUntil: '2026-11-08',
        nextDueDate: '2026-11-09',
        nextDueAmount: 400,
        explanation: {
          language: 'en',
          sentence:
            'Deposit 2,000 + 4 instalments of 400 due until 30 Nov 2026 = 3,600; paid 2,000; 1,200 late since 9 Nov 2026, 400 due on 30 Nov 2026.',
          state: 'late',
          deposit: 2000,
          instalmentCount: 4,
          instalmentAmount: 400,
          instalments: [{ count: 4, amount: 400 }],
          charged: 3600,
          paid: 2000,
          late: 1200,
          lateSince: '2026-11-09',
          dueOnDate: 400,
          ahead: 0,
          credit: 0,
          remaining: 0,
        },
        payment: {
          amount: 1000,
          itemsCovered: 2,
          remainder: 200,
          balance: 19800,
          credit: 0,
          arrears: 600,
          completes: false,
          paymentState: 'in_grace',
          daysPastDue: 7,
          paidUntil: '2026-11-22',
          nextDueDate: '2026-11-23',
          nextDueAmount: 200,
        },
      },
    ],
  },
);
