// The edges of the handshake that clients rely on.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('nothing is answered before initialize, and initialize only once', async () => {
    const server = await startApp({ transport });
    const client = await server.dial();
    const early = await client.refusal('thread/list', {});
    expect(early).toMatchObject({ code: -32002, message: expect.stringContaining('Not initialized') });
    expect((await client.refusal('no/such')).code).toBe(-32002);
    await client.initialize();
    const second = await client.refusal('initialize', { clientInfo: { name: 'again', version: '1' } });
    expect(second.message).toContain('Already initialized');
    await client.settled();
  });
});

test.each([
  ['without clientInfo', {}],
  ['without params', undefined],
  ['with a name that is no text', { clientInfo: { name: 7, version: '1' } }],
])('initialize %s is refused, and can be tried again', async (_, params) => {
  const server = await startApp();
  const client = await server.dial();
  expect((await client.refusal('initialize', params)).code).toBe(-32602);
  await client.initialize();
});

test('requests between the answer of initialize and initialized are answered', async () => {
  const server = await startApp();
  const client = await server.dial();
  await client.request('initialize', { clientInfo: { name: 'eager', version: '1' } });
  expect((await client.request('thread/list', {})).data).toEqual([]);
  client.notify('initialized');
  await client.settled();
});

test('what is written behind initialize in one go is answered after it', async () => {
  const server = await startApp();
  const client = await server.dial();
  const hello = client.post('initialize', { clientInfo: { name: 'eager', version: '1' } });
  client.notify('initialized');
  const list = client.post('thread/list', {});
  await client.answerTo(list);
  expect(client.transcript.map((each) => each.id)).toEqual([hello, list]);
});

test('opt-outs are exact, unknown ones are no fault, and they hold for this connection only', async () => {
  const server = await startApp();
  const many = Array.from({ length: 1000 }, (_, index) => `no/such/${index}`);
  const silenced = ['item/agentMessage/delta', 'thread/started', 'item'];
  const client = await server.connect({ optOut: [...many, ...silenced] });
  const other = await server.connect();
  const threadId = await startThread(client);
  await other.request('thread/resume', { threadId });
  const turn = await runTurn(client, threadId, 'say one two');
  await other.notified('turn/completed', (each) => each.turn.id === turn.id);
  expect(client.news('item/agentMessage/delta')).toEqual([]);
  expect(client.news('thread/started')).toEqual([]);
  expect(client.news('item/completed')).toHaveLength(2);
  expect(other.news('item/agentMessage/delta').length).toBeGreaterThan(0);
});

test('an opt-out never silences a question of the server', async () => {
  const server = await startApp();
  const client = await server.connect({ optOut: ['item/commandExecution/requestApproval'] });
  const threadId = await startThread(client);
  await client.request('turn/start', { threadId, input: [{ type: 'text', text: 'run! echo x' }] });
  (await client.asked()).answer({ decision: 'decline' });
  await client.notified('turn/completed');
});

test('an unknown notification is ignored, an unknown request refused by name', async () => {
  const server = await startApp();
  const client = await server.connect();
  const before = client.transcript.length;
  client.notify('no/such', { a: 1 });
  client.notify('thread/start', {});
  await client.settled();
  expect(client.transcript).toHaveLength(before + 1);
  const refused = await client.refusal('no/such');
  expect(refused).toMatchObject({ code: -32601, message: expect.stringContaining('unknown method') });
});

test('initialize says who we are, where the data is, and what the limits are', async () => {
  const server = await startApp();
  const client = await server.dial();
  const facts = await client.initialize({ name: 'my-client' });
  expect(facts.userAgent).toMatch(/^my-client\/0\.171\.0 \(.+\) .*heddle\/0\.0\.0-test$/);
  expect(facts.codexHome).toBe(server.dataDirectory);
  expect(facts.server.limits).toMatchObject({ requestsInFlight: 256, outboxBytes: 4 * 1024 * 1024 });
});
