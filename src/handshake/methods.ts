// The handshake: who the client is and what it can do; what the server is and what it allows.

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
          frameBytesBeforeInitialize: z.number(),
          frameBytes: z.number(),
          requestsInFlight: z.number(),
          /** Beyond the largest request in flight. */
          requestBytesInFlight: z.number(),
          /** Requests that stop something, which are never refused for anything else that is in flight. */
          stopsInFlight: z.number().optional(),
          outboxBytes: z.number(),
        }),
        features: z.array(z.string()),
      }),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
  isHandshake: true,
});

/** Sent by the client when it has read the answer; the server does not wait for it. */
export const initialized = notification('initialized', () => z.object({}).optional());

export const handshakeMethods = { initialize };
