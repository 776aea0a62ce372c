// What is known of a loaded thread, as a function of its events.

import { describe, expect, test } from 'vitest';
import type { Proposal } from '../../../src/model/approval.ts';
import { lastSeq, type ThreadEvent } from '../../../src/model/event.ts';
import {
  applyEvent,
  type LiveThread,
  onlyWaitsForPeople,
  statusOf,
  UNKNOWN_VIEW,
  waitingFlags,
} from '../../../src/threads/state.ts';
import {
  answer,
  delta,
  itemCompleted,
  itemStarted,
  question,
  settings,
  threadMeta,
  turnCompleted,
  turnStarted,
  wholeTurn,
} from '../../harness/history-events.ts';

const start: LiveThread = {
  ...{ meta: threadMeta('thread-1'), head: 1, turn: null },
  ...{ asides: new Map(), view: UNKNOWN_VIEW },
};

function threadAfter(...events: ThreadEvent[]): LiveThread {
  return events.reduce((thread, event) => {
    const stored = { seq: thread.head + 1, atMs: 1, event };
    return applyEvent(thread, stored, lastSeq(stored));
  }, start);
}

const asked = (id: string, itemId: string): ThreadEvent => ({
  type: 'approvalRequested',
  turnId: 't',
  proposal: { id, itemId } as Proposal,
  requestId: 0,
});
const resolved = (approvalId: string): ThreadEvent => ({
  type: 'approvalResolved',
  turnId: 't',
  approvalId,
  requestId: 0,
  resolution: { by: 'interrupt' },
});
const steered = (itemId: string): ThreadEvent => ({
  type: 'steered',
  turnId: 't',
  itemId,
  clientId: null,
  content: [],
});

describe('the head', () => {
  test('follows every event, and a delta by as many places as it has parts', () => {
    expect(threadAfter(turnStarted('t')).head).toBe(2);
    expect(threadAfter(turnStarted('t'), delta('t', 'i', 'a', 'b', 'c')).head).toBe(5);
  });

  test('is all that a delta changes', () => {
    const before = threadAfter(turnStarted('t'), itemStarted('t', answer('a')));
    const now = applyEvent(before, { seq: before.head + 1, atMs: 1, event: delta('t', 'a', 'x') }, before.head + 1);
    expect(now.turn).toBe(before.turn);
    expect(now.meta).toBe(before.meta);
  });
});

describe('the open turn', () => {
  test('begins, holds what was begun and not completed, and ends', () => {
    const { turn } = threadAfter(turnStarted('t'), itemStarted('t', answer('a')), itemStarted('t', answer('b')));
    expect([...turn!.items.keys()]).toEqual(['a', 'b']);
    const later = threadAfter(turnStarted('t'), itemStarted('t', answer('a')), itemCompleted('t', answer('a', 'said')));
    expect(later.turn).toMatchObject({ id: 't', seq: 2, lastMessage: { id: 'a', text: 'said' } });
    expect(later.turn!.items.size).toBe(0);
    expect(threadAfter(...wholeTurn('t')).turn).toBe(null);
  });

  test('takes nothing of other turns', () => {
    const { turn } = threadAfter(turnStarted('t'), itemStarted('other', answer('a')), turnCompleted('other'));
    expect(turn!.items.size).toBe(0);
  });

  test('holds steered input until it is a message', () => {
    const waiting = threadAfter(turnStarted('t'), steered('s'));
    expect(waiting.turn!.steered.map(({ itemId }) => itemId)).toEqual(['s']);
    expect(threadAfter(turnStarted('t'), steered('s'), itemStarted('t', question('s'))).turn!.steered).toEqual([]);
  });

  test('remembers the last message of the agent, not that of the user', () => {
    const { turn } = threadAfter(
      turnStarted('t'),
      itemCompleted('t', answer('a', 'one')),
      itemStarted('t', question('q')),
      itemCompleted('t', question('q')),
    );
    expect(turn!.lastMessage).toMatchObject({ id: 'a' });
  });
});

