// The door of a listener: who may shake hands, and as whom.

import type { Clock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import { FailureLimiter } from './failures.ts';
import { type HostRules, isAllowedOrigin, isOwnHost } from './origin.ts';
import type { Principal } from './principal.ts';
import { type Grant, type Presented, presentedToken, type Verify } from './tokens.ts';

/** What a handshake said, each header value by itself. */
export interface Handshake extends Presented {
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Where it came from, to count failures by. */
  readonly address: string;
}

export interface Refusal {
  readonly status: 401 | 403 | 429;
  /** Says what to do instead; carries no secret. */
  readonly text: string;
}

export type Admission = { readonly principal: Principal } | { readonly refusal: Refusal };

export interface Guard {
  /** Host and Origin, which come before everything, health probes too. */
  screen(handshake: Pick<Handshake, 'hosts' | 'origins'>): Refusal | undefined;
  /** Never rejects. */
  admit(handshake: Handshake): Promise<Admission>;
  /** Where clients of this machine find the token. */
  readonly tokenFile?: string;
}

export interface GuardRules {
  readonly origins: ReadonlySet<string>;
  /** Undefined: the Host does not matter, as on a Unix socket, which no name leads to. */
  readonly hosts?: HostRules;
  /** Undefined: everyone is `anyone`. */
  readonly verify?: Verify;
  readonly principal: (grant?: Grant) => Principal;
  readonly tokenFile?: string;
  /** Shown to whoever presents no right token. */
  readonly advice: string;
  readonly clock: Clock;
}

const FOREIGN_HOST: Refusal = {
  status: 403,
  text: 'this Host is not served here; connect by IP address or localhost, or start the server with --behind-tls-proxy HOST',
};
const FOREIGN_ORIGIN: Refusal = {
  status: 403,
  text: 'this Origin is not allowed; send none, or start the server with --allow-origin ORIGIN',
};

export function createGuard(rules: GuardRules): Guard {
  const failures = new FailureLimiter(rules.clock);
  const { verify, tokenFile } = rules;
  return {
    ...(tokenFile === undefined ? {} : { tokenFile }),
    screen({ hosts, origins }) {
      if (rules.hosts && !isOwnHost(hosts, rules.hosts)) return FOREIGN_HOST;
      return isAllowedOrigin(origins, rules.origins) ? undefined : FOREIGN_ORIGIN;
    },
    async admit(handshake) {
      if (!verify) return { principal: rules.principal() };
      let isPresented = false;
      try {
        const token = presentedToken(handshake);
        isPresented = true;
        return { principal: rules.principal(await verify(token)) };
      } catch (error) {
        // The address is judged after the token, so that a right one passes even among many wrong ones.
        if (isPresented && !failures.count(handshake.address))
          return { refusal: { status: 429, text: 'too many wrong tokens from this address; try again later' } };
        const text = isAppError(error, 'unauthenticated') ? error.message : 'invalid websocket bearer token';
        return { refusal: { status: 401, text: `${text}; ${rules.advice}` } };
      }
    },
  };
}
