import { defineConfig } from 'vitest/config';

/** Attacks the service; one file after the other, since some of them measure times and memory. */
export default defineConfig({
  test: {
    include: ['test/security/**/*.security.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    sequence: { concurrent: false },
  },
});
