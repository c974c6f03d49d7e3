import { type Static, Type } from 'typebox';
import { CalendarDate, Choice, DateText, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';

const MAX_PAYMENTS = 10_000;

export const RESULTS = ['reconciled', 'already_reconciled', 'not_found', 'not_reconcilable'] as const;

/** The reasons for the result `not_reconcilable`. */
export const REASONS = ['reversed', 'dated_later'] as const;

export const ReconcileBody = Type.Object(
  {
    paymentIds: Type.Array(Id, {
      minItems: 1,
      maxItems: MAX_PAYMENTS,
      description: 'A repeated id counts once.',
    }),
    reconciliationDate: Type.Optional(
      CalendarDate({
        format: 'entry-date',
        description: 'From 2000-01-01. Default: today. Payments with a later date are `not_reconcilable`.',
      }),
    ),
  },
  { title: 'NewReconciliation', examples: [{ paymentIds: [1, 2], reconciliationDate: '2026-11-02' }] },
);
export type ReconcileBody = Static<typeof ReconcileBody>;

export const Reconciliation = Type.Object(
  {
    id: Id,
    reconciliationDate: DateText,
    paymentCount: Type.Integer(),
    total: Money,
    reversedCount: Type.Integer({
      description: 'The number of payments that were reversed after the reconciliation.',
    }),
    reversedTotal: Money,
    currency: Type.String(),
    providerStatementId: Nullable(
      Type.Integer({
        description:
          'The provider statement that has lines for all payments of the batch. Null if the payments were reconciled without a statement.',
      }),
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Reconciliation',
    examples: [
      {
        id: 1,
        reconciliationDate: '2026-11-02',
        paymentCount: 2,
        total: 2800,
        reversedCount: 0,
        reversedTotal: 0,
        currency: 'KES',
        providerStatementId: null,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const ReconciliationResult = Type.Object(
  {
    reconciliationId: Nullable(
      Type.Integer({ description: 'The new batch. Null if no payment was reconciled by this request.' }),
    ),
    reconciliationDate: DateText,
    currency: Type.String(),
    counts: Type.Object({
      reconciled: Type.Integer(),
      already_reconciled: Type.Integer(),
      not_found: Type.Integer(),
      not_reconcilable: Type.Integer(),
    }),
    totals: Type.Object({ reconciled: Money, already_reconciled: Money, not_reconcilable: Money }),
    results: Type.Array(
      Type.Object({
        paymentId: Id,
        result: Choice('ReconciliationOutcome', RESULTS),
        reason: Nullable(
          Choice('NotReconcilableReason', REASONS, {
            description: 'Why the payment is `not_reconcilable`. Null for other results.',
          }),
        ),
        amount: Nullable(Money),
        reconciliationId: Nullable(Type.Integer()),
      }),
    ),
  },
  {
    title: 'ReconciliationResult',
    examples: [
      {
        reconciliationId: 1,
        reconciliationDate: '2026-11-02',
        currency: 'KES',
        counts: { reconciled: 2, already_reconciled: 0, not_found: 0, not_reconcilable: 0 },
        totals: { reconciled: 2800, already_reconciled: 0, not_reconcilable: 0 },
        results: [
          { paymentId: 1, result: 'reconciled', reason: null, amount: 400, reconciliationId: 1 },
          { paymentId: 2, result: 'reconciled', reason: null, amount: 2400, reconciliationId: 1 },
        ],
      },
    ],
  },
);

export const reconciliationList = defineList(
  {
    id: { kind: 'id', column: 'r.id' },
    reconciliationDate: { kind: 'date', column: 'r.reconciliation_date' },
    paymentCount: { kind: 'integer', column: 'r.payment_count' },
    total: { kind: 'money', column: 'r.total_minor' },
    providerStatementId: { kind: 'id', column: 'r.provider_statement_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'r.created_at' },
  },
  {},
);
