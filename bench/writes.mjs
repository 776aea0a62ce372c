// Measures what it costs to write turns down: time against a bare sync, commits, bytes written and kept. Prints figures; gives no verdict.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connect } from './client.mjs';
import { quantile, syncProbe, syncTimes } from './meter.mjs';
import { startModel, Target } from './targets.mjs';

const USAGE = `node bench/writes.mjs [--turns 500] [--targets heddle,reference] [--scratch DIR]
  turns    one-delta turns on one thread, after as many that warm up; durable turn/start is measured among them
  targets  heddle, reference; commits are counted for heddle only`;

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '500' },
    targets: { type: 'string', default: 'heddle' },
    scratch: { type: 'string', default: os.tmpdir() },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const turns = Number(values.turns);

/** Bytes that the process had written to disk, and its write calls. */
function written(pid) {
  const io = fs.readFileSync(`/proc/${pid}/io`, 'utf8');
  const of = (name) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)[1]);
  return { bytes: of('write_bytes'), calls: of('syscw') };
}

/** Number of the last transaction in a database file; undefined where there is none. */
function lastCommit(data) {
  const file = path.join(data, 'history', 'data.mdb');
  if (!fs.existsSync(file)) return undefined;
  const handle = fs.openSync(file, 'r');
  const numberAt = (offset) => {
    const page = Buffer.alloc(160);
    fs.readSync(handle, page, 0, page.length, offset);
    return { pageSize: page.readUInt32LE(48), number: Number(page.readBigUInt64LE(152)) };
  };
  const first = numberAt(0);
  const second = numberAt(first.pageSize);
  fs.closeSync(handle);
  return Math.max(first.number, second.number);
}

/** Blocks of all files below a folder, in bytes. */
function kept(folder) {
  let bytes = 0;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += fs.statSync(path.join(entry.parentPath, entry.name)).blocks * 512;
  return bytes;
}

async function run(client, threadId, between = () => {}) {
  const times = [];
  for (let index = 0; index < turns; index += 1) {
    const completed = client.turnCompleted(threadId);
    const input = [{ type: 'text', text: 'bench:1:0', text_elements: [] }];
    const start = performance.now();
    const { at } = await client.request('turn/start', { threadId, input });
    times.push(at - start);
    await completed;
    between();
  }
  return times;
}

const kb = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;
const ms = (value) => `${value.toFixed(2)} ms`;

async function measure(target) {
  const data = target.newData();
  let server = await target.startWebSocket(data);
  let client = await connect(server.url);
  const threadId = await client.startThread(target.workspace);
  await run(client, threadId);
  client.close();
  await server.close();
  const before = kept(data);
  server = await target.startWebSocket(data);
  client = await connect(server.url);
  await client.request('thread/resume', { threadId });
  await client.turn(threadId, 1);
  const [io, commits] = [written(server.pid), lastCommit(data)];
  const syncs = syncTimes(path.dirname(data), 1000);
  const probe = syncProbe(path.dirname(data));
  const paced = [];
  const times = await run(client, threadId, () => paced.push(probe.time()));
  probe.close();
  const after = written(server.pid);
  const made = lastCommit(data);
  client.close();
  await server.close();
  console.log(`--- ${target.name}: ${turns} one-delta turns`);
  const show = (what, values, more = '') =>
    console.log(`${what.padEnd(34)} p50 ${ms(quantile(values, 0.5))}  p99 ${ms(quantile(values, 0.99))}${more}`);
  show('bare fdatasync, one after another', syncs);
  show('bare fdatasync, one between turns', paced);
  const times99 = (of) => (quantile(times, 0.99) / quantile(of, 0.99)).toFixed(1);
  show(
    'turn/start until its answer',
    times,
    `  (${times99(paced)} times a sync between turns, ${times99(syncs)} times one of a row)`,
  );
  console.log(
    `written per turn                ${kb((after.bytes - io.bytes) / turns)} in ${((after.calls - io.calls) / turns).toFixed(1)} calls`,
  );
  console.log(`kept on disk per turn           ${kb((kept(data) - before) / (turns + 1))}`);
  if (made !== undefined) console.log(`commits per turn                ${((made - commits) / turns).toFixed(2)}`);
}

const scratch = fs.mkdtempSync(path.join(values.scratch, 'heddle-writes-'));
const model = await startModel(scratch);
try {
  for (const name of values.targets.split(',')) {
    const target = new Target(name, scratch, model.url);
    if (target.missing) console.log(`without ${name}: ${target.missing}`);
    else await measure(target);
  }
} finally {
  await model.close();
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
process.exit(0);
