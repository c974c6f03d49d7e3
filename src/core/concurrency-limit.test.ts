import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PATIENT } from '../../test/support/waiting.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';

const OPTIONS = { what: 'things', slots: 2, maxPerCaller: 3, maxWaiting: 10, waitMs: PATIENT.slotMs };

/** Requests a slot for each caller in turn, and records the callers in the order in which they get slots. */
function enterAll(callers: string[], options: Partial<typeof OPTIONS> = {}) {
  const slots = createConcurrencyLimit({ ...OPTIONS, ...options });
  const started: string[] = [];
  const entries = callers.map(async (caller) => {
    const leave = await slots.enter(caller);
    started.push(caller);
    return leave;
  });
  // Ignore the refusal of entries that still wait when a test ends.
  for (const entry of entries) entry.catch(() => {});
  return { slots, started, entries };
}

describe('shared slots', () => {
  it('give a caller one slot at a time, so that other slots stay free for other callers', async () => {
    const { started, entries } = enterAll(['a', 'a', 'b']);
    await delay(0);
    expect(started).toEqual(['a', 'b']);
    (await entries[0])?.();
    await entries[1];
    expect(started).toEqual(['a', 'b', 'a']);
  });

  it('are given to callers in turns, not to the caller with the most requests', async () => {
    const { started, entries } = enterAll(['a', 'a', 'a', 'b', 'c'], { slots: 1 });
    for (let turn = 0; turn < 5; turn++) {
      await delay(0);
      expect(started).toHaveLength(turn + 1);
      const [own = ''] = started.slice(-1);
      const nth = started.filter((caller) => caller === own).length;
      const index = ['a', 'a', 'a', 'b', 'c'].flatMap((caller, at) => (caller === own ? [at] : []))[nth - 1];
      (await entries[index ?? -1])?.();
    }
    expect(started).toEqual(['a', 'a', 'b', 'c', 'a']);
  });

  it('refuse a caller that has reached its limit, even if slots are free', async () => {
    const { entries } = enterAll(['a', 'a', 'a', 'a', 'b']);
    await expect(entries[3]).rejects.toMatchObject({
      status: 429,
      code: 'RATE_LIMITED',
      retryAfterSeconds: 5,
      message: 'You already have 3 things in progress or waiting. Retry in 5 s.',
    });
    await expect(entries[4]).resolves.toBeTypeOf('function');
  });

  it('refuse with 429 a caller that waits only for its own earlier work', async () => {
    const { entries } = enterAll(['a', 'a'], { waitMs: 50 });
    await expect(entries[1]).rejects.toMatchObject({
      status: 429,
      message: 'Your earlier things are still in progress. Retry in 5 s.',
    });
  });

  it('refuse a caller if too many callers wait, or if the turn of the caller does not come in time', async () => {
    const { entries } = enterAll(['a', 'b', 'c', 'd'], { maxWaiting: 1, waitMs: 50 });
    await expect(entries[3]).rejects.toMatchObject({
      status: 503,
      retryAfterSeconds: 5,
      message: 'All 2 slots for things are busy. Retry in 5 s.',
    });
    await expect(entries[2]).rejects.toMatchObject({ status: 503 });
    (await entries[0])?.();
    (await entries[1])?.();
  });

  it('are free again after a release, a double release and a refusal', async () => {
    const { slots, entries } = enterAll(['a', 'b', 'c'], { waitMs: 50 });
    await expect(entries[2]).rejects.toMatchObject({ status: 503 });
    const leave = await entries[0];
    leave?.();
    leave?.();
    const again = await slots.enter('c');
    const waits = slots.enter('d');
    again();
    await expect(waits).resolves.toBeTypeOf('function');
  });

  it('refuse all waiting callers when they are closed', async () => {
    const { slots, entries } = enterAll(['a', 'b', 'c']);
    await entries[1];
    slots.close();
    await expect(entries[2]).rejects.toMatchObject({ status: 503 });
  });
});
