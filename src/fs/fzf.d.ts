// What we use of the ranking library, whose own types do not resolve as ES modules.

declare module 'fzf' {
  export interface FzfResultItem<T> {
    readonly item: T;
    readonly score: number;
    /** Places of what was matched, in characters. */
    readonly positions: ReadonlySet<number>;
  }

  export interface FzfOptions<T> {
    readonly selector: (item: T) => string;
    readonly casing?: 'smart-case' | 'case-sensitive' | 'case-insensitive';
    readonly limit?: number;
    readonly tiebreakers?: readonly ((a: FzfResultItem<T>, b: FzfResultItem<T>) => number)[];
    readonly match?: typeof extendedMatch;
  }

  export class Fzf<T> {
    constructor(items: readonly T[], options: FzfOptions<T>);
    find(query: string): FzfResultItem<T>[];
  }

  /** The query language of several words, to be given as an option. */
  export function extendedMatch(this: unknown, query: string): FzfResultItem<unknown>[];
}
