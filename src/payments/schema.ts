import { type Static, Type } from 'typebox';
import { ACCOUNT_OR_CUSTOMER, ExpandedAccountOrCustomer } from '../accounts/schema.ts';
import { ACCOUNT_STATUSES } from '../accounts/status/rules.ts';
import type { MatchMethod, PaymentSource, PaymentStatus } from '../core/database/tables.ts';
import { BulkBody, BulkResult } from '../core/http/bulk.ts';
import { Envelope } from '../core/http/envelope.ts';
import { ChangedExternalFields, ExternalFields, ShownExternalFields } from '../core/http/external-ids.ts';
import {
  AmountAboveZero,
  CalendarDate,
  Choice,
  Choices,
  DateText,
  Id,
  Money,
  Nullable,
  Reference,
  Text,
  Timestamp,
} from '../core/http/fields.ts';
import type { ListField } from '../core/lists/fields.ts';
import { defineList } from '../core/lists/query.ts';
import { Totals } from '../core/lists/totals.ts';
import { referenceKey } from '../core/values/reference.ts';
import { PendingApprovals } from '../staff/approvals/schema.ts';
import { MATCH_METHODS } from './matching/rules.ts';
import { NOTIFICATION_FLAGS } from './notifications/rules.ts';
import { MAX_NAMED_PAYMENTS, PAYMENT_WARNING_CODES, PAYMENT_WARNINGS } from './posting/warning-rules.ts';
import { PAYMENT_STATUSES } from './rules.ts';

export const STATUSES = Object.keys(PAYMENT_STATUSES) as PaymentStatus[];
export const PAYMENT_SOURCES = ['manual', 'webhook', 'import', 'pull'] as const satisfies PaymentSource[];
const METHODS = Object.keys(MATCH_METHODS) as MatchMethod[];

const warningMeanings = Object.entries(PAYMENT_WARNINGS)
  .map(([code, meaning]) => `\`${code}\`: ${meaning}`)
  .join(' ');
const WarningCode = Choice('PaymentWarningCode', PAYMENT_WARNING_CODES, { description: warningMeanings });

const PaymentConfirmation = Type.Object(
  {
    codes: Type.Array(WarningCode, { maxItems: PAYMENT_WARNING_CODES.length }),
    balance: Type.Number({
      minimum: 0,
      description:
        'The balance of the account that the user saw, less the discount of an early payoff that the payment earns.',
    }),
    credit: Type.Optional(
      Type.Number({ minimum: 0, description: 'The credit of the account that the user saw. Default: 0.' }),
    ),
  },
  {
    title: 'PaymentConfirmation',
    description:
      'Records the payment despite these warnings. It is compared with the account while the account is locked. If there is another ' +
      'warning, or another balance or credit, the answer is 409 again.',
  },
);

export const NewPayment = Type.Object(
  {
    accountId: Id,
    amount: AmountAboveZero,
    paymentMethodId: Id,
    transactionRef: Type.Optional(Nullable(Reference)),
    paymentDate: Type.Optional(
      CalendarDate({
        format: 'past-date',
        description: 'YYYY-MM-DD, from 2000-01-01, and not later than today.',
      }),
    ),
    bothAreReal: Type.Optional(
      Type.Boolean({
        description:
          'Records the payment beside a payment of a provider with the same amount, a date within three days, and a transactionRef that differs only in O and 0, or in I and 1. Without it, such a payment is refused. Needs `payments:assign`.',
      }),
    ),
    ...ExternalFields,
    checks: Type.Optional(
      Type.Enum(['confirm'], {
        description:
          'With `confirm`, a payment with warnings is not recorded until a `confirmation` names them: the answer is 409.',
      }),
    ),
    confirmation: Type.Optional(PaymentConfirmation),
  },
  {
    title: 'NewPayment',
    examples: [
      {
        accountId: 1,
        amount: 400,
        paymentMethodId: 2,
        transactionRef: 'RECEIPT-0001',
        paymentDate: '2026-11-02',
        externalId: 'ERP-PAY-3001',
        metadata: { till: '4' },
      },
    ],
  },
);
export type NewPayment = Static<typeof NewPayment>;

export const PaymentChanges = Type.Object(ChangedExternalFields, {
  minProperties: 1,
  title: 'PaymentChanges',
  examples: [{ metadata: { till: '5' } }],
});
export type PaymentChanges = Static<typeof PaymentChanges>;

