import { SYSTEM } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import { type AppError, invalidField } from '../core/http/errors.ts';
import { emailKey } from '../core/values/email.ts';
import { hashToken } from '../core/values/secret.ts';
import { addUser } from '../users/commands.ts';
import { acceptInvitation } from '../users/invitation-commands.ts';
import { findOpenInvitation, lockOpenInvitation, type OpenInvitation } from '../users/invitation-store.ts';
import { getUser, type NewUser, type UserRow } from '../users/store.ts';
import { type Claims, profileWith } from './rules.ts';

/** Accepting an invitation, with a password or through an identity provider. */

/** @throws AppError VALIDATION_ERROR for a token that was used or revoked, has expired, or is unknown. */
export async function findInvitation(db: Db, token: string): Promise<OpenInvitation> {
  const invitation = await findOpenInvitation(db, { tokenHash: hashToken(token) }, new Date());
  if (!invitation) throw notOpen();
  return invitation;
}

/**
 * Finds the invitation for a registration with a password.
 *
 * @throws AppError VALIDATION_ERROR as findInvitation, for another e-mail than the invited one, and for link_identity.
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
      'is for signing in through an identity provider: GET /api/auth/{provider}',
    );
  }
  if (invitation.email_key !== emailKey(email))
    throw invalidField('email', 'must be the e-mail that was invited');
  return invitation;
}

/** Creates the invited user and marks the invitation as accepted. */
export async function admitInvited(
  tx: Tx,
  invitationId: number,
  newcomer: Omit<NewUser, 'role'>,
  requestId: string,
): Promise<UserRow> {
  const invitation = await lockOpen(tx, invitationId);
  return signUp(tx, invitation, newcomer, requestId);
}

/**
 * Accepts an invitation through an identity provider and returns its user, who is created for sign_up. The token proves
 * who was invited, so the user gets the invited e-mail and not the provider's.
 */
export async function takeInvited(
  tx: Tx,
  invitationId: number,
  claims: Claims,
  requestId: string,
): Promise<UserRow> {
  const invitation = await lockOpen(tx, invitationId);
  if (invitation.user_id === null) {
    const newcomer = { ...profileWith(invitation.email, claims), passwordHash: null };
    return signUp(tx, invitation, newcomer, requestId);
  }
  await acceptInvitation(tx, { ...SYSTEM, requestId }, invitation.id, invitation.user_id);
  return getUser(tx, invitation.user_id);
}

async function signUp(
  tx: Tx,
  { id, role, employee_id: employeeId }: OpenInvitation,
  newcomer: Omit<NewUser, 'role'>,
  requestId: string,
): Promise<UserRow> {
  if (role === null) throw new Error('An invitation to sign up has a role.');
  const actor = { ...SYSTEM, requestId };
  const user = await addUser(tx, actor, { ...newcomer, role, employeeId });
  await acceptInvitation(tx, actor, id, user.id);
  return user;
}

async function lockOpen(tx: Tx, id: number): Promise<OpenInvitation> {
  const invitation = await lockOpenInvitation(tx, id, new Date());
  if (!invitation) throw notOpen();
  return invitation;
}

function notOpen(): AppError {
  return invalidField(
    'invitation',
    'is not valid: it was used or revoked, or has expired. Ask an administrator for a new one',
  );
}
