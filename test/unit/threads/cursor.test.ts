// One subscriber's place in a log: every event once and in order, live or late, and nothing before its start.

import { describe, expect, test } from 'vitest';
import { localPrincipal } from '../../../src/auth/principal.ts';
import { silentLog } from '../../../src/base/log.ts';
import { type Deferred, deferred } from '../../../src/base/signals.ts';
import type { StoredEvent } from '../../../src/model/event.ts';
import { Cursor, type LogSource, type Subscriber } from '../../../src/threads/cursor.ts';
import { Frame } from '../../../src/threads/frame.ts';
import { contextAdded } from '../../harness/history-events.ts';

/** A log of plain events, and a subscriber whose wire the test fills and drains. */
function bench(options: { readonly failsFirst?: boolean } = {}) {
  const events: StoredEvent[] = [];
  const got: number[] = [];
  const abort = new AbortController();
  let room: Deferred<void> | undefined;
  let gate: Promise<void> | undefined;
  let fails = options.failsFirst ?? false;
  let reads = 0;
  const frameOf = ({ seq }: StoredEvent) => new Frame('m', String(seq));
  const source: LogSource = {
    published: () => events.length,
    events: async (after, limit) => {
      reads += 1;
      await gate;
      if (fails) {
        fails = false;
        throw new Error('unreadable');
      }
      return events.slice(after, after + limit);
    },
    render: async (page) => page.map(frameOf),
  };
  const subscriber: Subscriber = {
    id: 's',
    principal: localPrincipal,
    clientName: 'test',
    send: (frames) => void got.push(...frames.map(({ text }) => Number(text))),
    isFull: () => room !== undefined,
    hasRoom: () => room?.promise ?? Promise.resolve(),
    forget: () => {},
    signal: abort.signal,
  };
  const cursor = (after: number) => new Cursor(subscriber, source, after, silentLog());
  const append = (count: number): StoredEvent[] => {
    const from = events.length;
    const added = Array.from({ length: count }, (_, index) => ({
      seq: from + index + 1,
      atMs: 1,
      event: contextAdded('t', 'x'),
    }));
    events.push(...added);
    return added;
  };
  const publish = (to: Cursor, count = 1): void => {
    const added = append(count);
    to.publish({ from: added[0]!.seq, to: added.at(-1)!.seq, frames: added.map(frameOf) });
  };
  return {
    got,
    cursor,
    append,
    publish,
    reads: () => reads,
    fill: () => {
      room = deferred();
    },
    drain: () => {
      room?.resolve();
      room = undefined;
    },
    /** Reads of the log wait until the returned function is called. */
    slowLog: () => {
      const open = deferred();
      gate = open.promise;
      return open.resolve;
    },
    leave: () => abort.abort(),
  };
}

/** Everything that can happen without the test has happened. */
const quiet = () => new Promise(setImmediate);
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

test('nothing is sent before the start, then all behind the place', async () => {
  const { got, cursor, append, publish } = bench();
  append(5);
  const late = cursor(2);
  publish(late);
  await quiet();
  expect(got).toEqual([]);
  late.start();
  await quiet();
  expect(got).toEqual([3, 4, 5, 6]);
});

test('one that is up to date takes what is published and does not read the log', async () => {
  const { got, cursor, append, publish, reads } = bench();
  append(3);
  const live = cursor(3);
  live.start();
  await quiet();
  for (let each = 0; each < 4; each += 1) publish(live, 2);
  expect(got).toEqual(upTo(11, 4));
  expect(reads()).toBe(0);
  expect(live.position).toBe(11);
});

test('what is published while it reads comes once, in order', async () => {
  const { got, cursor, append, publish, slowLog } = bench();
  append(450);
  const open = slowLog();
  const late = cursor(0);
  late.start();
  publish(late);
  publish(late);
  open();
  await quiet();
  publish(late);
  expect(got).toEqual(upTo(453));
});

describe('one whose wire is full', () => {
  test('is sent nothing more until it drains, then all that it missed', async () => {
    const { got, cursor, append, publish, fill, drain } = bench();
    append(1);
    const slow = cursor(1);
    slow.start();
    publish(slow);
    fill();
    for (let each = 0; each < 1000; each += 1) publish(slow);
    await quiet();
    expect(got).toEqual([2]);
    drain();
    await quiet();
    await quiet();
    publish(slow);
    expect(got).toEqual(upTo(1003, 2));
  });

  test('fills again while it catches up', async () => {
    const { got, cursor, append, fill, drain } = bench();
    append(1000);
    fill();
    const slow = cursor(0);
    slow.start();
    await quiet();
    expect(got).toEqual([]);
    drain();
    fill();
    await quiet();
    expect(got.length).toBeLessThan(1000);
    drain();
    await quiet();
    expect(got).toEqual(upTo(1000));
  });
});

test('one whose connection has ended is sent nothing more', async () => {
  const { got, cursor, append, slowLog, leave } = bench();
  append(5);
  const open = slowLog();
  const gone = cursor(0);
  gone.start();
  leave();
  open();
  await quiet();
  expect(got).toEqual([]);
});

test('a log that could not be read is read again at the next publication, without a gap', async () => {
  const { got, cursor, append, publish } = bench({ failsFirst: true });
  append(5);
  const unlucky = cursor(0);
  unlucky.start();
  await quiet();
  expect(got).toEqual([]);
  publish(unlucky);
  await quiet();
  expect(got).toEqual(upTo(6));
});

test('a publication that it has read already is not sent again', async () => {
  const { got, cursor, append } = bench();
  const added = append(2);
  const late = cursor(0);
  late.start();
  await quiet();
  late.publish({ from: 1, to: 2, frames: added.map(({ seq }) => new Frame('m', String(seq))) });
  expect(got).toEqual([1, 2]);
});

test('one that begins ahead of what has been shown is not told again what comes with the rest', async () => {
  const { got, cursor, publish } = bench();
  const early = cursor(2);
  early.start();
  publish(early, 3);
  await quiet();
  expect(got).toEqual([3]);
});
