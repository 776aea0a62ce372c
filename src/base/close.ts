// Whatever owns a resource can be closed; closing twice is closing once.

export interface Closable {
  /** Idempotent: stops taking work, ends what runs, frees; settles when nothing of it is left. */
  close(): Promise<void>;
}

/** Makes a closing function idempotent: every call returns the promise of the first. */
export function closeOnce(work: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= work();
    return closing;
  };
}
