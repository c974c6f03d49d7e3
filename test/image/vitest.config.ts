import { defineConfig } from 'vitest/config';

/** Tests the container image and compose.yaml. `npm run test:image` builds the image first. */
export default defineConfig({
  test: {
    include: ['test/image/**/*.image.ts'],
    globalSetup: ['test/support/temporary-folder.ts'],
    setupFiles: ['test/support/end-with-runner.ts'],
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
