// A folder outside of repositories at one moment: its files are read, if they are not too many.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { listFiles } from '../../fs/file-list.ts';
import { isWithin } from '../../sandbox/policy.ts';
import type { Content } from '../patch/diff-text.ts';
import type { Observation } from '../patch/turn-diff.ts';
import type { SnapshotParts } from './git-snapshot.ts';
import { type Changes, MAX_CHANGED, type Snapshot } from './snapshot.ts';

/** Files up to which a folder is read before its first command. */
const MAX_FILES = 2_000;

/** Bytes of the names of all files. */
const MAX_NAMES = 4 * 1024 * 1024;

/** `root` is a real path. Rejects as *unavailable* for a folder with too many files, and as *cancelled*. */
export async function folderSnapshot(root: string, parts: SnapshotParts, signal: AbortSignal): Promise<Snapshot> {
  const before = new Map<string, Content | null>();
  const paths = await pathsIn(root, parts, signal);
  if (paths.length > MAX_FILES) throw new AppError('unavailable', `there are more than ${MAX_FILES} files in ${root}`);
  parts.contents.begin();
  for (const path of paths) before.set(path, await parts.contents.now(path));
  return {
    async changes(during: AbortSignal): Promise<Changes> {
      const there = new Set(await pathsIn(root, parts, during));
      const files: Observation[] = [];
      let leftOut = 0;
      parts.contents.begin();
      for (const path of new Set([...before.keys(), ...there])) {
        const was = before.get(path) ?? null;
        const after = await parts.contents.now(path);
        if (was === after || (was && after && was.id === after.id && was.mode === after.mode)) continue;
        if (files.length < MAX_CHANGED) files.push({ path, before: was, after });
        else leftOut += 1;
      }
      return { files, leftOut };
    },
    close: () => Promise.resolve(),
  };
}

/** Without those that ignore files name. */
async function pathsIn(root: string, parts: SnapshotParts, signal: AbortSignal): Promise<string[]> {
  const pieces: Buffer[] = [];
  let length = 0;
  const reach = { holdsReal: (path: string) => isWithin(path, root), hiddenBelow: () => [], denies: undefined };
  const tooMany = new AbortController();
  await listFiles(root, { ...parts, reach }, AbortSignal.any([signal, tooMany.signal]), (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_NAMES) tooMany.abort();
  });
  if (signal.aborted) throw new AppError('cancelled', 'looking for files was stopped');
  if (tooMany.signal.aborted) throw new AppError('unavailable', `there are too many files in ${root}`);
  const names = Buffer.concat(pieces).toString('utf8').split('\0').slice(0, -1);
  return names.map((name) => join(root, name)).filter((path) => !parts.isHidden(path));
}
