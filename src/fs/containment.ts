// Whether a path lies below a root, decided on the real path of its deepest existing parent.

import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { codeOf } from '../base/errors.ts';

/** The path with the links of everything that exists resolved; what does not exist yet is kept as it is. */
export async function realPathOf(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    if (codeOf(error) !== 'ENOENT' || parent === absolute) throw error;
    return join(await realPathOf(parent), basename(absolute));
  }
}

/** False for anything that is not absolute, holds a NUL, or cannot be resolved. */
export async function isBelow(path: string, roots: readonly string[]): Promise<boolean> {
  if (!isAbsolute(path) || path.includes('\0')) return false;
  try {
    const real = await realPathOf(path);
    for (const root of roots) if (isInside(real, await realPathOf(root))) return true;
    return false;
  } catch {
    return false;
  }
}

function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
