// The wire to a server at an address: streamable HTTP, with headers from the configuration and answers of a bounded size.

import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Clock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import type { McpEndpoint } from '../config/mcp-servers.ts';
import type { McpWire } from './wire.ts';

/** Bytes of one answer, or of one line of a stream of them. */
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
  const fetch = tokens ? authorised(tokens) : boundedFetch;
  const inner = new Transport(new URL(url), { requestInit: { headers: { ...headers } }, fetch });
  const close = inner.close.bind(inner);
  let reason: string | undefined;
  return Object.defineProperties(inner, {
    endedBecause: { get: () => reason },
    close: {
      value: closeOnce(async () => {
        reason ??= 'the connection was closed';
        if (inner.sessionId !== undefined) {
          const late = new Promise<void>((resolve) => clock.timer(GOODBYE_MS, resolve));
          await Promise.race([inner.terminateSession().catch(() => {}), late]);
        }
        await close();
      }),
    },
  }) as StreamableHTTPClientTransport & McpWire;
}

/** Asks for the token anew with each request: whoever logs in helps all connections at once. */
function authorised(tokens: Tokens): typeof boundedFetch {
  const send = (url: string | URL, init: RequestInit | undefined, token: string | undefined) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return boundedFetch(url, { ...init, headers });
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

async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.body) return response;
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  let size = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const lastEnd = isStream ? chunk.lastIndexOf(10) : -1;
        size = lastEnd >= 0 ? chunk.length - lastEnd : size + chunk.length;
        if (size > MAX_MESSAGE) controller.error(new Error(`a message of more than ${MAX_MESSAGE} bytes`));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  const copy = new Response(bounded, { status, statusText, headers });
  Object.defineProperty(copy, 'url', { value: response.url });
  return copy;
}
