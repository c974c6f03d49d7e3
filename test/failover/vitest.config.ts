import { defineConfig } from 'vitest/config';

/** Kills machines of a cluster one after another. `npm run test:failover` gives it a network of its own. */
export default defineConfig({
  test: {
    include: ['test/failover/**/*.failover.ts'],
    globalSetup: ['test/support/temporary-folder.ts', 'test/failover/programs.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 300_000,
    hookTimeout: 180_000,
    fileParallelism: false,
  },
});
