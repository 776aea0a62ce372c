// Files as they are now, each read once for as long as it stays the same.

import { type BigIntStats, lstat, readlink } from 'node:fs';
import { promisify } from 'node:util';
import { readWholeFile } from '../../fs/text-file.ts';
import { type Content, objectId } from '../patch/diff-text.ts';

/** Bytes up to which a file is compared line by line, and up to which it is read at all. */
const MAX_TEXT = 1024 * 1024;
const MAX_READ = 8 * 1024 * 1024;

/** Bytes that are read at once: of what comes beyond it is only known that it is another. */
const MAX_ROUND = 64 * 1024 * 1024;

/** The clock of a file system is coarser than what happens in it: a file changed so recently may change without a trace. */
const RACY_NS = 20_000_000n;

interface Known {
  readonly signature: string;
  readonly content: Content;
}

const NANOSECONDS = 1_000_000n;

/** By callback: that a file is missing makes no error with a stack each. */
const look = (path: string): Promise<BigIntStats | undefined> =>
  new Promise((resolve) => lstat(path, { bigint: true }, (error, stats) => resolve(error ? undefined : stats)));

const linkTarget = promisify(readlink);

export class FileContents {
  readonly #known = new Map<string, Known>();
  #read = 0;

  /** Forgets how much was read. */
  begin(): void {
    this.#read = 0;
  }

  /** Null: there is no file or link. What cannot be read, or is too large, is told from others by its time and size. */
  async now(path: string): Promise<Content | null> {
    const stats = await look(path);
    if (!stats || !(stats.isFile() || stats.isSymbolicLink())) {
      this.#known.delete(path);
      return null;
    }
    const signature = signatureOf(stats);
    const known = this.#known.get(path);
    if (known?.signature === signature) return known.content;
    const content = (await this.#contentOf(path, stats)) ?? {
      id: `unread ${signature}`,
      mode: Number(stats.mode),
      text: undefined,
    };
    const isSettled = BigInt(Date.now()) * NANOSECONDS - stats.ctimeNs > RACY_NS;
    if (isSettled || content.text === undefined) this.#known.set(path, { signature, content });
    else this.#known.delete(path);
    return content;
  }

  /** The file has not been touched since then, as far as its times tell. */
  static async isOlderThan(path: string, atMs: number): Promise<boolean> {
    const stats = await look(path);
    return stats !== undefined && stats.ctimeNs + RACY_NS < BigInt(Math.floor(atMs)) * NANOSECONDS;
  }

  async #contentOf(path: string, stats: BigIntStats): Promise<Content | undefined> {
    const mode = Number(stats.mode);
    try {
      if (stats.isSymbolicLink()) {
        const text = await linkTarget(path);
        return { id: objectId(text), mode, text };
      }
      if (stats.size > MAX_READ || this.#read > MAX_ROUND) return undefined;
      const file = await readWholeFile(path, MAX_READ);
      if (!file) return undefined;
      this.#read += file.content.length;
      return contentOf(file.content, mode);
    } catch {
      return undefined;
    }
  }
}

/** Of the bytes of a file. */
export function contentOf(bytes: Buffer, mode: number): Content {
  return { id: objectId(bytes), mode, text: bytes.length > MAX_TEXT ? undefined : textOf(bytes) };
}

function textOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const signatureOf = ({ ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): string =>
  [ino, size, mtimeNs, ctimeNs, mode].join(':');
