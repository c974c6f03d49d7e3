import { stat } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { withRedisTimeout } from './redis.ts';

it('rejects if no answer arrives in time', async () => {
  const start = performance.now();
  await expect(withRedisTimeout(new Promise(() => {}), 20)).rejects.toThrow('Redis did not answer in time.');
  expect(performance.now() - start).toBeGreaterThanOrEqual(199);
});

it('accepts an answer that arrived while this process was too busy to read it', async () => {
  await new Promise((resolve) => setImmediate(resolve)); // in the next turn, Node runs timers before it reads answers
  const answer = withRedisTimeout(stat(import.meta.filename), 20);
  for (const start = performance.now(); performance.now() - start < 400; );
  await expect(answer).resolves.toBeDefined();
});

it('passes an error of Redis on unchanged', async () => {
  const refusal = { consumedPoints: 5 };
  await expect(withRedisTimeout(Promise.reject(refusal), 20)).rejects.toBe(refusal);
});
