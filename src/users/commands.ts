import { audit } from '../core/audit.ts';
import type { Actor, Context } from '../core/context.ts';
import { inTransaction, type Tx } from '../core/database/db.ts';
import { AppError, duplicate, invalidField, notFound } from '../core/http/errors.ts';
import { refuseGuessablePassword } from './guessable-passwords.ts';
import { hashPassword } from './passwords.ts';
import type { NewUserBody, UserChanges } from './schema.ts';
import * as store from './store.ts';

export async function createUser(context: Context, actor: Actor, body: NewUserBody) {
  const { password, ...fields } = body;
  refuseGuessablePassword(password, 'password', fields, context.config.production);
  const passwordHash = await hashPassword(password);
  const user = await inTransaction(context.db, (tx) =>
    addUser(tx, actor, { ...fields, passwordHash }).catch((error: unknown) => {
      const isTaken = error instanceof AppError && error.code === 'DUPLICATE_ENTRY';
      // Admins may read users; of those who register nobody may.
      throw isTaken ? duplicate('user', 'email', store.userWithEmail(fields.email)) : error;
    }),
  );
  return store.toUser(user);
}

/**
 * Changes only the fields sent. A new password and disabling end all sessions of the user; a new role
 * holds in them as soon as they are read again (auth/identify.ts).
 */
export async function changeUser(context: Context, actor: Actor, id: number, body: UserChanges) {
  const { password, ...fields } = body;
  const passwordHash = password === undefined ? undefined : await hashFor(context, id, password, fields);
  return inTransaction(context.db, async (tx) => {
    const mayEndAdmin = fields.active === false || (fields.role !== undefined && fields.role !== 'admin');
    if (mayEndAdmin) await store.lockAdmins(tx);
    const before = await store.lockUser(tx, id);
    if (!before) throw notFound('user', id);
    if (mayEndAdmin && before.role === 'admin' && before.active && !(await store.hasOtherActiveAdmin(tx, id)))
      throw lastAdmin(fields);
    const after = await store.updateUser(tx, id, { ...fields, passwordHash });
    if (passwordHash !== undefined || !after.active) await store.revokeSessionsOf(tx, id);
    await audit(tx, actor, {
      action: 'user.change',
      resource: 'user',
      resourceId: id,
      before: store.toUser(before),
      after: { ...fields, ...(passwordHash !== undefined && { passwordChanged: true }) },
    });
    return store.toUser(after);
  });
}

/** @throws AppError NOT_FOUND for an unknown user, VALIDATION_ERROR for a guessable password. */
async function hashFor(context: Context, id: number, password: string, names: UserChanges): Promise<string> {
  const user = await store.findUser(context.db, id);
  if (!user) throw notFound('user', id);
  const owner = { ...store.toUser(user), ...names };
  refuseGuessablePassword(password, 'password', owner, context.config.production);
  return hashPassword(password);
}

/** Part of the transactions that make a user: registration, sign-in through a provider, the CLI. */
export async function addUser(tx: Tx, actor: Actor, user: store.NewUser): Promise<store.UserRow> {
  const row = await store.insertUser(tx, user);
  const { email, firstName, lastName, role, employeeId } = store.toUser(row);
  const after = { email, firstName, lastName, role, employeeId };
  await audit(tx, actor, { action: 'user.create', resource: 'user', resourceId: row.id, after });
  return row;
}

function lastAdmin({ active }: UserChanges) {
  const path = active === false ? 'active' : 'role';
  return invalidField(path, 'this is the last active admin; make another user admin first');
}
