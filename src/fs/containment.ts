// Whether a path lies below a root, decided on the real path of its deepest existing parent.

import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { codeOf } from '../base/errors.ts';

/** As many links as the kernel follows. */
const MAX_LINKS = 40;

/**
 * The absolute path with the links of everything that exists resolved as the kernel does, also those that lead to what does not
 * exist yet; what does not exist is kept as it is. Rejects when it cannot be told, as for a loop of links.
 */
export async function realPathOf(path: string, links = MAX_LINKS): Promise<string> {
  // Not normalized: `link/..` is beside what the link leads to, not beside the link.
  const absolute = isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`;
  try {
    return await realpath(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    if (codeOf(error) !== 'ENOENT' || parent === absolute) throw error;
    const place = join(await realPathOf(parent, links), basename(absolute));
    const target = await targetOf(place);
    if (target === undefined) return place;
    if (links === 0) throw error;
    return realPathOf(isAbsolute(target) ? target : `${dirname(place)}${sep}${target}`, links - 1);
  }
}

async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EINVAL') return undefined;
    throw error;
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

/** Whether a real path is that of the root or lies below it. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/**
 * What a path is called at each link on its way: the link's place, and what follows it up to a `..`. `entry`: a link at the end is none
 * of them. Rejects when it cannot be told, as for a loop of links.
 */
export async function waysOf(path: string, end: 'target' | 'entry'): Promise<string[]> {
  const ways: string[] = [];
  let rest = path.split(sep).filter((name) => name !== '');
  let at: string = isAbsolute(path) ? sep : process.cwd();
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    const isLast = end === 'entry' && rest.length === 0;
    const isName = name !== '.' && name !== '..';
    const target = isName && !isLast ? await targetOf(next) : undefined;
    if (target === undefined) {
      at = next;
      continue;
    }
    if (ways.length === MAX_LINKS) throw new Error(`${path}: too many links`);
    const up = rest.indexOf('..');
    ways.push(join(next, ...(up < 0 ? rest : rest.slice(0, up))));
    if (isAbsolute(target)) at = sep;
    rest = [...target.split(sep).filter((each) => each !== ''), ...rest];
  }
  return ways;
}
