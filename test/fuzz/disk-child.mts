// A scenario on a disk that is watched: says on standard output what was acknowledged, and how long the disk's journal was then.

import { statSync } from 'node:fs';
import { isAppError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { at, delta, threadMeta, turnCompleted, turnStarted, wholeTurn } from '../harness/history-events.ts';

const directory = process.argv[2] as string;
const journal = process.env.DISK_JOURNAL;
const say = (message: object) =>
  process.stdout.write(
    `${JSON.stringify({ ...message, journal: journal === undefined ? 0 : statSync(journal).size })}\n`,
  );

// A commit that fails rejects the promise of whoever asked for it, and one more that nobody holds.
process.on('unhandledRejection', (error: unknown) => {
  if (!(error instanceof Error) || !/Commit failed|MDB_|No space|Input\/output/.test(error.message)) {
    say({ defect: String(error) });
    process.exit(3);
  }
});

async function attempt(id: string, work: () => Promise<number | undefined>): Promise<number | undefined> {
  try {
    const head = await work();
    say(head === undefined ? { removed: id } : { id, head });
    return head ?? undefined;
  } catch (error) {
    say({ refused: id, kind: isAppError(error) ? error.kind : String(error) });
    return undefined;
  }
}

async function run(): Promise<void> {
  const history = await openLmdbHistory({ directory, log: silentLog() });
  const store = history.forTenant('local');
  const thread = async (id: string) => {
    await attempt(id, () => store.create(threadMeta(id), at(1, ...wholeTurn('a'))));
    for (let turn = 0; turn < 3; turn += 1) {
      const head = await store.head(id);
      if (head === undefined) continue;
      const streamed = at(1, turnStarted(`u${turn}`), delta(`u${turn}`, 'i', 'x', 'y'));
      const next = await attempt(id, () => store.append(id, head, streamed));
      if (next !== undefined) await attempt(id, () => store.append(id, next, at(2, turnCompleted(`u${turn}`))));
    }
  };
  await Promise.all(['a', 'b', 'c'].map(thread));
  const head = await store.head('a');
  if (head !== undefined) {
    const meta = threadMeta('f', { createdAtMs: 9, forkedFromId: 'a' });
    await attempt('f', () => store.fork('a', head, meta));
  }
  if ((await store.head('b')) !== undefined) await attempt('b', () => store.remove('b').then(() => undefined));
  await history.close();
  say({ closed: true });
}

await run().catch((error: unknown) => say({ failed: isAppError(error) ? error.kind : String(error) }));
