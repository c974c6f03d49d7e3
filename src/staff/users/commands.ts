import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { UserRole } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, duplicate, invalidField, notFound } from '../../core/http/errors.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { refuseGuessablePassword } from './password-rules.ts';
import { hashPassword } from './passwords.ts';
import type { NewUserBody, UserChanges } from './schema.ts';
import * as store from './store.ts';
import { toUser } from './view.ts';

export async function createUser(context: Context, actor: Actor, sent: NewUserBody) {
  const body = withTrimmed(sent, 'firstName', 'lastName');
  const { password, ...fields } = body;
  refuseGuessablePassword(password, 'password', fields, context.config.production);
  const passwordHash = await hashPassword(password);
  return inTransaction(context.db, (tx) =>
    addUser(tx, actor, { ...fields, passwordHash }).catch((error: unknown) => {
      const isTaken = error instanceof AppError && error.code === 'DUPLICATE_ENTRY';
      // An admin gets the id of the existing user, because an admin can read users. A person who registers does not get it.
      throw isTaken ? duplicate('user', 'email', store.userWithEmail(fields.email)) : error;
    }),
  );
}

/**
 * Changes a user. A new password or `active: false` ends all sessions of the user. A new role applies to a live session when the
 * instances read the session from the database again.
 */
export async function changeUser(context: Context, actor: Actor, id: number, sent: UserChanges) {
  const body = withTrimmed(sent, 'firstName', 'lastName');
  const { password, ...fields } = body;
  const passwordHash = password === undefined ? undefined : await hashFor(context, id, password, fields);
  return inTransaction(context.db, async (tx) => {
    const removal = adminRemoval(fields);
    if (removal) await store.lockAdmins(tx);
    const before = await store.lockUser(tx, id);
    if (!before) throw notFound('user', id);
    if (removal && before.role === 'admin' && before.active && !(await store.hasOtherActiveAdmin(tx, id)))
      throw invalidField(
        removal,
        'must stay as it is for the last active admin; make another user admin first',
      );
    const after = await store.updateUser(tx, id, { ...fields, passwordHash });
    if (passwordHash !== undefined || !after.active) await store.revokeSessionsOf(tx, id);
    await audit(tx, actor, {
      action: 'user.change',
      resource: 'user',
      resourceId: id,
      before: toUser(before),
      after: { ...fields, ...(passwordHash !== undefined && { passwordChanged: true }) },
      event: event('user.updated', { changedFields: Object.keys(body) }),
    });
    return after;
  });
}

/** The changed field that would disable an admin or give the admin another role. Undefined if there is none. */
function adminRemoval(changes: { role?: UserRole; active?: boolean }): 'active' | 'role' | undefined {
  if (changes.active === false) return 'active';
  return changes.role === undefined || changes.role === 'admin' ? undefined : 'role';
}

/** @throws AppError NOT_FOUND for an unknown user, VALIDATION_ERROR for a guessable password. */
async function hashFor(context: Context, id: number, password: string, names: UserChanges): Promise<string> {
  const owner = { ...toUser(await store.getUser(context.db, id)), ...names };
  refuseGuessablePassword(password, 'password', owner, context.config.production);
  return hashPassword(password);
}

/** Adds a user in the caller's transaction. @throws AppError DUPLICATE_ENTRY, NOT_FOUND for an unknown employee. */
export async function addUser(tx: Tx, actor: Actor, user: store.NewUser): Promise<store.UserRow> {
  const row = await store.insertUser(tx, user);
  const { email, firstName, lastName, role, employeeId } = toUser(row);
  const after = { email, firstName, lastName, role, employeeId };
  await audit(tx, actor, {
    action: 'user.create',
    resource: 'user',
    resourceId: row.id,
    after,
    event: event('user.created', { role, employeeId }),
  });
  return row;
}
