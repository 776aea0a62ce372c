// Opens the wire to a server as it is configured.

import { isAbsolute, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { childEnvironment } from '../children/environment.ts';
import type { Children } from '../children/spawn.ts';
import type { McpServer } from '../config/mcp-servers.ts';
import { addressWire, headersOf, namesWho } from './address-wire.ts';
import type { Logins } from './logins.ts';
import { programWire } from './program-wire.ts';
import type { McpWire } from './wire.ts';

export interface WireParts {
  readonly children: Children;
  readonly clock: Clock;
  readonly log: Log;
  /** Our own; a program gets the plain part of it and what the configuration names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logins: Logins;
  /** Absolute: where programs run that are told no other place. */
  readonly cwd: string;
}

/** Rejects as *invalid* when it is not configured so that it could be. Nothing is connected yet. */
export async function openWire(
  library: typeof import('./library.ts'),
  { name, endpoint }: McpServer,
  parts: WireParts,
): Promise<McpWire> {
  const { children, clock, environment } = parts;
  switch (endpoint.kind) {
    case 'unusable':
      throw new AppError('invalid', endpoint.problem);
    case 'address': {
      const read = headersOf(endpoint, environment);
      if ('problem' in read) throw new AppError('invalid', read.problem);
      const place = { name, url: endpoint.url };
      const tokens = namesWho(read.headers)
        ? undefined
        : {
            current: () => parts.logins.token(place),
            renewed: (refused: string) => parts.logins.renewed(place, refused),
          };
      return addressWire(library.StreamableHTTPClientTransport, endpoint.url, read.headers, clock, tokens);
    }
    case 'program': {
      const { argv, cwd, env, passed } = endpoint;
      const named = Object.fromEntries(passed.map((variable) => [variable, environment[variable]]));
      const folder = cwd === null ? parts.cwd : isAbsolute(cwd) ? cwd : resolve(parts.cwd, cwd);
      const spec = { argv, cwd: folder, env: childEnvironment(environment, { ...named, ...env }) };
      const secrets = Object.values({ ...named, ...env }).filter((value) => value !== undefined);
      return programWire({ children, log: parts.log, clock, name, spec, secrets });
    }
  }
}
