// Open handles on the folders of a layout, so that what is mounted is what was looked at, whatever happens to its path meanwhile.

import { closeSync, openSync, readlinkSync } from 'node:fs';
import { codeOf } from '../base/errors.ts';
import { refusal } from './places.ts';

/** O_PATH of Linux, which Node does not name: it takes no right to read. */
const O_PATH = 0o10000000;

/** `first` is the number that the first handle gets in the program that is started; undefined: no handles are taken. */
export class Handles {
  readonly descriptors: number[] = [];
  readonly #first: number | undefined;

  constructor(first: number | undefined) {
    this.#first = first;
  }

  /** The number in the program of a handle on a real path. Throws as *forbidden* when the path has become a link, or is gone. */
  take(path: string): number | undefined {
    if (this.#first === undefined) return undefined;
    try {
      const descriptor = openSync(path, O_PATH);
      this.descriptors.push(descriptor);
      // Asked of the handle, not of the path: between two looks at a path it can be turned away and back.
      if (readlinkSync(`/proc/self/fd/${descriptor}`) === path) return this.#first + this.descriptors.length - 1;
    } catch (error) {
      throw refusal(`${path} cannot be held (${codeOf(error)})`, path);
    }
    throw refusal(`${path} is being turned elsewhere`, path);
  }

  close(): void {
    for (const descriptor of this.descriptors.splice(0)) closeSync(descriptor);
  }
}
