// The room as a whole: files, watches, searches and environments over one idea of who may touch what.

import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/close.ts';
import type { Log } from '../base/log.ts';
import type { Children } from '../children/spawn.ts';
import type { Route } from '../rpc/router.ts';
import type { IsDenied } from './denials.ts';
import { environmentHandlers } from './environment-handlers.ts';
import { fsHandlers } from './handlers.ts';
import { Protection, type ProtectionParts } from './protection.ts';
import { RankingThread } from './ranking-thread.ts';
import { createReaches } from './reach.ts';
import type { Commits } from './replacement.ts';
import { searchHandlers } from './search-handlers.ts';
import { watchHandlers } from './watch-handlers.ts';

export interface FilesParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly children: Children;
  /** What programs are given. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where the server works. */
  readonly cwd: string;
  /** Folders below which remote people may touch files. */
  readonly remoteRoots: () => Promise<readonly string[]>;
  /** Files and folders that remote people never see. */
  readonly hidden: () => readonly string[];
  /** What they may not touch of it either; undefined: nothing. */
  readonly remoteDenials: () => Promise<IsDenied | undefined>;
  /** What is never removed or written. */
  readonly protection: (tenant: string) => ProtectionParts;
  readonly commits: Commits;
}

export interface Files extends Closable {
  readonly routes: Route[];
}

/** Closing it ends the thread that ranks; watches and searches end with their connections. */
export function createFiles(parts: FilesParts): Files {
  const { clock, log, children, environment, cwd } = parts;
  const reaches = createReaches({ roots: parts.remoteRoots, hidden: parts.hidden, denied: parts.remoteDenials });
  const thread = new RankingThread(clock);
  return {
    routes: [
      ...fsHandlers({
        ...{ reaches, commits: parts.commits },
        protection: (tenant) => new Protection(parts.protection(tenant)),
      }),
      ...watchHandlers({ reaches, clock }),
      ...searchHandlers({ reaches, thread, log, cwd, list: { children, environment } }),
      ...environmentHandlers({ reaches, cwd, shell: environment.SHELL }),
    ],
    close: () => thread.close(),
  };
}
