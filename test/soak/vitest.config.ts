import { defineConfig } from 'vitest/config';

/** Twenty minutes of mixed load, for what only time shows: it wants the machine for itself. */
export default defineConfig({
  test: {
    include: ['test/soak/**/*.soak.ts'],
    globalSetup: ['test/faults/build.ts'],
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
