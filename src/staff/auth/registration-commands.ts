import { type Config, type Context, SYSTEM } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import type { UserRole } from '../../core/database/tables.ts';
import { AppError, invalidField } from '../../core/http/errors.ts';
import { emailKey } from '../../core/values/email.ts';
import { hashToken } from '../../core/values/secret.ts';
import { addUser } from '../users/commands.ts';
import { acceptInvitation } from '../users/invitation-commands.ts';
import { findOpenInvitation, lockOpenInvitation, type OpenInvitation } from '../users/invitation-store.ts';
import { getUser, hasAdmin, type NewUser, type UserRow } from '../users/store.ts';
import { type Claims, profileWith } from './claims-rules.ts';
import { lockRegistration } from './store.ts';

/** Creates users who register themselves, with or without an invitation, by password or through an identity provider. */

type Registrant = Omit<NewUser, 'role'>;

/**
 * Creates a user who has no invitation. Outside production, a user who registers while there is no admin becomes the admin. In
 * production, the CLI creates the first admin. Other users get the granted role, or REGISTRATION_ROLE.
 *
 * @param grantedRole the role for a person whom the settings admit (`OAUTH_<NAME>_DOMAINS`), even when registration is closed.
 * @throws AppError FORBIDDEN when registration is closed, DUPLICATE_ENTRY when the e-mail is taken.
 */
export async function createUninvitedUser(
  tx: Tx,
  { config }: Pick<Context, 'config'>,
  registrant: Registrant,
  requestId: string,
  grantedRole?: UserRole,
): Promise<UserRow> {
  await lockRegistration(tx);
  const isFirst = !config.production && !(await hasAdmin(tx));
  if (!isFirst && !grantedRole && !config.registration.open) throw registrationClosed();
  const role = isFirst ? 'admin' : (grantedRole ?? config.registration.role);
  return addUser(tx, { ...SYSTEM, requestId }, { ...registrant, role });
}

/**
 * In production, refuses a registration if registration is closed. Outside production, the first user can register even then, so
 * `createUninvitedUser` decides in its transaction.
 */
export function refuseIfClosed({ production, registration }: Config): void {
  if (production && !registration.open) throw registrationClosed();
}

/** @throws AppError VALIDATION_ERROR for a token that is unknown, used, revoked or expired. */
export async function findInvitation(db: Db, token: string): Promise<OpenInvitation> {
  return requireOpen(await findOpenInvitation(db, hashToken(token), new Date()));
}

/**
 * Finds the invitation for a registration with a password.
 *
 * @throws AppError VALIDATION_ERROR if the token is not valid, the e-mail is not the invited one, or the purpose is link_identity.
 */
export async function findSignUpInvitation(
  db: Db,
  token: string,
  { email }: { email: string },
): Promise<OpenInvitation> {
  const invitation = await findInvitation(db, token);
  if (invitation.purpose !== 'sign_up') {
    throw invalidField(
      'invitation',
      'must be accepted through an identity provider: GET /api/auth/{provider}',
    );
  }
  if (invitation.email_key !== emailKey(email)) throw invalidField('email', 'must be the invited e-mail');
  return invitation;
}

/** Accepts an invitation with a password: creates the invited user. */
export async function createInvitedUser(
  tx: Tx,
  invitationId: number,
  registrant: Registrant,
  requestId: string,
): Promise<UserRow> {
  return signUp(tx, await lockOpen(tx, invitationId), registrant, requestId);
}

/**
 * Accepts an invitation through an identity provider. Returns a new user for the purpose sign_up, and the existing user for
 * link_identity. The token proves who was invited, so a new user gets the invited e-mail, not the e-mail from the provider.
 */
export async function findOrCreateInvitedUser(
  tx: Tx,
  invitationId: number,
  claims: Claims,
  requestId: string,
): Promise<UserRow> {
  const invitation = await lockOpen(tx, invitationId);
  if (invitation.user_id === null) {
    const registrant = { ...profileWith(invitation.email, claims), passwordHash: null };
    return signUp(tx, invitation, registrant, requestId);
  }
  await acceptInvitation(tx, { ...SYSTEM, requestId }, invitation.id, invitation.user_id);
  return getUser(tx, invitation.user_id);
}

async function signUp(
  tx: Tx,
  { id, role, employee_id: employeeId }: OpenInvitation,
  registrant: Registrant,
  requestId: string,
): Promise<UserRow> {
  if (role === null) throw new Error('The sign_up invitation has no role.');
  const actor = { ...SYSTEM, requestId };
  const user = await addUser(tx, actor, { ...registrant, role, employeeId });
  await acceptInvitation(tx, actor, id, user.id);
  return user;
}

async function lockOpen(tx: Tx, id: number): Promise<OpenInvitation> {
  return requireOpen(await lockOpenInvitation(tx, id, new Date()));
}

function requireOpen(invitation: OpenInvitation | undefined): OpenInvitation {
  if (invitation) return invitation;
  throw invalidField(
    'invitation',
    'is not valid: it was used or revoked, or has expired. Ask an administrator for a new one',
  );
}

function registrationClosed(): AppError {
  return new AppError('FORBIDDEN', 'Registration is closed. Ask an administrator for an invitation.');
}
