// Patches and consent: what is asked about, what each answer does, and what holds when things change before the effect.

import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Principal } from '../../src/auth/principal.ts';
import { lastOutput, type PatchingModel, patchingModel } from '../harness/patches.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { completed, itemCompleted, itemsOf, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const ADD = '*** Add File: a.txt\n+x';
const READING = { sandbox: 'read-only' };
const NARROW = {
  sandboxPolicy: { type: 'workspaceWrite', writableRoots: [], excludeTmpdirEnvVar: true, excludeSlashTmp: true },
};
const contentOf = (path: string) => readFile(path, 'utf8').catch(() => undefined);

/** A turn that waits for the answer about a patch. */
async function asked(rig: PatchingModel, body = ADD, params: object = {}) {
  const turnId = await rig.begin(body, params);
  return { turnId, question: await rig.client.asked((each) => each.turnId === turnId) };
}

const fileItem = (rig: PatchingModel) => itemCompleted(rig.client, ({ type }) => type === 'fileChange');

test('the question shows all there is to know, after the item', async () => {
  const rig = await patchingModel(READING);
  const { question, turnId } = await asked(rig);
  const item = rig.client.news('item/started').find((each) => each.item.type === 'fileChange')!.item;
  expect(question.method).toBe('item/fileChange/requestApproval');
  expect(question.params).toMatchObject({
    ...{ threadId: rig.threadId, turnId, itemId: item.id, reason: null, grantRoot: null },
    availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
    heddle: {
      changes: item.changes,
      targets: [rig.at('a.txt')],
      sandbox: 'sandboxed',
      rule: 'the thread may only read files',
    },
  });
  const { thread } = await rig.client.request('thread/read', { threadId: rig.threadId, includeTurns: true });
  expect(thread.status.activeFlags).toEqual(['waitingOnApproval']);
  expect(thread.turns.at(-1).items.at(-1)).toEqual(item);
  expect(await rig.read('a.txt')).toBeUndefined();
});

describe('the answer', () => {
  test('accept changes the files once, and is asked again the next time', async () => {
    const rig = await patchingModel(READING);
    const { turnId, question } = await asked(rig);
    question.answer({ decision: 'accept' });
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(await rig.read('a.txt')).toBe('x\n');
    expect(await fileItem(rig)).toMatchObject({ status: 'completed' });
    const again = await asked(rig, '*** Delete File: a.txt');
    again.question.answer({ decision: 'decline' });
    await completed(rig.client, again.turnId);
    expect(await rig.read('a.txt')).toBe('x\n');
  });

  test('accept for the session covers the same file later, and no other', async () => {
    const rig = await patchingModel(READING);
    const { turnId, question } = await asked(rig);
    question.answer({ decision: 'acceptForSession' });
    await completed(rig.client, turnId);
    await rig.patch('*** Update File: a.txt\n@@\n-x\n+y');
    expect(await rig.read('a.txt')).toBe('y\n');
    expect(rig.client.questions()).toHaveLength(1);
    const other = await asked(rig, '*** Update File: a.txt\n@@\n-y\n+z\n*** Add File: b.txt\n+b');
    other.question.answer({ decision: 'decline' });
    await completed(rig.client, other.turnId);
    expect([await rig.read('a.txt'), await rig.read('b.txt')]).toEqual(['y\n', undefined]);
  });

  test('decline lets the turn go on, and the model is told', async () => {
    const rig = await patchingModel(READING);
    const { turnId, question } = await asked(rig);
    question.answer({ decision: 'decline' });
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(await fileItem(rig)).toMatchObject({ status: 'declined' });
    expect(lastOutput(rig.model)).toBe('apply_patch was refused: rejected by user');
    expect(await rig.read('a.txt')).toBeUndefined();
    expect(rig.client.news('turn/diff/updated')).toEqual([]);
  });

  test('cancel ends the turn', async () => {
    const rig = await patchingModel(READING);
    const { turnId, question } = await asked(rig);
    question.answer({ decision: 'cancel' });
    expect((await completed(rig.client, turnId)).status).toBe('interrupted');
    expect(await fileItem(rig)).toMatchObject({ status: 'declined' });
    expect(await rig.read('a.txt')).toBeUndefined();
  });

  test.each([{}, null, { decision: 'approved' }, { decision: 'acceptForTurn' }, 'accept'])(
    '%j is a refusal',
    async (answer) => {
      const rig = await patchingModel(READING);
      const { turnId, question } = await asked(rig);
      question.answer(answer);
      expect((await completed(rig.client, turnId)).status).toBe('completed');
      expect(await fileItem(rig)).toMatchObject({ status: 'declined' });
      expect(await rig.read('a.txt')).toBeUndefined();
    },
  );
});

