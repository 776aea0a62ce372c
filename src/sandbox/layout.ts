// The paths of a policy as they are on this machine now: links resolved, missing ones left out, protected ones found.

import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isWithin, PROTECTED_NAMES, type SandboxPolicy } from './policy.ts';

export interface Layout {
  readonly cwd: string;
  readonly writable: readonly string[];
  readonly protected: readonly string[];
  readonly hidden: readonly { readonly path: string; readonly isFolder: boolean }[];
  readonly tmpdir: string | undefined;
}

export async function layoutOf(policy: SandboxPolicy, cwd: string): Promise<Layout> {
  const isWriting = policy.mode === 'workspace-write';
  const writable = isWriting ? await existing(policy.writableRoots) : [];
  const [tmpdir] = isWriting && policy.tmpdir && !policy.excludeTmpdir ? await existing([policy.tmpdir]) : [];
  const hidden: { path: string; isFolder: boolean }[] = [];
  for (const path of await existing(policy.hidden)) hidden.push({ path, isFolder: (await stat(path)).isDirectory() });
  return { cwd: await realpath(cwd), writable, protected: await protectedBelow(writable), hidden, tmpdir };
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  return [...new Set(real.filter((path) => path !== undefined))];
}

async function protectedBelow(roots: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const root of roots)
    for (const path of await existing(PROTECTED_NAMES.map((name) => join(root, name)))) {
      found.push(path, ...(await existing(await linkedRepository(path))));
    }
  return found.filter((path) => roots.some((root) => isWithin(path, root)));
}

/** In a worktree `.git` is a file that names the real repository folder, which may be writable too. */
async function linkedRepository(path: string): Promise<string[]> {
  const text = (await stat(path)).isFile() ? await readFile(path, 'utf8') : '';
  const target = /^gitdir: (.+)$/m.exec(text)?.[1];
  return target === undefined ? [] : [resolve(dirname(path), target)];
}
