// A file as it is now, read whole by its real path.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { sha256 } from '../base/canonical.ts';
import { AppError, codeOf } from '../base/errors.ts';
import { about } from './fault.ts';
import { type Folder, openFolder } from './folder.ts';

/** Not to wait for the other end of a named pipe, nor to follow what has become a link. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface TextFile {
  readonly text: string;
  /** SHA-256 of its bytes, in hex. */
  readonly version: string;
  /** Permission bits. */
  readonly mode: number;
}

export interface WholeFile {
  readonly content: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

/** As `readWholeFile`; rejects as *invalid* also for what is no UTF-8. */
export async function readTextFile(path: string, maxBytes: number): Promise<TextFile | undefined> {
  const file = await readWholeFile(path, maxBytes);
  if (!file) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.content);
    return { text, version: sha256(file.content), mode: file.mode };
  } catch {
    throw new AppError('invalid', `${path} is no text in UTF-8`, { kind: 'not_text', path });
  }
}

/**
 * Undefined when there is none. Rejects as *invalid* for what is no file or larger than `maxBytes`, and as *forbidden* when the path
 * leads elsewhere by now.
 */
export function readWholeFile(path: string, maxBytes: number): Promise<WholeFile | undefined> {
  return about(path, async () => {
    let folder: Folder | undefined;
    let file: FileHandle | undefined;
    try {
      folder = await openFolder(dirname(path));
      if (folder.path !== dirname(path))
        throw new AppError('forbidden', `${path} leads elsewhere than it did a moment ago`, { kind: 'moved', path });
      file = await open(folder.at(basename(path) || '.'), READ);
      return await contentOf(file, path, maxBytes);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    } finally {
      await file?.close();
      await folder?.close();
    }
  });
}

async function contentOf(file: FileHandle, path: string, maxBytes: number): Promise<WholeFile> {
  const stats = await file.stat();
  if (!stats.isFile()) throw new AppError('invalid', `${path} is not a file`, { kind: 'not_a_file', path });
  if (stats.size > maxBytes) throw tooLarge(path, maxBytes);
  const bytes = Buffer.alloc(stats.size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) break;
    length += bytesRead;
    // It grows while it is read.
    if (length === bytes.length) throw new AppError('conflict', `${path} is being written`, { path });
  }
  return { content: bytes.subarray(0, length), mode: stats.mode & 0o7777 };
}

const tooLarge = (path: string, limit: number): AppError =>
  new AppError('invalid', `${path} has more than ${limit} bytes`, { kind: 'too_large', path, limit });
