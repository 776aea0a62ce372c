// Makes a session of a connection: checks who is there, and says what this server is and allows.

import { isAbsolute } from 'node:path';
import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import type { ResultInput } from '../rpc/declare.ts';
import { HIGH_WATER } from '../rpc/outbox.ts';
import { MAX_IN_FLIGHT_BYTES, MAX_STOPS } from '../rpc/peer.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Session, Sessions } from '../rpc/session.ts';
import { FRAME_LIMIT, FRAME_LIMIT_BEFORE_INITIALIZE } from '../transports/connection.ts';
import { handshakeMethods, type initialize } from './methods.ts';
import { platformOf } from './platform.ts';

/** The version of the protocol that this server speaks; clients read it from the user agent. */
export const PROTOCOL_VERSION = '0.171.0';

export interface HandshakeOptions {
  readonly sessions: Sessions;
  /** Our own version. */
  readonly version: string;
  /** Absolute. */
  readonly dataDirectory: string;
  /** What this server can do beyond the protocol, by name. */
  readonly features?: readonly string[];
  /** Reads the settings of a client's command line; throws as *invalid* for what cannot count. */
  readonly settingsOf: (flags: readonly string[]) => Readonly<Record<string, unknown>>;
  /** Runs when the answer has been handed to the connection: what is sent here comes after it. */
  readonly onInitialized?: (session: Session) => void;
}

export function handshakeHandlers(options: HandshakeOptions): Route[] {
  const platform = platformOf(process.platform, process.arch);
  return implement(handshakeMethods, {
    initialize: async ({ clientInfo, capabilities, heddle }, { session, afterReply }) => {
      if (!session.isInitialized) checkName(clientInfo.name);
      const cwd = session.principal.isLocal ? folderOf(heddle?.cwd) : undefined;
      const settings = settingsFor(session.principal, heddle?.settings ?? [], options);
      session.initialized({
        name: clientInfo.name,
        title: clientInfo.title ?? null,
        version: clientInfo.version,
        experimentalApi: capabilities?.experimentalApi ?? false,
        ...(cwd === undefined ? {} : { cwd }),
        ...(settings === undefined ? {} : { settings }),
        optOut: new Set(capabilities?.optOutNotificationMethods ?? []),
      });
      session.peer.connection.limitFrames(FRAME_LIMIT);
      options.sessions.add(session);
      const { onInitialized } = options;
      if (onInitialized) afterReply(() => onInitialized(session));
      return {
        userAgent: userAgent(clientInfo, `${platform.name}; ${platform.architecture}`, options.version),
        codexHome: options.dataDirectory,
        platformFamily: platform.family,
        platformOs: platform.os,
        server: serverFacts(options, session.peer.maxInFlight),
      };
    },
  });
}

function serverFacts(
  { version, features }: HandshakeOptions,
  requestsInFlight: number,
): ResultInput<typeof initialize>['server'] {
  return {
    name: 'heddle',
    version,
    limits: {
      frameBytesBeforeInitialize: FRAME_LIMIT_BEFORE_INITIALIZE,
      frameBytes: FRAME_LIMIT,
      requestsInFlight,
      requestBytesInFlight: MAX_IN_FLIGHT_BYTES,
      stopsInFlight: MAX_STOPS,
      outboxBytes: HIGH_WATER,
    },
    features: [...(features ?? [])],
  };
}

function folderOf(cwd: string | null | undefined): string | undefined {
  if (cwd && !isAbsolute(cwd)) throw new AppError('invalid', 'Invalid request: heddle.cwd: an absolute path is needed');
  return cwd || undefined;
}

/** They name programs to run and keys to send: none of it is for those who may not write it. */
function settingsFor({ isLocal, permissions }: Principal, flags: readonly string[], { settingsOf }: HandshakeOptions) {
  if (flags.length === 0) return undefined;
  if (!isLocal || !permissions.has('admin'))
    throw new AppError('forbidden', 'settings of a command line are for local clients with the permission admin', {
      permission: 'admin',
    });
  return settingsOf(flags);
}

/** The name goes into headers of requests to model providers. */
function checkName(name: string): void {
  if (hasControlCharacters(name)) {
    throw new AppError('badRequest', `Invalid clientInfo.name: '${name}'. Must be a valid HTTP header value.`);
  }
}

function hasControlCharacters(text: string): boolean {
  return [...text].some((character) => (character < ' ' && character !== '\t') || character === '\u007f');
}

function userAgent(client: { readonly name: string; readonly version: string }, host: string, version: string): string {
  const clientVersion = [...client.version].map((each) => (hasControlCharacters(each) ? '_' : each)).join('');
  return `${client.name}/${PROTOCOL_VERSION} (${host}) (${client.name}; ${clientVersion}) heddle/${version}`;
}
