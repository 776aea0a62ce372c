// A client that stops reading holds nobody up, and gets everything in the end.

import { afterEach, describe, expect, test } from 'vitest';
import { liveAnswer } from '../harness/live-answer.ts';
import { startModelServer } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemCompleted, startThread, startTurn, streamedText } from '../harness/turns.ts';

afterEach(cleanUp);

const DELTAS = 20_000;
const AT_ONCE = 500;
/** Enough that all of it is far more than may wait for one client. */
const PADDING = 'x'.repeat(600);

/** The numbers that the text holds between its padding; short enough to be compared and printed. */
const numbers = (text: string): number[] => text.replaceAll(PADDING, '').trimEnd().split(' ').map(Number);
const all = Array.from({ length: DELTAS }, (_, index) => index);

const isMessage = (item: { readonly [member: string]: unknown }): boolean => item.type === 'agentMessage';

describe.each(['memory', 'unix-lines', 'websocket'] as const)('over %s', (transport) => {
  test.each(['before', 'after'] as const)(
    'a client that did not read for twenty thousand deltas and goes on %s the end misses nothing',
    async (when) => {
      const answer = liveAnswer();
      const model = await startModelServer(answer.step);
      const server = await startApp({ backend: model, transport });
      const [healthy, slow] = [await server.connect(), await server.connect()];
      const threadId = await startThread(healthy);
      await slow.request('thread/resume', { threadId });
      const turnId = await startTurn(healthy, threadId, 'speak');
      await slow.notified('turn/started');
      slow.wire.pause();
      await answer.begin();
      for (let from = 0; from < DELTAS; from += AT_ONCE) {
        await answer.say(...Array.from({ length: AT_ONCE }, (_, index) => `${from + index}${PADDING} `));
        await healthy.message((each) => each.params?.delta?.startsWith(`${from}x`), `delta ${from}`);
      }
      if (when === 'before') {
        slow.wire.resume();
        await slow.message((each) => each.params?.delta?.includes(`${DELTAS - 1}x`), 'the last delta');
      }
      await answer.finish();
      expect((await completed(healthy, turnId)).status).toBe('completed');
      slow.wire.resume();
      await completed(slow, turnId);
      const { id } = await itemCompleted(healthy, isMessage);
      expect(numbers(streamedText(healthy, id))).toEqual(all);
      // Deltas go with their turn: what had not been read of them by then is in the whole item only.
      const seen = numbers(streamedText(slow, id));
      expect(seen).toEqual(all.slice(0, seen.length));
      if (when === 'before') expect(seen).toHaveLength(DELTAS);
      expect(numbers((await itemCompleted(slow, isMessage)).text)).toEqual(all);
      expectOrder(slow);
      expect(slow.news('item/agentMessage/delta').length).toBeLessThan(DELTAS);
      expect(completions(slow)).toEqual(completions(healthy));
      await model.close();
    },
  );
});

function expectOrder(client: TestClient): void {
  const seqs = client.notifications().flatMap((each) => each.seq ?? []);
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
}

const completions = (client: TestClient) => client.news('item/completed').map(({ item }) => item.id);
