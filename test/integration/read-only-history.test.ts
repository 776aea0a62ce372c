// A history that may be read and not written (BC-18g): what only reads is served, what would write is refused, and no byte changes.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Log, silentLog } from '../../src/base/log.ts';
import { type LmdbHistoryOptions, openLmdbHistory } from '../../src/history/lmdb.ts';
import { openShutHistory } from '../../src/history/lmdb-shut.ts';
import { recordsDirectory, recordsFile } from '../../src/history/places.ts';
import { PINNED } from '../../src/model/thread.ts';
import { askedTurn } from '../harness/approvals.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { startModelServer } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

/** Permissions bind no server of root: the database itself is opened for reading. */
function shuttable() {
  const state = { isShut: false };
  const openHistory = async (options: LmdbHistoryOptions) =>
    state.isShut
      ? openShutHistory(options, { path: recordsFile(options.directory), code: 'EACCES' })
      : openLmdbHistory(options);
  return { state, openHistory };
}

function listeningLog() {
  const said: string[] = [];
  const note = (_about: object, what: string) => void said.push(what);
  const log: Log = { ...silentLog(), warn: note, error: note };
  return { said, log };
}

/** Names and contents of everything the history has on disk; the table of readers is the database's own. */
function pictureOf(directory: string): string[] {
  const folder = recordsDirectory(directory);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'lock.mdb')
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((path) => `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`);
}

/** Its text lies in a file of its own. */
const LONG = 'quince '.repeat(15_000);

const EXPERIMENTAL = { experimentalApi: true };
const MAY_NOT =
  /^the history may not be written \(EACCES at .*data\.mdb\) and is only read: correct its permissions and start/;

async function isRefused(client: TestClient, method: string, params: object): Promise<void> {
  const { code, message, data } = await client.refusal(method, params);
  expect({ method, code, message, data }).toEqual({
    method,
    code: -32603,
    message: expect.stringMatching(new RegExp(MAY_NOT.source.replace('^', `^${method}: `))),
    data: { kind: 'unavailable', retryable: false, reason: 'historyReadOnly' },
  });
}

/** A server with two threads of one turn each, one of them archived, started again on a history that may only be read. */
async function shutServer() {
  const { state, openHistory } = shuttable();
  const { said, log } = listeningLog();
  const server = await startApp({ openHistory, log });
  const first = await server.connect(EXPERIMENTAL);
  const threadId = await startThread(first, { cwd: server.workspace });
  await runTurn(first, threadId, 'say pomegranate');
  const archived = await startThread(first);
  await runTurn(first, archived, `say ${LONG}`);
  await first.request('thread/archive', { threadId: archived });
  await server.close();
  said.length = 0;
  state.isShut = true;
  const before = pictureOf(server.dataDirectory);
  await server.restart();
  return { server, state, said, threadId, archived, before, client: await server.connect(EXPERIMENTAL) };
}

test('everything that only reads is served, with one warning', async () => {
  const { server, said, threadId, archived, before, client } = await shutServer();
  const warned = await client.notified('warning');
  expect(warned).toEqual({ threadId: null, message: expect.stringMatching(MAY_NOT) });
  const { data } = await client.request('thread/list', {});
  expect(data.map(({ id }: { id: string }) => id)).toEqual([threadId]);
  expect((await client.request('thread/list', { archived: true })).data).toMatchObject([{ id: archived }]);
  const { thread, headSeq } = await client.request('thread/resume', { threadId });
  expect(thread).toMatchObject({ status: { type: 'idle' }, turns: [{ status: 'completed' }] });
  expect((await client.request('thread/read', { threadId, includeTurns: true })).thread.turns).toHaveLength(1);
  const events = await client.request('thread/read', { threadId, afterEventSeq: 0 });
  expect(events.headSeq).toBe(headSeq);
  expect((await client.request('thread/turns/list', { threadId })).data).toHaveLength(1);
  expect((await itemsOf(client, threadId)).at(-1)!.text).toBe('pomegranate');
  expect((await itemsOf(client, archived)).at(-1)!.text.trim()).toBe(LONG.trim());
  const found = await client.request('thread/search', { searchTerm: 'pomegranate' });
  expect(found.data).toMatchObject([{ thread: { id: threadId } }]);
  const places = await client.request('thread/searchOccurrences', { threadId, searchTerm: 'pomegranate' });
  expect(places.data.length).toBeGreaterThan(0);
  expect((await client.request('threadSection/list', {})).data).toHaveLength(1);
  const { methods } = await client.request('server/capabilities');
  const naming = methods.find(({ method }: { method: string }) => method === 'thread/name/set');
  expect(naming).toMatchObject({ status: 'gated', switch: 'history', reason: expect.stringMatching(MAY_NOT) });
  await server.close();
  expect(client.news('warning')).toHaveLength(1);
  expect(said).toEqual([warned.message]);
  expect(pictureOf(server.dataDirectory)).toEqual(before);
});

