import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

/** The tests beside the rules. They use no database and start no process, so that each mutant takes a second. */
export default defineConfig({
  test: {
    include: [
      'src/**/{rules,rules-*,*-rules}.test.ts',
      'src/rights.test.ts',
      'src/core/values/{dates,money}.test.ts',
      'src/mobile-money/providers/*.test.ts',
    ],
    setupFiles: ['test/support/seed.ts'],
    env: { ...COMMON.env, PROPERTY_RUNS: '50' },
    testTimeout: COMMON.testTimeout,
    // A mutant can be in a value that a module computes when it is loaded.
    isolate: true,
  },
});
