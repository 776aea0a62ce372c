// A history in memory, for ephemeral threads and tests: gone when it is closed.

import { type Clock, systemClock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { type Log, silentLog } from '../base/log.ts';
import { memoryBlobs } from './blobs.ts';
import { checkTenant, keysOf } from './keys.ts';
import { MemoryRows } from './memory-rows.ts';
import type { History, ThreadStore } from './store.ts';
import { RowThreadStore } from './thread-store.ts';

export function openMemoryHistory(options: { readonly clock?: Clock; readonly log?: Log } = {}): History {
  const { clock = systemClock, log = silentLog() } = options;
  const rows = new MemoryRows();
  const stores = new Map<string, ThreadStore>();
  return {
    forTenant(tenant) {
      checkTenant(tenant);
      const source = { rows, keys: keysOf(tenant), blobs: memoryBlobs(), log };
      const store = stores.get(tenant) ?? new RowThreadStore(source, tenant, clock.now);
      stores.set(tenant, store);
      return store;
    },
    close: closeOnce(() => rows.close()),
  };
}