test('everything that would write is refused, nothing of it is shown, and who listens goes on listening', async () => {
  const { server, said, threadId, archived, before, client } = await shutServer();
  await client.request('thread/resume', { threadId });
  const { headSeq, readState, thread } = await client.request('thread/read', { threadId, includeTurns: true });
  const [{ id: turnId }] = thread.turns;
  const told = client.notifications().length;
  const input = text('say more');
  const long = text('x'.repeat(100_000));
  const { revision: expectedRevision } = readState;
  const writes: [string, object][] = [
    ['thread/start', {}],
    ['thread/start', { idempotencyKey: 'k' }],
    ['turn/start', { threadId, input }],
    ['turn/start', { threadId, input: long, idempotencyKey: 'k' }],
    ['turn/start', { threadId, input, effort: 'high' }],
    ['thread/name/set', { threadId, name: 'named' }],
    ['thread/archive', { threadId }],
    ['thread/unarchive', { threadId: archived }],
    ['thread/delete', { threadId }],
    ['thread/fork', { threadId }],
    ['thread/settings/update', { threadId, model: 'other' }],
    ['thread/metadata/update', { threadId, gitInfo: { branch: 'main' } }],
    ['thread/readState/update', { threadId, operation: { type: 'read' }, expectedRevision }],
    ['thread/goal/set', { threadId, objective: 'a goal' }],
    ['thread/revert', { threadId, beforeTurnId: turnId }],
    ['thread/rollback', { threadId, numTurns: 1 }],
    ['thread/inject_items', { threadId, items: [{ type: 'message', role: 'user', content: [] }] }],
    ['thread/queue/add', { threadId, input, clientUserMessageId: 'c' }],
    ['review/start', { threadId, target: { type: 'custom', instructions: 'look' } }],
    ['fs/writeFile', { path: join(server.workspace, 'a'), dataBase64: '', idempotencyKey: 'k' }],
    ['thread/compact/start', { threadId }],
    ['thread/shellCommand', { threadId, command: 'true' }],
    ['thread/attachment/add', { threadId, attachmentType: 'note', identityKey: 'n', payload: {} }],
    ['threadSection/create', { name: 'section' }],
    ['thread/section/move', { threadId, sectionId: PINNED.id }],
  ];
  for (const [method, params] of writes) await isRefused(client, method, params);
  expect(client.notifications().slice(told)).toEqual([]);
  const after = await client.request('thread/read', { threadId, includeTurns: true });
  expect(after).toMatchObject({ headSeq, thread: { name: null, status: { type: 'idle' }, turns: [{}] } });
  expect((await client.request('thread/unsubscribe', { threadId })).status).toBe('unsubscribed');
  await server.close();
  expect(said).toHaveLength(1);
  expect(pictureOf(server.dataDirectory)).toEqual(before);
});

test('ephemeral threads work, also copies of those that are stored; written again after a start that may', async () => {
  const { server, state, said, threadId, before, client } = await shutServer();
  const own = await startThread(client, { ephemeral: true, idempotencyKey: 'k' });
  expect((await runTurn(client, own, 'say alive')).status).toBe('completed');
  const copy = { threadId, ephemeral: true, excludeTurns: true };
  const { thread } = await client.request('thread/fork', copy);
  expect((await runTurn(client, thread.id, 'say more')).status).toBe('completed');
  expect((await itemsOf(client, thread.id)).map((item) => item.text ?? '')).toContain('pomegranate');
  await server.close();
  expect(said).toHaveLength(1);
  expect(pictureOf(server.dataDirectory)).toEqual(before);
  state.isShut = false;
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId });
  expect((await runTurn(later, threadId, 'say again')).status).toBe('completed');
  await later.request('thread/name/set', { threadId, name: 'kept' });
  expect((await later.request('thread/read', { threadId })).thread.name).toBe('kept');
  expect(later.news('warning')).toEqual([]);
});

test('a turn that a kill cut off is shown as interrupted with what was said, and ended once that can be stored', async () => {
  const { state, openHistory } = shuttable();
  const answer = liveAnswer();
  const model = await startModelServer(answer.step);
  const server = await startApp({ backend: model, openHistory });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'speak');
  await answer.begin();
  await answer.say('shown ');
  await client.notified('item/agentMessage/delta');
  state.isShut = true;
  const killed = await server.afterKill();
  const before = pictureOf(killed.dataDirectory);
  const reader = await killed.connect();
  const { data } = await reader.request('thread/turns/list', { threadId });
  expect(data).toMatchObject([{ id: turnId, status: 'interrupted' }]);
  expect((await itemsOf(reader, threadId))[1]!.text).toBe('shown ');
  const { thread, headSeq } = await reader.request('thread/resume', { threadId });
  expect(thread).toMatchObject({ status: { type: 'idle' }, turns: [{ id: turnId, status: 'interrupted' }] });
  await isRefused(reader, 'turn/start', { threadId, input: text('again') });
  await killed.close();
  expect(pictureOf(killed.dataDirectory)).toEqual(before);
  state.isShut = false;
  await killed.restart();
  const later = await killed.connect();
  const resumed = await later.request('thread/resume', { threadId, afterEventSeq: headSeq });
  expect(resumed.thread.turns).toMatchObject([{ id: turnId, status: 'interrupted' }]);
  await later.notified('turn/completed', ({ turn }) => turn.id === turnId && turn.status === 'interrupted');
  expect((await itemsOf(later, threadId))[1]!.text).toBe('shown ');
  await server.close();
  await model.close();
});

test('a question that stands is not shown, and stands again once it can be answered', async () => {
  const { state, openHistory } = shuttable();
  const server = await startApp({ openHistory });
  const { threadId, turnId } = await askedTurn(server, await server.connect());
  await server.close();
  state.isShut = true;
  await server.restart();
  const reader = await server.connect();
  const { thread } = await reader.request('thread/resume', { threadId });
  expect(thread).toMatchObject({ status: { type: 'idle' }, turns: [{ id: turnId, status: 'interrupted' }] });
  await reader.request('thread/read', { threadId });
  expect(reader.questions()).toEqual([]);
  await server.close();
  state.isShut = false;
  await server.restart();
  const later = await server.connect();
  const resumed = await later.request('thread/resume', { threadId });
  expect(resumed.thread.turns.at(-1)).toMatchObject({ id: turnId, status: 'inProgress' });
  await later.asked();
});
