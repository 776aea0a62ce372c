// Plays the kit's cases against the reference and against Heddle, checks every message of ours against the reference's
// JSON schema, and compares what both said. Exit code 1 on anything that no rule of differences.json explains.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareFolders, report } from './kit/compare.mjs';
import { AREAS, choose, loadCases, recordAll } from './kit/run.mjs';
import { missingEntry, target } from './kit/target.mjs';
import { loadSchemas } from './kit/validate.mjs';
import { referenceExecutable, writeSchema } from './reference.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const KIT = path.join(HERE, 'kit');
const OUT = path.join(HERE, 'out');

/** So many cases are recorded again at most, and by how much longer it is waited then. */
const MOST_AGAIN = 12;
const PATIENCE = 5;

const USAGE = `node conformance/run.mjs [--area ${AREAS.join('|')}|all]… [--only TEXT]… [--jobs N] [--fresh] [--all] [--slow]
  --area   which cases (default main-job; repeatable)      --only   of these, the ones whose id contains TEXT (repeatable)
  --jobs   cases at a time (default 2)                     --fresh  record the reference again, whatever is kept in out/
  --all    print every difference, not the first of a case --slow   cases of a minute and more too`;

function options() {
  const { values } = parseArgs({
    options: {
      area: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      jobs: { type: 'string', default: '2' },
      fresh: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      slow: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = values.area.find((area) => area !== 'all' && !AREAS.includes(area));
  const jobs = Number(values.jobs);
  if (values.help || unknown !== undefined || !Number.isInteger(jobs) || jobs < 1) {
    console.log(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  const areas = values.area.length === 0 ? ['main-job'] : values.area.includes('all') ? AREAS : values.area;
  return { ...values, areas, jobs };
}

/** What a kept recording of the reference depends on: the program, and the kit without its rules. */
function recordingKey(executable) {
  const hash = crypto.createHash('sha256').update(`${executable} ${fs.statSync(executable).size}`);
  const files = fs
    .readdirSync(KIT, { recursive: true })
    .filter((name) => name.endsWith('.mjs') && !name.startsWith('clients'))
    .sort();
  for (const file of files) hash.update(file).update(fs.readFileSync(path.join(KIT, file)));
  return hash.digest('hex');
}

/** Records what is not kept already. A case that broke off is tried once more, and is never kept. */
async function recordReference(cases, executable, { fresh, jobs, schemas }) {
  const out = path.join(OUT, 'reference');
  const mark = path.join(out, '.key');
  const key = recordingKey(executable);
  if (fresh || !fs.existsSync(mark) || fs.readFileSync(mark, 'utf8') !== key)
    fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  fs.writeFileSync(mark, key);
  const file = (id) => path.join(out, `${id}.jsonl`);
  const missing = cases.filter((each) => !fs.existsSync(file(each.id)));
  console.log(`\n== reference: ${missing.length} cases to record, ${cases.length - missing.length} kept from before`);
  const { broken, invalid } = await recordAll(missing, target('reference', { exe: executable }), {
    out,
    schemas,
    jobs,
    again: 1,
  });
  return { out, broken, invalid };
}

/** What differs, or broke off, without a rule. */
const unlike = (results, reference, heddle) => [
  ...results.filter(({ verdict, flaky }) => verdict === 'missing' || (verdict === 'differs' && !flaky)),
  ...reference.broken,
  ...heddle.broken,
];

/**
 * Where steps end is told by nothing moving any more, which a busy machine looks like now and then: the few cases that differ
 * are recorded again on both sides, one at a time and with more patience, and what they are then counts.
 */
async function lookAgain(cases, { reference, heddle, executable, schemas, rules }) {
  const compared = () =>
    compareFolders(reference.out, heddle.out, rules).filter(
      ({ id }) => cases.some((each) => each.id === id) && !reference.broken.some((each) => each.id === id),
    );
  const results = compared();
  const doubtful = new Set(unlike(results, reference, heddle).map(({ id }) => id));
  if (doubtful.size === 0 || doubtful.size > MOST_AGAIN) return results;
  const again = cases.filter(({ id }) => doubtful.has(id));
  console.log(`\n== once more, with patience: ${[...doubtful].join(', ')}`);
  const how = { schemas, jobs: 1, patience: PATIENCE };
  for (const [side, aim] of [
    [reference, target('reference', { exe: executable })],
    [heddle, target('heddle')],
  ]) {
    const { broken, invalid } = await recordAll(again, aim, { out: side.out, ...how });
    side.broken = [...side.broken.filter(({ id }) => !doubtful.has(id)), ...broken];
    side.invalid = [...side.invalid.filter(({ id }) => !doubtful.has(id)), ...invalid];
  }
  return compared();
}

async function recordHeddle(cases, { jobs, schemas }) {
  const out = path.join(OUT, 'heddle');
  fs.rmSync(out, { recursive: true, force: true });
  console.log(`\n== heddle: ${cases.length} cases to record`);
  return { out, ...(await recordAll(cases, target('heddle'), { out, schemas, jobs })) };
}

function loud(title, lines) {
  if (lines.length === 0) return;
  console.log(`\n${'!'.repeat(80)}\n${title}`);
  for (const line of lines) console.log(`  ${line}`);
  console.log('!'.repeat(80));
}

async function main() {
  const chosen = options();
  const executable = referenceExecutable();
  if (!executable || !fs.existsSync(executable)) {
    console.error('the reference is not installed: run `npm ci` in conformance/, or set REFERENCE_EXE');
    return 2;
  }
  const absent = missingEntry(target('heddle'));
  if (absent) {
    console.error(`${absent} does not exist: run \`npm run build\` first`);
    return 2;
  }
  const cases = choose(await loadCases(), chosen.only, chosen.slow).filter((each) => chosen.areas.includes(each.area));
  if (cases.length === 0) {
    console.error('no case has such a name');
    return 2;
  }
  const schemas = await loadSchemas(writeSchema(executable, path.join(OUT, 'schema')));
  const reference = await recordReference(cases, executable, { ...chosen, schemas });
  const heddle = await recordHeddle(cases, { ...chosen, schemas });

  const { rules } = JSON.parse(fs.readFileSync(path.join(KIT, 'differences.json'), 'utf8'));
  const results = await lookAgain(cases, { reference, heddle, executable, schemas, rules });
  console.log('\n== comparison (A is the reference, B is heddle)');
  const failing = report(results, { allowFlaky: true, all: chosen.all });

  const reason = (each) => `${each.id}: ${each.reason ?? each.fault}`;
  loud(
    'THE REFERENCE ITSELF BROKE OFF in these cases, twice each: nothing was compared there',
    reference.broken.map(reason),
  );
  loud('the reference sent messages that do not fit its own schema', reference.invalid.map(reason));
  loud('heddle broke off in these cases', heddle.broken.map(reason));
  loud('heddle sent messages that do not fit the schema', heddle.invalid.map(reason));
  for (const { id } of reference.broken) fs.rmSync(path.join(reference.out, `${id}.jsonl`), { force: true });
  const faults = failing + reference.broken.length + heddle.broken.length + heddle.invalid.length;
  console.log(
    faults === 0
      ? `\nconformance: ${cases.length} cases, nothing unexplained differs, every message fits the schema`
      : `\nconformance FAILED: ${failing} cases differ without a rule; broke off: ${reference.broken.length} in the reference, ` +
          `${heddle.broken.length} in heddle; ${heddle.invalid.length} messages do not fit the schema`,
  );
  return faults === 0 ? 0 : 1;
}

process.exit(await main());
