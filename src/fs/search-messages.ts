// What the thread that ranks is told, and what it tells.

export interface FoundFile {
  readonly root: string;
  readonly path: string;
  readonly match_type: 'file' | 'directory';
  readonly file_name: string;
  readonly score: number;
  readonly indices: number[] | null;
}

export type ToRanking =
  | { readonly type: 'open'; readonly id: number; readonly roots: readonly string[] }
  /** A piece of a list of paths below a root, each ended by a NUL; pieces may end anywhere. */
  | { readonly type: 'paths'; readonly id: number; readonly root: number; readonly data: Uint8Array }
  /** No more paths will come. */
  | { readonly type: 'listed'; readonly id: number }
  /** Ends the query before it. */
  | { readonly type: 'query'; readonly id: number; readonly turn: number; readonly query: string }
  | { readonly type: 'close'; readonly id: number };

/** The best so far; the last one of a turn is complete. */
export interface FromRanking {
  readonly id: number;
  readonly turn: number;
  readonly files: readonly FoundFile[];
  readonly isComplete: boolean;
}
