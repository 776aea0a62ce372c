// The loaded threads of the process: found, loaded once, recovered after a stop, and unloaded when idle.

import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { openMemoryHistory } from '../history/memory.ts';
import type { EventToStore, History, Ledger, Once, ThreadStore } from '../history/store.ts';
import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { noSuchThread } from '../model/missing.ts';
import type { ThreadMeta, ThreadSection, ThreadStatus } from '../model/thread.ts';
import { Beginnings } from './beginnings.ts';
import { ContextCache } from './context-cache.ts';
import { noticesOf } from './event-notices.ts';
import { eventsOfTurns, idleThread, loadThread } from './loading.ts';
import type { NewestThread, Notice } from './notices.ts';
import type { RegistryParts } from './registry-parts.ts';
import { ThreadRuntime } from './runtime.ts';

interface Loaded {
  readonly tenant: string;
  readonly order: number;
  readonly runtime: Promise<ThreadRuntime>;
  /** Set once loaded. */
  ready: ThreadRuntime | undefined;
  /** Set once it is being taken out of memory. */
  closing: Promise<void> | undefined;
  cancelUnload: () => void;
}

export class ThreadRegistry implements Closable {
  readonly #parts: RegistryParts;
  readonly #ephemeral: History = openMemoryHistory();
  /** By tenant and id, in the order of loading. */
  readonly #loaded = new Map<string, Loaded>();
  readonly #beginnings = new Beginnings();
  readonly #contexts = new ContextCache();
  #isClosing = false;
  #lastOrder = 0;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  store(tenant: string): ThreadStore {
    return this.#parts.history.forTenant(tenant);
  }

  /** Keys of the tenant, those of its ephemeral threads among them; effects outside the store are claimed durably. */
  ledger(tenant: string): Ledger {
    const durable = this.store(tenant).ledger;
    const ephemeral = this.#ephemeral.forTenant(tenant).ledger;
    return {
      ...durable,
      find: async (method, key) => (await durable.find(method, key)) ?? ephemeral.find(method, key),
    };
  }

  /** The store that holds the thread, if there is such a thread: memory for ephemeral ones. */
  async storeOf(tenant: string, id: ThreadId): Promise<ThreadStore | undefined> {
    for (const history of [this.#ephemeral, this.#parts.history]) {
      const store = history.forTenant(tenant);
      if ((await store.head(id)) !== undefined) return store;
    }
    return undefined;
  }

  /** What is loaded now; undefined while a thread is still loading. */
  find(tenant: string, id: ThreadId): ThreadRuntime | undefined {
    return this.#loaded.get(keyOf(tenant, id))?.ready;
  }

  /** In the order of loading: `order` rises, over restarts too. */
  loaded(tenant: string): { readonly id: ThreadId; readonly order: number }[] {
    return [...this.#loaded.values()].flatMap(({ ready, order, tenant: own }) =>
      ready && own === tenant ? [{ id: ready.threadId, order }] : [],
    );
  }

  loadedIds(tenant: string): ThreadId[] {
    return this.loaded(tenant).map(({ id }) => id);
  }

  /** A thread works; one that only waits for people does not. */
  get isBusy(): boolean {
    return [...this.#loaded.values()].some(({ ready }) => ready?.isWorking);
  }

  /** The section a thread is in; null when it is in none, or its section is gone. */
  sectionOf(tenant: string, { section }: ThreadMeta): ThreadSection | null {
    return section === null ? null : (this.store(tenant).sections.find(section.id) ?? null);
  }

  /** Begins a thread with these events; rejects as *conflict* if the id is taken. */
  create(tenant: string, meta: ThreadMeta, first: EventToStore[], once?: Once): Promise<ThreadRuntime> {
    return this.#begin(tenant, meta.id, async () => {
      const history = meta.ephemeral ? this.#ephemeral : this.#parts.history;
      const store = history.forTenant(tenant);
      const head = await store.create(meta, first, once);
      return this.#enter(tenant, meta.id, async () => this.#runtime(tenant, store, idleThread(meta, head)));
    });
  }

  /**
   * Begins the thread `meta.id` with what `source` was at `at`, and loads it. A copy that lives in memory, or is made of one that
   * does, takes the events of whole turns one by one.
   */
  fork(tenant: string, source: ThreadId, at: Seq, meta: ThreadMeta, once?: Once): Promise<ThreadRuntime> {
    return this.#begin(tenant, meta.id, () => this.#fork(tenant, source, at, meta, once));
  }

  async #fork(tenant: string, source: ThreadId, at: Seq, meta: ThreadMeta, once?: Once): Promise<ThreadRuntime> {
    const from = await this.storeOf(tenant, source);
    if (!from) throw noSuchThread(source);
    const to = (meta.ephemeral ? this.#ephemeral : this.#parts.history).forTenant(tenant);
    if (from === to) await to.fork(source, at, meta, once);
    else await to.create(meta, await eventsOfTurns(from, source, at), once);
    return this.#load(tenant, meta.id);
  }

  /** Loads a thread unless it is; one load however many ask. Rejects as *notFound*. */
  async load(tenant: string, id: ThreadId): Promise<ThreadRuntime> {
    await this.#beginnings.ended(keyOf(tenant, id));
    return this.#load(tenant, id);
  }

  #load(tenant: string, id: ThreadId): Promise<ThreadRuntime> {
    const known = this.#loaded.get(keyOf(tenant, id));
    if (known?.closing) return known.closing.then(() => this.load(tenant, id));
    // Whoever asks for it is about to use it: its idle time begins anew, so that it is not taken away in between.
    if (known) this.touch(tenant, id);
    if (known) return known.runtime;
    return this.#enter(tenant, id, async () => {
      const store = await this.storeOf(tenant, id);
      const loaded = store && (await loadThread(store, id));
      if (!store || !loaded) throw noSuchThread(id);
      const runtime = this.#runtime(tenant, store, loaded.thread);
      await runtime.recover(loaded.texts);
      return runtime;
    });
  }

  /** Takes a thread out of memory; what ran has been ended or left standing. */
  async unload(tenant: string, id: ThreadId): Promise<void> {
    const known = this.#loaded.get(keyOf(tenant, id));
    if (!known) return;
    known.closing ??= this.#close(known, id);
    await known.closing;
  }

  /** Ends or goes on with the turns that were open when the server stopped. */
  async recover(tenant: string): Promise<void> {
    for (const { threadId } of await this.store(tenant).openTurns()) {
      await this.load(tenant, threadId).catch((error: unknown) =>
        this.#parts.log.error({ err: error, threadId }, 'a thread with an open turn could not be loaded'),
      );
    }
  }

  /** Begins to count the idle time of a thread anew. */
  touch(tenant: string, id: ThreadId): void {
    const known = this.#loaded.get(keyOf(tenant, id));
    if (!known?.ready || this.#isClosing) return;
    known.cancelUnload();
    const { ready } = known;
    if (ready.subscribers.length > 0) return;
    known.cancelUnload = this.#parts.clock.timer(this.#parts.idleMs(), () => void this.#unloadIdle(tenant, ready));
  }

  /** Told to everyone who may see the list of threads. */
  tell(
    tenant: string,
    id: ThreadId,
    kinds: readonly Notice[],
    newest?: { meta: ThreadMeta; status: ThreadStatus },
  ): void {
    this.#parts.notices.tell(tenant, id, kinds, (ofTenant, ofThread) => newest ?? this.#newest(ofTenant, ofThread));
  }

  readonly close = closeOnce(async () => {
    this.#isClosing = true;
    const all = [...this.#loaded.values()];
    for (const each of all) each.cancelUnload();
    await Promise.all(
      all.map(({ runtime }) =>
        runtime.then((each) => each.close()).catch((error: unknown) => this.#failedToClose(error)),
      ),
    );
    this.#loaded.clear();
    await this.#ephemeral.close();
  });

  async #close(known: Loaded, id: ThreadId): Promise<void> {
    const { tenant } = known;
    const key = keyOf(tenant, id);
    known.cancelUnload();
    const runtime = await known.runtime;
    await runtime.close();
    if (this.#loaded.get(key) === known) this.#loaded.delete(key);
    if (runtime.meta.ephemeral) await this.#ephemeral.forTenant(tenant).remove(id);
  }

  #failedToClose(error: unknown): void {
    this.#parts.log.error({ err: error }, 'a thread could not be closed');
  }

  #newest(tenant: string, id: ThreadId): NewestThread | undefined {
    const runtime = this.find(tenant, id);
    if (!runtime) return undefined;
    return { meta: runtime.meta, status: runtime.status, section: this.sectionOf(tenant, runtime.meta) };
  }

  async #unloadIdle(tenant: string, runtime: ThreadRuntime): Promise<void> {
    const { threadId, meta } = runtime;
    // Whoever listens begins the count when leaving; a turn that nobody listens to may take as long as it likes.
    if (runtime.subscribers.length > 0 || runtime.isBusy) return this.touch(tenant, threadId);
    await this.unload(tenant, threadId);
    this.tell(tenant, threadId, ['status', 'closed'], { meta, status: { type: 'notLoaded' } });
  }

  /** One thread of an id in both stores, and one beginning of it at a time. */
  async #begin(tenant: string, id: ThreadId, make: () => Promise<ThreadRuntime>): Promise<ThreadRuntime> {
    const key = keyOf(tenant, id);
    const exists = { kind: 'exists', threadId: id };
    const taken = new AppError('conflict', `there is a thread with the id ${id}`, exists);
    return this.#beginnings.run(key, taken, async () => {
      // Who asked for the thread before it was there must not keep its entry.
      await this.#loaded.get(key)?.runtime.catch(() => {});
      if (this.#loaded.has(key) || (await this.storeOf(tenant, id))) throw taken;
      return make();
    });
  }

  #enter(tenant: string, id: ThreadId, make: () => Promise<ThreadRuntime>): Promise<ThreadRuntime> {
    if (this.#isClosing) return Promise.reject(new AppError('unavailable', 'the server is stopping'));
    const key = keyOf(tenant, id);
    this.#lastOrder = Math.max(this.#lastOrder + 1, this.#parts.clock.now());
    const entry: Loaded = {
      tenant,
      order: this.#lastOrder,
      runtime: make().then((runtime) => {
        entry.ready = runtime;
        this.touch(tenant, id);
        return runtime;
      }),
      ready: undefined,
      closing: undefined,
      cancelUnload: () => {},
    };
    this.#loaded.set(key, entry);
    entry.runtime.catch(() => {
      if (this.#loaded.get(key) === entry) this.#loaded.delete(key);
    });
    return entry.runtime;
  }

  #runtime(tenant: string, store: ThreadStore, thread: ConstructorParameters<typeof ThreadRuntime>[1]): ThreadRuntime {
    const { backend, tools, mcp, skills, budgets, validates, clock, log } = this.#parts;
    const { checkCapped, remoteRoots, remoteDenials } = this.#parts;
    return new ThreadRuntime(
      {
        ...{ store, backend, tools, mcp, skills, budgets, validates, clock, log },
        ...{ checkCapped, remoteRoots, remoteDenials },
        contexts: this.#contexts,
        published: (runtime, events) => this.#published(tenant, runtime, events),
        failed: (runtime) => this.#failed(tenant, runtime),
      },
      thread,
    );
  }

  /** Whoever listened has to join again, behind what it has seen: nothing more comes by itself. */
  #failed(tenant: string, runtime: ThreadRuntime): void {
    const { threadId, meta } = runtime;
    const key = keyOf(tenant, threadId);
    const known = this.#loaded.get(key);
    if (known?.ready !== runtime) return;
    known.cancelUnload();
    this.#loaded.delete(key);
    this.tell(tenant, threadId, ['status', 'closed'], { meta, status: { type: 'notLoaded' } });
  }

  /** Those who do not listen to the thread learn what concerns the list. */
  #published(tenant: string, runtime: ThreadRuntime, events: readonly StoredEvent[]): void {
    const kinds = events.flatMap((stored) => noticesOf(stored, runtime.threadId));
    if (kinds.length === 0) return;
    const listeners = new Set(runtime.subscribers.map((subscriber) => subscriber.id));
    this.#parts.notices.tell(tenant, runtime.threadId, kinds, (ofTenant, id) => this.#newest(ofTenant, id), listeners);
    this.touch(tenant, runtime.threadId);
  }
}

const keyOf = (tenant: string, id: ThreadId): string => `${tenant}\u0000${id}`;
