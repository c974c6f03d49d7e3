import { defineConfig } from 'vitest/config';
import {
  COMMON,
  LONG_API_TESTS,
  PROCESS_TESTS,
  QUICK,
  REPOSITORY_TESTS,
  TIMING_TESTS,
} from '../../vitest.config.ts';

/**
 * Tests that learn nothing from another server: they use no database, start their own one, or are about HTTP. A run with
 * TEST_DATABASE_URL leaves them out.
 */
const EMBEDDED_ONLY = [
  'tools/**',
  'src/{accounts,changes,customers,documents,mobile-money,payments,portfolio,reports,staff}/**',
  'src/platform/{embedded-postgres,outbound,printing}/**',
  'src/core/{http,lists,values}/**',
  'test/{boundaries,coverage,docs,every-route,packages}.test.ts',
  'test/api/{api-keys,console,description,docs,identity-provider,identity-provider-answers,page-sizes}.test.ts',
  // Files, texts, HTTP and times, whose statements the tests of the same resource run as well.
  'test/api/{account-statement-example,compression,connections,event-catalogue,lost-notifications-books}.test.ts',
  'test/api/{provider-time-zones,spreadsheet-imports,start-page,stopping,typed-references}.test.ts',
  'test/api/{bulk,sign-in}.timing.test.ts',
  'test/acceptance/{bulk-deferral-kill,demo-company,deploy,docs-page,embedded-postgres,import-kill,kill,killed-run,npm-start,payment-requests,pooler}.test.ts',
  'test/acceptance/{portfolio-round-trip,provider-statements,readme-walk,replica,simulate,simulate-provider}.test.ts',
  'test/acceptance/{settings-and-commands,start,upgrade}.test.ts',
  'test/{client,console}/**',
];
const leftOut = process.env.TEST_DATABASE_URL ? EMBEDDED_ONLY : [];

const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
process.stdout.write(`The order of files and tests is random: repeat it with TEST_SEED=${seed}\n`);
const order = { shuffle: { files: true, tests: true }, seed };

/**
 * `npm run test:all`: the tests of `npm test`, those that start many processes or need programs such as Chromium, and those of
 * durations.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    sequence: order,
    // A worker keeps its modules only within a project, so the projects run one after another.
    projects: [
      {
        test: {
          ...QUICK,
          name: 'quick',
          env: {
            ...QUICK.env,
            KILL_ROUNDS: process.env.KILL_ROUNDS ?? '6',
            PROPERTY_RUNS: process.env.PROPERTY_RUNS ?? '50',
          },
          exclude: [...QUICK.exclude, ...leftOut],
          sequence: order,
        },
      },
      {
        test: {
          ...COMMON,
          name: 'rest',
          include: ['test/{acceptance,client,console}/**/*.test.ts', ...LONG_API_TESTS, ...REPOSITORY_TESTS],
          exclude: [...PROCESS_TESTS, TIMING_TESTS, ...leftOut],
          sequence: { ...order, groupOrder: 1 },
        },
      },
      {
        test: {
          ...COMMON,
          name: 'timing',
          include: [TIMING_TESTS],
          exclude: ['node_modules/**', ...leftOut],
          maxWorkers: 1,
          sequence: { ...order, groupOrder: 2 },
        },
      },
    ],
  },
});
