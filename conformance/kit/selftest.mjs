// Records the same target twice and compares: nothing but the cases marked flaky may differ.
// node selftest.mjs [--target reference] [--exe PATH] [--only …] [--jobs N] [--schema DIR] [--out DIR]
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareFolders, report } from './compare.mjs';

const KIT = path.dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    target: { type: 'string', default: 'reference' }, exe: { type: 'string' }, jobs: { type: 'string', default: '3' },
    schema: { type: 'string' }, out: { type: 'string', default: path.join(KIT, '..', 'out', 'selftest') }, only: { type: 'string', multiple: true, default: [] },
  },
});

const record = (name) => {
  const out = path.join(values.out, name);
  const args = ['run.mjs', '--target', values.target, '--out', out, '--jobs', values.jobs];
  if (values.exe) args.push('--exe', values.exe);
  if (values.schema) args.push('--schema', values.schema);
  for (const word of values.only) args.push('--only', word);
  const { status } = spawnSync(process.execPath, args, { cwd: KIT, stdio: 'inherit' });
  return { out, status };
};

const first = record('first');
const second = record('second');
const failing = report(compareFolders(first.out, second.out), { allowFlaky: true });
const sound = failing === 0 && first.status === 0 && second.status === 0;
console.log(sound ? '\nthe kit records the same thing twice' : '\nthe two recordings are not the same');
process.exit(sound ? 0 : 1);
