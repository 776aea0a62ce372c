// What patterns match of that which is there now: looked for within bounds, and nothing is run on a part of it.

import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { entriesOf, leadingTo } from './entries.ts';
import { matches, type Pattern, START, type States, step } from './pattern.ts';
import { refusal } from './places.ts';
import type { Patterns } from './policy.ts';

export interface Match {
  /** Links resolved. */
  readonly path: string;
  readonly isFolder: boolean;
  /** It is not matched itself: what is in it cannot be told, or lies too deep to be looked for. */
  readonly isUnseen?: true;
}

export interface Expansion {
  readonly matches: readonly Match[];
  /** Links without which something of it would not be matched. */
  readonly links: readonly string[];
}

/** Names that are looked at, matches (each costs a mount at each start, and each mount more than the last), levels of folders (what lies deeper is denied with its folder), and milliseconds; of folders so many are read at once. */
const BOUNDS = { names: 200_000, matches: 300, levels: 64, ms: 5_000 };
const AT_ONCE = 32;
/** So many names later the time is looked at, and others get their turn. */
const AT_A_STRETCH = 256;

export type Bounds = typeof BOUNDS;

/** What the kernel makes up; programs get their own of it. */
const KERNEL: readonly string[] = ['/proc', '/sys', '/dev'];

/**
 * The bases of the patterns are real paths. `isSkipped`: a folder that nothing is shown of. Rejects as *forbidden* when there is more
 * than can be looked at, or something cannot be told.
 */
export async function expand(
  patterns: Patterns,
  isSkipped: (folder: string) => boolean,
  bounds: Bounds = BOUNDS,
): Promise<Expansion> {
  const walk = new Walk(patterns, isSkipped, bounds);
  for (const base of new Set(patterns.all.map((each) => each.base)))
    await walk.through(
      base,
      patterns.all.filter((each) => each.base === base),
    );
  return walk.expansion();
}

interface Folder {
  readonly path: string;
  readonly level: number;
  /** One for each pattern. */
  readonly states: readonly States[];
  /** The links on the way. */
  readonly links: readonly string[];
}

class Walk {
  readonly #patterns: Patterns;
  readonly #isSkipped: (folder: string) => boolean;
  readonly #bounds: Bounds;
  readonly #until: number;
  readonly #matches = new Map<string, Match>();
  readonly #links = new Set<string>();
  #names = 0;

  constructor(patterns: Patterns, isSkipped: (folder: string) => boolean, bounds: Bounds) {
    this.#patterns = patterns;
    this.#isSkipped = isSkipped;
    this.#bounds = bounds;
    this.#until = performance.now() + bounds.ms;
  }

  expansion(): Expansion {
    return { matches: [...this.#matches.values()], links: [...this.#links] };
  }

  async through(base: string, patterns: readonly Pattern[]): Promise<void> {
    const open: Folder[] = [{ path: base, level: 0, states: patterns.map(() => START), links: [] }];
    while (open.length > 0) {
      const some = open.splice(-AT_ONCE);
      const found = await Promise.all(some.map((folder) => this.#inside(folder, patterns)));
      for (const folders of found) open.push(...folders);
    }
  }

  /** The folders in it that have to be looked through as well. */
  async #inside(folder: Folder, patterns: readonly Pattern[]): Promise<readonly Folder[]> {
    const entries = folder.level < this.#bounds.levels ? await entriesOf(folder.path) : 'deep';
    if (typeof entries === 'string') return this.#closed(folder, patterns);
    this.#names += entries.length;
    const { names } = this.#bounds;
    if (this.#names > names) throw this.#tooMuch(patterns, `more than ${names} files and folders`);
    this.#refuseLate(patterns);
    const more: Folder[] = [];
    for (const [at, entry] of entries.entries()) {
      if (at % AT_A_STRETCH === AT_A_STRETCH - 1) {
        await setImmediate();
        this.#refuseLate(patterns);
      }
      const next = await this.#entry(folder, entry, patterns);
      if (next === 'nameless') return this.#closed(folder, patterns);
      if (next && next.level < this.#patterns.depth && !this.#isSkipped(next.path) && !KERNEL.includes(next.path))
        more.push(next);
    }
    return more;
  }

  /** Denied as a whole, so that nothing a command does in there keeps all others from running. */
  #closed(folder: Folder, patterns: readonly Pattern[]): readonly Folder[] {
    this.#take({ path: folder.path, isFolder: true, isUnseen: true }, folder.links, patterns);
    return [];
  }

  #refuseLate(patterns: readonly Pattern[]): void {
    const { ms } = this.#bounds;
    if (performance.now() > this.#until) throw this.#tooMuch(patterns, `more than can be looked through in ${ms} ms`);
  }

  /** The same for one of its entries. `nameless`: its name is no text, and it cannot be told from others. */
  async #entry(folder: Folder, entry: Dirent, patterns: readonly Pattern[]): Promise<Folder | 'nameless' | undefined> {
    const path = join(folder.path, entry.name);
    const isLink = entry.isSymbolicLink();
    const steps = patterns.map((pattern, at) => step(pattern, folder.states[at] ?? [], entry.name));
    const which = steps.findIndex(({ exact }, at) => exact.includes(patterns[at]?.parts.length ?? -1));
    const pattern = patterns[which];
    const states = steps.map(({ all, exact }) => (isLink ? exact : all));
    const isOpen = (isLink || entry.isDirectory()) && states.some((each) => each.length > 0);
    if (!pattern && !isOpen) return undefined;
    if (entry.name.includes('\uFFFD')) {
      if (folder.level > 0) return 'nameless';
      throw refusal(`${path} has a name that is no text, and cannot be told from others`, path);
    }
    const real = isLink ? await leadingTo(path) : { path, isFolder: entry.isDirectory() };
    if (!real) return undefined;
    const links = isLink ? [...folder.links, path] : folder.links;
    if (pattern) this.#take(real, links, [pattern]);
    else if (real.isFolder) return { path: real.path, level: folder.level + 1, states, links };
    return undefined;
  }

  #take(real: Match, links: readonly string[], patterns: readonly Pattern[]): void {
    const { all } = this.#patterns;
    if (links.length > 0 && !all.some((each) => matches(each, real.path)))
      for (const link of links) this.#links.add(link);
    this.#matches.set(real.path, real);
    if (this.#matches.size > this.#bounds.matches)
      throw this.#tooMuch(patterns, `more than ${this.#bounds.matches} matches`);
  }

  #tooMuch(patterns: readonly Pattern[], what: string) {
    const named = [...new Set(patterns.map(({ text }) => `\`${text}\``))].join(', ');
    const base = patterns[0]?.base ?? '/';
    const advice = 'name folders instead, or set glob_scan_max_depth';
    return refusal(
      `what the permission profile denies by ${named} cannot be found: in ${base} there are ${what}; ${advice}`,
      base,
    );
  }
}
