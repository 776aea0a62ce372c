// Hostile JSON is refused or ignored; no prototype changes, and the connection stays sane.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const call = (method: string, params: string) =>
  `{"id":"hostile","method":${JSON.stringify(method)},"params":${params}}`;
const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const frames: [string, string, number | 'any'][] = [
  ['a method __proto__', call('__proto__', '{}'), -32601],
  ['a method constructor', call('constructor', '{}'), -32601],
  ['a method toString', call('toString', '{}'), -32601],
  ['an empty method', call('', '{}'), -32601],
  ['params with a __proto__', call('thread/start', '{"__proto__":{"polluted":true},"threadId":7}'), -32602],
  ['params with a constructor', call('thread/read', '{"constructor":{"prototype":{"polluted":true}}}'), -32602],
  ['a prototype inside overrides', call('thread/start', '{"config":{"__proto__":{"polluted":true}}}'), 'any'],
  ['dotted prototypes inside overrides', call('thread/start', '{"config":{"__proto__.polluted":true}}'), 'any'],
  ['a constructor inside overrides', call('thread/start', '{"config":{"constructor.prototype.polluted":1}}'), 'any'],
  ['metadata with a __proto__', call('thread/start', '{"metadata":{"__proto__":{"polluted":true}}}'), 'any'],
  ['the last of two keys counts', call('thread/read', '{"threadId":"a","threadId":7}'), -32602],
  ['deep nesting in params', call('thread/start', `{"config":{"deep":${nested}}}`), 'any'],
  ['deep nesting in metadata', call('thread/start', `{"metadata":{"deep":${nested}}}`), 'any'],
  ['deep nesting in a key', call('thread/start', `{"idempotencyKey":"k","metadata":{"deep":${nested}}}`), 'any'],
  ['a number beyond all', call('thread/read', '{"threadId":1e400}'), -32602],
  ['a number beyond all in a place of numbers', call('thread/list', '{"limit":1e400}'), -32602],
  ['params that are a list', call('thread/read', '[1]'), -32602],
  ['params that are a text', call('thread/read', '"x"'), -32602],
  ['a lone surrogate as an id of a thread', call('thread/read', '{"threadId":"\\ud800"}'), -32004],
  ['a NUL in an id of a thread', call('thread/read', '{"threadId":"\\u0000"}'), -32004],
  ['a very long id of a thread', call('thread/read', `{"threadId":"${'x'.repeat(5000)}"}`), -32004],
  ['a chosen id that is no name', call('thread/start', '{"threadId":"../../etc"}'), -32602],
  ['a chosen id that is too long', call('thread/start', `{"threadId":"${'x'.repeat(5000)}"}`), -32602],
];

describe.each(TRANSPORTS)('over %s', (transport) => {
  test.each(frames)('%s is answered, and nothing is harmed', async (_, frame, code) => {
    const server = await startApp({ transport });
    const client = await server.connect();
    client.wire.send(frame);
    const answer = await client.message((each) => each.id === 'hostile' || each.id === null);
    if (code !== 'any') expect(answer.error).toMatchObject({ code });
    if (answer.error) expect([-32700, -32600, -32601, -32602, -32004]).toContain(answer.error.code);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
    await client.settled();
    await startThread(client);
  });

  test('nesting of a hundred thousand levels is refused', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    client.wire.send('['.repeat(100_000));
    await client.settled();
    expect(client.transcript.filter((each) => each.error)).toMatchObject([{ id: null }]);
  });

  test('a key of ten megabytes is ignored', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    client.wire.send(call('thread/loaded/list', `{"${'k'.repeat(10_000_000)}":1}`));
    expect(await client.message((each) => each.id === 'hostile')).toMatchObject({ result: { data: [] } });
  });
});

describe("JSON of a client's own shape", () => {
  const deep = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as object;
  const large = { a: 'x'.repeat(1024 * 1024) };

  test.each([
    ['deep', deep(2000)],
    ['a little too deep', deep(101)],
    ['large', large],
  ])('that is %s is refused wherever it would be stored, and the thread goes on', async (_, value) => {
    const server = await startApp();
    const client = await server.connect({ experimentalApi: true });
    const threadId = await startThread(client);
    const input = text('say x');
    const refused = [
      ['turn/start', { threadId, input, outputSchema: value }],
      ['turn/start', { threadId, input, collaborationMode: value }],
      ['thread/settings/update', { threadId, collaborationMode: value }],
      ['thread/inject_items', { threadId, items: [value] }],
      ['thread/attachment/add', { threadId, type: 't', key: 'k', payload: value }],
      ['thread/start', { metadata: value }],
      ['thread/fork', { threadId, metadata: value }],
    ] as const;
    for (const [method, params] of refused)
      expect(await client.refusal(method, params)).toMatchObject({ code: -32602 });
    expect((await runTurn(client, threadId, 'say alive')).status).toBe('completed');
  });

  test('of a hundred levels is taken', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { metadata: deep(99) });
    expect((await runTurn(client, threadId, 'say x', { outputSchema: deep(99) })).status).toBe('completed');
  });
});
