// Values made on first use: schemas cost start-up time only where they are needed.

/** A function that makes its value once, when it is first called. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
