// A scripted model provider on loopback: what each request is answered with, in any of the three wire forms.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Deferred, deferred } from '../../src/base/signals.ts';

export interface SeenRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** Settles when the answer's connection has been let go of, by either side. */
  readonly closed: Promise<void>;
}

/** Answers one request; whatever it leaves open stays open until the client or `close` ends it. */
export type Step = (response: ServerResponse, request: SeenRequest) => void | Promise<void>;

export interface ModelServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly SeenRequest[];
  /** Addresses that were asked for by GET: lists of models. They take no step of the script. */
  readonly lists: readonly string[];
  /** How many connections were accepted in all. */
  readonly connections: () => number;
  /** Answers lists of models from now on, which are unknown (404) until then. */
  listModels(step: Step): void;
  script(...steps: readonly Step[]): void;
  /** Settles when so many requests have come. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Requests beyond the script get status 500 with the text "no step left". */
export async function startModelServer(...script: readonly Step[]): Promise<ModelServer> {
  const steps = [...script];
  const requests: SeenRequest[] = [];
  const waiting: { readonly count: number; readonly come: Deferred<void> }[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const lists: string[] = [];
  let list: Step = status(404, { error: { message: 'no such page' } });
  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET') {
      lists.push(incoming.url ?? '');
      const nothing = { url: incoming.url ?? '', headers: incoming.headers, body: {}, closed: Promise.resolve() };
      return void list(response, nothing);
    }
    let text = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (piece: string) => {
      text += piece;
    });
    incoming.on('end', () => {
      const closed = deferred();
      response.on('close', closed.resolve);
      const body = JSON.parse(text) as Record<string, unknown>;
      const request = { url: incoming.url ?? '', headers: incoming.headers, body, closed: closed.promise };
      requests.push(request);
      for (const { count, come } of waiting) if (requests.length >= count) come.resolve();
      void (steps.shift() ?? status(500, { error: { message: 'no step left' } }))(response, request);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    lists,
    listModels(step) {
      list = step;
    },
    connections: () => connections,
    script: (...more) => void steps.push(...more),
    received(count) {
      const come = deferred();
      if (requests.length >= count) come.resolve();
      waiting.push({ count, come });
      return come.promise;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** An answer with this status and JSON body. */
export const status =
  (code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Step =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

/** How a stream goes on after its frames. */
export type Ending = 'close' | 'cut' | 'stall' | 'keepOpen';

/**
 * An event stream of these frames. `close` ends the body, `cut` drops the connection once the client has had the frames,
 * `stall` leaves it open; `keepOpen` too, for streams whose last event is the end. With `chunkSize` every so many bytes
 * are a write of their own.
 */
export const stream =
  (frames: readonly string[], ending: Ending = 'close', chunkSize?: number): Step =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks(Buffer.from(frames.join('')), chunkSize)) {
      await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
      if (chunkSize !== undefined) await new Promise(setImmediate);
    }
    if (ending === 'close') response.end();
    if (ending === 'cut') response.socket?.end();
  };

function chunks(bytes: Buffer, size = bytes.length): readonly Buffer[] {
  const result: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += size) result.push(bytes.subarray(from, from + size));
  return result;
}

type Json = Readonly<Record<string, unknown>>;
const named = (type: string, members: Json): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

/** Frames of the Responses wire form. */
export const responses = {
  event: named,
  created: () => named('response.created', { response: { id: 'resp_1', status: 'in_progress' } }),
  message: (id: string, deltas: readonly string[], more: Json = {}) => [
    named('response.output_item.added', { output_index: 0, item: { type: 'message', id, content: [], ...more } }),
    ...deltas.map((delta) => named('response.output_text.delta', { item_id: id, output_index: 0, delta })),
    named('response.output_item.done', {
      output_index: 0,
      item: { type: 'message', id, content: [{ type: 'output_text', text: deltas.join('') }], ...more },
    }),
  ],
  partial: (id: string, delta: string) => [
    named('response.output_item.added', { output_index: 0, item: { type: 'message', id, content: [] } }),
    named('response.output_text.delta', { item_id: id, output_index: 0, delta }),
  ],
  call: (callId: string, name: string, args: unknown) =>
    named('response.output_item.done', {
      output_index: 1,
      item: {
        type: 'function_call',
        call_id: callId,
        name,
        arguments: typeof args === 'string' ? args : JSON.stringify(args),
      },
    }),
  failed: (code: string, message: string) =>
    named('response.failed', { response: { status: 'failed', error: { code, message } } }),
  completed: () =>
    named('response.completed', {
      response: {
        status: 'completed',
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 20 },
          output_tokens: 30,
          output_tokens_details: { reasoning_tokens: 5 },
        },
      },
    }),
  /** A whole answer that says these pieces. */
  say: (...deltas: readonly string[]) => [
    responses.created(),
    ...responses.message(`msg_${deltas.join('').length}`, deltas),
    responses.completed(),
  ],
};

/** Frames of the chat completions wire form. */
export const chat = {
  chunk: (delta: Json, finish: string | null = null) =>
    `data: ${JSON.stringify({
      id: 'chat_1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`,
  text: (...deltas: readonly string[]) => deltas.map((content) => chat.chunk({ content })),
  thinking: (...deltas: readonly string[]) => deltas.map((text) => chat.chunk({ reasoning_content: text })),
  call: (callId: string, name: string, args: string) => [
    chat.chunk({ tool_calls: [{ index: 0, id: callId, type: 'function', function: { name, arguments: '' } }] }),
    chat.chunk({ tool_calls: [{ index: 0, function: { arguments: args } }] }),
  ],
  end: (finish: string) => [
    chat.chunk({}, finish),
    `data: ${JSON.stringify({
      id: 'chat_1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 30,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    })}\n\n`,
    'data: [DONE]\n\n',
  ],
  error: (message: string, code: string) => `data: ${JSON.stringify({ error: { message, code, type: code } })}\n\n`,
};

/** Frames of the Anthropic messages wire form. */
export const anthropic = {
  event: named,
  start: () =>
    named('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'scripted',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 80, cache_read_input_tokens: 20, output_tokens: 1 },
      },
    }),
  block: (index: number, start: Json, deltas: readonly Json[]) => [
    named('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => named('content_block_delta', { index, delta })),
    named('content_block_stop', { index }),
  ],
  text: (index: number, ...deltas: readonly string[]) =>
    anthropic.block(
      index,
      { type: 'text', text: '' },
      deltas.map((text) => ({ type: 'text_delta', text })),
    ),
  thinking: (index: number, signature: string, ...deltas: readonly string[]) =>
    anthropic.block(index, { type: 'thinking', thinking: '', signature: '' }, [
      ...deltas.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ]),
  call: (index: number, id: string, name: string, args: string) =>
    anthropic.block(index, { type: 'tool_use', id, name, input: {} }, [
      { type: 'input_json_delta', partial_json: args },
    ]),
  end: (reason: string) => [
    named('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 30 } }),
    named('message_stop', {}),
  ],
  error: (type: string, message: string) => named('error', { error: { type, message } }),
};
