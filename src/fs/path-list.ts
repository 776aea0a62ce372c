// The paths of one search as they come in pieces, with the folders that they lie in.

import { StringDecoder } from 'node:string_decoder';

/** Further paths are left out. */
export const MAX_PATHS_LISTED = 1_000_000;

export class PathList {
  readonly paths: string[] = [];
  /** The place of each path's root in the list of roots; a folder has its complement. */
  readonly #origins: number[] = [];
  readonly #rests: string[];
  readonly #decoders: StringDecoder[];
  readonly #folders: Set<string>[];

  constructor(roots: number) {
    this.#rests = Array.from({ length: roots }, () => '');
    this.#decoders = this.#rests.map(() => new StringDecoder('utf8'));
    this.#folders = this.#rests.map(() => new Set());
  }

  push(root: number, data: Uint8Array): void {
    const text =
      this.#rests[root]! + this.#decoders[root]!.write(Buffer.from(data.buffer, data.byteOffset, data.length));
    const pieces = text.split('\0');
    this.#rests[root] = pieces.pop()!;
    for (const path of pieces) this.#add(root, path);
  }

  rootOf(index: number): number {
    const origin = this.#origins[index]!;
    return origin < 0 ? ~origin : origin;
  }

  isFolder(index: number): boolean {
    return this.#origins[index]! < 0;
  }

  #add(root: number, path: string): void {
    if (path === '' || this.paths.length >= MAX_PATHS_LISTED) return;
    const folders = this.#folders[root]!;
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
      this.#put(~root, folder);
    }
    this.#put(root, path);
  }

  #put(origin: number, path: string): void {
    this.paths.push(path);
    this.#origins.push(origin);
  }
}
