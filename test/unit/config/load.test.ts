// The configuration from file and flags: what wins, what is refused and where, and that changes on disk are seen.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { flagsLayer } from '../../../src/config/layers.ts';
import { createConfigSource, withOverrides } from '../../../src/config/load.ts';
import { Config } from '../../../src/config/schema.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-config-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const write = (text: string) => writeFile(join(folder, 'config.yaml'), text);
const source = (...flags: string[]) => createConfigSource({ dataDirectory: folder, flags });

describe('loading', () => {
  it('gives the defaults where there is no file', async () => {
    expect(await source().load()).toMatchObject({
      backend: null,
      model: null,
      busy_turn_start: 'reject',
      unattended: 'wait',
      approval_timeout_seconds: 86_400,
      idle_unload_seconds: 1_800,
      remote: { roots: [], sandbox: 'read-only', approvals: 'on-request' },
      sandbox_workspace_write: { writable_roots: [], network_access: false },
    });
  });

  it('lets flags go before the file, member by member, and keeps what it does not know', async () => {
    await write(
      'model: from-file\nno_such_key: {a: 1}\napproval_policy:\nsandbox_workspace_write:\n  network_access: true\n',
    );
    const config = await source(
      'model=from-flag',
      'sandbox_workspace_write.exclude_slash_tmp=true',
      'model_providers."my.gateway".base_url="http://127.0.0.1:1/v1"',
      'features.x=["a", 1]',
    ).load();
    expect(config).toMatchObject({
      model: 'from-flag',
      no_such_key: { a: 1 },
      features: { x: ['a', 1] },
      approval_policy: null,
      sandbox_workspace_write: { network_access: true, exclude_slash_tmp: true },
      model_providers: { 'my.gateway': { base_url: 'http://127.0.0.1:1/v1' } },
    });
  });

  it.each([
    ['model="quoted"', 'quoted'],
    ['model=o3', 'o3'],
    ["model='single'", 'single'],
    ['model=a=b', 'a=b'],
    ['model = spaced ', 'spaced'],
  ])('reads the flag %s', async (flag, model) => {
    expect((await source(flag).load()).model).toBe(model);
  });

  it('keeps a date that a flag gives', async () => {
    const config = await source('since=2024-05-06').load();
    expect(JSON.parse(JSON.stringify(config))).toMatchObject({ since: expect.stringContaining('2024-05-06') });
  });

  it.each(['model', '=x', 'approval_policy=bogus', 'approval_timeout_seconds=0', 'sandbox_workspace_write=1'])(
    'refuses the flag %s at once',
    (flag) => {
      expect(() => source(flag)).toThrow(expect.objectContaining({ kind: 'invalid' }));
    },
  );

  it.each([
    ['model: [unclosed\n', 2, 1, /./],
    [
      'a: 1\napproval_policy: bogus\n',
      2,
      18,
      /^unknown variant `bogus`, expected one of `untrusted`, `on-request`, `never`/,
    ],
    ['model_providers:\n  p:\n    base_url: nonsense\n', 3, 15, /base_url/],
    ['model: 1\n', 1, 8, /model/],
    ['just text\n', 1, 1, /expected settings/],
    ['a: 1\na: 2\n', 2, 1, /unique/],
  ])('says where %j is wrong, and goes on with the defaults and the flags', async (text, line, column, message) => {
    await write(text);
    const broken = source('model=flag');
    const { problem, config } = await broken.state();
    expect(problem?.message).toMatch(message);
    expect(problem?.place).toEqual({ file: join(folder, 'config.yaml'), line, column });
    expect(config).toMatchObject({ model: 'flag', approval_policy: null });
    await expect(broken.load()).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`failed to load configuration: ${folder}/config.yaml:${line}:${column}: `),
    });
  });

  it('sees that the file was changed, broken, mended and removed', async () => {
    const live = source();
    await write('model: one\n');
    expect((await live.load()).model).toBe('one');
    await write('model: second\n');
    expect((await live.load()).model).toBe('second');
    await write('model: [\n');
    await expect(live.load()).rejects.toMatchObject({ kind: 'invalid' });
    await write('model: mended\n');
    expect((await live.load()).model).toBe('mended');
    await rm(join(folder, 'config.yaml'));
    expect((await live.load()).model).toBeNull();
  });

  it('does not reach into prototypes', async () => {
    await write('__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\n');
    const config = await source('__proto__.polluted=1').load();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect((config as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('overrides of one thread', () => {
  const base = Config().parse({ model: 'm', approval_policy: 'never' });

  it('takes dotted and nested keys; null goes back to the default', () => {
    const config = withOverrides(base, {
      'sandbox_workspace_write.network_access': true,
      mcp_servers: { 'my.server': { command: 'true' } },
      approval_policy: null,
    });
    expect(config).toMatchObject({
      model: 'm',
      approval_policy: null,
      sandbox_workspace_write: { network_access: true },
      mcp_servers: { 'my.server': { command: 'true' } },
    });
    expect(base.sandbox_workspace_write.network_access).toBe(false);
  });

  it('asks people in place of another reviewer where that is chosen, and refuses it elsewhere', () => {
    const reviewed = { approvals_reviewer: 'auto_review' };
    const people = Config().parse({ other_reviewers: 'people' });
    expect(withOverrides(people, reviewed)).toMatchObject({ approvals_reviewer: 'user' });
    expect(() => withOverrides(people, { approvals_reviewer: 'bogus' })).toThrow('unknown variant `bogus`');
    expect(() => withOverrides(base, reviewed)).toThrow('unknown variant `auto_review`');
    const flags = ['other_reviewers=people', 'approvals_reviewer=guardian_subagent'];
    expect(flagsLayer(flags).settings).toMatchObject({ approvals_reviewer: 'user' });
  });

  it('refuses a bad value with the reason', () => {
    expect(() => withOverrides(base, { approval_policy: 'bogus' })).toThrow(
      'failed to load configuration: unknown variant `bogus`, expected one of',
    );
  });
});
