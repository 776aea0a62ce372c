// The envelope of messages: ids come back as they were, the version only where the client writes it.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

describe.each(TRANSPORTS)('over %s', (transport) => {
  test.each(['1', '"1"', '0', '-7', '-0', '9007199254740993', '-123456789012345678901234567890', '"\\u732b"', '""'])(
    'the id %s comes back byte for byte',
    async (id) => {
      const server = await startApp({ transport });
      const client = await server.connect();
      const raw: string[] = [];
      const take = client.wire.onFrame;
      client.wire.onFrame = (frame) => {
        raw.push(frame);
        take(frame);
      };
      client.wire.send(`{"method":"thread/loaded/list","params":{"id":5},"id":${id}}`);
      await client.settled();
      const plain = id.startsWith('"') ? JSON.stringify(JSON.parse(id)) : id;
      expect(raw[0]).toContain(`"id":${plain},`);
    },
  );
});

test.each([true, false])('a client that writes the version (%s) gets it on everything', async (writesVersion) => {
  const server = await startApp();
  const client = await server.dial();
  const send = client.send.bind(client);
  client.send = (message) => send(writesVersion ? { jsonrpc: '2.0', ...message } : message);
  await client.initialize();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'say yes');
  await client.refusal('no/such');
  expect(new Set(client.transcript.map((each) => each.jsonrpc))).toEqual(new Set([writesVersion ? '2.0' : undefined]));
});

test('every event of a thread carries its place and time, notices about the list no place', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'say one two three');
  const ofThread = client.notifications().filter((each) => each.params.turnId ?? each.params.turn);
  expect(ofThread.length).toBeGreaterThan(5);
  for (const each of ofThread) {
    expect(each.seq).toBeTypeOf('number');
    expect(each.emittedAtMs).toBeTypeOf('number');
    expect(each.params.threadId).toBe(threadId);
  }
  const seqs = ofThread.map((each) => each.seq);
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
  expect(client.notifications('thread/started')[0]!.seq).toBeUndefined();
});
