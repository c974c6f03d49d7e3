import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** Promises that are durations. Their tests run alone, after all others. */
export const TIMING_TESTS = '**/*.timing.test.ts';

/** What the suites have in common. */
export const COMMON = {
  setupFiles: ['test/support/end-with-runner.ts', 'test/support/seed.ts'],
  // The same random cases in each run, so that a test fails only because of a change. test:properties uses new cases.
  env: { PROPERTY_SEED: process.env.PROPERTY_SEED ?? '1' },
  // Ends only a run that hangs. Tests wait for conditions, see test/support/waiting.ts.
  testTimeout: 20 * 60_000,
  hookTimeout: 20 * 60_000,
  teardownTimeout: 120_000,
  // Each worker loads the service once for all its files. Files share no database and no listening server.
  isolate: false,
  // Each service of a test is garbage soon. With the usual young generation, the collector would take a tenth of the time.
  execArgv: ['--max-semi-space-size=64'],
  // A worker needs up to twelve of the 97 connections of the server.
  maxWorkers: Math.min(availableParallelism(), 8),
} satisfies ViteUserConfig['test'];

/** The tests with processes on which a newcomer's trust rests. */
export const PROCESS_TESTS = [
  'test/client/webhooks.test.ts',
  'test/acceptance/{backup,kill,readme-walk,start}.test.ts',
];

/**
 * Long tests of the API that `npm test` leaves out: sizes and orders of lists, the API description and its pages, formats of files
 * and events, query plans, and the operation of a service. Their subject is not money, rights or durability. `npm run test:all` has
 * them.
 */
export const LONG_API_TESTS = [
  'test/api/{cursors,event-catalogue,import-mistakes,large-list-files,large-lists,lists,page-sizes}.test.ts',
  'test/api/{account-statement-pdf,description,docs,example-parameters,report-exports,spreadsheet-imports,start-page}.test.ts',
  'test/api/{connections,health,metrics,missing-schema,plans-on-empty-tables}.test.ts',
];

/** Checks of the sources and not of their behaviour, as a linter makes them. `npm run test:all` has them. */
export const REPOSITORY_TESTS = ['test/boundaries.test.ts'];

/** `npm test`: needs only what `npm ci` installs, and passes on every machine. `npm run test:all` adds the rest. */
export const QUICK = {
  ...COMMON,
  include: [
    '{src,tools}/**/*.test.ts',
    'test/*.test.ts',
    'test/{api,properties}/**/*.test.ts',
    ...PROCESS_TESTS,
  ],
  exclude: [TIMING_TESTS, ...LONG_API_TESTS, ...REPOSITORY_TESTS],
} satisfies ViteUserConfig['test'];

export default defineConfig({ test: { ...QUICK, globalSetup: ['test/support/global-setup.ts'] } });
