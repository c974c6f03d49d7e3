import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { withRedisTimeout } from './redis.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('rejects if no answer arrives in time, and not before', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let error: unknown;
  withRedisTimeout(new Promise(() => {}), 20).catch((refusal) => {
    error = refusal;
  });
  vi.advanceTimersByTime(19);
  await setImmediate();
  expect(error).toBeUndefined();
  vi.advanceTimersByTime(1);
  await setImmediate();
  expect(error).toEqual(new Error('Redis did not answer in time.'));
});

it('accepts an answer that arrived while this process was too busy to read it', async () => {
  const { port1, port2 } = new MessageChannel();
  await setImmediate(); // In the next turn, Node runs timers before it reads messages.
  port2.postMessage('answer');
  const answer = withRedisTimeout(once(port1, 'message'), 1);
  for (const start = performance.now(); performance.now() - start < 5; );
  await expect(answer).resolves.toEqual(['answer']);
  port1.close();
});

it('passes an error of Redis on unchanged', async () => {
  const refusal = { consumedPoints: 5 };
  await expect(withRedisTimeout(Promise.reject(refusal), 20)).rejects.toBe(refusal);
});
