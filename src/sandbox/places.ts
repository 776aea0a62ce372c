// Where paths lead, links resolved, and the memory of where they led before: a command must not be able to turn them elsewhere.

import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AppError, codeOf } from '../base/errors.ts';

export interface Place {
  /** Links resolved; what does not exist is taken to lie where its last folder that exists leads. */
  readonly path: string;
  readonly exists: boolean;
}

/** Rejects as *forbidden* when it cannot be told where the path leads. */
export async function locate(path: string): Promise<Place> {
  try {
    return { path: await realpath(path), exists: true };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR')
      throw refusal(`it cannot be told where ${path} leads (${codeOf(error)})`, path);
  }
  const outer = dirname(path);
  if (outer === path) return { path, exists: false };
  return { path: join((await locate(outer)).path, basename(path)), exists: false };
}

/** Roots and hidden folders that are remembered; the one that was not used for longest is forgotten first. */
const REMEMBERED = 10_000;

/**
 * Between two commands of a thread the first may have put a link, or another folder, where the second has its root. So each path
 * keeps the meaning that it had at its first use.
 */
export class KnownPlaces {
  readonly #known = new Map<string, string>();

  /**
   * Where a folder leads in which commands work. `chosen` is where it led when it was chosen, if somebody knows. Rejects as *forbidden* when that is not where it led before. A folder that was
   * made anew in its old place is welcome: whoever could put it there could write that place already.
   */
  async root(given: string, chosen?: string): Promise<Place> {
    const path = resolve(given);
    const place = await locate(path);
    const isAsBefore = chosen === undefined ? this.#isAsBefore(`root ${path}`, place.path) : chosen === place.path;
    if (!isAsBefore)
      throw refusal(`${path} no longer leads where it did (now to ${place.path}); name the real path instead`, path);
    return place;
  }

  /** The same for what commands must not see. A folder must also be the same one: another in its place would hide nothing. */
  async hidden(given: string): Promise<Place & { readonly isFolder: boolean }> {
    const path = resolve(given);
    const place = await locate(path);
    if (!place.exists) return { ...place, isFolder: false };
    const { dev, ino, isFolder } = await identityOf(place.path);
    if (isFolder && !this.#isAsBefore(`hidden ${path}`, `${dev} ${ino} ${place.path}`))
      throw refusal(`${path}, which commands must not see, is no longer the folder that it was`, path);
    return { ...place, isFolder };
  }

  /** Passes a check that holds for good once it has passed. */
  async once(path: string, check: () => Promise<void>): Promise<void> {
    const key = `checked ${path}`;
    if (!this.#known.has(key)) await check();
    this.#isAsBefore(key, '');
  }

  #isAsBefore(key: string, now: string): boolean {
    const before = this.#known.get(key) ?? now;
    this.#known.delete(key);
    this.#known.set(key, before);
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value as string);
    return before === now;
  }
}

async function identityOf(path: string): Promise<{ dev: bigint; ino: bigint; isFolder: boolean }> {
  try {
    const found = await stat(path, { bigint: true });
    return { dev: found.dev, ino: found.ino, isFolder: found.isDirectory() };
  } catch (error) {
    throw refusal(`${path}, which commands must not see, cannot be looked at (${codeOf(error)})`, path);
  }
}

/** Why a command is not run in the sandbox; the text goes to whoever asked for it. */
export function refusal(why: string, path: string): AppError {
  return new AppError('forbidden', `refused by the sandbox: ${why}`, { path });
}
