// Patches of a model, from the call to the disk: what is shown, what is done, and what is left when something does not fit.

import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { responses, stream } from '../harness/model-server.ts';
import { patchingModel } from '../harness/patches.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const WRITING = { sandbox: 'workspace-write', approvalPolicy: 'on-request' };

async function started() {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace, ...WRITING });
  const at = (name: string) => join(server.workspace, name);
  const read = (name: string) => readFile(at(name), 'utf8').catch(() => undefined);
  return { server, client, threadId, at, read };
}

test('files are added, changed, moved and removed without a question, and shown as the reference shows them', async () => {
  const { client, threadId, at, read } = await started();
  await writeFile(at('a.txt'), 'one\ntwo\n');
  await writeFile(at('del.txt'), 'bye\n');
  await runTurn(
    client,
    threadId,
    'patch replace a.txt one => ONE ; move a.txt b.txt ; add sub/c.txt c ; delete del.txt',
  );
  expect(await Promise.all(['a.txt', 'b.txt', 'sub/c.txt', 'del.txt'].map(read))).toEqual([
    undefined,
    'ONE\ntwo\n',
    'c\n',
    undefined,
  ]);
  const changes = [
    {
      path: at('a.txt'),
      kind: { type: 'update', move_path: at('b.txt') },
      diff: `@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n\n\nMoved to: ${at('b.txt')}`,
    },
    { path: at('del.txt'), kind: { type: 'delete' }, diff: 'bye\n' },
    { path: at('sub/c.txt'), kind: { type: 'add' }, diff: 'c\n' },
  ];
  const isFiles = ({ item }: Received) => item.type === 'fileChange';
  const [begun] = client.news('item/started').filter(isFiles);
  const [ended] = client.news('item/completed').filter(isFiles);
  expect(begun!.item).toMatchObject({ status: 'inProgress', changes, completedAtMs: null });
  expect(ended!.item).toMatchObject({ id: begun!.item.id, status: 'completed', changes });
  expect((await itemsOf(client, threadId)).find(({ type }) => type === 'fileChange')).toEqual(ended!.item);
  expect(client.questions()).toEqual([]);
});

test('the diff of the turn grows with each patch, and is told once more before the turn ends', async () => {
  const { client, threadId } = await started();
  await runTurn(client, threadId, 'patch add a.txt one\n\npatch replace a.txt one => two');
  const diffs = client.news('turn/diff/updated').map(({ diff }) => diff);
  expect(diffs).toHaveLength(3);
  expect(diffs[0]).toMatch(/^diff --git a\/a.txt b\/a.txt\nnew file mode 100644\nindex 0{40}\.\.[\da-f]{40}\n/);
  expect(diffs[1]).toContain('+two\n');
  expect(diffs[1]).not.toContain('one');
  expect(diffs[2]).toBe(diffs[1]);
  const methods = client.notifications().map(({ method }) => method);
  expect(methods.lastIndexOf('turn/diff/updated')).toBeLessThan(methods.lastIndexOf('turn/completed'));
  expect(methods.lastIndexOf('turn/diff/updated')).toBeGreaterThan(methods.lastIndexOf('item/completed'));
  await runTurn(client, threadId, 'say nothing was changed');
  expect(client.news('turn/diff/updated')).toHaveLength(3);
});

test('modes, line ends and the end of a file stay as they were', async () => {
  const { client, threadId, at, read } = await started();
  await writeFile(at('run.sh'), '#!/bin/sh\r\necho one', { mode: 0o755 });
  await chmod(at('run.sh'), 0o755);
  await runTurn(client, threadId, 'patch replace run.sh echo one => echo two\\necho three ; move run.sh bin/go.sh');
  expect(await read('bin/go.sh')).toBe('#!/bin/sh\r\necho two\r\necho three');
  expect((await stat(at('bin/go.sh'))).mode & 0o777).toBe(0o755);
});

