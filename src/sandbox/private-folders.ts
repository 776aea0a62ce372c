// Folders of the host that every command gets an empty one of its own for: there programs leave their sockets and each other's data.

import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { refusal } from './places.ts';
import { isWithin } from './policy.ts';

/** Not to be worked in themselves: all of it, or the sockets of all users, would be shown. */
const NEVER_SHOWN: readonly string[] = ['/run', '/tmp', '/run/user'];

export class PrivateFolders {
  readonly paths: readonly string[];

  /** `paths`: real paths; none where the sandbox shows everything at its place. */
  constructor(paths: readonly string[]) {
    this.paths = paths;
  }

  has(path: string): boolean {
    return this.paths.some((folder) => isWithin(path, folder));
  }

  /** True when `path` is private, and neither lies in nor around what is shown to the command. */
  isUnseen(path: string, shown: readonly string[]): boolean {
    return (
      this.paths.some((folder) => folder !== path && isWithin(path, folder)) &&
      !shown.some((each) => this.has(each) && (isWithin(path, each) || isWithin(each, path)))
    );
  }

  /** Throws as *forbidden* for a folder of the host that the command does not see; a private folder itself is there, and empty. */
  refuseWorkingIn(cwd: string): void {
    if (this.has(cwd) && !this.paths.includes(cwd))
      throw refusal(
        `the working directory ${cwd} lies outside of the workspace, in a folder that is private to each command`,
        cwd,
      );
  }
}

/** Rejects as *forbidden* when showing `root` to commands would show sockets of others. `hidden` ones are not shown anyway. */
export async function refuseFolderOfSockets(
  root: string,
  privates: PrivateFolders,
  hidden: readonly string[],
): Promise<void> {
  if (!privates.has(root)) return;
  if (NEVER_SHOWN.includes(root))
    throw refusal(`${root} cannot be a workspace: programs leave their sockets there`, root);
  for await (const entry of await opendir(root).catch(() => []))
    if (entry.isSocket() && !hidden.includes(join(root, entry.name)))
      throw refusal(`${root} cannot be a workspace: it holds the socket ${entry.name}`, root);
}
