// What a stop cut off in a history that takes no writes: shown as ended, with what was said, while the log is as it is.

import { expect, test } from 'vitest';
import { openMemoryHistory } from '../../../src/history/memory.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import type { ItemOf } from '../../../src/model/item.ts';
import { shownEnded } from '../../../src/threads/shown-ended.ts';
import {
  answer,
  asideAsked,
  at,
  delta,
  itemStarted,
  threadMeta,
  turnCompleted,
  turnStarted,
  wholeTurn,
} from '../../harness/history-events.ts';

const COMMAND: ItemOf<'commandExecution'> = {
  type: 'commandExecution',
  id: 'left',
  ...{ pluginId: null, scriptPath: null },
  ...{ command: 'sleep 9', cwd: '/w', processId: '1', source: 'agent', status: 'inProgress', commandActions: [] },
  ...{ aggregatedOutput: null, exitCode: null, durationMs: null, startedAtMs: 1, completedAtMs: null },
};
const ASC = { direction: 'asc', limit: 10 } as const;

async function stored(...events: ThreadEvent[]) {
  const history = openMemoryHistory();
  const store = history.forTenant('local');
  const head = await store.create(threadMeta('a'), at(2, ...events));
  const shown = shownEnded({ ...history, shut: 'no writes' }).forTenant('local');
  return { store, shown, head };
}

test('a history that takes writes is left alone', () => {
  const history = openMemoryHistory();
  expect(shownEnded(history)).toBe(history);
});

test('an open turn is interrupted, its items hold what was said, and a copy is whole', async () => {
  const parts = [turnStarted('open'), itemStarted('open', answer('said')), delta('open', 'said', 'x', 'y')];
  const { store, shown, head } = await stored(...wholeTurn('whole'), ...parts);
  expect((await shown.turns('a', ASC)).rows).toMatchObject([
    { id: 'whole', status: 'completed' },
    { id: 'open', status: 'interrupted', lastMessageId: 'said', completedAtMs: null },
  ]);
  expect(await shown.turn('a', 'open')).toMatchObject({ status: 'interrupted' });
  expect(await shown.item('a', 'said')).toMatchObject({ item: { text: 'xy', completedAtMs: expect.any(Number) } });
  expect((await shown.items('a', { ...ASC, turnId: 'open' })).rows).toMatchObject([
    { item: { id: 'said', text: 'xy' } },
  ]);
  expect(await shown.openTurns()).toEqual([]);
  expect(await shown.head('a')).toBe(head);
  const copied = [];
  for await (const { seq, event } of shown.kept('a', head)) copied.push([seq, event.type]);
  expect(copied.at(-1)).toEqual([expect.any(Number), 'turnCompleted']);
  expect(copied.map(([seq]) => seq)).toEqual([...new Set(copied.map(([seq]) => seq))]);
  const early = [];
  for await (const { event } of shown.kept('a', head - 1)) early.push(event.type);
  expect(early.at(-1)).not.toBe('turnCompleted');
  expect(await store.turn('a', 'open')).toMatchObject({ status: 'inProgress' });
});

test('a command that was left running has an unknown end, and a question outside of turns is gone', async () => {
  const left: ThreadEvent = { type: 'terminalLeft', turnId: 'turn', itemId: 'left' };
  const { store, shown } = await stored(
    turnStarted('turn'),
    itemStarted('turn', COMMAND),
    delta('turn', 'left', 'output'),
    left,
    turnCompleted('turn'),
    asideAsked('p'),
  );
  expect(await store.meta('a')).toMatchObject({ terminals: [{ itemId: 'left' }], asides: [{ approvalId: 'p' }] });
  expect(await shown.meta('a')).toMatchObject({ terminals: [], asides: [] });
  expect(await shown.item('a', 'left')).toMatchObject({
    item: { status: 'failed', outcome: 'unknown', aggregatedOutput: 'output' },
  });
});
