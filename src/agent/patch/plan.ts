// What a patch will do to the files as they are now, worked out in memory before anything is written.

import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fingerprint, sha256 } from '../../base/canonical.ts';
import { isAppError, messageOf } from '../../base/errors.ts';
import { realPathOf } from '../../fs/containment.ts';
import { about } from '../../fs/fault.ts';
import type { FileEffect } from '../../fs/file-set.ts';
import { NO_FILE } from '../../fs/replacement.ts';
import { readTextFile } from '../../fs/text-file.ts';
import type { FileUpdateChange } from '../../model/item.ts';
import { type FileChange, PatchProblem } from './change.ts';
import { fitted } from './fitting.ts';
import { unifiedDiff } from './line-diff.ts';
import type { Reach, Standing } from './reach.ts';
import { fullEffort } from './search.ts';
import type { FileDifference, FileState } from './turn-diff.ts';

const MAX_FILES = 1_000;
/** Bytes of one file, and of all files of a patch before and after it. */
export const MAX_FILE = 8 * 1024 * 1024;
const MAX_ALL = 32 * 1024 * 1024;
/** Bytes of JSON that show all changes: they have to fit into a frame with ease. */
const MAX_SHOWN = 4 * 1024 * 1024;

export interface FilePlan {
  /** As people are shown them, by path. */
  readonly changes: readonly FileUpdateChange[];
  readonly effects: readonly FileEffect[];
  readonly differences: readonly FileDifference[];
  /** `A`dded, `M`odified or `D`eleted, with paths as the patch names them. */
  readonly summary: readonly string[];
  /** All files lie in the workspace. */
  readonly isInWorkspace: boolean;
  /** A file that nobody may see or change; nothing else is known of the plan then. */
  readonly hidden: string | undefined;
  /** The same for the same changes to the same files. */
  readonly digest: string;
}

/** As git names it, for files that are not there yet. */
const NEW_MODE = 0o644;

interface Entry {
  /** As the patch names it, and absolute. */
  readonly named: string;
  readonly path: string;
  readonly real: string;
  readonly standing: Standing;
  readonly version: string;
  readonly before: FileState | null;
  now: FileState | null;
  /** The file that was moved here. */
  source: Entry | undefined;
}

/** Throws a PatchProblem for what does not fit. Nothing is written. */
export async function planChanges(changes: readonly FileChange[], cwd: string, reach: Reach): Promise<FilePlan> {
  if (changes.length > MAX_FILES) throw new PatchProblem(`a patch may change at most ${MAX_FILES} files`);
  const draft = new Draft(cwd, reach);
  for (const change of changes) {
    try {
      await draft.make(change);
    } catch (error) {
      if (error instanceof HiddenFile) return { ...NOTHING, hidden: error.path };
      throw isAppError(error) ? new PatchProblem(messageOf(error)) : error;
    }
  }
  return draft.plan();
}

const NOTHING = { changes: [], effects: [], differences: [], summary: [], isInWorkspace: false, digest: '' };

class HiddenFile extends Error {
  readonly path: string;

  constructor(path: string) {
    super(path);
    this.path = path;
  }
}

class Draft {
  readonly #cwd: string;
  readonly #reach: Reach;
  /** By real path: a file that a patch names twice is one file. */
  readonly #entries = new Map<string, Entry>();
  readonly #effort = fullEffort();
  #bytes = 0;

  constructor(cwd: string, reach: Reach) {
    this.#cwd = cwd;
    this.#reach = reach;
  }