export const Reversal = Type.Object(
  { reason: Text(500) },
  { title: 'Reversal', examples: [{ reason: 'Entered twice' }] },
);
export const Correction = Type.Object(
  { amount: AmountAboveZero, reason: Text(500) },
  { title: 'Correction', examples: [{ amount: 450, reason: 'Typed 400 instead of 450' }] },
);
export type Correction = Static<typeof Correction>;
export const Unassignment = Type.Object(
  { reason: Text(500) },
  { title: 'Unassignment', examples: [{ reason: 'The payer meant another account' }] },
);
export const Assignment = Type.Object(
  { accountId: Id },
  { title: 'Assignment', examples: [{ accountId: 1 }] },
);
export const ReversalParams = Type.Object({ id: { ...Id, examples: [2] } });
export const CorrectionParams = Type.Object({ id: { ...Id, examples: [4] } });
export const UnmatchedParams = Type.Object({ id: { ...Id, examples: [3] } });

const paymentProperties = {
  id: Id,
  accountId: Nullable(Type.Integer()),
  accountNumber: Nullable(Type.String()),
  amount: Money,
  currency: Type.String(),
  paymentMethodId: Id,
  transactionRef: Nullable(Type.String()),
  paymentDate: DateText,
  status: Choice('PaymentStatus', STATUSES),
  source: Choice('PaymentSource', PAYMENT_SOURCES),
  matchMethod: Nullable(Choice('MatchMethod', METHODS, { description: 'How the account was found.' })),
  matchReason: Nullable(Type.String({ description: 'The match method in words.' })),
  reconciliationId: Nullable(Type.Integer()),
  reconciliationDate: Nullable(DateText),
  reversedAt: Nullable(Timestamp),
  reversalReason: Nullable(Type.String()),
  correctsPaymentId: Nullable(
    Type.Integer({ description: 'The reversed payment whose amount this payment corrects.' }),
  ),
  receiptNumber: Nullable(
    Type.String({ description: 'The number of the receipt. Null for a payment without an account.' }),
  ),
  ...ShownExternalFields,
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

const PAYMENT = {
  id: 1,
  accountId: 1,
  accountNumber: 'ACC10000012',
  amount: 400,
  currency: 'KES',
  paymentMethodId: 2,
  transactionRef: 'RECEIPT-0001',
  paymentDate: '2026-11-02',
  status: 'matched',
  source: 'manual',
  matchMethod: null,
  matchReason: null,
  reconciliationId: null,
  reconciliationDate: null,
  reversedAt: null,
  reversalReason: null,
  correctsPaymentId: null,
  receiptNumber: 'R13',
  externalId: 'ERP-PAY-3001',
  metadata: { till: '4' },
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:30.000Z',
};

const PAYMENT_EXPANSIONS = [...ACCOUNT_OR_CUSTOMER, 'people'] as const;
export type PaymentExpansion = (typeof PAYMENT_EXPANSIONS)[number];

const expand = Type.Optional(
  Choices(
    PAYMENT_EXPANSIONS,
    'Adds account, customer or both, which are null for a payment without an account. `people` adds who recorded, reversed and approved ' +
      'the payment, the payment that corrects it, and whether the caller can correct it.',
  ),
);
export const PaymentQuery = Type.Object({ expand });

/** The fields that `expand=people` adds. */
const People = {
  recordedBy: Type.Optional(
    Nullable(
      Type.String({
        description:
          'Who recorded the payment: the e-mail of the user, or `api key` and the name of the key. Null for a payment from a provider.',
      }),
    ),
  ),
  reversedBy: Type.Optional(
    Nullable(Type.String({ description: 'Who reversed the payment, or requested it.' })),
  ),
  approvedBy: Type.Optional(
    Nullable(Type.String({ description: 'Who approved the reversal or correction.' })),
  ),
  isCorrectable: Type.Optional(
    Type.Boolean({ description: 'Whether the caller can correct the amount now.' }),
  ),
  correctedByPaymentId: Type.Optional(
    Nullable(
      Type.Integer({ description: 'The payment with the right amount, if the amount was corrected.' }),
    ),
  ),
};

export const Payment = Type.Object(
  { ...paymentProperties, ...People, ...ExpandedAccountOrCustomer, pendingApprovals: PendingApprovals },
  { title: 'Payment', examples: [PAYMENT] },
);

/** What is unusual about a recorded payment. It is beside the payment in an answer, because only the POST has it. */
const PaymentWarnings = Type.Array(
  Type.Object(
    {
      code: WarningCode,
      message: Type.String(),
      paymentIds: Type.Array(Type.Integer(), {
        description: `For \`same_payment\`: these payments, the newest first, at most ${MAX_NAMED_PAYMENTS}. Payments with different references are not the same. Empty if the caller may not read payments.`,
      }),
    },
    { title: 'PaymentWarning' },
  ),
  { description: 'What is unusual about the payment.' },
);

export const PaymentRecorded = Type.Object(
  { ...Envelope(Payment, 'Payment recorded.').properties, warnings: PaymentWarnings },
  {
    description: 'Payment recorded.',
    examples: [{ success: true, data: PAYMENT, message: 'Payment recorded.', warnings: [] }],
  },
);

export const NewPayments = BulkBody(NewPayment, 'NewPayments');
export const RecordedPayments = BulkResult(Payment, 'RecordedPayments', { warnings: PaymentWarnings });

export const CONFIDENCES = ['high', 'medium', 'low'] as const;

/** Why an account is suggested for an unmatched payment. */
export const SUGGESTION_REASONS = [
  'learned',
  'account_number',
  'national_id',
  'phone',
  'account_id',
  'contained_number',
  'near_number',
  'learned_reference',
  'payer_phone',
  'learned_payer',
  'masked_phone',
  'full_name',
  'part_of_name',
] as const;

export const UnmatchedPayment = Type.Object(
  {
    ...paymentProperties,
    reference: Nullable(Type.String({ description: 'The reference that the payer typed.' })),
    payer: Nullable(Type.String({ description: 'The payer’s number as the provider sent it.' })),
    flags: Type.Array(Choice('NotificationFlag', NOTIFICATION_FLAGS)),
    suggestions: Type.Array(
      Type.Object({
        accountId: Id,
        accountNumber: Type.String(),
        customerName: Type.String(),
        reason: Type.String({
          description:
            'The reasons for this suggestion. The reason from the typed reference is first, then those from the payer’s phone and name.',
        }),
        reasons: Type.Array(
          Type.Object({
            code: Choice('SuggestionReason', SUGGESTION_REASONS),
            assignedOn: Nullable(DateText),
          }),
          {
            description:
              'The same reasons as codes. If the reason is that staff assigned an earlier payment, `assignedOn` is the day of the assignment. Otherwise it is null.',
          },
        ),
        confidence: Choice('Confidence', CONFIDENCES),
        status: Choice('AccountStatus', ACCOUNT_STATUSES),
        balance: Money,
        nextDueDate: Nullable(DateText),
        nextDueAmount: Nullable(Money),
      }),
      { description: 'Most likely first.' },
    ),
  },
  {
    title: 'UnmatchedPayment',
    examples: [
      {
        ...PAYMENT,
        id: 3,
        accountId: null,
        accountNumber: null,
        receiptNumber: null,
        amount: 800,
        paymentMethodId: 1,
        transactionRef: 'SKB7MD40PL',
        status: 'unmatched',
        source: 'webhook',
        externalId: null,
        metadata: {},
        reference: 'SOLAR',
        payer: '254701000000',
        flags: [],
        suggestions: [
          {
            accountId: 1,
            accountNumber: 'ACC10000012',
            customerName: 'Wanjiru Kamau',
            reason: 'the customer’s phone paid',
            reasons: [{ code: 'payer_phone', assignedOn: null }],
            confidence: 'medium',
            status: 'active',
            balance: 20_400,
            nextDueDate: '2026-11-09',
            nextDueAmount: 400,
          },
        ],
      },
    ],
  },
);

const listFields = {
  id: { kind: 'id', column: 'p.id' },
  accountId: { kind: 'id', column: 'p.account_id', nullable: true },
  amount: { kind: 'money', column: 'p.amount_minor' },
  paymentMethodId: { kind: 'id', column: 'p.payment_method_id' },
  transactionRef: {
    kind: 'text',
    column: 'p.transaction_ref',
    key: { column: 'p.reference_key', of: referenceKey },
    nullable: true,
  },
  paymentDate: { kind: 'date', column: 'p.payment_date' },
  status: { kind: 'enum', column: 'p.status', values: STATUSES },
  source: { kind: 'enum', column: 'p.source', values: PAYMENT_SOURCES },
  matchMethod: { kind: 'enum', column: 'p.match_method', values: METHODS, nullable: true },
  reconciliationId: { kind: 'id', column: 'p.reconciliation_id', nullable: true },
  reconciliationDate: { kind: 'date', column: 'p.reconciliation_date', nullable: true },
  externalId: { kind: 'text', column: 'p.external_id', nullable: true },
  correctsPaymentId: { kind: 'id', column: 'p.corrects_payment_id', nullable: true },
  hasDuplicateReference: { kind: 'boolean' },
  createdAt: { kind: 'timestamp', column: 'p.created_at' },
  updatedAt: { kind: 'timestamp', column: 'p.updated_at' },
} as const satisfies Record<string, ListField>;

export const paymentList = defineList(listFields, { expand }, 'p.metadata', { hasTotals: true });
export const PaymentTotals = Totals('PaymentTotals', {
  amount: Type.Number({ description: 'Without reversed payments.' }),
});
/** The list of unmatched payments has no `expand`, because an unmatched payment has no account. */
export const unmatchedList = defineList(listFields, {}, 'p.metadata');
