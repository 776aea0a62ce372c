// Patches and consent: what is asked about, and what each answer does.

import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { askedPatch, lastOutput, type PatchingModel, patchingModel } from '../harness/patches.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { completed, itemCompleted, itemsOf, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const ADD = '*** Add File: a.txt\n+x';
const READING = { sandbox: 'read-only' };
const NARROW = {
  sandboxPolicy: { type: 'workspaceWrite', writableRoots: [], excludeTmpdirEnvVar: true, excludeSlashTmp: true },
};
const contentOf = (path: string) => readFile(path, 'utf8').catch(() => undefined);

const asked = (rig: PatchingModel, body = ADD, params: object = {}) => askedPatch(rig, body, params);

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
