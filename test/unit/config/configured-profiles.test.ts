// Permission profiles of the configuration: what each comes to, and which of them cannot be enforced.

import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { profileOf } from '../../../src/config/profiles.ts';
import { ruledPaths } from '../../../src/sandbox/ruled-paths.ts';

const of = (permissions: Record<string, unknown>, id = 'mine') => profileOf({ permissions }, id);
const policyOf = (mine: unknown) => of({ mine }).sandboxPolicy;
const rulesOf = (mine: unknown) => (policyOf(mine) as { rules: Record<string, unknown> }).rules;
const NO_WORKSPACE = { isReadOnly: true, write: [], readOnly: [], denied: [] };

test('one that only extends another is that one, under its own name', () => {
  const { sandboxPolicy, permissionProfile, description } = of({
    mine: { extends: ':read-only', description: 'Mine' },
  });
  expect([permissionProfile, description]).toEqual([{ id: 'mine', extends: ':read-only' }, 'Mine']);
  const nothing = { denied: [], readOnly: [], workspace: NO_WORKSPACE, network: null };
  expect(sandboxPolicy).toEqual({ type: 'readOnly', networkAccess: false, rules: nothing });
  expect(policyOf({ extends: ':workspace' })).toEqual({
    ...{ type: 'workspaceWrite', writableRoots: [], networkAccess: false },
    ...{ excludeTmpdirEnvVar: false, excludeSlashTmp: false },
    rules: { ...nothing, workspace: { ...NO_WORKSPACE, isReadOnly: false } },
  });
});

test('paths, by what commands may do with them', () => {
  const policy = policyOf({
    extends: ':workspace',
    filesystem: {
      '/etc/shadow': 'deny',
      '~/.ssh': 'none',
      '/data/': 'write',
      '/data/kept': 'read',
      ':tmpdir': 'read',
      ':workspace_roots': { docs: 'read', 'docs/out': 'write', '.env': 'deny' },
    },
  });
  expect(policy).toMatchObject({ type: 'workspaceWrite', writableRoots: ['/data'], excludeTmpdirEnvVar: true });
  expect(ruledPaths(policy, ['/w', '/v'], { '/v': '/real/v' })).toEqual({
    denied: ['/etc/shadow', join(homedir(), '.ssh'), '/w/.env', '/real/v/.env'],
    readOnly: ['/data/kept', '/w/docs', '/real/v/docs'],
    writable: ['/w', '/v', '/w/docs/out', '/real/v/docs/out', '/data'],
  });
});

test('a workspace that is only read, with folders that are written', () => {
  const policy = policyOf({ filesystem: { ':root': 'read', ':project_roots': { '.': 'read', out: 'write' } } });
  expect(policy).toMatchObject({ type: 'workspaceWrite', excludeTmpdirEnvVar: true, excludeSlashTmp: true });
  expect(ruledPaths(policy, ['/w'])).toEqual({ denied: [], readOnly: ['/w'], writable: ['/w/out'] });
});

test('what is escaped is no pattern, and is named as it is', () => {
  const policy = policyOf({
    filesystem: { ':root': 'read', ':workspace_roots': { 'app/\\[id\\]': 'write', '\\*': 'deny' } },
  });
  expect(ruledPaths(policy, ['/w'])).toMatchObject({ denied: ['/w/*'], writable: ['/w/app/[id]'] });
});

test('patterns of what is denied, and how deep they are looked for', () => {
  const policy = policyOf({
    extends: ':workspace',
    filesystem: {
      glob_scan_max_depth: 3,
      '/srv/*/secret': 'deny',
      ':workspace_roots': { '**/*.key': 'deny', 'private/**': 'deny', 'docs/**': 'read' },
    },
  });
  const { patterns, denied, readOnly, readable } = ruledPaths(policy, ['/w', '/[v]'], {});
  expect(patterns?.all.map(({ text, base }) => [base, text])).toEqual([
    ['/srv', '/srv/*/secret'],
    ['/w', '**/*.key'],
    ['/[v]', '**/*.key'],
  ]);
  expect(patterns?.depth).toBe(3);
  // What is said of all in a folder is said of the folder, with what comes into it later.
  expect([denied, readOnly]).toEqual([
    ['/w/private', '/[v]/private'],
    ['/w/docs', '/[v]/docs'],
  ]);
  expect(readable).toBeUndefined();
  expect(ruledPaths(policyOf({ extends: ':read-only', filesystem: { '/a/*': 'deny' } }), []).patterns?.depth).toBe(
    Number.POSITIVE_INFINITY,
  );
});

