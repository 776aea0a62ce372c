// Word of files that libraries opened in this process, since such files may stay open in the programs that we start.

let opened = 0;

/** To be called after a library has opened a file in its own way, before a program can be started. */
export function descriptorsOpened(): void {
  opened += 1;
}

/** Another number than before: something may be open that was not. */
export function descriptorsVersion(): number {
  return opened;
}
