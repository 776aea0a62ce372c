// What lies in writable folders and stays read-only: that which makes others run programs later.

import { lstat, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { locate, refusal } from './places.ts';
import { isWithin, PROTECTED_NAMES } from './policy.ts';

export interface Protected {
  /** Everything that is there. */
  readonly present: readonly string[];
  /** Every protected name, there or not: where it is missing, or goes in this moment, it must not be made. */
  readonly names: readonly string[];
}

/**
 * Rejects as *forbidden* when something cannot be protected where it is. `roots`, and `more` that is to be protected, are real
 * paths.
 */
export async function protectedBelow(roots: readonly string[], more: readonly string[] = []): Promise<Protected> {
  const present: string[] = [];
  const own = roots.flatMap((root) => PROTECTED_NAMES.map((name) => join(root, name)));
  const names = [...new Set([...own, ...more])];
  for (const path of names) {
    const kind = await kindOf(path);
    if (kind !== 'missing') present.push(path, ...(kind === 'file' ? await linkedRepository(path, roots) : []));
  }
  return { present, names };
}

async function kindOf(path: string): Promise<'missing' | 'file' | 'other'> {
  try {
    const found = await lstat(path);
    // A mount would cover what it leads to, and leave the link itself to be replaced.
    if (found.isSymbolicLink()) throw refusal(`${path} is a link, and a link cannot be protected from commands`, path);
    return found.isFile() ? 'file' : 'other';
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    if (code === undefined) throw error;
    throw refusal(`${path} has to be protected from commands, and cannot be looked at (${code})`, path);
  }
}

/** In a worktree `.git` is a file that names the real repository folder, which may be writable too. */
async function linkedRepository(path: string, roots: readonly string[]): Promise<string[]> {
  const target = /^gitdir: (.+)$/m.exec(await readFile(path, 'utf8'))?.[1];
  if (target === undefined) return [];
  const place = await locate(resolve(dirname(path), target));
  if (!roots.some((root) => isWithin(place.path, root))) return [];
  if (!place.exists) throw refusal(`${path} names a repository that is missing: ${place.path}`, path);
  return [place.path];
}
