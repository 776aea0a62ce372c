// The handshake: who the client is and what it can do; what the server is and what it allows, in all and method by method.

import { z } from 'zod';
import { notification, request, unqueued } from '../rpc/declare.ts';

export const initialize = request('initialize', {
  params: () =>
    z.object({
      clientInfo: z.object({ name: z.string(), title: z.string().nullish(), version: z.string() }),
      capabilities: z
        .object({
          experimentalApi: z.boolean().nullish(),
          optOutNotificationMethods: z.array(z.string()).nullish(),
        })
        .nullish(),
      /**
       * Ours. `cwd`: an absolute path, where relative folders of this client begin; it counts for local clients. `settings`:
       * those of its own command line, `key=value` each with values as TOML; over those of the server for this connection and
       * its threads. They need the permission admin, from here.
       */
      heddle: z.object({ cwd: z.string().nullish(), settings: z.array(z.string()).nullish() }).nullish(),
    }),
  result: () =>
    z.object({
      /** Begins with `<client name>/<version of the protocol> `. */
      userAgent: z.string(),
      /** The data directory. */
      codexHome: z.string(),
      platformFamily: z.string(),
      platformOs: z.string(),
      server: z.object({
        name: z.string(),
        version: z.string(),
        limits: z.object({
          frameBytesBeforeInitialize: z.int(),
          frameBytes: z.int(),
          requestsInFlight: z.int(),
          /** Beyond the largest request in flight. */
          requestBytesInFlight: z.int(),
          /** Requests that stop something, which are never refused for anything else that is in flight. */
          stopsInFlight: z.int().optional(),
          outboxBytes: z.int(),
        }),
        features: z.array(z.string()),
      }),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
  isHandshake: true,
});

/** What each method of the protocol is worth on this connection, in the order of their names. */
export const serverCapabilities = request('server/capabilities', {
  params: () => z.object({}),
  result: () =>
    z.object({
      methods: z.array(
        z.object({
          method: z.string(),
          /**
           * `gated`: it is served and cannot do its work before `switch` is set otherwise. `forbidden`: this connection lacks
           * `permission`, or `policy` of the operator rules it out. `unsupported`: this server does not have it.
           */
          status: z.enum(['supported', 'gated', 'forbidden', 'unsupported']),
          experimental: z.boolean(),
          switch: z.string().optional(),
          permission: z.string().optional(),
          policy: z.string().optional(),
          /** For everything but `supported`. */
          reason: z.string().optional(),
        }),
      ),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
  experimental: true,
});

/** Sent by the client when it has read the answer; the server does not wait for it. */
export const initialized = notification('initialized', () => z.object({}).optional());

export const handshakeMethods = { initialize };
export const capabilityMethods = { serverCapabilities };
