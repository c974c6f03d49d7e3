import { parseCompactTime } from '../../core/values/dates.ts';

/** The zone of the provider's own API, and the default of the zone of notifications and statements. */
const EAST_AFRICA_ZONE = 'Africa/Nairobi';
/** East Africa Time is this many hours ahead of UTC, all year. The provider sends times in this zone, but does not name it. */
export const EAST_AFRICA_TIME = 3;

/** YYYY-MM-DD HH:mm:ss in East Africa Time. */
export function eastAfricaText(moment: Date): string {
  const local = new Date(moment.getTime() + EAST_AFRICA_TIME * 3_600_000).toISOString();
  return local.slice(0, 19).replace('T', ' ');
}

/** Reads yyyyMMddHHmmss. @param timeZone - an IANA name. @returns undefined for an unreadable time. */
export function readLocalTime(text: string, timeZone = EAST_AFRICA_ZONE): Date | undefined {
  return parseCompactTime(text, timeZone === EAST_AFRICA_ZONE ? EAST_AFRICA_TIME : timeZone);
}
