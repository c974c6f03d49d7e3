import type { Row } from '../core/database/tables.ts';
import { daysBetween, type PlainDate } from '../core/values/dates.ts';

/** What the lateness policy reads of an account. `next_due_date` is null when every item is paid. */
type Lateness = Pick<Row<'accounts'>, 'next_due_date' | 'grace_days'>;

export function isBeyondGrace({ next_due_date, grace_days }: Lateness, today: PlainDate): boolean {
  return next_due_date !== null && daysBetween(next_due_date, today) > grace_days;
}

/** Why the lateness policy moves an account: "12 days past due, 7 days of grace". */
export function describeLateness({ next_due_date, grace_days }: Lateness, today: PlainDate): string {
  const daysPastDue = next_due_date === null ? 0 : Math.max(0, daysBetween(next_due_date, today));
  const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
  return `${days(daysPastDue)} past due, ${days(grace_days)} of grace`;
}
