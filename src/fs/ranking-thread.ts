// The one thread that ranks: started at first need, ended when nobody has searched for a while.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { FromRanking, ToRanking } from './search-messages.ts';

const IDLE_MS = 60_000;

export interface RankingListener {
  found(message: FromRanking): void;
  /** The thread broke; the search is over. */
  failed(error: unknown): void;
}

export class RankingThread implements Closable {
  readonly #clock: Clock;
  readonly #listeners = new Map<number, RankingListener>();
  #worker: Worker | undefined;
  #stopIdling = () => {};
  #nextId = 1;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(roots: readonly string[], listener: RankingListener): number {
    if (this.#isClosed) throw new AppError('unavailable', 'the server stops');
    this.#stopIdling();
    const id = this.#nextId++;
    this.#listeners.set(id, listener);
    this.#worker ??= this.#start();
    this.tell({ type: 'open', id, roots });
    return id;
  }

  tell(message: ToRanking): void {
    if (!this.#listeners.has(message.id)) return;
    if (message.type === 'paths' && isWhole(message.data)) {
      this.#worker?.postMessage(message, [message.data.buffer]);
    } else this.#worker?.postMessage(message);
    if (message.type !== 'close') return;
    this.#listeners.delete(message.id);
    if (this.#listeners.size === 0) this.#stopIdling = this.#clock.timer(IDLE_MS, () => void this.#end());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  #start(): Worker {
    const worker = startWorker();
    worker.unref();
    worker.on('message', (message: FromRanking) => this.#listeners.get(message.id)?.found(message));
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#worker = undefined;
      const all = [...this.#listeners.values()];
      this.#listeners.clear();
      for (const each of all) each.failed(error);
    });
    return worker;
  }

  async #end(): Promise<void> {
    this.#stopIdling();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

/** Memory that belongs to this piece alone changes hands instead of being copied. */
function isWhole(data: Uint8Array<ArrayBufferLike>): data is Uint8Array<ArrayBuffer> {
  return data.buffer instanceof ArrayBuffer && data.byteLength === data.buffer.byteLength;
}

/** In the executable it lies as a file of its own beside the others; from the source its TypeScript has to be loaded. */
function startWorker(): Worker {
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL('./search-worker.cjs', import.meta.url), { env: {} });
  const workerData = {
    loader: createRequire(import.meta.url).resolve('tsx/cjs/api'),
    file: fileURLToPath(new URL('./search-worker.ts', import.meta.url)),
  };
  return new Worker(FROM_SOURCE, { eval: true, workerData, env: {} });
}

/** Not even with its loader preloaded does Node take TypeScript as the first file of a thread. */
const FROM_SOURCE = `
  const { loader, file } = require('node:worker_threads').workerData;
  require(loader).register();
  require(file);
`;
