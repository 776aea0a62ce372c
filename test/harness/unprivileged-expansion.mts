// A program that prints what patterns match for somebody to whom folders can be shut: its arguments are a folder and the patterns.

import { isAppError } from '../../src/base/errors.ts';
import { expand } from '../../src/sandbox/expansion.ts';
import { readPatterns } from '../../src/sandbox/pattern.ts';

const [base = '', ...patterns] = process.argv.slice(2);
const all = patterns.flatMap((text) => readPatterns(text, base));
try {
  const { matches } = await expand({ all, depth: Number.POSITIVE_INFINITY }, () => false);
  console.log(JSON.stringify({ paths: matches.map(({ path }) => path) }));
} catch (error) {
  if (!isAppError(error)) throw error;
  console.log(JSON.stringify({ kind: error.kind, message: error.message }));
}
