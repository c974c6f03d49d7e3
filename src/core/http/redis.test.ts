import { stat } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { inTime } from './redis.ts';

it('gives up on an answer that does not come', async () => {
  const start = performance.now();
  await expect(inTime(new Promise(() => {}))).rejects.toThrow('Redis did not answer in time.');
  expect(performance.now() - start).toBeGreaterThanOrEqual(199);
});

it('takes an answer that came while this process was too busy to read it', async () => {
  await new Promise((resolve) => setImmediate(resolve)); // behind it come the timers, then what has arrived
  const answer = inTime(stat(import.meta.filename));
  for (const start = performance.now(); performance.now() - start < 400; );
  await expect(answer).resolves.toBeDefined();
});

it('passes a refusal on as it is', async () => {
  const refusal = { consumedPoints: 5 };
  await expect(inTime(Promise.reject(refusal))).rejects.toBe(refusal);
});
