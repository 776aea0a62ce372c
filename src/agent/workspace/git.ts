// Asking git about a folder of which nobody knows who wrote its settings: no program that they name is run, and nothing is written.

import { AppError } from '../../base/errors.ts';
import type { Children } from '../../children/spawn.ts';
import { relieve } from '../../fs/ignore-pipes.ts';

export interface GitParts {
  readonly children: Children;
  readonly environment: Readonly<Record<string, string>>;
}

/** A repository of ours: what git finds out about files is kept in there, and nobody else's settings are read. */
export interface OwnRepository {
  /** Absolute; the index lies in it. */
  readonly folder: string;
  readonly index: string;
  readonly worktree: string;
  /** Somebody else's, and only read. */
  readonly objects: string;
  /** As `name=value`. */
  readonly settings: readonly string[];
}

export interface GitCall {
  readonly cwd: string;
  /** Without it the repository is looked for, and its settings can be asked about; nothing else is safe then. */
  readonly repository?: OwnRepository;
  readonly input?: string;
}

/** Bytes of an answer; a longer one is no answer. */
const MAX_ANSWER = 32 * 1024 * 1024;

const SAFE = [
  ...['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'core.untrackedCache=false', 'core.quotePath=false'],
  ...['core.pager=cat', 'core.askPass=true', 'gc.auto=0', 'maintenance.auto=false', 'protocol.allow=never'],
];

/** What it printed. Rejects as *unavailable* when it does not end with 0, and as *cancelled* when the signal aborts. */
export async function git(
  args: readonly string[],
  { cwd, repository, input }: GitCall,
  { children, environment }: GitParts,
  signal: AbortSignal,
): Promise<Buffer> {
  const options = [...SAFE, ...(repository?.settings ?? [])].flatMap((setting) => ['-c', setting]);
  const spec = {
    argv: ['git', '--no-pager', '--literal-pathspecs', ...options, ...args] as [string, ...string[]],
    cwd,
    env: environmentOf(environment, repository),
    isContained: true,
    stdin: input === undefined ? 'none' : 'pipe',
    output: 'split',
  } as const;
  const child = await children.start(spec, signal);
  const over = new AbortController();
  void relieve(cwd, child.pid, over.signal);
  try {
    child.stderr?.resume();
    child.stdin?.on('error', () => {}); // it has ended without reading all; its code tells why
    child.stdin?.end(input);
    const answer: Buffer[] = [];
    let length = 0;
    for await (const piece of child.stdout) {
      answer.push(piece as Buffer);
      length += (piece as Buffer).length;
      if (length > MAX_ANSWER) throw new AppError('unavailable', `git ${args[0]} answers with too much`);
    }
    const { code } = await child.exited;
    if (signal.aborted) throw new AppError('cancelled', 'git was stopped');
    if (code !== 0) throw new AppError('unavailable', `git ${args[0]} has ended with ${code}`);
    return Buffer.concat(answer);
  } finally {
    over.abort();
    await child.close();
  }
}

/** Not by the user's PATH: a folder that commands may write must not supply the program that looks at what they did. */
const PROGRAMS = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin';

/** Without what would lead git elsewhere. Locks are taken in a repository of ours only. */
function environmentOf(
  environment: Readonly<Record<string, string>>,
  repository: OwnRepository | undefined,
): Record<string, string> {
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_'));
  const ours = { GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C', PATH: PROGRAMS };
  const place = repository && {
    ...{ GIT_DIR: repository.folder, GIT_WORK_TREE: repository.worktree, GIT_INDEX_FILE: repository.index },
    ...{ GIT_OBJECT_DIRECTORY: repository.objects, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  };
  return { ...Object.fromEntries(kept), ...ours, ...(place ?? { GIT_OPTIONAL_LOCKS: '0' }) };
}