test('a link is followed when a file is changed, and stays a link', async () => {
  const { client, threadId, at, read } = await started();
  await writeFile(at('real.txt'), 'one\n');
  await symlink('real.txt', at('link.txt'));
  await runTurn(client, threadId, 'patch replace link.txt one => two');
  expect(await read('real.txt')).toBe('two\n');
  expect((await stat(at('link.txt'))).isFile()).toBe(true);
  await runTurn(client, threadId, 'patch delete link.txt');
  expect((await lstat(at('link.txt'))).isSymbolicLink()).toBe(true);
});

describe('what does not fit changes nothing, makes no item, and is told to the model', () => {
  const add = '*** Add File: new.txt\n+x\n';
  test.each<[string, string, RegExp]>([
    ['no patch', '', /the patch changes no file/],
    ['a line that nobody understands', `${add}hello`, /line 4 of the patch: expected/],
    [
      'a line that is not there',
      `${add}*** Update File: a.txt\n@@\n-nothere\n+x`,
      /a\.txt does not hold these lines:\nnothere/,
    ],
    ['a file that is not there', `${add}*** Update File: missing.txt\n@@\n-a\n+b`, /there is no file .*missing\.txt/],
    ['a file that is there already', `${add}*** Add File: a.txt\n+x`, /a\.txt exists already/],
    [
      'a place that is taken',
      `${add}*** Update File: a.txt\n*** Move to: taken.txt`,
      /cannot be moved: .*taken\.txt exists already/,
    ],
    ['a link', `${add}*** Delete File: link`, /link is a link/],
    ['a folder', `${add}*** Delete File: folder`, /folder is not a file/],
    ['a file as a folder', `${add}*** Add File: a.txt/b\n+x`, /Not a directory/],
    ['what is no text', `${add}*** Delete File: binary`, /no text in UTF-8/],
    ['nothing at all', '*** Update File: a.txt\n@@\n-one\n+one', /leaves all files as they are/],
    ['a name that is too long', `${add}*** Add File: ${'n'.repeat(300)}\n+x`, /File name too long/],
    ['what the kernel shows as a file', `${add}*** Delete File: /proc/self/environ`, /out of reach/],
  ])('%s', async (_what, body, problem) => {
    const { client, patch, at, read } = await patchingModel();
    await writeFile(at('a.txt'), 'one\n');
    await writeFile(at('taken.txt'), 'taken\n');
    await writeFile(at('binary'), Buffer.from([0xff, 0xfe, 0x00]));
    await symlink('a.txt', at('link'));
    await mkdir(at('folder'));
    const { output, turn } = await patch(body);
    expect(output).toMatch(problem);
    expect(turn.status).toBe('completed');
    expect(await read('new.txt')).toBeUndefined();
    expect(await read('a.txt')).toBe('one\n');
    expect(client.news('item/started').some(({ item }) => item.type === 'fileChange')).toBe(false);
    expect(client.news('turn/diff/updated')).toEqual([]);
  });
});

test.each([
  [false, 'function', 'function_call'],
  [true, 'custom', 'custom_tool_call'],
])(
  'the model is told what was done, and what it wrote goes back to it as it came (plain text: %j)',
  async (custom, tool, call) => {
    const { patch, read, model } = await patchingModel({}, { custom });
    const { output } = await patch('*** Add File: sub/a.txt\n+one');
    expect(output).toMatch(/^Exit code: 0\nWall time: [\d.]+ seconds\nOutput:\n.*\nA sub\/a\.txt\n$/);
    expect(await read('sub/a.txt')).toBe('one\n');
    const tools = model.requests[0]!.body.tools as readonly { name: string; type: string }[];
    expect(tools.find(({ name }) => name === 'apply_patch')).toMatchObject({ type: tool });
    const input = model.requests[1]!.body.input as readonly { type: string }[];
    expect(input.slice(-2).map(({ type }) => type)).toEqual([call, `${call}_output`]);
  },
);

