// Answers that come as a stream of events: one that ends too early still ends what was asked.

import { messageOf } from '../base/errors.ts';

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Of the answer that stands for one that never came. */
export const ANSWER_CUT = -32_099;

/** Characters that the beginning of a line is looked for in, when it comes in pieces. */
const KEPT = 8;

/**
 * The library waits for ever for an answer whose stream has ended before it. Here such a stream ends with an answer that says so,
 * unless the server has named a place in it (an event id) from which the library reads on. Where the answer came, it is one too many,
 * which the library ignores.
 */
export function endingAnswers(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const id = init?.method === 'POST' ? idOf(init.body) : undefined;
    if (id === undefined || !response.body || !isEventStream(response)) return response;
    return withBody(response, ended(response.body, id));
  };
}

export const isEventStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.includes('text/event-stream') ?? false;

export function withBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}

function ended(body: ReadableStream<Uint8Array>, id: string | number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let tail = '\n';
  let isResumable = false;
  const end = (why: string) => {
    const error = { code: ANSWER_CUT, message: `the answer was cut off: ${why}` };
    return Buffer.from(`\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const read = await reader.read().catch((error: unknown) => ({ done: true as const, value: error }));
      if (!read.done) {
        if (!isResumable) {
          const text = tail + Buffer.from(read.value).toString('latin1');
          isResumable = /[\r\n]id:/.test(text);
          tail = text.slice(-KEPT);
        }
        controller.enqueue(read.value);
        return;
      }
      if (!isResumable) controller.enqueue(end(read.value === undefined ? 'it has ended' : messageOf(read.value)));
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Of the request in a body; undefined: there is none. */
function idOf(body: RequestInit['body']): string | number | undefined {
  if (typeof body !== 'string') return undefined;
  const { id, method } = JSON.parse(body) as { readonly id?: unknown; readonly method?: unknown };
  return method !== undefined && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}
