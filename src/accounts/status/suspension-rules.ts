import type { Row } from '../../core/database/tables.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import { daysPastDue, lastDayOfGrace } from '../schedule/rules.ts';

export function isBeyondGrace(account: Parameters<typeof lastDayOfGrace>[0], today: PlainDate): boolean {
  const last = lastDayOfGrace(account);
  return last !== null && compareDates(last, today) < 0;
}

/** Why the suspension policy changes the status of an account, for example "12 days past due, 7 days of grace". */
export function describeLateness(
  { next_due_date, grace_days }: Pick<Row<'accounts'>, 'next_due_date' | 'grace_days'>,
  today: PlainDate,
): string {
  const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
  return `${days(daysPastDue(next_due_date, today))} past due, ${days(grace_days)} of grace`;
}
