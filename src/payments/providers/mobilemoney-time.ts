/** East Africa Time is this many hours ahead of UTC, all year. The provider sends times in this zone, but does not name it. */
export const EAST_AFRICA_TIME = 3;

/** YYYY-MM-DD HH:mm:ss in East Africa Time. */
export function eastAfricaText(moment: Date): string {
  const local = new Date(moment.getTime() + EAST_AFRICA_TIME * 3_600_000).toISOString();
  return local.slice(0, 19).replace('T', ' ');
}
