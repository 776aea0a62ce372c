// Finding out before a start what would go wrong with it: the working folder and the program.

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { AppError, codeOf } from '../base/errors.ts';
import { checkStartSize } from './start-size.ts';

/** Of a search path; all of them may have to be looked into at once. */
const MAX_FOLDERS = 1024;

interface Start {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The file to start. Rejects as *notFound* or *invalid* what cannot be started. */
export async function checkedProgram({ argv, cwd, env }: Start): Promise<string> {
  checkStartSize({ argv, env });
  await checkFolder(cwd);
  return findProgram(argv[0], cwd, env.PATH);
}

/** Rejects as *notFound* when the folder is missing and as *invalid* when it cannot be one to work in. */
export async function checkFolder(cwd: string): Promise<void> {
  if (cwd.includes('\0')) throw new AppError('invalid', 'working directory holds a NUL character', { path: cwd });
  if (!isAbsolute(cwd)) throw new AppError('invalid', `working directory is not absolute: ${cwd}`, { path: cwd });
  try {
    // Once in another thread, where a file system that does not answer holds up nobody else; from then on it is at hand.
    if (!(await stat(cwd)).isDirectory())
      throw new AppError('invalid', `working directory is not a directory: ${cwd}`, { path: cwd });
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw folderError(error, cwd);
  }
}

function folderError(error: unknown, cwd: string): AppError {
  const code = codeOf(error);
  if (code === 'ENOENT') return new AppError('notFound', `working directory does not exist: ${cwd}`, { path: cwd });
  return new AppError('invalid', `working directory cannot be used (${code}): ${cwd}`, { path: cwd });
}

/**
 * The path of a program as a start in `cwd` with this `PATH` would find it. Rejects as *notFound* when there is none and as
 * *invalid* when there is a file that cannot be executed.
 */
export async function findProgram(name: string, cwd: string, searchPath: string | undefined): Promise<string> {
  if (name === '' || name.includes('\0'))
    throw new AppError('invalid', 'program name is empty or holds a NUL character');
  const candidates = name.includes('/')
    ? [resolve(cwd, name)]
    : foldersOf(searchPath).map((folder) => join(resolve(cwd, folder), name));
  let unusable: string | undefined;
  for (const candidate of candidates) {
    const kind = inspect(candidate);
    if (kind === 'program') return candidate;
    if (kind === 'unusable') unusable ??= candidate;
  }
  if (unusable !== undefined) throw new AppError('invalid', `not an executable file: ${unusable}`, { path: unusable });
  throw new AppError('notFound', `program not found: ${name}`, { program: name });
}

/** Each once. */
function foldersOf(searchPath: string | undefined): readonly string[] {
  const folders = [...new Set((searchPath ?? '/usr/bin:/bin').split(delimiter))];
  if (folders.length <= MAX_FOLDERS) return folders;
  throw new AppError('invalid', `PATH names more than ${MAX_FOLDERS} folders`);
}

/** Without a trip to another thread for each folder of the path: that would cost as much as the start. */
function inspect(path: string): 'program' | 'unusable' | 'missing' {
  try {
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return existsSync(path) ? 'unusable' : 'missing';
  } catch {
    return 'missing';
  }
  try {
    accessSync(path, constants.X_OK);
    return 'program';
  } catch {
    return 'unusable';
  }
}
