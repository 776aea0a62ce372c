// What a database that refuses is said to have: damage, a full disk, or what the system calls it.

import { statfs } from 'node:fs/promises';
import { AppError, diskAdvice, isAppError, messageOf } from '../base/errors.ts';
import { breathe } from './rows.ts';

/** The structure of the database is damaged, not only a value in it. */
export function unreadable(directory: string, cause: unknown): AppError {
  const message = `the history in ${directory} cannot be read (${messageOf(cause)}): stop the server and run "heddle history verify"`;
  return new AppError('unavailable', message, { kind: 'damaged' }, { cause });
}

/** What the database says when its structure does not fit. */
const OF_DAMAGE = /MDB_(CORRUPTED|PAGE_NOTFOUND)/;

/** Less room than the database takes at a time. */
const ROOM = 1024 * 1024;

/** A page that found only half its room is reported as an error of the disk itself. */
async function fullness(directory: string): Promise<string | undefined> {
  const room = await statfs(directory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
  if (room === undefined || room >= ROOM) return undefined;
  return `the disk is full (${Math.floor(room / 1024)} KiB are left): make room, it goes on by itself`;
}

/** Where it has to be mounted anew, what is open stays on the old one. */
function resumable(cause: unknown): string {
  const advice = diskAdvice(cause);
  if (advice === undefined) return messageOf(cause);
  return `${advice}, it goes on by itself; before it is mounted anew, the server has to be stopped`;
}

/** What to reject with: a refusing disk becomes *unavailable*, anything else stays what it is. */
export async function refusal(directory: string, error: unknown): Promise<unknown> {
  if (isAppError(error) || !(error instanceof Error)) return error;
  const { commitError, code } = error as { commitError?: Promise<never>; code?: unknown };
  if (commitError === undefined && code === undefined) return error;
  // The reason comes in a promise of its own; unobserved it would end the process.
  const cause = (await Promise.race([commitError?.catch((inner: unknown) => inner), breathe()])) ?? error;
  if (OF_DAMAGE.test(messageOf(cause))) return unreadable(directory, cause);
  return new AppError(
    'unavailable',
    `the history in ${directory} could not be written: ${(await fullness(directory)) ?? resumable(cause)}`,
    {},
    { cause },
  );
}
