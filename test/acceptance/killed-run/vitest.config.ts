import { defineConfig } from 'vitest/config';

/** Runs that killed-run.test.ts starts and kills. */
export default defineConfig({
  test: {
    include: ['test/acceptance/killed-run/*.killed.ts'],
    globalSetup: ['test/support/temporary-folder.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 600_000,
    maxWorkers: 2,
  },
});
