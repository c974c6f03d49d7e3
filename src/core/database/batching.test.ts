import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { AppError, unavailable } from '../http/errors.ts';
import { type BatcherOptions, createBatcher, runIsolated } from './batching.ts';

type Run = BatcherOptions<string, string>['run'];

/** A `run` whose batches end when the test calls `end`. */
function controlled() {
  const batches: string[][] = [];
  const ends: (() => void)[] = [];
  const run: Run = (items) => {
    batches.push([...items]);
    return new Promise((resolve) => {
      const done = new Map(items.map((item) => [item, { outcome: `${item} done` }]));
      ends.push(() => resolve({ done, notNow: new Map() }));
    });
  };
  return { batches, run, end: (n: number) => ends[n]?.() };
}

const miss = (items: readonly string[]) => ({
  done: new Map(),
  notNow: new Map(items.map((item) => [item, 'its lock'])),
});

const batcher = (run: Run, options: Partial<BatcherOptions<string, string>> = {}) =>
  createBatcher<string, string>({
    run,
    keysOf: (item) => [item.replace(/\d+$/, '')],
    changedNothing: () => true,
    largestBatch: 3,
    maxInFlight: 2,
    maxItems: 10,
    patienceMs: 3_600_000,
    errorOfMissed: async (item, lock) => new Error(`${item} missed ${lock}`),
    ...options,
  });

const turn = () => delay(0);

describe('a batcher', () => {
  it('runs items immediately while fewer than two batches run, and groups later items into batches', async () => {
    const { batches, run, end } = controlled();
    const { submit } = batcher(run);
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map(submit);
    expect(batches).toEqual([['a'], ['b']]);
    end(0);
    await turn();
    expect(batches).toEqual([['a'], ['b'], ['c', 'd', 'e']]);
    end(1);
    await turn();
    expect(batches.at(-1)).toEqual(['f']);
    end(2);
    end(3);
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map((item) => `${item} done`));
  });

  it('never has items of one key in two batches at once', async () => {
    const { batches, run, end } = controlled();
    const { submit } = batcher(run);
    const all = ['a1', 'a2', 'b1', 'a3'].map(submit);
    expect(batches).toEqual([['a1'], ['b1']]);
    end(1);
    await turn();
    expect(batches).toHaveLength(2);
    end(0);
    await turn();
    expect(batches.at(-1)).toEqual(['a2', 'a3']);
    end(2);
    await Promise.all(all);
  });

  it('refuses items with 503 while it is full, and accepts items again afterwards', async () => {
    const { run, end } = controlled();
    const { submit, size } = batcher(run, { maxItems: 2 });
    const [first, second] = [submit('a'), submit('b')];
    const refused = await submit('c').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ status: 503, retryAfterSeconds: 1 });
    expect(size()).toBe(2);
    end(0);
    await first;
    const third = submit('c');
    await turn();
    end(1);
    end(2);
    expect(await Promise.all([second, third])).toEqual(['b done', 'c done']);
  });

  it('refuses new items when it is closed, and ends when all accepted items are done', async () => {
    const { run, end } = controlled();
    const { submit, close } = batcher(run, { maxItems: 3 });
    const all = ['a', 'b', 'c'].map(submit);
    let isClosed = false;
    const closed = close().then(() => {
      isClosed = true;
    });
    await expect(submit('d')).rejects.toMatchObject({ status: 503 });
    end(0);
    end(1);
    await turn();
    expect(isClosed).toBe(false);
    end(2);
    await closed;
    expect(await Promise.all(all)).toEqual(['a done', 'b done', 'c done']);
  });

  it('tries an item that missed a lock again until it succeeds', async () => {
    let tries = 0;
    const run: Run = async (items) =>
      ++tries < 4
        ? miss(items)
        : { done: new Map(items.map((item) => [item, { outcome: item }])), notNow: new Map() };
    expect(await batcher(run).submit('a')).toBe('a');
    expect(tries).toBe(4);
  });

  it('fails an item that misses its lock for too long, with the error for this lock', async () => {
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    let tries = 0;
    const run: Run = async (items) => {
      tries += 1;
      nowMs += 50;
      return miss(items);
    };
    const errorOfMissed = async () => unavailable(new Error('held'), 7);
    const refused = await batcher(run, { patienceMs: 200, errorOfMissed })
      .submit('a')
      .catch((error: unknown) => error)
      .finally(() => clock.mockRestore());
    expect(refused).toMatchObject({ retryAfterSeconds: 7 });
    expect(tries).toBe(4);
  });
});

describe('a batch that fails', () => {
  const failing = async (items: readonly string[]) => {
    if (items.includes('bad')) throw new Error(`${items.length} failed`);
    return items.map((outcome) => ({ outcome }));
  };

  it('is run again item by item if it changed nothing', async () => {
    const results = await runIsolated(['a', 'bad', 'b'], failing, () => true);
    expect(results).toMatchObject([{ outcome: 'a' }, { error: new Error('1 failed') }, { outcome: 'b' }]);
  });

  it('is not run again if it may have changed something', async () => {
    const results = await runIsolated(['a', 'bad', 'b'], failing, () => false);
    expect(results).toEqual(Array(3).fill({ error: new Error('3 failed') }));
  });

  it('is not run again after the time limit', async () => {
    const results = await runIsolated(['a', 'bad'], failing, () => true, performance.now() - 1);
    expect(results).toEqual(Array(2).fill({ error: new Error('2 failed') }));
  });
});
