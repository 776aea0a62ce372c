// heddle doctor: says what works and what does not, by doing it, and never shows a key.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatKey } from '../../src/history/keys.ts';
import { LmdbRows } from '../../src/history/lmdb-rows.ts';
import { recordsDirectory, recordsFile } from '../../src/history/places.ts';
import { type ModelServer, responses, startModelServer, status, stream } from '../harness/model-server.ts';
import { INITIALIZE, Program, run, scratch, serve } from './executable.ts';

const KEY = 'sk-0123456789abcdef';

interface Finding {
  readonly state: string;
  readonly about: string;
  readonly text: string;
  readonly advice?: string;
}

function folderOf(config: object): string {
  const data = join(scratch(), 'data');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, 'config.yaml'), JSON.stringify(config));
  return data;
}

async function doctor(data: string, ...args: string[]) {
  const { code, stdout, stderr } = await run(['doctor', '--json', '--data-dir', data, ...args], {
    environment: { SOME_KEY: KEY },
  });
  expect(stderr).toBe('');
  expect(stdout).not.toContain(KEY);
  const findings = JSON.parse(stdout) as Finding[];
  const about = (name: string) => findings.filter((each) => each.about === name);
  return { code, findings, about };
}

const on = (model: ModelServer, entry: object = {}, more: object = {}) => ({
  backend: 'runtime',
  ...{ model: 'scripted-model', model_provider: 'scripted' },
  model_providers: { scripted: { base_url: model.baseUrl, env_key: 'SOME_KEY', ...entry } },
  ...more,
});

test.each([
  ['a newer version wrote', '9', [{ state: 'bad', text: expect.stringMatching(/format 9 .*start the newer version/) }]],
  ['an older version wrote', '1', []],
])('a history that %s', async (_, format, expected) => {
  const data = folderOf({ backend: 'mock' });
  await run(['exec', 'say hello', '--data-dir', data]);
  expect((await doctor(data)).about('history')).toEqual([]);
  const rows = new LmdbRows(recordsDirectory(data));
  await rows.write(() => rows.put(formatKey, format));
  await rows.close();
  const { code, about } = await doctor(data);
  expect(about('history')).toMatchObject(expected);
  expect(code).toBe(expected.length);
});

test('a history that is damaged is found, and the doctor lives', async () => {
  const data = folderOf({ backend: 'mock' });
  await run(['exec', 'say hello', '--data-dir', data]);
  writeFileSync(recordsFile(data), Buffer.alloc(16_384, 0xa5));
  const { code, about } = await doctor(data);
  expect(code).toBe(1);
  expect(about('history')).toMatchObject([{ state: 'bad', text: expect.stringContaining('heddle history repair') }]);
});

test('settings that nothing reads are named, those of the file and those of flags', async () => {
  const data = folderOf({ backend: 'mock', backnd: 'mock', remote: { root: ['/srv'] }, projects: { '/a.b': {} } });
  const { code, about } = await doctor(data, '-c', 'modl=x');
  expect(code).toBe(0);
  expect(about('configuration')).toEqual([
    {
      state: 'doubtful',
      about: 'configuration',
      text: 'nothing reads backnd, remote.root, modl',
      advice: expect.stringContaining('heddle schema --config'),
    },
  ]);
});

test('a provider that lists its models: found out without a turn', async () => {
  const model = await startModelServer();
  model.listModels(status(200, { data: [{ id: 'scripted-model' }, { id: 'other' }] }));
  const { about, findings } = await doctor(folderOf(on(model)));
  expect(about('provider scripted')).toMatchObject([{ state: 'good', text: expect.stringContaining('2 models') }]);
  expect(about('model')).toMatchObject([{ state: 'good', text: 'scripted-model' }]);
  expect(findings.map((each) => each.about)).toEqual([
    ...['Node.js', 'data directory', 'server', 'configuration', 'sandbox', 'provider scripted', 'model'],
  ]);
  expect(model.requests).toHaveLength(0);
  await model.close();
});

