// Finds the best of many paths for a query, a slice at a time.

import { extendedMatch, Fzf, type FzfResultItem } from 'fzf';
import type { PathList } from './path-list.ts';
import type { FoundFile } from './search-messages.ts';

/** How many results a search gives. */
export const MAX_FOUND = 50;
/** How many paths are looked at before time is looked at. */
const SLICE = 2_000;
/** Signs of the query language: several words, exact, beginning, end, not, or. */
const IS_EXTENDED = /[\s'^$!|]/;

type Ranked = FzfResultItem<number>;

export class Ranking {
  readonly #list: PathList;
  readonly #query: string;
  readonly #letters: string;
  readonly #isExtended: boolean;
  readonly #isCaseSensitive: boolean;
  #next = 0;
  #best: Ranked[] = [];

  constructor(list: PathList, query: string) {
    this.#list = list;
    this.#query = query.trim();
    this.#isExtended = IS_EXTENDED.test(this.#query);
    this.#isCaseSensitive = this.#query !== this.#query.toLowerCase();
    this.#letters = this.#query;
  }

  /** Everything that has come so far has been looked at. */
  get isDone(): boolean {
    return this.#query === '' || this.#next >= this.#list.paths.length;
  }

  /** Looks at the next slice; gives whether the best have changed. */
  advance(): boolean {
    const { paths } = this.#list;
    const candidates: number[] = [];
    const end = Math.min(this.#next + SLICE, paths.length);
    for (let index = this.#next; index < end; index += 1) if (this.#mayMatch(paths[index]!)) candidates.push(index);
    this.#next = end;
    if (candidates.length === 0) return false;
    const finder = new Fzf(candidates, {
      selector: (index) => paths[index]!,
      casing: this.#isCaseSensitive ? 'case-sensitive' : 'case-insensitive',
      limit: MAX_FOUND,
      tiebreakers: [(a, b) => this.#byPath(a, b)],
      ...(this.#isExtended ? { match: extendedMatch } : {}),
    });
    const found = finder.find(this.#query);
    if (found.length === 0) return false;
    const before = this.#best;
    this.#best = [...before, ...found].sort((a, b) => b.score - a.score || this.#byPath(a, b)).slice(0, MAX_FOUND);
    return this.#best.length !== before.length || this.#best.some((each, index) => each !== before[index]);
  }

  found(roots: readonly string[]): FoundFile[] {
    return this.#best.map(({ item, score, positions }) => {
      const path = this.#list.paths[item]!;
      return {
        root: roots[this.#list.rootOf(item)]!,
        path,
        match_type: this.#list.isFolder(item) ? 'directory' : 'file',
        file_name: path.slice(path.lastIndexOf('/') + 1),
        score: Math.max(0, Math.round(score)),
        indices: [...positions].sort((a, b) => a - b),
      };
    });
  }

  #byPath(a: Ranked, b: Ranked): number {
    const [one, other] = [this.#list.paths[a.item]!, this.#list.paths[b.item]!];
    return one < other ? -1 : one > other ? 1 : 0;
  }

  /** A cheap look whether the letters come in this order; accents are left to the slow one. */
  #mayMatch(path: string): boolean {
    if (this.#isExtended || NOT_ASCII.test(this.#letters)) return true;
    const text = this.#isCaseSensitive ? path : path.toLowerCase();
    let from = 0;
    for (const letter of this.#letters) {
      const at = text.indexOf(letter, from);
      if (at === -1) return NOT_ASCII.test(path);
      from = at + 1;
    }
    return true;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
const NOT_ASCII = /[^\x00-\x7f]/;
