import fs from 'node:fs';
import { defineConfig } from 'vitest/config';

// Commands of tests run in login shells: what a developer's own profile does there, or waits for, is no part of a test.
// Not below the temporary folder, which sandboxed commands may write to.
const home = fs.mkdtempSync('/var/tmp/heddle-home-');
process.env.HEDDLE_TEST_HOME = home;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/harness/own-home.ts',
    // For tests that hang: how long one takes is a matter of the machine and of what else runs there.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two at a time: many tests start real processes and servers.
    maxWorkers: 2,
    env: { HEDDLE_VALIDATE: '1', HOME: home },
  },
});
