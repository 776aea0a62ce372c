// One end of a conversation: answers find their questions, what is in flight is bounded, and everything asked is answered once.

import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/log.ts';
import { deferred } from '../../../src/base/signals.ts';
import type { RequestMessage } from '../../../src/rpc/message.ts';
import { MAX_STOPS, Peer, type PeerOptions, type Reply } from '../../../src/rpc/peer.ts';
import { memoryPair } from '../../../src/transports/memory.ts';
import { ManualClock } from '../transports/manual-clock.ts';

interface Pending {
  readonly message: RequestMessage;
  readonly reply: Reply;
}

function conversation(options: Partial<PeerOptions> = {}) {
  const [ours, theirs] = memoryPair();
  const pending: Pending[] = [];
  const notes: string[] = [];
  const peer = new Peer(
    ours,
    {
      request: (message, reply) => void pending.push({ message, reply }),
      notification: ({ method }) => void notes.push(method),
      isStop: (method) => method === 'stop',
    },
    { log: silentLog(), clock: new ManualClock(), ...options },
  );
  const running = peer.run();
  const frames = theirs.frames[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await frames.next()).value as string);
  const send = (...messages: object[]) => theirs.send(messages.map((each) => JSON.stringify(each)));
  /** Settles when all that was sent has been read: an unreadable frame gets its error after it. */
  const read = async () => {
    theirs.send(['?']);
    expect((await next()).error.code).toBe(-32700);
  };
  return { peer, theirs, pending, notes, next, send, read, running };
}

const ask = (id: number, method = 'm', params: object = {}) => ({ id, method, params });

