// Commands that are really confined, and whether they can be here.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createChildren } from '../../src/children/spawn.ts';
import { runsToEnd } from '../../src/process/to-end.ts';
import type { SandboxPolicy } from '../../src/sandbox/policy.ts';
import { createSandboxProbe, type SandboxState } from '../../src/sandbox/probe.ts';
import { wrapCommand } from '../../src/sandbox/wrap.ts';

/** Whether commands can be confined here, found out by trying. */
export async function trySandbox(platform?: NodeJS.Platform): Promise<SandboxState> {
  const children = createChildren();
  try {
    return await createSandboxProbe(runsToEnd(children), platform)();
  } finally {
    await children.close();
  }
}

/** What confines commands here; where there is nothing, that is said loudly. */
export async function sandboxTool() {
  const state = await trySandbox();
  if (state.isAvailable) return state.tool;
  console.warn(`SKIPPED, no sandbox here: ${state.reason}; ${state.advice}`);
  return undefined;
}

/** A new folder with a workspace in it, not in the folder for temporary files, which is private to each command anyway. */
export function workspaceAtHome() {
  const base = realpathSync(mkdtempSync(join(homedir(), '.heddle-test-')));
  const workspace = join(base, 'workspace');
  mkdirSync(workspace);
  return { base, workspace };
}

/** Writes a file that may lie in new folders; gives its path. */
export function fileAt(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Runs a script under a policy, and gives its code and all it printed. */
export async function runConfined(
  tool: Parameters<typeof wrapCommand>[2],
  policy: SandboxPolicy,
  [shell, script, cwd]: readonly [string, string, string],
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly code: number; readonly text: string }> {
  const { argv, release } = await wrapCommand(policy, { argv: [shell, '-c', script], cwd }, tool);
  const [program, ...rest] = argv;
  return new Promise((resolve) => {
    execFile(program, rest, { cwd, env: { PATH: process.env.PATH ?? '', ...env } }, (error, out, err) => {
      release();
      resolve({ code: error ? Number(error.code ?? -1) : 0, text: out + err });
    });
  });
}
