// Lists the files below a folder with ripgrep, which knows what ignore files mean.

import { existsSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { once } from '../base/lazy.ts';
import type { Children } from '../children/spawn.ts';

/** Hidden files are listed, what belongs to git itself is not; ignore files count outside of repositories as well. */
const LIST = ['--files', '--hidden', '--glob', '!.git', '--no-require-git', '--no-config', '--no-messages', '--null'];

const ripgrep = once(() => {
  const name = `@vscode/ripgrep-${process.platform}-${process.arch}`;
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'rg');
    if (existsSync(path)) return path;
  } catch {
    // said below
  }
  throw new AppError('unavailable', `files cannot be searched: the package ${name} is not installed`);
});

export interface ListParts {
  readonly children: Children;
  /** Ripgrep looks there for what a person ignores everywhere. */
  readonly environment: Readonly<Record<string, string>>;
  /** Whether a real path may be listed. */
  readonly accepts: (real: string) => boolean;
}

/** Gives the paths below `root`, each ended by a NUL, in pieces that are cut anywhere. Ends with the signal, without an error. */
export async function listFiles(
  root: string,
  parts: ListParts,
  signal: AbortSignal,
  take: (data: Buffer) => void,
): Promise<void> {
  const spec = {
    argv: [ripgrep(), ...LIST] as [string, ...string[]],
    cwd: root,
    env: parts.environment,
    stdin: 'none',
    output: 'split',
  } as const;
  const child = await parts.children.start(spec, signal);
  try {
    child.stderr?.resume();
    // The folder may have been exchanged before the program came to be in it.
    const place = await readlink(`/proc/${child.pid}/cwd`).catch(() => undefined);
    if (place !== undefined && !parts.accepts(place)) return;
    for await (const data of child.stdout) {
      if (signal.aborted) return;
      take(data as Buffer);
    }
  } finally {
    await child.close();
  }
}
