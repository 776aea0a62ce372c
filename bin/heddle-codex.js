#!/usr/bin/env node
// Stands in where clients look for the executable of the reference: put it first on PATH as `codex`, or name its path.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const bundle = join(__dirname, '../dist/heddle-codex.cjs');
if (existsSync(bundle)) require(bundle);
else {
  process.stderr.write('heddle-codex: it has not been built yet; run `npm run build`\n');
  process.exitCode = 1;
}
