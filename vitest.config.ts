import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tools/**/*.test.ts', 'test/**/*.test.ts'],
    // These tests are in test/console/vitest.config.ts.
    exclude: ['test/console/**', 'test/acceptance/{docs-page,demo-company}.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/seed.ts'],
    // The same random cases in each run, so that a test fails only because of a change. test:properties uses new cases.
    env: { PROPERTY_SEED: process.env.PROPERTY_SEED ?? '1' },
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Each worker loads the service once for all its files. Files share no database and no listening server.
    isolate: false,
    maxWorkers: 6, // More than two cores, because many tests only wait. Six need up to 72 of the 97 connections of the server.
  },
});
