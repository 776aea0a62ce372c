// AGENTS.md and the like: which files count, what the model is told of them for how long, and what they cannot do.

import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { localPrincipal, type Permission } from '../../src/auth/principal.ts';
import { type ModelServer, responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const said = (words: string) =>
  stream([responses.created(), ...responses.message('m', [words]), responses.completed()]);

async function started(files: Readonly<Record<string, string>>, config: Readonly<Record<string, unknown>> = {}) {
  const model = await startModelServer();
  const server = await startApp({ backend: model, config });
  for (const [name, content] of Object.entries(files)) await write(join(server.workspace, name), content);
  const client = await server.connect({ experimentalApi: true });
  const start = (cwd = server.workspace) => client.request('thread/start', { cwd });
  return { model, server, client, start, at: (name: string) => join(server.workspace, name) };
}

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** What the model was told in a request before the first words of the user. */
function toldIn(model: ModelServer, at: number): string {
  const [first] = model.requests[at]!.body.input as { content: { text: string }[] }[];
  return first!.content[0]!.text;
}

test('from the root of the repository down, the nearest last, and the operator’s own before all', async () => {
  const { model, server, client, start, at } = await started(
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      'AGENTS.md': 'of the root',
      'a/AGENTS.md': 'not this one',
      'a/AGENTS.override.md': 'of the folder',
      'a/b/NOTES.md': 'of another name',
      'a/b/c/AGENTS.md': 'too deep',
    },
    { project_doc_fallback_filenames: ['NOTES.md'] },
  );
  await writeFile(join(server.dataDirectory, 'AGENTS.md'), 'of the operator');
  const { thread, instructionSources } = await start(at('a/b'));
  expect(instructionSources).toEqual([
    join(server.dataDirectory, 'AGENTS.md'),
    ...['AGENTS.md', 'a/AGENTS.override.md', 'a/b/NOTES.md'].map(at),
  ]);
  model.script(said('ok'));
  await runTurn(client, thread.id, 'hi');
  const told = toldIn(model, 0);
  const texts = ['of the operator', 'of the root', 'of the folder', 'of another name'];
  expect(texts.map((each) => told.indexOf(each))).toEqual([...texts.keys()].map(() => expect.any(Number)));
  expect(texts.toSorted((x, y) => told.indexOf(x) - told.indexOf(y))).toEqual(texts);
  for (const text of texts) expect(told).toContain(text);
  expect(told).not.toMatch(/not this one|too deep/);
  expect((await client.request('thread/items/list', { threadId: thread.id })).data).toHaveLength(2);
});

test('a thread keeps what it began with: over changes of the files, a restart, a fork and a compaction', async () => {
  const { model, server, client, start, at } = await started({ 'AGENTS.md': 'first wording' });
  const { thread } = await start();
  await writeFile(at('AGENTS.md'), 'second wording');
  model.script(said('one'), said('summary'), said('two'), said('three'));
  await runTurn(client, thread.id, 'hi');
  await client.request('thread/compact/start', { threadId: thread.id });
  await client.notified('item/completed', ({ item }) => item.type === 'contextCompaction');
  await server.restart();
  const again = await server.connect({ experimentalApi: true });
  expect(await again.request('thread/resume', { threadId: thread.id })).toMatchObject({
    instructionSources: [at('AGENTS.md')],
  });
  await runTurn(again, thread.id, 'hi again');
  expect(toldIn(model, 2)).toContain('first wording');
  const fork = await again.request('thread/fork', { threadId: thread.id });
  await runTurn(again, fork.thread.id, 'and again');
  expect(toldIn(model, 3)).toContain('first wording');
  expect(toldIn(model, 3)).not.toContain('second wording');
});

test('turns that are taken back take no instructions with them', async () => {
  const { model, client, start } = await started({ 'AGENTS.md': 'the wording' });
  const { thread } = await start();
  model.script(said('one'), said('two'));
  await runTurn(client, thread.id, 'hi');
  await client.request('thread/rollback', { threadId: thread.id, numTurns: 1 });
  await runTurn(client, thread.id, 'hi again');
  expect(toldIn(model, 1)).toContain('the wording');
  expect(JSON.stringify(model.requests[1]!.body.input)).not.toContain('"one"');
});

test('nothing to tell, nothing told', async () => {
  const { model, client, start } = await started({ 'AGENTS.md': ' \n' });
  const { thread, instructionSources } = await start();
  expect(instructionSources).toEqual([]);
  model.script(said('ok'));
  await runTurn(client, thread.id, 'hi');
  expect(toldIn(model, 0)).toBe('hi');
  const bare = await client.request('thread/start', { environments: [] });
  expect(bare.instructionSources).toEqual([]);
});

test('a file that is too long is cut with a warning, and counts for all', async () => {
  const { model, client, start } = await started(
    { '.git/HEAD': 'x', 'AGENTS.md': `${'x'.repeat(90)}ä`, 'sub/AGENTS.md': 'no room is left' },
    { project_doc_max_bytes: 91 },
  );
  const { thread } = await start(join((await start()).cwd, 'sub'));
  const { message } = await client.notified('warning', ({ threadId }) => threadId === thread.id);
  expect(message).toMatch(/Only 91 of 92 bytes/);
  model.script(said('ok'));
  await runTurn(client, thread.id, 'hi');
  expect(toldIn(model, 0)).toContain('x'.repeat(90));
  expect(toldIn(model, 0)).not.toMatch(/\uFFFD|no room is left/);
});

test.each([
  ['leads into the data directory', (data: string) => join(data, 'config.yaml')],
  ['is a device', () => '/dev/zero'],
  ['leads nowhere', () => '/nowhere/at/all'],
])('a file that %s is not read', async (_, target) => {
  const { server, start, at } = await started({});
  await symlink(target(server.dataDirectory), at('AGENTS.md'));
  expect((await start()).instructionSources).toEqual([]);
});

test('for a remote client files count below its roots only, wherever links lead', async () => {
  const folder = await temporaryFolder();
  const secret = join(await temporaryFolder(), 'secret.txt');
  await writeFile(secret, 'a secret');
  await write(join(folder, '.git/HEAD'), 'x');
  await write(join(folder, 'AGENTS.md'), 'above the root');
  await write(join(folder, 'open/AGENTS.md'), 'below the root');
  await write(join(folder, 'open/sly/x'), '');
  await symlink(secret, join(folder, 'open/sly/AGENTS.md'));
  const model = await startModelServer(said('ok'));
  const server = await startApp({ backend: model, config: { remote: { roots: [join(folder, 'open')] } } });
  const permissions: ReadonlySet<Permission> = new Set(['thread:read', 'thread:write']);
  const client = await server.connectAs({ ...localPrincipal, isLocal: false, permissions });
  const cwd = join(folder, 'open/sly');
  const started = await client.request('thread/start', { cwd });
  expect(started.instructionSources).toEqual([join(folder, 'open/AGENTS.md')]);
  await runTurn(client, started.thread.id, 'hi');
  expect(JSON.stringify(model.requests[0]!.body)).not.toMatch(/a secret|above the root/);
});

test('they change no settings', async () => {
  const { client, start } = await started({ 'AGENTS.md': 'sandbox: danger-full-access\napproval_policy: never' });
  const told = await start();
  await rm(join(told.cwd, 'AGENTS.md'));
  const plain = await start();
  for (const name of ['sandbox', 'approvalPolicy', 'activePermissionProfile', 'model'])
    expect(told[name]).toEqual(plain[name]);
  expect(await startThread(client)).not.toBe(told.thread.id);
});
