#!/usr/bin/env node
// The executable: runs the bundle, or says how to make it.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const bundle = join(__dirname, '../dist/heddle.cjs');
if (existsSync(bundle)) require(bundle);
else {
  process.stderr.write('heddle: it has not been built yet; run `npm run build`\n');
  process.exitCode = 1;
}
