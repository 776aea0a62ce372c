// What nobody may remove or write through us: where people live and work, the top of the system, and the server's own files.

import { stat } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname, relative, sep } from 'node:path';
import { AppError } from '../base/errors.ts';
import { isInside, realPathOf } from './containment.ts';

/** What people edit of the server's own folder: files, and folders with all they hold. */
const EDITABLE = ['config.yaml', 'AGENTS.md', 'AGENTS.override.md', 'rules', 'skills'];

export interface ProtectionParts {
  /** Homes, workspaces and the like; they need not exist. */
  readonly folders: readonly string[];
  /** The real path of the folder with the server's own files. */
  readonly ownFolder: string;
  /** The folder whose folders are those of the system; a test has another one. */
  readonly top: string;
}

export class Protection {
  readonly #parts: ProtectionParts;

  constructor(parts: ProtectionParts) {
    this.#parts = parts;
  }

  /** Throws as *forbidden* for a file of the server itself. `real` is where something is written or removed, `shown` what it was called. */
  checkWritable(real: string, shown: string): void {
    const { ownFolder } = this.#parts;
    const [first = ''] = relative(ownFolder, real).split(sep);
    if (!isInside(real, ownFolder) || real === ownFolder || EDITABLE.includes(first)) return;
    const text = `${shown} is one of the server's own files: of its data folder clients write ${EDITABLE.join(', ')} only`;
    throw refusal(text, shown, ownFolder);
  }

  /** Throws as *forbidden* for what lies directly in the top folder: a folder, or a link to one. */
  checkNotOfTop(real: string, shown: string): void {
    if (dirname(real) === this.#parts.top) throw refusal(`${shown} is not removed: it is of the system`, shown, real);
  }

  /**
   * Rejects as *forbidden* for a folder that is protected or holds one that is, by name and by identity, since a folder may have
   * several names. `path` is for the system.
   */
  async checkRemovable(folder: {
    readonly shown: string;
    readonly real: string;
    readonly path: string;
  }): Promise<void> {
    const { shown, real, path } = folder;
    const { folders, ownFolder, top } = this.#parts;
    this.checkNotOfTop(real, shown);
    const own = await stat(path);
    for (const each of [top, ownFolder, ...folders]) {
      const home = await realPathOf(each).catch(() => each);
      if (!isInside(home, real) && !(await leadsThrough(home, own))) continue;
      const text = `${shown} is not removed: it is, or holds, ${each}, which is in use as a home, workspace or data folder`;
      throw refusal(text, shown, each);
    }
  }
}

/** The home folder of the environment, the one that the system has for its user, and the root of all. */
export function keptFolders(): { readonly homes: readonly string[]; readonly top: string } {
  try {
    return { homes: [homedir(), userInfo().homedir], top: '/' };
  } catch {
    return { homes: [homedir()], top: '/' }; // a user whom the system does not know
  }
}

/** Whether the folder, or one above it, is this one. */
async function leadsThrough(folder: string, own: { readonly dev: number; readonly ino: number }): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    const stats = await stat(at).catch(() => undefined);
    if (stats?.dev === own.dev && stats.ino === own.ino) return true;
    if (dirname(at) === at) return false;
  }
}

function refusal(text: string, path: string, protectedPath: string): AppError {
  return new AppError('forbidden', text, { kind: 'protected', path, protectedPath });
}
