import { describe, expect, it } from 'vitest';
import { comparablePart, leftUntil, nextPullAt, startOfPull } from './pull-rules.ts';

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
    expect(start(null)).toEqual({ from: OLDEST, earliest: OLDEST, lost: null });
  });

  it('does not ask for the time before the end of an imported portfolio', () => {
    expect(start(null, hoursAgo(10))).toEqual({ from: hoursAgo(10), earliest: hoursAgo(10), lost: null });
    expect(start(null, hoursAgo(100))).toEqual({ from: OLDEST, earliest: OLDEST, lost: null });
  });

  it('starts half an hour before the end of the last pull', () => {
    expect(start(hoursAgo(1))).toEqual({ from: hoursAgo(1.5), earliest: OLDEST, lost: null });
    expect(start(hoursAgo(47.9)).from).toEqual(OLDEST);
  });

  it('does not start after the present, even if the clock was set back since the last pull', () => {
    expect(start(hoursAgo(-1))).toMatchObject({ from: hoursAgo(0.5), lost: null });
  });

  it('loses nothing if the last pull ended where the history of the provider begins', () => {
    expect(start(OLDEST)).toMatchObject({ from: OLDEST, lost: null });
  });

  it('reports the period that the provider no longer lists', () => {
    expect(start(hoursAgo(60))).toEqual({
      from: OLDEST,
      earliest: OLDEST,
      lost: { from: hoursAgo(60), to: OLDEST },
    });
  });

  it('does not overlap with the time before the end of an imported portfolio', () => {
    expect(start(hoursAgo(1), hoursAgo(1.25))).toMatchObject({
      from: hoursAgo(1.25),
      earliest: hoursAgo(1.25),
    });
    expect(start(hoursAgo(1), hoursAgo(10))).toMatchObject({ from: hoursAgo(1.5), earliest: hoursAgo(10) });
  });

  it('leaves out no time since the last pull because of an import in this time', () => {
    expect(start(hoursAgo(5), hoursAgo(1))).toMatchObject({ from: hoursAgo(5), earliest: hoursAgo(5) });
  });
});

describe('the next pull', () => {
  it('follows after ten minutes, or at once if the last pull has not reached the present', () => {
    expect(nextPullAt(hoursAgo(1), NOW)).toEqual(NOW);
    expect(nextPullAt(NOW, NOW)).toEqual(new Date('2026-11-04T12:10:00Z'));
  });
});

describe('an incomplete list', () => {
  const left = (from: number, to: number, since: number | null) =>
    leftUntil({ from: hoursAgo(from), to: hoursAgo(to) }, since === null ? null : hoursAgo(since), NOW);

  it.each<[string, [from: number, to: number, since: number | null], number | undefined]>([
    ['is read again if it is incomplete for the first time', [20, 18, null], undefined],
    ['is read again for 6 hours', [20, 18, 5.9], undefined],
    ['is left after 6 hours', [20, 18, 6], 18],
    ['is left as far as each of its parts was read for 6 hours', [7, 5, 7], 6],
    ['is read again if no part of it was read for 6 hours', [6, 4, 30], undefined],
  ])('%s', (_statement, period, until) => {
    expect(left(...period)).toEqual(until === undefined ? undefined : hoursAgo(until));
  });

  it('is compared with payments that are at least half an hour inside the period', () => {
    expect(comparablePart({ from: hoursAgo(3), to: hoursAgo(1) })).toEqual({
      from: hoursAgo(2.5),
      to: hoursAgo(1.5),
    });
    expect(comparablePart({ from: hoursAgo(2), to: hoursAgo(1) })).toBeUndefined();
  });
});
