import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Two at a time: many tests start real processes and servers.
    maxWorkers: 2,
    env: { HEDDLE_VALIDATE: '1' },
  },
});
