// A turn over every transport: words in, words out, and the same words when they are read again.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { itemsOf, runTurn, startThread, streamedText } from '../harness/turns.ts';

afterEach(cleanUp);

test.each(TRANSPORTS)('a turn runs over %s', async (transport) => {
  const server = await startApp({ transport });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'say Good morning');
  expect(turn.status).toBe('completed');
  const [question, answer] = await itemsOf(client, threadId);
  expect(question!.content[0].text).toBe('say Good morning');
  expect(answer!.text).toBe('Good morning');
  expect(streamedText(client, answer!.id)).toBe('Good morning');
});
