// What has to be started so that a command runs inside the sandbox of this machine.

import { AppError } from '../base/errors.ts';
import type { Leftovers } from '../base/leftovers.ts';
import { Handles } from './handles.ts';
import { layoutOf } from './layout.ts';
import { mountOptions } from './mounts.ts';
import { Placeholders } from './placeholders.ts';
import { KnownPlaces } from './places.ts';
import { isSandboxed, type SandboxPolicy } from './policy.ts';
import { PrivateFolders } from './private-folders.ts';
import { seatbeltProfile } from './seatbelt.ts';
import { wayOutVariables, withWayOut } from './way-out.ts';

export interface SandboxTool {
  readonly kind: 'bwrap' | 'seatbelt';
  /** Absolute path of the program. */
  readonly path: string;
  /** It mounts what a handle is open on. Older ones find each path themselves, a moment after we have looked at it. */
  readonly mountsHandles?: boolean;
  /** Where the folders are noted that stand in for something while a command runs. */
  readonly leftovers?: Leftovers;
}

export interface WrapRequest {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The command has a terminal of its own and must get its signals: no new session then. */
  readonly hasTerminal?: boolean;
  /** The descriptor on which bwrap is to report, as JSON lines, that the command was started and how it ended. */
  readonly statusDescriptor?: number;
  /** The socket of a proxy, for a command that reaches single hosts only. */
  readonly networkSocket?: string;
  /** The number that the first of the handles gets in the program that is started; without it there are none. */
  readonly firstHandle?: number;
}

export interface Wrapped {
  readonly argv: readonly [string, ...string[]];
  /** Descriptors to be handed to the program, in this order; `closeHandles` as soon as it runs or could not be started. */
  readonly handles: readonly number[];
  closeHandles(): void;
  /** To be called once, when nothing of the command is left, or when it was not started after all. Never throws. */
  release(): void;
}

const NOTHING_HELD = { handles: [], closeHandles: () => {}, release: () => {} };

/** What commands run on is shared by all who run them in this process, and so is what is known about it. */
const places = new KnownPlaces();
const placeholders = new Placeholders();

/**
 * What to start instead of `argv`; `argv` itself when the policy asks for no sandbox. Rejects as *forbidden*, with a text for whoever
 * wants the command, when its paths do not allow what the policy promises: a working folder that is hidden or not shown, a root that
 * leads elsewhere than at its first use, a hidden path that is missing. Paths are looked at now, so wrap just before the start.
 */
export async function wrapCommand(policy: SandboxPolicy, request: WrapRequest, tool: SandboxTool): Promise<Wrapped> {
  if (!isSandboxed(policy)) return { ...NOTHING_HELD, argv: request.argv };
  const privates = new PrivateFolders(tool.kind === 'bwrap' ? ['/run', '/tmp'] : []);
  const layout = await layoutOf(policy, request.cwd, places, privates);
  if (isByProxy(policy) && (tool.kind === 'seatbelt' || request.networkSocket === undefined))
    throw new AppError('unavailable', 'sandbox unavailable: it cannot hold commands to single hosts here');
  if (tool.kind === 'seatbelt' && (policy.patterns || policy.readable))
    throw new AppError(
      'unavailable',
      'sandbox unavailable: it cannot hold commands to patterns or readable paths here',
    );
  if (tool.kind === 'seatbelt') {
    const argv = [tool.path, '-p', seatbeltProfile(policy, layout), '--', ...request.argv] as const;
    return { ...NOTHING_HELD, argv };
  }
  const held = placeholders.hold(layout.reserved, tool.leftovers);
  const handles = new Handles(tool.mountsHandles ? request.firstHandle : undefined);
  try {
    const kept = { ...layout, protected: [...layout.protected, ...held] };
    const mounts = await mountOptions(policy, kept, privates, handles, request.networkSocket);
    const command = isByProxy(policy) ? withWayOut(request.argv) : request.argv;
    const argv = [tool.path, ...fixedOptions(policy, request), ...mounts, '--', ...command] as const;
    const { descriptors } = handles;
    return {
      argv,
      handles: descriptors,
      closeHandles: () => handles.close(),
      release: () => placeholders.release(held),
    };
  } catch (error) {
    handles.close();
    placeholders.release(held);
    throw error;
  }
}

const isByProxy = ({ network, hosts }: SandboxPolicy): boolean => !network && hosts !== undefined;

const variables = (given: Readonly<Record<string, string>>): string[] =>
  Object.entries(given).flatMap(([name, value]) => ['--setenv', name, value]);

/**
 * A user namespace of its own without any capability, in which no other can be made: with `--unshare-all` alone a command of root
 * could mount the disk writable again.
 */
function fixedOptions(policy: SandboxPolicy, request: WrapRequest): string[] {
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts'],
    ...(policy.network ? [] : ['--unshare-net']),
    ...(isByProxy(policy) && policy.hosts ? variables(wayOutVariables(policy.hosts)) : []),
    ...['--cap-drop', 'ALL', '--disable-userns', '--die-with-parent'],
    ...(request.hasTerminal ? [] : ['--new-session']),
    ...(request.statusDescriptor === undefined ? [] : ['--json-status-fd', String(request.statusDescriptor)]),
  ];
}