describe('requests', () => {
  test('are answered once, whatever else is said', async () => {
    const { pending, next, send, read } = conversation();
    send(ask(1));
    await read();
    pending[0]!.reply.result({ a: 1 });
    pending[0]!.reply.error(new Error('too late'));
    pending[0]!.reply.result({ b: 1 });
    expect(await next()).toEqual({ id: 1, result: { a: 1 } });
    await read();
  });

  test('beyond the number in flight are refused at once, but stops are not', async () => {
    const { pending, next, send, read } = conversation({ maxInFlight: 2 });
    send(ask(1), ask(2), ask(3), ask(4, 'stop'));
    expect(await next()).toMatchObject({ id: 3, error: { code: -32001, data: { retryable: true } } });
    await read();
    expect(pending.map(({ message }) => message.id)).toEqual(['1', '2', '4']);
    pending[0]!.reply.result({});
    await next();
    send(ask(5));
    await read();
    expect(pending.map(({ message }) => message.id)).toEqual(['1', '2', '4', '5']);
  });

  test('beyond the bytes in flight are refused, but a single large one never', async () => {
    const { pending, next, send, read } = conversation({ maxInFlightBytes: 100 });
    const large = { text: 'x'.repeat(10_000) };
    send(ask(1, 'm', large), ask(2), ask(3, 'm', { text: 'y'.repeat(200) }));
    expect(await next()).toMatchObject({ id: 3, error: { code: -32001 } });
    await read();
    expect(pending.map(({ message }) => message.id)).toEqual(['1', '2']);
  });

  test('that stop something have a limit of their own, far above any need', async () => {
    const { pending, next, send, read } = conversation({ maxInFlight: 1 });
    send(ask(0), ...Array.from({ length: MAX_STOPS + 1 }, (_, index) => ask(index + 1, 'stop')));
    expect(await next()).toMatchObject({ id: MAX_STOPS + 1, error: { code: -32001 } });
    await read();
    expect(pending).toHaveLength(MAX_STOPS + 1);
    pending[1]!.reply.result({});
    await next();
    send(ask(5000, 'stop'));
    await read();
    expect(pending.at(-1)!.message.id).toBe('5000');
  });

  test('that fail by a defect say nothing of it', async () => {
    const { pending, next, send, read } = conversation();
    send(ask(1));
    await read();
    pending[0]!.reply.error(new Error('secret detail'));
    const answer = await next();
    expect(answer).toMatchObject({ id: 1, error: { code: -32603, data: { kind: 'internal' } } });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});

describe('questions of our own', () => {
  test('get their answers, in whatever order these come', async () => {
    const { peer, next, send } = conversation();
    const [one, two] = [peer.call('a', {}), peer.call('b', {})];
    const [first, second] = [await next(), await next()];
    send({ id: second.id, result: 'two' }, { id: first.id, result: 'one' });
    expect(await Promise.all([one, two])).toEqual(['one', 'two']);
  });

  test('reject with the error of the other side', async () => {
    const { peer, next, send } = conversation();
    const call = peer.call('a', {});
    const { id } = await next();
    send({ id, error: { code: -32009, message: 'busy', data: { kind: 'conflict', threadId: 't' } } });
    await expect(call).rejects.toMatchObject({
      kind: 'conflict',
      message: 'busy',
      data: { threadId: 't', code: -32009 },
    });
  });

  test('reject when the time is over, on abort, and when the connection ends', async () => {
    const clock = new ManualClock();
    const { peer, theirs } = conversation({ clock });
    const late = expect(peer.call('a', {}, { timeoutMs: 50 })).rejects.toMatchObject({ kind: 'unavailable' });
    clock.advance(50);
    await late;
    const abort = new AbortController();
    const stopped = expect(peer.call('b', {}, { signal: abort.signal })).rejects.toMatchObject({ kind: 'cancelled' });
    abort.abort();
    await stopped;
    await expect(peer.call('c', {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ kind: 'cancelled' });
    const cut = expect(peer.call('d', {})).rejects.toMatchObject({ kind: 'unavailable' });
    await theirs.close();
    await cut;
    expect(clock.timers).toBe(0);
  });

  test('take one answer each; others are counted and do nothing', async () => {
    const { peer, next, send, read } = conversation();
    const call = peer.call('a', {});
    const { id } = await next();
    send({ id: 'x', result: 1 }, { id: `${id}`, result: 1 }, { id, result: 'yes' }, { id, result: 'no' });
    expect(await call).toBe('yes');
    await read();
    expect(peer.strayAnswers).toBe(3);
  });

  test('that were sent as ready frames take the first answer, until they are forgotten', async () => {
    const { peer, send, read } = conversation();
    const answers: unknown[] = [];
    peer.expect(7, ({ result }) => void answers.push(result));
    peer.expect(8, ({ result }) => void answers.push(result));
    peer.forget(8);
    send({ id: 7, result: 'first' }, { id: 7, result: 'second' }, { id: 8, result: 'forgotten' });
    await read();
    expect(answers).toEqual(['first']);
  });
});

test('the version is written as the first message of the other side has it', async () => {
  for (const version of [{}, { jsonrpc: '2.0' }]) {
    const { peer, pending, next, send, read } = conversation();
    send({ ...version, ...ask(1) });
    await read();
    send({ jsonrpc: '2.0', method: 'note' });
    pending[0]!.reply.result({});
    expect(await next()).toEqual({ ...version, id: 1, result: {} });
    peer.notify('news', {});
    expect((await next()).jsonrpc).toBe((version as { jsonrpc?: string }).jsonrpc);
  }
});

describe('after the end of input', () => {
  /** A connection whose other side has asked once and finished sending. */
  async function afterOneRequest(isStop = false) {
    const clock = new ManualClock();
    const [ours, theirs] = memoryPair();
    const asked = deferred<Reply>();
    const ended = deferred();
    const half = {
      origin: ours.origin,
      closed: ours.closed,
      pending: 0,
      frames: framesThenEnd(JSON.stringify(ask(1)), ended.resolve),
      send: ours.send.bind(ours),
      drained: ours.drained.bind(ours),
      limitFrames: ours.limitFrames.bind(ours),
      close: ours.close.bind(ours),
    };
    const peer = new Peer(
      half,
      { request: (_, reply) => asked.resolve(reply), notification: () => {}, isStop: () => isStop },
      { log: silentLog(), clock },
    );
    const running = peer.run();
    const reply = await asked.promise;
    await ended.promise;
    await new Promise(setImmediate);
    return { clock, ours, theirs, reply, running };
  }

  async function* framesThenEnd(frame: string, end: () => void): AsyncGenerator<string> {
    yield frame;
    end();
  }

  test.each([
    ['what was asked', false],
    ['a stop', true],
  ])('%s is answered, then the connection is closed', async (_what, isStop) => {
    const { clock, ours, theirs, reply, running } = await afterOneRequest(isStop);
    reply.result({ a: 1 });
    await running;
    const { value } = await theirs.frames[Symbol.asyncIterator]().next();
    expect(JSON.parse(value as string)).toEqual({ id: 1, result: { a: 1 } });
    expect(await ours.closed).toMatchObject({ kind: 'ended' });
    expect(clock.timers).toBe(0);
  });

  test('an answer that does not come is waited for only for a while', async () => {
    const { clock, ours, running } = await afterOneRequest();
    clock.advance(1_999);
    await new Promise(setImmediate);
    expect(clock.timers).toBe(1);
    clock.advance(1);
    await running;
    expect(await ours.closed).toMatchObject({ kind: 'ended' });
  });
});

test('a defect that is a deep recursion is the fault of the params', async () => {
  const { pending, next, send, read } = conversation();
  send(ask(1), ask(2));
  await read();
  pending[0]!.reply.error(new RangeError('Maximum call stack size exceeded'));
  pending[1]!.reply.error(new AppError('notFound', 'no'));
  expect(await next()).toMatchObject({ id: 1, error: { code: -32602 } });
  expect(await next()).toMatchObject({ id: 2, error: { code: -32004 } });
});