  async make(change: FileChange): Promise<void> {
    const isRemoved = change.type === 'delete' || (change.type === 'update' && change.moveTo !== null);
    const entry = await this.#entry(change.path, isRemoved);
    if (change.type === 'add') {
      if (entry.now) throw new PatchProblem(`${entry.path} exists already; update it, or delete it first`);
      return this.#set(entry, { text: change.content, mode: entry.before?.mode ?? NEW_MODE }, undefined);
    }
    if (!entry.now) throw new PatchProblem(`there is no file ${entry.path}`);
    if (change.type === 'delete') return this.#set(entry, null, undefined);
    const text = fitted(entry.now.text, change.chunks, entry.path, this.#effort);
    const changed = { text, mode: entry.now.mode };
    const target = change.moveTo === null ? entry : await this.#entry(change.moveTo, true);
    if (target === entry) return this.#set(entry, changed, entry.source);
    if (target.now) throw new PatchProblem(`${entry.path} cannot be moved: ${target.path} exists already`);
    this.#set(target, changed, entry.source ?? (entry.before ? entry : undefined));
    this.#set(entry, null, undefined);
  }

  plan(): FilePlan {
    const entries = [...this.#entries.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
    const moved = new Map<Entry, Entry>();
    for (const entry of entries)
      if (entry.source && !entry.source.now && !entry.before && entry.now) moved.set(entry.source, entry);
    const arrived = new Set(moved.values());
    const changed = entries.filter((entry) => !isSame(entry));
    if (changed.length === 0) throw new PatchProblem('the patch leaves all files as they are');
    const shown = changed.filter((entry) => !arrived.has(entry));
    const changes = shown.map((entry) => changeOf(entry, moved.get(entry)));
    if (Buffer.byteLength(JSON.stringify(changes)) > MAX_SHOWN)
      throw new PatchProblem(`the changes are too large to be shown (more than ${MAX_SHOWN} bytes)`);
    const effects = changed.map((entry) => effectOf(entry));
    return {
      changes,
      effects,
      differences: shown.map((entry) => differenceOf(entry, moved.get(entry))),
      summary: summaryOf(shown, moved),
      isInWorkspace: changed.every(({ standing }) => standing === 'workspace'),
      hidden: undefined,
      digest: fingerprint(
        effects.map(({ content, ...rest }) => ({ ...rest, content: content === null ? null : sha256(content) })),
      ),
    };
  }

  /** `isName`: the name itself goes or comes, and so it must be no link. */
  async #entry(named: string, isName: boolean): Promise<Entry> {
    const path = resolve(this.#cwd, named);
    const real = await about(path, () => realPathOf(path));
    const standing = this.#reach.standing(real);
    if (standing === 'hidden') throw new HiddenFile(path);
    if (isName && (await isLink(path)))
      throw new PatchProblem(`${path} is a link; move and delete links with a command`);
    const known = this.#entries.get(real);
    if (known) return known;
    const file = await readTextFile(real, MAX_FILE);
    const entry: Entry = {
      ...{ named, path, real, standing, version: file?.version ?? NO_FILE },
      before: file ? { text: file.text, mode: file.mode } : null,
      now: file ? { text: file.text, mode: file.mode } : null,
      source: undefined,
    };
    this.#count(file?.text.length ?? 0);
    this.#entries.set(real, entry);
    return entry;
  }

  #set(entry: Entry, now: FileState | null, source: Entry | undefined): void {
    this.#count(now?.text.length ?? 0);
    entry.now = now;
    entry.source = source;
  }

  #count(length: number): void {
    this.#bytes += length;
    if (this.#bytes > MAX_ALL) throw new PatchProblem(`the files of the patch hold more than ${MAX_ALL} bytes`);
  }
}

const isLink = (path: string): Promise<boolean> =>
  lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );

const isSame = ({ before, now }: Entry): boolean => before?.text === now?.text;

function changeOf(entry: Entry, movedTo: Entry | undefined): FileUpdateChange {
  const { path, before, now } = entry;
  if (movedTo) {
    const diff = `${unifiedDiff(before?.text ?? '', movedTo.now?.text ?? '')}\n\nMoved to: ${movedTo.path}`;
    return { path, kind: { type: 'update', move_path: movedTo.path }, diff };
  }
  if (!before) return { path, kind: { type: 'add' }, diff: now?.text ?? '' };
  if (!now) return { path, kind: { type: 'delete' }, diff: before.text };
  return { path, kind: { type: 'update', move_path: null }, diff: unifiedDiff(before.text, now.text) };
}

function effectOf({ real, version, before, now, source }: Entry): FileEffect {
  const content = now && Buffer.from(now.text);
  // What is there keeps its mode by itself; what was moved brings its own along.
  const mode = now && !before && source ? { mode: now.mode } : {};
  return { path: real, expected: version, content, ...mode };
}

function differenceOf({ path, before, now }: Entry, movedTo: Entry | undefined): FileDifference {
  return movedTo ? { path: movedTo.path, movedFrom: path, before, after: movedTo.now } : { path, before, after: now };
}

/** Added, then modified, then deleted. */
function summaryOf(shown: readonly Entry[], moved: ReadonlyMap<Entry, Entry>): readonly string[] {
  const lines = shown.map((entry) => {
    const target = moved.get(entry);
    if (target) return `M ${target.named}`;
    return `${!entry.before ? 'A' : entry.now ? 'M' : 'D'} ${entry.named}`;
  });
  return ['A', 'M', 'D'].flatMap((letter) => lines.filter((line) => line.startsWith(letter)));
}
