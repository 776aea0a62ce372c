// From a request to its answer: method, handshake, permission, params, once-only, queue, handler, reply.

// biome-ignore-all lint/suspicious/noExplicitAny: the router holds methods of all shapes; `implement` is typed for each.

import type { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import { fingerprint } from '../base/canonical.ts';
import { AppError, isAppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Ledger, Once } from '../history/store.ts';
import type { Connection } from '../transports/connection.ts';
import type { Queue, Request } from './declare.ts';
import type { RequestMessage, ResultPiece } from './message.ts';
import { type Claim, isRefusal, onceKeysOf, storedReply, uncertain, withoutKey } from './once-only.ts';
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

/** A result that is JSON text of ASCII already: large texts that need no escaping pass no `JSON.stringify` and are not joined. */
export class ReadyResult {
  readonly pieces: readonly ResultPiece[];

  constructor(pieces: readonly ResultPiece[]) {
    this.pieces = pieces;
  }

  get json(): string {
    return this.pieces.map((piece) => (typeof piece === 'string' ? piece : piece.toString('base64'))).join('');
  }
}

export type Handler<M> =
  M extends Request<infer P, infer R>
    ? (params: z.output<P>, context: Context) => Promise<z.input<R> | ReadyResult>
    : never;

export type Handlers<G> = { readonly [K in keyof G]: Handler<G[K]> };

/** What a repeated request takes beside its stored reply, e.g. joining a thread once more; gives what is sent. */
export type Replay<M> =
  M extends Request<infer P, infer R>
    ? (reply: any, params: z.output<P>, context: Context) => Promise<z.input<R>>
    : never;

export type Replays<G> = { readonly [K in keyof G]?: Replay<G[K]> };

export interface Route {
  readonly method: Request<any, any>;
  readonly handler: (params: any, context: Context) => Promise<unknown>;
  /** Default: the stored reply is sent as it is. */
  readonly replay?: ((reply: any, params: any, context: Context) => Promise<unknown>) | undefined;
}

/** Joins declared methods with their handlers; a missing one does not compile. */
export function implement<G extends Record<string, Request<any, any>>>(
  group: G,
  handlers: Handlers<G>,
  replays: Replays<G> = {},
): Route[] {
  return Object.keys(group).map((name) => ({
    method: group[name]!,
    handler: (handlers as any)[name],
    replay: (replays as any)[name],
  }));
}

/** One request that was admitted. */
interface Asked {
  readonly session: Session;
  readonly route: Route;
  readonly params: any;
  /** Undefined: it is not once-only. */
  readonly claim: Claim | undefined;
  readonly after: (() => void)[];
}

export interface RouterLimits {
  /** Requests that one connection may have unanswered; default 256. */
  readonly maxInFlight?: number | undefined;
}

export interface RouterOptions extends RouterLimits {
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
    const { log, maxInFlight } = this.#options;
    const peer: Peer = new Peer(
      connection,
      {
        request: (message, reply) => void this.#handle(session, message, reply),
        notification: () => {},
        isStop: (method) => this.#routes.get(method)?.method.isStop ?? false,
        hasLargeAnswer: (method) => this.#routes.get(method)?.method.hasLargeAnswer ?? false,
      },
      { log, ...(maxInFlight === undefined ? {} : { maxInFlight }) },
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
      const claim = claimOf(route.method, params, message.params);
      const { tenant } = session.principal;
      const queue = ofTenant(route.method.queue(params), tenant);
      const onceQueue = ofTenant(onceQueueOf(route.method, claim), tenant);
      const asked = { session, route, params, claim, after };
      const answer = await this.#queues.enter(queue, () => this.#queues.enter(onceQueue, () => this.#answer(asked)));
      if (typeof answer === 'string') reply.resultText(answer);
      else reply.resultPieces(answer.pieces);
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

  async #answer(asked: Asked): Promise<string | ReadyResult> {
    const { session, route, claim } = asked;
    if (!claim) return this.#run(asked, route.handler(asked.params, new RequestContext(asked)));
    const ledger = this.#options.ledgerOf(session.principal);
    const known = await storedReply(ledger, claim);
    if (known !== undefined) return this.#replay(asked, known);
    if (route.method.mutates === 'effect') return this.#effect(asked, claim, ledger);
    try {
      return await this.#run(asked, route.handler(asked.params, new RequestContext(asked)));
    } catch (error) {
      if (!isAppError(error, 'conflict') || error.data.kind !== 'already_done') throw error;
      return this.#replay(asked, (await storedReply(ledger, claim)) ?? uncertain());
    }
  }

  /** The key is taken before the effect and given back when there was none. */
  async #effect(asked: Asked, { method, key, fingerprint: print }: Claim, ledger: Ledger): Promise<string> {
    await ledger.claim(method, key, print);
    let text: string;
    try {
      const answer = await this.#run(asked, asked.route.handler(asked.params, new RequestContext(asked)));
      text = typeof answer === 'string' ? answer : answer.json;
    } catch (error) {
      if (isRefusal(error)) await this.#release(ledger, method, key);
      throw error;
    }
    await ledger.seal(method, key, text);
    return text;
  }

  /** A key that cannot be given back stays uncertain; the refusal itself is what the client has to know. */
  async #release(ledger: Ledger, method: string, key: string): Promise<void> {
    try {
      await ledger.release(method, key);
    } catch (error) {
      this.#options.log.error({ err: error, method }, 'a key could not be given back');
    }
  }

  async #replay(asked: Asked, reply: string): Promise<string | ReadyResult> {
    const { replay } = asked.route;
    return replay ? this.#run(asked, replay(JSON.parse(reply), asked.params, new RequestContext(asked))) : reply;
  }

  async #run({ route }: Asked, work: Promise<unknown>): Promise<string | ReadyResult> {
    const result = await work;
    const isReady = result instanceof ReadyResult;
    if (this.#options.validatesResults) this.#check(route.method, isReady ? JSON.parse(result.json) : result);
    return isReady ? result : JSON.stringify(result ?? {});
  }

  #check(method: Request<any, any>, result: unknown): void {
    const checked = method.result().safeParse(result);
    if (checked.success) return;
    throw new Error(`the result of ${method.method} does not fit its schema: ${checked.error.message}`);
  }
}

/** A class, since an object with a getter of its own takes long to make, and every request has one. */
class RequestContext implements Context {
  readonly session: Session;
  readonly once: Context['once'];
  readonly afterReply: Context['afterReply'];

  constructor({ session, claim, after }: Asked) {
    this.session = session;
    this.once = (reply) => claim && { ...claim, reply: JSON.stringify(reply) };
    this.afterReply = (work) => after.push(work);
  }

  get signal(): AbortSignal {
    return this.session.signal;
  }
}

function claimOf(method: Request<any, any>, params: any, given: unknown): Claim | undefined {
  const [key, ...otherKeys] = onceKeysOf(method, params, given);
  if (key === undefined) return undefined;
  return { key, otherKeys, method: method.method, fingerprint: fingerprint(withoutKey(given)) };
}

/** A repeated request comes after the one that it repeats has been answered, whatever else the two wait for. */
function onceQueueOf(method: Request<any, any>, claim: Claim | undefined): Queue {
  return claim && method.mutates === 'store' ? { key: `once:${claim.method}:${claim.key}` } : 'none';
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
