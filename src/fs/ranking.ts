// Finds the best of many paths for a query, a slice at a time.

import { extendedMatch, Fzf } from 'fzf';
import type { PathList } from './path-list.ts';
import type { FoundFile } from './search-messages.ts';

/** How many results a search gives. */
export const MAX_FOUND = 50;
/** How many paths are looked at before time is looked at. */
const SLICE = 2_000;
/** Signs of the query language: several words, exact, beginning, end, not, or. */
const IS_EXTENDED = /[\s'^$!|]/;
/** A name that holds all letters goes before any path, a name that is the query before any name. */
const NAME_HOLDS = 65_536;
const NAME_IS = 131_072;
/** What the library gives for a letter at the beginning of a word, and for one that follows another. */
const MOST_FOR_FIRST = 32;
const MOST_FOR_NEXT = 24;
const SURROGATE = /[\ud800-\udfff]/;
const LOW_SURROGATE = /[\udc00-\udfff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
const NOT_ASCII = /[^\x00-\x7f]/;

interface Ranked {
  /** Place in the list. */
  readonly index: number;
  readonly path: string;
  readonly score: number;
  readonly positions: readonly number[];
}

export class Ranking {
  readonly #list: PathList;
  /** In lower case. */
  readonly #query: string;
  readonly #isExtended: boolean;
  readonly #isAscii: boolean;
  #next = 0;
  #best: Ranked[] = [];

  constructor(list: PathList, query: string) {
    this.#list = list;
    this.#query = query.trim().toLowerCase();
    this.#isExtended = IS_EXTENDED.test(this.#query);
    this.#isAscii = !NOT_ASCII.test(this.#query);
  }

  /** Everything that has come so far has been looked at. */
  get isDone(): boolean {
    return this.#query === '' || this.#next >= this.#list.paths.length;
  }

  /** Looks at the next slice; gives whether the best have changed. */
  advance(): boolean {
    const { paths } = this.#list;
    const [named, pathed]: [number[], number[]] = [[], []];
    const end = Math.min(this.#next + SLICE, paths.length);
    for (let index = this.#next; index < end; index += 1) {
      const path = paths[index]!;
      if (this.#isExtended) pathed.push(index);
      else if (this.#mayMatch(nameOf(path))) {
        if (this.#mayRise(path, this.#nameBonus(nameOf(path), path))) named.push(index);
      } else if (this.#mayRise(path, 0) && this.#mayMatch(path)) pathed.push(index);
    }
    this.#next = end;
    const found = [...this.#rank(named, nameOf), ...this.#rank(pathed, (path) => path)];
    if (found.length === 0) return false;
    const before = this.#best;
    this.#best = [...before, ...found].sort(byRank).slice(0, MAX_FOUND);
    return this.#best.length !== before.length || this.#best.some((each, place) => each !== before[place]);
  }

  found(roots: readonly string[]): FoundFile[] {
    return this.#best.map(({ index, path, score, positions }) => ({
      root: roots[this.#list.rootOf(index)]!,
      path,
      match_type: this.#list.isFolder(index) ? 'directory' : 'file',
      file_name: nameOf(path),
      score,
      indices: [...positions],
    }));
  }

  /** Ranks by the part of each path that `partOf` gives: its end. */
  #rank(candidates: readonly number[], partOf: (path: string) => string): Ranked[] {
    if (candidates.length === 0) return [];
    const { paths } = this.#list;
    const finder = new Fzf(candidates, {
      selector: (index) => partOf(paths[index]!),
      casing: 'case-insensitive',
      limit: MAX_FOUND,
      tiebreakers: [(a, b) => compare(paths[a.item]!, paths[b.item]!)],
      ...(this.#isExtended ? { match: extendedMatch } : {}),
    });
    return finder.find(this.#query).map(({ item, score, positions }) => {
      const path = paths[item]!;
      const part = partOf(path);
      const before = path.length - part.length;
      return {
        index: item,
        path,
        score: Math.max(0, Math.round(score)) + this.#nameBonus(part, path),
        positions: charactersAt(
          path,
          [...positions].map((place) => place + before),
        ),
      };
    });
  }

  #nameBonus(part: string, path: string): number {
    if (this.#isExtended || part !== nameOf(path)) return 0;
    return part.toLowerCase() === this.#query ? NAME_IS : NAME_HOLDS;
  }

  /** Whether a path could be among the best if its letters matched as well as they can. */
  #mayRise(path: string, bonus: number): boolean {
    const worst = this.#best.length < MAX_FOUND ? undefined : this.#best.at(-1)!;
    if (!worst) return true;
    const most = bonus + MOST_FOR_FIRST + MOST_FOR_NEXT * (this.#query.length - 1);
    return most > worst.score || (most === worst.score && path < worst.path);
  }

  /** A cheap look whether the letters come in this order; accents are left to the slow one. */
  #mayMatch(text: string): boolean {
    if (!this.#isAscii) return true;
    const plain = text.toLowerCase();
    let from = 0;
    for (const letter of this.#query) {
      const at = plain.indexOf(letter, from);
      if (at === -1) return NOT_ASCII.test(text);
      from = at + 1;
    }
    return true;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Places among the code units of a text as places among its characters, in order. */
function charactersAt(text: string, units: readonly number[]): number[] {
  const inOrder = units.toSorted((a, b) => a - b);
  if (!SURROGATE.test(text)) return inOrder;
  const places = inOrder.map((unit) => {
    const start = LOW_SURROGATE.test(text.charAt(unit)) ? unit - 1 : unit;
    return [...text.slice(0, start)].length;
  });
  return [...new Set(places)];
}

/** Best first; equals by path. */
function byRank(a: Ranked, b: Ranked): number {
  return b.score - a.score || compare(a.path, b.path);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
