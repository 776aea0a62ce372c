// A folder that is gone, moved or linked elsewhere between a question and its answer: what runs is what was shown, or nothing.

import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemCompleted, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

async function askedIn() {
  const server = await startApp();
  const client = await server.connect();
  const folder = join(server.workspace, 'work');
  const elsewhere = join(server.workspace, 'elsewhere');
  await mkdir(folder);
  await mkdir(elsewhere);
  const threadId = await startThread(client, { cwd: folder });
  const turnId = await startTurn(client, threadId, 'run! touch made');
  return { server, client, folder, elsewhere, threadId, turnId, question: await client.asked() };
}

test('the folder leads elsewhere by now: nothing runs, in neither', async () => {
  const { client, folder, elsewhere, turnId, question } = await askedIn();
  await rename(folder, `${folder}-moved`);
  await symlink(elsewhere, folder);
  question.answer({ decision: 'accept' });
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item.status).toBe('declined');
  await completed(client, turnId);
  expect([await readdir(elsewhere), await readdir(`${folder}-moved`)]).toEqual([[], []]);
});

test.each<[string, (folder: string) => Promise<void>]>([
  ['is gone', (folder) => rm(folder, { recursive: true })],
  ['is a file', (folder) => rm(folder, { recursive: true }).then(() => writeFile(folder, ''))],
])('the folder %s: the command fails with that reason, and the thread goes on elsewhere', async (_, change) => {
  const { client, folder, elsewhere, threadId, turnId, question } = await askedIn();
  await change(folder);
  question.answer({ decision: 'accept' });
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item).toMatchObject({ status: 'failed' });
  expect(item.aggregatedOutput).toContain(folder);
  expect((await completed(client, turnId)).status).toBe('completed');
  const next = await startTurn(client, threadId, 'run! touch made', { cwd: elsewhere });
  (await client.asked(({ turnId: of }) => of === next)).answer({ decision: 'accept' });
  await completed(client, next);
  expect(await readdir(elsewhere)).toEqual(['made']);
});

test('what was accepted for the session in a folder is not accepted where its name leads later', async () => {
  const { client, folder, elsewhere, threadId, turnId, question } = await askedIn();
  question.answer({ decision: 'acceptForSession' });
  await completed(client, turnId);
  await rename(folder, `${folder}-moved`);
  await symlink(elsewhere, folder);
  const next = await startTurn(client, threadId, 'run! touch made');
  const again = await client.asked(({ turnId: of }) => of === next);
  again.answer({ decision: 'decline' });
  await completed(client, next);
  expect(await readdir(elsewhere)).toEqual([]);
});
