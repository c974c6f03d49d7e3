import { defineConfig } from 'vitest/config';

/** Drives the staff console and the documentation page in Chromium. `npm test` leaves them out: a user has no need of a browser. */
export default defineConfig({
  test: {
    include: ['test/console/**/*.test.ts', 'test/acceptance/docs-page.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    isolate: false,
    maxWorkers: 2,
  },
});
