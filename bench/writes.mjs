// Measures what it costs to write turns down: time against a bare sync, commits, bytes written and kept. Prints figures; gives no verdict.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connect } from './client.mjs';
import { quantile, syncProbe, syncTimes } from './meter.mjs';
import { startModel, Target } from './targets.mjs';

const USAGE = `node bench/writes.mjs [--turns 500] [--warm 3000] [--targets heddle,floor,reference] [--scratch DIR]
  turns    one-delta turns on one thread; durable turn/start is measured among them
  warm     turns before that, on other threads: until then the compiler's threads take the cores from those that sync
  targets  heddle, floor, reference; the floor appends each turn to a file and syncs it, no more; commits are counted for heddle only`;

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '500' },
    warm: { type: 'string', default: '3000' },
    targets: { type: 'string', default: 'heddle,floor' },
    scratch: { type: 'string', default: os.tmpdir() },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const turns = Number(values.turns);
/** Longer threads would make each warming turn dearer: the model is sent all that came before. */
const WARM_TURNS_OF_A_THREAD = 100;

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

async function run(client, threadId, count, between = () => {}) {
  const times = [];
  for (let index = 0; index < count; index += 1) {
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
const show = (what, text) => console.log(`${what.padEnd(34)} ${text}`);
const quantiles = (of) => `p50 ${ms(quantile(of, 0.5))}  p99 ${ms(quantile(of, 0.99))}`;

async function withServer(target, data, work) {
  const server = await target.startWebSocket(data);
  const client = await connect(server.url);
  const result = await work(client, server.pid);
  client.close();
  await server.close();
  return result;
}

/** What `turn/start` takes beside a bare sync at the same pace, and what is written meanwhile. */
async function timed(target, data, client, pid) {
  for (let left = Number(values.warm); left > 0; left -= WARM_TURNS_OF_A_THREAD)
    await run(client, await client.startThread(target.workspace), Math.min(left, WARM_TURNS_OF_A_THREAD));
  const threadId = await client.startThread(target.workspace);
  await client.turn(threadId, 1);
  const syncs = syncTimes(path.dirname(data), 1000);
  const [io, commits] = [written(pid), lastCommit(data)];
  const probe = syncProbe(path.dirname(data));
  const paced = [];
  const times = await run(client, threadId, turns, () => paced.push(probe.time()));
  probe.close();
  const [after, made] = [written(pid), lastCommit(data)];
  const ratio = (of) => (quantile(times, 0.99) / quantile(of, 0.99)).toFixed(1);
  show('bare fdatasync, one after another', quantiles(syncs));
  show('bare fdatasync, one between turns', quantiles(paced));
  const ratios = `(p99 ${ratio(paced)} times a sync between turns, ${ratio(syncs)} times one of a row)`;
  show('turn/start until its answer', `${quantiles(times)}  ${ratios}`);
  const calls = ((after.calls - io.calls) / turns).toFixed(1);
  show('written per turn', `${kb((after.bytes - io.bytes) / turns)} in ${calls} calls`);
  if (made !== undefined) show('commits per turn', ((made - commits) / turns).toFixed(2));
  return threadId;
}

async function measure(target) {
  console.log(`--- ${target.name}: ${turns} one-delta turns`);
  const data = target.newData();
  const threadId = await withServer(target, data, (client, pid) => timed(target, data, client, pid));
  if (target.name === 'floor') return;
  const before = kept(data);
  await withServer(target, data, async (client) => {
    await client.request('thread/resume', { threadId });
    await run(client, threadId, turns);
  });
  show('kept on disk per turn', kb((kept(data) - before) / turns));
}

const scratch = fs.mkdtempSync(path.join(values.scratch, 'heddle-writes-'));
const model = await startModel(scratch);
try {
  for (const name of values.targets.split(',')) {
    const target = new Target(name, scratch, model.url, name === 'floor' ? ['--durable'] : []);
    if (target.missing) console.log(`without ${name}: ${target.missing}`);
    else await measure(target);
  }
} finally {
  await model.close();
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
process.exit(0);
