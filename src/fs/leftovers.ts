// What an earlier server could not remove because it was killed: temporary files of ours, and folders that stood in for something.

import { randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { lstat, readdir, readlink, rm, rmdir, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../base/errors.ts';
import type { Leftovers } from '../base/leftovers.ts';
import type { Log } from '../base/log.ts';
import { isTemporaryName } from './replacement.ts';

/**
 * Removes what was noted in a folder of ours, and notes there from now on: a link for each, since a link is made at once and
 * whole. Nobody else may use the folder. What cannot be removed is tried again next time; nothing is lost by an empty folder.
 */
export async function openLeftovers(folder: string, log: Log): Promise<Leftovers> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const note = join(folder, name);
    try {
      await removeLeftover(await readlink(note));
      await unlink(note);
    } catch (error) {
      log.warn({ err: error, note }, 'what an earlier server left behind could not be removed');
    }
  }
  return {
    note(path) {
      const note = join(folder, randomBytes(8).toString('hex'));
      try {
        symlinkSync(path, note);
      } catch {
        return () => {}; // a full disk must not keep anybody from working: it is removed unless we are killed
      }
      return () => forget(note);
    },
  };
}

/** A temporary file or tree, which nobody but us can have made, with all it holds; else a folder that is still empty. */
async function removeLeftover(path: string): Promise<void> {
  try {
    if (isTemporaryName(basename(path))) await rm(path, { recursive: true, force: true });
    else if ((await lstat(path)).isDirectory()) await rmdir(path);
  } catch (error) {
    const code = codeOf(error) ?? '';
    if (!['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(code)) throw error;
  }
}

function forget(note: string): void {
  try {
    unlinkSync(note);
  } catch {} // the folder has been cleared by somebody
}
