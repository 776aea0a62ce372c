// Server-sent events out of the chunks of a body: the whole ones of each read, in order.

import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ModelError } from './client.ts';

/** Longest single event, in characters; generated images come in one. */
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024;

export class EventStreamReader {
  readonly #decoder = new StringDecoder('utf8');
  #events: EventSourceMessage[] = [];
  #tooLong = false;
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: (event) => this.#events.push(event),
    onError: (error) => {
      this.#tooLong ||= error.type === 'max-buffer-size-exceeded';
    },
  });

  /** The events that this chunk completes. Throws a ModelError when one grows beyond 64 Mi characters. */
  feed(chunk: Buffer): readonly EventSourceMessage[] {
    this.#parser.feed(this.#decoder.write(chunk));
    if (this.#tooLong) throw new ModelError('an event of the stream is too long', { kind: 'stream' });
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
