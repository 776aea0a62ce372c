// A source of choices that a seed repeats exactly.

export interface Choices {
  /** In [0, 1). */
  next(): number;
  /** A whole number below `count`. */
  below(count: number): number;
  of<T>(all: readonly T[]): T;
  /** True with this probability. */
  isLikely(probability: number): boolean;
}

/** Any 32 bits will do as a seed. */
export function choicesOf(seed: number): Choices {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(next() * count);
  return { next, below, of: (all) => all[below(all.length)]!, isLikely: (probability) => next() < probability };
}
