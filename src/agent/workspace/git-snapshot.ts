// A folder in a git repository at one moment: a copy of its index says what most files were, the others are read.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, isAppError } from '../../base/errors.ts';
import type { Leftovers } from '../../base/leftovers.ts';
import { throwIfAborted } from '../../base/signals.ts';
import { temporaryName } from '../../fs/replacement.ts';
import { isWithin } from '../../sandbox/policy.ts';
import type { Content } from '../patch/diff-text.ts';
import type { Observation } from '../patch/turn-diff.ts';
import { contentOf, FileContents } from './contents.ts';
import { type GitParts, git, type OwnRepository } from './git.ts';
import { placesOf, repositoryLike } from './git-copy.ts';
import { parseStatus, type StatusEntry } from './git-status.ts';
import { type Changes, MAX_CHANGED, type Snapshot } from './snapshot.ts';

export interface SnapshotParts extends GitParts {
  readonly contents: FileContents;
  readonly leftovers: Leftovers;
  /** Where folders of ours are made; no sandboxed command sees it. */
  readonly folder: string;
  /** Neither read nor named. */
  readonly isHidden: (path: string) => boolean;
}

const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--untracked-files=all', '--no-renames', '--ignore-submodules=all'],
  ...['--', '.'],
];

/**
 * `root` is a real path. Rejects as *unavailable* where git does not work, and as *cancelled*. The repository is only read, and its
 * settings are asked about once: what commands make of them has no say in how git looks, nor have programs that they name.
 */
export async function gitSnapshot(root: string, parts: SnapshotParts, signal: AbortSignal): Promise<Snapshot> {
  const places = await placesOf(root, parts, signal);
  // The settings of a repository can say that its files lie elsewhere.
  if (!isWithin(root, places.top)) throw new AppError('unavailable', `${root} does not lie in its repository`);
  // What lies beside the files tells no more than they do; a repository that is named may be anybody's.
  const isElsewhere = (path: string) => !isWithin(path, join(places.top, '.git'));
  if ([places.index, places.objects].some((path) => isElsewhere(path) && parts.isHidden(path)))
    throw new AppError('unavailable', `the repository of ${root} may not be seen`);
  const folder = join(parts.folder, temporaryName());
  const forget = parts.leftovers.note(folder);
  try {
    const snapshot = new GitSnapshot(root, await repositoryLike(places, folder), forget, parts);
    await snapshot.take(signal);
    return snapshot;
  } catch (error) {
    await removed(folder, forget);
    throw error;
  }
}

async function removed(folder: string, forget: () => void): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {});
  forget();
}

class GitSnapshot implements Snapshot {
  readonly #root: string;
  readonly #repository: OwnRepository;
  readonly #parts: SnapshotParts;
  readonly #forget: () => void;
  /** Of files that the index does not tell about. */
  readonly #read = new Map<string, Content | null>();
  readonly #blobs = new Map<string, Content>();
  #takenAtMs = 0;

  constructor(root: string, repository: OwnRepository, forget: () => void, parts: SnapshotParts) {
    this.#root = root;
    this.#repository = repository;
    this.#forget = forget;
    this.#parts = parts;
  }

  async take(signal: AbortSignal): Promise<void> {
    this.#takenAtMs = Date.now();
    const entries = await this.#status(signal);
    if (entries.size > MAX_CHANGED * 10) throw new AppError('unavailable', 'too many files are not in the index');
    this.#parts.contents.begin();
    for (const path of entries.keys()) {
      throwIfAborted(signal);
      this.#read.set(path, await this.#parts.contents.now(path));
    }
  }

  async changes(signal: AbortSignal): Promise<Changes> {
    const entries = await this.#status(signal);
    // What was there before comes first: that is what people wrote.
    const wasThere = (path: string) => this.#read.has(path) || entries.get(path)?.kind === 'changed';
    const [known, added] = [true, false].map((is) => [...entries.keys()].filter((path) => wasThere(path) === is));
    const gone = [...this.#read.keys()].filter((path) => !entries.has(path));
    const paths = [...(known ?? []), ...gone, ...(added ?? [])];
    this.#parts.contents.begin();
    const files: Observation[] = [];
    let leftOut = 0;
    await this.#loadBlobs(entries, signal);
    for (const path of paths) {
      // What was found in time is told.
      if (files.length >= MAX_CHANGED || signal.aborted) {
        leftOut += 1;
        continue;
      }
      const found = await this.#observe(path, entries.get(path));
      if (found) files.push(found);
    }
    return { files, leftOut };
  }

  async close(): Promise<void> {
    await removed(this.#repository.folder, this.#forget);
  }

  async #observe(path: string, entry: StatusEntry | undefined): Promise<Observation | undefined> {
    const isRead = this.#read.has(path);
    // What is no longer ignored was there before.
    if (!isRead && entry?.kind === 'other' && (await FileContents.isOlderThan(path, this.#takenAtMs))) return undefined;
    const before = isRead ? (this.#read.get(path) ?? null) : this.#committed(entry);
    return { path, before, after: await this.#parts.contents.now(path) };
  }

  /** As the index has it. */
  #committed(entry: StatusEntry | undefined): Content | null {
    if (entry?.kind !== 'changed') return null;
    const { mode, blob: id } = entry;
    return { id, mode, text: this.#blobs.get(id)?.text };
  }

  get #call() {
    return { cwd: this.#root, repository: this.#repository };
  }

  async #status(signal: AbortSignal): Promise<Map<string, StatusEntry>> {
    const entries = parseStatus(await git(STATUS, this.#call, this.#parts, signal));
    const named = [...entries].map(([name, entry]) => [join(this.#repository.worktree, name), entry] as const);
    return new Map(named.filter(([path]) => isWithin(path, this.#root) && !this.#parts.isHidden(path)));
  }

  /** What the files were, from where git keeps it. */
  async #loadBlobs(entries: ReadonlyMap<string, StatusEntry>, signal: AbortSignal): Promise<void> {
    const wanted = new Map<string, number>();
    for (const [path, entry] of entries)
      if (
        entry.kind === 'changed' &&
        !this.#read.has(path) &&
        !this.#blobs.has(entry.blob) &&
        wanted.size < MAX_CHANGED
      )
        wanted.set(entry.blob, entry.mode);
    if (wanted.size === 0) return;
    const input = `${[...wanted.keys()].join('\n')}\n`;
    try {
      const answer = await git(['cat-file', '--batch'], { ...this.#call, input }, this.#parts, signal);
      for (const [blob, bytes] of blobsIn(answer)) this.#blobs.set(blob, contentOf(bytes, wanted.get(blob) ?? 0));
    } catch (error) {
      // Too much of it: the files are only named.
      if (!isAppError(error, 'unavailable')) throw error;
    }
  }
}

/** Of `git cat-file --batch`: a line with id, kind and size, the bytes, a line feed; a missing one has only the line. */
export function* blobsIn(answer: Buffer): Generator<readonly [string, Buffer]> {
  for (let at = 0; at < answer.length; ) {
    const end = answer.indexOf('\n', at);
    if (end < 0) return;
    const [id = '', kind, size] = answer.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (size === undefined) continue;
    const length = Number(size);
    if (kind === 'blob') yield [id, answer.subarray(at, at + length)];
    at += length + 1;
  }
}
