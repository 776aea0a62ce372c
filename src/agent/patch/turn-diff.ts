// What a turn has done to files so far, as git shows it: from what they were before their first change to what they are now.

import { createHash } from 'node:crypto';
import { isAbsolute, relative } from 'node:path';
import { unifiedDiff } from './line-diff.ts';

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

/** Characters of one turn's diff; files whose hunks would go beyond are only named. */
const MAX_DIFF = 1024 * 1024;

/** Characters of texts that are kept in memory for one turn; files beyond are only named. */
const MAX_KEPT = 32 * 1024 * 1024;

/** Of a file's content: what git calls it, and the text itself as long as there is room. */
interface Content {
  readonly id: string;
  readonly mode: number;
  readonly text: string | undefined;
}

interface Tracked {
  /** What it was called before the turn. */
  readonly origin: string;
  readonly before: Content | null;
  after: Content | null;
}

/** With its hunks, as it was worked out last: comparing is what takes time, and most files stay as they are. */
interface Section {
  readonly cwd: string;
  readonly after: Content | null;
  /** Null: it is too long. */
  readonly text: string | null;
}

export class TurnDiff {
  /** By the path that a file has now, or had when it was removed. */
  readonly #files = new Map<string, Tracked>();
  readonly #sections = new WeakMap<Tracked, Section>();
  readonly #mostKept: number;
  #kept = 0;

  constructor(mostKept = MAX_KEPT) {
    this.#mostKept = mostKept;
  }

  get isEmpty(): boolean {
    return this.#files.size === 0;
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

  #note(path: string, before: FileState | null, after: FileState | null): void {
    const known = this.#files.get(path);
    if (known) known.after = this.#content(after, known.after);
    else this.#files.set(path, { origin: path, before: this.#content(before), after: this.#content(after) });
  }

  /** `instead`: what is no longer needed. */
  #content(state: FileState | null, instead: Content | null = null): Content | null {
    this.#kept -= instead?.text?.length ?? 0;
    if (state === null) return null;
    const isKept = this.#kept + state.text.length <= this.#mostKept;
    if (isKept) this.#kept += state.text.length;
    return { id: objectId(state), mode: state.mode, text: isKept ? state.text : undefined };
  }

  #rename(from: string, to: string, before: FileState | null, after: FileState | null): void {
    const known = this.#files.get(from);
    this.#files.delete(from);
    const origin = known ?? { origin: from, before: this.#content(before) };
    const now = this.#content(after, known?.after);
    // What came in this turn has no earlier name that counts.
    this.#files.set(to, { origin: origin.before === null ? to : origin.origin, before: origin.before, after: now });
  }

  /** Paths below `cwd` are relative to it. Empty when nothing is left of all changes. */
  text(cwd: string): string {
    let room = MAX_DIFF;
    const sections = [...this.#files]
      .filter(([path, file]) => !isSame(path, file))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([path, file]) => {
        const section = leastLength(file) <= room ? this.#section(path, file, cwd) : null;
        const shown = section !== null && section.length <= room ? section : sectionOf(path, file, cwd, false);
        room -= Math.min(room, shown.length);
        return shown;
      });
    return sections.join('');
  }

  #section(path: string, file: Tracked, cwd: string): string | null {
    const known = this.#sections.get(file);
    if (known?.cwd === cwd && known.after === file.after) return known.text;
    const text = sectionOf(path, file, cwd, true);
    const section = { cwd, after: file.after, text: text.length > MAX_DIFF ? null : text };
    this.#sections.set(file, section);
    return section.text;
  }
}

/** Known without comparing: a file that came or went is shown whole. */
const leastLength = ({ before, after }: Tracked): number =>
  before === null || after === null ? ((before ?? after)?.text?.length ?? 0) : 0;

const isSame = (path: string, { origin, before, after }: Tracked): boolean =>
  before === null ? after === null : after !== null && path === origin && before.id === after.id;

function sectionOf(path: string, { origin, before, after }: Tracked, cwd: string, withHunks: boolean): string {
  const [from, to] = [`a/${nameIn(origin, cwd)}`, `b/${nameIn(path, cwd)}`];
  const [oldText, newText] = [textOf(before), textOf(after)];
  const isRenamed = before !== null && before.id === after?.id;
  const lines = [`diff --git ${from} ${to}`];
  if (before === null) lines.push(`new file mode ${modeOf(after)}`);
  if (after === null) lines.push(`deleted file mode ${modeOf(before)}`);
  if (isRenamed) lines.push('similarity index 100%', `rename from ${from.slice(2)}`, `rename to ${to.slice(2)}`);
  else lines.push(`index ${before?.id ?? NO_CONTENT}..${after?.id ?? NO_CONTENT}`);
  const [shownFrom, shownTo] = [before === null ? '/dev/null' : from, after === null ? '/dev/null' : to];
  if (isRenamed || (oldText === '' && newText === '')) return `${lines.join('\n')}\n`;
  if (!withHunks || oldText === undefined || newText === undefined)
    return `${lines.join('\n')}\nBinary files ${shownFrom} and ${shownTo} differ\n`;
  return `${lines.join('\n')}\n--- ${shownFrom}\n+++ ${shownTo}\n${unifiedDiff(oldText, newText)}`;
}

/** Undefined: it was not kept. */
const textOf = (content: Content | null): string | undefined => (content === null ? '' : content.text);

function nameIn(path: string, cwd: string): string {
  const way = relative(cwd, path);
  return way === '..' || way.startsWith('../') || isAbsolute(way) ? path : way;
}

const modeOf = (content: Content | null): string => ((content?.mode ?? 0) & 0o111 ? '100755' : '100644');

const NO_CONTENT = '0'.repeat(40);

/** The name that git gives to a file's content. */
function objectId(state: FileState): string {
  const bytes = Buffer.from(state.text);
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
