import { permissionsOf } from '../../rights.ts';
import type { UserRow } from '../users/store.ts';
import { toUser } from '../users/view.ts';

interface SignIn {
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
  user: UserRow;
}

export function toSignedIn({ user, ...tokens }: SignIn) {
  return { ...tokens, tokenType: 'Bearer' as const, user: toUser(user) };
}

export function toBrowserSession({ user, ...tokens }: Omit<SignIn, 'refreshToken'>) {
  return { ...tokens, user: toUser(user), permissions: permissionsOf(user.role) };
}

export function toSignedInUser(user: UserRow) {
  return { ...toUser(user), permissions: permissionsOf(user.role) };
}
