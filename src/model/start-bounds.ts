// How much a program may be told at its start: what no system takes is refused before it costs anything.

/** Bytes of all arguments and variables together, as Linux counts them where nothing else is set: with a pointer for each. */
export const MAX_START_BYTES = 2 * 1024 * 1024;
export const POINTER_BYTES = 8;
/** Bytes of one argument, or of one variable with its name, and the end of each. */
export const MAX_TEXT_BYTES = 128 * 1024;
/** More cannot fit, even if all of them are empty. */
export const MAX_ARGUMENTS = Math.floor(MAX_START_BYTES / (POINTER_BYTES + 1));
/** Variables that a request may name, many times what environments have; each variable is copied several times on the way to the program. */
export const MAX_VARIABLES = 4096;
