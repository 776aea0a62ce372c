// The output of commands as text: characters that arrive in pieces stay whole, broken ones are shown as one mark.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { itemCompleted, runTurn, startThread, streamedText } from '../harness/turns.ts';

afterEach(cleanUp);

const OUTPUT = 'item/commandExecution/outputDelta';

test.each([
  ['a character cut by a pause is whole', String.raw`printf '\347'; sleep 0.05; printf '\214\253'`, '\u732b'],
  ['a byte that is no character becomes one mark', String.raw`printf '\377'`, '\ufffd'],
  ['the beginning of a character becomes one mark at the end', String.raw`printf '\360\237'`, '\ufffd'],
])('%s (BC-01b)', async (_, line, shown) => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  await runTurn(client, threadId, `run ${line}`);
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item.aggregatedOutput).toBe(shown);
  expect(streamedText(client, item.id, OUTPUT)).toBe(shown);
});
