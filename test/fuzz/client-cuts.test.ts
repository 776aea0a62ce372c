// The client library over wires that break after any byte, either way: every change is made once, every event is told once.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connect } from '../../src/client/local.ts';
import type { News } from '../../src/client/news.ts';
import { SEED } from '../harness/chance.ts';
import { cuttingProxy } from '../harness/cutting-proxy.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 1);
const TURNS = 8;
const CUTS = 30;
/** Bytes: enough for the handshake, and for a change or two behind it. */
const LEAST = 1_500;
const SPREAD = 6_000;

afterEach(cleanUp);

function random(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

test.each(Array.from({ length: ROUNDS }, (_, round) => SEED + round))(
  'seed %i',
  async (seed) => {
    const chance = random(seed);
    const app = await startApp({ transport: 'unix-lines' });
    const path = join(await temporaryFolder(), 'proxy');
    let cuts = 0;
    await using proxy = await disposable(path, app.address.slice('unix://'.length), () => {
      cuts += 1;
      // The first connection is not tried twice, and the last ones get through.
      if (cuts === 1 || cuts > CUTS)
        return { toServer: Number.POSITIVE_INFINITY, toClient: LEAST + chance(SPREAD) * cuts };
      return { toServer: 200 + chance(2_000), toClient: LEAST + chance(SPREAD) };
    });
    const client = await connect({
      ...{ name: 'fuzz', version: '1', socket: path },
      reconnect: { firstMs: 1, longestMs: 20, maxAttempts: 100 },
    });
    const thread = await client.thread({ cwd: app.workspace });
    const told: News[] = [];
    const reading = (async () => {
      for await (const news of thread.events()) told.push(news);
    })();
    // A failure of the test shall show as itself.
    reading.catch(() => {});
    const names: string[] = [];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      const { id } = await thread.turn(`say turn ${turn}\nsay 40 words at 400 a second`).completed;
      names.push(id);
      await client.request('thread/name/set', { threadId: thread.id, name: `name ${turn}` });
    }
    const { thread: stored } = await client.request('thread/read', { threadId: thread.id, includeTurns: true });
    expect(stored.turns.map(({ id }) => id)).toEqual(names);
    expect(client.mutations).toEqual([]);
    await client.close();
    await reading;
    const places = told.flatMap(({ seq }) => seq ?? []);
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
    expect(told.filter(({ method }) => method === 'client/gap')).toEqual([]);
    const ends = told.flatMap((news) => (news.method === 'turn/completed' ? [news.params.turn.id] : []));
    expect(ends).toEqual(names);
    const texts = told.flatMap((news) =>
      news.method === 'item/completed' && news.params.item.type === 'agentMessage' ? [news.params.item.text] : [],
    );
    expect(texts.filter((text) => text.startsWith('turn '))).toEqual(names.map((_, at) => `turn ${at + 1}`));
    expect(proxy.connections()).toBeGreaterThan(5);
  },
  120_000,
);

async function disposable(...parts: Parameters<typeof cuttingProxy>) {
  const proxy = await cuttingProxy(...parts);
  return { ...proxy, [Symbol.asyncDispose]: () => proxy.close() };
}
