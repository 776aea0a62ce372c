// What a policy keeps from being seen, as it lies on this machine now, or why no command may run.

import { join, relative, resolve } from 'node:path';
import { expand } from './expansion.ts';
import { matches, type Pattern } from './pattern.ts';
import { type KnownPlaces, locate, refusal } from './places.ts';
import { isWithin, type SandboxPolicy } from './policy.ts';

export interface Cover {
  /** Links resolved. */
  readonly path: string;
  readonly isFolder: boolean;
}

/** A folder that commands may write. */
export interface Area {
  readonly given: string;
  readonly path: string;
}

/** What programs are given, and see nothing else of the folders that are private to each. */
export interface View {
  /** Real paths. */
  readonly visible: readonly string[];
  readonly areas: readonly Area[];
  /** Each program has an empty folder of its own around it. */
  isPrivate(path: string): boolean;
  /** It, or something around it or in it, is shown. */
  isShown(path: string): boolean;
}

/** Rejects as *forbidden* when something cannot be hidden for good. */
export async function coversOf(policy: SandboxPolicy, known: KnownPlaces, view: View): Promise<readonly Cover[]> {
  const covers = new Map<string, Cover>();
  const put = (cover: Cover) => {
    if (isSeen(cover.path, view) && !covers.has(cover.path)) covers.set(cover.path, cover);
  };
  for (const given of policy.hidden) {
    const { path, exists, isFolder } = await known.hidden(given);
    if (!exists && !view.isPrivate(path))
      throw refusal(`${given}, which commands must not see, is missing, and may be elsewhere`, given);
    if (exists) put({ path, isFolder });
  }
  for (const given of policy.denied ?? []) {
    const { path, exists, isFolder } = await known.hidden(given);
    refuseTurnable(resolve(given), path, view.areas);
    if (exists) put({ path, isFolder });
  }
  for (const cover of await matched(policy, view)) put(cover);
  return [...covers.values()];
}

const isSeen = (path: string, view: View): boolean => !view.isPrivate(path) && view.isShown(path);

async function matched({ patterns }: SandboxPolicy, view: View): Promise<readonly Cover[]> {
  if (!patterns) return [];
  const all = await Promise.all(patterns.all.map((pattern) => rooted(pattern, view.areas)));
  const denied = view.visible.find((path) => all.some((pattern) => matches(pattern, path)));
  if (denied !== undefined) throw refusal(`${denied} is denied by a pattern of the permission profile`, denied);
  const found = await expand({ ...patterns, all }, (folder) => !isSeen(folder, view));
  for (const { path, isUnseen } of found.matches) {
    // In a folder of commands below it nothing was looked for; such a folder itself is closed to them until somebody opens it.
    const lost = view.visible.find((each) => (isUnseen ? each !== path && isWithin(each, path) : each === path));
    if (lost !== undefined)
      throw refusal(`${lost} would be hidden by what the permission profile denies by patterns`, lost);
  }
  for (const link of found.links) if (view.areas.some(({ path }) => isWithin(link, path))) throw turnable(link);
  return found.matches;
}

async function rooted(pattern: Pattern, areas: readonly Area[]): Promise<Pattern> {
  const { path } = await locate(pattern.base);
  refuseTurnable(pattern.base, path, areas);
  return { ...pattern, base: path };
}

/** What leads through a link that a command may replace would be found elsewhere by the next one. */
function refuseTurnable(given: string, real: string, areas: readonly Area[]): void {
  for (const area of areas)
    for (const start of [area.given, area.path])
      if (given !== start && isWithin(given, start) && real !== join(area.path, relative(start, given)))
        throw turnable(given);
}

const turnable = (path: string) =>
  refusal(
    `${path} is denied, and leads through a link in a folder that commands may write; deny what it leads to`,
    path,
  );
