// A character that arrives in pieces is stored and shown whole.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { completed, itemsOf, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

test.each(TRANSPORTS)('a message that arrives byte by byte over %s is stored as it was written', async (transport) => {
  const server = await startApp({ transport });
  const client = await server.connect();
  const threadId = await startThread(client);
  const words = 'say \u732b \u{1f98a} caf\u00e9';
  const request = { id: 'bytes', method: 'turn/start', params: { threadId, input: text(words) } };
  const bytes = Buffer.from(`${JSON.stringify(request)}\n`);
  await client.wire.sendPieces(Array.from(bytes, (byte) => Buffer.from([byte])));
  const { result } = await client.message((each) => each.id === 'bytes');
  await completed(client, result.turn.id);
  const [question, answer] = await itemsOf(client, threadId);
  expect(question!.content[0].text).toBe(words);
  expect(answer!.text).toBe('\u732b \u{1f98a} caf\u00e9');
});
