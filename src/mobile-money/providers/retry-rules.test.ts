import { describe, expect, it } from 'vitest';
import { nextTryAt } from './retry-rules.ts';

const NOW = new Date('2026-11-02T09:00:00Z');

/** The minutes until the next call. */
function pause(failuresInARow: number, retryAfterSeconds: number | null = null): number {
  return (nextTryAt(failuresInARow, retryAfterSeconds, NOW).getTime() - NOW.getTime()) / 60_000;
}

describe('after a failed call, a provider is called again', () => {
  it('after a pause that doubles from one minute up to a quarter of an hour', () => {
    expect([1, 2, 3, 4, 5, 6, 100].map((failures) => pause(failures))).toEqual([1, 2, 4, 8, 15, 15, 15]);
  });

  it('after the time that the provider asks for, if that is longer', () => {
    expect(pause(1, 300)).toBe(5);
    expect(pause(4, 300)).toBe(8);
  });

  it('after a quarter of an hour at the latest, whatever the provider asks for', () => {
    expect(pause(1, 86_400)).toBe(15);
  });
});
