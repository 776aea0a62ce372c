// Rows in an LMDB environment.

import { open } from 'lmdb';
import { closeOnce } from '../base/close.ts';
import { AppError, isAppError, messageOf } from '../base/errors.ts';
import type { Key } from './keys.ts';
import { breathe, type Row, type Rows } from './rows.ts';

/** Opens the environment in a directory that exists. One process writes; others open it with `readOnly`. */
export function openLmdbRows(directory: string, options: { readonly readOnly?: boolean } = {}): Rows {
  const root = open<string, (string | number)[]>({
    path: directory,
    encoding: 'string',
    // A promise that resolves means: on disk.
    overlappingSync: false,
    // Appends still share commits. With batching a refused commit also rejects a promise that nobody can reach.
    eventTurnBatching: false,
    maxDbs: 32,
    maxReaders: 512,
    readOnly: options.readOnly ?? false,
  });
  let isClosed = false;
  const own = (key: Key) => key as (string | number)[];
  return {
    get: (key) => root.get(own(key)),
    scan({ from, to, reverse, limit, characters = Number.POSITIVE_INFINITY }) {
      const rows: Row[] = [];
      let total = 0;
      const range = reverse
        ? { start: own(to), exclusiveStart: true, end: own(from), inclusiveEnd: true, reverse: true, limit }
        : { start: own(from), end: own(to), limit };
      for (const { key, value } of root.getRange(range)) {
        rows.push({ key, text: value });
        total += value.length;
        if (total >= characters) break;
      }
      return rows;
    },
    put(key, text) {
      root.put(own(key), text);
    },
    remove(key) {
      root.remove(own(key));
    },
    async write(work) {
      if (isClosed) throw new AppError('unavailable', 'the history is closed');
      try {
        // Not `transaction`: what that has written stays when its callback throws.
        return await root.childTransaction(work);
      } catch (error) {
        throw await refusal(error);
      }
    },
    close: closeOnce(async () => {
      isClosed = true;
      await root.close();
    }),
  };
}

/** What to reject with: a refusing disk becomes *unavailable*, anything else stays what it is. */
async function refusal(error: unknown): Promise<unknown> {
  if (isAppError(error) || !(error instanceof Error)) return error;
  const { commitError, code } = error as { commitError?: Promise<never>; code?: unknown };
  if (commitError === undefined && code === undefined) return error;
  // lmdb rejects this second promise too; unobserved it would end the process.
  const cause = await Promise.race([commitError?.catch((inner: unknown) => inner), breathe()]);
  return new AppError(
    'unavailable',
    `the history could not be written: ${messageOf(cause ?? error)}`,
    {},
    {
      cause: cause ?? error,
    },
  );
}
