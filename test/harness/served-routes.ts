// Methods of one room, served over a connection in memory.

import pino from 'pino';
import { localPrincipal, type Principal } from '../../src/auth/principal.ts';
import { Peer } from '../../src/rpc/peer.ts';
import { type Route, Router } from '../../src/rpc/router.ts';
import { memoryPair } from '../../src/transports/memory.ts';

const log = pino({ level: 'silent' });

/** Serves these methods alone, to any connection; results are checked against what is declared. */
export function routerOf(routes: readonly Route[]): Router {
  return new Router(routes, {
    log,
    validatesResults: true,
    ledgerOf: () => {
      throw new Error('no ledger here');
    },
  });
}

/** What an initialized client calls methods with. */
export function serveRoutes(routes: readonly Route[], principal: Principal = localPrincipal, experimentalApi = true) {
  const [ours, theirs] = memoryPair();
  const session = routerOf(routes).serve(ours, principal);
  session.initialized({ name: 'test', title: null, version: '1', experimentalApi, optOut: new Set() });
  const peer = new Peer(theirs, { request: () => {}, notification: () => {}, isStop: () => false }, { log });
  void peer.run();
  return (method: string, params?: unknown): Promise<unknown> => peer.call(method, params);
}