describe('outside of what may be written', () => {
  test('is asked about, and written when accepted', async () => {
    const rig = await patchingModel();
    const outside = join(await temporaryFolder(), 'new/outside.txt');
    const { turnId, question } = await asked(rig, `*** Add File: ${outside}\n+x`, NARROW);
    expect(question.params.heddle).toMatchObject({ targets: [outside], sandbox: 'bare' });
    question.answer({ decision: 'accept' });
    await completed(rig.client, turnId);
    expect(await contentOf(outside)).toBe('x\n');
    expect(rig.client.news('turn/diff/updated')[0]!.diff).toContain(`diff --git a/${outside} b/${outside}\n`);
  });

  test.each(['../escape.txt', 'link/escape.txt', 'link/new/escape.txt', 'sub/../../escape.txt', 'file-link'])(
    '%s is outside',
    async (name) => {
      const { rig, base } = await withLinks();
      const { turnId, question } = await asked(rig, `*** Add File: ${name}\n+x`);
      const { sandbox, targets } = question.params.heddle;
      expect(sandbox).toBe('bare');
      expect(targets[0].startsWith(join(base, 'work'))).toBe(false);
      question.answer({ decision: 'decline' });
      await completed(rig.client, turnId);
      expect(await contentOf(targets[0])).toBeUndefined();
    },
  );

  test('what a path with dots means is settled by its text, before links are looked at', async () => {
    const { rig, base } = await withLinks();
    await rig.patch('*** Add File: link/../inside.txt\n+x');
    expect(await contentOf(join(base, 'work/inside.txt'))).toBe('x\n');
    expect(rig.client.questions()).toEqual([]);
  });

  async function withLinks() {
    const base = await temporaryFolder();
    for (const folder of ['work', 'elsewhere/deep']) await mkdir(join(base, folder), { recursive: true });
    const rig = await patchingModel({ cwd: join(base, 'work') });
    await symlink('../elsewhere/deep', join(base, 'work/link'));
    await symlink('../elsewhere/target.txt', join(base, 'work/file-link'));
    return { rig, base };
  }

  test.each(['.git/hooks/pre-commit', '.git/config', '.codex/config.toml', '.heddle/x'])(
    '%s is protected in the workspace',
    async (name) => {
      const rig = await patchingModel();
      const { turnId, question } = await asked(rig, `*** Add File: ${name}\n+x`);
      expect(question.params.heddle.sandbox).toBe('bare');
      question.answer({ decision: 'decline' });
      await completed(rig.client, turnId);
      expect(await rig.read(name)).toBeUndefined();
    },
  );

  test('the data directory is out of reach, and its content is not shown', async () => {
    const rig = await patchingModel();
    const { output } = await rig.patch(`*** Delete File: ${join(rig.server.dataDirectory, 'config.yaml')}`);
    expect(output).toMatch(/refused: the file is out of reach/);
    expect((await rig.client.notified('warning')).refused).toBe(true);
    expect(rig.client.questions()).toEqual([]);
    expect(await contentOf(join(rig.server.dataDirectory, 'config.yaml'))).toBeDefined();
  });
});

describe('policies', () => {
  test('never: what would be asked about is refused, and the rest is done', async () => {
    const rig = await patchingModel({ approvalPolicy: 'never' });
    const outside = join(await temporaryFolder(), 'outside.txt');
    const { output } = await rig.patch(`*** Add File: ${outside}\n+x\n${ADD}`);
    expect(output).toMatch(/refused: .*outside.*never to ask/);
    expect(await rig.read('a.txt')).toBeUndefined();
    expect(rig.client.news('item/started').some(({ item }) => item.type === 'fileChange')).toBe(false);
    await rig.patch(ADD);
    expect(await rig.read('a.txt')).toBe('x\n');
    expect(rig.client.questions()).toEqual([]);
  });

  test('never and read-only: nothing is changed', async () => {
    const rig = await patchingModel({ ...READING, approvalPolicy: 'never' });
    expect((await rig.patch(ADD)).output).toMatch(/may only read files, and the approval policy is never to ask/);
    expect(await rig.read('a.txt')).toBeUndefined();
  });

  test('untrusted: also the workspace is asked about', async () => {
    const rig = await patchingModel({ approvalPolicy: 'untrusted' });
    const { turnId, question } = await asked(rig);
    question.answer({ decision: 'accept' });
    await completed(rig.client, turnId);
    expect(await rig.read('a.txt')).toBe('x\n');
  });

  test('full access: everything is done', async () => {
    const rig = await patchingModel({ sandbox: 'danger-full-access' });
    const outside = join(await temporaryFolder(), 'outside.txt');
    await rig.patch(`*** Add File: ${outside}\n+x`);
    expect(await contentOf(outside)).toBe('x\n');
  });

  test('nobody there to ask, and told to decline then: nothing is changed', async () => {
    const server = await startApp({ config: { unattended: 'decline' } });
    const client = await server.connect();
    const threadId = await startThread(client, { cwd: server.workspace, ...READING });
    await client.request('thread/unsubscribe', { threadId });
    await startTurn(client, threadId, 'patch add a.txt x');
    await client.notified('thread/status/changed', ({ status }) => status.type === 'idle');
    expect((await itemsOf(client, threadId))[1]).toMatchObject({ type: 'fileChange', status: 'declined' });
  });
});

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
    const { turnId, question } = await asked(rig, UPDATE);
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
    const { turnId, question } = await asked(rig, '*** Add File: sub/a.txt\n+x');
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
    const { turnId, question } = await asked(rig);
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
