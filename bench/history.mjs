// Measures a server on a large history: many threads, and one long one. Prints figures; gives no verdict.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connect } from './client.mjs';
import { ownKib, startHeddle } from './heddle-server.mjs';
import { measureForks } from './history-fork.mjs';
import { quantile } from './meter.mjs';

const BENCH = path.dirname(fileURLToPath(import.meta.url));
const USAGE = `node bench/history.mjs [--threads 1000,50000] [--kib 62] [--items 150000] [--samples 100] [--forks 3] [--scratch DIR] [--keep]
  threads  numbers of stored threads, measured one after the other
  kib      size of a thread on disk, about (62 KiB and 50,000 threads: 3 GiB)
  items    items of one long thread; 0: none
  forks    of the long one, with others at work meanwhile; each adds 300 MB
  keep     leaves the data directories (and uses those that an earlier run left)`;

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: '1000,50000' },
    kib: { type: 'string', default: '62' },
    items: { type: 'string', default: '150000' },
    samples: { type: 'string', default: '100' },
    forks: { type: 'string', default: '3' },
    scratch: { type: 'string', default: os.tmpdir() },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const samples = Number(values.samples);
const items = Number(values.items);

function fill(data, threads) {
  if (fs.existsSync(path.join(data, 'history'))) return;
  fs.mkdirSync(data, { recursive: true, mode: 0o700 });
  const start = performance.now();
  const { status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', path.join(BENCH, 'history-fill.mjs'), data, String(threads), values.kib, String(items)],
    { stdio: 'inherit', cwd: path.join(BENCH, '..') },
  );
  if (status !== 0) throw new Error('the data could not be made');
  const bytes = fs.statSync(path.join(data, 'history', 'data.mdb')).size;
  console.log(`filled in ${((performance.now() - start) / 1000).toFixed(0)} s: ${(bytes / 2 ** 30).toFixed(2)} GiB`);
}

const show = (what, times, more = '') =>
  console.log(
    `${what.padEnd(46)} p50 ${quantile(times, 0.5).toFixed(1).padStart(7)}  p95 ${quantile(times, 0.95).toFixed(1).padStart(7)}  max ${Math.max(
      ...times,
    )
      .toFixed(1)
      .padStart(7)} ms ${more}`,
  );

async function timed(client, method, params) {
  const start = performance.now();
  const { result, at } = await client.request(method, params);
  return { ms: at - start, result };
}

async function sample(what, client, method, paramsOf, more = () => '') {
  const times = [];
  let last;
  for (let index = 0; index < samples; index += 1) {
    const { ms, result } = await timed(client, method, paramsOf(index));
    times.push(ms);
    last = result;
  }
  show(what, times, more(last));
}

const rows = (result) => `(${result.data.length} rows${result.nextCursor === null ? '' : ', more'})`;

async function lists(client) {
  const list = (what, params) => sample(`thread/list ${what}`, client, 'thread/list', () => params, rows);
  await list('first page', {});
  for (const sortKey of ['created_at', 'updated_at', 'recency_at'])
    await list(`first page by ${sortKey} asc`, { sortKey, sortDirection: 'asc' });
  const cursors = [];
  for (let cursor; cursors.length < samples; cursors.push(cursor)) {
    const { result } = await client.request('thread/list', { limit: 100, ...(cursor ? { cursor } : {}) });
    if (result.nextCursor === null) break;
    cursor = result.nextCursor;
  }
  if (cursors.length > 0)
    await sample(
      'thread/list any page by cursor',
      client,
      'thread/list',
      (index) => ({ limit: 100, cursor: cursors[index % cursors.length] }),
      rows,
    );
  await list('cwd (1 in 100)', { cwd: '/bench/rare' });
  await list('cwd (1 in 5)', { cwd: '/bench/2' });
  await list('cwd without a match', { cwd: '/bench/none' });
  await list('modelProviders (1 in 100)', { modelProviders: ['rare'] });
  await list('modelProviders (nearly all)', { modelProviders: ['usual'] });
  await list('archived', { archived: true });
  await list('searchTerm without a match', { searchTerm: 'zzqqxx' });
  await list('searchTerm without a match, usual letters', { searchTerm: 'loom loom weft' });
  await list('searchTerm that all have a part of', { searchTerm: 'weave' });
}

/** First results: of a word that one thread has, of words that all have, and of what none has. */
async function searches(client) {
  const search = (what, searchTerm) =>
    sample(`thread/search ${what}`, client, 'thread/search', () => ({ searchTerm }), rows);
  await search('of an item of the long thread', 'long-2-10');
  await search('of words that all threads have', 'lorem ipsum');
  await search('of a word in all previews', 'weft');
  await search('of a beginning of a word', 'lor');
  await search('of words in another order', 'amet lorem dolor');
  await search('without a match', 'zzqqxx');
}

async function long(client, server) {
  const threadId = 'bench-long';
  const before = ownKib(server.pid);
  const { ms } = await timed(client, 'thread/resume', { threadId });
  const grown = (ownKib(server.pid) - before) / 1024;
  console.log(`thread/resume of ${items} items: ${ms.toFixed(1)} ms, ${grown.toFixed(1)} MiB more memory`);
  for (const method of ['thread/turns/list', 'thread/items/list']) {
    const cursors = [];
    for (let cursor; cursors.length < samples; cursors.push(cursor)) {
      const { result } = await client.request(method, { threadId, limit: 100, ...(cursor ? { cursor } : {}) });
      if (result.nextCursor === null) break;
      cursor = result.nextCursor;
    }
    await sample(`${method} newest`, client, method, () => ({ threadId, sortDirection: 'desc' }), rows);
    if (cursors.length > 0)
      await sample(
        `${method} any page`,
        client,
        method,
        (index) => ({ threadId, cursor: cursors[(index * 37) % cursors.length] }),
        rows,
      );
  }
  const { result } = await client.request('thread/start', {});
  await turns('one more turn, empty thread', client, result.thread.id);
  await turns(`one more turn, ${items} items`, client, threadId);
}

async function turns(what, client, threadId) {
  const times = [];
  for (let index = 0; index < 20; index += 1) {
    const start = performance.now();
    const completed = client.turnCompleted(threadId);
    await client.request('turn/start', { threadId, input: [{ type: 'text', text: 'say x', text_elements: [] }] });
    times.push((await completed) - start);
  }
  show(what, times);
}

async function measure(threads) {
  const data = path.join(values.scratch, `heddle-history-${threads}-${values.kib}-${values.items}`);
  try {
    fill(data, threads);
    console.log(`--- ${threads} threads`);
    const server = await startHeddle(data);
    console.log(`ready after ${server.ready.toFixed(0)} ms; ${(ownKib(server.pid) / 1024).toFixed(0)} MiB of its own`);
    const client = await connect(server.url);
    await lists(client);
    await searches(client);
    if (items > 0) {
      await long(client, server);
      await measureForks(server, items, Number(values.forks), show);
    }
    console.log(`at the end ${(ownKib(server.pid) / 1024).toFixed(0)} MiB of its own`);
    client.close();
    await server.close();
  } finally {
    if (!values.keep) fs.rmSync(data, { recursive: true, force: true });
  }
}

for (const threads of values.threads.split(',')) await measure(Number(threads));
process.exit(0);
