// A fetch for the provider libraries that joins neighbouring text deltas of one read into one event: what a library
// spends on each event is many times what the rest of a delta costs.

import type { EventSourceMessage } from 'eventsource-parser';
import { ModelError } from './client.ts';
import { EventStreamReader } from './event-stream.ts';
import type { Answer, ModelHttp } from './http.ts';
import { type Loose, parseLoosely, recordOf } from './loose.ts';

/** What the bundler must know of a wire form. */
export interface StreamForm {
  /** A key that two events must share to be joined, and the text; undefined: more than a piece of text. */
  plainText(event: Loose): { readonly key: string; readonly text: string } | undefined;
  withText(event: Loose, text: string): Loose;
  /** The failure that the event reports. */
  failure(event: Loose): ModelError | undefined;
  /** The event is the model's last; data that is no JSON included. */
  isLast(data: string, event: Loose): boolean;
  /** A body may end after this one without a last event. */
  mayEndAfter(event: Loose): boolean;
}

export interface Bundle {
  readonly fetch: typeof globalThis.fetch;
  /** The pieces that a delta of the library was joined from. */
  piecesOf(delta: string): readonly string[];
  /** Why the exchange failed, with the facts that libraries lose; the body then ends as if nothing had happened. */
  failure(): unknown;
}

export function bundle(
  http: ModelHttp,
  form: StreamForm,
  headers: Readonly<Record<string, string>>,
  idleMs: number,
  signal: AbortSignal,
): Bundle {
  const joined: { readonly text: string; readonly pieces: readonly string[] }[] = [];
  let failure: unknown;
  const fail = (error: unknown) => {
    failure ??= error;
  };
  return {
    async fetch(input, init) {
      try {
        const url = input instanceof Request ? input.url : String(input);
        const answer = await http.open({ url, headers, body: String(init?.body), idleMs }, signal);
        const body = rewritten(answer, new Rewriter(form, joined), fail);
        return new Response(body, { status: answer.status, headers: { 'content-type': 'text/event-stream' } });
      } catch (error) {
        fail(error);
        throw error;
      }
    },
    piecesOf(delta) {
      if (joined[0]?.text !== delta) return [delta];
      return joined.shift()?.pieces ?? [delta];
    },
    failure: () => failure,
  };
}

function rewritten(answer: Answer, rewriter: Rewriter, fail: (error: unknown) => void): ReadableStream<Uint8Array> {
  const chunks = answer.chunks[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        let text = '';
        while (text === '' && !rewriter.isOver) {
          const step = await chunks.next().catch((error: unknown) => {
            fail(error);
            return { done: true as const, value: undefined };
          });
          if (step.done) rewriter.end();
          else text = rewriter.rewrite(step.value);
        }
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (!rewriter.isOver) return;
        if (rewriter.failure) fail(rewriter.failure);
        await chunks.return?.();
        controller.close();
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    // Nothing is read ahead of the library, so one read stays one read.
    { highWaterMark: 0 },
  );
}

class Rewriter {
  readonly #form: StreamForm;
  readonly #joined: { readonly text: string; readonly pieces: readonly string[] }[];
  readonly #reader = new EventStreamReader();
  #mayEnd = false;
  isOver = false;
  failure: ModelError | undefined;

  constructor(form: StreamForm, joined: { readonly text: string; readonly pieces: readonly string[] }[]) {
    this.#form = form;
    this.#joined = joined;
  }

  /** The body has ended; it should not have if the model had not. */
  end(): void {
    this.isOver = true;
    if (!this.#mayEnd) this.failure ??= new ModelError('stream closed before the answer was over', { kind: 'stream' });
  }

  /** The events of one read for the library, as text. */
  rewrite(chunk: Buffer): string {
    let out = '';
    let run:
      | { readonly key: string; readonly first: Loose; readonly source: EventSourceMessage; pieces: string[] }
      | undefined;
    const flush = () => {
      if (run) out += this.#join(run.first, run.source, run.pieces);
      run = undefined;
    };
    for (const source of this.#events(chunk)) {
      const event = recordOf(parseLoosely(source.data));
      const plain = this.#form.plainText(event);
      if (plain !== undefined && run?.key === plain.key) {
        run.pieces.push(plain.text);
        continue;
      }
      flush();
      if (plain !== undefined) {
        run = { key: plain.key, first: event, source, pieces: [plain.text] };
        continue;
      }
      if (this.#fails(source, event)) break;
      out += frame(source, source.data);
      if (this.isOver) break;
    }
    flush();
    return out;
  }

  #events(chunk: Buffer): readonly EventSourceMessage[] {
    try {
      return this.#reader.feed(chunk);
    } catch (error) {
      this.#stop(error as ModelError);
      return [];
    }
  }

  #join(first: Loose, source: EventSourceMessage, pieces: readonly string[]): string {
    if (pieces.length === 1) return frame(source, source.data);
    const text = pieces.join('');
    this.#joined.push({ text, pieces });
    return frame(source, JSON.stringify(this.#form.withText(first, text)));
  }

  /** Whether this event ends the answer badly; notes if it ends it well. */
  #fails(source: EventSourceMessage, event: Loose): boolean {
    if (this.#form.isLast(source.data, event)) {
      this.isOver = true;
      return false;
    }
    const failure = this.#form.failure(event) ?? this.#unreadable(source, event);
    if (failure) this.#stop(failure);
    this.#mayEnd ||= this.#form.mayEndAfter(event);
    return failure !== undefined;
  }

  #unreadable(source: EventSourceMessage, event: Loose): ModelError | undefined {
    if (Object.keys(event).length > 0 || source.data === '{}') return undefined;
    return new ModelError('the stream held an event that is no JSON object', { kind: 'stream' });
  }

  #stop(failure: ModelError): void {
    this.failure ??= failure;
    this.isOver = true;
  }
}

const frame = (source: EventSourceMessage, data: string): string =>
  source.event === undefined ? `data: ${data}\n\n` : `event: ${source.event}\ndata: ${data}\n\n`;
