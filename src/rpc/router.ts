// From a request to its answer: method, handshake, permission, params, once-only, queue, handler, reply.

// biome-ignore-all lint/suspicious/noExplicitAny: the router holds methods of all shapes; `implement` is typed for each.

import type { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import { fingerprint } from '../base/canonical.ts';
import { AppError, isAppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Ledger, LedgerRecord, Once } from '../history/store.ts';
import type { Connection } from '../transports/connection.ts';
import type { Queue, Request } from './declare.ts';
import type { RequestMessage } from './message.ts';
import { Peer, type Reply } from './peer.ts';
import { Queues } from './queues.ts';
import { Session } from './session.ts';

export interface Context {
  readonly session: Session;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  /** What to store with the effect so that a repeated request finds this reply; undefined: the client gave no key. */
  once(reply: unknown): Once | undefined;
  /** Runs when the reply has been handed to the connection, also when the client has gone. */
  afterReply(work: () => void): void;
}

/** A result that is JSON text already: large texts that need no escaping never pass `JSON.stringify`. */
export class ReadyResult {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

export type Handler<M> =
  M extends Request<infer P, infer R>
    ? (params: z.output<P>, context: Context) => Promise<z.input<R> | ReadyResult>
    : never;

export type Handlers<G> = { readonly [K in keyof G]: Handler<G[K]> };

export interface Route {
  readonly method: Request<any, any>;
  readonly handler: (params: any, context: Context) => Promise<unknown>;
}

/** Joins declared methods with their handlers; a missing one does not compile. */
export function implement<G extends Record<string, Request<any, any>>>(group: G, handlers: Handlers<G>): Route[] {
  return Object.keys(group).map((name) => ({ method: group[name]!, handler: (handlers as any)[name] }));
}

export interface RouterOptions {
  readonly log: Log;
  readonly ledgerOf: (principal: Principal) => Ledger;
  /** Checks results against their schemas: for tests and development. */
  readonly validatesResults: boolean;
}

const MAX_SHOWN_NAME = 100;

export class Router {
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #queues = new Queues();
  readonly #options: RouterOptions;

  constructor(routes: readonly Route[], options: RouterOptions) {
    this.#routes = new Map(routes.map((route) => [route.method.method, route]));
    if (this.#routes.size !== routes.length) throw new Error('a method is implemented twice');
    this.#options = options;
  }

  /** Serves a connection until it ends. */
  serve(connection: Connection, principal: Principal): Session {
    const { log } = this.#options;
    const peer: Peer = new Peer(
      connection,
      {
        request: (message, reply) => void this.#handle(session, message, reply),
        notification: () => {},
        isStop: (method) => this.#routes.get(method)?.method.isStop ?? false,
      },
      { log },
    );
    const session = new Session(peer, principal, log, this.#options.validatesResults);
    void peer.run();
    return session;
  }

  async #handle(session: Session, message: RequestMessage, reply: Reply): Promise<void> {
    const after: (() => void)[] = [];
    try {
      const route = this.#admitted(session, message);
      const params = parse(route.method, message.params);
      const queue = ofTenant(route.method.queue(params), session.principal.tenant);
      const text = await this.#queues.enter(queue, () => this.#answer(session, route, params, message, after));
      reply.resultText(text);
    } catch (error) {
      reply.error(error);
    }
    for (const work of after) work();
  }

  #admitted(session: Session, message: RequestMessage): Route {
    const route = this.#routes.get(message.method);
    if (!route?.method.isHandshake) void session.client;
    if (!route) throw new AppError('unknownMethod', `unknown method: ${message.method.slice(0, MAX_SHOWN_NAME)}`);
    const { method } = route;
    if (session.isInitialized) checkExperimental(method, message.params, session.client.experimentalApi);
    if (method.needs !== 'none' && !session.principal.permissions.has(method.needs)) {
      throw new AppError('forbidden', `${method.method} needs the permission ${method.needs}`, {
        permission: method.needs,
      });
    }
    return route;
  }

  async #answer(
    session: Session,
    route: Route,
    params: any,
    message: RequestMessage,
    after: (() => void)[],
  ): Promise<string> {
    const key = onceKeyOf(route.method, params, message.params);
    if (key === undefined) return this.#run(session, route, params, after, undefined);
    const ledger = this.#options.ledgerOf(session.principal);
    const { method } = route.method;
    const print = fingerprint(withoutKey(message.params));
    const known = await ledger.find(method, key);
    if (known) return storedReply(known, print);
    if (route.method.mutates === 'effect') await ledger.claim(method, key, print);
    try {
      const text = await this.#run(session, route, params, after, { key, method, fingerprint: print });
      if (route.method.mutates === 'effect') await ledger.seal(method, key, text);
      return text;
    } catch (error) {
      if (!isAppError(error, 'conflict') || error.data.kind !== 'already_done') throw error;
      return storedReply((await ledger.find(method, key)) ?? { fingerprint: print }, print);
    }
  }

  async #run(
    session: Session,
    route: Route,
    params: any,
    after: (() => void)[],
    key: Omit<Once, 'reply'> | undefined,
  ): Promise<string> {
    const context: Context = {
      session,
      get signal() {
        return session.signal;
      },
      once: (value) => key && { ...key, reply: JSON.stringify(value) },
      afterReply: (work) => after.push(work),
    };
    const result = await route.handler(params, context);
    const isReady = result instanceof ReadyResult;
    if (this.#options.validatesResults) this.#check(route.method, isReady ? JSON.parse(result.json) : result);
    return isReady ? result.json : JSON.stringify(result ?? {});
  }

  #check(method: Request<any, any>, result: unknown): void {
    const checked = method.result().safeParse(result);
    if (checked.success) return;
    throw new Error(`the result of ${method.method} does not fit its schema: ${checked.error.message}`);
  }
}

