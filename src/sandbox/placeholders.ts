// Empty folders that stand where a command must not make something of that name, for as long as a command is running there.

import { mkdirSync, rmdirSync } from 'node:fs';
import { codeOf } from '../base/errors.ts';
import { refusal } from './places.ts';

/**
 * Only what is there can be covered by a mount, so it has to be made. All of it happens without a pause: between looking and
 * counting nobody else may remove the folder, which would uncover the name for a command that is running.
 */
export class Placeholders {
  readonly #users = new Map<string, number>();

  /** Makes those of the paths that are missing, and gives those to be released; what no command could make either is left out. */
  hold(paths: readonly string[]): string[] {
    const held: string[] = [];
    try {
      for (const path of paths) if (this.#take(path)) held.push(path);
      return held;
    } catch (error) {
      this.release(held);
      throw error;
    }
  }

  /** What was put there goes with its last user, unless somebody has put something into it. */
  release(paths: readonly string[]): void {
    for (const path of paths) {
      const left = (this.#users.get(path) ?? 0) - 1;
      if (left > 0) {
        this.#users.set(path, left);
        continue;
      }
      this.#users.delete(path);
      try {
        rmdirSync(path);
      } catch {
        // It is in use by now, or gone; both are fine.
      }
    }
  }

  #take(path: string): boolean {
    const users = this.#users.get(path);
    if (users === undefined && !make(path)) return false;
    this.#users.set(path, (users ?? 0) + 1);
    return true;
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
