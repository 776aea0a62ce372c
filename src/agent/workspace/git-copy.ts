// A repository of ours that sees the same files as another one, and reads none of its settings: those can name programs to be run.

import { copyFile, mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AppError, codeOf, isAppError } from '../../base/errors.ts';
import { realPathOf } from '../../fs/containment.ts';
import { type GitParts, git, type OwnRepository } from './git.ts';

/** Bytes of one file that is copied: an index of some million files has less. */
const MAX_COPIED = 512 * 1024 * 1024;

/** What says how files on disk compare to those in the index, and runs nothing. */
const TAKEN_OVER: readonly string[] = [
  ...['core.autocrlf', 'core.eol', 'core.filemode', 'core.symlinks', 'core.ignorecase', 'core.precomposeunicode'],
  ...['core.trustctime', 'core.checkstat', 'core.excludesfile', 'core.attributesfile'],
  ...['core.sparsecheckout', 'core.sparsecheckoutcone'],
];

const NAMING_FILES: readonly string[] = ['core.excludesfile', 'core.attributesfile'];

export interface Places {
  /** Where its files lie. */
  readonly top: string;
  readonly index: string;
  readonly objects: string;
  readonly objectFormat: string;
  /** Undefined: there is no commit yet. */
  readonly head: string | undefined;
  /** Of folders with ignore files, attributes and the like: [name, path]. */
  readonly notes: readonly (readonly [string, string])[];
  /** As `name=value`. */
  readonly settings: readonly string[];
}

const NOTES = ['exclude', 'attributes', 'sparse-checkout'];

/** Rejects as *unavailable* where there is no repository, and as *cancelled*. */
export async function placesOf(root: string, parts: GitParts, signal: AbortSignal): Promise<Places> {
  const ask = async (...args: string[]) => (await git(args, { cwd: root }, parts, signal)).toString('utf8');
  const wanted = ['index', 'objects', ...NOTES.map((name) => `info/${name}`)];
  const [said, listed, head] = await Promise.all([
    ask('rev-parse', '--show-toplevel', '--show-object-format', ...wanted.flatMap((name) => ['--git-path', name])),
    ask('config', '--list', '-z'),
    ask('rev-parse', '--quiet', '--verify', 'HEAD^{commit}').catch((error: unknown) => {
      if (isAppError(error, 'unavailable')) return undefined;
      throw error;
    }),
  ]);
  const [top = '', objectFormat = '', index = '', objects = '', ...notes] = said.split('\n').slice(0, -1);
  // A name with a line feed in it.
  if (notes.length !== NOTES.length) throw new AppError('unavailable', `the repository of ${root} cannot be located`);
  return {
    ...{ top, objectFormat, head: head?.trim() },
    settings: await withFiles(settingsIn(listed), top, parts.environment.HOME),
    index: await realPathOf(resolve(root, index)),
    objects: await realPathOf(resolve(root, objects)),
    notes: notes.map((path, at) => [NOTES[at] ?? '', resolve(root, path)] as const),
  };
}

/** Of `git config --list -z`: a name, a line feed, a value; of one that is given without a value only the name. */
function settingsIn(listed: string): Map<string, string> {
  const last = new Map<string, string>();
  for (const entry of listed.split('\0')) {
    const end = entry.indexOf('\n');
    const name = end < 0 ? entry : entry.slice(0, end);
    if (TAKEN_OVER.includes(name)) last.set(name, end < 0 ? 'true' : entry.slice(end + 1));
  }
  return last;
}

/** Settings that name files count as long as these are files. */
async function withFiles(settings: ReadonlyMap<string, string>, folder: string, home = ''): Promise<string[]> {
  const kept: string[] = [];
  for (const [name, value] of settings) {
    const path = resolve(folder, value.replace(/^~(?=\/)/, home));
    if (!NAMING_FILES.includes(name)) kept.push(`${name}=${value}`);
    else if (await isFile(path)) kept.push(`${name}=${path}`);
  }
  return kept;
}

/** Makes `folder` such a repository. Rejects as *unavailable*. */
export async function repositoryLike(places: Places, folder: string): Promise<OwnRepository> {
  const { top: worktree, objects, objectFormat, settings, head = 'ref: refs/heads/none' } = places;
  const index = join(folder, 'index');
  try {
    for (const each of ['refs', 'info']) await mkdir(join(folder, each), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, 'HEAD'), `${head}\n`);
    const extension = objectFormat === 'sha1' ? '' : `[extensions]\n\tobjectFormat = ${objectFormat}\n`;
    const version = extension === '' ? 0 : 1;
    await writeFile(join(folder, 'config'), `[core]\n\trepositoryFormatVersion = ${version}\n${extension}`);
    for (const [name, path] of places.notes) if (await isFile(path)) await copied(path, join(folder, 'info', name));
    for (const path of await partsOf(places.index)) await copied(path, join(folder, basename(path)));
    await copied(places.index, index);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    throw new AppError('unavailable', `the repository of ${worktree} cannot be read (${codeOf(error)})`);
  }
  return { folder, index, worktree, objects, settings };
}

/** An index can be split into two files. */
async function partsOf(index: string): Promise<string[]> {
  const folder = dirname(index);
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.startsWith('sharedindex.')).map((name) => join(folder, name));
}

/** What is none says nothing, and to open a named pipe would wait for its other end. */
const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

/** With its time: by that git tells which entries may have been changed within the same moment. What is missing is left out. */
async function copied(from: string, to: string): Promise<void> {
  const stats = await stat(from).catch(() => undefined);
  if (!stats) return;
  // To open a named pipe would wait for its other end.
  if (!stats.isFile() || stats.size > MAX_COPIED) throw new AppError('unavailable', `${from} cannot be copied`);
  await copyFile(from, to);
  await utimes(to, Math.floor(stats.atimeMs) / 1000, Math.floor(stats.mtimeMs) / 1000);
}
