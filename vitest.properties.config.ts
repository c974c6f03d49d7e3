import { defineConfig } from 'vitest/config';

/** The properties of money and schedules with as many cases as make them worth believing. */
export default defineConfig({
  test: {
    include: [
      'test/properties/**/*.test.ts',
      'test/api/report-functions.test.ts',
      'src/accounts/schedule.test.ts',
      'src/accounts/rules.test.ts',
    ],
    globalSetup: ['test/global-setup.ts'],
    env: { PROPERTY_RUNS: process.env.PROPERTY_RUNS ?? '1000' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
