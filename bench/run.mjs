// Measures servers of this protocol side by side and prints figures and ratios; it never judges.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { quantile, syncTimes } from './meter.mjs';
import { outcomeOf, ROWS } from './rows.mjs';
import { printTable } from './table.mjs';
import { startModel, Target, targetNames } from './targets.mjs';

const USAGE = `node bench/run.mjs [--rows ROW,…] [--rounds N] [--targets TARGET,…] [--scratch DIR] [--json FILE]
  rows     ${ROWS.map((row) => row.id).join(', ')}
  targets  ${targetNames.join(', ')} (default: all that can run here)
  rounds   each row is measured N times on each target, in turn (default 3); the table shows medians
  scratch  where data directories are made (default: the system's temporary folder); its disk is what is measured`;

const list = (text, all) => (text === undefined ? all : text.split(',').map((each) => each.trim()));

function options() {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      targets: { type: 'string' },
      scratch: { type: 'string', default: os.tmpdir() },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const ids = ROWS.map((row) => row.id);
  const rows = list(values.rows, ids);
  const targets = list(values.targets, targetNames);
  const rounds = Number(values.rounds);
  const wrong =
    rows.some((id) => !ids.includes(id)) || targets.some((name) => !targetNames.includes(name)) || !(rounds >= 1);
  if (values.help || wrong) {
    console.log(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  return { ...values, rows: ROWS.filter((row) => rows.includes(row.id)), targets, rounds };
}

/** All figures of a row: by target, a list of what each round gave, or of `{ outcome }`. */
async function measure(row, targets, rounds) {
  const found = new Map(targets.map((target) => [target.name, []]));
  for (let round = 0; round < rounds; round += 1) {
    // Whoever goes first in one round goes last in the next: drift of the machine falls on all alike.
    const order = round % 2 === 0 ? targets : [...targets].reverse();
    for (const target of order) {
      try {
        found.get(target.name).push(await row.run(target));
      } catch (error) {
        const outcome = outcomeOf(error);
        found.get(target.name).push({ outcome });
        if (outcome === 'failed') console.error(`${row.id} on ${target.name}: ${error.message}`);
      }
    }
    process.stderr.write(`${row.id}: round ${round + 1} of ${rounds}\n`);
  }
  return found;
}

function conditions(scratch) {
  const syncs = syncTimes(scratch);
  const sync = { p50: quantile(syncs, 0.5), p99: quantile(syncs, 0.99) };
  const [load] = os.loadavg();
  console.log(`Node ${process.version}, ${os.cpus().length} cores (${os.cpus()[0]?.model}), load ${load.toFixed(1)}`);
  console.log(
    `fdatasync of one page in ${scratch}: p50 ${sync.p50.toFixed(2)} ms, p99 ${sync.p99.toFixed(2)} ms (the targets suppose <= 0.2)`,
  );
  return { node: process.version, cores: os.cpus().length, load, fdatasyncMs: sync };
}

async function main() {
  const chosen = options();
  const scratch = fs.mkdtempSync(path.join(chosen.scratch, 'heddle-bench-'));
  const model = await startModel(scratch);
  const known = chosen.targets.map((name) => new Target(name, scratch, model.url));
  const targets = known.filter((target) => !target.missing);
  try {
    const about = conditions(scratch);
    for (const target of known.filter((each) => each.missing)) console.log(`without ${target.name}: ${target.missing}`);
    const results = [];
    for (const row of chosen.rows) results.push({ row, found: await measure(row, targets, chosen.rounds) });
    printTable(
      results,
      targets.map((target) => target.name),
      chosen.rounds,
    );
    if (chosen.json) {
      const rows = results.map(({ row, found }) => ({ row: row.id, rounds: Object.fromEntries(found) }));
      fs.writeFileSync(chosen.json, `${JSON.stringify({ ...about, rows }, null, 2)}\n`);
    }
  } finally {
    for (const target of targets) await target.close();
    await model.close();
    fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

await main();
process.exit(0);
