import { test } from 'vitest';

test('blocks the worker', () => {
  process.stdout.write('The worker is blocked.\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
