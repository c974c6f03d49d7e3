import { statusesIn } from '../../accounts/status/rules.ts';

/** The statuses of late accounts: their balances are the outstanding sum of the portfolio summary. */
export const LATE_STATUSES = statusesIn('receivable');
export const MOST_LATE_ACCOUNTS = 8;
/** A notification stays rejected after staff have dealt with it, so only those of the last days, including today, are counted. */
export const REJECTED_DAYS = 7;
/** The days, including today, whose broken promises are counted. */
export const BROKEN_DAYS = 7;
/** The days, including today, whose decisions on requests for approval are counted for the requester. */
export const DECIDED_DAYS = 7;
/** The days for which the money of today shows what was received. */
export const DAYS_SHOWN = 7;
/** The months, including the present one, whose commission the seller sees. */
export const COMMISSION_MONTHS = 2;
const SILENT_AFTER_MS = 24 * 3_600_000;

/**
 * Whether a provider may be unable to reach the service. Does not use only `silentSince`, because the service sets it only for a
 * provider that has sent notifications for weeks.
 */
export function isSilent(
  { lastHeardAt, silentSince }: { lastHeardAt: string; silentSince: string | null },
  now: Date,
): boolean {
  return silentSince !== null || now.getTime() - Date.parse(lastHeardAt) > SILENT_AFTER_MS;
}
