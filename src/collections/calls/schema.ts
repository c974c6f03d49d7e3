import { type Static, Type } from 'typebox';
import { ExpandedAccountOrCustomer, expandAccountOrCustomer } from '../../accounts/schema.ts';
import { examplesOf } from '../../core/http/envelope.ts';
import { Choice, DateText, EntryDate, Id, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { NewPromise } from '../promises/schema.ts';
import {
  CALL_KINDS,
  CALL_RESULTS,
  CALL_WARNING_CODES,
  CALL_WARNINGS,
  LEASE_MINUTES,
  MAX_DAYS_TO_NEXT_CALL,
} from './rules.ts';

const Kind = Choice('CallKind', CALL_KINDS);
const Result = Choice('CallResult', CALL_RESULTS, {
  description:
    'Attempts: `no_answer`, `wrong_number`. Contacts: `reached`, `promise`, `dispute`, `other`. A contact hides the account in the call list until the next call, or the day after the promise. A wrong number hides it until the phone of the customer changes, a dispute until it is closed.',
});

const LongText = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, format: 'note', description });

export const NewCall = Type.Object(
  {
    accountId: Id,
    kind: Type.Optional(Choice('CallKind', CALL_KINDS, { default: 'call' })),
    result: Result,
    phone: Type.Optional(
      Type.String({
        maxLength: 30,
        format: 'changed-phone',
        description: 'One of the phones of the customer. Default for a call: the first phone.',
      }),
    ),
    note: Type.Optional(
      LongText(1000, 'Required for a dispute. Line breaks are kept. Events never contain it.'),
    ),
    nextCallOn: Type.Optional({
      ...EntryDate,
      description: `Required for \`reached\` and \`other\`: the day of the next call, at most ${MAX_DAYS_TO_NEXT_CALL} days ahead.`,
    }),
    promise: Type.Optional(NewPromise),
  },
  {
    title: 'NewCall',
    examples: [
      { accountId: 1, result: 'dispute', note: 'Says that a payment is missing.' },
      { accountId: 1, kind: 'visit', result: 'no_answer' },
    ],
  },
);
export type NewCall = Static<typeof NewCall>;

export const CallWarning = Type.Object(
  {
    code: Choice('CallWarningCode', CALL_WARNING_CODES),
    message: Type.String(),
  },
  { title: 'CallWarning' },
);

export const Call = Type.Object(
  {
    id: Id,
    accountId: Id,
    accountNumber: Type.String(),
    kind: Kind,
    result: Result,
    phone: Nullable(Type.String({ description: 'The called number; null for a visit.' })),
    note: Nullable(Type.String({ description: 'Null also if a manager hid it.' })),
    noteHiddenAt: Nullable(Timestamp),
    noteHiddenBy: Nullable(Type.String({ description: 'The name of the user who hid the note.' })),
    noteHiddenReason: Nullable(Type.String()),
    nextCallOn: Nullable(DateText),
    promiseId: Nullable(Type.Integer()),
    isMistake: Type.Boolean({
      description: 'The user who saved it marked it as a mistake. It is not counted.',
    }),
    disputeClosedAt: Nullable(Timestamp),
    disputeClosedReason: Nullable(Type.String()),
    date: DateText,
    userId: Id,
    officer: Type.String({ description: 'The name of the user.' }),
    createdAt: Timestamp,
    ...ExpandedAccountOrCustomer,
  },
  {
    title: 'Call',
    examples: [
      {
        id: 1,
        accountId: 1,
        accountNumber: 'ACC10000012',
        kind: 'call',
        result: 'promise',
        phone: '+254712345678',
        note: 'Is paid on Friday.',
        noteHiddenAt: null,
        noteHiddenBy: null,
        noteHiddenReason: null,
        nextCallOn: null,
        promiseId: 1,
        isMistake: false,
        disputeClosedAt: null,
        disputeClosedReason: null,
        date: '2026-11-02',
        userId: 4,
        officer: 'Daudi Mwangi',
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const RecordedCall = Type.Object(
  {
    ...Call.properties,
    warnings: Type.Array(CallWarning, {
      description: Object.entries(CALL_WARNINGS)
        .map(([code, message]) => `\`${code}\`: ${message}`)
        .join(' '),
    }),
  },
  {
    title: 'RecordedCall',
    examples: examplesOf(Call).map((call) => ({ ...(call as object), warnings: [] })),
  },
);

export const ClosedDispute = Type.Object(
  { reason: LongText(500, 'Line breaks are kept.') },
  { title: 'ClosedDispute', examples: [{ reason: 'The payment was found and assigned.' }] },
);

export const HiddenNote = Type.Object(
  { reason: LongText(500, 'It is shown in place of the note. Do not repeat the note.') },
  { title: 'HiddenCallNote', examples: [{ reason: 'Named another person.' }] },
);

export const NewLease = Type.Object(
  {
    takeOver: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Ends the lease of another user. Needs the permission `calls:manage`.',
      }),
    ),
  },
  { title: 'NewCallLease', examples: [{}] },
);

export const Lease = Type.Object(
  {
    userId: Id,
    officer: Type.String({ description: 'The name of the user who is calling now.' }),
    isOwn: Type.Boolean(),
    expiresAt: Timestamp,
  },
  {
    title: 'CallLease',
    description: `A user who opens an account to call reserves the phones of the customer for ${LEASE_MINUTES} minutes.`,
    examples: [{ userId: 4, officer: 'Daudi Mwangi', isOwn: true, expiresAt: '2026-11-02T08:30:30.000Z' }],
  },
);

export const callList = defineList(
  {
    id: { kind: 'id', column: 'c.id' },
    accountId: { kind: 'id', column: 'c.account_id' },
    userId: { kind: 'id', column: 'c.created_by' },
    kind: { kind: 'enum', column: 'c.kind', values: CALL_KINDS },
    result: { kind: 'enum', column: 'c.result', values: CALL_RESULTS },
    date: { kind: 'date', column: 'c.called_on' },
    nextCallOn: { kind: 'date', column: 'c.next_call_on', nullable: true },
    createdAt: { kind: 'timestamp', column: 'c.created_at' },
  },
  { expand: expandAccountOrCustomer },
);
