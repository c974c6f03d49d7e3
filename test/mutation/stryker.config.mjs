/** The rules of money, schedules, matching, statements and rights. README.md says how to read the result. */
export default {
  mutate: [
    'src/rights.ts',
    'src/core/values/{dates,money}.ts',
    'src/{accounts,payments}/**/{rules,*-rules}.ts',
    'src/{catalogue,collections}/*/{rules,*-rules}.ts',
    'src/{commissions,documents/account-statements}/{rules,*-rules}.ts',
    'src/documents/{invoices,receipts}/rules.ts',
    'src/staff/{api-keys,approvals}/rules.ts',
    'src/mobile-money/{lost-notifications,provider-statements,providers}/{rules,*-rules}.ts',
  ],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts' },
  // npx installs the plugin beside Stryker, where Stryker does not look for it by itself.
  plugins: ['@stryker-mutator/vitest-runner'],
  coverageAnalysis: 'perTest',
  // Texts are for people. Their tests would repeat them.
  mutator: { excludedMutations: ['StringLiteral'] },
  // Stryker needs the compiler's API to read tsconfig.json, and TypeScript 7 has none.
  tsconfigFile: 'none.json',
  thresholds: { high: 98, low: 95, break: 95 },
  concurrency: 2,
  // A time-out counts as killed, so a busy machine must not cause any. Stryker ends most endless loops by their number of turns.
  timeoutMS: 120_000,
  dryRunTimeoutMinutes: 30,
  tempDirName: '.stryker',
  reporters: ['clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: '.stryker/report.json' },
  incrementalFile: '.stryker/incremental.json',
};
