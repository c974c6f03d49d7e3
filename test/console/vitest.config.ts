import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

/** `npm run test:browser`: the staff console and the documentation page in Chromium. They are part of `npm run test:all`. */
export default defineConfig({
  test: {
    ...COMMON,
    include: ['test/console/**/*.test.ts', 'test/acceptance/docs-page.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
  },
});
