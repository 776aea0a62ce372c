// Making folders.

import { lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, isAppError } from '../base/errors.ts';
import { fsFault } from './fault.ts';
import type { Protection } from './protection.ts';
import type { Place, Reach } from './reach.ts';

export interface CreateParts {
  readonly reach: Reach;
  readonly protection: Protection;
}

/** `isRecursive`: with the folders above it, and one that is there already is as good. */
export async function createDirectory(path: string, isRecursive: boolean, parts: CreateParts): Promise<void> {
  const real = await parts.reach.real(path, 'target');
  parts.protection.checkWritable(real, path);
  const place = await placeOf(real, isRecursive, parts);
  try {
    parts.protection.checkWritable(join(place.folder.path, place.name), path);
    await mkdir(place.path);
  } catch (error) {
    const isThere = codeOf(error) === 'EEXIST' && (await lstat(place.path)).isDirectory();
    if (!isRecursive || !isThere) throw fsFault(error, path);
  } finally {
    await place.close();
  }
}

async function placeOf(real: string, isRecursive: boolean, parts: CreateParts): Promise<Place> {
  try {
    return await parts.reach.place(real, 'entry');
  } catch (error) {
    const above = dirname(real);
    if (!isRecursive || !isAppError(error, 'notFound') || above === real) throw error;
    await createDirectory(above, true, parts);
    return parts.reach.place(real, 'entry');
  }
}
