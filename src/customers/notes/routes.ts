import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { ifLockedUnchanged } from '../../core/http/etags.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { findCustomer } from '../store.ts';
import { addNote, changeNote, hideNote } from './commands.ts';
import {
  NewNote,
  Note,
  NoteChanges,
  NoteHiding,
  NoteParams,
  NoteWithCorrections,
  noteList,
} from './schema.ts';
import { findNote, listNotes, lockNote } from './store.ts';
import { toNote, toNoteWithCorrections } from './view.ts';

/** @param formatAccount - makes the number of an account, which belongs to a later wing. */
export function noteRoutes(
  api: Api,
  context: Context,
  { formatAccount }: { formatAccount: (id: number) => string },
): void {
  api.get(
    '/customers/:id/notes',
    {
      config: { access: 'notes:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Customers'],
        operationId: 'listNotes',
        summary: 'List notes about a customer',
        description:
          'The notes about the customer and about the customer’s accounts. Nobody can delete a note. The text of a hidden note is ' +
          'shown only to users who may hide notes.',
        params: IdParams,
        querystring: noteList.query,
        response: { 200: ListEnvelope(Note, 'Notes found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await findCustomer(context.db, id))) throw notFound('customer', id);
      const { rows, pagination } = await listNotes(context.db, request.query, id);
      const notes = rows.map((row) => toNote(row, actorOf(request), formatAccount));
      return okList({ rows: notes, pagination }, 'Notes found.');
    },
  );

  api.post(
    '/customers/:id/notes',
    {
      config: { access: 'notes:write', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Customers'],
        operationId: 'addNote',
        summary: 'Write a note about a customer',
        description:
          'A note is about the customer, or about one of the customer’s accounts (`accountId`). Events never contain the text.',
        params: IdParams,
        body: NewNote,
        response: { 201: Envelope(Note, 'Note added.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const note = await addNote(txContext, actor, request.params.id, request.body);
        reply.status(201);
        return ok(toNote(note, actor, formatAccount), 'Note added.');
      }),
  );

  api.get(
    '/customers/:id/notes/:noteId',
    {
      config: { access: 'notes:read', errors: ['NOT_FOUND'], editable: NoteChanges },
      schema: {
        tags: ['Customers'],
        operationId: 'getNote',
        summary: 'Get a note with its corrections',
        params: NoteParams,
        response: { 200: Envelope(NoteWithCorrections, 'Note found.') },
      },
    },
    async (request) => {
      const { id, noteId } = request.params;
      if (!(await findCustomer(context.db, id))) throw notFound('customer', id);
      const note = await findNote(context.db, id, noteId);
      if (!note) throw notFound('note', noteId, 'noteId');
      const shown = await toNoteWithCorrections(context.db, note, actorOf(request), formatAccount);
      return ok(shown, 'Note found.');
    },
  );

  api.put(
    '/customers/:id/notes/:noteId',
    {
      config: { access: 'notes:write', errors: ['NOT_FOUND'], editable: NoteChanges },
      schema: {
        tags: ['Customers'],
        operationId: 'changeNote',
        summary: 'Correct, pin or unpin a note',
        description:
          'Only the author corrects the text, and the earlier text remains visible in `corrections`. Every user who may write notes ' +
          'can pin them. A hidden note cannot be changed.',
        params: NoteParams,
        body: NoteChanges,
        response: { 200: Envelope(Note, 'Note changed.') },
      },
    },
    async (request) => {
      const { id, noteId } = request.params;
      const actor = actorOf(request);
      const note = await ifLockedUnchanged(
        context,
        request,
        (tx) => lockNote(tx, id, noteId),
        (txContext) => changeNote(txContext, actor, id, noteId, request.body),
      );
      return ok(toNote(note, actor, formatAccount), 'Note changed.');
    },
  );

  api.post(
    '/customers/:id/notes/:noteId/hide',
    {
      config: { access: 'notes:hide', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Customers'],
        operationId: 'hideNote',
        summary: 'Hide the text of a note',
        description:
          'For a text that should not be there, such as data about another person. The note remains, with who hid it and why. Its text ' +
          'and its corrections are then shown only to users who may hide notes. This cannot be undone.',
        params: NoteParams,
        body: NoteHiding,
        response: { 200: Envelope(Note, 'Note hidden.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { id, noteId } = request.params;
        const actor = actorOf(request);
        const { reason } = request.body;
        const note = await hideNote(txContext, actor, { customerId: id, id: noteId, reason });
        return ok(toNote(note, actor, formatAccount), 'Note hidden.');
      }),
  );
}
