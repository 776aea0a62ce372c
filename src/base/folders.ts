// Making folders that somebody named: where nothing can be made, the recursive way of Node 20 tries for ever.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './errors.ts';

/** Makes a folder and those above it (0700) where they are missing. Throws what the system says. */
export function makeFolders(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    const above = dirname(path);
    // In /proc, say, a folder cannot be made although what is above it is there.
    if (code !== 'ENOENT' || existsSync(above)) throw error;
    makeFolders(above);
    makeFolders(path);
  }
}
