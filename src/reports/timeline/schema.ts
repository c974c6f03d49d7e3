import { type Static, Type } from 'typebox';
import { PlanChangeOutcome } from '../../accounts/plan-changes/schema.ts';
import { examplesOf } from '../../core/http/envelope.ts';
import { RESOURCES } from '../../core/http/errors.ts';
import { Choice, Choices, DateText, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { MAX_CURSOR_LENGTH } from '../../core/lists/cursor.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../core/lists/query.ts';
import { Note } from '../../customers/notes/schema.ts';
import { KIND_NAMES } from './rules.ts';

export const TimelineQuery = Type.Object({
  kind: Type.Optional(Choices(KIND_NAMES, 'Only entries of these kinds.')),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, examples: [DEFAULT_LIMIT] }),
  ),
  after: Type.Optional(
    Type.String({
      maxLength: MAX_CURSOR_LENGTH,
      format: 'query-text',
      description:
        'The `nextCursor` of the page before. Without it, or empty, the newest entries are returned.',
      examples: [''],
    }),
  ),
});
export type TimelineQuery = Static<typeof TimelineQuery>;

const optionalText = (description?: string) =>
  Type.Optional(Type.String(description === undefined ? {} : { description }));

const TimelineEntry = Type.Object(
  {
    kind: Choice('TimelineKind', KIND_NAMES),
    id: { ...Id, description: 'Unique within the kind.' },
    recordedAt: Timestamp,
    valueDate: Nullable({
      ...DateText,
      description: 'The business day on which the entry counts, if it has one.',
    }),
    actor: Type.String({
      description:
        'The e-mail of the user, "system", "api key" with the name of the key, or "provider" with the name of the provider.',
    }),
    accountId: Nullable(Type.Integer({ description: 'Null: the entry is about the customer.' })),
    accountNumber: Nullable(Type.String()),
    resource: Choice('Resource', RESOURCES),
    resourceId: Id,
    amount: Type.Optional(Money),
    status: optionalText(
      'The status after the entry, the present status of the payment or request, the result of the call, or the kind of the change of the plan.',
    ),
    previousStatus: optionalText(),
    reason: optionalText(),
    cause: optionalText(),
    method: optionalText('The payment method, the type of an identity check, or `call` or `visit`.'),
    reference: optionalText('The reference of a payment, or the number of an invoice.'),
    action: optionalText('What needs approval.'),
    dueDate: Type.Optional({ ...DateText, description: 'The day until which the customer promised to pay.' }),
    isMistake: Type.Optional(Type.Boolean({ description: 'Whether the call was saved by mistake.' })),
    isNoteHidden: Type.Optional(
      Type.Boolean({ description: 'Whether the note of the call is hidden. `reason` is then absent.' }),
    ),
    otherAccountNumber: optionalText('The account that received the credit.'),
    planChange: Type.Optional(PlanChangeOutcome),
    note: Type.Optional(
      Type.Object({
        text: Nullable(Type.String({ description: 'Null if the note is hidden from the caller.' })),
        pinned: Type.Boolean(),
        correctionCount: Type.Integer(),
        isHidden: Type.Boolean(),
      }),
    ),
    changes: Type.Optional(
      Type.Array(
        Type.Object(
          { field: Type.String(), before: Nullable(Type.String()), after: Nullable(Type.String()) },
          { title: 'TimelineChange' },
        ),
      ),
    ),
  },
  { title: 'TimelineEntry' },
);
export type TimelineEntry = Static<typeof TimelineEntry>;

export const Timeline = Type.Object(
  {
    kinds: Type.Array(Choice('TimelineKind', KIND_NAMES), {
      description: 'The kinds that the caller may see.',
    }),
    pinnedNotes: Type.Array(Note, {
      description:
        'The pinned notes about the customer and all accounts of the customer, only on the first page.',
    }),
    entries: Type.Array(TimelineEntry, { description: 'Newest first, by the time of recording.' }),
    nextCursor: Nullable(
      Type.String({
        description: 'The value of `after` for the next page. Null if there are no more entries.',
      }),
    ),
  },
  {
    title: 'Timeline',
    examples: [
      {
        kinds: ['payment' as const, 'note' as const, 'customer_change' as const],
        pinnedNotes: examplesOf(Note) as Note[],
        entries: [
          {
            kind: 'customer_change' as const,
            id: 41,
            recordedAt: '2026-11-03T07:02:11.000Z',
            valueDate: null,
            actor: 'amina@example.com',
            accountId: null,
            accountNumber: null,
            resource: 'customer' as const,
            resourceId: 1,
            changes: [{ field: 'phone', before: '+254712345678', after: '+254722000111' }],
          },
          {
            kind: 'payment' as const,
            id: 1,
            recordedAt: '2026-11-02T08:15:30.000Z',
            valueDate: '2026-11-02',
            actor: 'amina@example.com',
            accountId: 1,
            accountNumber: 'ACC10000012',
            resource: 'payment' as const,
            resourceId: 1,
            amount: 2000,
            status: 'matched',
            method: 'Cash',
            reference: 'RECEIPT-0001',
          },
        ],
        nextCursor: null,
      },
    ],
  },
);
