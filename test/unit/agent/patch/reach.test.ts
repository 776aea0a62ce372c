// Where files lie for a thread: what is its workspace, what lies outside, and what nobody may see.

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reachOf, type Standing } from '../../../../src/agent/patch/reach.ts';
import { type SandboxPolicy, sandboxPolicyOf } from '../../../../src/model/policy.ts';
import type { ThreadSettings } from '../../../../src/model/thread.ts';
import { turnOf } from '../backends/turn.ts';

let base: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  for (const name of ['work', 'data', 'more', 'work/.git', 'work/sub/.git'])
    await mkdir(join(base, name), { recursive: true });
});

afterEach(() => rm(base, { recursive: true }));

const WRITING = sandboxPolicyOf('workspace-write') as Extract<SandboxPolicy, { type: 'workspaceWrite' }>;

function settings(more: Partial<ThreadSettings> = {}): ThreadSettings {
  return { ...turnOf([]).settings, cwd: join(base, 'work'), workspaceRoots: [], sandboxPolicy: WRITING, ...more };
}

async function standing(name: string, given = settings(), isCapped = false): Promise<Standing> {
  const reach = await reachOf(given, [join(base, 'data')], isCapped);
  return reach.standing(name.startsWith('/') ? name : join(base, name));
}

test.each<[string, Standing]>([
  ['work/a', 'workspace'],
  ['work/new/deep/a', 'workspace'],
  ['work', 'workspace'],
  ['work/.git/config', 'outside'],
  ['work/.git', 'outside'],
  ['work/.codex/rules', 'outside'],
  ['work/.gitignore', 'workspace'],
  ['work/sub/.git/config', 'workspace'],
  ['worker/a', 'outside'],
  ['more/a', 'outside'],
  ['data/threads', 'hidden'],
  ['/proc/self/environ', 'hidden'],
  ['/proc', 'hidden'],
  ['/process', 'outside'],
])('%s is %s', async (name, expected) => {
  expect(await standing(name)).toBe(expected);
});

test('roots of the policy count where it lets them be written', async () => {
  const writableRoots = [join(base, 'more')];
  expect(await standing('more/a', settings({ sandboxPolicy: { ...WRITING, writableRoots } }))).toBe('workspace');
  expect(await standing('work/a', settings({ sandboxPolicy: sandboxPolicyOf('read-only') }))).toBe('workspace');
});

test('a root that leads elsewhere than when it was chosen is none', async () => {
  await rm(join(base, 'work'), { recursive: true });
  await symlink('more', join(base, 'work'));
  expect(await standing('more/a', settings({ rootPlaces: {} }))).toBe('outside');
  expect(await standing('more/a', settings({ rootPlaces: { [join(base, 'work')]: join(base, 'more') } }))).toBe(
    'workspace',
  );
});

test('where something cannot be protected nothing is the workspace', async () => {
  await rm(join(base, 'work/.git'), { recursive: true });
  await symlink('../more', join(base, 'work/.git'));
  expect(await standing('work/a')).toBe('outside');
});

test('the repository that a worktree names is protected with it', async () => {
  await rm(join(base, 'work/.git'), { recursive: true });
  await mkdir(join(base, 'work/store'));
  await writeFile(join(base, 'work/.git'), `gitdir: ${join(base, 'work/store')}\n`);
  expect(await standing('work/store/config')).toBe('outside');
});

test('with full access only the kernel is out of reach', async () => {
  const bare = settings({ sandboxPolicy: { type: 'dangerFullAccess' } });
  expect(await standing('data/threads', bare)).toBe('outside');
  expect(await standing('/dev/sda', bare)).toBe('hidden');
});

test('a turn under the ceiling sees nothing outside of its roots', async () => {
  expect(await standing('more/a', settings(), true)).toBe('hidden');
  expect(await standing('work/a', settings(), true)).toBe('workspace');
  expect(await standing('work/.git/config', settings(), true)).toBe('outside');
});
