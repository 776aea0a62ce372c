// Layers above and below the configuration file: projects that are trusted, and what the administrator requires.

import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createConfigSource, withOverrides } from '../../../src/config/load.ts';
import { checkRequired } from '../../../src/config/required.ts';
import { readRequirements } from '../../../src/config/requirements.ts';
import { threadDefaults } from '../../../src/config/thread-defaults.ts';

let folder: string;
let home: string;
let project: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-layers-')));
  home = join(folder, 'home');
  project = join(folder, 'project');
  for (const each of [home, join(project, '.git'), join(project, 'in', 'deep')]) await mkdir(each, { recursive: true });
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const put = async (path: string, text: string): Promise<string> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
};
const trust = (level: string) =>
  put(join(home, 'config.yaml'), `model: user\nprojects:\n  ${project}: {trust_level: ${level}}\n`);
const source = (...flags: string[]) => createConfigSource({ dataDirectory: home, flags });

describe('a project', () => {
  it('is heard when it is trusted: the nearest folder, between the file and the flags', async () => {
    await trust('trusted');
    await put(join(project, '.heddle', 'config.toml'), 'model = "outer"\nmodel_reasoning_effort = "low"\n');
    await put(join(project, 'in', '.heddle', 'config.toml'), 'model = "inner"\n');
    expect(await source().load()).toMatchObject({ model: 'user' });
    expect(await source().load(project)).toMatchObject({ model: 'outer', model_reasoning_effort: 'low' });
    const { config, layers } = await source().state(join(project, 'in', 'deep'));
    expect(config).toMatchObject({ model: 'inner', model_reasoning_effort: null });
    expect(layers.map(({ name }) => name.type)).toEqual(['user', 'project', 'sessionFlags']);
    expect(await source('model=flag').load(project)).toMatchObject({ model: 'flag' });
  });

  it.each(['untrusted', 'undecided'])('is named and not heard when it is %s', async (level) => {
    if (level === 'untrusted') await trust(level);
    await put(join(project, '.heddle', 'config.toml'), 'model = "theirs"\n[broken');
    const { config, layers, problem } = await source().state(project);
    expect(config.model).not.toBe('theirs');
    expect(problem).toBeUndefined();
    expect(layers.find(({ name }) => name.type === 'project')).toMatchObject({
      settings: {},
      disabledReason: expect.stringContaining('not trusted'),
    });
  });

  it('cannot trust itself, nor widen anything, nor change who is asked', async () => {
    await trust('trusted');
    const wide = [
      'model = "theirs"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      'model_provider = "evil"',
      'unattended = "wait"',
      'backend = "mock"',
      '[model_providers.openai]',
      'base_url = "http://127.0.0.1:1"',
      '[mcp_servers.x]',
      'command = "x"',
      '[projects."/"]',
      'trust_level = "trusted"',
      '[remote]',
      'sandbox = "danger-full-access"',
    ];
    await put(join(project, '.heddle', 'config.toml'), wide.join('\n'));
    const before = await source().load();
    const { config, notes } = await source().state(project);
    expect(config).toEqual({ ...before, model: 'theirs' });
    expect(notes).toEqual([expect.stringContaining('approval_policy, sandbox_mode, model_provider')]);
  });

  it('is refused with its place when it is broken', async () => {
    await trust('trusted');
    const file = await put(join(project, '.heddle', 'config.toml'), 'model = "x"\nmodel_reasoning_effort = \n');
    await expect(source().load(project)).rejects.toThrow(`${file}:2:`);
    expect(await source().load()).toMatchObject({ model: 'user' });
  });

  it('is read again when it has changed', async () => {
    await trust('trusted');
    const config = source();
    const file = await put(join(project, '.heddle', 'config.toml'), 'model = "one"\n');
    expect(await config.load(project)).toMatchObject({ model: 'one' });
    await writeFile(file, 'model = "another"\n');
    expect(await config.load(project)).toMatchObject({ model: 'another' });
    await trust('untrusted');
    expect(await config.load(project)).toMatchObject({ model: 'user' });
  });
});

