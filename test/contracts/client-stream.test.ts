// One unbroken stream over broken connections: every event once and in order, and a gap told as one.

import { afterEach, expect, test } from 'vitest';
import type { News } from '../../src/client/news.ts';
import { clientOf, closeClients, type FakeLine, HostileServer } from '../harness/hostile-server.ts';
import { adoptedReply, turnView } from '../harness/wire-views.ts';

afterEach(closeClients);

const delta = (seq: number) => ({
  method: 'item/agentMessage/delta',
  params: { threadId: 't', turnId: 'u', itemId: 'i', delta: `ü${seq}` },
  emittedAtMs: seq,
  seq,
});
const status = (at: number) => ({
  method: 'thread/status/changed',
  params: { threadId: 't', status: { type: 'active', activeFlags: [] } },
  emittedAtMs: at,
});
const ended = (seq: number) => ({
  method: 'turn/completed',
  params: { threadId: 't', turn: turnView('u', 'completed') },
  emittedAtMs: seq,
  seq,
});

/** What is told, in order; a state stands before the event it belongs to. */
const STORY = [delta(2), status(3), delta(3), delta(5), status(6), status(6.5), delta(6), ended(9)];
const storyBehind = (seq: number) => STORY.slice(STORY.findLastIndex((each) => 'seq' in each && each.seq <= seq) + 1);
const lines = (messages: readonly object[]) =>
  Buffer.from(messages.map((each) => `${JSON.stringify(each)}\n`).join(''));

async function startedThread(server: HostileServer) {
  const { client, line } = await clientOf(server);
  const starting = client.thread({ threadId: 't' });
  line.say({ id: (await line.asked('thread/start')).id, result: adoptedReply('t') });
  return { client, line, thread: await starting };
}

async function resumedBehind(line: FakeLine): Promise<number> {
  const { id, params } = await line.asked('thread/resume');
  line.say({ id, result: { ...adoptedReply('t'), headSeq: 9, ...RESUMED } });
  return params.afterEventSeq as number;
}

const RESUMED = {
  collaborationMode: null,
  initialTurnsPage: null,
  turnsBackwardsCursor: null,
  itemsBackwardsCursor: null,
};

async function read(events: AsyncIterator<News>, count: number): Promise<News[]> {
  const news: News[] = [];
  while (news.length < count) news.push((await events.next()).value as News);
  return news;
}

test('a cut at any byte of the stream loses nothing and repeats nothing', async () => {
  const bytes = lines(STORY);
  for (let at = 0; at <= bytes.length; at += 1) {
    const server = new HostileServer();
    const { client, line, thread } = await startedThread(server);
    const events = thread.events();
    line.raw(bytes.subarray(0, at));
    line.cut();
    const next = await server.ready();
    next.raw(lines(storyBehind(await resumedBehind(next))));
    expect(await read(events, STORY.length), `cut at ${at}`).toEqual(STORY);
    next.cut();
    await client.close();
  }
}, 300_000);

test('events that come again are told once; a server that falls back is not followed', async () => {
  const { line, thread } = await startedThread(new HostileServer());
  const events = thread.events();
  line.say(delta(2), delta(2), delta(5), delta(3), delta(2), delta(6));
  expect((await read(events, 3)).map(({ seq }) => seq)).toEqual([2, 5, 6]);
});

test('a stale cursor is told as a gap, between what was told and what is', async () => {
  const server = new HostileServer();
  const { client, line, thread } = await startedThread(server);
  const turn = thread.turn('x');
  const { id } = await line.asked('turn/start');
  line.say({ id, result: { turn: turnView('u', 'inProgress') } });
  await turn.started;
  expect(client.mutations).toMatchObject([{ state: 'running', turnId: 'u' }]);
  const events = thread.events();
  const gaps: unknown[] = [];
  client.on('gap', (gap) => gaps.push(gap));
  line.say(delta(4));
  line.cut();
  const next = await server.ready();
  const stale = await next.asked('thread/resume');
  expect(stale.params).toMatchObject({ threadId: 't', afterEventSeq: 4 });
  const data = { kind: 'stale_cursor', oldestSeq: 20, headSeq: 30 };
  next.say({ id: stale.id, error: { code: -32009, message: 'gone', data } });
  const anew = await next.asked('thread/resume');
  expect(anew.params).toEqual({ threadId: 't' });
  const turns = [turnView('u', 'completed')];
  next.say({ id: anew.id, result: { ...adoptedReply('t', turns), headSeq: 30, ...RESUMED } }, delta(31));
  const [first, gap, last] = await read(events, 3);
  expect(first).toMatchObject({ seq: 4 });
  expect(gap).toMatchObject({ method: 'client/gap', params: { threadId: 't', after: 4, headSeq: 30 } });
  expect(last).toMatchObject({ seq: 31 });
  expect(gaps).toHaveLength(1);
  // The turn ended where nobody could see it.
  expect(await turn.completed).toMatchObject({ id: 'u', status: 'completed' });
  const seen: string[] = [];
  for await (const { method } of turn) seen.push(method);
  expect(seen).toEqual(['item/agentMessage/delta', 'client/gap']);
  expect(client.mutations).toEqual([]);
});

