import { businessDay } from '../../core/values/dates.ts';

const HOUR_MS = 3_600_000;
/** The daily check starts at this hour of the business time zone, when few people work. */
const STARTS_AT_HOUR = 2;
/** One day, and the time that the next daily check can take. */
const CURRENT_FOR_MS = 26 * HOUR_MS;

/** The day to which a check at the time `at` belongs. Such a day begins at the hour of the daily check, not at midnight. */
export function dayOfCheck(at: Date, timeZone: string) {
  return businessDay(new Date(at.getTime() - STARTS_AT_HOUR * HOUR_MS), timeZone);
}

/** Whether the books have to be checked now. @param readAt - the time of the last check. */
export function isCheckDue(readAt: Date | undefined, now: Date, timeZone: string): boolean {
  return !readAt || dayOfCheck(readAt, timeZone) < dayOfCheck(now, timeZone);
}

/** Whether the last check is recent enough to describe the current books. */
export function isCurrent(readAt: Date | undefined, now: Date): boolean {
  return readAt !== undefined && now.getTime() - readAt.getTime() <= CURRENT_FOR_MS;
}

interface Result {
  read_at: string | Date;
  failed_checks: readonly string[];
}

/** Whether the list of failing checks has changed. Also true if all checks pass and the last result is missing or not current. */
export function isNews(result: Result, last: Result | undefined): boolean {
  if (String(result.failed_checks) !== String(last?.failed_checks)) return true;
  const wasCurrent = isCurrent(last && new Date(last.read_at), new Date(result.read_at));
  return result.failed_checks.length === 0 && !wasCurrent;
}
