// Which requests wait for which: keyed queues whose entries run alone, or together with neighbours that share.

import type { Queue } from './declare.ts';

interface Waiting {
  readonly shared: boolean;
  readonly run: () => Promise<void>;
}

interface Lane {
  running: number;
  runningShared: boolean;
  readonly waiting: Waiting[];
}

export class Queues {
  readonly #lanes = new Map<string, Lane>();

  /** Runs `work` when its turn has come; settles as `work` does. */
  enter<T>(queue: Queue, work: () => Promise<T>): Promise<T> {
    if (queue === 'none') return work();
    const lane = this.#lane(queue.key);
    return new Promise<T>((resolve, reject) => {
      const run = () => work().then(resolve, reject);
      lane.waiting.push({ shared: queue.shared ?? false, run });
      this.#advance(queue.key, lane);
    });
  }

  /** Number of keys in use; none when nothing runs. */
  get size(): number {
    return this.#lanes.size;
  }

  #lane(key: string): Lane {
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = { running: 0, runningShared: false, waiting: [] };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #advance(key: string, lane: Lane): void {
    for (;;) {
      const next = lane.waiting[0];
      if (!next) break;
      if (lane.running > 0 && !(next.shared && lane.runningShared)) break;
      lane.waiting.shift();
      lane.running += 1;
      lane.runningShared = next.shared;
      void next.run().finally(() => {
        lane.running -= 1;
        this.#advance(key, lane);
      });
    }
    if (lane.running === 0 && lane.waiting.length === 0) this.#lanes.delete(key);
  }
}
