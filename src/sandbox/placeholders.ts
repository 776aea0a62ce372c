// Empty folders that stand where a command must not make something of that name, for as long as a command is running there.

import { lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { codeOf } from '../base/errors.ts';
import { type Leftovers, NO_LEFTOVERS } from '../base/leftovers.ts';
import { refusal } from './places.ts';

/**
 * Only what is there can be covered by a mount, so it has to be made. All of it happens without a pause: between looking and
 * counting nobody else may remove the folder, which would uncover the name for a command that is running.
 */
export class Placeholders {
  readonly #users = new Map<string, { count: number; readonly forget: () => void }>();

  /** Makes those of the paths that are missing, and gives those to be released; what no command could make either is left out. */
  hold(paths: readonly string[], leftovers: Leftovers = NO_LEFTOVERS): string[] {
    const held: string[] = [];
    try {
      for (const path of paths) if (this.#take(path, leftovers)) held.push(path);
      return held;
    } catch (error) {
      this.release(held);
      throw error;
    }
  }

  /** What was put there goes with its last user, unless somebody has put something into it. */
  release(paths: readonly string[]): void {
    for (const path of paths) {
      const users = this.#users.get(path);
      if (users && users.count > 1) {
        users.count -= 1;
        continue;
      }
      this.#users.delete(path);
      try {
        rmdirSync(path);
      } catch {
        // It is in use by now, or gone; both are fine.
      }
      users?.forget();
    }
  }

  #take(path: string, leftovers: Leftovers): boolean {
    const users = this.#users.get(path);
    if (users) {
      users.count += 1;
      return true;
    }
    if (lstatSync(path, { throwIfNoEntry: false })) return false;
    const forget = leftovers.note(path);
    let isMade = false;
    try {
      isMade = make(path);
    } finally {
      if (!isMade) forget();
    }
    if (isMade) this.#users.set(path, { count: 1, forget });
    return isMade;
  }
}

/** False when there is nothing to make. */
function make(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o755 });
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code !== undefined && ['EEXIST', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(code)) return false;
    throw refusal(`${path} has to be kept from commands, and cannot be (${code})`, path);
  }
}
