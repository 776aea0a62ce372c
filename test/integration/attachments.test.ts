// What is attached to threads: found by thread and by what it stands for, kept once, gone with the thread.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const REQUEST = { attachmentType: 'pull_request', identityKey: 'repo#1' };
const list = async (client: TestClient, threadId: string): Promise<Received[]> =>
  (await client.request('thread/attachment/list', { threadId })).data;
const ownersOf = async (client: TestClient, params: object = {}): Promise<Received[]> =>
  (await client.request('thread/attachmentOwner/list', { ...REQUEST, ...params })).data;

/** Files of long values. */
async function blobsIn(dataDirectory: string): Promise<string[]> {
  const found = await readdir(join(dataDirectory, 'history', 'blobs'), { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

test('an attachment is added once, told to everyone, kept, and taken away', async () => {
  const server = await startApp();
  const [client, other] = [await server.connect(), await server.connect()];
  const threadId = await startThread(client);
  const added = await client.request('thread/attachment/add', { threadId, ...REQUEST, payload: { n: 1 } });
  expect(added).toMatchObject({ outcome: 'created', attachment: { ...REQUEST, payload: { n: 1 } } });
  const news = { threadId, ...REQUEST, attachmentId: added.attachment.id };
  for (const each of [client, other]) {
    expect(await each.notified('thread/attachment/updated')).toEqual({ ...news, operation: 'created' });
  }
  const again = await client.request('thread/attachment/add', { threadId, ...REQUEST, payload: { n: 2 } });
  expect(again).toEqual({ outcome: 'existing', attachment: added.attachment });
  await server.restart();
  const later = await server.connect();
  expect(await list(later, threadId)).toEqual([added.attachment]);
  await later.request('thread/attachment/remove', { threadId, ...REQUEST });
  expect(await later.notified('thread/attachment/updated')).toEqual({ ...news, operation: 'deleted' });
  expect(await later.request('thread/attachment/remove', { threadId, ...REQUEST })).toEqual({});
  await server.restart();
  expect(await list(await server.connect(), threadId)).toEqual([]);
});

test('payloads are any JSON, and come back as they were in the order of adding', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const payloads = ['text', 0, false, null, [], { deep: [{ null: null }], half: '\ud800' }, 'x'.repeat(200_000)];
  for (const [index, payload] of payloads.entries()) {
    await client.request('thread/attachment/add', { threadId, attachmentType: 'n', identityKey: `${index}`, payload });
  }
  const shown: Received[] = [];
  for (let cursor = null; ; ) {
    const page = await client.request('thread/attachment/list', { threadId, limit: 2, cursor });
    shown.push(...page.data);
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  expect(shown.map((each) => each.payload)).toEqual(payloads);
  const page = await client.request('thread/attachment/list', { threadId, limit: 1 });
  const stranger = await startThread(client);
  const borrowed = { threadId: stranger, cursor: page.nextCursor };
  expect((await client.refusal('thread/attachment/list', borrowed)).code).toBe(-32602);
});

test('owners are found by what they have, archived or not, page by page', async () => {
  const server = await startApp();
  const client = await server.connect();
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    const threadId = await startThread(client);
    ids.push(threadId);
    await client.request('thread/attachment/add', { threadId, ...REQUEST, payload: index });
  }
  await runTurn(client, ids[1] as string, 'say one');
  await client.request('thread/archive', { threadId: ids[1] });
  await client.request('thread/attachment/remove', { threadId: ids[2], ...REQUEST });
  const owners = [ids[0], ids[1], ids[3], ids[4]];
  const sorted = [...owners].sort();
  expect((await ownersOf(client)).map((each) => each.threadId)).toEqual(sorted);
  expect(await ownersOf(client, { archived: true })).toEqual([{ threadId: ids[1], archived: true }]);
  expect((await ownersOf(client, { archived: false })).map((each) => each.threadId)).not.toContain(ids[1]);
  const first = await client.request('thread/attachmentOwner/list', { ...REQUEST, limit: 3 });
  expect(first.data.map((each: Received) => each.threadId)).toEqual(sorted.slice(0, 3));
  const rest = await client.request('thread/attachmentOwner/list', { ...REQUEST, cursor: first.nextCursor });
  expect(rest).toEqual({ data: [{ threadId: sorted[3], archived: sorted[3] === ids[1] }], nextCursor: null });
  expect(await ownersOf(client, { identityKey: 'repo#2' })).toEqual([]);
});

test('a long payload is kept once however many have it, and goes with the last; files of the user are left alone', async () => {
  const server = await startApp();
  const client = await server.connect();
  const file = join(server.workspace, 'picture.bin');
  await writeFile(file, 'mine');
  const payload = { path: file, parts: Array.from({ length: 4000 }, (_, index) => `part number ${index}`) };
  const [a, b] = [await startThread(client), await startThread(client)];
  for (const threadId of [a, b]) await client.request('thread/attachment/add', { threadId, ...REQUEST, payload });
  expect(await blobsIn(server.dataDirectory)).toHaveLength(1);
  await client.request('thread/delete', { threadId: a });
  expect((await list(client, b))[0]?.payload).toEqual(payload);
  expect((await ownersOf(client)).map((each) => each.threadId)).toEqual([b]);
  await client.request('thread/attachment/remove', { threadId: b, ...REQUEST });
  await client.request('thread/delete', { threadId: b });
  expect(await blobsIn(server.dataDirectory)).toEqual([]);
  expect(await ownersOf(client)).toEqual([]);
  expect(await readFile(file, 'utf8')).toBe('mine');
});

test('a repeated request gets its first answer, also after the attachment has gone', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const add = { threadId, ...REQUEST, payload: 1, idempotencyKey: 'a' };
  const first = await client.request('thread/attachment/add', add);
  await client.request('thread/attachment/remove', { threadId, ...REQUEST, idempotencyKey: 'b' });
  await server.restart();
  const later = await server.connect();
  expect(await later.request('thread/attachment/add', add)).toEqual(first);
  expect(await list(later, threadId)).toEqual([]);
  const drift = { ...add, payload: 2 };
  expect((await later.refusal('thread/attachment/add', drift)).code).toBe(-32009);
});

test('a copy of a thread has no attachments, and what cannot have any says so', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'say one');
  await client.request('thread/attachment/add', { threadId, ...REQUEST, payload: 1 });
  await runTurn(client, threadId, 'say two');
  const fork = await client.request('thread/fork', { threadId });
  expect(await list(client, fork.thread.id)).toEqual([]);
  expect((await ownersOf(client)).map((each) => each.threadId)).toEqual([threadId]);
  const refusal = async (params: object) =>
    (await client.refusal('thread/attachment/add', { threadId, ...REQUEST, payload: 1, ...params })).code;
  expect(await refusal({ attachmentType: '' })).toBe(-32602);
  expect(await refusal({ identityKey: '' })).toBe(-32602);
  expect(await refusal({ attachmentType: 'x'.repeat(1025) })).toBe(-32602);
  expect(await refusal({ identityKey: 'x'.repeat(1025) })).toBe(-32602);
  expect(await refusal({ threadId: 'none' })).toBe(-32004);
  expect(await refusal({ payload: undefined })).toBe(-32602);
  const { thread } = await client.request('thread/start', { ephemeral: true });
  expect(await refusal({ threadId: thread.id })).toBe(-32602);
});
