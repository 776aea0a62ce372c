// What a loaded thread is given by the registry.

import type { Backend } from '../agent/backend.ts';
import type { ToolParts } from '../agent/tools.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Budgets } from '../config/budgets.ts';
import type { IsDenied } from '../fs/denials.ts';
import type { ThreadStore } from '../history/store.ts';
import type { McpServers } from '../mcp/servers.ts';
import type { StoredEvent } from '../model/event.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { Skills } from '../skills/catalogue.ts';
import type { ContextCache } from './context-cache.ts';
import type { ThreadRuntime } from './runtime.ts';

export interface RuntimeParts {
  readonly store: ThreadStore;
  readonly backend: Backend;
  readonly tools: ToolParts;
  readonly mcp: McpServers;
  readonly skills: Pick<Skills, 'shown'>;
  readonly contexts: ContextCache;
  /** What turns may cost. */
  readonly budgets: () => Budgets;
  /** Rejects settings that are wider than the operator's ceiling. */
  readonly checkCapped: (settings: ThreadSettings) => Promise<void>;
  /** Folders below which remote people may name files. */
  readonly remoteRoots: () => Promise<readonly string[]>;
  /** What they may not touch of it either; undefined: nothing. */
  readonly remoteDenials: () => Promise<IsDenied | undefined>;
  /** Checks what is sent against its schemas: for tests and development. */
  readonly validates: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Told after each publication, for those who only see the list of threads. */
  readonly published: (runtime: ThreadRuntime, events: readonly StoredEvent[]) => void;
  /** The log cannot be written: the thread has to be loaded again. */
  readonly failed: (runtime: ThreadRuntime) => void;
}
