// Writing settings over a connection: what is asked for is in the file, everything else stays, and failures change nothing.

import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localPrincipal, type Principal } from '../../../src/auth/principal.ts';
import { configHandlers } from '../../../src/config/handlers.ts';
import { createConfigSource } from '../../../src/config/load.ts';
import { serveRoutes } from '../../harness/served-routes.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-write-')));
  file = join(folder, 'config.yaml');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const operator: Principal = {
  tenant: 'local',
  subject: 'remote',
  permissions: new Set(['thread:read', 'config']),
  isLocal: false,
};

type Answer = Record<string, unknown> & { version: string };

function connect(principal: Principal = localPrincipal, flags: readonly string[] = []) {
  const source = createConfigSource({ dataDirectory: folder, flags });
  const routes = configHandlers({
    mayLookInto: async () => true,
    tellOfFolder: () => {},
    source,
    cwd: folder,
    loadedThreads: () => ['t'],
  });
  const served = serveRoutes(routes, principal);
  const call = (method: string, params: object) => served(method, params) as Promise<Answer>;
  const write = (keyPath: string, value: unknown, more: object = {}) =>
    call('config/value/write', { keyPath, value, mergeStrategy: 'replace', ...more });
  return { call, write };
}

const nestedBy = (depth: number): unknown => (depth === 0 ? 1 : [nestedBy(depth - 1)]);

const TEXT =
  '# mine\r\nmodel: "old" # why\r\n\r\nno_such_key: {a: 1}\r\nsandbox_workspace_write: # where\r\n    network_access: true\r\n# end';

