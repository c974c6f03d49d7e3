import type { Schemas } from '../../api/paths.ts';

/** A status that staff give to an account. The service sets the others. */
export type Move = Exclude<Schemas['AccountStatus'], 'pending' | 'completed'>;

/** The changes that are offered. The service decides; it lists the allowed ones if it refuses. */
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

/** The statuses that remove the balance, which may need approval. */
export const REMOVE_BALANCE: readonly Move[] = ['written_off', 'cancelled'];

/** None for a status that is newer than this console. */
export function movesOf(status: Schemas['AccountStatus']): readonly Move[] {
  return MOVES[status] ?? [];
}
