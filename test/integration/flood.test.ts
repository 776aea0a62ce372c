// A flood of requests whose answers nobody reads: each is answered once in the end, and others are served meanwhile.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const REQUESTS = 10_000;

test.each(TRANSPORTS)('ten thousand requests over %s get one answer each', async (transport) => {
  const server = await startApp({ transport });
  const [client, other] = [await server.connect(), await server.connect()];
  const before = client.transcript.length;
  client.wire.pause();
  const ids = Array.from({ length: REQUESTS }, () => client.post('model/list', {}));
  const threadId = await startThread(other);
  expect((await runTurn(other, threadId, 'say still here')).status).toBe('completed');
  client.wire.resume();
  await client.message(
    () => client.transcript.filter((each) => each.method === undefined).length >= before + REQUESTS,
    'the last answer',
  );
  const answers = client.transcript.slice(before).filter((each) => each.method === undefined);
  expect(answers.map((each) => each.id).toSorted((a, b) => a - b)).toEqual(ids);
  for (const each of answers) {
    if (each.error) expect(each.error).toMatchObject({ code: -32001, data: { retryable: true } });
    else expect(each.result.data).toHaveLength(1);
  }
  await client.settled();
});

test('requests that wait for each other are refused as overloaded beyond the limit, but an interrupt is not', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const { turn } = await client.request('turn/start', { threadId, input: [{ type: 'text', text: 'hang' }] });
  await client.notified('turn/started');
  const ids = Array.from({ length: 2000 }, (_, index) =>
    client.post('thread/name/set', { threadId, name: `${index}` }),
  );
  const stop = client.post('turn/interrupt', { threadId, turnId: turn.id });
  expect(await client.answerTo(stop)).toEqual({ physicallySettled: true });
  const outcomes = await Promise.allSettled(ids.map((id) => client.answerTo(id)));
  const refused = outcomes.filter((each) => each.status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(ids.length);
  for (const { reason } of refused) {
    expect(reason).toMatchObject({
      code: -32001,
      data: { kind: 'overloaded', retry_after_ms: 250, retryAfterMs: 250 },
    });
    expect(reason.message).toContain('Server overloaded; retry later.');
  }
});
