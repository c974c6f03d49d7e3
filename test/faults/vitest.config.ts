import { defineConfig } from 'vitest/config';

/** Kills, freezes and overloads the service, PostgreSQL and Redis. One file runs at a time, as it needs the whole machine. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.faults.ts'],
    globalSetup: ['test/support/temporary-folder.ts', 'test/faults/build.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    sequence: { concurrent: false },
  },
});
