// Skills: listed with what is wrong with them, switched off and on, shown to the model when they are named, and never more than words.

import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { localPrincipal, type Permission, type Principal } from '../../src/auth/principal.ts';
import { type ModelServer, responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const said = (words: string) =>
  stream([responses.created(), ...responses.message('m', [words]), responses.completed()]);

async function write(path: string, content: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

const skill = (root: string, name: string, words = `Words of ${name}.`): Promise<string> =>
  write(join(root, name, 'SKILL.md'), `---\nname: ${name}\ndescription: About ${name}\n---\n${words}\n`);

const ofUser = (server: RunningApp) => join(server.dataDirectory, 'skills');
const ofProject = (folder: string) => join(folder, '.agents', 'skills');

/** Without those of the machine that the test runs on. */
async function listed(client: TestClient, server: RunningApp, cwd = server.workspace): Promise<Received> {
  const { data } = await client.request('skills/list', { cwds: [cwd] });
  const isOurs = ({ path }: { path: string }) => path.includes('heddle-test-');
  return { skills: data[0].skills.filter(isOurs), errors: data[0].errors.filter(isOurs) };
}

const namesOf = ({ skills }: Received): string[] => skills.map(({ name }: Received) => name);

const remote: Principal = {
  ...localPrincipal,
  isLocal: false,
  permissions: new Set<Permission>(['thread:read', 'thread:write', 'config']),
};

const sentIn = (model: ModelServer, at: number): string => JSON.stringify(model.requests[at]!.body.input);

test('those of the project, the user and the administrator, and what is wrong with the broken ones', async () => {
  const place = await temporaryFolder();
  const server = await startApp({
    requirements: { file: join(place, 'requirements.toml'), owner: process.getuid?.() ?? 0 },
  });
  const { workspace } = server;
  await mkdir(join(workspace, '.git'));
  await skill(ofProject(workspace), 'top');
  await skill(ofProject(join(workspace, 'a')), 'near');
  const demo = await skill(ofUser(server), 'demo');
  const broken = await write(join(ofUser(server), 'bad', 'SKILL.md'), 'no front matter');
  await skill(join(place, 'skills'), 'house');
  const client = await server.connect();
  const found = await listed(client, server, join(workspace, 'a'));
  expect(found.skills).toMatchObject([
    { name: 'near', scope: 'repo' },
    { name: 'top', scope: 'repo' },
    { name: 'demo', description: 'About demo', path: demo, scope: 'user', enabled: true, pluginId: null },
    { name: 'house', scope: 'admin' },
  ]);
  expect(found.errors).toEqual([{ path: broken, message: 'missing YAML frontmatter delimited by ---' }]);
});

test('a skill is switched off and on, by path and by name, and the rest of the settings stays', async () => {
  const server = await startApp();
  const demo = await skill(ofUser(server), 'demo');
  const file = join(server.dataDirectory, 'config.yaml');
  await writeFile(file, '# mine\nbackend: mock\nmodel: x # kept\n');
  const client = await server.connect();
  const set = (params: object) => client.request('skills/config/write', params);
  const isOn = async () => (await listed(client, server)).skills[0].enabled;
  expect(await set({ path: demo, enabled: false })).toEqual({ effectiveEnabled: false });
  expect(await isOn()).toBe(false);
  expect(await readFile(file, 'utf8')).toContain('# mine\nbackend: mock\nmodel: x # kept\n');
  expect(await set({ name: 'demo', enabled: true })).toEqual({ effectiveEnabled: true });
  expect(await isOn()).toBe(true);
  expect(await set({ path: demo, enabled: false })).toEqual({ effectiveEnabled: false });
  await server.restart();
  const again = await server.connect();
  expect((await listed(again, server)).skills).toMatchObject([{ name: 'demo', enabled: false }]);
  for (const params of [{ enabled: true }, { name: 'demo', path: demo, enabled: true }, { path: 'x', enabled: true }])
    expect(await again.refusal('skills/config/write', params)).toMatchObject({ code: -32602 });
});

test('the model is shown what is named, as it was then, also after a restart; the thread shows what was typed', async () => {
  const model = await startModelServer();
  const server = await startApp({ backend: model });
  const demo = await skill(ofUser(server), 'demo');
  await skill(ofProject(server.workspace), 'other');
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  model.script(said('one'), said('two'));
  const input = [...text('use $other'), { type: 'skill', name: 'demo', path: demo }];
  const { turn } = await client.request('turn/start', { threadId, input });
  await completed(client, turn.id);
  expect(sentIn(model, 0)).toMatch(/Words of demo.*Words of other/);
  const { data } = await client.request('thread/items/list', { threadId });
  const shown = data.map((entry: Received) => entry.item).find((item: Received) => item.type === 'userMessage');
  expect(shown.content).toMatchObject(input);
  await skill(ofUser(server), 'demo', 'Changed since.');
  await server.restart();
  const again = await server.connect({ experimentalApi: true });
  await again.request('thread/resume', { threadId });
  await runTurn(again, threadId, 'and now');
  expect(sentIn(model, 1)).toContain('Words of demo');
  expect(sentIn(model, 1)).not.toContain('Changed since');
});

test('a part of the input opens no file that is no skill, and none that is switched off', async () => {
  const model = await startModelServer();
  const server = await startApp({ backend: model, config: { skills: { config: [{ name: 'off', enabled: false }] } } });
  const secret = await write(join(server.workspace, 'SKILL.md'), '---\nname: s\ndescription: d\n---\na secret');
  const off = await skill(ofUser(server), 'off');
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  model.script(said('one'));
  const input = [secret, off].map((path) => ({ type: 'skill', name: 'demo', path }));
  const { turn } = await client.request('turn/start', { threadId, input: [...text('$off'), ...input] });
  await completed(client, turn.id);
  expect(sentIn(model, 0)).toMatch(/there is none at .*it is switched off/);
  expect(sentIn(model, 0)).not.toMatch(/a secret|Words of off/);
});

test('remote people have the skills below their roots, and no others', async () => {
  const model = await startModelServer();
  const folder = await temporaryFolder();
  const open = join(folder, 'open');
  const server = await startApp({ backend: model, config: { remote: { roots: [open] } } });
  await mkdir(join(folder, '.git'));
  await skill(ofUser(server), 'mine');
  await skill(ofProject(folder), 'above');
  await skill(ofProject(open), 'below');
  await write(join(ofProject(folder), 'bad', 'SKILL.md'), 'broken');
  await symlink(join(ofProject(folder), 'above'), join(ofProject(open), 'sly'));
  const client = await server.connectAs(remote);
  expect(await listed(client, server, open)).toMatchObject({ skills: [{ name: 'below' }], errors: [] });
  expect(await listed(client, server, folder)).toEqual({ skills: [], errors: [] });
  const refused = await client.refusal('skills/extraRoots/set', { extraRoots: [open] });
  expect(refused).toMatchObject({ data: { kind: 'forbidden' } });
  const threadId = await startThread(client, { cwd: open });
  model.script(said('one'));
  await runTurn(client, threadId, '$mine $above $below');
  expect(sentIn(model, 0)).toContain('Words of below');
  expect(sentIn(model, 0)).not.toMatch(/Words of (mine|above)/);
});

test('further roots count for all until others are set, and clients are told', async () => {
  const server = await startApp();
  const extra = await temporaryFolder();
  await skill(extra, 'elsewhere');
  const [client, other] = [await server.connect(), await server.connect()];
  await client.request('skills/extraRoots/set', { extraRoots: [extra] });
  await other.notified('skills/changed');
  expect(namesOf(await listed(other, server))).toEqual(['elsewhere']);
  await client.request('skills/extraRoots/set', { extraRoots: [] });
  expect(namesOf(await listed(other, server))).toEqual([]);
  expect(await client.refusal('skills/extraRoots/set', { extraRoots: ['x'] })).toMatchObject({ code: -32602 });
});

test('remote people have no skill that the default profile denies to every thread, by its name or that of a link', async () => {
  const open = await temporaryFolder();
  const filesystem = { ':root': 'read', ':workspace_roots': { 'secret*': 'deny' } };
  const server = await startApp({
    config: { remote: { roots: [open] }, default_permissions: 'mine', permissions: { mine: { filesystem } } },
  });
  const project = join(open, 'project');
  await mkdir(join(project, '.git'), { recursive: true });
  for (const name of ['shown', 'secret']) await skill(ofProject(project), name);
  await skill(open, 'aside');
  await symlink(join(open, 'aside'), join(ofProject(project), 'secrets'));
  expect(namesOf(await listed(await server.connectAs(remote), server, project))).toEqual(['shown']);
  expect(namesOf(await listed(await server.connect(), server, project)).sort()).toEqual(['aside', 'secret', 'shown']);
});

test('clients are told when files of skills come and change; remote ones only of what they may see', async () => {
  const server = await startApp();
  const client = await server.connect();
  const stranger = await server.connectAs(remote);
  await listed(client, server);
  await skill(ofProject(server.workspace), 'first');
  await client.notified('skills/changed');
  expect(namesOf(await listed(client, server))).toEqual(['first']);
  const before = client.news('skills/changed').length;
  await skill(ofUser(server), 'second');
  await client.notified('skills/changed', () => client.news('skills/changed').length > before);
  expect(namesOf(await listed(client, server))).toEqual(['first', 'second']);
  await stranger.settled();
  expect(stranger.news('skills/changed')).toEqual([]);
});

test('a skill that running work is steered with is shown, and is there after a kill', async () => {
  const model = await startModelServer();
  const server = await startApp({ backend: model });
  await skill(ofUser(server), 'demo');
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, sandbox: 'read-only' });
  const ask = responses.call('call_1', 'request_user_input', {
    questions: [{ id: 'q', header: 'H', question: 'Which?', options: [{ label: 'a', description: 'b' }] }],
  });
  model.script(stream([responses.created(), ask, responses.completed()]), said('two'), said('three'));
  const collaborationMode = { mode: 'plan', settings: { model: 'scripted-model' } };
  const { turn } = await client.request('turn/start', { threadId, input: text('hi'), collaborationMode });
  const question = await client.asked();
  await client.request('turn/steer', { threadId, expectedTurnId: turn.id, input: text('use $demo') });
  question.answer({ answers: { q: { answers: ['a'] } } });
  await completed(client, turn.id);
  expect(sentIn(model, 1)).toContain('Words of demo');
  const after = await server.afterKill();
  const again = await after.connect({ experimentalApi: true });
  await again.request('thread/resume', { threadId });
  await runTurn(again, threadId, 'and now');
  expect(sentIn(model, 2)).toContain('Words of demo');
});
