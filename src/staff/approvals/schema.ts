import { type Static, Type } from 'typebox';
import type { ApprovalAction, ApprovalStatus } from '../../core/database/tables.ts';
import { Choice, Id, Money, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { RequestedPlanChange } from './plan-change-schema.ts';
import { ACTION_PERMISSIONS, APPROVAL_STATUSES, answerName, FACT_NAMES } from './rules.ts';

const ACTIONS = Object.keys(ACTION_PERMISSIONS) as ApprovalAction[];
const STATUSES = Object.keys(APPROVAL_STATUSES) as ApprovalStatus[];

export const Rejection = Type.Object(
  { reason: Text(500) },
  { title: 'Rejection', examples: [{ reason: 'The customer has paid this by bank transfer' }] },
);

const Fact = Nullable(Type.String());
export const ApprovalFacts = Type.Object(
  {
    paymentStatus: Fact,
    paymentAccountId: Nullable(Type.Integer()),
    reconciliationId: Nullable(Type.Integer()),
    accountStatus: Fact,
    toAccountStatus: Fact,
    balance: Nullable(
      Type.Number({ description: 'For a write-off or cancellation: the unpaid balance of the account.' }),
    ),
    credit: Nullable(Money),
    planVersion: Nullable(
      Type.Integer({
        description: 'For a change of the plan: the number of changes of the account’s terms.',
      }),
    ),
    paid: Nullable(
      Type.Number({ description: 'For a change of the plan that depends on the sum paid: this sum.' }),
    ),
  },
  {
    title: 'ApprovalFacts',
    description:
      'The facts on which a request is decided. A fact that does not matter for the action is null.',
  },
);
export type ApprovalFacts = Static<typeof ApprovalFacts>;

const exampleFacts: ApprovalFacts = {
  paymentStatus: 'matched',
  paymentAccountId: 1,
  reconciliationId: null,
  accountStatus: null,
  toAccountStatus: null,
  balance: null,
  credit: null,
  planVersion: null,
  paid: null,
};

export const Approval = Type.Object(
  {
    id: Id,
    action: Choice('ApprovalAction', ACTIONS),
    status: Choice('ApprovalStatus', STATUSES, {
      description:
        'A request becomes `obsolete` if one of its `facts` changes, or if the first day on which it would change an instalment has come. It can then not be approved.',
    }),
    allowedMoves: Type.Array(Choice('ApprovalStatus', STATUSES), {
      description:
        'The statuses to which the caller may change the request: `approved` and `rejected` with `approvals:decide` and the permission of ' +
        'the action, except for the requester; `withdrawn` for the requester. Empty if the request has ended.',
    }),
    accountId: Nullable(
      Type.Integer({ description: 'Null for an unmatched payment, and for a bulk deferral.' }),
    ),
    accountNumber: Nullable(Type.String()),
    customerName: Nullable(Type.String()),
    paymentId: Nullable(Type.Integer()),
    bulkDeferralId: Nullable(
      Type.Integer({ description: 'The bulk deferral that would be started or undone.' }),
    ),
    toAccountId: Nullable(Type.Integer({ description: 'The account that receives the credit.' })),
    toAccountNumber: Nullable(Type.String()),
    amount: Type.Number({
      description:
        'The amount of the payment or credit. For a write-off or cancellation: the unpaid balance of the account. For a change of the plan: by how much the price changes or, if it stays, the unpaid balance. For a bulk deferral: the sum of the unpaid balances. In units of the currency.',
    }),
    countedAmount: Type.Number({
      description:
        'The amount that was compared with APPROVAL_LIMIT. For credit, it includes the other transfers and refunds from the account on the day of the request. For a payment on a written-off or cancelled account, it is the unpaid amount of the account after the payment is removed, but at least the amount of the payment.',
    }),
    currency: Type.String(),
    reason: Type.String({ description: 'The requester’s reason for the action.' }),
    planChange: Nullable(RequestedPlanChange),
    requestedBy: Type.String({
      description: 'The e-mail of the user, or "api key" and the name of the key.',
    }),
    requestedByUserId: Nullable(Type.Integer({ description: 'Null for an API key.' })),
    decidedBy: Nullable(Type.String({ description: 'The e-mail of the user who approved or rejected.' })),
    decisionReason: Nullable(Type.String({ description: 'Why the request was rejected.' })),
    facts: ApprovalFacts,
    currentFacts: Nullable(ApprovalFacts),
    changedFacts: Type.Array(Choice('ApprovalFact', FACT_NAMES.map(answerName)), {
      description:
        'The facts that have changed since the request. `currentFacts` has their new values. A pending request is compared with the ' +
        'present facts. An obsolete request is compared with the facts that ended it. For all other statuses, this list is empty.',
    }),
    paymentMethodName: Nullable(
      Type.String({ description: 'The payment method of a refund. Null for other actions.' }),
    ),
    transactionRef: Nullable(Type.String({ description: 'The reference of a refund, if one was given.' })),
    creditMoveId: Nullable(
      Type.Integer({
        description: 'The transfer or refund that the approval posted. Otherwise null.',
      }),
    ),
    endedAt: Nullable(Timestamp),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Approval',
    description: 'A request for an action that a second user has to approve.',
    examples: [
      {
        id: 1,
        action: 'reverse_payment',
        status: 'pending',
        allowedMoves: ['approved', 'rejected'],
        accountId: 1,
        accountNumber: 'ACC10000012',
        customerName: 'Wanjiru Kamau',
        paymentId: 1,
        bulkDeferralId: null,
        toAccountId: null,
        toAccountNumber: null,
        amount: 20_400,
        countedAmount: 20_400,
        currency: 'KES',
        reason: 'Entered twice',
        planChange: null,
        requestedBy: 'amina@example.com',
        requestedByUserId: 1,
        decidedBy: null,
        decisionReason: null,
        facts: exampleFacts,
        currentFacts: exampleFacts,
        changedFacts: [],
        paymentMethodName: null,
        transactionRef: null,
        creditMoveId: null,
        endedAt: null,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

const PendingApproval = Type.Object(
  {
    id: Id,
    action: Choice('ApprovalAction', ACTIONS),
    paymentId: Nullable(Type.Integer({ description: 'Null for an action on the account.' })),
  },
  { title: 'PendingApproval', examples: [{ id: 1, action: 'reverse_payment', paymentId: 1 }] },
);

/** A field of payments and accounts, in the answer that reads one of them by its id. */
export const PendingApprovals = Type.Optional(
  Type.Array(PendingApproval, {
    description:
      'The requests that wait for approval. For an account: also those for its payments. Missing if there are none, for callers without `approvals:read`, and in all answers except those to GET by id.',
  }),
);

export const approvalList = defineList(
  {
    id: { kind: 'id', column: 'r.id' },
    action: { kind: 'enum', column: 'r.action', values: ACTIONS },
    status: { kind: 'enum', column: 'r.status', values: STATUSES },
    accountId: { kind: 'id', column: 'r.account_id', nullable: true },
    paymentId: { kind: 'id', column: 'r.payment_id', nullable: true },
    bulkDeferralId: { kind: 'id', column: 'r.bulk_deferral_id', nullable: true },
    amount: { kind: 'money', column: 'r.amount_minor' },
    requestedByUserId: { kind: 'id', column: 'r.requested_by', nullable: true },
    endedAt: { kind: 'timestamp', column: 'r.ended_at', nullable: true },
    createdAt: { kind: 'timestamp', column: 'r.created_at' },
    updatedAt: { kind: 'timestamp', column: 'r.updated_at' },
  },
  {},
);

/** Tests send these examples. Each refers to a different approval, because an approval can end only once. */
export const RejectionParams = Type.Object({ id: { ...Id, examples: [2] } });
export const WithdrawalParams = Type.Object({ id: { ...Id, examples: [3] } });
