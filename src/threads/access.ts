// How handlers get at a thread: loaded, to change it, or as it is stored, to read it.

import { AppError } from '../base/errors.ts';
import type { ThreadStore } from '../history/store.ts';
import type { ThreadId } from '../model/ids.ts';
import { noSuchThread } from '../model/missing.ts';
import type { ThreadMeta, ThreadStatus } from '../model/thread.ts';
import type { Context } from '../rpc/router.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';

export const NOT_LOADED: ThreadStatus = { type: 'notLoaded' };

export const tenantOf = ({ session }: Context): string => session.principal.tenant;

export interface StoredThread {
  readonly store: ThreadStore;
  readonly meta: ThreadMeta;
  readonly status: ThreadStatus;
  /** Absent while it is not loaded. */
  readonly runtime: ThreadRuntime | undefined;
}

export interface ThreadAccess {
  /** Loads the thread unless it is; rejects as *notFound*. */
  loaded(context: Context, id: ThreadId): Promise<ThreadRuntime>;
  /** Does not load it, but for what has to be told of commands that ran when the server was killed; rejects as *notFound*. */
  stored(context: Context, id: ThreadId): Promise<StoredThread>;
}

export function createAccess(registry: ThreadRegistry): ThreadAccess {
  return {
    async loaded(context, id) {
      return registry.load(tenantOf(context), id);
    },
    async stored(context, id) {
      const tenant = tenantOf(context);
      const store = await registry.storeOf(tenant, id);
      const ready = registry.find(tenant, id);
      const row = ready?.meta ?? (await store?.meta(id));
      const hasOpenEnds = !ready && row !== undefined && (row.terminals.length > 0 || row.asides.length > 0);
      const runtime = hasOpenEnds ? await registry.load(tenant, id) : ready;
      const meta = runtime?.meta ?? row;
      if (!store || !meta) throw noSuchThread(id);
      return { store, meta, status: runtime?.status ?? NOT_LOADED, runtime };
    },
  };
}

/** Rejects ephemeral threads as *invalid*, saying what they do not support. */
export function requireStored(runtime: ThreadRuntime, what: string): void {
  const { threadId, meta } = runtime;
  if (meta.ephemeral) throw new AppError('invalid', `an ephemeral thread does not support ${what}`, { threadId });
}
