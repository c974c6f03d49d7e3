import { type Static, Type } from 'typebox';
import type { CashHandoverStatus, CashSettlementStatus } from '../../core/database/tables.ts';
import {
  AmountAboveZero,
  AmountFromZero,
  Choice,
  DateText,
  EntryDate,
  Id,
  Money,
  Nullable,
  Text,
  Timestamp,
} from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { COUNT_STATUSES, HANDOVER_STATUSES, SETTLEMENT_STATUSES } from './rules.ts';

const HANDOVER_NAMES = Object.keys(HANDOVER_STATUSES) as CashHandoverStatus[];
const SETTLEMENT_NAMES = Object.keys(SETTLEMENT_STATUSES) as CashSettlementStatus[];
const KINDS = ['difference', 'closing'] as const;
const AT = '2026-11-02T17:15:30.000Z';

const CountStatus = Choice('CashCountStatus', COUNT_STATUSES, {
  description:
    'Open until the holder gives the reason of a difference, or until finance confirms the opening count.',
});

export const NewCashCount = Type.Object(
  { paymentMethodId: Id, counted: AmountFromZero },
  { title: 'NewCashCount', examples: [{ paymentMethodId: 2, counted: 5400 }] },
);
export type NewCashCount = Static<typeof NewCashCount>;

export const CashReason = Type.Object(
  { reason: Text(500) },
  { title: 'CashReason', examples: [{ reason: 'Gave 100 too much change' }] },
);

export const CountConfirmation = Type.Object(
  {
    isEarlierCash: Type.Boolean({
      description:
        'Whether the difference is cash from before cash counts. If false, it stays with the holder as a difference.',
    }),
  },
  { title: 'CashCountConfirmation', examples: [{ isEarlierCash: true }] },
);

export const CashCount = Type.Object(
  {
    id: Id,
    holderId: Id,
    holder: Type.String({ description: 'The name of the user whose cash it is.' }),
    paymentMethodId: Id,
    paymentMethod: Type.String(),
    isOpening: Type.Boolean({ description: 'The first count of the holder and the method.' }),
    counted: Money,
    previous: Type.Number({ description: 'What the count before found. 0 for an opening count.' }),
    posted: Type.Number({
      description: 'Payments less reversals and refunds that no count had taken. In units of the currency.',
    }),
    moved: Type.Number({
      description: 'Cash received from others less cash handed over since the count before.',
    }),
    expected: Type.Number({ description: 'previous + posted + moved. In units of the currency.' }),
    difference: Type.Number({ description: 'counted − expected. Negative if cash is missing.' }),
    isEarlierCash: Nullable(
      Type.Boolean({
        description:
          'Only for a confirmed opening count: whether its difference is cash from before cash counts.',
      }),
    ),
    status: CountStatus,
    reason: Nullable(Type.String()),
    countedBy: Type.String({ description: 'The holder, or finance for a holder who left.' }),
    confirmedBy: Nullable(Type.String()),
    mayConfirm: Type.Boolean({ description: 'Whether the caller can confirm this opening count.' }),
    currency: Type.String(),
    closedAt: Nullable(Timestamp),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'CashCount',
    examples: [
      {
        id: 1,
        holderId: 1,
        holder: 'Amina Otieno',
        paymentMethodId: 2,
        paymentMethod: 'Cash',
        isOpening: true,
        counted: 5400,
        previous: 0,
        posted: 5400,
        moved: 0,
        expected: 5400,
        difference: 0,
        isEarlierCash: null,
        status: 'open',
        reason: null,
        countedBy: 'Amina Otieno',
        confirmedBy: null,
        mayConfirm: false,
        currency: 'KES',
        closedAt: null,
        createdAt: AT,
        updatedAt: AT,
      },
    ],
  },
);
export type CashCount = Static<typeof CashCount>;

export const NewHandover = Type.Object(
  {
    paymentMethodId: Id,
    toUserId: Type.Optional({ ...Id, description: 'Missing for the bank.' }),
    slipNumber: Type.Optional(
      Text(50, {
        description: 'Only for the bank: the number of the deposit slip. No other deposit may have it.',
      }),
    ),
    amount: AmountAboveZero,
  },
  { title: 'NewCashHandover', examples: [{ paymentMethodId: 2, slipNumber: 'KCB 004211', amount: 5000 }] },
);
export type NewHandover = Static<typeof NewHandover>;

export const ReceiverCount = Type.Object(
  { counted: AmountFromZero },
  { title: 'CashReceiverCount', examples: [{ counted: 5000 }] },
);

export const BankConfirmation = Type.Object(
  {
    statementDate: EntryDate,
    statementText: Text(200, { description: 'The text of the line of the bank statement.' }),
  },
  {
    title: 'CashBankConfirmation',
    examples: [{ statementDate: '2026-11-02', statementText: 'CASH DEP KCB 004211' }],
  },
);
export type BankConfirmation = Static<typeof BankConfirmation>;

