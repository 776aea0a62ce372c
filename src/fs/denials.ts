// What the profile of default_permissions keeps from every thread, and so from remote people who ask for files themselves.

import { profileOf } from '../config/profiles.ts';
import type { Config } from '../config/schema.ts';
import { namedProfile } from '../config/thread-defaults.ts';
import { rulesOf } from '../model/policy.ts';
import { matches, readPatterns } from '../sandbox/pattern.ts';
import { isWithin } from '../sandbox/policy.ts';
import { systemPaths } from '../sandbox/shown.ts';
import { realPathOf } from './containment.ts';

/** Asked about real paths. */
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
  const hidden = [
    ...(patterns?.denied ?? []).flatMap((text) => readPatterns(text)),
    ...anywhere([...workspace.denied.map(literal), ...(patterns?.workspace ?? [])]),
  ];
  const covers = await real(denied);
  const isHidden: IsDenied = (path) =>
    covers.some((cover) => isWithin(path, cover)) || hidden.some((pattern) => matches(pattern, path));
  if (!readable || readable.workspace.includes('.')) return isHidden;
  const system = readable.isMinimal ? (await systemPaths()).paths : [];
  const shown = await real([...readable.paths, ...system]);
  const inWorkspace = anywhere([...readable.workspace, ...workspace.write].map(literal));
  const isShown: IsDenied = (path) =>
    shown.some((folder) => isWithin(path, folder)) || inWorkspace.some((pattern) => matches(pattern, path));
  return (path) => isHidden(path) || !isShown(path);
}

const real = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => realPathOf(path).catch(() => path)));

const literal = (path: string): string => path.replaceAll(/[\\*?[\]{}]/g, '\\$&');
