// Many turns are read at once without holding up the others.

import { afterEach, expect, it, vi } from 'vitest';
import { openMemoryHistory } from '../../../src/history/memory.ts';
import { wholeTurns } from '../../../src/threads/pages.ts';
import {
  answer,
  at,
  itemCompleted,
  itemStarted,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../../harness/history-events.ts';

const TURNS = 90;
/** Of turns that take 1 ms each: a write passes the loop several times, and waits for such a piece each time. */
const MOST_AT_ONCE = 5;

afterEach(() => void vi.restoreAllMocks());

it('lets others have their turn after a few ms', async () => {
  const history = openMemoryHistory();
  const store = history.forTenant('local');
  const events = Array.from({ length: TURNS }, (_, index) => {
    const [turnId, item] = [`turn-${index}`, answer(`item-${index}`, 'text')];
    return [turnStarted(turnId), itemStarted(turnId, item), itemCompleted(turnId, item), turnCompleted(turnId)];
  });
  const head = await store.create(threadMeta('t'), []);
  await store.append('t', head, at(5, ...events.flat()));

  let [now, sinceOthers, most] = [0, 0, 0];
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const items = store.items.bind(store);
  vi.spyOn(store, 'items').mockImplementation((id, query) => {
    now += 1;
    sinceOthers += 1;
    most = Math.max(most, sinceOthers);
    return items(id, query);
  });
  let isOver = false;
  const other = () => {
    sinceOthers = 0;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  const { turns, isTruncated } = await wholeTurns(store, 't');
  isOver = true;

  expect(turns.map(({ id }) => id)).toEqual(events.map((_, index) => `turn-${index}`));
  expect(isTruncated).toBe(false);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(MOST_AT_ONCE);
  await history.close();
});
