// What is not a request costs one error at most, and never the connection.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';

afterEach(cleanUp);

const HELLO = '{"id":"hello","method":"initialize","params":{"clientInfo":{"name":"t","version":"1"}}}';
const LIST = '{"id":"list","method":"thread/loaded/list","params":{}}';

describe.each(TRANSPORTS)('over %s', (transport) => {
  test.each([
    ['cut JSON', '{"id":1,"method"', -32700],
    ['an empty batch', '[]', -32600],
    ['a batch', `[${LIST}]`, -32600],
    ['a text', '"x"', -32600],
    ['null', 'null', -32600],
    ['a number', '7', -32600],
    ['an object that is no message', '{}', -32600],
    ['an id that is no id', '{"id":{},"method":"thread/loaded/list"}', -32600],
    ['an id with a fraction', '{"id":1.5,"method":"thread/loaded/list"}', -32600],
    ['a method that is no text', '{"method":7}', -32600],
  ])('%s gets one error without an id, and the next request is answered', async (_, frame, code) => {
    const server = await startApp({ transport });
    const client = await server.connect();
    const before = client.transcript.length;
    client.wire.send(frame);
    client.wire.send(LIST);
    await client.message((each) => each.id === 'list');
    const [error, list] = client.transcript.slice(before);
    expect(error).toMatchObject({ id: null, error: { code } });
    expect(list).toMatchObject({ id: 'list', result: { data: [] } });
    expect(client.transcript).toHaveLength(before + 2);
  });

  test('a version that is not 2.0 is refused under its id', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    client.wire.send('{"jsonrpc":"1.0","id":"old","method":"thread/loaded/list"}');
    expect(await client.message((each) => each.id === 'old')).toMatchObject({ error: { code: -32600 } });
  });
});

describe.each(['stdio', 'unix-lines'] as const)('lines over %s', (transport) => {
  test('a byte order mark, CRLF and blank lines are no fault', async () => {
    const server = await startApp({ transport });
    const client = await server.dial();
    await client.wire.sendPieces([Buffer.from(`\ufeff${HELLO}\r\n\r\n   \n\t\r\n${LIST}\r\n`)]);
    await client.message((each) => each.id === 'list');
    expect(client.transcript.map((each) => [each.id, each.error])).toEqual([
      ['hello', undefined],
      ['list', undefined],
    ]);
  });

  test('a line that is not UTF-8 gets one error', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    const line = Buffer.concat([Buffer.from('{"id":1,"method":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]);
    await client.wire.sendPieces([line]);
    await client.settled();
    expect(client.transcript.filter((each) => each.error)).toMatchObject([{ id: null, error: { code: -32700 } }]);
  });

  test('a last line without an end is done when it is whole, and its answer still comes', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    await client.wire.sendPieces([Buffer.from(LIST)]);
    client.wire.end();
    expect(await client.message((each) => each.id === 'list')).toMatchObject({ result: { data: [] } });
    await client.wire.closed;
  });

  test('a last line that was cut is not done', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    const cut = '{"id":"cut","method":"thread/start","params":{"threadId":"cut-off"}';
    await client.wire.sendPieces([Buffer.from(cut)]);
    client.wire.end();
    await client.wire.closed;
    expect(client.transcript.filter((each) => each.id === 'cut')).toEqual([]);
    const later = await server.connect();
    expect((await later.refusal('thread/read', { threadId: 'cut-off' })).code).toBe(-32004);
  });
});

test.each(['unix', 'websocket'] as const)('text over %s that is not UTF-8 closes with 1007', async (transport) => {
  const server = await startApp({ transport });
  const [rude, other] = [await server.connect(), await server.connect()];
  await rude.wire.sendPieces([Buffer.from([0x22, 0xff, 0x22])]);
  expect(await rude.wire.closed).toBe(1007);
  await other.settled();
});