test('a thread that is gone after a cut is told as lost, and its turn ends with the reason', async () => {
  const server = new HostileServer();
  const { client, line, thread } = await startedThread(server);
  const turn = thread.turn('x');
  line.say({ id: (await line.asked('turn/start')).id, result: { turn: turnView('u', 'inProgress') } });
  await turn.started;
  const events = client.notifications('client/lost');
  const ofThread = thread.events();
  line.cut();
  const next = await server.ready();
  next.say({ id: (await next.asked('thread/resume')).id, error: { code: -32004, message: 'no such thread' } });
  expect((await events.next()).value.params).toMatchObject({ threadId: 't', error: { code: -32004 } });
  await expect(turn.completed).rejects.toMatchObject({ kind: 'notFound' });
  expect((await ofThread.next()).value).toMatchObject({ method: 'client/lost' });
  expect(await ofThread.next()).toMatchObject({ done: true });
  // It is not asked for again.
  next.cut();
  const last = await server.ready();
  const asked = client.request('thread/unsubscribe', { threadId: 'z' });
  last.say({ id: (await last.asked('thread/unsubscribe')).id, result: { status: 'notLoaded' } });
  await asked;
});

test('a thread that the server lets go of is joined again, and not for ever', async () => {
  const { client, line, thread } = await startedThread(new HostileServer());
  const events = thread.events();
  const letGo = { method: 'thread/closed', params: { threadId: 't' } };
  line.say(delta(2), letGo);
  expect(await resumedBehind(line)).toBe(2);
  line.say(delta(2), delta(3));
  expect((await read(events, 3)).map(({ method, seq }) => seq ?? method)).toEqual([2, 'thread/closed', 3]);
  const losses = client.notifications('client/lost');
  line.say(letGo);
  for (let times = 1; times <= 5; times += 1) {
    expect(await resumedBehind(line)).toBe(3);
    line.say(letGo);
  }
  expect((await losses.next()).value.params).toMatchObject({ threadId: 't', error: { kind: 'unavailable' } });
});

test('a thread that is deleted ends its streams and its turn', async () => {
  const { client, line, thread } = await startedThread(new HostileServer());
  const turn = thread.turn('x');
  line.say({ id: (await line.asked('turn/start')).id, result: { turn: turnView('u', 'inProgress') } });
  await turn.started;
  const events = thread.events();
  line.say({ method: 'thread/deleted', params: { threadId: 't' } });
  expect((await events.next()).value).toMatchObject({ method: 'thread/deleted' });
  expect(await events.next()).toMatchObject({ done: true });
  await expect(turn.completed).rejects.toMatchObject({ kind: 'notFound' });
  await expect(turn[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'notFound' });
  expect(client.mutations).toMatchObject([{ state: 'running' }]);
});

test('an overloaded server is asked again to resume; a cut in between begins anew', async () => {
  const server = new HostileServer();
  const { line, thread } = await startedThread(server);
  const events = thread.events();
  line.cut();
  const second = await server.ready();
  await second.asked('thread/resume');
  second.cut();
  const third = await server.ready();
  const { id } = await third.asked('thread/resume');
  third.say({ id, error: { code: -32001, message: 'later', data: { retry_after_ms: 10 } } });
  expect(await resumedBehind(third)).toBe(0);
  third.say(delta(2));
  expect(await read(events, 1)).toEqual([delta(2)]);
});

test('a turn that is sent again after a cut has the events that came before its answer', async () => {
  const server = new HostileServer();
  const { client, line, thread } = await startedThread(server);
  const turn = thread.turn('x');
  const { params } = await line.asked('turn/start');
  line.cut();
  const next = await server.ready();
  await resumedBehind(next);
  next.say(...STORY);
  const again = await next.asked('turn/start');
  expect(again.params.idempotencyKey).toBe(params.idempotencyKey);
  next.say({ id: again.id, result: { turn: turnView('u', 'inProgress') } });
  const text: string[] = [];
  for await (const piece of turn.text()) text.push(piece);
  expect(text.join('')).toBe('ü2ü3ü5ü6');
  // It was over before its answer, which says that it runs.
  expect(client.mutations).toEqual([]);
  expect(await turn.completed).toMatchObject({ status: 'completed' });
});

test('resuming behind an event gives what was told since to the first who asks', async () => {
  const { client, line } = await clientOf(new HostileServer());
  const resuming = client.thread({ resume: 't', afterEventSeq: 4 });
  expect(await resumedBehind(line)).toBe(4);
  line.say(delta(5), delta(6));
  const thread = await resuming;
  expect((await read(thread.events(), 2)).map(({ seq }) => seq)).toEqual([5, 6]);
  // Who listens already goes on where it is.
  const again = client.thread({ resume: 't' });
  expect(await resumedBehind(line)).toBe(6);
  expect((await again).id).toBe('t');
  const leaving = thread.leave();
  line.say({ id: (await line.asked('thread/unsubscribe')).id, result: { status: 'unsubscribed' } });
  await leaving;
});
