import { defineConfig } from 'vitest/config';
import { LongestFirst } from '../support/longest-first.ts';

/**
 * Tests the staff console and the documentation page in Chromium, and the demo company. `npm test` leaves these tests out,
 * because they need a browser or take a minute.
 */
export default defineConfig({
  test: {
    include: ['test/console/**/*.test.ts', 'test/acceptance/{docs-page,demo-company}.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 20_000 } }, // As long as Playwright waits.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    isolate: false,
    maxWorkers: 3, // More than two cores, because a test often waits for its page.
  },
});