describe('config/value/write', () => {
  it('changes the bytes of its key only', async () => {
    await writeFile(file, TEXT);
    const { write } = connect();
    expect(await write('model', 'new')).toMatchObject({
      status: 'ok',
      filePath: file,
      overriddenMetadata: null,
      frozenThreads: ['t'],
    });
    expect(await readFile(file, 'utf8')).toBe(TEXT.replace('"old"', '"new"'));
    await write('sandbox_workspace_write', { exclude_slash_tmp: true }, { mergeStrategy: 'upsert' });
    await write(`projects."${folder}".trust_level`, 'trusted');
    await write('no_such_key.a', null);
    expect(await readFile(file, 'utf8')).toBe(
      TEXT.replace('"old"', '"new"')
        .replace('{a: 1}', '{}')
        .replace(
          'true\r\n',
          `true\r\n    exclude_slash_tmp: true\r\nprojects:\r\n    ${folder}:\r\n        trust_level: trusted\r\n`,
        ),
    );
  });

  it('makes the file where there is none, for its owner only', async () => {
    await connect().write('mcp_servers."my.server".command', 'true', { mergeStrategy: 'upsert' });
    expect(await readFile(file, 'utf8')).toBe('mcp_servers:\n  my.server:\n    command: "true"\n');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('keeps the mode, and follows a link', async () => {
    await mkdir(join(folder, 'real'));
    const real = join(folder, 'real', 'settings.yaml');
    await writeFile(real, 'model: a\n');
    await chmod(real, 0o640);
    await symlink(real, file);
    await connect().write('model', 'b');
    expect(await readFile(real, 'utf8')).toBe('model: b\n');
    expect((await stat(real)).mode & 0o777).toBe(0o640);
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect(await readdir(join(folder, 'real'))).toEqual(['settings.yaml']);
  });

  it('refuses a version that is no longer there, and takes the one that is', async () => {
    const { write, call } = connect();
    const { version } = await write('model', 'a');
    await writeFile(file, 'model: b # by hand\n');
    await expect(write('model', 'c', { expectedVersion: version })).rejects.toMatchObject({
      kind: 'conflict',
      data: { config_write_error_code: 'configVersionConflict', code: -32009 },
    });
    const { layers } = await call('config/read', { includeLayers: true });
    const [user] = (layers as { name: { type: string }; version: string }[]).filter(({ name }) => name.type === 'user');
    const after = await write('model', 'c', { expectedVersion: user?.version });
    expect(await readFile(file, 'utf8')).toBe('model: c # by hand\n');
    expect((await write('model', 'c', { expectedVersion: after.version })).version).toBe(after.version);
  });

  it.each([
    ['another file', 'model', 'x', { filePath: '/elsewhere/config.yaml' }, 'configLayerReadonly'],
    ['a relative file', 'model', 'x', { filePath: 'config.yaml' }, 'configLayerReadonly'],
    ['a wrong value', 'approval_policy', 'bogus', {}, 'configValidationError'],
    ['no key', '', 1, {}, 'configValidationError'],
    ['half a key', 'a."b', 1, {}, 'configValidationError'],
    ['an empty segment', 'a..b', 1, {}, 'configValidationError'],
    ['below a text', 'model.x', 1, {}, 'configValidationError'],
    ['a prototype', 'a.__proto__.b', 1, {}, 'configValidationError'],
    ['a prototype in a value', 'a', JSON.parse('{"constructor": {"b": 1}}'), {}, 'configValidationError'],
    ['what is nested without end', 'a', nestedBy(500), {}, 'configValidationError'],
    ['a key without end', Array(500).fill('a').join('.'), 1, {}, 'configValidationError'],
  ])('refuses %s and leaves the file alone', async (_name, keyPath, value, more, code) => {
    await writeFile(file, TEXT);
    await expect(connect().write(keyPath, value, more)).rejects.toMatchObject({
      data: { config_write_error_code: code },
    });
    expect(await readFile(file, 'utf8')).toBe(TEXT);
  });

  it('lets others work while many settings are written', async () => {
    await writeFile(file, 'many: {}\n');
    const { call, write } = connect();
    const order: string[] = [];
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, index]));
    const writing = write('many', many, { mergeStrategy: 'upsert' }).then(() => order.push('written'));
    await call('configRequirements/read', {}).then(() => order.push('read'));
    await call('config/read', {}).then(() => order.push('read again'));
    await writing;
    expect(order).toEqual(['read', 'read again', 'written']);
  });

  it.each(['a: &a\n  b: *a\n', 'a: &a [*a]\n'])('refuses a file that holds itself: %j', async (text) => {
    await writeFile(file, text);
    const problem = `failed to load configuration: ${file}:1:1: settings are nested too deeply`;
    await expect(connect().write('model', 'a')).rejects.toThrow(problem);
    await expect(connect().call('config/read', {})).rejects.toThrow(problem);
  });

  it('refuses a file that cannot be read, with the place', async () => {
    await writeFile(file, 'a: 1\nb: [1\n');
    await expect(connect().write('model', 'x')).rejects.toThrow(`failed to load configuration: ${file}:3:1: `);
    await writeFile(file, Buffer.from([0x61, 0x3a, 0x20, 0xff, 0x0a]));
    await expect(connect().write('model', 'x')).rejects.toThrow('not UTF-8');
    expect(await readFile(file)).toEqual(Buffer.from([0x61, 0x3a, 0x20, 0xff, 0x0a]));
  });

  it('puts right a setting that is wrong', async () => {
    await writeFile(file, 'approval_policy: bogus # oh\n');
    await connect().write('approval_policy', 'never');
    expect(await readFile(file, 'utf8')).toBe('approval_policy: never # oh\n');
  });

  it('refuses to change what others share', async () => {
    const shared = 'a: &x {b: 1}\nc: *x\n';
    await writeFile(file, shared);
    await expect(connect().write('a.b', 2)).rejects.toThrow('share values by anchors');
    expect(await readFile(file, 'utf8')).toBe(shared);
    await connect().write('c.b', 2);
    expect(await readFile(file, 'utf8')).toBe('a: &x {b: 1}\nc:\n  b: 2\n');
  });

  it('tells what stands above the file', async () => {
    expect(await connect(localPrincipal, ['model=flag']).write('model', 'file')).toMatchObject({
      status: 'okOverridden',
      overriddenMetadata: { overridingLayer: { name: { type: 'sessionFlags' } }, effectiveValue: 'flag' },
    });
  });

  it('leaves to administrators who may do what', async () => {
    const { write } = connect(operator);
    await write('model', 'a');
    for (const key of [
      ...['projects./w.trust_level', 'model_providers.x.name', 'mcp_servers.x.command', 'remote.roots'],
      ...['sandbox_mode', 'default_permissions', 'sandbox_workspace_write.network_access', 'approval_policy'],
      ...['retention.archived_days', '"sandbox_mode"'],
    ]) {
      await expect(write(key, 'trusted')).rejects.toMatchObject({ data: { permission: 'admin' } });
    }
    await expect(
      connect({ ...operator, permissions: new Set(['thread:read']) }).write('model', 'b'),
    ).rejects.toMatchObject({ data: { permission: 'config' } });
    expect(await readFile(file, 'utf8')).toBe('model: a\n');
  });

  it('never takes away what somebody else writes meanwhile', async () => {
    const { write } = connect();
    let conflicts = 0;
    for (let round = 0; round < 30; round += 1) {
      await writeFile(file, `model: a\nround: ${round}\n`);
      const replaced = `model: by-hand # ${round}\nround: ${round}\n`;
      const byHand = async () => {
        await writeFile(`${file}.new`, replaced);
        await rename(`${file}.new`, file);
      };
      const ours = write('added', true).catch((error: { data: Record<string, unknown> }) => {
        expect(error.data.config_write_error_code).toBe('configVersionConflict');
        conflicts += 1;
      });
      await Promise.all([byHand(), ours]);
      expect((await readFile(file, 'utf8')).startsWith(replaced)).toBe(true);
    }
    expect(conflicts).toBeLessThanOrEqual(30);
    expect((await readdir(folder)).sort()).toEqual(['config.yaml']);
  });

  it('clears away drafts that a kill has left', async () => {
    const [old, young] = [join(folder, '.config-0123456789ab'), join(folder, '.config-abcdefabcdef')];
    for (const draft of [old, young]) await writeFile(draft, 'half');
    await utimes(old, 0, 0);
    await connect().write('model', 'a');
    expect((await readdir(folder)).sort()).toEqual(['.config-abcdefabcdef', 'config.yaml']);
  });

  it('takes writes one after another', async () => {
    const clients = [connect(), connect()];
    const { write } = clients[0]!;
    await Promise.all(Array.from({ length: 20 }, (_, index) => write(`many.k${index}`, index)));
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(21);
  });
});

describe('config/batchWrite', () => {
  const edit = (keyPath: string, value: unknown) => ({ keyPath, value, mergeStrategy: 'replace' });

  it('writes all or nothing', async () => {
    const { call } = connect();
    const good = [edit('model_reasoning_effort', 'high'), edit('approval_policy', 'never')];
    const { version } = await call('config/batchWrite', { edits: good, reloadUserConfig: true });
    expect(await readFile(file, 'utf8')).toBe('model_reasoning_effort: high\napproval_policy: never\n');
    const bad = [edit('model_reasoning_effort', 'low'), edit('approval_policy', 'bogus')];
    await expect(call('config/batchWrite', { edits: bad })).rejects.toThrow('unknown variant `bogus`');
    expect(await readFile(file, 'utf8')).toBe('model_reasoning_effort: high\napproval_policy: never\n');
    expect((await call('config/batchWrite', { edits: [] })).version).toBe(version);
  });
});
