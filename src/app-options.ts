// What the application is built from.

import type { BackendName } from './app-backend.ts';
import type { RequirementsPlace } from './app-config.ts';
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import type { LmdbHistoryOptions } from './history/lmdb.ts';
import type { History } from './history/store.ts';
import type { RouterLimits } from './rpc/router.ts';
import type { SandboxState } from './sandbox/probe.ts';

export interface AppOptions extends RouterLimits {
  /** Made (0700) where there is none. */
  readonly dataDirectory: string;
  /** What relative folders are relative to. */
  readonly cwd: string;
  /** Our own version. */
  readonly version: string;
  readonly log: Log;
  /** What this process was given; commands get a part of it, provider keys are looked up in it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `key=value` each. */
  readonly configFlags?: readonly string[];
  /** Where the administrator's requirements are; default: the place of the platform, root's. */
  readonly requirements?: RequirementsPlace;
  /** Goes before the configured one. */
  readonly backend?: BackendName;
  readonly clock?: Clock;
  /** Home folders, and the folder with those of the system: no client removes them. Default: those of this machine. */
  readonly kept?: { readonly homes: readonly string[]; readonly top: string };
  /** Whether commands can be confined here; default: found out by trying. */
  readonly sandbox?: () => Promise<SandboxState>;
  /** Opens the store of all threads; default: the durable one in the data directory. The app closes it. */
  readonly openHistory?: (options: LmdbHistoryOptions) => Promise<History>;
  /** Checks results and notifications against their schemas: for tests and development. */
  readonly validatesResults?: boolean;
}
