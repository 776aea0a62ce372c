// The paths of a policy as they are on this machine now, or why no command may run on them.

import { dirname, join, relative, resolve } from 'node:path';
import { type Area, type Cover, coversOf } from './covers.ts';
import { type KnownPlaces, locate, type Place, refusal } from './places.ts';
import { isCovered, isWithin, type SandboxPolicy } from './policy.ts';
import { type PrivateFolders, refuseFolderOfSockets } from './private-folders.ts';
import { protectedBelow } from './protected.ts';
import { type Shown, shownBy } from './shown.ts';

/** All of them real paths. */
export interface Layout {
  readonly cwd: string;
  readonly workspace: readonly string[];
  /** Nothing else can be read, but what may be written; undefined: all that is not hidden. */
  readonly shown: Pick<Shown, 'paths' | 'links'> | undefined;
  readonly writable: readonly string[];
  /** Folders below writable ones on the way to something in this layout: who renames them would uncover it for the next command. */
  readonly pinned: readonly string[];
  readonly protected: readonly string[];
  /** All protected names below the writable folders: where one is missing, it must not be made. */
  readonly reserved: readonly string[];
  readonly hidden: readonly Cover[];
  readonly tmpdir: string | undefined;
}

/** Each of them is a mount, and each mount costs more than the last. */
const MOST_PINNED = 300;

interface Root extends Place {
  readonly given: string;
}

/** Rejects as *forbidden* when a path leads elsewhere than before, or cannot be hidden, protected or worked in. */
export async function layoutOf(
  policy: SandboxPolicy,
  givenCwd: string,
  known: KnownPlaces,
  privates: PrivateFolders,
): Promise<Layout> {
  const isWriting = policy.mode === 'workspace-write';
  const workspace = await rootsOf(policy.workspace, policy, known);
  const writable = isWriting ? await rootsOf(policy.writableRoots, policy, known) : [];
  const tmpdir = await usableTmpdir(policy, known, privates);
  const shown = await shownBy(policy, known);
  const areas = [...writable, ...(tmpdir ? [tmpdir] : [])];
  refuseLinksBetween([...areas, ...(shown?.named ?? [])], areas);

  const roots = pathsOf(writable);
  const areaPaths = pathsOf(areas);
  const visible = [...(shown?.paths ?? pathsOf(workspace)), ...areaPaths];
  const isPrivate = (path: string) => privates.isUnseen(path, visible);
  const isShown = (path: string) => !shown || visible.some((each) => isWithin(path, each) || isWithin(each, path));
  const hidden = await coversOf(policy, known, { visible, areas, isPrivate, isShown });
  const covers = hidden.map(({ path }) => path);
  for (const { path } of [...workspace, ...writable, ...(shown?.named ?? [])])
    await known.once(path, () => refuseFolderOfSockets(path, privates, covers));
  const inSight = (path: string) => !isCovered(path, covers, areaPaths);
  const wanted = await keptIn(policy, roots, inSight);
  const { present, names } = await protectedBelow(roots.filter(inSight), wanted);
  const kept = present.filter(inSight);
  const { path: cwd } = await locate(resolve(givenCwd));
  if (!inSight(cwd)) throw refusal(`the working directory is hidden from commands: ${cwd}`, cwd);
  if (!visible.some((root) => isWithin(cwd, root))) privates.refuseWorkingIn(cwd);
  if (!isShown(cwd)) throw refusal(`the permission profile does not let commands read ${cwd}, their folder`, cwd);
  const ways = foldersBetween(areaPaths, [...roots, ...kept, ...(shown?.paths ?? []), ...covers]);
  return {
    cwd,
    workspace: pathsOf(workspace),
    shown: shown && { paths: shown.paths.filter(inSight), links: shown.links },
    writable: roots,
    pinned: pinnedOf(ways.filter((path) => inSight(path) && !isCovered(path, kept, areaPaths))),
    protected: kept,
    reserved: names,
    hidden,
    tmpdir: tmpdir?.path,
  };
}

function rootsOf(paths: readonly string[], { places }: SandboxPolicy, known: KnownPlaces): Promise<Root[]> {
  return Promise.all(
    paths.map(async (path) => {
      const place = await known.root(path, places && (places[path] ?? resolve(path)));
      return { given: resolve(path), ...place };
    }),
  );
}

/** A root that is missing is none. */
function pathsOf(roots: readonly Root[]): string[] {
  return [...new Set(roots.filter(({ exists }) => exists).map(({ path }) => path))];
}

/** In a private folder commands get one of their own instead. */
async function usableTmpdir(
  policy: SandboxPolicy,
  known: KnownPlaces,
  privates: PrivateFolders,
): Promise<Root | undefined> {
  if (policy.mode !== 'workspace-write' || !policy.tmpdir || policy.excludeTmpdir) return undefined;
  const place = await known.root(policy.tmpdir);
  return place.exists && !privates.has(place.path) ? { given: resolve(policy.tmpdir), ...place } : undefined;
}

/**
 * What can be written can also be filled with links. A root inside another is therefore taken only where it lies without any: this
 * holds also for links that were made before anything is remembered.
 */
function refuseLinksBetween(inside: readonly Area[], areas: readonly Area[]): void {
  for (const inner of inside)
    for (const outer of areas)
      for (const start of [outer.given, outer.path]) {
        if (inner.given === start || !isWithin(inner.given, start)) continue;
        if (inner.path !== join(outer.path, relative(start, inner.given)))
          throw refusal(
            `${inner.given} leads through a link inside of ${start}, which commands may write`,
            inner.given,
          );
      }
}

/** What is to stay as it is in what may be written; a root in it is mounted over it. */
async function keptIn(
  { readOnly = [] }: SandboxPolicy,
  roots: readonly string[],
  inSight: (path: string) => boolean,
): Promise<string[]> {
  const places = await Promise.all(readOnly.map((path) => locate(resolve(path))));
  const real = places.map(({ path }) => path);
  return real.filter((path) => inSight(path) && roots.some((root) => root !== path && isWithin(path, root)));
}

function pinnedOf(folders: readonly string[]): readonly string[] {
  if (folders.length <= MOST_PINNED) return folders;
  const what = `what is denied lies in more than ${MOST_PINNED} folders that would have to stay where they are`;
  throw refusal(`${what}; deny folders instead`, folders[0] ?? '/');
}

function foldersBetween(areas: readonly string[], targets: readonly string[]): string[] {
  const between = new Set<string>();
  for (const target of targets)
    for (const area of areas) {
      if (target === area || !isWithin(target, area)) continue;
      for (let folder = dirname(target); folder !== area; folder = dirname(folder)) between.add(folder);
    }
  return [...between];
}
