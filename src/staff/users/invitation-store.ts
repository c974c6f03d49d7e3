import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedForeignKey } from '../../core/database/postgres-errors.ts';
import type { InvitationPurpose, Invitations, UserRole } from '../../core/database/tables.ts';
import { notFound } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { emailKey } from '../../core/values/email.ts';
import type { InvitationStatus } from './invitation-rules.ts';
import type { Invitation } from './invitation-schema.ts';

/** Invitations expire by real time, like everything that concerns sign-in. */
const STATUS_NOW = sql<InvitationStatus>`case
  when i.accepted_at is not null then 'accepted'
  when i.revoked_at is not null then 'revoked'
  when i.expires_at <= now() then 'expired'
  else 'pending' end`;

export type OpenInvitation = Pick<
  Selectable<Invitations>,
  'id' | 'purpose' | 'email' | 'email_key' | 'role' | 'employee_id' | 'user_id'
>;

export interface Invitee {
  purpose: InvitationPurpose;
  email: string;
  role: UserRole | null;
  employeeId: number | null;
  userId: number | null;
}

interface NewInvitation extends Invitee {
  tokenHash: Buffer;
  expiresAt: Date;
  createdBy: number | null;
}

/** Lets only one transaction at a time invite an e-mail, so that each invitation revokes the previous one. */
export async function lockInvitations(tx: Tx, email: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`ams: invitation ${emailKey(email)}`}))`.execute(tx);
}

/** @throws AppError NOT_FOUND for an unknown employee. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation, now: Date): Promise<number> {
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

/** Revokes the pending or expired invitation of an e-mail for the same purpose. Returns its id, if there is one. */
export async function revokeReplacedInvitation(
  tx: Tx,
  { email, purpose }: Pick<NewInvitation, 'email' | 'purpose'>,
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
    .selectFrom('invitations as i')
    .select(STATUS_NOW.as('status'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export function findOpenInvitation(
  db: Db,
  tokenHash: Buffer,
  now: Date,
): Promise<OpenInvitation | undefined> {
  return openInvitations(db, now).where('token_hash', '=', tokenHash).executeTakeFirst();
}

/** If two transactions accept an invitation at the same time, only one of them finds it. */
export function lockOpenInvitation(tx: Tx, id: number, now: Date): Promise<OpenInvitation | undefined> {
  return openInvitations(tx, now).where('id', '=', id).forUpdate().executeTakeFirst();
}

function openInvitations(db: Db, now: Date) {
  return db
    .selectFrom('invitations')
    .select(['id', 'purpose', 'email', 'email_key', 'role', 'employee_id', 'user_id'])
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`expires_at > ${now}`);
}

export async function setAccepted(tx: Tx, id: number, userId: number, now: Date): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ accepted_at: now, user_id: userId, updated_at: now })
    .where('id', '=', id)
    .execute();
}

const SELECT = sql<Invitation>`
  select i.id, i.purpose, i.email, i.role, i.employee_id as "employeeId", i.user_id as "userId",
    ${STATUS_NOW} as status, i.expires_at as "expiresAt", i.accepted_at as "acceptedAt", i.revoked_at as "revokedAt",
    i.created_by as "createdBy", i.created_at as "createdAt", i.updated_at as "updatedAt"
  from invitations i`;

export function listInvitations(db: Db, plan: ListPlan) {
  return fetchPage(db, plan, {
    computed: { status: STATUS_NOW },
    select: SELECT,
    from: sql`from invitations i`,
  });
}

/** @throws AppError NOT_FOUND */
export async function getInvitation(db: Db, id: number): Promise<Invitation> {
  const { rows } = await sql<Invitation>`${SELECT} where i.id = ${id}`.execute(db);
  const [row] = rows;
  if (!row) throw notFound('invitation', id);
  return row;
}
