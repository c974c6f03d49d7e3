import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { notFound } from '../../core/http/errors.ts';
import { lockCustomer } from '../store.ts';
import { allowedActions, refuseAction } from './rules.ts';
import type { NewNote, NoteChanges } from './schema.ts';
import {
  correctText,
  findNote,
  insertNote,
  isAccountOf,
  lockNote,
  type NoteRow,
  setHidden,
  setPinned,
} from './store.ts';

// The audit trail and the events do not repeat the text of a note, because it can contain personal data.

/** @throws AppError NOT_FOUND for an unknown customer, or for an account that does not belong to the customer. */
export function addNote(context: Context, actor: Actor, customerId: number, body: NewNote): Promise<NoteRow> {
  const { accountId = null, pinned = false } = body;
  return inTransaction(context.db, async (tx) => {
    if (!(await lockCustomer(tx, customerId))) throw notFound('customer', customerId);
    if (accountId !== null && !(await isAccountOf(tx, customerId, accountId))) {
      throw notFound('account', accountId, 'accountId');
    }
    const id = await insertNote(tx, actor, { customerId, accountId, text: body.text.trim(), pinned });
    await audit(tx, actor, {
      action: 'note.add',
      resource: 'note',
      resourceId: id,
      after: { customerId, accountId, pinned },
      event: event('note.added', { customerId, accountId }),
    });
    return getNote(await findNote(tx, customerId, id), id);
  });
}

/**
 * Corrects the text of a note, or pins or unpins it.
 * @throws AppError NOT_FOUND, FORBIDDEN if another user wrote the text, and VALIDATION_ERROR if the note is hidden.
 */
export function changeNote(
  context: Context,
  actor: Actor,
  customerId: number,
  id: number,
  changes: NoteChanges,
): Promise<NoteRow> {
  return inTransaction(context.db, async (tx) => {
    const before = getNote(await lockNote(tx, customerId, id), id);
    const allowed = allowedActions(actor, before);
    const text = changes.text?.trim() ?? before.text;
    const pinned = changes.pinned ?? before.pinned;
    if (text !== before.text) {
      if (!allowed.includes('correct')) throw refuseAction('correct', before);
      await correctText(tx, actor, before, text);
    }
    if (pinned !== before.pinned) {
      if (!allowed.includes('pin')) throw refuseAction('pin', before);
      await setPinned(tx, id, pinned);
    }
    const after = getNote(await findNote(tx, customerId, id), id);
    if (text !== before.text || pinned !== before.pinned) {
      await audit(tx, actor, {
        action: 'note.change',
        resource: 'note',
        resourceId: id,
        before: { pinned: before.pinned, correctionCount: before.correction_count },
        after: { pinned: after.pinned, correctionCount: after.correction_count },
        event: event('note.updated', { customerId, changedFields: Object.keys(changes) }),
      });
    }
    return after;
  });
}

/** Shows the text of a note only to users with the permission notes:hide from now on. */
export function hideNote(
  context: Context,
  actor: Actor,
  { customerId, id, reason }: { customerId: number; id: number; reason: string },
): Promise<NoteRow> {
  return inTransaction(context.db, async (tx) => {
    const before = getNote(await lockNote(tx, customerId, id), id);
    if (!allowedActions(actor, before).includes('hide')) throw refuseAction('hide', before);
    await setHidden(tx, actor, id, reason);
    await audit(tx, actor, {
      action: 'note.hide',
      resource: 'note',
      resourceId: id,
      before: { pinned: before.pinned, isHidden: false },
      after: { pinned: false, isHidden: true, reason },
      event: event('note.hidden', { customerId }),
    });
    return getNote(await findNote(tx, customerId, id), id);
  });
}

function getNote(note: NoteRow | undefined, id: number): NoteRow {
  if (!note) throw notFound('note', id, 'noteId');
  return note;
}
