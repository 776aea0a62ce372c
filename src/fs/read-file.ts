// Reading files, whole or in parts, and their versions.

import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, open, read, type Stats } from 'node:fs';
import { sha256 } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { ReadyResult } from '../rpc/router.ts';
import { fsFault, systemFault } from './fault.ts';
import type { EntryName } from './folder.ts';
import type { QuickReads } from './quick-reads.ts';
import type { Reach } from './reach.ts';

/** The most that one answer carries: in base64 it stays below the limit of a frame. */
export const MAX_READ_BYTES = 11 * 1024 * 1024;

/** Not to wait for the other end of a named pipe. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
/** From this size on hashing is worth the way to another thread. */
const ASIDE_BYTES = 128 * 1024;
const HASH_BLOCK = 1024 * 1024;

export interface ReadWishes {
  readonly offset?: number | null | undefined;
  readonly length?: number | null | undefined;
  readonly withVersion?: boolean | null | undefined;
}

export interface ReadParts {
  readonly reach: Reach;
  /** Called before memory is taken. */
  readonly admit: Admission;
  readonly quick: QuickReads;
}

/** Waits until so many bytes may be held in memory; the function gives them back. */
export type Admission = (bytes: number) => Promise<void>;

/**
 * The content as base64, as JSON text that is ready to be sent. A whole file beyond `MAX_READ_BYTES` is *invalid*: it is to be
 * read in parts; a part is cut to that.
 */
export async function readFile(path: string, wishes: ReadWishes, parts: ReadParts): Promise<ReadyResult> {
  const { reach, admit, quick } = parts;
  const file = (reach.isConfined ? undefined : quick.open(path, READ)) ?? (await openForReading(path, reach));
  try {
    const stats = regular(file, path);
    const { size } = stats;
    const isPart = isGiven(wishes.offset) || isGiven(wishes.length);
    const [from, length] = isPart ? partOf(size, wishes) : [0, wholeLength(size, path)];
    // What says that it is empty nearly always is.
    await admit(size === 0 ? 0 : length);
    const onTheSpot = reach.isConfined || size === 0 ? undefined : quick.read(path, file, stats, from, length);
    const data = onTheSpot ?? (await readRange(file, from, length));
    // Files of the kernel's own say that they are empty.
    const known = size === 0 ? data.length : size;
    const version = (wishes.withVersion ?? !isPart) ? await versionOfRange(file, data, from, known) : undefined;
    return new ReadyResult([
      '{"dataBase64":"',
      data,
      `","size":${known}${version === undefined ? '' : `,"version":"${version}"`}}`,
    ]);
  } catch (error) {
    throw fsFault(error, path);
  } finally {
    closeSync(file);
  }
}

/** The version of what a path leads to, read in blocks; undefined when there is nothing. The path must not be a link. */
export async function versionAt(path: EntryName): Promise<string | undefined> {
  const file = await opened(path, READ | constants.O_NOFOLLOW).catch((error) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    return await versionOf(file);
  } finally {
    closeSync(file);
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function partOf(size: number, { offset, length }: ReadWishes): readonly [number, number] {
  const from = offset ?? 0;
  const most = Math.min(length ?? MAX_READ_BYTES, MAX_READ_BYTES);
  return [from, size === 0 ? most : Math.max(0, Math.min(most, size - from))];
}

function wholeLength(size: number, path: string): number {
  if (size <= MAX_READ_BYTES) return size === 0 ? MAX_READ_BYTES : size;
  const text = `${path} has ${size} bytes, more than one answer carries: read it in parts with offset and length`;
  throw new AppError('invalid', text, { kind: 'too_large', path, size, limit: MAX_READ_BYTES });
}

async function openForReading(path: string, reach: Reach): Promise<number> {
  if (!reach.isConfined) {
    return opened(path, READ).catch((error) => {
      throw fsFault(error, path);
    });
  }
  const place = await reach.place(path, 'target');
  try {
    return await opened(place.path, READ | constants.O_NOFOLLOW);
  } catch (error) {
    throw fsFault(error, path);
  } finally {
    await place.close();
  }
}

/** An open file that is only read is asked and closed at once: the way to another thread and back would cost ten times as much. */
function regular(file: number, path: string): Stats {
  const stats = fstatSync(file);
  if (stats.isFile()) return stats;
  const kind = stats.isDirectory() ? 'is_a_directory' : 'not_a_file';
  throw new AppError('invalid', `path \`${path}\` is not a file`, { kind, path });
}

function opened(path: EntryName, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, flags, (error, file) => (error ? reject(error) : resolve(file)));
  });
}

/** Up to `length` bytes; less only where the file ends. What is read of a file of unknown size grows as it comes. */
async function readRange(file: number, from: number, length: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let done = 0;
  while (done < length) {
    const wanted = length - done;
    const buffer = Buffer.allocUnsafeSlow(length === MAX_READ_BYTES ? Math.min(wanted, 65_536) : wanted);
    const count = await readInto(file, buffer, from + done);
    if (count === 0) break;
    pieces.push(count === buffer.length ? buffer : buffer.subarray(0, count));
    done += count;
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function readInto(file: number, buffer: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, buffer, 0, buffer.length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}

async function versionOfRange(file: number, data: Buffer, from: number, size: number): Promise<string> {
  if (from > 0 || data.length < size) return versionOf(file);
  if (data.length < ASIDE_BYTES) return sha256(data);
  return Buffer.from(await crypto.subtle.digest('SHA-256', data)).toString('hex');
}

async function versionOf(file: number): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafeSlow(HASH_BLOCK);
  for (let position = 0; ; ) {
    const count = await readInto(file, buffer, position);
    if (count === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, count));
    position += count;
  }
}

/** Bytes of a base64 text; *invalid* when it is not one. */
export function decoded(dataBase64: string, method: string): Buffer {
  const data = Buffer.from(dataBase64, 'base64');
  const padding = dataBase64.endsWith('==') ? 2 : dataBase64.endsWith('=') ? 1 : 0;
  // The decoder leaves out what does not belong there, and takes the URL alphabet as well.
  const isWhole = dataBase64.length % 4 === 0 && data.length === (dataBase64.length / 4) * 3 - padding;
  if (isWhole && !dataBase64.includes('-') && !dataBase64.includes('_')) return data;
  throw new AppError('invalid', `${method} requires valid base64 dataBase64`);
}

/** What is about to be replaced or read must be a file of its own. */
export function checkRegular(stats: Stats, path: string): void {
  if (stats.isDirectory()) throw systemFault('EISDIR', path);
  if (!stats.isFile()) throw new AppError('invalid', `path \`${path}\` is not a file`, { kind: 'not_a_file', path });
}
