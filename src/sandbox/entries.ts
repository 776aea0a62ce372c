// What lies in a folder and where a link leads, when commands of the same user could open what is shut to us now.

import { constants, type Dirent } from 'node:fs';
import { access, lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { refusal } from './places.ts';

/**
 * `shut`: what is in it cannot be told, and commands could get at it: its owner, which is this user, may open it, or whoever knows the
 * names may enter. A folder of somebody else that nobody gets into holds nothing for commands. Rejects as *forbidden* when it cannot be told.
 */
export async function entriesOf(folder: string): Promise<readonly Dirent[] | 'shut'> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    if (!isDenial(code)) throw refusal(`${folder} cannot be looked through (${code})`, folder);
    const mayEnter = await access(folder, constants.X_OK).then(
      () => true,
      () => false,
    );
    return mayEnter || (await isOwn(folder)) ? 'shut' : [];
  }
}

/** Undefined: nowhere that commands could get to. Rejects as *forbidden* when it cannot be told. */
export async function leadingTo(
  link: string,
): Promise<{ readonly path: string; readonly isFolder: boolean } | undefined> {
  try {
    const path = await realpath(link);
    return { path, isFolder: (await stat(path)).isDirectory() };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    if (isDenial(code) && !(await isOwn(await shutOnTheWay(link)))) return undefined;
    throw refusal(`it cannot be told where ${link} leads (${code})`, link);
  }
}

const isDenial = (code: string | undefined): boolean => code === 'EACCES' || code === 'EPERM';

async function isOwn(folder: string): Promise<boolean> {
  try {
    return (await lstat(folder)).uid === process.geteuid?.();
  } catch (error) {
    throw refusal(`it cannot be told whose ${folder} is (${codeOf(error)})`, folder);
  }
}

/** As the kernel does. */
const MOST_LINKS = 40;

/** The folder that what it leads through ends at. */
async function shutOnTheWay(link: string): Promise<string> {
  const names = link.split('/');
  let folder = '/';
  let links = 0;
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = join(folder, name);
    const found = await lstat(next).catch(() => undefined);
    if (!found) return folder;
    if (!found.isSymbolicLink()) folder = next;
    else if (++links > MOST_LINKS) break;
    else {
      const target = await readlink(next);
      if (target.startsWith('/')) folder = '/';
      names.unshift(...target.split('/'));
    }
  }
  throw refusal(`it cannot be told where ${link} leads`, link);
}
