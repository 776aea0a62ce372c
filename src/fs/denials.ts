// What the profile of default_permissions keeps from every thread, and so from remote people who ask for files themselves.

import { profileOf } from '../config/profiles.ts';
import type { Config } from '../config/schema.ts';
import { namedProfile } from '../config/thread-defaults.ts';
import { rulesOf } from '../model/policy.ts';
import { matches, readPatterns } from '../sandbox/pattern.ts';
import { isWithin } from '../sandbox/policy.ts';
import { systemPaths } from '../sandbox/shown.ts';
import { isBelow, realPathOf, waysOf } from './containment.ts';

/** Asked about real paths, and about what a path is called at the links on its way: see `waysOf`. */
export type IsDenied = (real: string) => boolean;

/**
 * Undefined: nothing is. What is said of a workspace holds for every folder below the roots, since each can be one. Rejects as *invalid*
 * when there is no such profile.
 */
export async function denialsOf(config: Config): Promise<IsDenied | undefined> {
  const { roots, sandbox } = config.remote;
  const id = sandbox === 'danger-full-access' ? undefined : namedProfile(config);
  const rules = id === undefined ? undefined : rulesOf(profileOf(config, id).sandboxPolicy);
  if (!rules) return undefined;
  const { denied, workspace, patterns, readable } = rules;
  const folders = await real(roots);
  const anywhere = (texts: readonly string[]) =>
    folders.flatMap((root) => texts.flatMap((text) => readPatterns(`**/${text}`, root)));
  const given = [
    ...(patterns?.denied ?? []).flatMap((text) => readPatterns(text)),
    ...anywhere([...workspace.denied.map(literal), ...(patterns?.workspace ?? [])]),
  ];
  const bases = await real(given.map(({ base }) => base));
  const hidden = given.map((pattern, at) => ({ ...pattern, base: bases[at] ?? pattern.base }));
  const covers = await real(denied);
  const isHidden: IsDenied = (path) =>
    covers.some((cover) => isWithin(path, cover)) || hidden.some((pattern) => matches(pattern, path));
  if (!readable || readable.workspace.includes('.')) return isHidden;
  const system = readable.isMinimal ? (await systemPaths()).paths : [];
  const shown = await real([...readable.paths, ...system]);
  const inWorkspace = anywhere([...readable.workspace, ...workspace.write].map(literal));
  const isShown: IsDenied = (path) =>
    shown.some((folder) => isWithin(path, folder)) || inWorkspace.some((pattern) => matches(pattern, path));
  // Links beside the roots lead into them, and are themselves nobody's to see.
  const isAsked: IsDenied = (path) => folders.some((root) => isWithin(path, root));
  return (path) => isHidden(path) || (isAsked(path) && !isShown(path));
}

/** Whether remote people may name a path: what it leads to lies below their roots, and neither it nor a link on the way is denied. */
export async function remoteNames(config: Config): Promise<(path: string) => Promise<boolean>> {
  const denies = await denialsOf(config);
  return async (path) => (await isBelow(path, config.remote.roots)) && !(denies && (await isDenied(path, denies)));
}

/** Also when it cannot be told. */
const isDenied = async (path: string, denies: IsDenied): Promise<boolean> => {
  const real = await realPathOf(path).catch(() => undefined);
  return real === undefined || denies(real) || isDeniedWay(path, denies, 'target').catch(() => true);
};

/** Whether a link on the way is denied, by its own name or that of what follows it. Rejects when it cannot be told. */
export async function isDeniedWay(path: string, denies: IsDenied, end: 'target' | 'entry'): Promise<boolean> {
  return (await waysOf(path, end)).some((way) => denies(way));
}

const real = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => realPathOf(path).catch(() => path)));

const literal = (path: string): string => path.replaceAll(/[\\*?[\]{}]/g, '\\$&');
