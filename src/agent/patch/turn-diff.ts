// What a turn has done to files so far, as git shows it: from what they were before their first change to what they are now.

import { type Content, type FilePair, isSame, leastLength, objectId, sectionOf } from './diff-text.ts';
import { type Effort, MAX_STEPS } from './line-diff.ts';

export interface FileState {
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
}

/** One file before and after a patch; `null`: there was or is none. Moved files are named by where they went. */
export interface FileDifference {
  /** Absolute. */
  readonly path: string;
  readonly movedFrom?: string;
  readonly before: FileState | null;
  readonly after: FileState | null;
}

/** A file that was found to be another one than at the last `mark`, by whoever it was changed. */
export interface Observation {
  /** Absolute. */
  readonly path: string;
  /** At the mark. */
  readonly before: Content | null;
  readonly after: Content | null;
}

/** What has been known of a file since before the server was started anew. */
export interface Restored extends Observation {
  readonly origin: string;
}

/** Characters of one turn's diff; files whose hunks would go beyond are only named. */
const MAX_DIFF = 1024 * 1024;

/** Characters of texts that are kept in memory for one turn; files beyond are only named. */
const MAX_KEPT = 32 * 1024 * 1024;

/** For all files that are another one than the last time: nobody is served meanwhile, and commands can make any number of them. */
const MOST_EFFORT = 2 * MAX_STEPS;
/** Of one character of a text, in comparisons of lines. */
const CHARACTER_EFFORT = 2;

interface Tracked extends FilePair {
  /** What it was called before the turn. */
  readonly origin: string;
  before: Content | null;
  after: Content | null;
  /** It was known before the mark: nothing that is found later says what it was at first. */
  isOlder: boolean;
  /** It was found, not patched: where it came from is not known. */
  readonly isFound?: true;
}

/** With its hunks, as it was worked out last: comparing is what takes time, and most files stay as they are. */
interface Section {
  readonly cwd: string;
  readonly before: Content | null;
  readonly after: Content | null;
  /** Null: it is too long. */
  readonly text: string | null;
}

export class TurnDiff {
  /** By the path that a file has now, or had when it was removed. */
  readonly #files = new Map<string, Tracked>();
  readonly #sections = new WeakMap<object, Section>();
  readonly #mostKept: number;
  #kept = 0;

  constructor(mostKept = MAX_KEPT) {
    this.#mostKept = mostKept;
  }

  get isEmpty(): boolean {
    return this.#files.size === 0;
  }

  /** Of all files that were changed, also those that are as they were. */
  get paths(): readonly string[] {
    return [...this.#files.keys()];
  }

  /** To be called for each patch that was made, with all its files. */
  add(differences: readonly FileDifference[]): void {
    for (const { path, movedFrom, before, after } of differences) {
      if (movedFrom === undefined) this.#note(path, before, after);
      else if (!this.#files.has(path)) this.#rename(movedFrom, path, before, after);
      else {
        // The name belonged to another file before: that one was replaced, and this one removed.
        this.#note(movedFrom, before, null);
        this.#note(path, null, after);
      }
    }
  }

  /** From now on `observe` is told what files were at this moment. */
  mark(): void {
    for (const file of this.#files.values()) file.isOlder = true;
  }

  /** To be called for all files that are not as they were at the mark. */
  observe(found: readonly Observation[]): void {
    for (const { path, before, after } of found) {
      const known = this.#files.get(path);
      if (!known) {
        const pair = { before: this.#held(before), after: this.#held(after) };
        this.#files.set(path, { origin: path, ...pair, isOlder: false, isFound: true });
        continue;
      }
      // A patch has seen it only after something else had changed it.
      if (!known.isOlder && known.origin === path) known.before = this.#held(before, known.before);
      known.after = this.#held(after, known.after);
    }
  }

  /** A file that is known already, as it is now. */
  look(path: string, after: Content | null): void {
    const known = this.#files.get(path);
    if (known) known.after = this.#held(after, known.after);
  }

  restore(files: readonly Restored[]): void {
    for (const { path, origin, before, after } of files)
      this.#files.set(path, { origin, before: this.#held(before), after: this.#held(after), isOlder: true });
  }

  #note(path: string, before: FileState | null, after: FileState | null): void {
    const known = this.#files.get(path);
    if (known) known.after = this.#content(after, known.after);
    else
      this.#files.set(path, {
        ...{ origin: path, before: this.#content(before), after: this.#content(after) },
        isOlder: false,
      });
  }

  #content(state: FileState | null, instead: Content | null = null): Content | null {
    return this.#held(state && { id: objectId(state.text), ...state }, instead);
  }

  /** `instead`: what is no longer needed. */
  #held(content: Content | null, instead: Content | null = null): Content | null {
    if (content === instead) return content;
    this.#kept -= instead?.text?.length ?? 0;
    if (content?.text === undefined) return content;
    const isKept = this.#kept + content.text.length <= this.#mostKept;
    if (isKept) this.#kept += content.text.length;
    return isKept ? content : { ...content, text: undefined };
  }

  #rename(from: string, to: string, before: FileState | null, after: FileState | null): void {
    const known = this.#files.get(from);
    this.#files.delete(from);
    const origin = known ?? { origin: from, before: this.#content(before), isOlder: false };
    const now = this.#content(after, known?.after);
    // What came in this turn has no earlier name that counts.
    const name = origin.before === null ? to : origin.origin;
    this.#files.set(to, { origin: name, before: origin.before, after: now, isOlder: origin.isOlder });
  }

  /** Paths below `cwd` are relative to it. Empty when nothing is left of all changes. */
  text(cwd: string): string {
    let room = MAX_DIFF;
    const effort = { steps: MOST_EFFORT };
    const sections = [...withMoves(this.#files)]
      .filter(([path, file]) => !isSame(path, file))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([path, file]) => {
        const section = room > 0 && leastLength(file) <= room ? this.#section(path, file, cwd, effort) : null;
        const shown = section !== null && section.length <= room ? section : sectionOf(path, file, cwd);
        room -= Math.min(room, shown.length);
        return shown;
      });
    return sections.join('');
  }

  #section(path: string, file: FilePair, cwd: string, effort: Effort): string | null {
    const known = this.#sections.get(file);
    if (known?.cwd === cwd && known.before === file.before && known.after === file.after) return known.text;
    // It has its turn the next time.
    if (effort.steps <= 0) return null;
    effort.steps -= CHARACTER_EFFORT * ((file.before?.text?.length ?? 0) + (file.after?.text?.length ?? 0));
    const text = sectionOf(path, file, cwd, effort);
    const section = { cwd, before: file.before, after: file.after, text: text.length > MAX_DIFF ? null : text };
    this.#sections.set(file, section);
    return section.text;
  }
}

/** A file that was found gone, and one that was found new with the same content, are one that was moved. */
function withMoves(files: ReadonlyMap<string, Tracked>): ReadonlyMap<string, FilePair> {
  const gone = new Map<string, [string, Tracked]>();
  for (const [path, file] of files)
    if (file.isFound && file.before && !file.after) gone.set(file.before.id, [path, file]);
  if (gone.size === 0) return files;
  const shown = new Map<string, FilePair>(files);
  for (const [path, file] of files) {
    const from = file.isFound && !file.before && file.after ? gone.get(file.after.id) : undefined;
    if (!from) continue;
    const [origin, { before }] = from;
    gone.delete(before?.id ?? '');
    shown.delete(origin);
    shown.set(path, { origin, before, after: file.after });
  }
  return shown;
}