test('a shell line that only hands over a patch changes files as one, in the folder that it names', async () => {
  const { client, threadId, model, server, read } = await patchingModel();
  await mkdir(join(server.workspace, 'sub'));
  const cmd = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\nEOF";
  const call = responses.call('call_1', 'exec_command', { cmd, workdir: 'sub' });
  model.script(stream([call, responses.completed()]), stream(responses.say('done')));
  await runTurn(client, threadId, 'go on');
  expect(await read('sub/a.txt')).toBe('x\n');
  expect((await itemsOf(client, threadId)).map(({ type }) => type)).toEqual([
    'userMessage',
    'fileChange',
    'agentMessage',
  ]);
});

test('patches side by side are made one after the other', async () => {
  const { client, threadId, at, read } = await started();
  await writeFile(at('a.txt'), 'one\ntwo\nthree\n');
  await runTurn(
    client,
    threadId,
    'patch replace a.txt one => 1\npatch replace a.txt two => 2\npatch replace a.txt three => 3',
  );
  expect(await read('a.txt')).toBe('1\n2\n3\n');
});

test('a long change comes whole out of the history, also after a restart', async () => {
  const { server, client, threadId, at } = await started();
  const long = Array.from({ length: 20_000 }, (_, index) => `line ${index}`).join('\n');
  await writeFile(at('long.txt'), `${long}\n`);
  await runTurn(client, threadId, 'patch delete long.txt');
  await server.restart();
  const later = await server.connect();
  const item = (await itemsOf(later, threadId)).find(({ type }) => type === 'fileChange');
  expect(item).toMatchObject({ status: 'completed', changes: [{ diff: `${long}\n` }] });
  const fork = (await later.request('thread/fork', { threadId })).thread.id;
  expect((await itemsOf(later, fork)).find(({ type }) => type === 'fileChange')!.changes[0].diff).toBe(`${long}\n`);
});

test('without an environment nothing is changed', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, environments: [] });
  await runTurn(client, threadId, 'patch add a.txt x');
  expect(await stat(join(server.workspace, 'a.txt')).catch(() => 'none')).toBe('none');
});

async function begun(server: RunningApp, client: TestClient, script: string, params: object) {
  const threadId = await startThread(client, { cwd: server.workspace, ...params });
  const turnId = await startTurn(client, threadId, script);
  return { threadId, turnId };
}

test('an interrupt while a question stands leaves the files alone', async () => {
  const server = await startApp();
  const client = await server.connect();
  const { threadId, turnId } = await begun(server, client, 'patch add a.txt x', { sandbox: 'read-only' });
  const question = await client.asked();
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
  question.answer({ decision: 'accept' });
  expect((await completed(client, turnId)).status).toBe('interrupted');
  expect((await itemsOf(client, threadId)).at(-1)).toMatchObject({ type: 'fileChange', status: 'declined' });
  expect(await stat(join(server.workspace, 'a.txt')).catch(() => 'none')).toBe('none');
});

test('an interrupt in the midst finds all of a patch or nothing, and the item says which', async () => {
  const server = await startApp();
  const client = await server.connect();
  const names = Array.from({ length: 20 }, (_, index) => `f${index}`);
  for (let delay = 0; delay < 12; delay++) {
    const cwd = await temporaryFolder();
    const threadId = await startThread(client, { cwd, ...WRITING });
    const script = `patch ${names.map((name) => `add ${name} x`).join(' ; ')}`;
    const turnId = await startTurn(client, threadId, script);
    for (let turns = 0; turns < delay * 25; turns++) await new Promise(setImmediate);
    await client.request('turn/interrupt', { threadId, turnId }).catch(() => {});
    await completed(client, turnId);
    const there = await Promise.all(names.map((name) => stat(join(cwd, name)).catch(() => undefined)));
    const count = there.filter((each) => each !== undefined).length;
    expect([0, names.length]).toContain(count);
    const item = (await itemsOf(client, threadId)).find(({ type }) => type === 'fileChange');
    if (count > 0) expect(item?.status).toBe('completed');
    else expect([undefined, 'failed', 'declined']).toContain(item?.status);
  }
});
