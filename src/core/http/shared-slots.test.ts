import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createSharedSlots } from './shared-slots.ts';

const OPTIONS = { what: 'things', slots: 2, mostPerCaller: 3, mostWaiting: 10, waitMs: 1_000 };

/** Enters for each of the callers in turn, and notes when each has its slot. */
function enterAll(callers: string[], options: Partial<typeof OPTIONS> = {}) {
  const slots = createSharedSlots({ ...OPTIONS, ...options });
  const started: string[] = [];
  const entries = callers.map(async (caller) => {
    const leave = await slots.enter(caller);
    started.push(caller);
    return leave;
  });
  // Entries that a test leaves waiting are refused after its end.
  for (const entry of entries) entry.catch(() => {});
  return { slots, started, entries };
}

describe('shared slots', () => {
  it('give a caller one slot at a time, so that another is free for others', async () => {
    const { started, entries } = enterAll(['a', 'a', 'b']);
    await delay(10);
    expect(started).toEqual(['a', 'b']);
    (await entries[0])?.();
    await entries[1];
    expect(started).toEqual(['a', 'b', 'a']);
  });

  it('go to callers in turns, not to who has asked most often', async () => {
    const { started, entries } = enterAll(['a', 'a', 'a', 'b', 'c'], { slots: 1 });
    for (let turn = 0; turn < 5; turn++) {
      await expect.poll(() => started.length).toBe(turn + 1);
      const [own = ''] = started.slice(-1);
      const nth = started.filter((caller) => caller === own).length;
      const index = ['a', 'a', 'a', 'b', 'c'].flatMap((caller, at) => (caller === own ? [at] : []))[nth - 1];
      (await entries[index ?? -1])?.();
    }
    expect(started).toEqual(['a', 'a', 'b', 'c', 'a']);
  });

  it('refuse a caller who has as many as it may, whatever is free', async () => {
    const { entries } = enterAll(['a', 'a', 'a', 'a', 'b']);
    await expect(entries[3]).rejects.toMatchObject({
      status: 429,
      code: 'RATE_LIMITED',
      retryAfterSeconds: 5,
      message: 'You already have 3 things in progress or waiting. Retry in 5 s.',
    });
    await expect(entries[4]).resolves.toBeTypeOf('function');
  });

  it('refuse a caller who waits only for its own slots, with 429', async () => {
    const { entries } = enterAll(['a', 'a'], { waitMs: 50 });
    await expect(entries[1]).rejects.toMatchObject({
      status: 429,
      message: 'Your earlier things are still in progress. Retry in 5 s.',
    });
  });

  it('refuse those for whom there is no room to wait, and those whose turn does not come', async () => {
    const { entries } = enterAll(['a', 'b', 'c', 'd'], { mostWaiting: 1, waitMs: 50 });
    await expect(entries[3]).rejects.toMatchObject({
      status: 503,
      retryAfterSeconds: 5,
      message: 'All 2 slots for things are busy. Retry in 5 s.',
    });
    await expect(entries[2]).rejects.toMatchObject({ status: 503 });
    (await entries[0])?.();
    (await entries[1])?.();
  });

  it('are free again once they were left, also twice, and after a refusal', async () => {
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

  it('refuse all that wait when they are closed', async () => {
    const { slots, entries } = enterAll(['a', 'b', 'c']);
    await entries[1];
    slots.close();
    await expect(entries[2]).rejects.toMatchObject({ status: 503 });
  });
});
