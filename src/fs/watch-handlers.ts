// Starting and ending watches; they end with the connection.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { fsFault } from './fault.ts';
import { FolderWatches } from './folder-watches.ts';
import { PathWatch } from './path-watch.ts';
import type { Reach, Reaches } from './reach.ts';
import { fsChanged, watchMethods } from './watch-methods.ts';

const MAX_WATCHES = 256;

export interface WatchParts {
  readonly reaches: Reaches;
  readonly clock: Clock;
}

const keyOf = (watchId: string): string => `watch:${watchId}`;

export function watchHandlers({ reaches, clock }: WatchParts): Route[] {
  const watches = new FolderWatches();

  const start = (session: Session, watchId: string, real: string, reach: Reach, isRecursive: boolean) =>
    PathWatch.start(real, {
      watches,
      clock,
      isRecursive,
      accepts: (path) => reach.holdsReal(path),
      acceptsAbove: (path) => reach.holdsReal(path),
      hasRoom: async () => {
        if (session.peer.outbox.isFull()) await session.peer.outbox.hasRoom();
      },
      tell: (paths, rescan) =>
        session.notify(fsChanged, {
          watchId,
          changedPaths: rescan ? [real] : [...paths],
          ...(rescan ? { rescan } : {}),
        }),
    });

  return implement(watchMethods, {
    fsWatch: async ({ watchId, path, recursive }, { session }) => {
      if (session.owned(keyOf(watchId))) {
        throw new AppError('conflict', `watchId already exists: ${watchId}`, { watchId });
      }
      if (session.countOwned('watch:') >= MAX_WATCHES) {
        throw new AppError('overloaded', `this connection has ${MAX_WATCHES} watches; end one first`);
      }
      const reach = await reaches.of(session.principal);
      const real = await reach.real(path, 'target');
      const watch = await start(session, watchId, real, reach, recursive ?? false).catch((error: unknown) => {
        throw fsFault(error, path);
      });
      session.own(keyOf(watchId), watch);
      return { path: real, isComplete: watch.isComplete };
    },

    fsUnwatch: async ({ watchId }, { session }) => {
      await session.release(keyOf(watchId))?.close();
      return {};
    },
  });
}
