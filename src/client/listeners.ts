// Who wants to hear of what; a listener that throws harms no other.

export class Listeners<Events> {
  readonly #all = new Map<keyof Events, Set<(event: never) => void>>();

  /** The returned function takes the listener away. */
  on<E extends keyof Events>(event: E, listener: (event: Events[E]) => void): () => void {
    const some = this.#all.get(event) ?? new Set();
    this.#all.set(event, some);
    // One of its own, so that the same function may listen twice.
    const own = (value: Events[E]) => listener(value);
    some.add(own);
    return () => some.delete(own);
  }

  emit<E extends keyof Events>(event: E, value: Events[E]): void {
    for (const listener of [...(this.#all.get(event) ?? [])])
      try {
        (listener as (event: Events[E]) => void)(value);
      } catch (error) {
        // As with listeners of the platform: it is the program's own defect, and it shows as one.
        queueMicrotask(() => {
          throw error;
        });
      }
  }
}
