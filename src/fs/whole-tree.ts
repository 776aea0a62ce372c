// Whether somebody may touch all of a tree, found out before anything is done to it.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfAborted } from '../base/signals.ts';
import { systemFault } from './fault.ts';
import { type EntryName, enter, type Folder } from './folder.ts';
import type { Reach } from './reach.ts';

/**
 * Rejects as *forbidden* for the first entry below the folder that is out of reach, there or where it is to be: `landing` is the real
 * path that the folder will have too.
 */
export async function checkTree(
  parent: Folder,
  name: EntryName,
  reach: Reach,
  signal: AbortSignal,
  landing?: string,
): Promise<void> {
  if (!reach.isConfined) return;
  const folder = await enter(parent, name);
  try {
    for (const entry of await readdir(folder.at('.'), { withFileTypes: true, encoding: 'buffer' })) {
      throwIfAborted(signal);
      const own = entry.name.toString();
      const there = landing === undefined ? undefined : join(landing, own);
      checkHeld(join(folder.path, own), reach);
      if (there !== undefined) checkHeld(there, reach);
      if (entry.isDirectory()) await checkTree(folder, entry.name, reach, signal, there);
    }
  } finally {
    await folder.close();
  }
}

/** Throws as *forbidden* for a real path that is out of reach. */
export function checkHeld(real: string, reach: Reach): void {
  if (!reach.holdsReal(real)) throw systemFault('EACCES', real);
}
