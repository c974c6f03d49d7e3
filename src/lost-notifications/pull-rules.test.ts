import { describe, expect, it } from 'vitest';
import { startOfPull } from './pull-rules.ts';

const HOUR_MS = 3_600_000;
const NOW = new Date('2026-11-04T12:00:00Z');
const HISTORY_MS = 48 * HOUR_MS;
const OLDEST = new Date('2026-11-02T12:05:00Z');

function hoursAgo(hours: number): Date {
  return new Date(NOW.getTime() - hours * HOUR_MS);
}

function start(completeUntil: Date | null, importedAt: Date | null = null) {
  return startOfPull({ completeUntil, importedAt }, NOW, HISTORY_MS);
}

describe('a pull', () => {
  it('starts a few minutes after the beginning of the provider’s history if it is the first pull', () => {
    expect(start(null)).toEqual({ from: OLDEST, lost: null });
  });

  it('does not ask for the time before the end of an imported portfolio', () => {
    expect(start(null, hoursAgo(10))).toEqual({ from: hoursAgo(10), lost: null });
    expect(start(null, hoursAgo(100))).toEqual({ from: OLDEST, lost: null });
  });

  it('starts half an hour before the end of the last pull', () => {
    expect(start(hoursAgo(1))).toEqual({ from: hoursAgo(1.5), lost: null });
    expect(start(hoursAgo(47.9)).from).toEqual(OLDEST);
  });

  it('reports the period that the provider no longer lists', () => {
    expect(start(hoursAgo(60))).toEqual({ from: OLDEST, lost: { from: hoursAgo(60), to: OLDEST } });
  });
});
