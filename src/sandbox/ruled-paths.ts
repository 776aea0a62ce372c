// What a policy with the rules of a permission profile says of a thread that works in certain folders.

import { join } from 'node:path';
import { type HeldPolicy, rulesOf } from '../model/policy.ts';
import { readPatterns } from './pattern.ts';
import type { Patterns, Readable } from './policy.ts';

export interface RuledPaths {
  readonly denied: readonly string[];
  readonly readOnly: readonly string[];
  /** All that may be written, the folders themselves among it. */
  readonly writable: readonly string[];
  /** Absent: there are none. */
  readonly patterns?: Patterns;
  /** Absent: all that is not denied. */
  readonly readable?: Readable;
}

/** `places`: where the folders led when they were chosen; those that are not named led to themselves. */
export function ruledPaths(
  policy: HeldPolicy,
  roots: readonly string[],
  places: Readonly<Record<string, string>> = {},
): RuledPaths {
  const isWriting = policy.type === 'workspaceWrite';
  const more = isWriting ? policy.writableRoots : [];
  const rules = rulesOf(policy);
  if (!rules) {
    const writable = isWriting ? [...new Set([...roots, ...more])] : [];
    return { denied: [], readOnly: [], writable };
  }
  const { workspace, patterns, readable } = rules;
  const real = roots.map((root) => places[root] ?? root);
  const inEach = (paths: readonly string[]) => real.flatMap((root) => paths.map((path) => join(root, path)));
  const own = workspace.isReadOnly ? [] : roots;
  const inside = (root: string) => (patterns?.workspace ?? []).flatMap((text) => readPatterns(text, root));
  const all = [...(patterns?.denied ?? []).flatMap((text) => readPatterns(text)), ...real.flatMap(inside)];
  return {
    denied: [...rules.denied, ...inEach(workspace.denied)],
    readOnly: [...rules.readOnly, ...(workspace.isReadOnly ? roots : []), ...inEach(workspace.readOnly)],
    writable: isWriting ? [...new Set([...own, ...inEach(workspace.write), ...more])] : [],
    ...(all.length > 0 ? { patterns: { all, depth: patterns?.depth ?? Number.POSITIVE_INFINITY } } : {}),
    ...(readable
      ? { readable: { paths: [...readable.paths, ...inEach(readable.workspace)], isMinimal: readable.isMinimal } }
      : {}),
  };
}
