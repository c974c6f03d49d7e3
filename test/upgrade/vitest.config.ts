import { defineConfig } from 'vitest/config';

/** Upgrades three instances behind HAProxy under load. */
export default defineConfig({
  test: {
    include: ['test/upgrade/**/*.upgrade.ts'],
    globalSetup: ['test/support/temporary-folder.ts', 'test/faults/build.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
