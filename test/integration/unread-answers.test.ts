// Large answers that a client asks for and does not read are not prepared for it; what it stops stops all the same.

import { afterEach, expect, test } from 'vitest';
import { localPrincipal } from '../../src/auth/principal.ts';
import { memoryPair } from '../../src/transports/memory.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { TestClient } from '../harness/test-client.ts';
import { completed, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { memoryWire } from '../harness/wires.ts';

afterEach(cleanUp);

const MIB = 1024 * 1024;
const REQUESTS = 20;

test('many whole threads asked for at once wait until they are read', async () => {
  const server = await startApp();
  const other = await server.connect();
  const [large, running] = [await startThread(other), await startThread(other)];
  for (let turn = 0; turn < 2; turn += 1) await runTurn(other, large, `say ${'x'.repeat(650_000)}`);
  const turnId = await startTurn(other, running, 'hang');
  const [ours, theirs] = memoryPair();
  theirs.limitFrames(256 * MIB);
  server.app.accept(ours, localPrincipal);
  const client = new TestClient(memoryWire(theirs));
  await client.initialize();
  const { thread } = await client.request('thread/read', { threadId: large, includeTurns: true });
  const size = JSON.stringify(thread).length;
  expect(size).toBeGreaterThan(MIB);
  client.wire.pause();
  const ids = Array.from({ length: REQUESTS }, () =>
    client.post('thread/read', { threadId: large, includeTurns: true }),
  );
  const stop = client.post('turn/interrupt', { threadId: running, turnId });
  expect((await completed(other, turnId)).status).toBe('interrupted');
  // Time enough for many answers.
  for (let round = 0; round < 3; round += 1)
    await other.request('thread/read', { threadId: large, includeTurns: true });
  expect(ours.pending).toBeLessThan(8 * size);
  client.wire.resume();
  for (const id of ids) expect((await client.answerTo(id)).thread.id).toBe(large);
  expect(await client.answerTo(stop)).toEqual({ physicallySettled: true });
});

test.each(['stdio', 'unix-lines'] as const)(
  'a stop that comes last over %s is answered before the goodbye',
  async (transport) => {
    const server = await startApp({ transport });
    const client = await server.connect();
    const threadId = await startThread(client);
    const turnId = await startTurn(client, threadId, 'hang');
    await client.notified('turn/started');
    const stop = client.post('turn/interrupt', { threadId, turnId });
    client.wire.end();
    expect(await client.answerTo(stop)).toEqual({ physicallySettled: true });
    await client.wire.closed;
  },
);
