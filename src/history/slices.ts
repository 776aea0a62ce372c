// Long work on rows in transactions that are each over soon.

import { systemClock } from '../base/clock.ts';
import type { KeyRange } from './keys.ts';
import { breathe, type Row, type Rows } from './rows.ts';

export interface Slices {
  /** Resolves when the next one may begin, with how many ms it may take; 0: there is no next one. */
  readonly next: () => Promise<number>;
  /** Runs it in a transaction. */
  readonly write: (slice: () => void) => Promise<void>;
  /** Runs at the beginning of each. */
  readonly begin?: (() => void) | undefined;
}

/** In order, in as many transactions as it takes. */
export async function inSlices<T>(
  parts: Iterable<T>,
  work: (part: T) => void,
  { next, write, begin }: Slices,
): Promise<void> {
  const rest = parts[Symbol.iterator]();
  let part = rest.next();
  while (part.done !== true) {
    const ms = await next();
    if (ms === 0) return;
    await write(() => {
      const end = systemClock.elapsed() + ms;
      begin?.();
      do {
        if (part.done === true) return;
        work(part.value);
        part = rest.next();
      } while (systemClock.elapsed() < end);
    });
  }
}

/** The rows of a range, some at a time; other work runs between them. */
export async function* stepsIn(rows: Rows, whole: KeyRange): AsyncGenerator<readonly Row[]> {
  let range = whole;
  for (;;) {
    const step = rows.scan({ ...range, limit: 100 });
    const last = step.at(-1);
    if (last === undefined) return;
    yield step;
    range = { from: [...last.key, 0], to: range.to };
    await breathe();
  }
}
