// The client library against a server that answers wrongly, late, twice or not at all.

import { afterEach, expect, test } from 'vitest';
import { RequestError } from '../../src/client/errors.ts';
import { connectWith } from '../../src/client/heddle.ts';
import type { Mutation } from '../../src/client/mutations.ts';
import { Subscription } from '../../src/client/subscription.ts';
import { threadUnsubscribe } from '../../src/threads/thread-methods.ts';
import { clientOf, closeClients, type FakeLine, HostileServer } from '../harness/hostile-server.ts';

afterEach(closeClients);

const OVERLOADED = { code: -32001, message: 'later', data: { kind: 'overloaded', retry_after_ms: 10 } };
const unsubscribed = { status: 'unsubscribed' };

test('answers out of order, twice, with wrong ids and between garbage reach whom they belong to', async () => {
  const { client, line } = await clientOf(new HostileServer());
  const told: string[] = [];
  client.on('diagnostic', (text) => told.push(text));
  const asked = ['a', 'b', 'c'].map((threadId) => client.request('thread/unsubscribe', { threadId }));
  const frames = [await line.next(), await line.next(), await line.next()];
  line.say({ id: 99, result: unsubscribed }, { id: '0', result: 7 }, { id: null, error: { code: -1, message: 'x' } });
  line.raw('not json\n[]\n"text"\n{"id":{}}\n\n');
  line.raw(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
  line.say({ id: frames[2]!.id, result: { status: 'notLoaded' } });
  line.say({ id: frames[0]!.id, result: unsubscribed }, { id: frames[0]!.id, error: { code: -1, message: 'twice' } });
  line.say({ method: 'never/heard/of', params: {} });
  line.say({ id: frames[1]!.id, result: { status: 'notSubscribed' } });
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([
    'unsubscribed',
    'notSubscribed',
    'notLoaded',
  ]);
  expect(told.length).toBeGreaterThanOrEqual(6);
  expect(told.join('\n')).toContain('never/heard/of');
  await client.close();
  // Nothing of it was argued about.
  expect(await line.rest()).toEqual([]);
});

test('an error has the code and the data of the server; a result without the agreed shape is one', async () => {
  const { client, line } = await clientOf(new HostileServer());
  const failed = client.request(threadUnsubscribe, { threadId: 't' });
  const error = { code: -32009, message: 'no', data: { kind: 'busy', more: 1 } };
  line.say({ id: (await line.next()).id, error });
  const thrown = await failed.catch((reason: unknown) => reason);
  expect(thrown).toBeInstanceOf(RequestError);
  expect(thrown).toMatchObject({ code: -32009, kind: 'conflict', message: 'no', data: { kind: 'busy', more: 1 } });
  const forbidden = client.request(threadUnsubscribe, { threadId: 't' });
  line.say({ id: (await line.next()).id, error: { code: -32600, message: 'no', data: { kind: 'forbidden' } } });
  await expect(forbidden).rejects.toMatchObject({ code: -32600, kind: 'forbidden' });
  const odd = client.request('thread/unsubscribe', { threadId: 't' });
  line.say({ id: (await line.next()).id, result: { status: 'perhaps' } });
  await expect(odd).rejects.toMatchObject({ kind: 'invalid' });
  for (const method of ['toString', 'initialize', 'no/such'])
    await expect(client.send(method, {})).rejects.toMatchObject({ kind: 'unknownMethod' });
});

test('beyond the limit a request fails here and is not sent; a stop still goes', async () => {
  const { client, line } = await clientOf(new HostileServer(), { maxPendingRequests: 2 });
  const asked = [client.request('thread/read', { threadId: 'a' }), client.request('turn/steer', STEER)];
  const refused = await client.request('turn/steer', STEER).catch((reason: unknown) => reason);
  expect(refused).toMatchObject({ code: -32001, kind: 'overloaded', state: 'unsent' });
  const stop = client.request('turn/interrupt', { threadId: 'a', turnId: 'b' });
  const frames = [await line.next(), await line.next(), await line.next()];
  expect(frames.map(({ method }) => method)).toEqual(['thread/read', 'turn/steer', 'turn/interrupt']);
  line.say(...frames.map(({ id }) => ({ id, error: { code: -32602, message: 'no' } })));
  expect((await Promise.allSettled([...asked, stop])).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  const next = client.request('thread/unsubscribe', { threadId: 'a' });
  line.say({ id: (await line.asked('thread/unsubscribe')).id, result: unsubscribed });
  await expect(next).resolves.toEqual(unsubscribed);
});

test('the limit is 256 unless it is set', async () => {
  const { client } = await clientOf(new HostileServer());
  const asked = Array.from({ length: 256 }, () => client.request('thread/read', { threadId: 'a' }));
  await expect(client.request('thread/read', { threadId: 'a' })).rejects.toMatchObject({ code: -32001 });
  await client.close();
  expect((await Promise.allSettled(asked)).every(({ status }) => status === 'rejected')).toBe(true);
});

test('what is never answered ends in time, and is honest about its effect', async () => {
  const { client, line } = await clientOf(new HostileServer(), { requestTimeoutMs: 30 });
  const read = await client.request('thread/read', { threadId: 'a' }).catch((reason: unknown) => reason);
  expect(read).toMatchObject({ kind: 'unavailable', data: { kind: 'timeout' }, state: undefined });
  const steer = await client.request('turn/steer', STEER).catch((reason: unknown) => reason);
  expect(steer).toMatchObject({ data: { kind: 'timeout' }, state: 'unknown' });
  await line.asked('thread/read');
  const { params } = await line.asked('turn/steer');
  expect(client.mutations).toEqual([{ method: 'turn/steer', idempotencyKey: params.idempotencyKey, state: 'unknown' }]);
  // The program asks again, with the same key.
  const { idempotencyKey } = steer as RequestError;
  const again = client.request('turn/steer', STEER, { idempotencyKey: idempotencyKey!, timeoutMs: 60_000 });
  const repeated = await line.asked('turn/steer');
  expect(repeated.params).toEqual(params);
  line.say({ id: repeated.id, result: { turnId: 'u' } });
  await again;
  expect(client.mutations).toEqual([]);
});

test('a request that the program gives up is not sent, or its effect is not known', async () => {
  const { client, line } = await clientOf(new HostileServer());
  const before = AbortSignal.abort();
  await expect(client.request('turn/steer', STEER, { signal: before })).rejects.toMatchObject({
    kind: 'cancelled',
    state: 'unsent',
  });
  const ending = new AbortController();
  const asked = client.request('turn/steer', STEER, { signal: ending.signal });
  await line.asked('turn/steer');
  ending.abort();
  await expect(asked).rejects.toMatchObject({ kind: 'cancelled', state: 'unknown' });
});

test('an overloaded server is asked again after its pause with the same key, by few at a time', async () => {
  const { client, line } = await clientOf(new HostileServer());
  const count = 12;
  const asked = Array.from({ length: count }, () => client.request('turn/steer', STEER));
  const first = await frames(line, count);
  line.say(...first.map(({ id }) => ({ id, error: OVERLOADED })));
  const keys = new Set(first.map(({ params }) => params?.idempotencyKey));
  expect(keys.size).toBe(count);
  // Four come back and no fifth before one of them is answered, however long that takes.
  const four = await frames(line, 4);
  const never = client.request('thread/read', { threadId: 'a' }, { timeoutMs: 100 });
  await line.asked('thread/read');
  await expect(never).rejects.toMatchObject({ data: { kind: 'timeout' } });
  const stop = client.request('turn/interrupt', { threadId: 'a', turnId: 'b' });
  const { id } = await line.asked('turn/interrupt');
  line.say({ id, result: { physicallySettled: true } });
  await stop;
  line.say(...four.map((frame) => ({ id: frame.id, result: { turnId: 'u' } })));
  const others = await frames(line, 4);
  line.say(...others.map((frame) => ({ id: frame.id, result: { turnId: 'u' } })));
  const last = await frames(line, 4);
  line.say(...last.map((frame) => ({ id: frame.id, result: { turnId: 'u' } })));
  await Promise.all(asked);
  expect(new Set([...four, ...others, ...last].map(({ params }) => params?.idempotencyKey))).toEqual(keys);
});

test('it is not asked for ever, whatever pause it names', async () => {
  const { client, line } = await clientOf(new HostileServer(), { maxOverloadRetries: 2 });
  const asked = client.request('turn/steer', STEER).catch((reason: unknown) => reason);
  for (const pause of [-5, Number.MIN_VALUE, 10]) {
    const { id } = await line.asked('turn/steer');
    line.say({ id, error: { ...OVERLOADED, data: { retry_after_ms: pause } } });
  }
  expect(await asked).toMatchObject({ code: -32001, state: 'unsent' });
});

test('a mutation tells what is known of it: sent, unknown after a cut, sent again with its key, done', async () => {
  const server = new HostileServer();
  const { client, line } = await clientOf(server);
  const states: Mutation[] = [];
  client.on('mutation', (mutation) => states.push(mutation));
  const asked = client.request('turn/steer', STEER);
  const { params } = await line.asked('turn/steer');
  line.cut();
  const next = await server.ready();
  const repeated = await next.asked('turn/steer');
  expect(repeated.params).toEqual(params);
  // That it is refused now does not say that the first one had no effect.
  next.say({ id: repeated.id, error: OVERLOADED });
  const third = await next.asked('turn/steer');
  next.say({ id: third.id, result: { turnId: 'u' } });
  await expect(asked).resolves.toEqual({ turnId: 'u' });
  expect(states.map(({ state }) => state)).toEqual(['sent', 'unknown', 'sent', 'unknown', 'sent', 'done']);
});

test('what the server would do twice is not sent again, and what only reads is', async () => {
  const server = new HostileServer();
  const { client, line } = await clientOf(server);
  const command = client.request('command/exec', { command: ['true'] }).catch((reason: unknown) => reason);
  const read = client.request('thread/unsubscribe', { threadId: 'a' });
  expect((await line.asked('command/exec')).params).not.toHaveProperty('idempotencyKey');
  await line.asked('thread/unsubscribe');
  line.cut();
  const next = await server.ready();
  next.say({ id: (await next.asked('thread/unsubscribe')).id, result: unsubscribed });
  await expect(read).resolves.toEqual(unsubscribed);
  expect(await command).toMatchObject({ kind: 'unavailable', state: 'unknown', idempotencyKey: undefined });
  expect(client.mutations).toEqual([{ method: 'command/exec', state: 'unknown' }]);
});

test('without a way back every request ends, and the readers are told why', async () => {
  const server = new HostileServer();
  const { client, line } = await clientOf(server);
  const reading = client.notifications().next();
  const states: string[] = [];
  client.on('state', ({ state }) => states.push(state));
  const asked = client.request('turn/steer', STEER).catch((reason: unknown) => reason);
  const read = client.request('thread/read', { threadId: 'a' }).catch((reason: unknown) => reason);
  await line.asked('turn/steer');
  line.cut();
  for (let attempt = 1; attempt <= 3; attempt += 1) (await server.line()).cut();
  expect(await asked).toMatchObject({ kind: 'unavailable', state: 'unknown' });
  expect(await read).toMatchObject({ kind: 'unavailable' });
  await expect(reading).rejects.toMatchObject({ kind: 'unavailable' });
  expect(states).toEqual(['reconnecting', 'closed']);
  expect(server.dials).toBe(4);
  await expect(client.request('thread/read', { threadId: 'a' })).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(client.notifications().next()).resolves.toMatchObject({ done: true });
});

test('a server that drops each connection after the handshake is not dialled for ever', async () => {
  const server = new HostileServer();
  const { client, line } = await clientOf(server);
  const closed = new Promise((resolve) => client.on('state', ({ state }) => state === 'closed' && resolve(state)));
  line.cut();
  for (let attempt = 1; attempt <= 3; attempt += 1) (await server.ready()).cut();
  await closed;
  expect(server.dials).toBe(4);
});

test('a handshake that is refused is not tried again; one that is not answered ends in time', async () => {
  const server = new HostileServer();
  const { line } = await clientOf(server);
  line.cut();
  const next = await server.line();
  next.say({ id: (await next.asked('initialize')).id, error: { code: -32600, message: 'not you' } });
  expect(await next.rest()).toEqual([]);
  expect(server.dials).toBe(2);
  const silent = new HostileServer();
  const settings = { name: 'test', version: '1', connectTimeoutMs: 20 };
  await expect(connectWith(() => silent.dial, settings)).rejects.toThrow('no handshake within 20 ms');
});

test('closing waits for answers and lets nothing new begin; what stays unanswered ends', async () => {
  const { client, line } = await clientOf(new HostileServer(), { drainMs: 5_000 });
  const asked = client.request('thread/unsubscribe', { threadId: 'a' });
  const events = client.notifications();
  const { id } = await line.asked('thread/unsubscribe');
  const closing = client.close();
  await expect(client.request('thread/unsubscribe', { threadId: 'a' })).rejects.toMatchObject({ kind: 'unavailable' });
  line.say({ id, result: unsubscribed });
  await expect(asked).resolves.toEqual(unsubscribed);
  await closing;
  expect(await events.next()).toMatchObject({ done: true });
  expect(await line.rest()).toEqual([]);
  expect(client.close()).toBe(closing);

  const other = await clientOf(new HostileServer(), { drainMs: 10 });
  const never = other.client.request('turn/steer', STEER).catch((reason: unknown) => reason);
  await other.client.close();
  expect(await never).toMatchObject({ kind: 'unavailable', state: 'unknown' });
});

test('a reader that falls too far behind is told so, and no other one suffers', async () => {
  const left: string[] = [];
  const slow = new Subscription<number>(() => left.push('slow'), 3);
  for (let value = 0; value < 5; value += 1) slow.push(value);
  await expect(slow.next()).rejects.toThrow('more than 3 messages behind');
  expect(await slow.next()).toMatchObject({ done: true });
  expect(left).toEqual(['slow']);

  const { client, line } = await clientOf(new HostileServer());
  const count = 20_000;
  const reading = client.notifications('warning');
  for (let at = 0; at < count; at += 1)
    line.say({ method: 'warning', params: { threadId: null, message: String(at) } });
  for (let at = 0; at < count; at += 1) expect((await reading.next()).value.params.message).toBe(String(at));
  const [one, two] = [reading.next(), reading.next()];
  line.say(...['x', 'y'].map((message) => ({ method: 'warning', params: { threadId: null, message } })));
  expect([(await one).value.params.message, (await two).value.params.message]).toEqual(['x', 'y']);
});

const STEER = { threadId: 't', expectedTurnId: 'u', input: [] };

async function frames(line: FakeLine, count: number) {
  const all = [];
  while (all.length < count) all.push(await line.asked('turn/steer'));
  return all;
}
