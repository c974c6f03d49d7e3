import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { duplicate, invalidField, notFound } from '../../core/http/errors.ts';
import { newToken } from '../../core/values/secret.ts';
import { checkInvitationMove, expiryOf } from './invitation-rules.ts';
import type { NewIdentityInvitation, NewInvitation } from './invitation-schema.ts';
import * as store from './invitation-store.ts';
import { findUserByEmail, getUser } from './store.ts';

/**
 * Invites a person who is not a user yet. A new invitation to the same e-mail replaces the open one.
 *
 * @returns the invitation with its token, which is not shown again.
 * @throws AppError DUPLICATE_ENTRY when a user has the e-mail, NOT_FOUND for an unknown employee.
 */
export async function invitePerson(context: Context, actor: Actor, body: NewInvitation) {
  return inTransaction(context.db, async (tx) => {
    const { email, role, employeeId = null } = body;
    const existing = await findUserByEmail(tx, email);
    if (existing) throw duplicate('user', 'email', existing.id);
    return issue(tx, actor, { purpose: 'sign_up', email, role, employeeId, userId: null }, body);
  });
}

/**
 * Invites an existing user to link an identity, so that the user can sign in through an identity provider.
 *
 * @returns the invitation with its token, which is not shown again.
 * @throws AppError NOT_FOUND for an unknown user, VALIDATION_ERROR for a disabled one.
 */
export async function inviteUser(
  context: Context,
  actor: Actor,
  userId: number,
  body: NewIdentityInvitation,
) {
  return inTransaction(context.db, async (tx) => {
    const { email, active } = await getUser(tx, userId);
    if (!active) throw invalidField('id', 'is a disabled user; set active to true first');
    return issue(tx, actor, { purpose: 'link_identity', email, role: null, employeeId: null, userId }, body);
  });
}

/** Revoking a revoked invitation changes nothing. @throws AppError NOT_FOUND, VALIDATION_ERROR for an accepted invitation. */
export async function revokeInvitation(context: Context, actor: Actor, id: number) {
  return inTransaction(context.db, async (tx) => {
    const invitation = await store.lockInvitation(tx, id);
    if (!invitation) throw notFound('invitation', id);
    if (invitation.status !== 'revoked') {
      checkInvitationMove(invitation.status, 'revoked');
      await store.setRevoked(tx, id, new Date());
      await auditRevocation(tx, actor, id);
    }
    return store.getInvitation(tx, id);
  });
}

async function issue(tx: Tx, actor: Actor, invitee: store.Invitee, body: NewIdentityInvitation) {
  await store.lockInvitations(tx, invitee.email);
  const now = new Date();
  const replaced = await store.revokeReplacedInvitation(tx, invitee, now);
  if (replaced !== undefined) await auditRevocation(tx, actor, replaced);
  const { token, hash: tokenHash } = newToken();
  const expiresAt = expiryOf(body, now);
  const id = await store.insertInvitation(
    tx,
    { ...invitee, tokenHash, expiresAt, createdBy: actor.userId },
    now,
  );
  const { email: _personal, ...data } = invitee;
  await audit(tx, actor, {
    action: 'invitation.create',
    resource: 'invitation',
    resourceId: id,
    after: { ...invitee, expiresAt },
    event: event('invitation.created', data),
  });
  return { ...(await store.getInvitation(tx, id)), token };
}

async function auditRevocation(tx: Tx, actor: Actor, id: number): Promise<void> {
  await audit(tx, actor, {
    action: 'invitation.revoke',
    resource: 'invitation',
    resourceId: id,
    after: { status: 'revoked' },
    event: event('invitation.revoked', {}),
  });
}

/** Marks an invitation as accepted, in the transaction that creates or links its user. */
export async function acceptInvitation(tx: Tx, actor: Actor, id: number, userId: number): Promise<void> {
  await store.setAccepted(tx, id, userId, new Date());
  await audit(tx, actor, {
    action: 'invitation.accept',
    resource: 'invitation',
    resourceId: id,
    after: { status: 'accepted', userId },
    event: event('invitation.accepted', { userId }),
  });
}
