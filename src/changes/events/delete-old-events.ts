import type { Context } from '../../core/context.ts';
import { deleteEvents } from './store.ts';

/** How long events are kept. A reader that stops for longer must read the resources again. */
const KEPT_DAYS = 30;

/** @returns the number of deleted events. */
export function deleteOldEvents(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<number> {
  return deleteEvents(db, new Date(clock.now().getTime() - KEPT_DAYS * 86_400_000), signal);
}
