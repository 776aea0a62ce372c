// `heddle config` and `heddle schema --config`: what is printed, what is in the file, and the exit codes.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runCommand } from '../../../src/cli/commands.ts';
import { configSchema } from '../../../src/cli/config-schema.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'heddle-config-command-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(home, { recursive: true, force: true });
});

async function run(...argv: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const said = { out: '', err: '' };
  const into = (name: 'out' | 'err') => (text: unknown) => {
    said[name] += String(text);
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(into('out')),
    vi.spyOn(process.stderr, 'write').mockImplementation(into('err')),
  ];
  const code = await runCommand([...argv, '--data-dir', home]);
  for (const spy of spies) spy.mockRestore();
  return { code, ...said };
}

const file = () => readFile(join(home, 'config.yaml'), 'utf8');

test('settings are written as TOML or text, and printed as they count', async () => {
  expect(await run('config', 'set', 'model', 'gpt-5')).toEqual({ code: 0, out: '', err: '' });
  await run('config', 'set', 'projects."/w/a.b".trust_level', 'trusted');
  await run('config', 'set', 'remote.roots', '["/srv"]');
  await run('config', 'set', 'idle_unload_seconds', '60');
  expect(await file()).toBe(
    'model: gpt-5\nprojects:\n  /w/a.b:\n    trust_level: trusted\nremote:\n  roots: [/srv]\nidle_unload_seconds: 60\n',
  );
  expect((await run('config', 'get', 'model')).out).toBe('gpt-5\n');
  expect((await run('config', 'get', 'model', '-c', 'model=flag')).out).toBe('flag\n');
  expect(JSON.parse((await run('config', 'get', 'remote')).out)).toMatchObject({
    roots: ['/srv'],
    sandbox: 'read-only',
  });
  await run('config', 'unset', 'projects');
  expect(await file()).toBe('model: gpt-5\nremote:\n  roots: [/srv]\nidle_unload_seconds: 60\n');
});

test('secrets are not printed', async () => {
  await run('config', 'set', 'model_providers.x.http_headers.Authorization', 'Bearer marker-123');
  expect((await run('config', 'get')).out).not.toContain('marker-123');
  expect((await run('config', 'get', 'model_providers.x.http_headers.Authorization')).out).toBe('********\n');
});

test('what cannot be is said, and changes nothing', async () => {
  await run('config', 'set', 'model', 'a');
  expect(await run('config', 'set', 'approval_policy', 'bogus')).toMatchObject({
    code: 2,
    err: expect.stringContaining('unknown variant `bogus`'),
  });
  expect(await run('config', 'get', 'nothing.like.it')).toMatchObject({ code: 1, out: '' });
  expect((await run('config', 'set', 'model')).code).toBe(2);
  expect(await file()).toBe('model: a\n');
});

test('the schema of the file names every setting, and allows others', () => {
  const schema = configSchema() as { properties: Record<string, object>; additionalProperties: unknown };
  expect(schema.properties.model_reasoning_summary).toMatchObject({
    anyOf: [{ enum: ['auto', 'concise', 'detailed', 'none'] }, { type: 'null' }],
  });
  expect(schema.properties.sandbox_workspace_write).toHaveProperty('properties.writable_roots.items.type', 'string');
  expect(schema.additionalProperties).not.toBe(false);
  expect(schema).not.toHaveProperty('required');
});

test.each(['modle', 'sandbox_workspace_write.netwrk', 'model_providers.own.base'])(
  'a setting that nothing knows is written, and said to have no effect: %s',
  async (key) => {
    const { code, err } = await run('config', 'set', key, 'on');
    expect([code, err]).toEqual([0, expect.stringContaining(`no setting \`${key}\` is known`)]);
    expect(await readFile(join(home, 'config.yaml'), 'utf8')).toContain(key.split('.').at(-1));
  },
);

test.each([
  ['model', 'own'],
  ['mcp_servers.own.command', 'server'],
  ['projects."/srv/a".trust_level', 'trusted'],
])('nothing is said of a setting that is known: %s', async (key, value) => {
  expect(await run('config', 'set', key, value)).toMatchObject({ code: 0, err: '' });
});
