// Does the sandbox hold on this machine? Found out by doing what must be denied and what must work.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { once } from '../base/lazy.ts';
import type { Leftovers } from '../base/leftovers.ts';
import type { SandboxPolicy } from './policy.ts';
import { type SandboxTool, wrapCommand } from './wrap.ts';

export type SandboxState =
  | { readonly isAvailable: true; readonly tool: SandboxTool }
  | {
      readonly isAvailable: false;
      /** What went wrong, for people. */
      readonly reason: string;
      /** What to install or to change. */
      readonly advice: string;
    };

/** Runs a program to its end: the code, or null when it was killed, and what it said. Rejects when it cannot be started. */
export type RunToEnd = (
  argv: readonly [string, ...string[]],
  cwd: string,
  env: Readonly<Record<string, string>>,
) => Promise<{ readonly code: number | null; readonly output: string }>;

/** Looks once (some 20 ms) and remembers; never rejects. What cannot be run is a sandbox that does not hold. */
export function createSandboxProbe(
  run: RunToEnd,
  platform: NodeJS.Platform = process.platform,
): () => Promise<SandboxState> {
  return once(() => probe(platform, run));
}

/** The same, with folders that stand in for something noted as leftovers while a command runs. */
export function noting(leftovers: Leftovers, sandbox: () => Promise<SandboxState>): () => Promise<SandboxState> {
  return async () => {
    const state = await sandbox();
    return state.isAvailable ? { ...state, tool: { ...state.tool, leftovers } } : state;
  };
}

async function probe(platform: NodeJS.Platform, run: RunToEnd): Promise<SandboxState> {
  const tool = await findTool(platform, run);
  const advice =
    platform === 'linux'
      ? 'install bubblewrap (0.8 or newer) and allow unprivileged user namespaces'
      : 'commands can be confined on Linux and macOS only';
  if (!tool) return { isAvailable: false, reason: `no sandbox program found for ${platform}`, advice };
  const reason = await whatFails(tool, run).catch((error: unknown) => messageOf(error));
  return reason === undefined ? { isAvailable: true, tool } : { isAvailable: false, reason, advice };
}

const ENVIRONMENT = { PATH: '/usr/bin:/bin' };

async function findTool(platform: NodeJS.Platform, run: RunToEnd): Promise<SandboxTool | undefined> {
  if (platform === 'darwin')
    return existsSync('/usr/bin/sandbox-exec') ? { kind: 'seatbelt', path: '/usr/bin/sandbox-exec' } : undefined;
  if (platform !== 'linux') return undefined;
  // Not by PATH: a folder that commands may write must not supply the program that confines them.
  const path = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap'].find(
    existsSync,
  );
  return path === undefined ? undefined : { kind: 'bwrap', path, mountsHandles: await knows(path, '--bind-fd', run) };
}

async function knows(program: string, option: string, run: RunToEnd): Promise<boolean> {
  const help = await run([program, '--help'], '/', ENVIRONMENT).catch(() => undefined);
  return help?.output.includes(option) ?? false;
}

async function whatFails(tool: SandboxTool, run: RunToEnd): Promise<string | undefined> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-probe-')));
  try {
    await mkdir(join(folder, '.git'));
    const reading = await attempt(
      tool,
      policyFor('read-only', folder),
      `! { echo x >'${folder}/denied'; } 2>/dev/null`,
      run,
    );
    if (reading !== undefined) return `a harmless command does not run in the sandbox: ${reading}`;
    const writing = await attempt(
      tool,
      policyFor('workspace-write', folder),
      `echo x >'${folder}/allowed' && ! { echo x >'${folder}/.git/denied'; } 2>/dev/null`,
      run,
    );
    if (writing !== undefined) return `a command cannot write its workspace: ${writing}`;
    if (existsSync(join(folder, 'denied')) || existsSync(join(folder, '.git/denied')))
      return 'the sandbox let a forbidden write through';
    return existsSync(join(folder, 'allowed')) ? undefined : 'what a command wrote did not arrive';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function policyFor(mode: SandboxPolicy['mode'], folder: string): SandboxPolicy {
  const roots = { writableRoots: [folder], workspace: [folder] };
  return { ...roots, mode, network: false, hidden: [], excludeTmpdir: true, excludeSlashTmp: true };
}

/** Undefined when the script ended with 0, else what is known about why not. */
async function attempt(
  tool: SandboxTool,
  policy: SandboxPolicy,
  script: string,
  run: RunToEnd,
): Promise<string | undefined> {
  const cwd = policy.writableRoots[0] as string;
  const { argv, release } = await wrapCommand(policy, { argv: ['/bin/sh', '-c', script], cwd }, tool);
  try {
    const { code, output } = await run(argv, cwd, ENVIRONMENT);
    return code === 0 ? undefined : output.trim() || `it ended with ${code ?? 'a signal'}`;
  } finally {
    release();
  }
}