/** Requests of different tenants never wait for each other. */
function ofTenant(queue: Queue, tenant: string): Queue {
  return queue === 'none' ? queue : { ...queue, key: `${tenant}\u0000${queue.key}` };
}

function checkExperimental(method: Request<any, any>, params: unknown, experimentalApi: boolean): void {
  if (experimentalApi) return;
  const refuse = (what: string) => {
    throw new AppError('badRequest', `${what} requires experimentalApi capability`, { kind: 'experimental_required' });
  };
  if (method.experimental) refuse(method.method);
  if (params === null || typeof params !== 'object') return;
  const members = params as Record<string, unknown>;
  for (const field of method.experimentalFields) {
    if (members[field] !== undefined && members[field] !== null) refuse(`${method.method}.${field}`);
  }
  const policy = members.approvalPolicy;
  if (policy !== null && typeof policy === 'object' && 'granular' in policy) refuse('askForApproval.granular');
}

function parse<P extends z.ZodType>(method: Request<P, any>, params: unknown): z.output<P> {
  const parsed = method.params().safeParse(params ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue && issue.path.length > 0 ? issue.path.map(String).join('.') : 'params';
  const what = issue ? textOf(issue) : 'not valid';
  throw new AppError('invalid', `Invalid request: ${place}: ${what}`.slice(0, 500));
}

/** What is wrong, with the allowed values also where the place takes several kinds of value. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue.message;
  const firsts = issue.errors.flatMap((issues) => issues.slice(0, 1));
  const listing = firsts.filter((each) => each.code !== 'invalid_type');
  const shown = listing.length > 0 ? listing : firsts;
  return shown.map(textOf).join(', or: ');
}

function onceKeyOf(method: Request<any, any>, params: any, given: unknown): string | undefined {
  if (!method.mutates) return undefined;
  const key = (given as { idempotencyKey?: unknown } | null | undefined)?.idempotencyKey;
  if (key === undefined || key === null) return method.onceKey?.(params);
  if (typeof key === 'string' && key.length > 0 && key.length <= 256) return `key:${key}`;
  throw new AppError('invalid', 'idempotencyKey is a text of 1 to 256 characters');
}

function withoutKey(params: unknown): unknown {
  if (params === null || typeof params !== 'object') return params;
  const { idempotencyKey: _key, ...rest } = params as Record<string, unknown>;
  return rest;
}

function storedReply(record: LedgerRecord, print: string): string {
  if (record.fingerprint !== print) {
    throw new AppError('conflict', 'this key was used with other params', { kind: 'idempotency_drift' });
  }
  if (record.reply !== undefined) return record.reply;
  throw new AppError('notSettled', 'whether this request took effect is not known', { kind: 'uncertain' });
}
