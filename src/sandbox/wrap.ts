// The argument list that runs a command inside the sandbox of this machine.

import { realpath } from 'node:fs/promises';
import { AppError } from '../base/errors.ts';
import { type Layout, layoutOf } from './layout.ts';
import { isSandboxed, isWithin, type SandboxPolicy } from './policy.ts';
import { seatbeltProfile } from './seatbelt.ts';

export interface SandboxTool {
  readonly kind: 'bwrap' | 'seatbelt';
  /** Absolute path of the program. */
  readonly path: string;
}

export interface WrapRequest {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The command has a terminal of its own and must get its signals: no new session then. */
  readonly hasTerminal?: boolean;
  /** The descriptor on which bwrap is to report, as JSON lines, that the command was started and how it ended. */
  readonly statusDescriptor?: number;
}

/**
 * The argument list to start instead of `argv`; `argv` itself when the policy asks for no sandbox. Rejects as *forbidden* when the
 * working folder is one that the policy hides. Paths are looked at now, so wrap just before the start.
 */
export async function wrapCommand(
  policy: SandboxPolicy,
  request: WrapRequest,
  tool: SandboxTool,
): Promise<readonly [string, ...string[]]> {
  if (!isSandboxed(policy)) return request.argv;
  const layout = await layoutOf(policy, request.cwd);
  refuseHiddenFolder(layout);
  if (tool.kind === 'seatbelt') return [tool.path, '-p', seatbeltProfile(policy, layout), '--', ...request.argv];
  return [tool.path, ...fixedOptions(policy, request), ...(await mountOptions(policy, layout)), '--', ...request.argv];
}

function refuseHiddenFolder({ cwd, hidden, writable }: Layout): void {
  const cover = hidden.find(({ path }) => isWithin(cwd, path) && !writable.some((root) => isInside(cwd, root, path)));
  if (cover) throw new AppError('forbidden', `working directory is hidden from commands: ${cwd}`, { path: cwd });
}

/** `cwd` lies in `root`, and `root` is a proper part of `cover`. */
function isInside(cwd: string, root: string, cover: string): boolean {
  return isWithin(cwd, root) && root !== cover && isWithin(root, cover);
}

/**
 * A user namespace of its own without any capability, in which no other can be made: with `--unshare-all` alone a command of root
 * could mount the disk writable again.
 */
function fixedOptions(policy: SandboxPolicy, request: WrapRequest): string[] {
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts'],
    ...(policy.network ? [] : ['--unshare-net']),
    ...['--cap-drop', 'ALL', '--disable-userns', '--die-with-parent'],
    ...(request.hasTerminal ? [] : ['--new-session']),
    ...(request.statusDescriptor === undefined ? [] : ['--json-status-fd', String(request.statusDescriptor)]),
  ];
}

interface Mount {
  readonly path: string;
  readonly option: '--tmpfs' | '--bind' | '--ro-bind';
  readonly source?: string;
  /** An empty folder that must not be written either. */
  readonly isSealed?: boolean;
}

/**
 * A later mount covers an earlier one, so outer folders come before what lies in them. For one path the map keeps the last word:
 * private folders, then what may be written, then what is protected, then what is hidden.
 */
async function mountOptions(policy: SandboxPolicy, layout: Layout): Promise<string[]> {
  const mounts = new Map<string, Mount>();
  const put = (mount: Mount) => void mounts.set(mount.path, mount);
  const isTmpSealed = policy.mode === 'read-only' || policy.excludeSlashTmp;
  for (const path of PRIVATE) put({ path, option: '--tmpfs', isSealed: path === '/run' || isTmpSealed });
  for (const path of await neededFromRun(policy.network)) put({ path, option: '--ro-bind', source: path });
  const isInWritable = layout.writable.some((root) => isWithin(layout.cwd, root));
  if (!isInWritable && PRIVATE.some((folder) => isWithin(layout.cwd, folder)))
    put({ path: layout.cwd, option: '--ro-bind', source: layout.cwd });
  if (layout.tmpdir && !PRIVATE.includes(layout.tmpdir))
    put({ path: layout.tmpdir, option: '--bind', source: layout.tmpdir });
  for (const path of layout.writable.filter((root) => root !== '/')) put({ path, option: '--bind', source: path });
  for (const path of layout.protected) put({ path, option: '--ro-bind', source: path });
  for (const { path, isFolder } of layout.hidden)
    put(isFolder ? { path, option: '--tmpfs', isSealed: true } : { path, option: '--ro-bind', source: '/dev/null' });

  const ordered = [...mounts.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return [
    ...[layout.writable.includes('/') ? '--bind' : '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...ordered.flatMap(({ path, option, source }) => (source === undefined ? [option, path] : [option, source, path])),
    // Sealed last: the folders for the mounts inside have to be made first.
    ...ordered.flatMap(({ path, isSealed }) => (isSealed ? ['--remount-ro', path] : [])),
    ...['--chdir', layout.cwd],
  ];
}

/** Folders where programs of the host leave sockets and each other's data. */
const PRIVATE: readonly string[] = ['/run', '/tmp'];

/** What programs need from the hidden `/run`: the resolver's file on many systems, the programs themselves on some. */
async function neededFromRun(network: boolean): Promise<string[]> {
  const wanted = ['/run/current-system', ...(network ? ['/etc/resolv.conf'] : [])];
  const real = await Promise.all(wanted.map((path) => realpath(path).catch(() => '')));
  return [
    ...(real[0] === '' ? [] : ['/run/current-system']),
    ...real.slice(1).filter((path) => isWithin(path, '/run')),
  ];
}
