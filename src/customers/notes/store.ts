import { sql } from 'kysely';
import type { Actor } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { NoteState } from './rules.ts';

/** A note with the names of its users. */
export interface NoteRow extends NoteState {
  id: number;
  customer_id: number;
  account_id: number | null;
  text: string;
  pinned: boolean;
  actor: string;
  hidden_by_name: string | null;
  hidden_reason: string | null;
  created_at: string;
  updated_at: string;
}

const SELECT = sql<NoteRow>`
  select n.id, n.customer_id, n.account_id, n.text, n.pinned, n.created_by, n.api_key_id, n.correction_count,
    n.hidden_at, n.hidden_reason, n.created_at, n.updated_at,
    coalesce(u.email, 'api key ' || k.name, 'system') as actor,
    case when n.hidden_at is not null then coalesce(h.email, 'api key ' || hk.name, 'system') end as hidden_by_name
  from notes n left join users u on u.id = n.created_by left join api_keys k on k.id = n.api_key_id
    left join users h on h.id = n.hidden_by left join api_keys hk on hk.id = n.hidden_by_key`;

export function listNotes(db: Db, plan: ListPlan, customerId: number) {
  return fetchPage<NoteRow>(db, plan, {
    select: SELECT,
    from: sql`from notes n`,
    where: [sql<boolean>`n.customer_id = ${customerId}`],
    byKey: true,
  });
}

const MAX_PINNED = 20;

/** The pinned notes about a customer and about the customer's accounts, the newest first. */
export async function findPinnedNotes(db: Db, customerId: number): Promise<NoteRow[]> {
  const { rows } = await sql<NoteRow>`
    ${SELECT} where n.customer_id = ${customerId} and n.pinned order by n.created_at desc, n.id desc
    limit ${MAX_PINNED}`.execute(db);
  return rows;
}

/** A note of another customer is not found, so that nobody reads or changes it by a guessed id. */
export async function findNote(db: Db, customerId: number, id: number): Promise<NoteRow | undefined> {
  const { rows } = await sql<NoteRow>`${SELECT} where n.id = ${id} and n.customer_id = ${customerId}`.execute(
    db,
  );
  return rows[0];
}

/** Locks a note until the transaction ends. */
export async function lockNote(tx: Tx, customerId: number, id: number): Promise<NoteRow | undefined> {
  await sql`select from notes where id = ${id} and customer_id = ${customerId} for no key update`.execute(tx);
  return findNote(tx, customerId, id);
}

/** Whether the account exists and belongs to the customer. */
export async function isAccountOf(tx: Tx, customerId: number, accountId: number): Promise<boolean> {
  const { rows } = await sql`
    select from accounts where id = ${accountId} and customer_id = ${customerId}`.execute(tx);
  return rows.length > 0;
}

interface NewNoteRow {
  customerId: number;
  accountId: number | null;
  text: string;
  pinned: boolean;
}

export async function insertNote(tx: Tx, { userId, apiKey }: Actor, note: NewNoteRow): Promise<number> {
  const { id } = await tx
    .insertInto('notes')
    .values({
      customer_id: note.customerId,
      account_id: note.accountId,
      text: note.text,
      pinned: note.pinned,
      created_by: userId,
      api_key_id: apiKey?.id ?? null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return Number(id);
}

/** Replaces the text of a note, and keeps the earlier text. */
export async function correctText(
  tx: Tx,
  { userId, apiKey }: Actor,
  note: NoteRow,
  text: string,
): Promise<void> {
  await tx
    .insertInto('note_corrections')
    .values({
      note_id: note.id,
      earlier_text: note.text,
      corrected_by: userId,
      api_key_id: apiKey?.id ?? null,
    })
    .execute();
  await sql`
    update notes set text = ${text}, correction_count = correction_count + 1, updated_at = business_now()
    where id = ${note.id}`.execute(tx);
}

export async function setPinned(tx: Tx, id: number, pinned: boolean): Promise<void> {
  await sql`update notes set pinned = ${pinned}, updated_at = business_now() where id = ${id}`.execute(tx);
}

export async function setHidden(
  tx: Tx,
  { userId, apiKey }: Actor,
  id: number,
  reason: string,
): Promise<void> {
  await sql`
    update notes set pinned = false, hidden_at = business_now(), hidden_by = ${userId}, hidden_by_key = ${apiKey?.id ?? null},
      hidden_reason = ${reason}, updated_at = business_now()
    where id = ${id}`.execute(tx);
}

export interface CorrectionRow {
  earlier_text: string;
  actor: string;
  created_at: string;
}

export async function findCorrections(db: Db, noteId: number): Promise<CorrectionRow[]> {
  const { rows } = await sql<CorrectionRow>`
    select c.earlier_text, coalesce(u.email, 'api key ' || k.name, 'system') as actor, c.created_at
    from note_corrections c left join users u on u.id = c.corrected_by left join api_keys k on k.id = c.api_key_id
    where c.note_id = ${noteId} order by c.id`.execute(db);
  return rows;
}
