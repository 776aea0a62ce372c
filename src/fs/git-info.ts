// What a folder's git repository says of itself, read from its files: no program is run in a folder that may not be trusted.

import { dirname, join, resolve } from 'node:path';
import { realPathOf } from './containment.ts';
import { kindOf } from './kind.ts';
import { readWholeFile } from './text-file.ts';

export interface GitInfo {
  readonly sha: string | null;
  readonly branch: string | null;
  readonly originUrl: string | null;
}

/** Of a file; undefined: there is none that may be read. */
type Read = (file: string) => Promise<string | undefined>;

/** Bytes; a list of all references of a large repository has less. */
const MAX_FILE = 16 * 1024 * 1024;

/**
 * Undefined where there is no repository; what cannot be read is null. `mayRead`: whether whoever learns of it may read what lies at a real
 * path: links, and files that name folders, lead anywhere. Never rejects.
 */
export async function gitInfoOf(
  folder: string,
  mayRead: (real: string) => Promise<boolean> = async () => true,
): Promise<GitInfo | undefined> {
  const text: Read = async (file) => {
    try {
      // Not of a named pipe, which would be waited for.
      if (!(await kindOf(file))?.isFile()) return undefined;
      const real = await realPathOf(file);
      if (!(await mayRead(real))) return undefined;
      return (await readWholeFile(real, MAX_FILE))?.content.toString('utf8');
    } catch {
      return undefined;
    }
  };
  const place = await repositoryOf(folder, text);
  if (place === undefined) return undefined;
  const shared = resolve(place, (await text(join(place, 'commondir')))?.trim() ?? '.');
  const head = (await text(join(place, 'HEAD')))?.trim();
  const ref = head?.startsWith('ref: ') ? head.slice('ref: '.length) : undefined;
  return {
    sha: ref === undefined ? shaIn(head) : await shaOfRef(place, shared, ref, text),
    branch: ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null,
    originUrl: originIn((await text(join(shared, 'config'))) ?? ''),
  };
}

/** The innermost folder with a repository counts; all are looked at together, since who starts a thread waits for it. */
async function repositoryOf(folder: string, text: Read): Promise<string | undefined> {
  const places = upwards(folder).map((at) => join(at, '.git'));
  const kinds = await Promise.all(places.map(kindOf));
  const found = kinds.findIndex((kind) => kind?.isDirectory() || kind?.isFile());
  const place = places[found];
  if (place === undefined || kinds[found]?.isDirectory()) return place;
  const named = /^gitdir: (.+)$/m.exec((await text(place)) ?? '')?.[1];
  return named === undefined ? undefined : resolve(dirname(place), named.trim());
}

function upwards(folder: string): string[] {
  const folders = [folder];
  for (let at = folder; at !== dirname(at); ) {
    at = dirname(at);
    folders.push(at);
  }
  return folders;
}

async function shaOfRef(place: string, shared: string, ref: string, text: Read): Promise<string | null> {
  if (ref.split('/').includes('..')) return null;
  for (const folder of [place, shared]) {
    const found = shaIn(await text(join(folder, ref)));
    if (found) return found;
  }
  const packed = (await text(join(shared, 'packed-refs'))) ?? '';
  return shaIn(
    packed
      .split('\n')
      .find((line) => line.endsWith(` ${ref}`))
      ?.split(' ')[0],
  );
}

const shaIn = (value: string | undefined): string | null => /^[0-9a-f]{40,64}$/.exec(value?.trim() ?? '')?.[0] ?? null;

/** The address of the remote called origin, without a password that stands in it. */
function originIn(config: string): string | null {
  const section = /\[remote "origin"\]([^[]*)/.exec(config)?.[1];
  // Within its line, and without what could match in several ways: the file may be made to be slow to read.
  const url = section === undefined ? undefined : /^[ \t]*url[ \t]*=(.+)$/m.exec(section)?.[1];
  return url?.trim().replace(/^(\w+:\/\/)[^/@]*@/, '$1') ?? null;
}
