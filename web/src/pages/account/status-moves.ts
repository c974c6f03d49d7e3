import type { Schemas } from '../../api/paths.ts';

/** A status to which staff can change an account. Only the service sets `pending` and `completed`. */
export type Move = Exclude<Schemas['AccountStatus'], 'pending' | 'completed'>;

/** The statuses that the page offers, for each status of an account. The service decides whether a change is allowed. */
export const MOVES: Record<Schemas['AccountStatus'], readonly Move[]> = {
  pending: ['suspended', 'cancelled'],
  active: ['suspended', 'defaulted', 'cancelled'],
  suspended: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
  defaulted: ['active', 'repossessed', 'written_off'],
  repossessed: ['active', 'written_off'],
  completed: [],
  written_off: [],
  cancelled: [],
};

/** A change to one of these statuses gives up the unpaid balance, so it may need approval. */
export const BALANCE_REMOVING_MOVES: readonly Move[] = ['written_off', 'cancelled'];

/** Empty for a status that this version of the console does not know. */
export function movesOf(status: Schemas['AccountStatus']): readonly Move[] {
  return MOVES[status] ?? [];
}
