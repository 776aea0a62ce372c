// What a folder was at one moment, and how it differs from that now.

import type { Observation } from '../patch/turn-diff.ts';

/** At most so many changed files are looked at: what a build leaves behind is nobody's to read. */
export const MAX_CHANGED = 1_000;

export interface Changes {
  readonly files: readonly Observation[];
  /** How many more there are. */
  readonly leftOut: number;
}

export interface Snapshot {
  /** Rejects as *cancelled* when the signal aborts, and as *unavailable* when it cannot be told. */
  changes(signal: AbortSignal): Promise<Changes>;
  /** Frees what it keeps on disk. Never rejects. */
  close(): Promise<void>;
}