test('one that lists none is asked for a word; a model that the list does not have is doubtful', async () => {
  const model = await startModelServer(stream(responses.say('ok')));
  expect((await doctor(folderOf(on(model)))).about('provider scripted')).toMatchObject([{ state: 'good' }]);
  expect(model.requests).toHaveLength(1);
  expect(model.requests[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
  model.listModels(status(200, { data: [{ id: 'other' }] }));
  expect((await doctor(folderOf(on(model)))).about('model')).toMatchObject([{ state: 'doubtful' }]);
  await model.close();
});

test.each([
  ['refuses the key, and repeats it', 401, /401/, /check its key/],
  ['fails', 500, /500/, /base_url/],
])('one that %s is wrong: exit code 1', async (_, code, text, advice) => {
  const model = await startModelServer();
  model.listModels(status(code, { error: { message: `key ${KEY} of no use` } }));
  const found = await doctor(folderOf(on(model)));
  expect(found.code).toBe(1);
  expect(found.about('provider scripted')).toMatchObject([
    { state: 'bad', text: expect.stringMatching(text), advice: expect.stringMatching(advice) },
  ]);
  await model.close();
});

test('what is missing is named: key, provider, backend, a configuration that can be read', async () => {
  const model = await startModelServer();
  await model.close();
  const provider = async (config: object, ...args: string[]) =>
    (await doctor(folderOf(config), ...args)).findings.at(-1);
  expect(await provider(on(model, { env_key: 'NO_KEY' }))).toMatchObject({
    state: 'bad',
    text: expect.stringMatching(/NO_KEY/),
  });
  expect(await provider(on(model))).toMatchObject({ state: 'bad', text: expect.stringMatching(/ECONNREFUSED/) });
  expect(await provider({}, '--provider', 'nowhere')).toMatchObject({ state: 'bad', about: 'provider nowhere' });
  expect(await provider({})).toMatchObject({ state: 'bad', about: 'backend' });
  expect(await provider({ backend: 'mock' })).toMatchObject({ state: 'good', about: 'backend' });
  expect(await provider({ backend: 'external' })).toMatchObject({
    state: 'bad',
    text: expect.stringMatching(/not available/),
  });
  const mcp_servers = { empty: {}, off: { enabled: false } };
  expect((await doctor(folderOf({ backend: 'mock', mcp_servers }))).findings.slice(-2)).toMatchObject([
    { state: 'good', about: 'backend' },
    { state: 'bad', about: 'MCP server empty', text: expect.stringMatching(/neither `command` nor `url`/) },
  ]);
  const broken = folderOf({ backend: 5 });
  expect((await doctor(broken)).about('configuration')).toMatchObject([
    { state: 'bad', text: expect.stringMatching(/config\.yaml:1:\d+/) },
  ]);
});

test('a data directory that others may read is doubtful, keys that they may read are wrong', async () => {
  const data = folderOf({ backend: 'mock' });
  chmodSync(data, 0o755);
  writeFileSync(join(data, 'auth.json'), '{}', { mode: 0o644 });
  const found = await doctor(data);
  expect(found.about('data directory')).toMatchObject([{ state: 'doubtful' }, { state: 'bad' }]);
  expect(found.code).toBe(1);
});

test('for people: a line each, and what to do below what is wrong', async () => {
  const { code, stdout } = await run(['doctor', '--data-dir', join(scratch(), 'data')]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ok {8}Node\.js: /m);
  expect(stdout).toMatch(/^wrong {5}backend: .*\n {10}set backend: runtime/m);
});

test('a running server is asked: what it was given by a flag counts, and the verdict says whose it is', async () => {
  const data = folderOf({});
  const args = ['--listen', `unix://${join(scratch(), 'doctor.sock')}`, '--data-dir', data];
  const { program } = await serve(args);
  const mock = await doctor(data);
  expect(mock.code).toBe(0);
  expect(mock.findings.slice(-2)).toMatchObject([
    { state: 'good', about: 'turns', text: expect.stringMatching(/says the running server$/) },
    { state: 'good', about: 'backend', text: expect.stringMatching(/^mock, by the running server/) },
  ]);
  program.child.kill('SIGTERM');
  await program.ended;
  const after = await doctor(data);
  expect(after.code).toBe(1);
  expect(after.about('backend')).toMatchObject([
    { state: 'bad', text: expect.stringContaining(`by ${data}/config.yaml and the flags of this command`) },
  ]);
});

test('a running server without a backend is told so, with a file that came too late', async () => {
  const data = folderOf({});
  await serve(['--backend', 'unavailable', '--listen', 'unix://', '--data-dir', data]);
  writeFileSync(join(data, 'config.yaml'), 'backend: mock');
  const { code, about } = await doctor(data);
  expect(code).toBe(1);
  expect(about('turns')).toMatchObject([{ state: 'bad', advice: expect.stringContaining('start it anew') }]);
  expect(about('backend')).toEqual([]);
});

test('the provider of a running server is tried as the server has it, or not at all', async () => {
  const model = await startModelServer(stream(responses.say('ok')));
  const data = folderOf({ ...on(model), backend: undefined, model: undefined });
  const settings = ['-c', 'model="scripted-model"'];
  const other = ['-c', 'model_providers.scripted.wire_api="chat"'];
  const { program } = await serve(['--backend', 'runtime', ...settings, '--listen', 'unix://', '--data-dir', data]);
  expect((await doctor(data)).about('provider scripted')).toMatchObject([
    { state: 'good', text: expect.stringContaining('so does scripted-model') },
  ]);
  program.child.kill('SIGTERM');
  await program.ended;
  await serve(['--backend', 'runtime', ...settings, ...other, '--listen', 'unix://', '--data-dir', data]);
  expect((await doctor(data)).about('provider scripted')).toMatchObject([
    { state: 'doubtful', text: expect.stringContaining('another entry') },
  ]);
  await model.close();
});

test('a server that only its own client can reach cannot be asked, and what is known of it is said', async () => {
  const data = folderOf({});
  const program = new Program(['app-server', '--backend', 'mock', '--data-dir', data]);
  program.write(INITIALIZE);
  await program.said('stdout', /"init"/);
  const { about } = await doctor(data);
  expect(about('turns')).toMatchObject([{ state: 'doubtful', text: expect.stringContaining('could not be asked') }]);
  expect(about('backend')).toMatchObject([{ state: 'good', text: expect.stringMatching(/^mock, by the running/) }]);
});
