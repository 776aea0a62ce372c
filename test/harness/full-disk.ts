// A store on a disk that fills up when the test says so.

import { AppError } from '../../src/base/errors.ts';
import { type LmdbHistoryOptions, openLmdbHistory } from '../../src/history/lmdb.ts';
import { withStore } from './with-store.ts';

/** A disk that is full for as long as the test says. */
export function fullDisk() {
  const disk = { isFull: false };
  const openHistory = async (options: LmdbHistoryOptions) =>
    withStore(await openLmdbHistory(options), {
      append: async (store, ...args) => {
        if (disk.isFull) throw new AppError('unavailable', 'the disk is full');
        return store.append(...args);
      },
    });
  return { disk, openHistory };
}
