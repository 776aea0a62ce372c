// Model streams cut into reads anywhere say the same in each wire form, and hostile bytes end in a typed failure.

import { describe, expect, test } from 'vitest';
import { ModelError, type ModelEvent } from '../../src/agent/models/client.ts';
import type { ModelHttp } from '../../src/agent/models/http.ts';
import { modelClient } from '../../src/agent/models/registry.ts';
import { fc } from '../harness/chance.ts';
import { anthropic, chat, responses } from '../harness/model-server.ts';
import { accessTo, collect, emptyRequest, joined } from '../unit/agent/models/access.ts';

/** Gives these reads as the body of every answer. */
function httpOf(reads: readonly Buffer[]): ModelHttp {
  const open = async () => ({
    status: 200,
    statusText: 'OK',
    headers: {},
    chunks: (async function* () {
      yield* reads;
    })(),
  });
  return { post: open, open, close: async () => {} };
}

const wires = {
  responses: (deltas: readonly string[]) => responses.say(...deltas),
  chat: (deltas: readonly string[]) => [...chat.text(...deltas), ...chat.end('stop')],
  anthropic: (deltas: readonly string[]) => [
    anthropic.start(),
    ...anthropic.text(0, ...deltas),
    ...anthropic.end('end_turn'),
  ],
};

function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const ends = [...new Set(places.map((place) => place % bytes.length))].sort((a, b) => a - b);
  return [0, ...ends]
    .map((from, at) => bytes.subarray(from, ends[at] ?? bytes.length))
    .filter((part) => part.length > 0);
}

const read = async (wire: keyof typeof wires, reads: readonly Buffer[]): Promise<readonly ModelEvent[]> => {
  const access = { ...accessTo({ baseUrl: 'http://127.0.0.1:9/v1' }), wire };
  const stream = modelClient(access, httpOf(reads)).stream(emptyRequest, new AbortController().signal);
  return (await collect(stream)).flat();
};

const texts = fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1, maxLength: 20 });
const places = fc.array(fc.nat(), { maxLength: 40 });

describe.each(Object.keys(wires) as (keyof typeof wires)[])('%s', (wire) => {
  test('any cut gives the same pieces', async () => {
    await fc.assert(
      fc.asyncProperty(texts, places, async (deltas, at) => {
        const events = await read(wire, cut(Buffer.from(wires[wire](deltas).join('')), at));
        expect(events.flatMap((event) => (event.type === 'text' ? event.parts : []))).toEqual(deltas);
        expect(joined(events)).toContainEqual({ type: 'messageCompleted', text: deltas.join(''), phase: null });
        expect(events.at(-1)).toEqual({ type: 'finished', reason: 'stop' });
      }),
      { numRuns: 60 },
    );
  });

  test('a stream that stops anywhere before its end fails as a stream', async () => {
    await fc.assert(
      fc.asyncProperty(texts, fc.double({ min: 0, max: 0.9, noNaN: true }), async (deltas, share) => {
        const frames = wires[wire](deltas);
        // Chat may end with its reason: the frames up to the text are what must never pass for an answer.
        const whole = Buffer.from(frames.slice(0, frames.length - 3).join(''));
        const reading = read(wire, [whole.subarray(0, Math.floor(whole.length * share))]);
        await expect(reading).rejects.toMatchObject({ name: 'ModelError', fault: { kind: 'stream' } });
      }),
      { numRuns: 40 },
    );
  });

  test('noise is a failure, never an answer and never a crash', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), async (noise) => {
        const reads = noise.flatMap((bytes) => [Buffer.from('data: '), Buffer.from(bytes), Buffer.from('\n\n')]);
        const error = await read(wire, reads).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ModelError);
      }),
      { numRuns: 60 },
    );
  });
});
