// Making folders.

import { lstat, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, isAppError } from '../base/errors.ts';
import { fsFault } from './fault.ts';
import type { Place, Reach } from './reach.ts';

/** `isRecursive`: with the folders above it, and one that is there already is as good. */
export async function createDirectory(path: string, isRecursive: boolean, reach: Reach): Promise<void> {
  const real = await reach.real(path, 'target');
  const place = await placeOf(real, isRecursive, reach);
  try {
    await mkdir(place.path);
  } catch (error) {
    const isThere = codeOf(error) === 'EEXIST' && (await lstat(place.path)).isDirectory();
    if (!isRecursive || !isThere) throw fsFault(error, path);
  } finally {
    await place.close();
  }
}

async function placeOf(real: string, isRecursive: boolean, reach: Reach): Promise<Place> {
  try {
    return await reach.place(real, 'entry');
  } catch (error) {
    const above = dirname(real);
    if (!isRecursive || !isAppError(error, 'notFound') || above === real) throw error;
    await createDirectory(above, true, reach);
    return reach.place(real, 'entry');
  }
}
