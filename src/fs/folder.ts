// A folder held open: what is done in it happens in this very folder, whatever becomes of the path that led to it.

import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Closable, closeOnce } from '../base/close.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** Whether paths can begin at an open folder here. */
export const HOLDS_FOLDERS = process.platform === 'linux';

/** The name of an entry: bytes where it may be no text. */
export type EntryName = string | Buffer;

export interface Folder extends Closable {
  /** Where it lies, links resolved, as known when it was opened. */
  readonly path: string;
  /** A path for the system that leads to an entry of this folder; `.` is the folder itself. */
  at(name: string): string;
  at(name: EntryName): EntryName;
  /** Settles when what was put into it is on disk. */
  sync(): Promise<void>;
}

/** Opens a folder; its last part may not be a link. Rejects with the error of the system. */
export async function openFolder(path: EntryName): Promise<Folder> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!HOLDS_FOLDERS) {
    await handle.close();
    const text = path.toString();
    return { path: text, at: entriesOf(text), sync: async () => {}, close: async () => {} };
  }
  try {
    return await held(handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function held(handle: FileHandle): Promise<Folder> {
  const own = `/proc/self/fd/${handle.fd}`;
  const path = await readlink(own);
  return { path, at: entriesOf(own), sync: () => handle.sync(), close: closeOnce(() => handle.close()) };
}

/** Opens a folder in a folder. */
export async function enter(folder: Folder, name: EntryName): Promise<Folder> {
  // Every byte is one letter here, so that what is checked is what is opened.
  checkedName(typeof name === 'string' ? name : name.toString('latin1'));
  return openFolder(folder.at(name));
}

/** Paths of entries, in bytes for a name that is given in bytes. */
function entriesOf(folder: string): Folder['at'] {
  function at(name: string): string;
  function at(name: EntryName): EntryName;
  function at(name: EntryName): EntryName {
    return typeof name === 'string' ? `${folder}/${name}` : Buffer.concat([Buffer.from(`${folder}/`), name]);
  }
  return at;
}

/** A part of a path never leads out of its folder. */
export function checkedName(name: string): string {
  if (name === '' || name === '..' || basename(name) !== name || name.includes('\0'))
    throw new TypeError('not the name of an entry');
  return name;
}
