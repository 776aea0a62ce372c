// Ends a server that nobody needs: no client is connected, and nothing is under way.

import { type Clock, systemClock } from '../base/clock.ts';

export interface IdleEnd {
  /** To be told of each connection. */
  entered(closed: Promise<unknown>): void;
}

/** Calls `end` once there has been no connection for so many milliseconds, and none is busy by then. */
export function watchForIdleness(
  options: { readonly ms: number; readonly isBusy: () => boolean; readonly clock?: Clock },
  end: () => void,
): IdleEnd {
  const { ms, isBusy, clock = systemClock } = options;
  let open = 0;
  let cancel = () => {};
  const wait = () => {
    cancel = clock.timer(ms, () => (isBusy() ? wait() : end()));
  };
  wait();
  return {
    entered(closed) {
      open += 1;
      cancel();
      void closed.then(() => {
        open -= 1;
        if (open === 0) wait();
      });
    },
  };
}
