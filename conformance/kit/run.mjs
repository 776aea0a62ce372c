// Records cases against one target: node run.mjs --target reference|heddle [--only TEXT] [--out DIR] …
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Context } from './context.mjs';
import { normalise } from './normalise.mjs';
import { target, targetNames } from './target.mjs';
import { loadSchemas } from './validate.mjs';

const KIT = path.dirname(fileURLToPath(import.meta.url));
export const AREAS = ['main-job', 'history', 'runtime', 'files', 'config-mcp'];

/** All cases, each with `flow` (its file) and `id` (file and name). */
export async function loadCases() {
  const files = fs.readdirSync(path.join(KIT, 'flows')).filter((file) => file.endsWith('.mjs')).sort();
  const found = [];
  for (const file of files) {
    const { cases } = await import(pathToFileURL(path.join(KIT, 'flows', file)));
    const flow = file.replace(/\.mjs$/, '');
    for (const each of cases) {
      if (!AREAS.includes(each.area)) throw new Error(`${flow}: case ${each.name} has no known area`);
      found.push({ ...each, flow, id: `${flow}.${each.name}` });
    }
  }
  const twice = found.find((each, index) => found.findIndex((other) => other.id === each.id) !== index);
  if (twice) throw new Error(`case ${twice.id} exists twice`);
  return found;
}

export async function recordCase(each, aim, { base, schemas, wire, patience }) {
  const context = new Context(aim, base, patience);
  let failure = null;
  const limit = (each.limit ?? 90_000) * (patience ?? 1);
  const timer = { id: undefined };
  try {
    await context.prepare({ ...each.settings, ...(wire ? { wire } : {}) });
    await Promise.race([
      each.run(context),
      new Promise((_done, fail) => { timer.id = setTimeout(() => fail(new Error(`not finished after ${limit} ms`)), limit); }),
    ]);
    await context.quiet();
  } catch (error) {
    failure = error;
    context.fact('the case broke off', String(error.message).split('\n')[0]);
  } finally {
    clearTimeout(timer.id);
    await context.dispose();
  }
  const invalid = schemas ? schemas.check(context.record.entries) : [];
  const lines = normalise(context.record.entries, { place: context.place, ports: context.ports });
  return { lines, failure, invalid, raw: context.record.entries };
}

/** The cases that these words choose (an area, or a part of the id); all without words, slow ones only when asked for. */
export function choose(cases, words, slow = false) {
  return cases
    .filter((each) => slow || !each.slow)
    .filter((each) => words.length === 0 || words.some((word) => (AREAS.includes(word) ? each.area === word : each.id.includes(word))));
}

/**
 * Records cases against one target into `out`, a file each, `jobs` at a time, and tells about each as it is done.
 * `patience`: by how much longer it is waited until nothing moves any more.
 * Resolves with the ids that broke off (and why) and the messages that do not fit the schema: `{ broken, invalid }`.
 */
export async function recordAll(cases, aim, { out, schemas, wire, raw = false, jobs = 3, again = 0, patience }) {
  fs.mkdirSync(out, { recursive: true });
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'wk-'));
  const queue = cases.map((each, index) => ({ each, base: path.join(scratch, String(index)) }));
  const broken = [];
  const invalid = [];

  async function record({ each, base }) {
    const started = Date.now();
    let done = await recordCase(each, aim, { base, schemas, wire, patience });
    for (let left = again; left > 0 && done.failure; left -= 1) {
      console.log(`again ${each.id}: ${done.failure.message}`);
      done = await recordCase(each, aim, { base, schemas, wire, patience });
    }
    const head = { case: each.id, area: each.area, ...(each.unordered ? { unordered: true } : {}), ...(each.flaky ? { flaky: each.flaky } : {}) };
    const text = [head, ...done.lines].map((line) => JSON.stringify(line)).join('\n');
    fs.writeFileSync(path.join(out, `${each.id}.jsonl`), `${text}\n`);
    if (raw) fs.writeFileSync(path.join(out, `${each.id}.raw`), done.raw.map((entry) => JSON.stringify(entry)).join('\n'));
    if (done.failure) broken.push({ id: each.id, reason: done.failure.message });
    console.log(`${done.failure ? 'BROKE' : 'ok   '} ${each.id} ${Date.now() - started} ms${done.failure ? ` ${done.failure.message}` : ''}`);
    for (const fault of done.invalid) {
      invalid.push({ id: each.id, fault });
      console.log(`      schema: ${fault}`);
    }
    fs.rmSync(base, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  async function worker() {
    for (let job = queue.shift(); job; job = queue.shift()) await record(job);
  }
  await Promise.all(Array.from({ length: jobs }, worker));
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  return { broken, invalid };
}

async function main() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', default: 'reference' },
      only: { type: 'string', multiple: true, default: [] },
      out: { type: 'string' },
      exe: { type: 'string' },
      schema: { type: 'string' },
      wire: { type: 'string' },
      jobs: { type: 'string', default: '3' },
      slow: { type: 'boolean', default: false },
      raw: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const chosen = choose(await loadCases(), values.only, values.slow);
  if (values.help) {
    console.log(`node run.mjs --target ${targetNames.join('|')} [--only AREA|TEXT]… [--out DIR] [--exe PATH] [--schema DIR] [--wire responses|chat|anthropic] [--jobs N] [--slow] [--raw] [--list]`);
    return 0;
  }
  if (values.list) {
    for (const each of chosen) console.log(`${each.area.padEnd(11)} ${each.id}${each.flaky ? `   (flaky: ${each.flaky})` : ''}`);
    return 0;
  }
  const aim = target(values.target, { exe: values.exe });
  const out = path.resolve(values.out ?? path.join(KIT, '..', 'out', values.target));
  const schemas = values.schema ? await loadSchemas(values.schema) : null;
  const { broken, invalid } = await recordAll(chosen, aim, { out, schemas, wire: values.wire, raw: values.raw, jobs: Number(values.jobs) });
  console.log(`${chosen.length} cases recorded in ${out}; ${broken.length} broke off${schemas ? `; ${invalid.length} messages do not fit the schema` : ''}`);
  return broken.length > 0 || invalid.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(await main());
