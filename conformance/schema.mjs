// Holds the schema that Heddle writes down against the reference's, each message in its direction: what the reference takes, we take;
// what we send, the reference may send. Then against what was recorded of Heddle. Exit code 1 on anything unexplained.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceExecutable, writeSchema } from './reference.mjs';
import { differences } from './schema/inclusion.mjs';
import { ownMessages, pairs } from './schema/pairs.mjs';
import { misfits } from './schema/recordings.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const OUT = path.join(HERE, 'out');
const HEDDLE = path.join(process.env.OURS ?? path.join(HERE, '..'), 'bin', 'heddle.js');
const RULES = path.join(HERE, 'schema', 'differences.json');

function ownSchema() {
  const folder = path.join(OUT, 'own-schema');
  execFileSync(process.execPath, [HEDDLE, 'schema', 'json', '--experimental', '--out', folder], { stdio: 'pipe' });
  return JSON.parse(fs.readFileSync(path.join(folder, 'protocol.json'), 'utf8'));
}

/** All differences, once each, as lines: side, place, what is so. */
function foundDifferences(ours, theirs) {
  const lines = pairs(ours, theirs).flatMap(({ what, side, narrow, wide }) =>
    differences(narrow, wide, side === 'sends' ? 'narrow' : 'wide', what).map(
      ({ place, says }) => `${side}: ${place} ${says}`,
    ),
  );
  const unknown = ownMessages(ours, theirs).map((method) => `sends: ${method} is not in the schema`);
  return [...new Set([...lines, ...unknown])].sort();
}

const executable = referenceExecutable();
if (!executable) {
  console.error('there is no reference: npm --prefix conformance ci, or set REFERENCE_EXE');
  process.exit(1);
}
const ours = ownSchema();
const theirs = writeSchema(executable, path.join(OUT, 'schema'));
const found = foundDifferences(ours, theirs);
const rules = JSON.parse(fs.readFileSync(RULES, 'utf8')).rules;
const explained = new Set(rules.flatMap(({ differences: lines }) => lines));

const unexplained = found.filter((line) => !explained.has(line));
const stale = [...explained].filter((line) => !found.includes(line));
const wrong = misfits(ours, path.join(OUT, 'heddle'));

const show = (title, lines) =>
  lines.length > 0 && console.log(`\n${title}\n${lines.map((line) => `  ${line}`).join('\n')}`);
console.log(
  `${pairs(ours, theirs).length} schemas compared: ${found.length} differences, ${found.length - unexplained.length} explained`,
);
console.log(
  `${wrong.checked} recorded messages of ours held against our own schema${wrong.checked === 0 ? ': record some with run.mjs' : ''}`,
);
show('Explained by no rule of schema/differences.json:', unexplained);
show('Rules that explain nothing any more:', stale);
show('Recorded, and not as our own schema says:', wrong.lines);
process.exitCode = unexplained.length + stale.length + wrong.lines.length > 0 ? 1 : 0;
