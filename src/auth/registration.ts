import type { Config } from '../config.ts';
import { type Context, SYSTEM } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { UserRole } from '../core/database/tables.ts';
import { AppError } from '../core/http/errors.ts';
import { addUser } from '../users/commands.ts';
import { hasUsers, type NewUser, type UserRow } from '../users/store.ts';
import { lockRegistration } from './store.ts';

/**
 * Makes a user of somebody who came by themselves, under REGISTRATION's rules: the first user of a new
 * service becomes admin (in production the CLI makes that one), others get REGISTRATION_ROLE.
 *
 * @param grantedRole role of a person whom the settings admit although registration is closed.
 * @throws AppError FORBIDDEN where registration is closed, DUPLICATE_ENTRY when the e-mail is taken.
 */
export async function admitNewcomer(
  tx: Tx,
  { config }: Pick<Context, 'config'>,
  newcomer: Omit<NewUser, 'role'>,
  requestId: string,
  grantedRole?: UserRole,
): Promise<UserRow> {
  await lockRegistration(tx);
  const first = !config.production && !(await hasUsers(tx));
  if (!first && !grantedRole && !config.registration.open) throw registrationClosed();
  const role = first ? 'admin' : (grantedRole ?? config.registration.role);
  return addUser(tx, { ...SYSTEM, requestId }, { ...newcomer, role });
}

/** Where nobody can be admitted, not even the first, there is no need to look further. */
export function refuseWhereClosed({ production, registration }: Config): void {
  if (production && !registration.open) throw registrationClosed();
}

function registrationClosed(): AppError {
  return new AppError('FORBIDDEN', 'Registration is closed. Ask an administrator for an invitation.');
}