test('only what is named is read, where not all of the disk is', () => {
  const readable = (filesystem: object) => ruledPaths(policyOf({ filesystem }), ['/w']).readable;
  expect(readable({ ':minimal': 'read' })).toEqual({ paths: [], isMinimal: true });
  expect(readable({ ':minimal': 'read', '/data/**': 'read', ':workspace_roots': 'write' })).toEqual({
    paths: ['/data', '/w'],
    isMinimal: true,
  });
  expect(readable({ '/usr': 'read', '/lib': 'read', ':workspace_roots': { docs: 'read', out: 'write' } })).toEqual({
    paths: ['/usr', '/lib', '/w/docs'],
    isMinimal: false,
  });
  expect(readable({ ':minimal': 'read', '/': 'read' })).toBeUndefined();
});

test('profiles that extend each other: what is nearer goes before', () => {
  const permissions = {
    base: {
      extends: ':workspace',
      workspace_roots: { '/one': true, '/two': true },
      filesystem: { '/a': 'write', '/b': 'deny' },
      network: { enabled: true, domains: { 'example.com': 'allow', 'other.org': 'allow' } },
    },
    mine: {
      extends: 'base',
      workspace_roots: { '/two': false },
      filesystem: { '/a': 'read', ':workspace_roots': 'read' },
      network: { domains: { 'other.org': 'deny' } },
    },
  };
  const { sandboxPolicy, permissionProfile, roots } = of(permissions);
  expect(permissionProfile).toEqual({ id: 'mine', extends: 'base' });
  expect(roots).toEqual(['/one']);
  expect(sandboxPolicy).toMatchObject({
    type: 'readOnly',
    rules: { denied: ['/b'], readOnly: ['/a'], network: { allow: ['example.com'], deny: ['other.org'] } },
  });
});

test('the network: none, all, or the hosts that are listed', () => {
  const network = (table: object) => {
    const { networkAccess, rules } = policyOf({ extends: ':read-only', network: table }) as never as {
      networkAccess: boolean;
      rules: { network: unknown };
    };
    return [networkAccess, rules.network];
  };
  expect(network({})).toEqual([false, null]);
  expect(network({ domains: { 'example.com': 'allow' } })).toEqual([false, null]);
  expect(network({ enabled: true })).toEqual([true, null]);
  const listed = { deny: [], isLimited: false, allowsLocal: false };
  expect(
    network({ enabled: true, domains: { '*.EXAMPLE.com': 'allow', 'bücher.de.': 'allow', '[::1]': 'allow' } }),
  ).toEqual([false, { ...listed, allow: ['*.example.com', 'xn--bcher-kva.de', '::1'] }]);
  expect(network({ enabled: true, domains: { 'evil.org': 'deny' } })).toEqual([
    false,
    { ...listed, allow: [], deny: ['evil.org'] },
  ]);
  expect(network({ enabled: true, mode: 'limited' })).toEqual([false, { ...listed, allow: ['*'], isLimited: true }]);
});

