// What a remote client can set going, and how far its yes reaches: no further than the operator lets remote threads go.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Principal } from '../../src/auth/principal.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread, text } from '../harness/turns.ts';
import { PIXEL } from '../unit/agent/backends/turn.ts';

afterEach(cleanUp);

const REMOTE: Principal = {
  tenant: 'local',
  subject: 'someone',
  permissions: new Set(['thread:read', 'thread:write', 'approval:resolve']),
  isLocal: false,
};

let server: RunningApp;
let local: TestClient;
let remote: TestClient;
let root: string;

beforeEach(async () => {
  root = join(await temporaryFolder(), 'root');
  await mkdir(root);
  server = await startApp({ config: { remote: { roots: [root] } } });
  local = await server.connect({ experimentalApi: true });
  remote = await server.connectAs(REMOTE, { experimentalApi: true });
});

const amendment = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['echo', 'x'] } };

describe('the yes of a remote client', () => {
  test.each<[string, unknown]>([
    ['once', 'accept'],
    ['for the session', 'acceptForSession'],
    ['for ever', amendment],
  ])('does not let a command leave the sandbox, %s', async (_, decision) => {
    const threadId = await startThread(remote, { cwd: root });
    await remote.request('turn/start', { threadId, input: text('run! echo x') });
    const question = await remote.asked();
    question.answer({ decision });
    const { item } = await remote.notified('item/completed', (params) => params.item.type === 'commandExecution');
    expect(item).toMatchObject({ status: 'declined', exitCode: null });
    const { message } = await remote.notified('warning');
    expect(message).toMatch(/refused/);
    await remote.notified('turn/completed');
  });

  test('a local person may let it leave, and is asked again for the next turn of the remote client', async () => {
    const threadId = await startThread(remote, { cwd: root });
    await local.request('thread/resume', { threadId });
    for (const decision of ['acceptForSession', amendment, 'decline']) {
      const { turn } = await remote.request('turn/start', { threadId, input: text('run! echo x') });
      const question = await local.asked((params) => params.turnId === turn.id);
      question.answer({ decision });
      await remote.notified('turn/completed', (params) => params.turn.id === turn.id);
    }
  });
});

test('a command that a local person let out of the sandbox takes nothing from a turn of a remote client', async () => {
  const threadId = await startThread(remote, { cwd: root });
  await local.request('thread/resume', { threadId });
  const turnOf = async (client: TestClient, words: string) => {
    const { turn } = await client.request('turn/start', { threadId, input: text(words) });
    return turn.id as string;
  };
  const over = (id: string) => local.notified('turn/completed', ({ turn }) => turn.id === id);
  const left = await turnOf(local, 'leave! read x; echo got $x');
  const question = await local.asked();
  expect(question.params.heddle).toMatchObject({ sandbox: 'bare', onTerminal: true });
  question.answer({ decision: 'accept' });
  await over(left);
  await over(await turnOf(remote, 'type theirs'));
  expect(local.news('item/commandExecution/terminalInteraction')).toEqual([]);
  const mine = await turnOf(local, 'type mine');
  (await local.asked(({ turnId }) => turnId === mine)).answer({ decision: 'accept' });
  await over(mine);
  const { item } = await local.notified('item/completed', (params) => params.item.type === 'commandExecution');
  expect(item).toMatchObject({ status: 'completed', aggregatedOutput: 'mine\r\ngot mine\r\n' });
});

describe('input that waits', () => {
  test('may not be left by a remote client on a thread that is too wide for it', async () => {
    const threadId = await startThread(local, { cwd: root, sandbox: 'danger-full-access' });
    const wish = { threadId, input: text('run echo x'), clientUserMessageId: 'm' };
    expect((await remote.refusal('thread/queue/add', wish)).data.kind).toBe('forbidden');
    await local.request('turn/start', { threadId, input: text('hang') });
    const mine = await local.request('thread/queue/add', { ...wish, clientUserMessageId: 'mine' });
    const start = { threadId, queuedSubmissionId: mine.queuedSubmission.id };
    expect((await remote.refusal('thread/queue/start', start)).data.kind).toBe('forbidden');
  });

  test('is not begun when the thread has become too wide for whoever left it', async () => {
    const threadId = await startThread(local, { cwd: root, sandbox: 'read-only', approvalPolicy: 'on-request' });
    await local.request('turn/start', { threadId, input: text('run! true') });
    const question = await local.asked();
    await remote.request('thread/queue/add', { threadId, input: text('run echo x'), clientUserMessageId: 'm' });
    await local.request('thread/settings/update', { threadId, sandboxPolicy: { type: 'dangerFullAccess' } });
    question.answer({ decision: 'decline' });
    await local.notified('turn/completed');
    const { data } = await local.request('thread/queue/list', { threadId });
    expect(data).toHaveLength(1);
  });
});

describe('a review that a remote client begins', () => {
  const reviewed = async (threadId: string, instructions: string) => {
    const { turn } = await remote.request('review/start', { threadId, target: { type: 'custom', instructions } });
    await local.notified('turn/completed', (params) => params.turn.id === turn.id);
    return turn.id as string;
  };

  test.each<[string, unknown]>([
    ['for the session', 'acceptForSession'],
    ['for ever', amendment],
  ])('runs nothing outside of the sandbox that a local person has accepted %s', async (_, decision) => {
    const threadId = await startThread(remote, { cwd: root });
    await local.request('thread/resume', { threadId });
    const { turn } = await local.request('turn/start', { threadId, input: text('run! echo x') });
    (await local.asked()).answer({ decision });
    await local.notified('turn/completed', (params) => params.turn.id === turn.id);
    const review = await reviewed(threadId, 'run! echo x');
    const ran = local.news('item/started').filter(({ turnId, item }) => turnId === review && 'command' in item);
    expect(ran).toEqual([]);
  });

  test('sees no image outside of the roots', async () => {
    const outside = join(await temporaryFolder(), 'dot.png');
    await writeFile(outside, Buffer.from(PIXEL.slice(PIXEL.indexOf(',') + 1), 'base64'));
    const threadId = await startThread(remote, { cwd: root });
    await local.request('thread/resume', { threadId });
    await reviewed(threadId, `view ${outside}`);
    expect(local.news('item/started').filter(({ item }) => item.type === 'imageView')).toEqual([]);
  });
});
