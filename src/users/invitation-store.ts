import { type Selectable, sql } from 'kysely';
import { type Db, type Tx, violatedForeignKey } from '../core/database/db.ts';
import type { InvitationPurpose, Invitations, UserRole } from '../core/database/tables.ts';
import { notFound } from '../core/http/errors.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import { emailKey } from '../core/values/email.ts';
import { STATUS_NOW } from './invitation-schema.ts';

export type OpenInvitation = Pick<
  Selectable<Invitations>,
  'id' | 'purpose' | 'email' | 'email_key' | 'role' | 'employee_id' | 'user_id'
>;

interface NewInvitationRow {
  purpose: InvitationPurpose;
  email: string;
  role: UserRole | null;
  employeeId: number | null;
  userId: number | null;
  tokenHash: Buffer;
  expiresAt: Date;
  createdBy: number | null;
}

/** Serializes invitations of one address, so that each revokes the one before it. */
export async function lockInvitations(tx: Tx, email: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`ams: invitation ${emailKey(email)}`}))`.execute(tx);
}

/** @throws AppError NOT_FOUND for an unknown employee. */
export async function insertInvitation(tx: Tx, invitation: NewInvitationRow, now: Date): Promise<number> {
  const { id } = await tx
    .insertInto('invitations')
    .values({
      purpose: invitation.purpose,
      email: invitation.email,
      email_key: emailKey(invitation.email),
      role: invitation.role,
      employee_id: invitation.employeeId,
      user_id: invitation.userId,
      token_hash: invitation.tokenHash,
      expires_at: invitation.expiresAt,
      created_by: invitation.createdBy,
      created_at: now,
      updated_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw violatedForeignKey(error) === 'invitations_employee_id_fkey'
        ? notFound('employee', invitation.employeeId, 'employeeId')
        : error;
    });
  return id;
}

/** Ends the open invitation of an address, also one that has expired; its id. */
export async function revokeOpenInvitation(
  tx: Tx,
  { email, purpose }: Pick<NewInvitationRow, 'email' | 'purpose'>,
  now: Date,
): Promise<number | undefined> {
  const revoked = await tx
    .updateTable('invitations')
    .set({ revoked_at: now, updated_at: now })
    .where('email_key', '=', emailKey(email))
    .where('purpose', '=', purpose)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  return revoked?.id;
}

export async function setRevoked(tx: Tx, id: number, now: Date): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ revoked_at: now, updated_at: now })
    .where('id', '=', id)
    .execute();
}

export function lockInvitation(tx: Tx, id: number) {
  return tx
    .selectFrom('invitations')
    .select(['id', 'accepted_at', 'revoked_at'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** The invitation of a token, if it may still be accepted. */
export function findOpenInvitation(
  db: Db,
  key: { tokenHash: Buffer } | { id: number },
  now: Date,
): Promise<OpenInvitation | undefined> {
  return openInvitation(db, key, now).executeTakeFirst();
}

/** The same, locked: of two concurrent acceptances only one finds it. */
export function lockOpenInvitation(tx: Tx, id: number, now: Date): Promise<OpenInvitation | undefined> {
  return openInvitation(tx, { id }, now).forUpdate().executeTakeFirst();
}

function openInvitation(db: Db, key: { tokenHash: Buffer } | { id: number }, now: Date) {
  const open = db
    .selectFrom('invitations')
    .select(['id', 'purpose', 'email', 'email_key', 'role', 'employee_id', 'user_id'])
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`expires_at > ${now}`);
  return 'id' in key ? open.where('id', '=', key.id) : open.where('token_hash', '=', key.tokenHash);
}

export async function setAccepted(tx: Tx, id: number, userId: number, now: Date): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ accepted_at: now, user_id: userId, updated_at: now })
    .where('id', '=', id)
    .execute();
}

type InvitationRow = Omit<Selectable<Invitations>, 'token_hash' | 'email_key'> & {
  status: 'pending' | 'accepted' | 'revoked' | 'expired';
};

const SELECT = sql<InvitationRow>`
  select i.id, i.purpose, i.email, i.role, i.employee_id, i.user_id, i.expires_at, i.accepted_at, i.revoked_at,
    i.created_by, i.created_at, i.updated_at, ${STATUS_NOW} as status
  from invitations i`;

export async function listInvitations(db: Db, plan: ListPlan) {
  const page = await fetchPage<InvitationRow>(db, plan, { select: SELECT, from: sql`from invitations i` });
  return { ...page, rows: page.rows.map(toInvitation) };
}

/** @throws AppError NOT_FOUND */
export async function getInvitation(db: Db, id: number) {
  const { rows } = await sql<InvitationRow>`${SELECT} where i.id = ${id}`.execute(db);
  const [row] = rows;
  if (!row) throw notFound('invitation', id);
  return toInvitation(row);
}

function toInvitation(row: InvitationRow) {
  return {
    id: row.id,
    purpose: row.purpose,
    email: row.email,
    role: row.role,
    employeeId: row.employee_id,
    userId: row.user_id,
    status: row.status,
    expiresAt: row.expires_at,
    acceptedAt: row.accepted_at,
    revokedAt: row.revoked_at,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
