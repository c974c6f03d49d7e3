import { illegalMove } from '../../core/http/errors.ts';

export type InvitationStatus = 'pending' | 'expired' | 'accepted' | 'revoked';

/** The allowed changes of each status of an invitation. `pending` becomes `expired` only by time. */
const MOVES: Record<InvitationStatus, readonly InvitationStatus[]> = {
  pending: ['accepted', 'revoked'],
  accepted: [],
  revoked: [],
  expired: ['revoked'],
};
export const INVITATION_STATUSES = Object.keys(MOVES) as InvitationStatus[];

export const DEFAULT_DAYS = 7;
export const MAX_DAYS = 30;

/** @throws AppError VALIDATION_ERROR with `{from, to, allowed}`. */
export function checkInvitationMove(from: InvitationStatus, to: InvitationStatus): void {
  if (!MOVES[from].includes(to)) throw illegalMove('An invitation', from, to, MOVES[from]);
}

export function expiryOf({ expiresInDays = DEFAULT_DAYS }: { expiresInDays?: number }, now: Date): Date {
  return new Date(now.getTime() + expiresInDays * 86_400_000);
}
