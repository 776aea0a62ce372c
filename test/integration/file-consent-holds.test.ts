// How long and for whom a yes to a patch holds: while things change, after a stop of the server, and for remote clients.

import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Principal } from '../../src/auth/principal.ts';
import { askedPatch, lastOutput, type PatchingModel, patchingModel } from '../harness/patches.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { completed, itemCompleted, itemsOf, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const ADD = '*** Add File: a.txt\n+x';
const READING = { sandbox: 'read-only' };
const contentOf = (path: string) => readFile(path, 'utf8').catch(() => undefined);
const fileItem = (rig: PatchingModel) => itemCompleted(rig.client, ({ type }) => type === 'fileChange');

describe('what changes while the question stands', () => {
  const UPDATE = '*** Update File: a.txt\n@@\n-one\n+two';
  const cases: [string, (rig: PatchingModel) => Promise<unknown>][] = [
    ['the file', (rig) => writeFile(rig.at('a.txt'), 'one\nmore\n')],
    ['that there is a file', (rig) => rm(rig.at('a.txt'))],
    [
      'where it leads',
      async (rig) => {
        await rename(rig.at('a.txt'), rig.at('other.txt'));
        await symlink('other.txt', rig.at('a.txt'));
      },
    ],
  ];
  test.each(cases)('%s: the yes no longer counts', async (_what, change) => {
    const rig = await patchingModel(READING);
    await writeFile(rig.at('a.txt'), 'one\n');
    const { turnId, question } = await askedPatch(rig, UPDATE);
    await change(rig);
    const before = await rig.read('a.txt');
    question.answer({ decision: 'acceptForSession' });
    await completed(rig.client, turnId);
    expect(await fileItem(rig)).toMatchObject({ status: 'declined' });
    expect(lastOutput(rig.model)).toMatch(/no longer what was shown/);
    expect(await rig.read('a.txt')).toBe(before);
  });

  test('a folder on the way that becomes a link to elsewhere', async () => {
    const rig = await patchingModel({ approvalPolicy: 'untrusted' });
    const elsewhere = await temporaryFolder();
    await mkdir(rig.at('sub'));
    const { turnId, question } = await askedPatch(rig, '*** Add File: sub/a.txt\n+x');
    await rm(rig.at('sub'), { recursive: true });
    await symlink(elsewhere, rig.at('sub'));
    question.answer({ decision: 'accept' });
    await completed(rig.client, turnId);
    expect(await fileItem(rig)).toMatchObject({ status: 'declined' });
    expect(await contentOf(join(elsewhere, 'a.txt'))).toBeUndefined();
  });
});

describe.each(['restart', 'afterKill'] as const)('after a stop of the server (%s)', (stop) => {
  test.each(['accept', 'decline'])('the question stands, and %s counts once', async (decision) => {
    const rig = await patchingModel(READING);
    const { turnId, question } = await askedPatch(rig, ADD);
    const server = (await rig.server[stop]()) ?? rig.server;
    rig.model.script();
    const later = await server.connect();
    const { thread } = await later.request('thread/resume', { threadId: rig.threadId });
    expect(thread.status).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] });
    const again = await later.asked();
    expect(again.params).toEqual(question.params);
    again.answer({ decision });
    again.answer({ decision: 'decline' });
    expect((await completed(later, turnId)).status).toBe('completed');
    expect(await rig.read('a.txt')).toBe(decision === 'accept' ? 'x\n' : undefined);
    const item = (await itemsOf(later, rig.threadId)).find(({ type }) => type === 'fileChange');
    expect(item).toMatchObject({ status: decision === 'accept' ? 'completed' : 'declined' });
    expect(later.questions()).toHaveLength(1);
  });
});

test('the diff of a turn that goes on after a stop tells of the patches before it too', async () => {
  const server = await startApp();
  const client = await server.connect();
  const settings = { cwd: server.workspace, sandbox: 'workspace-write', approvalPolicy: 'on-request' };
  const threadId = await startThread(client, settings);
  const outside = join(await temporaryFolder(), 'c');
  const script = `patch add a one\n\npatch move a b\n\npatch add ${outside} x`;
  const turnId = await startTurn(client, threadId, script);
  await client.asked();
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId });
  (await later.asked()).answer({ decision: 'accept' });
  await completed(later, turnId);
  const [diff] = later.news('turn/diff/updated').map((each) => each.diff.match(/^diff .*$/gm));
  expect(diff.toSorted()).toEqual([`diff --git a/${outside} b/${outside}`, 'diff --git a/b b/b']);
});

describe('a remote client', () => {
  const REMOTE: Principal = {
    tenant: 'local',
    subject: 'someone',
    permissions: new Set(['thread:read', 'thread:write', 'approval:resolve']),
    isLocal: false,
  };

  async function remoteTurn(ceiling: string, script: string, thread: object) {
    const root = await temporaryFolder();
    const remote = { roots: [root], sandbox: ceiling };
    const server = await startApp({ config: { remote } });
    const client = await server.connectAs(REMOTE);
    const local = await server.connect();
    const threadId = await startThread(client, { cwd: root, ...thread });
    await local.request('thread/resume', { threadId });
    const turnId = await startTurn(client, threadId, script);
    return { client, local, threadId, turnId, root };
  }

  test('may not have files changed that the ceiling keeps from it', async () => {
    const turn = await remoteTurn('read-only', 'patch add a.txt x', READING);
    (await turn.client.asked()).answer({ decision: 'accept' });
    await completed(turn.client, turn.turnId);
    expect(await contentOf(join(turn.root, 'a.txt'))).toBeUndefined();
  });

  test('may have files below its roots changed where the ceiling lets threads write', async () => {
    const turn = await remoteTurn('workspace-write', 'patch add a.txt x', READING);
    (await turn.client.asked()).answer({ decision: 'accept' });
    await completed(turn.client, turn.turnId);
    expect(await contentOf(join(turn.root, 'a.txt'))).toBe('x\n');
  });

  test('is not helped by what a local person accepted for the session', async () => {
    const turn = await remoteTurn('read-only', 'patch add a.txt x', READING);
    (await turn.local.asked()).answer({ decision: 'acceptForSession' });
    await completed(turn.client, turn.turnId);
    expect(await contentOf(join(turn.root, 'a.txt'))).toBe('x\n');
    const again = await startTurn(turn.client, turn.threadId, 'patch delete a.txt');
    (await turn.local.asked((each) => each.turnId === again)).answer({ decision: 'decline' });
    await completed(turn.client, again);
    expect(await contentOf(join(turn.root, 'a.txt'))).toBe('x\n');
  });

  test('sees nothing of files outside of its roots', async () => {
    const secret = join(await temporaryFolder(), 'secret.txt');
    await writeFile(secret, 'secret\n');
    const turn = await remoteTurn('read-only', `patch delete ${secret}`, READING);
    await completed(turn.client, turn.turnId);
    expect(turn.client.questions()).toEqual([]);
    expect(turn.client.transcript.some((each) => JSON.stringify(each).includes('secret\\n'))).toBe(false);
    expect(await contentOf(secret)).toBe('secret\n');
  });
});
