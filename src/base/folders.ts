// Folders: made where somebody named them, and synced after a rename.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './errors.ts';

/**
 * Makes a folder and those above it (0700) where they are missing. Throws what the system says. Where nothing can be made, the
 * recursive way of Node 20 tries for ever.
 */
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

/** Makes a rename in the folder outlast a loss of power; not every platform lets a folder be opened. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
