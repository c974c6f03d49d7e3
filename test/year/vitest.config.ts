import { defineConfig } from 'vitest/config';

/** A year of a company through the public API: minutes long, so apart from the other tests. */
export default defineConfig({
  test: {
    include: ['test/year/**/*.year.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 60 * 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
