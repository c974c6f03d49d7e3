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
