// kill -9 while appending: what was acknowledged is there, and the chains are whole.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import type { ThreadStore } from '../../src/history/store.ts';
import { verifyHistory } from '../../src/history/verify.ts';
import { span } from '../../src/model/event.ts';
import { SEED } from '../harness/chance.ts';
import { at, turnStarted } from '../harness/history-events.ts';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 30);
/** Rounds on one history: each looks at all of it. */
const ROUNDS_OF_ONE = 10;

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

interface Acknowledged {
  readonly id: string;
  readonly head: number;
  readonly key: string | null;
}

/** A sequence of numbers from 0 to 1 that the seed decides. */
function random(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The writer as one file: to load it in parts is most of what a round would take. */
async function built(folder: string): Promise<string> {
  const outfile = join(folder, 'writer.cjs');
  const entry = fileURLToPath(new URL('store-kill-child.mts', import.meta.url));
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'cjs', packages: 'external' });
  return outfile;
}

/** Runs a writer until it has acknowledged so many appends, ends it at once, and gives all that it acknowledged. */
async function appendUntilKilled(
  program: string,
  directory: string,
  round: number,
  after: number,
): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [program, directory, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_PATH: MODULES },
  });
  const exit = once(child, 'exit');
  const seen: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line may have been cut off by the kill.
    if (!line.endsWith('}')) break;
    seen.push(JSON.parse(line) as Acknowledged);
    if (seen.length === after) child.kill('SIGKILL');
  }
  const [, signal] = await exit;
  expect(signal).toBe('SIGKILL');
  return seen;
}

async function checkThread(store: ThreadStore, id: string, acknowledged: readonly Acknowledged[]): Promise<void> {
  const head = (await store.head(id)) as number;
  expect(head).toBeGreaterThanOrEqual(acknowledged.at(-1)?.head as number);
  for (const { key } of acknowledged)
    if (key !== null) expect(await store.ledger.find('turn/start', key)).toEqual({ fingerprint: 'f', reply: '{}' });
  const kept = new Set<string>();
  const open = (await store.openTurns()).filter(({ threadId }) => threadId === id);
  let last = 0;
  for (;;) {
    const page = await store.events(id, last, 100);
    const end = page.at(-1);
    if (end === undefined) break;
    for (const { event } of page) {
      if (event.type === 'itemCompleted') kept.add(event.turnId);
      if (event.type === 'delta') expect(open.map(({ turnId }) => turnId)).toContain(event.turnId);
      if (event.type === 'itemCompleted' && event.item.type === 'agentMessage')
        expect(event.item.text.startsWith(`${event.turnId} `)).toBe(true);
    }
    last = end.seq + span(end.event) - 1;
  }
  expect(last).toBe(head);
  const turns = (await store.turns(id, { direction: 'asc', limit: 100_000 })).rows;
  expect(turns.filter(({ status }) => status === 'completed').map(({ id: turnId }) => turnId)).toEqual([...kept]);
  expect(turns.filter(({ status }) => status === 'inProgress')).toHaveLength(open.length);
  // The thread goes on from there.
  expect(await store.append(id, head, at(1, turnStarted(`${id}-after`)))).toBe(head + 1);
}

it(`keeps all that it acknowledged (HEDDLE_SEED=${SEED})`, { timeout: 120_000 + ROUNDS * 30_000 }, async () => {
  const next = random(SEED);
  const folder = await mkdtemp(join(tmpdir(), 'heddle-kill-'));
  try {
    const program = await built(folder);
    for (let round = 0; round < ROUNDS; round += 1) {
      const directory = join(folder, `history-${Math.floor(round / ROUNDS_OF_ONE)}`);
      const seen = await appendUntilKilled(program, directory, round, 1 + Math.floor(next() ** 2 * 400));
      expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
      const history = await openLmdbHistory({ directory, log: silentLog() });
      const store = history.forTenant('local');
      for (const id of new Set(seen.map((line) => line.id)))
        await checkThread(
          store,
          id,
          seen.filter((line) => line.id === id),
        );
      await history.close();
      expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
