// What each method is worth on one connection: from the declarations, who is there, and what stands in the way of single methods.

import type { ResultInput } from '../rpc/declare.ts';
import { METHOD_GROUPS } from '../rpc/protocol-methods.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { EXPERIMENTAL_METHODS } from '../rpc/unsupported.ts';
import { capabilityMethods, type serverCapabilities } from './methods.ts';

type Capability = ResultInput<typeof serverCapabilities>['methods'][number];

/** Why methods that are served cannot do their work on a connection. */
export interface Bar {
  /** Whether it is about this method. */
  readonly bars: (method: string) => boolean;
  /** A setting that would have to be otherwise, or a rule of the operator about who is there. */
  readonly by: { readonly switch: string } | { readonly policy: string };
  readonly reason: string;
}

export interface CapabilityParts {
  /** All that are implemented. */
  readonly routes: () => readonly Route[];
  /** As things stand; the first one counts. */
  readonly bars: (session: Session) => Promise<readonly Bar[]>;
}

export function capabilityHandlers({ routes, bars }: CapabilityParts): Route[] {
  return implement(capabilityMethods, {
    serverCapabilities: async (_params, { session }) => {
      const standing = await bars(session);
      const served = routes().map((route) => servedMethod(route, session, standing));
      const methods = [...served, ...missingMethods(new Set(served.map(({ method }) => method)))];
      return { methods: methods.toSorted((a, b) => (a.method < b.method ? -1 : 1)) };
    },
  });
}

function servedMethod({ method: { method, experimental, needs } }: Route, session: Session, bars: readonly Bar[]) {
  const of = (rest: Omit<Capability, 'method' | 'experimental'>): Capability => ({ method, experimental, ...rest });
  if (needs !== 'none' && !session.principal.permissions.has(needs))
    return of({ status: 'forbidden', permission: needs, reason: `it needs the permission ${needs}` });
  const bar = bars.find((each) => each.bars(method));
  if (!bar) return of({ status: 'supported' });
  return of({ status: 'switch' in bar.by ? 'gated' : 'forbidden', ...bar.by, reason: bar.reason });
}

function missingMethods(served: ReadonlySet<string>): Capability[] {
  return METHOD_GROUPS.flatMap(({ reason, stable, experimental }) =>
    [...stable, ...experimental]
      .filter((method) => !served.has(method))
      .map((method) => ({
        method,
        experimental: EXPERIMENTAL_METHODS.has(method),
        status: 'unsupported' as const,
        reason,
      })),
  );
}
