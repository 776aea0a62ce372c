// What the patterns of a permission profile deny to what reads files in this process.

import { codeOf, isAppError } from '../../base/errors.ts';
import { realPathOf } from '../../fs/containment.ts';
import { type Expansion, expand } from '../../sandbox/expansion.ts';
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
    const found = (await expanded({ ...patterns, all })).matches;
    return (path) => all.some((pattern) => matches(pattern, path)) || found.some((each) => isWithin(path, each.path));
  } catch (error) {
    if (isAppError(error, 'forbidden') || codeOf(error) !== undefined) return () => true;
    throw error;
  }
}

/** Of each set of patterns the look that has begun and is not over, and the one that waits for its end. */
const begun = new Map<string, Promise<Expansion>>();
const waiting = new Map<string, Promise<Expansion>>();

/** One look at a time, which all share who came before it began: those who come later may know of more than it has seen. */
function expanded(patterns: Patterns): Promise<Expansion> {
  const key = keyOf(patterns);
  const known = waiting.get(key);
  if (known) return known;
  const before = begun.get(key);
  if (!before) return look(key, patterns);
  const next = before.then(noted, noted).then(() => {
    waiting.delete(key);
    return look(key, patterns);
  });
  waiting.set(key, next);
  return next;
}

function look(key: string, patterns: Patterns): Promise<Expansion> {
  const own = expand(patterns, () => false);
  const over = () => {
    if (begun.get(key) === own) begun.delete(key);
  };
  begun.set(key, own);
  own.then(over, over);
  return own;
}

const noted = (): void => {};

const keyOf = ({ all, depth }: Patterns): string =>
  JSON.stringify([String(depth), ...all.map(({ text, base, parts }) => [text, base, parts.map(String)])]);
