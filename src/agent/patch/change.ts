// What a patch asks for, file by file, before anybody has looked at the files.

/** `keep` and `remove` are looked for in the file, `add` is put there. */
export interface ChunkLine {
  readonly kind: 'keep' | 'remove' | 'add';
  readonly text: string;
}

/** One place of a file that is changed. */
export interface PatchChunk {
  /** Lines that lie before the place, in this order: they narrow down where it is looked for. */
  readonly anchors: readonly string[];
  readonly lines: readonly ChunkLine[];
  /** The place is the end of the file. */
  readonly isAtEnd: boolean;
}

/** Paths are as the model wrote them: absolute, or relative to the working folder of the thread. */
export type FileChange =
  | { readonly type: 'add'; readonly path: string; readonly content: string }
  | { readonly type: 'delete'; readonly path: string }
  | {
      readonly type: 'update';
      readonly path: string;
      /** Where the file goes; null: it stays. */
      readonly moveTo: string | null;
      readonly chunks: readonly PatchChunk[];
    };

/** Why a patch cannot be read or does not fit; for the model. */
export class PatchProblem extends Error {
  override readonly name = 'PatchProblem';
}
