// What can be seen under a policy that names it: the readable paths as they lie on this machine, and what programs need to run at all.

import { lstat, readlink, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { type KnownPlaces, refusal } from './places.ts';
import { isWithin, type SandboxPolicy } from './policy.ts';

export interface Shown {
  /** Real paths. */
  readonly paths: readonly string[];
  /** Names by which they are reached as well: [what it says, where it is]. */
  readonly links: readonly (readonly [string, string])[];
  /** Of the paths those that were named, as they were named. */
  readonly named: readonly { readonly given: string; readonly path: string }[];
}

const ETC =
  'alternatives bash.bashrc ca-certificates ca-certificates.conf crypto-policies debian_version default/locale fonts gai.conf gitconfig group ' +
  'host.conf hosts inputrc java ld.so.cache ld.so.conf ld.so.conf.d locale.conf localtime login.defs lsb-release machine-id magic mime.types ' +
  'nsswitch.conf openssl os-release passwd pki profile profile.d protocols resolv.conf services shells ssl/certs ssl/openssl.cnf static ' +
  'terminfo timezone xdg';

/** Programs, libraries, and of the settings of the machine those that hold no secrets. */
const MINIMAL: readonly string[] = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store'],
  ...ETC.split(' ').map((name) => `/etc/${name}`),
];

/** What of the kernel and of other programs would be shown by it is not to be had by a path. */
const NEVER: readonly string[] = ['/proc', '/dev'];

/** Rejects as *forbidden* what leads elsewhere than before, or is neither a file nor a folder. */
export async function shownBy({ readable }: SandboxPolicy, known: KnownPlaces): Promise<Shown | undefined> {
  if (!readable) return undefined;
  const system = readable.isMinimal ? await systemPaths() : { paths: [], links: [] };
  const paths = new Set<string>(system.paths);
  const links = [...system.links];
  const named: { given: string; path: string }[] = [];
  for (const each of readable.paths) {
    const given = resolve(each);
    const { path, exists } = await known.root(given);
    if (!exists) continue;
    await refuseStrange(path);
    paths.add(path);
    named.push({ given, path });
    if (given !== path) links.push([path, given]);
  }
  return { paths: [...paths], links: reachable(links, [...paths]), named };
}

/** Where something around is shown, a link in it is too; and what is behind one link needs no other. */
function reachable(links: readonly (readonly [string, string])[], paths: readonly string[]): [string, string][] {
  const kept: [string, string][] = [];
  for (const [target, at] of links.toSorted(([, one], [, other]) => one.length - other.length))
    if (![...paths, ...kept.map(([, earlier]) => earlier)].some((each) => isWithin(at, each))) kept.push([target, at]);
  return kept;
}

/** What programs need of the system, as far as it is there. */
export async function systemPaths(): Promise<Pick<Shown, 'paths' | 'links'>> {
  const found = await Promise.all(MINIMAL.map(async (path) => [await targetOf(path), path] as const));
  return {
    paths: found.filter(([target, path]) => target === path).map(([, path]) => path),
    links: found.flatMap(([target, path]) =>
      target === undefined || target === path ? [] : [[target, path] as const],
    ),
  };
}

/** What a link says; itself for what is no link; undefined: there is nothing. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : path;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw refusal(`${path} cannot be looked at (${codeOf(error)})`, path);
  }
}

async function refuseStrange(path: string): Promise<void> {
  const found = await stat(path);
  if (path === '/' || NEVER.some((folder) => isWithin(path, folder)) || !(found.isFile() || found.isDirectory()))
    throw refusal(`${path} cannot be shown to commands: it is neither a file nor a folder of the disk`, path);
}
