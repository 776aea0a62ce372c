// What has to be started so that a command runs inside the sandbox of this machine.

import { layoutOf } from './layout.ts';
import { mountOptions } from './mounts.ts';
import { Placeholders } from './placeholders.ts';
import { KnownPlaces } from './places.ts';
import { isSandboxed, type SandboxPolicy } from './policy.ts';
import { PrivateFolders } from './private-folders.ts';
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

export interface Wrapped {
  readonly argv: readonly [string, ...string[]];
  /** To be called once, when nothing of the command is left, or when it was not started after all. Never throws. */
  release(): void;
}

/** What commands run on is shared by all who run them in this process, and so is what is known about it. */
const places = new KnownPlaces();
const placeholders = new Placeholders();

/**
 * What to start instead of `argv`; `argv` itself when the policy asks for no sandbox. Rejects as *forbidden*, with a text for whoever
 * wants the command, when its paths do not allow what the policy promises: a working folder that is hidden or not shown, a root that
 * leads elsewhere than at its first use, a hidden path that is missing. Paths are looked at now, so wrap just before the start.
 */
export async function wrapCommand(policy: SandboxPolicy, request: WrapRequest, tool: SandboxTool): Promise<Wrapped> {
  if (!isSandboxed(policy)) return { argv: request.argv, release: () => {} };
  const privates = new PrivateFolders(tool.kind === 'bwrap' ? ['/run', '/tmp'] : []);
  const layout = await layoutOf(policy, request.cwd, places, privates);
  if (tool.kind === 'seatbelt') {
    const argv = [tool.path, '-p', seatbeltProfile(policy, layout), '--', ...request.argv] as const;
    return { argv, release: () => {} };
  }
  const held = placeholders.hold(layout.reserved);
  try {
    const kept = { ...layout, protected: [...layout.protected, ...held] };
    const mounts = await mountOptions(policy, kept, privates);
    const argv = [tool.path, ...fixedOptions(policy, request), ...mounts, '--', ...request.argv] as const;
    return { argv, release: () => placeholders.release(held) };
  } catch (error) {
    placeholders.release(held);
    throw error;
  }
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