describe('the status', () => {
  test('is idle, active while a turn is open, and waiting while a question stands', () => {
    expect(statusOf(start)).toEqual({ type: 'idle' });
    expect(statusOf(threadAfter(turnStarted('t')))).toEqual({ type: 'active', activeFlags: [] });
    const waiting = [turnStarted('t'), itemStarted('t', answer('a')), asked('p', 'a')];
    expect(statusOf(threadAfter(...waiting))).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] });
    expect(waitingFlags(threadAfter(...waiting, asked('q', 'a'), resolved('p')))).toEqual(['waitingOnApproval']);
    expect(waitingFlags(threadAfter(...waiting, resolved('p')))).toEqual([]);
    expect(statusOf(threadAfter(...wholeTurn('t')))).toEqual({ type: 'idle' });
  });

  test('is waiting while a question stands that belongs to no turn, whatever turns begin and end meanwhile', () => {
    const aside = { ...asked('p', ''), turnId: '' } as ThreadEvent;
    const over = { ...resolved('p'), turnId: '' } as ThreadEvent;
    const waiting = { type: 'active', activeFlags: ['waitingOnApproval'] };
    expect(statusOf(threadAfter(aside))).toEqual(waiting);
    expect(statusOf(threadAfter(aside, turnStarted('t')))).toEqual(waiting);
    expect(statusOf(threadAfter(aside, ...wholeTurn('t')))).toEqual(waiting);
    expect(statusOf(threadAfter(aside, turnStarted('t'), over))).toEqual({ type: 'active', activeFlags: [] });
    expect(statusOf(threadAfter(aside, over))).toEqual({ type: 'idle' });
  });

  test('is an error after a turn that failed, until the next begins', () => {
    const failed = [turnStarted('t'), turnCompleted('t', { status: 'failed' })];
    expect(statusOf(threadAfter(...failed))).toEqual({ type: 'systemError' });
    expect(statusOf(threadAfter(...failed, turnStarted('u')))).toEqual({ type: 'active', activeFlags: [] });
    expect(statusOf(threadAfter(...failed, ...wholeTurn('u')))).toEqual({ type: 'idle' });
  });
});

describe('a turn only waits for people', () => {
  const isWaiting = (...events: ThreadEvent[]) => onlyWaitsForPeople(threadAfter(turnStarted('t'), ...events).turn!);

  test('when every open item is asked about', () => {
    expect(isWaiting(itemStarted('t', answer('a')), asked('p', 'a'))).toBe(true);
    expect(
      isWaiting(itemStarted('t', answer('a')), asked('p', 'a'), itemStarted('t', answer('b')), asked('q', 'b')),
    ).toBe(true);
  });

  test('but not when something else is under way, or nothing is asked', () => {
    expect(isWaiting()).toBe(false);
    expect(isWaiting(itemStarted('t', answer('a')))).toBe(false);
    expect(isWaiting(itemStarted('t', answer('a')), asked('p', 'a'), itemStarted('t', answer('b')))).toBe(false);
    expect(isWaiting(itemStarted('t', answer('a')), asked('p', 'a'), resolved('p'))).toBe(false);
    expect(isWaiting(itemStarted('t', answer('a')), asked('p', 'a'), steered('s'))).toBe(false);
  });
});

test('settings, names and reverted turns are known', () => {
  const changed = settings({ model: 'other' });
  const thread = threadAfter(
    { type: 'settingsChanged', settings: changed },
    { type: 'threadNamed', name: 'mine' },
    ...wholeTurn('t'),
    ...wholeTurn('u'),
    { type: 'turnsReverted', firstTurnId: 'u', turnIds: ['u'] },
  );
  expect(thread.meta).toMatchObject({ name: 'mine', settings: { model: 'other' }, turnCount: 1 });
});
