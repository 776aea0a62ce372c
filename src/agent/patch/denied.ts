// What the patterns of a permission profile deny to what reads files in this process.

import { codeOf, isAppError } from '../../base/errors.ts';
import { realPathOf } from '../../fs/containment.ts';
import { expand } from '../../sandbox/expansion.ts';
import { matches } from '../../sandbox/pattern.ts';
import { isWithin, type Patterns } from '../../sandbox/policy.ts';

/**
 * Asked about real paths: what is matched by its name, now or later, and what links that are matched lead to now. All is denied when
 * that cannot be told.
 */
export async function deniedBy(patterns: Patterns | undefined): Promise<(path: string) => boolean> {
  if (!patterns) return () => false;
  try {
    const all = await Promise.all(
      patterns.all.map(async (pattern) => ({ ...pattern, base: await realPathOf(pattern.base) })),
    );
    const found = (await expand({ ...patterns, all }, () => false)).matches;
    return (path) => all.some((pattern) => matches(pattern, path)) || found.some((each) => isWithin(path, each.path));
  } catch (error) {
    if (isAppError(error, 'forbidden') || codeOf(error) !== undefined) return () => true;
    throw error;
  }
}
