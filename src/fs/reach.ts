// Which paths somebody may touch: a local person all, a remote one what lies below the operator's roots and is not ours.

import { basename, dirname, join, relative } from 'node:path';
import type { Principal } from '../auth/principal.ts';
import type { Closable } from '../base/close.ts';
import { AppError, codeOf } from '../base/errors.ts';
import { isInside, realPathOf } from './containment.ts';
import { type IsDenied, isDeniedWay } from './denials.ts';
import { fsFault } from './fault.ts';
import { type Folder, HOLDS_FOLDERS, openFolder } from './folder.ts';

/** An entry of a folder that is held open: neither the folder nor the way to it can be exchanged any more. */
export interface Place extends Closable {
  readonly folder: Folder;
  readonly name: string;
  /** For the system. If a link has come there since, it must not be followed. */
  readonly path: string;
  /** The real path, for people and for comparing. */
  readonly real: string;
}

export interface Reach {
  /** Confined people get every path through `place`; others may use paths as they are. */
  readonly isConfined: boolean;
  /**
   * Where a path leads: `target` follows a link at its end, `entry` means the link itself. The folder must exist, the entry need
   * not. Rejects as *forbidden* when that is out of reach. The caller closes it.
   */
  place(path: string, end: 'target' | 'entry'): Promise<Place>;
  /** The real path of what a path leads to. Rejects as *forbidden*; nothing is opened. */
  real(path: string, end: 'target' | 'entry'): Promise<string>;
  /** Whether what a path leads to may be touched. */
  holds(path: string): Promise<boolean>;
  /** Whether a real path may be touched; for what is met on the way down a tree. */
  holdsReal(real: string): boolean;
  /** What lies below a real path and may not be touched, relative to it. */
  hiddenBelow(real: string): readonly string[];
  /** Of what lies below it and is not among those: whether it may not be touched either. Undefined: none of it. */
  readonly denies: IsDenied | undefined;
}

export interface ReachParts {
  /** Real or not, existing or not. */
  readonly roots: () => Promise<readonly string[]>;
  /** Files and folders that remote people never see, whatever the roots. */
  readonly hidden: () => readonly string[];
  /** What they may not touch either; undefined: nothing. */
  readonly denied: () => Promise<IsDenied | undefined>;
}

export interface Reaches {
  of(principal: Principal): Promise<Reach>;
}

export function createReaches(parts: ReachParts): Reaches {
  const everything = new Everywhere();
  return {
    async of(principal) {
      if (principal.isLocal) return everything;
      if (!HOLDS_FOLDERS) throw new AppError('unsupported', 'remote clients cannot work on files on this system');
      const real = (paths: readonly string[]) => Promise.all(paths.map((path) => realPathOf(path).catch(() => path)));
      const [roots, hidden, denies] = await Promise.all([parts.roots(), real(parts.hidden()), parts.denied()]);
      return new Confined(await real(roots), hidden, denies);
    },
  };
}

class Everywhere implements Reach {
  readonly isConfined: boolean = false;
  readonly denies: IsDenied | undefined = undefined;

  async real(path: string, end: 'target' | 'entry'): Promise<string> {
    try {
      return end === 'target' ? await realPathOf(path) : await entryPathOf(path);
    } catch (error) {
      throw fsFault(error, path);
    }
  }

  async place(path: string, end: 'target' | 'entry'): Promise<Place> {
    const real = await this.real(path, end);
    try {
      const isRoot = this.beginsAt(real);
      const folder = await openFolder(isRoot ? real : dirname(real));
      const name = isRoot ? '.' : basename(real);
      return { folder, name, path: folder.at(name), real, close: () => folder.close() };
    } catch (error) {
      throw fsFault(error, path);
    }
  }

  /** Whether a place is a folder of its own rather than an entry of the one above, which may be out of reach. */
  protected beginsAt(real: string): boolean {
    return dirname(real) === real;
  }

  async holds(_path: string): Promise<boolean> {
    return true;
  }

  holdsReal(_real: string): boolean {
    return true;
  }

  hiddenBelow(_real: string): readonly string[] {
    return [];
  }
}

class Confined extends Everywhere {
  override readonly isConfined = true;
  readonly #roots: readonly string[];
  readonly #hidden: readonly string[];
  override readonly denies: IsDenied | undefined;

  constructor(roots: readonly string[], hidden: readonly string[], denies: IsDenied | undefined) {
    super();
    this.#roots = roots;
    this.#hidden = hidden;
    this.denies = denies;
  }

  override async real(path: string, end: 'target' | 'entry'): Promise<string> {
    // What cannot be resolved is refused in the same words, so that nobody learns what is there.
    const real = await super.real(path, end).catch(() => undefined);
    if (real === undefined || !this.holdsReal(real)) throw outOfReach(path);
    // A link that is denied, on the way or at its end, denies what it leads to.
    if (this.denies && (await isDeniedWay(path, this.denies, end).catch(() => true))) throw outOfReach(path);
    return real;
  }

  override async place(path: string, end: 'target' | 'entry'): Promise<Place> {
    const place = await super.place(path, end).catch((error: unknown) => {
      throw codeOf((error as Error).cause) === 'ELOOP' ? outOfReach(path) : error;
    });
    // The way may have been exchanged between resolving and opening: what was opened decides.
    const opened = place.name === '.' ? place.folder.path : join(place.folder.path, place.name);
    if (this.holdsReal(opened)) return place;
    await place.close();
    throw outOfReach(path);
  }

  protected override beginsAt(real: string): boolean {
    return super.beginsAt(real) || this.#roots.includes(real);
  }

  override async holds(path: string): Promise<boolean> {
    return this.real(path, 'target').then(
      () => true,
      () => false,
    );
  }

  override holdsReal(real: string): boolean {
    if (!this.#roots.some((root) => isInside(real, root))) return false;
    return !this.#hidden.some((each) => isInside(real, each)) && !this.denies?.(real);
  }

  override hiddenBelow(real: string): readonly string[] {
    return this.#hidden.filter((each) => isInside(each, real)).map((each) => relative(real, each));
  }
}

function outOfReach(path: string): AppError {
  return new AppError('forbidden', `${path} is not below the folders that remote clients may use`, { path });
}

/** The path of an entry that is not followed if it is a link. */
async function entryPathOf(path: string): Promise<string> {
  const bare = withoutSlashes(path);
  const name = basename(bare);
  // These lead to a folder, never to a link.
  if (bare === '' || name === '.' || name === '..') return realPathOf(path);
  return join(await realPathOf(dirname(bare)), name);
}

/** Without those at its end; by steps, as an expression takes the square of a long run of them. */
function withoutSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}