export const Handover = Type.Object(
  {
    id: Id,
    fromUserId: Id,
    from: Type.String(),
    toUserId: Nullable(Type.Integer({ description: 'Null for the bank.' })),
    to: Nullable(Type.String()),
    paymentMethodId: Id,
    paymentMethod: Type.String(),
    amount: Nullable(
      Type.Number({
        description:
          'What the giver counted. Null for everybody but the giver until the receiver has counted. In units of the currency.',
      }),
    ),
    received: Nullable(Type.Number({ description: 'What the receiver counted.' })),
    slipNumber: Nullable(Type.String()),
    status: Choice('CashHandoverStatus', HANDOVER_NAMES, {
      description:
        'To a user: `pending`, then `received`, `unequal` (nothing has moved) or `withdrawn`. To the bank: `deposited`, then `confirmed` or `rejected`.',
    }),
    decidedBy: Nullable(Type.String()),
    decidedAt: Nullable(Timestamp),
    statementDate: Nullable(DateText),
    statementText: Nullable(Type.String()),
    reason: Nullable(Type.String({ description: 'Why a deposit was rejected.' })),
    mayDecide: Type.Boolean({ description: 'Whether the caller can confirm or reject the deposit.' }),
    currency: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'CashHandover',
    examples: [
      {
        id: 1,
        fromUserId: 1,
        from: 'Amina Otieno',
        toUserId: null,
        to: null,
        paymentMethodId: 2,
        paymentMethod: 'Cash',
        amount: 5000,
        received: null,
        slipNumber: 'KCB 004211',
        status: 'deposited',
        decidedBy: null,
        decidedAt: null,
        statementDate: null,
        statementText: null,
        reason: null,
        mayDecide: true,
        currency: 'KES',
        createdAt: AT,
        updatedAt: AT,
      },
    ],
  },
);
export type Handover = Static<typeof Handover>;

export const NewSettlement = Type.Object(
  {
    kind: Choice('CashSettlementKind', KINDS, {
      description:
        '`difference` settles differences of a holder. `closing` ends the cash of a holder who is not active, or may not count cash, any more.',
    }),
    holderId: Id,
    paymentMethodId: Id,
    amount: Type.Optional(
      Type.Number({
        minimum: -999_999_999_999,
        maximum: 999_999_999_999,
        description:
          'For `difference`: the part of the open difference that is settled, with its sign. Negative if cash is missing.',
      }),
    ),
    counted: Type.Optional({
      ...AmountFromZero,
      description: 'For `closing`: the cash that the caller got back. It is then in the hand of the caller.',
    }),
    reason: Text(500),
  },
  {
    title: 'NewCashSettlement',
    examples: [
      {
        kind: 'difference',
        holderId: 2,
        paymentMethodId: 2,
        amount: -100,
        reason: 'Change given to a customer by mistake',
      },
    ],
  },
);
export type NewSettlement = Static<typeof NewSettlement>;

export const Settlement = Type.Object(
  {
    id: Id,
    kind: Choice('CashSettlementKind', KINDS),
    holderId: Id,
    holder: Type.String(),
    paymentMethodId: Id,
    paymentMethod: Type.String(),
    amount: Nullable(
      Type.Number({
        description: 'The settled differences. Null for a closing that waits. In units of the currency.',
      }),
    ),
    counted: Nullable(Type.Number({ description: 'For a closing: the cash that the requester got back.' })),
    reason: Type.String(),
    status: Choice('CashSettlementStatus', SETTLEMENT_NAMES),
    requestedBy: Type.String(),
    requestedByUserId: Id,
    decidedBy: Nullable(Type.String()),
    decidedAt: Nullable(Timestamp),
    decisionReason: Nullable(Type.String()),
    mayConfirm: Type.Boolean({ description: 'Whether the caller can be the second person.' }),
    mayReject: Type.Boolean({ description: 'Whether the caller can reject it, or take it back.' }),
    currency: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'CashSettlement',
    examples: [
      {
        id: 1,
        kind: 'difference',
        holderId: 2,
        holder: 'Baraka Mwangi',
        paymentMethodId: 2,
        paymentMethod: 'Cash',
        amount: -100,
        counted: null,
        reason: 'Change given to a customer by mistake',
        status: 'requested',
        requestedBy: 'Amina Otieno',
        requestedByUserId: 1,
        decidedBy: null,
        decidedAt: null,
        decisionReason: null,
        mayConfirm: false,
        mayReject: true,
        currency: 'KES',
        createdAt: AT,
        updatedAt: AT,
      },
    ],
  },
);
export type Settlement = Static<typeof Settlement>;

