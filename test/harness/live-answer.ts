// A model's answer that the test writes while the server reads it.

import type { ServerResponse } from 'node:http';
import { deferred } from '../../src/base/signals.ts';
import { responses, type Step } from './model-server.ts';

export interface LiveAnswer {
  /** Goes into the script of the model server. */
  readonly step: Step;
  /** Settles when the server has asked. */
  readonly asked: Promise<void>;
  /** Settles when the server has let go of the answer. */
  readonly letGo: Promise<void>;
  /** Sends frames as they are; waits until they are asked for. */
  write(...frames: readonly string[]): Promise<void>;
  /** Begins a message. */
  begin(id?: string): Promise<void>;
  /** Text of the message that was begun. */
  say(...deltas: readonly string[]): Promise<void>;
  /** Ends the message and the answer. */
  finish(): Promise<void>;
}

export function liveAnswer(): LiveAnswer {
  const response = deferred<ServerResponse>();
  const letGo = deferred();
  let messageId = '';
  let text = '';
  const write = async (...frames: readonly string[]) => {
    const open = await response.promise;
    await new Promise<void>((resolve) => open.write(frames.join(''), () => resolve()));
  };
  return {
    step: (open, request) => {
      open.writeHead(200, { 'content-type': 'text/event-stream' });
      open.flushHeaders();
      void request.closed.then(() => letGo.resolve());
      response.resolve(open);
    },
    asked: response.promise.then(() => {}),
    letGo: letGo.promise,
    write,
    async begin(id = 'msg_live') {
      messageId = id;
      text = '';
      const item = { type: 'message', id, content: [] };
      await write(responses.created(), responses.event('response.output_item.added', { output_index: 0, item }));
    },
    async say(...deltas) {
      text += deltas.join('');
      const frames = deltas.map((delta) =>
        responses.event('response.output_text.delta', { item_id: messageId, output_index: 0, delta }),
      );
      await write(...frames);
    },
    async finish() {
      const item = { type: 'message', id: messageId, content: [{ type: 'output_text', text }] };
      await write(responses.event('response.output_item.done', { output_index: 0, item }), responses.completed());
      (await response.promise).end();
    },
  };
}
