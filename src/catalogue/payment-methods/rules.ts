import type { Row } from '../../core/database/tables.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import { mayDo, type Rights } from '../../rights.ts';

/** The earliest date of a payment that staff record. */
const FIRST_DAY = '2000-01-01' as PlainDate;

/**
 * The earliest date with which the actor can record a payment with the method. Agents take only cash, and record it within a few days,
 * so that nobody can cover missing cash with a payment of long ago.
 * @returns null if the actor cannot record payments with the method.
 */
export function recordableFrom(
  actor: Rights,
  { active, cash }: Pick<Row<'payment_methods'>, 'active' | 'cash'>,
  { today, agentBackdatingDays }: { today: PlainDate; agentBackdatingDays: number },
): PlainDate | null {
  if (!active || !mayDo(actor, 'payments:record')) return null;
  if (actor.role !== 'agent') return FIRST_DAY;
  return cash ? addDays(today, -agentBackdatingDays) : null;
}