export const OwnCash = Type.Object(
  {
    methods: Type.Array(
      Type.Object({
        paymentMethodId: Id,
        paymentMethod: Type.String(),
        isStarted: Type.Boolean({ description: 'Whether there is an opening count.' }),
        lastCounted: Nullable(Money),
        lastCountedAt: Nullable(Timestamp),
        openCount: Nullable(CashCount),
        openDifference: Type.Number({
          description: 'The differences that are neither offset nor settled. Negative if cash is missing.',
        }),
        isAboveCeiling: Type.Boolean({ description: 'Whether the cash is above CASH_CEILING.' }),
      }),
      { description: 'What is expected is not shown, because the next count would no longer be a count.' },
    ),
    toReceive: Type.Array(Handover, { description: 'The hand-overs that wait for the count of the caller.' }),
    handedOver: Type.Array(Handover, { description: 'The hand-overs of the caller that have not ended.' }),
    receivers: Type.Array(Type.Object({ userId: Id, name: Type.String(), paymentMethodId: Id }), {
      description: 'The users to whom cash can be handed over: they have an opening count.',
    }),
    currency: Type.String(),
  },
  {
    title: 'OwnCash',
    examples: [
      {
        methods: [
          {
            paymentMethodId: 2,
            paymentMethod: 'Cash',
            isStarted: true,
            lastCounted: 5400,
            lastCountedAt: AT,
            openCount: null,
            openDifference: 0,
            isAboveCeiling: false,
          },
        ],
        toReceive: [],
        handedOver: [],
        receivers: [{ userId: 3, name: 'Otieno Were', paymentMethodId: 2 }],
        currency: 'KES',
      },
    ],
  },
);

export const CashOverview = Type.Object(
  {
    holders: Type.Array(
      Type.Object({
        holderId: Id,
        holder: Type.String(),
        active: Type.Boolean({
          description: 'False for a holder who left: not active, or with a role that may not count cash.',
        }),
        paymentMethodId: Id,
        paymentMethod: Type.String(),
        isStarted: Type.Boolean({
          description: 'Whether there is an opening count. Before it, all cash is earlier cash.',
        }),
        lastCounted: Nullable(Money),
        lastCountedAt: Nullable(Timestamp),
        uncounted: Nullable(
          Type.Number({
            description:
              'What no count has taken: payments, reversals, refunds and hand-overs. Null for the caller.',
          }),
        ),
        inHand: Nullable(
          Type.Number({
            description: 'lastCounted + uncounted. Null for the caller, and before the opening count.',
          }),
        ),
        openDifference: Type.Number(),
        openCountId: Nullable(Type.Integer()),
        isAboveCeiling: Type.Boolean(),
      }),
    ),
    withoutHolder: Type.Array(
      Type.Object({ paymentMethodId: Id, paymentMethod: Type.String(), amount: Money }),
      { description: 'Cash that API keys and imports recorded.' },
    ),
    waiting: Type.Object({
      openCounts: Type.Integer(),
      deposits: Type.Integer({ description: 'Hand-overs to the bank that finance has not confirmed.' }),
      settlements: Type.Integer(),
    }),
    currency: Type.String(),
  },
  {
    title: 'CashOverview',
    examples: [
      {
        holders: [
          {
            holderId: 2,
            holder: 'Baraka Mwangi',
            active: true,
            paymentMethodId: 2,
            paymentMethod: 'Cash',
            isStarted: true,
            lastCounted: 5400,
            lastCountedAt: AT,
            uncounted: 600,
            inHand: 6000,
            openDifference: -100,
            openCountId: null,
            isAboveCeiling: false,
          },
        ],
        withoutHolder: [{ paymentMethodId: 2, paymentMethod: 'Cash', amount: 0 }],
        waiting: { openCounts: 0, deposits: 1, settlements: 0 },
        currency: 'KES',
      },
    ],
  },
);

/** Tests send these examples. Each refers to another row, because a row can end only once. */
export const SecondParams = Type.Object({ id: { ...Id, examples: [2] } });
export const ThirdParams = Type.Object({ id: { ...Id, examples: [3] } });
export const FourthParams = Type.Object({ id: { ...Id, examples: [4] } });

export const cashCountList = defineList(
  {
    id: { kind: 'id', column: 'c.id' },
    holderId: { kind: 'id', column: 'c.holder_id' },
    paymentMethodId: { kind: 'id', column: 'c.payment_method_id' },
    status: { kind: 'enum', column: 'c.status', values: COUNT_STATUSES },
    difference: { kind: 'money', column: 'c.difference_minor' },
    createdAt: { kind: 'timestamp', column: 'c.created_at' },
  },
  {},
);

/** Without the amount: a filter could find the amount of a hand-over before its receiver has counted. */
export const handoverList = defineList(
  {
    id: { kind: 'id', column: 'v.id' },
    fromUserId: { kind: 'id', column: 'v.from_user_id' },
    toUserId: { kind: 'id', column: 'v.to_user_id', nullable: true },
    paymentMethodId: { kind: 'id', column: 'v.payment_method_id' },
    status: { kind: 'enum', column: 'v.status', values: HANDOVER_NAMES },
    createdAt: { kind: 'timestamp', column: 'v.created_at' },
  },
  {},
);

export const settlementList = defineList(
  {
    id: { kind: 'id', column: 's.id' },
    kind: { kind: 'enum', column: 's.kind', values: KINDS },
    holderId: { kind: 'id', column: 's.holder_id' },
    paymentMethodId: { kind: 'id', column: 's.payment_method_id' },
    status: { kind: 'enum', column: 's.status', values: SETTLEMENT_NAMES },
    createdAt: { kind: 'timestamp', column: 's.created_at' },
  },
  {},
);
