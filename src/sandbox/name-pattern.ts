// Pure: what one name of a path has to be like, and whether it is, in time that no pattern makes explode.

/** One character: of the ranges, or of none of them. */
interface One {
  readonly isNegated: boolean;
  /** Code points, both ends included. */
  readonly ranges: readonly (readonly [number, number])[];
}

/** `many`: any characters, also none. */
export type NamePattern = readonly ('many' | One)[];

/** An escaped character, a class, or one character; of a class that is not closed its bracket. */
export const TOKENS = /\\.|\[[!^]?\]?[^\]]*\]|./gsu;

/** Throws an `Error` that says what is not understood. */
export function namePattern(name: string): NamePattern {
  return (name.match(TOKENS) ?? []).map((token) => {
    if (token === '*') return 'many';
    if (token === '?') return { isNegated: true, ranges: [] };
    if (token === '[' || token === ']' || token === '\\') throw new Error(`\`${token}\` without what belongs to it`);
    if (token.startsWith('[')) return classOf(token);
    const point = pointsOf(unescaped(token))[0] ?? 0;
    return { isNegated: false, ranges: [[point, point]] };
  });
}

export const unescaped = (text: string): string => text.replace(/\\(.)/gsu, '$1');

function classOf(token: string): One {
  const isNegated = token[1] === '!' || token[1] === '^';
  const points = pointsOf(token.slice(isNegated ? 2 : 1, -1));
  if (points.length === 0) throw new Error(`\`${token}\` names no character`);
  const ranges: [number, number][] = [];
  for (let at = 0; at < points.length; at++) {
    const first = points[at] as number;
    const last = points[at + 1] === DASH ? points[at + 2] : undefined;
    if (last !== undefined) at += 2;
    if (last !== undefined && last < first) throw new Error(`\`${token}\` has a range that ends before it begins`);
    ranges.push([first, last ?? first]);
  }
  return { isNegated, ranges };
}

const DASH = 0x2d;
const pointsOf = (text: string): number[] => Array.from(text, (each) => each.codePointAt(0) as number);

/** Only the last star is ever read anew: what an earlier one could take, the last can take as well. */
export function isNamed(pattern: NamePattern, name: string): boolean {
  const points = pointsOf(name);
  let token = 0;
  let star: { readonly next: number; from: number } | undefined;
  for (let at = 0; at < points.length; ) {
    const wanted = pattern[token];
    if (wanted === 'many') star = { next: ++token, from: at };
    else if (wanted && isOne(wanted, points[at] as number)) [token, at] = [token + 1, at + 1];
    else if (star) [token, at] = [star.next, ++star.from];
    else return false;
  }
  while (pattern[token] === 'many') token++;
  return token === pattern.length;
}

const isOne = ({ isNegated, ranges }: One, point: number): boolean =>
  ranges.some(([first, last]) => first <= point && point <= last) !== isNegated;
