import type { Actor } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { allowedActions, maySeeText } from './rules.ts';
import type { Note, NoteWithCorrections } from './schema.ts';
import { findCorrections, type NoteRow } from './store.ts';

/** @param numberOf - makes the account number, which belongs to a later wing. */
export function toNote(row: NoteRow, actor: Actor, numberOf: (accountId: number) => string): Note {
  return {
    id: row.id,
    customerId: row.customer_id,
    accountId: row.account_id,
    accountNumber: row.account_id === null ? null : numberOf(row.account_id),
    text: maySeeText(actor, row) ? row.text : null,
    pinned: row.pinned,
    actor: row.actor,
    correctionCount: row.correction_count,
    hiddenAt: row.hidden_at,
    hiddenBy: row.hidden_by_name,
    hiddenReason: row.hidden_reason,
    allowedActions: allowedActions(actor, row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export async function toNoteWithCorrections(
  db: Db,
  row: NoteRow,
  actor: Actor,
  numberOf: (accountId: number) => string,
): Promise<NoteWithCorrections> {
  const isVisible = maySeeText(actor, row);
  const corrections = await findCorrections(db, row.id);
  return {
    ...toNote(row, actor, numberOf),
    corrections: corrections.map(({ earlier_text, actor: name, created_at }) => ({
      earlierText: isVisible ? earlier_text : null,
      actor: name,
      createdAt: created_at,
    })),
  };
}
