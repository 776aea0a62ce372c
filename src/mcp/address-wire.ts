// The wire to a server at an address: streamable HTTP, with headers from the configuration and answers of a bounded size.

import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Clock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { AppError, codeOf } from '../base/errors.ts';
import type { McpEndpoint } from '../config/mcp-servers.ts';
import { endingAnswers, type Fetch, isEventStream, withBody } from './answer-stream.ts';
import { concealed, secretsOf } from './concealing.ts';
import type { McpWire } from './wire.ts';

/** Bytes of one answer, or of one event of a stream of them. */
const MAX_MESSAGE = 16 * 1024 * 1024;
/** How long the server may take to end our session with it, in milliseconds. */
const GOODBYE_MS = 1_000;

type Address = Extract<McpEndpoint, { kind: 'address' }>;
type Environment = Readonly<Record<string, string | undefined>>;

/** The headers of every request, or which variable is empty that should hold one. */
export function headersOf(
  { headers, secretHeaders, tokenVariable }: Address,
  environment: Environment,
): { readonly headers: Record<string, string> } | { readonly problem: string } {
  const all: Record<string, string> = { ...headers };
  const byReference = [
    ...Object.entries(secretHeaders).map(([header, variable]) => ({ header, variable, prefix: '' })),
    ...(tokenVariable === null ? [] : [{ header: 'Authorization', variable: tokenVariable, prefix: 'Bearer ' }]),
  ];
  for (const { header, variable, prefix } of byReference) {
    const value = environment[variable];
    if (!value) return { problem: `the environment variable ${variable}, which holds a secret of it, is empty` };
    all[header] = prefix + value;
  }
  return { headers: all };
}

/** Of somebody who has logged in. */
export interface Tokens {
  current(): Promise<string | undefined>;
  /** Instead of one that was refused. */
  renewed(refused: string): Promise<string | undefined>;
}

export const namesWho = (headers: Readonly<Record<string, string>>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');

export function addressWire(
  Transport: typeof StreamableHTTPClientTransport,
  url: string,
  headers: Readonly<Record<string, string>>,
  clock: Clock,
  tokens: Tokens | undefined,
): McpWire {
  let reason: string | undefined;
  const reached: Fetch = async (address, init) => {
    try {
      return await withoutSecrets(await boundedFetch(address, init), new Headers(init?.headers));
    } catch (error) {
      const code = codeOf((error as { readonly cause?: unknown }).cause);
      if (code === undefined) throw error;
      if (!UNREACHABLE.has(code)) throw new AppError('unavailable', `the connection to it broke (${code})`);
      reason ??= `it cannot be reached (${code})`;
      // Whoever asked is told first, the others right after: no answer can come to any of them.
      queueMicrotask(() => void inner.close());
      throw new AppError('unavailable', reason, { isSent: false });
    }
  };
  const fetch = endingAnswers(tokens ? authorised(reached, tokens) : reached);
  const inner = new Transport(new URL(url), { requestInit: { headers: { ...headers } }, fetch });
  const close = inner.close.bind(inner);
  return Object.defineProperties(inner, {
    endedBecause: { get: () => reason },
    close: {
      value: closeOnce(async () => {
        const isGone = reason !== undefined;
        reason ??= 'the connection was closed';
        if (inner.sessionId !== undefined && !isGone) {
          const late = new Promise<void>((resolve) => clock.timer(GOODBYE_MS, resolve));
          await Promise.race([inner.terminateSession().catch(() => {}), late]);
        }
        await close();
      }),
    },
  }) as StreamableHTTPClientTransport & McpWire;
}

/** Nothing was sent, and nothing will be: there is nobody at this address now. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Asks for the token anew with each request: whoever logs in helps all connections at once. */
function authorised(fetch: Fetch, tokens: Tokens): Fetch {
  const send = (url: string | URL, init: RequestInit | undefined, token: string | undefined) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  };
  return async (url, init) => {
    const token = await tokens.current();
    const response = await send(url, init, token);
    if (response.status !== 401 || token === undefined) return response;
    const other = await tokens.renewed(token);
    if (other === undefined) return response;
    await response.body?.cancel();
    return send(url, init, other);
  };
}

/** A refusal may repeat what it was asked with, and is told to people. */
async function withoutSecrets(response: Response, sent: Headers): Promise<Response> {
  if (response.ok || !response.body) return response;
  const text = await response.text();
  return withBody(response, new Blob([concealed(text, secretsOf(sent))]).stream());
}

async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.body) return response;
  const unended = isEventStream(response) ? bytesOfEvent() : bytesOfAll();
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (unended(chunk) > MAX_MESSAGE) controller.error(new Error(`a message of more than ${MAX_MESSAGE} bytes`));
        else controller.enqueue(chunk);
      },
    }),
  );
  return withBody(response, bounded);
}

function bytesOfAll(): (chunk: Uint8Array) => number {
  let size = 0;
  return (chunk) => {
    size += chunk.length;
    return size;
  };
}

/** Of the event that has not ended yet: an empty line ends one, and until then all of its lines are kept. */
function bytesOfEvent(): (chunk: Uint8Array) => number {
  let size = 0;
  let tail = Buffer.alloc(0);
  return (chunk) => {
    const text = Buffer.concat([tail, chunk]);
    const ends = EVENT_ENDS.map((end) => text.lastIndexOf(end) + end.length).filter((at) => at > tail.length);
    size = ends.length > 0 ? text.length - Math.max(...ends) : size + chunk.length;
    tail = text.subarray(-2);
    return size;
  };
}

const EVENT_ENDS: readonly string[] = ['\n\n', '\n\r\n', '\r\r'];
