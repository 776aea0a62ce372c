// Lists skills, switches them on and off, and takes further roots for them.

import { isAbsolute } from 'node:path';
import type { JsonValue } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { foldersOf } from '../config/catalogues.ts';
import type { ConfigSource } from '../config/load.ts';
import { writeSettings } from '../config/writes.ts';
import { realPathOf } from '../fs/containment.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { OwnSkill, Skills } from './catalogue.ts';
import { configuredEntries, effectiveOf, type SkillSelector, withEntry } from './enabled.ts';
import { skillsMethods } from './methods.ts';
import type { RootWatches } from './root-watches.ts';

export interface SkillHandlerParts {
  readonly skills: Skills;
  readonly watches: RootWatches;
  readonly config: ConfigSource;
  /** The working directory of the server, which is meant where a client names none and has none of its own. */
  readonly cwd: string;
  /** What is below these roots is not what it was. */
  readonly changed: (roots: readonly string[]) => void;
}

export function skillsHandlers({ skills, watches, config, cwd, changed }: SkillHandlerParts): Route[] {
  return implement(skillsMethods, {
    skillsList: async ({ cwds }, { session, signal }) => {
      const { principal, client } = session;
      const data = [];
      for (const folder of foldersOf(cwds, client.cwd ?? cwd)) {
        signal.throwIfAborted();
        // Before the look, so that nothing comes unnoticed between the two.
        for (const { path, mayRead } of await skills.roots(folder, principal)) {
          const real = await realPathOf(path).catch(() => undefined);
          if (real !== undefined && (await mayRead(real, path))) await watches.watch([real]);
        }
        const found = await skills.of(folder, principal);
        data.push({ cwd: folder, skills: found.skills.map(viewOf), errors: [...found.errors] });
      }
      return { data };
    },

    skillsConfigWrite: async ({ path, name, enabled }, { session }) => {
      const selector = selectorOf(path, name);
      const { layers } = await config.state();
      const user = layers.find((layer) => layer.name.type === 'user');
      const value = withEntry(configuredEntries(user?.settings), selector, enabled) as JsonValue;
      await writeSettings(config, {
        principal: session.principal,
        edits: [{ keyPath: 'skills.config', value, mergeStrategy: 'replace' }],
        expectedVersion: user?.version,
      });
      return { effectiveEnabled: effectiveOf((await config.state()).config, selector) };
    },

    skillsExtraRootsSet: async ({ extraRoots }, { session }) => {
      if (!session.principal.isLocal)
        throw new AppError('forbidden', 'remote clients may not say where skills are looked for');
      const relative = extraRoots.find((root) => !isAbsolute(root));
      if (relative !== undefined) throw new AppError('invalid', `extraRoots: an absolute path is needed: ${relative}`);
      const before = skills.extraRoots;
      skills.extraRoots = [...new Set(extraRoots)];
      await watches.watch(skills.extraRoots);
      changed([...before, ...skills.extraRoots]);
      return {};
    },
  });
}

function selectorOf(path: string | null | undefined, name: string | null | undefined): SkillSelector {
  const isOne = (path ?? undefined) === undefined ? (name ?? '') !== '' : (name ?? undefined) === undefined;
  if (!isOne) throw new AppError('invalid', 'skills/config/write requires exactly one of path or name');
  if (!path) return { name: name ?? '' };
  if (!isAbsolute(path)) throw new AppError('invalid', `path: an absolute path is needed: ${path}`);
  return { path };
}

function viewOf({ name, description, shortDescription, path, scope, enabled }: OwnSkill) {
  const short = shortDescription === undefined ? {} : { shortDescription };
  return { name, description, ...short, path, scope, enabled, pluginId: null };
}
