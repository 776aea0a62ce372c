// Methods of the protocol that this server does not have, each with the reason: refused by name, never with a fake success.

import { z } from 'zod';
import { AppError } from '../base/errors.ts';
import { request, unqueued } from './declare.ts';
import { METHOD_GROUPS } from './protocol-methods.ts';
import type { Route } from './router.ts';

/** Methods of the protocol that need the experimental capability. */
export const EXPERIMENTAL_METHODS: ReadonlySet<string> = new Set(METHOD_GROUPS.flatMap((group) => group.experimental));

/** All methods that a client may call after the handshake. */
export const PROTOCOL_METHODS: readonly string[] = METHOD_GROUPS.flatMap((group) => [
  ...group.stable,
  ...group.experimental,
]);

/** Routes for every method of the protocol that is not among those implemented. */
export function unsupportedRoutes(implemented: ReadonlySet<string>): Route[] {
  return METHOD_GROUPS.flatMap(({ reason, stable, experimental }) =>
    [...stable, ...experimental]
      .filter((method) => !implemented.has(method))
      .map((method) => unsupportedRoute(method, reason)),
  );
}

/** Clients tell a method that is missing from one that failed by the words "unknown method". */
function unsupportedRoute(name: string, reason: string): Route {
  return {
    method: request(name, {
      params: () => z.unknown(),
      result: () => z.never(),
      queue: unqueued,
      needs: 'none',
      mutates: false,
      experimental: EXPERIMENTAL_METHODS.has(name),
    }),
    handler: async () => {
      throw new AppError('unsupported', `unknown method: ${name} (not supported: ${reason})`, {
        kind: 'unsupported',
        method: name,
        reason,
      });
    },
  };
}
