// The mounts of a layout, as options of bwrap.

import { realpath } from 'node:fs/promises';
import type { Handles } from './handles.ts';
import type { Layout } from './layout.ts';
import { isWithin, type SandboxPolicy } from './policy.ts';
import type { PrivateFolders } from './private-folders.ts';
import { wayOutFiles } from './way-out.ts';

interface Mount {
  readonly path: string;
  readonly option: '--tmpfs' | '--bind' | '--ro-bind' | '--bind-fd' | '--ro-bind-fd';
  readonly source?: string;
  /** An empty folder that must not be written either. */
  readonly isSealed?: boolean;
}

/**
 * A later mount covers an earlier one, so outer folders come before what lies in them. For one path the map keeps the last word:
 * private folders, then what may be seen, then what may be written, then what is protected, then what is hidden. What is a mount
 * cannot be renamed or removed by the command.
 */
export async function mountOptions(
  policy: SandboxPolicy,
  layout: Layout,
  privates: PrivateFolders,
  handles: Handles,
  networkSocket?: string,
): Promise<string[]> {
  const mounts = new Map<string, Mount>();
  const put = (mount: Mount) => void mounts.set(mount.path, mount);
  const bind = (path: string, option: '--bind' | '--ro-bind' = '--bind') => put({ path, option, source: path });
  const hold = (path: string, option: '--bind' | '--ro-bind' = '--bind') => {
    const number = handles.take(path);
    if (number === undefined) bind(path, option);
    else put({ path, option: `${option}-fd`, source: String(number) });
  };
  const isTmpSealed = policy.mode === 'read-only' || policy.excludeSlashTmp;
  for (const path of privates.paths) put({ path, option: '--tmpfs', isSealed: path === '/run' || isTmpSealed });
  const { shown } = layout;
  if (!shown || policy.readable?.isMinimal)
    for (const path of await neededFromRun(policy.network)) bind(path, '--ro-bind');
  for (const path of shown?.paths ?? []) hold(path, '--ro-bind');
  for (const path of shown ? [] : layout.workspace)
    if (privates.has(path) && !layout.writable.includes(path)) hold(path, '--ro-bind');
  if (layout.tmpdir) hold(layout.tmpdir);
  for (const path of new Set([...layout.pinned, ...layout.writable])) if (path !== '/') hold(path);
  for (const path of layout.protected) bind(path, '--ro-bind');
  for (const { path, isFolder } of layout.hidden)
    put(isFolder ? { path, option: '--tmpfs', isSealed: true } : { path, option: '--ro-bind', source: '/dev/null' });
  if (networkSocket !== undefined)
    for (const [path, source] of wayOutFiles(networkSocket)) put({ path, option: '--ro-bind', source });

  const ordered = [...mounts.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return [
    ...(shown ? ['--tmpfs', '/'] : [layout.writable.includes('/') ? '--bind' : '--ro-bind', '/', '/']),
    ...['--dev', '/dev', '--proc', '/proc'],
    ...ordered.flatMap(({ path, option, source }) => (source === undefined ? [option, path] : [option, source, path])),
    ...(shown?.links ?? []).flatMap((link) => ['--symlink', ...link]),
    // Sealed last: the folders for the mounts inside have to be made first.
    ...ordered.flatMap(({ path, isSealed }) => (isSealed ? ['--remount-ro', path] : [])),
    ...(shown ? ['--remount-ro', '/'] : []),
    ...['--chdir', layout.cwd],
  ];
}

/** What programs need from the hidden `/run`: the resolver's file on many systems, the programs themselves on some. */
async function neededFromRun(network: boolean): Promise<string[]> {
  const wanted = ['/run/current-system', ...(network ? ['/etc/resolv.conf'] : [])];
  const real = await Promise.all(wanted.map((path) => realpath(path).catch(() => '')));
  return [
    ...(real[0] === '' ? [] : ['/run/current-system']),
    ...real.slice(1).filter((path) => isWithin(path, '/run')),
  ];
}
