import { Type } from 'typebox';
import { Choice, DateText, EntryDate, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { STATUSES as PAYMENT_STATUSES } from '../../payments/schema.ts';
import { DATE_ORDERS } from '../providers/provider.ts';
import { LINE_RESULTS, STATEMENT_CHECKS, STATEMENT_STATUSES } from './rules.ts';

export const StatementFileBody = Type.String({
  format: 'binary',
  examples: [
    [
      'Organization:,Sunlight Solar Ltd',
      'Short Code:,600638',
      'Time Period:,From 02-11-2026 00:00:00 To 02-11-2026 23:59:59',
      '',
      'Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.',
      'SKB2XQ19ZT,02-11-2026 10:15:30,02-11-2026 10:15:28,"Pay Bill from 254712345678, WANJIRU KAMAU",Completed,"2,400.00",,"2,400.00",true,Pay Utility,254712345678 - WANJIRU KAMAU,,ACC10000012',
      'SKB9TT55RE,02-11-2026 11:02:03,02-11-2026 11:02:01,Pay Bill,Completed,400.00,,"2,800.00",true,Pay Utility,254712345678 - WANJIRU KAMAU,,ACC10000012',
      '',
    ].join('\r\n'),
  ],
});

export const StatementUploadQuery = Type.Object({
  dateOrder: Type.Optional(
    Choice('DateOrder', DATE_ORDERS, {
      examples: ['day_first'],
      description:
        'The order of day and month in the dates of the file, such as 03/04/2026. Default: day_first, if the file shows that this is right.',
    }),
  ),
});

const figures = Type.Object({ lines: Type.Integer(), total: Money });

export const ProviderStatement = Type.Object(
  {
    id: Id,
    status: Choice('ProviderStatementStatus', STATEMENT_STATUSES, {
      description:
        'The work that a job does on the statement. With the status done or failed, no job works on it.',
    }),
    failure: Nullable(Type.String()),
    organisation: Nullable(Type.String()),
    shortCode: Nullable(Type.String()),
    sha256: Type.String({ description: 'SHA-256 of the file.' }),
    currency: Type.String(),
    firstCompletedAt: Nullable(Timestamp),
    lastCompletedAt: Nullable(Timestamp),
    periodStart: Nullable(DateText),
    periodEnd: Nullable(DateText),
    progress: Type.Object({
      lines: Type.Integer({ description: 'The number of lines after the header.' }),
      payments: Type.Integer({
        description:
          'The number of lines to compare with the books. Such a line is readable, and has the status Completed and an amount in Paid In. Its column Linked Transaction ID names no other transaction. If several such lines have the same receipt, only the first one counts.',
      }),
      compared: Type.Integer(),
      imported: Type.Integer({ description: 'The number of payments imported from this statement.' }),
      reconciled: Type.Integer({ description: 'The number of payments reconciled by this statement.' }),
    }),
    results: Type.Object(Object.fromEntries(LINE_RESULTS.map((result) => [result, figures])), {
      description: 'The number and the sum of the lines of each result. Withdrawals are negative.',
    }),
    checks: Type.Array(
      Type.Object({
        check: Choice('ProviderStatementCheck', STATEMENT_CHECKS, {
          description:
            'paid_in, withdrawn, opening_balance, closing_balance: the figure that the file states above its header, and the figure of its lines. lines: the balance after all lines according to their amounts, and the balance of the last line. previous_statement: the balance at the end of the previous statement of the short code, and at the start of this one.',
        }),
        isEqual: Type.Boolean(),
        expected: Money,
        found: Money,
        statementId: Nullable(Type.Integer({ description: 'The previous statement.' })),
      }),
      {
        description:
          'Compares the figures of the statement with each other. If two figures differ, lines are missing, repeated or unreadable. A figure that the file does not have is not compared.',
      },
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'ProviderStatement',
    examples: [
      {
        id: 1,
        status: 'done',
        failure: null,
        organisation: 'Sunlight Solar Ltd',
        shortCode: '600638',
        sha256: '6f0e1c5b6ac2f9a5d5a6b9d9a4b0f6b2a2f0c9b8d7e6f5a4b3c2d1e0f9a8b7c6',
        currency: 'KES',
        firstCompletedAt: '2026-11-02T07:15:30.000Z',
        lastCompletedAt: '2026-11-02T08:02:03.000Z',
        periodStart: '2026-11-02',
        periodEnd: '2026-11-02',
        progress: { lines: 2, payments: 2, compared: 2, imported: 0, reconciled: 0 },
        results: {
          matched: { lines: 1, total: 2400 },
          conflict: { lines: 0, total: 0 },
          amount_differs: { lines: 0, total: 0 },
          missing_in_books: { lines: 1, total: 400 },
          reversed_in_books: { lines: 0, total: 0 },
          reversed_at_provider: { lines: 0, total: 0 },
          missing_at_provider: { lines: 1, total: 800 },
          other: { lines: 0, total: 0 },
          repeated: { lines: 0, total: 0 },
          contradictory: { lines: 0, total: 0 },
          unreadable: { lines: 0, total: 0 },
        },
        checks: [{ check: 'lines', isEqual: true, expected: 2800, found: 2800, statementId: null }],
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:31.000Z',
      },
    ],
  },
);

export const ProviderStatementLine = Type.Object(
  {
    id: Id,
    lineNumber: Nullable(
      Type.Integer({ description: 'The line of the file. Null for a payment that is missing in the file.' }),
    ),
    result: Nullable(
      Choice('ProviderStatementLineResult', LINE_RESULTS, {
        description:
          'Null until the line is compared. With the result conflict, the payment was recorded by hand and is not linked to the transaction. To reconcile this payment, resolve the notification in conflict and match the statement again.',
      }),
    ),
    problem: Nullable(
      Type.String({
        description:
          'Why the line is unreadable, contradictory or in conflict, or which part of the payment the provider took back.',
      }),
    ),
    receipt: Nullable(Type.String()),
    completedAt: Nullable(Timestamp),
    amount: Nullable(Money),
    currency: Type.String(),
    reference: Nullable(Type.String({ description: 'The account that the payer typed.' })),
    payer: Nullable(Type.String({ description: 'The payer’s number as the provider prints it.' })),
    payerName: Nullable(Type.String()),
    providerStatus: Nullable(Type.String()),
    details: Nullable(Type.String({ description: 'The column Details, or the text of an unreadable line.' })),
    linkedReceipt: Nullable(
      Type.String({ description: 'The other transaction that this transaction reverses or belongs to.' }),
    ),
    paymentId: Nullable(Type.Integer()),
    paymentStatus: Nullable(Choice('PaymentStatus', PAYMENT_STATUSES)),
    paymentAmount: Nullable(Money),
    paymentDate: Nullable(DateText),
    dayDiffers: Nullable(Type.Boolean({ description: 'Whether the books have the payment on another day.' })),
    reconciliationId: Nullable(Type.Integer()),
    createdAt: Timestamp,
  },
  {
    title: 'ProviderStatementLine',
    examples: [
      {
        id: 2,
        lineNumber: 7,
        result: 'missing_in_books',
        problem: null,
        receipt: 'SKB9TT55RE',
        completedAt: '2026-11-02T08:02:03.000Z',
        amount: 400,
        currency: 'KES',
        reference: 'ACC10000012',
        payer: '254712345678',
        payerName: 'WANJIRU KAMAU',
        providerStatus: 'Completed',
        details: 'Pay Bill',
        linkedReceipt: null,
        paymentId: null,
        paymentStatus: null,
        paymentAmount: null,
        paymentDate: null,
        dayDiffers: null,
        reconciliationId: null,
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const ReconcileStatementBody = Type.Object(
  { reconciliationDate: Type.Optional(EntryDate) },
  { title: 'StatementReconciliation', examples: [{ reconciliationDate: '2026-11-02' }] },
);

export const providerStatementList = defineList(
  {
    id: { kind: 'id', column: 's.id' },
    status: { kind: 'enum', column: 's.status', values: STATEMENT_STATUSES },
    shortCode: { kind: 'text', column: 's.short_code', nullable: true },
    periodStart: { kind: 'date', column: 's.period_start', nullable: true },
    periodEnd: { kind: 'date', column: 's.period_end', nullable: true },
    createdAt: { kind: 'timestamp', column: 's.created_at' },
    updatedAt: { kind: 'timestamp', column: 's.updated_at' },
  },
  {},
);

export const providerStatementLineList = defineList(
  {
    id: { kind: 'id', column: 'l.id' },
    lineNumber: { kind: 'integer', column: 'l.line_number', nullable: true },
    result: { kind: 'enum', column: 'l.result', nullable: true, values: LINE_RESULTS },
    receipt: {
      kind: 'text',
      column: 'l.receipt',
      nullable: true,
      key: { column: 'l.receipt', of: referenceKey },
    },
    completedAt: { kind: 'timestamp', column: 'l.completed_at', nullable: true },
    amount: { kind: 'money', column: 'l.amount_minor', nullable: true },
    reference: { kind: 'text', column: 'l.reference', nullable: true },
    payer: { kind: 'text', column: 'l.payer', nullable: true },
    payerName: { kind: 'text', column: 'l.payer_name', nullable: true },
    paymentId: { kind: 'id', column: 'l.payment_id', nullable: true },
    paymentStatus: { kind: 'enum', column: 'p.status', nullable: true, values: PAYMENT_STATUSES },
    paymentDate: { kind: 'date', column: 'p.payment_date', nullable: true },
    reconciliationId: { kind: 'id', column: 'p.reconciliation_id', nullable: true },
    dayDiffers: { kind: 'boolean', column: 'l.day_differs', nullable: true },
    createdAt: { kind: 'timestamp', column: 's.created_at' },
  },
  {},
);
