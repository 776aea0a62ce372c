// What has to be started so that a command runs within its policy, and how its end is told from a failure of the sandbox.

import type { Readable } from 'node:stream';
import { AppError } from '../base/errors.ts';
import { checkedProgram } from '../children/program.ts';
import type { Started } from '../children/spawn.ts';
import type { Doors } from '../sandbox/doors.ts';
import { isSandboxed, type SandboxPolicy } from '../sandbox/policy.ts';
import type { SandboxState } from '../sandbox/probe.ts';
import { wrapCommand } from '../sandbox/wrap.ts';

export interface CommandSpec {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly policy: SandboxPolicy;
  /** Whose connections to the network are counted together: a thread, or a client. */
  readonly owner: string;
}

export interface Confined {
  readonly argv: readonly [string, ...string[]];
  /** The sandbox reports on descriptor 3 whether it started the command. */
  readonly sideChannel: boolean;
  readonly isSandboxed: boolean;
  /** Descriptors that the sandbox gets, in this order; see `Wrapped`. */
  readonly handles?: readonly number[];
  closeHandles(): void;
  /** To be called once, when nothing of the command is left, or when it was not started after all. Never throws. */
  release(): void;
}

export interface ConfinedParts {
  readonly sandbox: () => Promise<SandboxState>;
  /** For commands that reach single hosts only; without it they are not run. */
  readonly doors?: Pick<Doors, 'open'>;
}

/** Where handles begin in a program that `Children` starts. */
const FIRST_HANDLE = 4;

/** Rejects as *unavailable* when the policy asks for a sandbox and there is none, and as a start would for program and folder. */
export async function confined(
  { argv, cwd, env, policy, owner }: CommandSpec,
  { sandbox, doors }: ConfinedParts,
  hasTerminal: boolean,
): Promise<Confined> {
  if (!isSandboxed(policy))
    return { argv, sideChannel: false, isSandboxed: false, closeHandles: () => {}, release: () => {} };
  const state = await sandbox();
  if (!state.isAvailable)
    throw new AppError('unavailable', `sandbox unavailable: ${state.reason}; ${state.advice}`, {
      sandbox: 'unavailable',
    });
  // Asked here too, since the sandbox program would tell it in words of its own.
  await checkedProgram({ argv, cwd, env });
  const sideChannel = state.tool.kind === 'bwrap' && !hasTerminal;
  const request = {
    argv,
    cwd,
    hasTerminal,
    firstHandle: FIRST_HANDLE,
    ...(sideChannel ? { statusDescriptor: 3 } : {}),
  };
  const door = policy.hosts && !policy.network ? await doors?.open(policy.hosts, owner) : undefined;
  try {
    const wrapped = await wrapCommand(
      policy,
      { ...request, ...(door ? { networkSocket: door.socket } : {}) },
      state.tool,
    );
    const release = () => {
      wrapped.release();
      door?.release();
    };
    return { ...wrapped, release, sideChannel, isSandboxed: true };
  } catch (error) {
    door?.release();
    throw error;
  }
}

/** Starts what is confined; after its end, and when `clear` has settled because nothing of it is left, what it needed is released. */
export async function startConfined<Process extends Started>(
  how: Confined,
  start: () => Promise<Process>,
  clear: (started: Process) => Promise<unknown>,
): Promise<Process> {
  try {
    const started = await start();
    // A sandbox takes everything in it along, so nothing is ended early by this; what runs bare may leave something that prints on.
    if (how.isSandboxed) void started.exited.then(() => clear(started)).then(() => how.release());
    return started;
  } catch (error) {
    how.release();
    throw error;
  } finally {
    how.closeHandles();
  }
}

/** What the sandbox says about a command. */
export class SandboxReport {
  readonly ended: Promise<void>;
  readonly #isExpected: boolean;
  #text = '';

  constructor(channel: Readable | null) {
    this.#isExpected = channel !== null;
    this.ended = channel ? endOf(channel) : Promise.resolve();
    channel?.on('data', (chunk: Buffer) => {
      this.#text = (this.#text + chunk.toString('latin1')).slice(-4_096);
    });
  }

  /** It reports an exit code only for a command that it has started. To be asked after the exit, when there was no signal. */
  get hasFailed(): boolean {
    return this.#isExpected && !this.#text.includes('"exit-code"');
  }
}

export function endOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.once('end', resolve);
  });
}
