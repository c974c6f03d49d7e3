import { defineConfig } from 'vitest/config';

/** Twenty minutes of mixed load, to find slow growth of memory or connections. Run nothing else on the machine. */
export default defineConfig({
  test: {
    include: ['test/soak/**/*.soak.ts'],
    globalSetup: ['test/support/temporary-folder.ts', 'test/faults/build.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
