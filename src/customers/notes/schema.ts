import { type Static, Type } from 'typebox';
import { Choice, Id, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { NOTE_ACTIONS } from './rules.ts';

const NoteText = Type.String({
  minLength: 1,
  maxLength: 2000,
  format: 'note',
  description: 'Plain text. Line breaks are kept.',
});

export const NoteParams = Type.Object({ id: { ...Id, examples: [1] }, noteId: { ...Id, examples: [1] } });

export const NewNote = Type.Object(
  {
    text: NoteText,
    accountId: Type.Optional(
      Nullable({
        ...Id,
        description: 'An account of this customer. Null: the note is about the customer.',
      }),
    ),
    pinned: Type.Optional(Type.Boolean({ default: false })),
  },
  {
    title: 'NewNote',
    examples: [{ text: 'Is paid at the end of the month. Call after 17:00.', accountId: 1, pinned: true }],
  },
);
export type NewNote = Static<typeof NewNote>;

export const NoteChanges = Type.Object(
  { text: Type.Optional(NoteText), pinned: Type.Optional(Type.Boolean()) },
  { minProperties: 1, title: 'NoteChanges', examples: [{ text: 'Is paid on the 5th. Call after 17:00.' }] },
);
export type NoteChanges = Static<typeof NoteChanges>;

export const NoteHiding = Type.Object(
  { reason: Text(500) },
  { title: 'NoteHiding', examples: [{ reason: 'Contains the phone number of a neighbour' }] },
);

const ACTOR = 'The e-mail of the user, "api key" with the name of the key, or "system".';

const noteFields = {
  id: Id,
  customerId: Id,
  accountId: Nullable(Type.Integer({ description: 'Null: the note is about the customer.' })),
  accountNumber: Nullable(Type.String()),
  text: Nullable(
    Type.String({ description: 'The present text. Null if the note is hidden from the caller.' }),
  ),
  pinned: Type.Boolean(),
  actor: Type.String({ description: `Who wrote the note. ${ACTOR}` }),
  correctionCount: Type.Integer({ description: 'How often the text was corrected.' }),
  hiddenAt: Nullable(Timestamp),
  hiddenBy: Nullable(Type.String({ description: ACTOR })),
  hiddenReason: Nullable(Type.String()),
  allowedActions: Type.Array(Choice('NoteAction', NOTE_ACTIONS), {
    description: 'What the caller may do with the note now.',
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

const exampleNote = {
  id: 1,
  customerId: 1,
  accountId: 1,
  accountNumber: 'ACC10000012',
  text: 'Is paid on the 5th. Call after 17:00.',
  pinned: true,
  actor: 'amina@example.com',
  correctionCount: 1,
  hiddenAt: null,
  hiddenBy: null,
  hiddenReason: null,
  allowedActions: ['correct' as const, 'pin' as const, 'hide' as const],
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T09:00:00.000Z',
};

export const Note = Type.Object(noteFields, { title: 'Note', examples: [exampleNote] });
export type Note = Static<typeof Note>;

export const NoteWithCorrections = Type.Object(
  {
    ...noteFields,
    corrections: Type.Array(
      Type.Object(
        {
          earlierText: Nullable(
            Type.String({
              description: 'The text before the correction. Null if the note is hidden from the caller.',
            }),
          ),
          actor: Type.String({ description: `Who corrected the text. ${ACTOR}` }),
          createdAt: Timestamp,
        },
        { title: 'NoteCorrection' },
      ),
      { description: 'Oldest first.' },
    ),
  },
  {
    title: 'NoteWithCorrections',
    examples: [
      {
        ...exampleNote,
        corrections: [
          {
            earlierText: 'Is paid at the end of the month. Call after 17:00.',
            actor: 'amina@example.com',
            createdAt: '2026-11-02T09:00:00.000Z',
          },
        ],
      },
    ],
  },
);
export type NoteWithCorrections = Static<typeof NoteWithCorrections>;

export const noteList = defineList(
  {
    id: { kind: 'id', column: 'n.id' },
    accountId: { kind: 'id', column: 'n.account_id', nullable: true },
    pinned: { kind: 'boolean', column: 'n.pinned' },
    createdAt: { kind: 'timestamp', column: 'n.created_at' },
    updatedAt: { kind: 'timestamp', column: 'n.updated_at' },
  },
  {},
);
