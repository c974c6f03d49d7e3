import type { Schemas } from '../../api/paths.ts';

/** A status to which staff can change an account. Only the service sets `pending` and `completed`. */
export type Move = Exclude<Schemas['AccountStatus'], 'pending' | 'completed'>;

/** A change to one of these statuses gives up the unpaid balance, so it may need approval. */
export const BALANCE_REMOVING_MOVES: readonly Move[] = ['written_off', 'cancelled'];
