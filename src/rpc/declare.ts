// A method as a value: declared once, and everything else follows from it.

import type { z } from 'zod';
import type { Permission } from '../auth/principal.ts';
import { once } from '../base/lazy.ts';
import type { Schema } from '../model/schema.ts';

/** Which requests wait for which: those with one key run in order, unless all of them share it. `none`: safe beside anything. */
export type Queue = 'none' | { readonly key: string; readonly shared?: boolean };

/**
 * What a request changes. `store`: the handler stores the client's key and its reply with the effect. `effect`: the effect is
 * outside the store; the router claims the key before it and seals it after.
 */
export type Mutation = false | 'store' | 'effect';

export interface Request<P extends z.ZodType = z.ZodType, R extends z.ZodType = z.ZodType, M extends string = string> {
  readonly method: M;
  readonly params: Schema<P>;
  readonly result: Schema<R>;
  readonly queue: (params: z.output<P>) => Queue;
  readonly needs: Permission | 'none';
  readonly mutates: Mutation;
  readonly experimental: boolean;
  /** Members of the params that need the experimental capability; any value that is present counts. */
  readonly experimentalFields: readonly string[];
  /** Stops something: never queued, never refused for load. */
  readonly isStop: boolean;
  /** Its answer may have megabytes: few such are prepared at once for one connection. */
  readonly hasLargeAnswer: boolean;
  /** The one kind of request that is valid before the handshake. */
  readonly isHandshake: boolean;
  /** A key of the client's own that makes the request once-only beside `idempotencyKey`; only where `mutates` is `store`. */
  readonly onceKey: ((params: z.output<P>) => string | undefined) | undefined;
}

export interface Notification<P extends z.ZodType = z.ZodType, M extends string = string> {
  readonly method: M;
  readonly params: Schema<P>;
  /** Sent only to connections with the experimental capability. */
  readonly experimental: boolean;
}

interface RequestSpec<P extends z.ZodType, R extends z.ZodType> {
  readonly params: () => P;
  readonly result: () => R;
  readonly queue: (params: z.output<P>) => Queue;
  readonly needs: Permission | 'none';
  readonly mutates: Mutation;
  readonly experimental?: boolean;
  readonly experimentalFields?: readonly string[];
  readonly isStop?: boolean;
  readonly hasLargeAnswer?: boolean;
  readonly isHandshake?: boolean;
  readonly onceKey?: (params: z.output<P>) => string | undefined;
}

export function request<P extends z.ZodType, R extends z.ZodType, M extends string>(
  method: M,
  spec: RequestSpec<P, R>,
): Request<P, R, M> {
  if (spec.onceKey && spec.mutates !== 'store') throw new Error(`${method} has a key of its own without storing it`);
  return {
    method,
    params: once(spec.params),
    result: once(spec.result),
    queue: spec.queue,
    needs: spec.needs,
    mutates: spec.mutates,
    experimental: spec.experimental ?? false,
    experimentalFields: spec.experimentalFields ?? [],
    isStop: spec.isStop ?? false,
    hasLargeAnswer: spec.hasLargeAnswer ?? false,
    isHandshake: spec.isHandshake ?? false,
    onceKey: spec.onceKey,
  };
}

export function notification<P extends z.ZodType, M extends string>(
  method: M,
  params: () => P,
  options: { readonly experimental?: boolean } = {},
): Notification<P, M> {
  return { method, params: once(params), experimental: options.experimental ?? false };
}

/** Safe beside anything. */
export const unqueued = (): Queue => 'none';

/** In order with everything that changes this thread. */
export const threadQueue = (threadId: string): { readonly key: string } => ({ key: `thread:${threadId}` });

export type Params<M> =
  M extends Request<infer P, infer _R> ? z.output<P> : M extends Notification<infer P> ? z.output<P> : never;
export type ParamsInput<M> =
  M extends Request<infer P, infer _R> ? z.input<P> : M extends Notification<infer P> ? z.input<P> : never;
export type Result<M> = M extends Request<infer _P, infer R> ? z.output<R> : never;
export type ResultInput<M> = M extends Request<infer _P, infer R> ? z.input<R> : never;
