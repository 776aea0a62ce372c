// Where the files of a patch lie: in what the thread may write, outside of it, or out of anybody's sight.

import { resolve } from 'node:path';
import { NO_PERMISSIONS } from '../../approvals/grants.ts';
import { isAppError } from '../../base/errors.ts';
import { realPathOf } from '../../fs/containment.ts';
import type { Permissions } from '../../model/approval.ts';
import type { ThreadSettings } from '../../model/thread.ts';
import { isCovered, isWithin } from '../../sandbox/policy.ts';
import { protectedBelow } from '../../sandbox/protected.ts';
import { type RuledPaths, ruledPaths } from '../../sandbox/ruled-paths.ts';
import { systemPaths } from '../../sandbox/shown.ts';
import { deniedBy } from './denied.ts';

/**
 * `workspace`: below a root, and nothing that makes others run programs. `hidden`: neither shown nor changed, whoever says yes.
 */
export type Standing = 'workspace' | 'outside' | 'hidden';

export interface Reach {
  /** Of a real path. */
  standing(real: string): Standing;
}

/** What the kernel shows as files, the environment of this process among it. */
const KERNEL: readonly string[] = ['/proc', '/sys', '/dev'];

/** `.GIT` is `.git` where names are the same in upper and lower case. */
const folded = (path: string): string => (process.platform === 'linux' ? path : path.toLowerCase());

/** What people have granted beyond the policy; `askable`: all that could be granted. */
type Granted = Permissions | 'askable';

/**
 * As things are now: roots that no longer lead where they did when they were chosen are none. `hidden`: what no sandboxed command may
 * see. `isCapped`: a turn under the operator's ceiling sees nothing outside of its roots.
 */
export async function reachOf(
  settings: ThreadSettings,
  hidden: readonly string[],
  isCapped: boolean,
  granted: Granted = NO_PERMISSIONS,
): Promise<Reach> {
  const { sandboxPolicy } = settings;
  const isBare = sandboxPolicy.type === 'dangerFullAccess' || sandboxPolicy.type === 'externalSandbox';
  const isWriting = sandboxPolicy.type === 'workspaceWrite';
  const ruled = ruledPaths(sandboxPolicy, [settings.cwd, ...settings.workspaceRoots], settings.rootPlaces);
  const roots = await rootsOf(settings, ruled.writable);
  const [kept, isDenied, isReadable] = await Promise.all([
    protectedIn(roots),
    deniedBy(ruled.patterns),
    readableBy(ruled, granted),
  ]);
  const covers = isBare ? [] : await real([...hidden, ...ruled.denied]);
  const [readOnly, named] = await Promise.all([real(ruled.readOnly), real(ruled.writable)]);
  const writable = named.filter((path) => roots.includes(path));
  const isHidden = (path: string) =>
    isCovered(path, covers, isWriting ? writable : []) || KERNEL.some((folder) => isWithin(path, folder));
  return {
    standing(path) {
      if (isHidden(path) || isDenied(path) || !isReadable(path)) return 'hidden';
      const isInside = kept !== undefined && roots.some((root) => isWithin(path, root));
      const isKept = isCovered(path, readOnly, writable);
      if (isInside && !isKept && !kept.some((each) => isWithin(folded(path), folded(each)))) return 'workspace';
      return isCapped && !isBare && !roots.some((root) => isWithin(path, root)) ? 'hidden' : 'outside';
    },
  };
}

const real = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => realPathOf(path).catch(() => path)));

async function readableBy({ readable, writable }: RuledPaths, granted: Granted): Promise<(path: string) => boolean> {
  if (!readable || granted === 'askable') return () => true;
  const system = readable.isMinimal ? (await systemPaths()).paths : [];
  const folders = await real([...readable.paths, ...system, ...writable, ...granted.read, ...granted.write]);
  return (path) => folders.some((folder) => isWithin(path, folder));
}

async function rootsOf(settings: ThreadSettings, writable: readonly string[]): Promise<string[]> {
  const { cwd, workspaceRoots, rootPlaces } = settings;
  const given = [...new Set([cwd, ...workspaceRoots, ...writable])];
  const real = await Promise.all(
    given.map(async (path) => {
      const place = await realPathOf(path).catch(() => undefined);
      const isAsChosen = rootPlaces === undefined || place === (rootPlaces[path] ?? resolve(path));
      return isAsChosen ? place : undefined;
    }),
  );
  return real.filter((path) => path !== undefined);
}

/** Undefined: something cannot be protected where it is, so nothing counts as the workspace. */
async function protectedIn(roots: readonly string[]): Promise<readonly string[] | undefined> {
  try {
    const { present, names } = await protectedBelow(roots);
    return [...present, ...names];
  } catch (error) {
    if (isAppError(error, 'forbidden')) return undefined;
    throw error;
  }
}
