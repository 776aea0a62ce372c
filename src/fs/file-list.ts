// Lists the files below a folder with ripgrep, which knows what ignore files mean.

import { existsSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { once } from '../base/lazy.ts';
import type { Children } from '../children/spawn.ts';
import { relieve } from './ignore-pipes.ts';
import type { Reach } from './reach.ts';

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
  /** What may be listed. */
  readonly reach: Pick<Reach, 'holdsReal' | 'hiddenBelow' | 'denies'>;
}

/** Gives the paths below `root`, each ended by a NUL, in pieces that are cut anywhere; none that is out of reach. Ends with the signal, without an error. */
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
    isContained: true,
    stdin: 'none',
    output: 'split',
  } as const;
  const child = await parts.children.start(spec, signal);
  const over = new AbortController();
  void relieve(root, child.pid, over.signal);
  try {
    child.stderr?.resume();
    // The folder may have been exchanged before the program came to be in it.
    const place = await readlink(`/proc/${child.pid}/cwd`).catch(() => undefined);
    if (place !== undefined && !parts.reach.holdsReal(place)) return;
    const takeSome = without(parts.reach.hiddenBelow(place ?? root), denialBelow(place ?? root, parts.reach), take);
    for await (const data of child.stdout) {
      if (signal.aborted) return;
      takeSome(data as Buffer);
    }
  } finally {
    over.abort();
    await child.close();
  }
}

function denialBelow(root: string, { denies }: Pick<Reach, 'denies'>): ((path: Buffer) => boolean) | undefined {
  return denies && ((path) => denies(join(root, path.toString('utf8', 0, path.length - 1))));
}

/** Passes on whole paths, but for those that are denied, one of the hidden ones, or lie below it. */
function without(
  hidden: readonly string[],
  isDenied: ((path: Buffer) => boolean) | undefined,
  take: (data: Buffer) => void,
): (data: Buffer) => void {
  if (hidden.length === 0 && !isDenied) return take;
  const [nul, slash] = [0, 47];
  const names = hidden.map((path) => Buffer.from(path));
  const isHidden = (path: Buffer) =>
    names.some((name) => {
      const behind = path[name.length];
      return (behind === nul || behind === slash) && path.subarray(0, name.length).equals(name);
    });
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    const all = rest.length === 0 ? data : Buffer.concat([rest, data]);
    const kept: Buffer[] = [];
    let start = 0;
    for (let end = all.indexOf(nul); end !== -1; end = all.indexOf(nul, start)) {
      const path = all.subarray(start, end + 1);
      if (!isHidden(path) && !isDenied?.(path)) kept.push(path);
      start = end + 1;
    }
    rest = all.subarray(start);
    if (kept.length > 0) take(Buffer.concat(kept));
  };
}
