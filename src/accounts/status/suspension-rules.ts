import type { Row } from '../../core/database/tables.ts';
import { addDays, compareDates, daysBetween, type PlainDate } from '../../core/values/dates.ts';

/** `next_due_date` is null if every item is paid, or if the account is closed. */
type Lateness = Pick<Row<'accounts'>, 'next_due_date' | 'grace_days'>;
type Grace = Lateness & Pick<Row<'accounts'>, 'reprieved_on'>;

/**
 * The last day before automatic suspension. Null if there is no next due date. The days of grace start again on `reprieved_on`,
 * the day on which staff last made the account active. The restart does not change the account's payment state, which can still
 * be `late`. suspension-store.ts has the same formula in SQL, and a test compares both.
 */
export function lastDayOfGrace({ next_due_date, reprieved_on, grace_days }: Grace): PlainDate | null {
  if (next_due_date === null) return null;
  const graceRestarted = reprieved_on !== null && compareDates(reprieved_on, next_due_date) > 0;
  return addDays(graceRestarted ? reprieved_on : next_due_date, grace_days);
}

export function isBeyondGrace(account: Grace, today: PlainDate): boolean {
  const last = lastDayOfGrace(account);
  return last !== null && compareDates(last, today) < 0;
}

/** Why the suspension policy changes the status of an account, for example "12 days past due, 7 days of grace". */
export function describeLateness({ next_due_date, grace_days }: Lateness, today: PlainDate): string {
  const daysPastDue = next_due_date === null ? 0 : Math.max(0, daysBetween(next_due_date, today));
  const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
  return `${days(daysPastDue)} past due, ${days(grace_days)} of grace`;
}
