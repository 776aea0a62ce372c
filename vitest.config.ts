import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // For tests that hang: how long one takes is a matter of the machine and of what else runs there.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two at a time: many tests start real processes and servers.
    maxWorkers: 2,
    env: { HEDDLE_VALIDATE: '1' },
  },
});
