// What the operator does not want to keep is deleted, and nothing else.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { deferred } from '../../../src/base/signals.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import type { Retention } from '../../../src/history/retention.ts';
import { at, threadMeta, turnStarted } from '../../harness/history-events.ts';

const DAY = 86_400_000;
const NOW = 100 * DAY;
const NOTHING: Retention = { archivedMs: null, archivedCharacters: null, eventsMs: null, eventsCharacters: null };

/** One round of the retention over threads a to f, a being the oldest; gives what is left. */
async function leftOf(limits: Partial<Retention>, inUse: string[] = []): Promise<string[]> {
  const retention = { ...NOTHING, ...limits };
  const directory = await mkdtemp(join(tmpdir(), 'heddle-retention-'));
  const round = deferred<void>();
  let work: (() => void) | undefined;
  const clock = {
    ...systemClock,
    now: () => NOW,
    // The first timer begins the round, the second is set when it is over.
    timer: (_ms: number, next: () => void) => {
      if (work !== undefined) round.resolve();
      work = next;
      return () => {};
    },
  };
  const history = await openLmdbHistory({
    directory,
    log: silentLog(),
    clock,
    retention: () => retention,
    isInUse: (_tenant, id) => inUse.includes(id),
  });
  const store = history.forTenant('local');
  for (const [index, id] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
    const atMs = NOW - (60 - index * 10) * DAY;
    const started = at(atMs, turnStarted('u', 'x'.repeat(1000)));
    const head = await store.create(threadMeta(id, { createdAtMs: atMs }), started);
    if (id !== 'b') await store.append(id, head, at(NOW, { type: 'threadArchived' }));
  }
  work?.();
  await round.promise;
  const left: string[] = [];
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) if ((await store.meta(id)) !== undefined) left.push(id);
  await history.close();
  await rm(directory, { recursive: true });
  return left;
}

it('keeps everything unless it is told not to', async () => {
  expect(await leftOf({})).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});

it('deletes archived threads that are too old, but not what is in use or not archived', async () => {
  const retention = { archivedMs: 35 * DAY };
  expect(await leftOf(retention)).toEqual(['b', 'd', 'e', 'f']);
  expect(await leftOf(retention, ['c'])).toEqual(['b', 'c', 'd', 'e', 'f']);
});

it('keeps the newest archived threads up to a size', async () => {
  const left = await leftOf({ archivedCharacters: 12_000 });
  expect(left).toContain('b');
  expect(left).toContain('f');
  expect(left).not.toContain('a');
  expect(await leftOf({ archivedCharacters: 1 })).toEqual(['b']);
});
