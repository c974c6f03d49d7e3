import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

const PROPERTY_SEED = process.env.PROPERTY_SEED ?? String(Date.now() % 2 ** 31);
process.stdout.write(`Properties: repeat this run with PROPERTY_SEED=${PROPERTY_SEED}\n`);

/** Runs the property tests of money and schedules; those in test/properties/ with 1,000 cases instead of 25. */
export default defineConfig({
  test: {
    include: [
      'test/properties/**/*.test.ts',
      'test/api/{account-statements,interleavings,proof,report-functions}.test.ts',
      'src/{accounts,documents,reports}/**/*.test.ts',
      'src/core/values/*.test.ts',
      'src/payments/matching/*.test.ts',
    ],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/end-with-runner.ts', 'test/support/seed.ts'],
    env: { PROPERTY_RUNS: process.env.PROPERTY_RUNS ?? '1000', PROPERTY_SEED },
    testTimeout: COMMON.testTimeout,
    hookTimeout: COMMON.hookTimeout,
    maxWorkers: 2,
  },
});
