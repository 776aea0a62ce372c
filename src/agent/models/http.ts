// One exchange with a model provider over node:http(s): status, headers, and the body as it is read.

import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Closable, closeOnce } from '../../base/close.ts';
import { codeOf, messageOf } from '../../base/errors.ts';
import { cancelledBy, onAbort, throwIfAborted } from '../../base/signals.ts';
import { ModelError } from './client.ts';
import { withoutQuery } from './endpoint.ts';
import { statusError } from './status-error.ts';

/** How long the rest of a body may take after its reader has what it wants, before its socket is given up. */
const DRAIN_MS = 1000;

export interface Get {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Silence in milliseconds, also before the first byte, after which the exchange counts as broken. */
  readonly idleMs: number;
}

export interface Post extends Get {
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingMessage['headers'];
  /** One element a read. Must be iterated, if only to leave it at once: that is what frees the socket. */
  readonly chunks: AsyncIterable<Buffer>;
}

/** Keeps sockets for the next exchange; `close` drops them all, whoever still reads. */
export interface ModelHttp extends Closable {
  /** Any answer, whatever its status. Throws a ModelError of kind connect or stream, or as *cancelled*. */
  post(request: Post, signal: AbortSignal): Promise<Answer>;
  /** As `post`, but an answer outside 200 to 299 is thrown as a ModelError of kind http. Without a body it is a GET. */
  open(request: Get | Post, signal: AbortSignal): Promise<Answer>;
}

export function createModelHttp(clock: Clock = systemClock): ModelHttp {
  const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };

  async function exchange(request: Get | Post, signal: AbortSignal): Promise<Answer> {
    throwIfAborted(signal);
    for (;;) {
      const outgoing = start(request, agents);
      try {
        return answerOf(await responseOf(outgoing, request, signal, clock), request, signal, clock);
      } catch (error) {
        // The provider closed a kept socket just as we took it: nothing was read, a new one will do.
        const wasStale = outgoing.reusedSocket && !signal.aborted && codeOf((error as Error).cause) === 'ECONNRESET';
        if (!wasStale) throw error;
      }
    }
  }

  return {
    post: exchange,
    async open(request, signal) {
      const answer = await exchange(request, signal);
      if (answer.status >= 200 && answer.status < 300) return answer;
      throw await statusError(answer, request.url);
    },
    close: closeOnce(async () => {
      for (const agent of Object.values(agents)) agent.destroy();
    }),
  };
}

function start(
  request: Get | Post,
  agents: { readonly 'http:': HttpAgent; readonly 'https:': HttpsAgent },
): ClientRequest {
  const url = new URL(request.url);
  const body = 'body' in request ? Buffer.from(request.body) : undefined;
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { ...request.headers, ...(body === undefined ? {} : { 'content-length': String(body.length) }) };
  const outgoing =
    url.protocol === 'https:'
      ? httpsRequest(url, { method, headers, agent: agents['https:'] })
      : httpRequest(url, { method, headers, agent: agents['http:'] });
  outgoing.end(body);
  return outgoing;
}

function responseOf(
  outgoing: ClientRequest,
  request: Get,
  signal: AbortSignal,
  clock: Clock,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const stopTimer = clock.timer(request.idleMs, () => outgoing.destroy(silence(request.idleMs)));
    const off = onAbort(signal, () => outgoing.destroy(cancelledBy(signal)));
    const settled = () => {
      stopTimer();
      off();
    };
    outgoing.once('response', (response) => {
      settled();
      // An error may come while nobody reads; who reads next is told by the iterator.
      response.on('error', () => {});
      resolve(response);
    });
    outgoing.on('error', (error) => {
      settled();
      reject(signal.aborted ? cancelledBy(signal) : connectError(error, request.url));
    });
  });
}

function answerOf(response: IncomingMessage, request: Get, signal: AbortSignal, clock: Clock): Answer {
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    headers: response.headers,
    chunks: readChunks(response, request, signal, clock),
  };
}

async function* readChunks(
  response: IncomingMessage,
  request: Get,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<Buffer, void> {
  const off = onAbort(signal, () => response.destroy(cancelledBy(signal)));
  const reader = response.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const stopTimer = clock.timer(request.idleMs, () => response.destroy(silence(request.idleMs)));
      const step = await reader.next().finally(stopTimer);
      if (step.done) return;
      yield step.value as Buffer;
    }
  } catch (error) {
    throw signal.aborted ? cancelledBy(signal) : streamError(error);
  } finally {
    off();
    await reader.return?.();
    drain(response, clock);
  }
}

/** Reads what is left so that the socket can serve again; a body that does not end soon costs its socket. */
function drain(response: IncomingMessage, clock: Clock): void {
  if (response.readableEnded || response.destroyed) return;
  const stopTimer = clock.timer(DRAIN_MS, () => response.destroy());
  response.once('close', stopTimer);
  response.resume();
}

const silence = (ms: number): ModelError =>
  new ModelError(`nothing came from the model for ${ms / 1000} s`, { kind: 'stream' });

function connectError(error: unknown, url: string): ModelError {
  if (error instanceof ModelError) return error;
  const text = messageOf(error) || codeOf(error) || 'no reason given';
  return new ModelError(text, { kind: 'connect', url: withoutQuery(url) }, { cause: error });
}

function streamError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError(`the connection broke: ${messageOf(error)}`, { kind: 'stream' }, { cause: error });
}
