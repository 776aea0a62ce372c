// What the loaded threads of a process work with.

import type { Backend } from '../agent/backend.ts';
import type { ToolParts } from '../agent/tools.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Budgets } from '../config/budgets.ts';
import type { IsDenied } from '../fs/denials.ts';
import type { History } from '../history/store.ts';
import type { McpServers } from '../mcp/servers.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { Skills } from '../skills/catalogue.ts';
import type { Notices } from './notices.ts';

export interface RegistryParts {
  readonly history: History;
  readonly backend: Backend;
  readonly tools: ToolParts;
  readonly mcp: McpServers;
  readonly skills: Pick<Skills, 'shown'>;
  readonly notices: Notices;
  readonly clock: Clock;
  readonly log: Log;
  /** Checks what is sent against its schemas: for tests and development. */
  readonly validates: boolean;
  /** Milliseconds after which a thread without listeners and turn is unloaded. */
  readonly idleMs: () => number;
  readonly budgets: () => Budgets;
  /** Rejects settings that are wider than the operator's ceiling. */
  readonly checkCapped: (settings: ThreadSettings) => Promise<void>;
  /** Folders below which remote people may name files. */
  readonly remoteRoots: () => Promise<readonly string[]>;
  /** What they may not touch of it either; undefined: nothing. */
  readonly remoteDenials: () => Promise<IsDenied | undefined>;
}
