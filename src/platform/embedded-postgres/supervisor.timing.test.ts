import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from './supervisor.ts';

test('the first start takes less than five seconds, and the second less than two', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'ep-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  await chmod(dataDir, 0o755);
  const startMs = async () => {
    const began = performance.now();
    const server = await startEmbeddedPostgres({ dataDir, log: { info: () => {}, warn: () => {} } });
    const ms = performance.now() - began;
    await server.stop();
    return ms;
  };
  expect(await startMs()).toBeLessThan(5_000); // 0.7 s on an idle machine
  expect(await startMs()).toBeLessThan(2_000); // 0.07 s
});
