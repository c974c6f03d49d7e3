import type { Row } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { daysPastDue } from '../schedule/rules.ts';

/** Why the suspension policy changes the status of an account, for example "12 days past due, 7 days of grace". */
export function describeLateness(
  { next_due_date, grace_days }: Pick<Row<'accounts'>, 'next_due_date' | 'grace_days'>,
  today: PlainDate,
): string {
  const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
  return `${days(daysPastDue(next_due_date, today))} past due, ${days(grace_days)} of grace`;
}
