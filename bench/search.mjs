// Measures finding files by name in a large tree: when the first results come, and what others notice. Prints figures; gives no verdict.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from './client.mjs';
import { startHeddle } from './heddle-server.mjs';
import { quantile } from './meter.mjs';

const USAGE = `node bench/search.mjs [--files 200000] [--rounds 5] [--scratch DIR]
  files   in one tree, 100 in each folder`;

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
    scratch: { type: 'string', default: os.tmpdir() },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const PER_FOLDER = 100;
const WORDS = ['thread', 'loom', 'weft', 'warp', 'shuttle', 'selvage', 'bobbin', 'treadle'];
/** As a person types it. */
const TYPED = ['w', 'we', 'wef', 'weft', 'weft1', 'weft12'];

function fill(root) {
  const count = Number(values.files);
  for (let folder = 0; folder * PER_FOLDER < count; folder += 1) {
    const below = path.join(root, `${WORDS[folder % 8]}-${folder % 50}`, `part-${folder}`);
    fs.mkdirSync(below, { recursive: true });
    for (let file = 0; file < PER_FOLDER; file += 1)
      fs.writeFileSync(path.join(below, `${WORDS[(folder + file) % 8]}${file}-${folder}.ts`), '');
  }
}

/** ms until results for the query, and until the search said that it is complete. */
async function typed(client, sessionId, query) {
  const start = performance.now();
  let first;
  let files = 0;
  const completed = new Promise((resolve) => {
    client.heard = ({ method, params }) => {
      if (params?.sessionId !== sessionId) return;
      if (method === 'fuzzyFileSearch/sessionUpdated' && params.query === query) {
        files = params.files.length;
        if (files > 0) first ??= performance.now() - start;
      }
      if (method !== 'fuzzyFileSearch/sessionCompleted' || first === undefined) return;
      resolve(performance.now() - start);
    };
  });
  await client.request('fuzzyFileSearch/sessionUpdate', { sessionId, query });
  return { whole: await completed, first, files };
}

const show = (what, times) =>
  console.log(
    `${what.padEnd(52)} p50 ${quantile(times, 0.5).toFixed(1).padStart(7)}  max ${Math.max(...times)
      .toFixed(1)
      .padStart(7)} ms`,
  );

const scratch = fs.mkdtempSync(path.join(values.scratch, 'heddle-search-'));
try {
  const root = path.join(scratch, 'tree');
  fill(root);
  const server = await startHeddle(path.join(scratch, 'data'));
  const [client, other] = [await connect(server.url), await connect(server.url)];
  const [cold, coldWhole, warm, once, meanwhile] = [[], [], [], [], []];
  let isOver = false;
  const watch = (async () => {
    while (!isOver) {
      const start = performance.now();
      await other.request('thread/loaded/list', {});
      meanwhile.push(performance.now() - start);
      await wait(2);
    }
  })();
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const sessionId = `session-${round}`;
    await client.request('fuzzyFileSearch/sessionStart', { sessionId, roots: [root] });
    for (const [index, query] of TYPED.entries()) {
      const { first, whole } = await typed(client, sessionId, query);
      (index === 0 ? cold : warm).push(first);
      if (index === 0) coldWhole.push(whole);
    }
    await client.request('fuzzyFileSearch/sessionStop', { sessionId });
    const start = performance.now();
    const { result } = await client.request('fuzzyFileSearch', {
      query: 'weft12',
      roots: [root],
      cancellationToken: null,
    });
    if (result.files.length === 0) throw new Error('the search found nothing');
    once.push(performance.now() - start);
  }
  isOver = true;
  await watch;
  console.log(`${values.files} files`);
  show('first results for the first letter of a new session', cold);
  show('  until that search is complete', coldWhole);
  show('first results for each further letter', warm);
  show('fuzzyFileSearch, whole answer', once);
  show('thread/loaded/list of another client meanwhile', meanwhile);
  client.close();
  other.close();
  await server.close();
} finally {
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
process.exit(0);
