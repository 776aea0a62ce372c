// A client that asks for much and reads nothing: what is kept for it is bounded, answers and stops get through, all is answered.

import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { type Deferred, deferred } from '../../../src/base/signals.ts';
import { HIGH_WATER } from '../../../src/rpc/outbox.ts';
import { Peer } from '../../../src/rpc/peer.ts';
import { memoryPair } from '../../../src/transports/memory.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const MIB = 1024 * 1024;
const LARGE = 'x'.repeat(3 * MIB);

/** A peer that answers everything a moment later; `started` are the ids of all requests but stops. */
function answering() {
  const clock = new ManualClock();
  const [ours, theirs] = memoryPair({ clock });
  const started: number[] = [];
  const stops = new Map<number, Deferred<void>>();
  const stopped = (id: number) => {
    const known = stops.get(id) ?? deferred();
    stops.set(id, known);
    return known;
  };
  const peer = new Peer(
    ours,
    {
      request({ id, method }, reply) {
        if (method === 'stop') stopped(Number(id)).resolve();
        else started.push(Number(id));
        setImmediate(() => reply.result(method === 'large' ? { text: LARGE } : {}));
      },
      notification: () => {},
      isStop: (method) => method === 'stop',
      hasLargeAnswer: (method) => method === 'large',
    },
    { log: silentLog(), clock },
  );
  const running = peer.run();
  const frames = theirs.frames[Symbol.asyncIterator]();
  return {
    peer,
    ours,
    theirs,
    started,
    running,
    /** Settles when the stop with this id has begun, which says that all before it has been read. */
    stop: (id: number) => {
      theirs.send([JSON.stringify({ id, method: 'stop' })]);
      return stopped(id).promise;
    },
    send: (...messages: object[]) => theirs.send(messages.map((each) => JSON.stringify(each))),
    next: async () => JSON.parse((await frames.next()).value as string),
  };
}

const asks = (count: number, method: string) =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, method }));
const ticks = async (count: number) => {
  for (let tick = 0; tick < count; tick += 1) await new Promise(setImmediate);
};

describe('large answers that nobody reads', () => {
  test('are not prepared beyond what may wait, and come in order when they are read', async () => {
    const { ours, started, send, stop, next } = answering();
    send(...asks(60, 'large'));
    await stop(1000);
    await ticks(100);
    expect(started.length).toBeLessThanOrEqual(4);
    expect(ours.pending).toBeLessThan(4 * LARGE.length + MIB);
    await stop(1001);
    expect(started.length).toBeLessThanOrEqual(4);
    const answers: number[] = [];
    while (answers.length < 62) {
      const { id } = await next();
      answers.push(id);
      expect(ours.pending).toBeLessThan(6 * LARGE.length);
    }
    expect(answers.filter((id) => id < 1000)).toEqual(asks(60, 'large').map(({ id }) => id));
    expect(answers).toContain(1000);
    expect(answers).toContain(1001);
  });

  test('keep no answer to a question of ours waiting', async () => {
    const { peer, started, send, stop } = answering();
    send(...asks(60, 'large'));
    await stop(1000);
    await ticks(100);
    const question = peer.call('question', {});
    send({ id: 0, result: 'yes' });
    expect(await question).toBe('yes');
    expect(started.length).toBeLessThanOrEqual(4);
  });

  test('are not begun for one who has gone', async () => {
    const { theirs, started, send, stop, running } = answering();
    send(...asks(60, 'large'));
    await stop(1000);
    await ticks(100);
    const before = started.length;
    await theirs.close();
    await running;
    await ticks(20);
    expect(started).toHaveLength(before);
  });
});

test('frames are read no further when their refusals, too, would be without end', async () => {
  const { ours, theirs, send } = answering();
  send(...asks(4, 'large'));
  await ticks(20);
  expect(ours.pending).toBeGreaterThan(HIGH_WATER);
  const before = ours.pending;
  for (let round = 0; round < 40; round += 1) {
    theirs.send(Array.from({ length: 5000 }, () => '?'));
    await ticks(5);
  }
  expect(ours.pending - before).toBeLessThan(HIGH_WATER);
  expect(theirs.pending).toBeGreaterThan(0);
});