describe('refused as a whole, with the reason', () => {
  const base = { extends: ':read-only' };
  const enabled = (more: object) => ({ ...base, network: { enabled: true, ...more } });
  test.each([
    ['undefined profile', { extends: 'nowhere' }],
    ['cannot extend', { extends: ':danger-full-access' }],
    ['extends itself', { extends: 'mine' }],
    ['no program runs', {}],
    ['no program runs', { extends: ':read-only', filesystem: { ':root': 'deny' } }],
    ['patterns can only be denied', { ...base, filesystem: { '/home/*/.ssh': 'read' } }],
    ['patterns can only be denied', { ...base, filesystem: { ':workspace_roots': { '*.out': 'write' } } }],
    ['`\\[` without', { ...base, filesystem: { '/a/*[': 'deny' } }],
    ['braces', { ...base, filesystem: { ':workspace_roots': { '*.{a': 'deny' } } }],
    ['not an absolute path', { ...base, filesystem: { '**/*.key': 'deny' } }],
    ['does not lie in the workspace', { ...base, filesystem: { ':workspace_roots': { '../*.key': 'deny' } } }],
    ['holds `..`', { ...base, filesystem: { '/a/*/../b': 'deny' } }],
    ['holds `..`', { ...base, filesystem: { ':workspace_roots': { 'a/../b': 'deny' } } }],
    ['holds `..`', { ...base, filesystem: { '~/../b': 'deny' } }],
    ['`..` in a pattern', { ...base, filesystem: { '/a/{b,../c}': 'deny' } }],
    ['at the end of a name', { ...base, filesystem: { '/a\\/**': 'deny' } }],
    ['names no character', { ...base, filesystem: { '/a/x[].key': 'deny' } }],
    ['is denied by the pattern', { ...base, filesystem: { '/a/*': 'deny', '/a/b/c': 'write' } }],
    ['is denied by the pattern', { ...base, filesystem: { ':workspace_roots': { '**/x': 'deny', 'a/x': 'read' } } }],
    ['all of the disk', { ...base, filesystem: { '/**': 'deny' } }],
    ['cannot be denied', { ...base, filesystem: { ':workspace_roots': { '**': 'deny' } } }],
    ['`:tmpdir` with "read"', { filesystem: { ':minimal': 'read', ':tmpdir': 'read' } }],
    ['>=1', { ...base, filesystem: { glob_scan_max_depth: 0 } }],
    ['not an absolute path', { ...base, filesystem: { 'some/where': 'deny' } }],
    ['does not lie in the workspace', { ...base, filesystem: { ':workspace_roots': { '../up': 'write' } } }],
    ['does not lie in the workspace', { ...base, filesystem: { ':workspace_roots': { '/abs': 'write' } } }],
    ['cannot be denied', { ...base, filesystem: { ':workspace_roots': 'deny' } }],
    ['lies in a folder that is denied', { ...base, filesystem: { '/a': 'deny', '/a/b': 'read' } }],
    ['`:home` with', { ...base, filesystem: { ':home': 'read' } }],
    ['takes no paths', { ...base, filesystem: { '/a': { b: 'read' } } }],
    ['allow_limited_git_writes', { ...base, filesystem: { allow_limited_git_writes: true } }],
    ['no name of a host', enabled({ domains: { 'a*b.com': 'allow' } })],
    ['no name of a host', enabled({ domains: { 'example.com:443': 'allow' } })],
    ['no name of a host', enabled({ domains: { 'http://example.com': 'deny' } })],
    ['socket', enabled({ unix_sockets: { '/var/run/docker.sock': 'allow' } })],
    ['allow_upstream_proxy', enabled({ allow_upstream_proxy: true })],
    ['dangerously_allow_all_unix_sockets', enabled({ dangerously_allow_all_unix_sockets: true })],
    ['mine', { ...base, unknown: 1 }],
    ['mine', { ...base, filesystem: { '/a': 'execute' } }],
    ['mine', 7],
  ])('%s: %j', (reason, mine) => {
    expect(() => policyOf(mine)).toThrow(new RegExp(`^failed to load configuration: .*(${reason})`));
  });

  test('what would only be less is taken', () => {
    const table = { proxy_url: 'http://127.0.0.1:1', enable_socks5: false, unix_sockets: { '/s': 'none' } };
    expect(rulesOf({ ...base, network: table })).toMatchObject({ network: null });
  });
});
