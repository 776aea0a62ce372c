// What lies at a path, where most often there is nothing.

import { type Stats, stat } from 'node:fs';

/** Follows links; undefined where there is nothing, or nothing that can be reached. By callback: no error with a stack is made for it. */
export const kindOf = (path: string): Promise<Stats | undefined> =>
  new Promise((resolve) => stat(path, (error, stats) => resolve(error ? undefined : stats)));