describe('requirements', () => {
  const me = process.getuid?.() ?? 0;
  const required = async (text: string) => {
    const file = await put(join(folder, 'requirements.toml'), text);
    await chmod(file, 0o644);
    return readRequirements(file, me);
  };

  it('stand above file, flags and overrides', async () => {
    await put(
      join(home, 'config.yaml'),
      'model_provider: mine\nsandbox_mode: danger-full-access\napproval_policy: never\n',
    );
    const requirements = await required(
      'allowed_sandbox_modes = ["read-only", "workspace-write"]\nallowed_approval_policies = ["on-request"]\n' +
        '[settings]\nmodel_provider = "theirs"\n[settings.model_providers.theirs]\nbase_url = "http://127.0.0.1:1"\n',
    );
    const options = { dataDirectory: home, flags: ['model_provider=flag'], requirements };
    const { config, notes, layers } = await createConfigSource(options).state();
    expect(config).toMatchObject({
      model_provider: 'theirs',
      sandbox_mode: 'workspace-write',
      approval_policy: 'on-request',
    });
    expect(notes).toHaveLength(2);
    expect(layers.at(-1)).toMatchObject({ name: { type: 'enterpriseManaged', id: requirements?.file } });
    expect(withOverrides(config, { model_provider: 'other' }, requirements).model_provider).toBe('theirs');
    const settings = threadDefaults(config, '/w', {}, 'm');
    checkRequired(settings, requirements);
    for (const wider of [
      { sandboxPolicy: { type: 'dangerFullAccess' as const } },
      { approvalPolicy: 'never' as const },
      { modelProvider: 'mine' },
    ]) {
      expect(() => checkRequired({ ...settings, ...wider }, requirements)).toThrow('requirements.toml');
    }
  });

  it('narrow what is not configured too', async () => {
    await put(join(home, 'config.yaml'), 'projects: {/w: {trust_level: trusted}}\n');
    const requirements = await required(
      'allowed_sandbox_modes = ["read-only"]\nallowed_approval_policies = ["untrusted"]\n',
    );
    const config = await createConfigSource({ dataDirectory: home, requirements }).load();
    expect(threadDefaults(config, '/w', {}, 'm')).toMatchObject({
      sandboxPolicy: { type: 'readOnly' },
      approvalPolicy: 'untrusted',
    });
  });

  it('are none where there is no file', async () => {
    expect(await readRequirements(join(folder, 'missing.toml'), me)).toBeUndefined();
  });

  it.each([
    ['not TOML', 'allowed ='],
    ['an unknown requirement', 'allowed_colours = ["red"]'],
    ['a mode that does not exist', 'allowed_sandbox_modes = ["read-only", "none"]'],
    ['no mode that all threads can have', 'allowed_sandbox_modes = ["workspace-write"]'],
    ['a setting of a wrong kind', '[settings]\nmodel = 1'],
  ])('are refused when they are %s', async (_name, text) => {
    await expect(required(text)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('are refused when somebody else may change them', async () => {
    const file = await put(join(folder, 'requirements.toml'), '');
    await chmod(file, 0o666);
    await expect(readRequirements(file, me)).rejects.toThrow('nobody else may write');
    await chmod(file, 0o600);
    await expect(readRequirements(file, me + 1)).rejects.toThrow('must belong to the administrator');
    await chmod(folder, 0o777);
    await expect(readRequirements(file, me)).rejects.toThrow(`others may change the folder ${folder}`);
    await symlink(file, join(home, 'link.toml'));
    await expect(readRequirements(join(home, 'link.toml'), me)).rejects.toThrow('others may change the folder');
    await chmod(folder, 0o700);
    const open = join(folder, 'open');
    await mkdir(open);
    await chmod(open, 0o777);
    await symlink(file, join(open, 'link.toml'));
    await expect(readRequirements(join(open, 'link.toml'), me)).rejects.toThrow(`others may change the folder ${open}`);
  });
});
