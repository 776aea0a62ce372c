// Stored events as clients see them: which frames, in which order, with which places; and deltas joined for who is late.

import { describe, expect, test } from 'vitest';
import type { DeltaEvent, StoredEvent, ThreadEvent } from '../../../src/model/event.ts';
import { lastSeq, span } from '../../../src/model/event.ts';
import { NO_USAGE, turnError } from '../../../src/model/turn.ts';
import { threadNotifications } from '../../../src/threads/notifications.ts';
import { mergeDeltas, type RenderContext, render } from '../../../src/threads/render.ts';
import { fc } from '../../harness/chance.ts';
import {
  answer,
  contextAdded,
  delta,
  itemCompleted,
  itemStarted,
  settings,
  turnCompleted,
  turnStarted,
} from '../../harness/history-events.ts';

const context = (members: Partial<RenderContext> = {}): RenderContext => ({
  threadId: 'thread-1',
  item: () => undefined,
  requestIdOf: () => undefined,
  readState: () => ({ firstUnread: null, revision: 'r' }),
  status: () => ({ type: 'idle' }),
  asideFlags: () => [],
  ...members,
});

interface Shown {
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly emittedAtMs: number;
  readonly seq?: number;
}

const shown = (event: ThreadEvent, members?: Partial<RenderContext>): Shown[] =>
  render({ seq: 7, atMs: 99, event }, context(members)).map(({ text }) => JSON.parse(text) as Shown);

const error = turnError('it failed', 'other');

const cases: [string, ThreadEvent, (string | [string, number])[]][] = [
  ['a turn that starts', turnStarted('t'), ['thread/status/changed', ['turn/started', 7]]],
  ['an item that starts', itemStarted('t', answer('a')), [['item/started', 7]]],
  ['an item that ends', itemCompleted('t', answer('a')), [['item/completed', 7]]],
  [
    'deltas',
    delta('t', 'a', 'x', 'y'),
    [
      ['item/agentMessage/delta', 7],
      ['item/agentMessage/delta', 8],
    ],
  ],
  [
    'a part of a summary',
    { type: 'summaryPartAdded', turnId: 't', itemId: 'a', index: 1 },
    [['item/reasoning/summaryPartAdded', 7]],
  ],
  [
    'usage',
    { type: 'usageReported', turnId: 't', total: NO_USAGE, last: NO_USAGE, contextWindow: 5 },
    [['thread/tokenUsage/updated', 7]],
  ],
  ['an error with a retry', { type: 'errorReported', turnId: 't', error, willRetry: true }, [['error', 7]]],
  [
    'an error without',
    { type: 'errorReported', turnId: 't', error, willRetry: false },
    ['thread/status/changed', ['error', 7]],
  ],
  ['a warning', { type: 'warned', turnId: null, message: 'm' }, [['warning', 7]]],
  ['settings', { type: 'settingsChanged', settings: settings() }, [['thread/settings/updated', 7]]],
  [
    'a turn that ends well',
    turnCompleted('t', { lastMessageId: 'a' }),
    ['thread/readState/changed', 'thread/status/changed', ['turn/completed', 7]],
  ],
  [
    'a turn that was interrupted',
    turnCompleted('t', { status: 'interrupted' }),
    ['thread/status/changed', ['turn/completed', 7]],
  ],
  ['turns that were reverted', { type: 'turnsReverted', firstTurnId: 't', turnIds: ['t'] }, [['thread/reverted', 7]]],
  ['a name', { type: 'threadNamed', name: 'n' }, [['thread/name/updated', 7]]],
  ['what the model is shown', contextAdded('t', 'x'), []],
  ['steered input', { type: 'steered', turnId: 't', itemId: 's', clientId: null, content: [] }, []],
  ['a thread that is archived', { type: 'threadArchived' }, []],
];

test.each(cases)('%s', (_, event, frames) => {
  const told = shown(event);
  expect(told.map(({ method, seq }) => (seq === undefined ? method : [method, seq]))).toEqual(frames);
  for (const { method, params, emittedAtMs } of told) {
    expect(emittedAtMs).toBe(99);
    expect(params.threadId).toBe('thread-1');
    const declared = Object.values(threadNotifications).find((each) => each.method === method)!;
    declared.params().parse(params);
  }
});

test('a turn that ends shows its last message, and the newest state of reading', () => {
  const message = { ...answer('a', 'said'), completedAtMs: 2 };
  const told = shown(turnCompleted('t', { lastMessageId: 'a' }), { item: (id) => (id === 'a' ? message : undefined) });
  expect(told[0]!.params).toMatchObject({ readState: { revision: 'r-t' } });
  expect(told.at(-1)!.params).toMatchObject({ turn: { id: 't', items: [message], itemsView: 'summary' } });
  expect(shown(turnCompleted('t')).at(-1)!.params).toMatchObject({ turn: { items: [], itemsView: 'notLoaded' } });
});

test.each([
  ['text', 'item/agentMessage/delta', {}],
  ['output', 'item/commandExecution/outputDelta', {}],
  ['summary', 'item/reasoning/summaryTextDelta', { summaryIndex: 2 }],
  ['reasoning', 'item/reasoning/textDelta', { contentIndex: 2 }],
] as const)('a delta of %s is a notification of its own kind, whatever its text', (stream, method, more) => {
  const parts = ['"', '\\', '\n', '\u2028\u732b', ''];
  const told = shown({ type: 'delta', turnId: 't"', itemId: 'i\\', stream, index: 2, parts });
  expect(told).toEqual(
    parts.map((text, offset) => ({
      method,
      params: { threadId: 'thread-1', turnId: 't"', itemId: 'i\\', ...more, delta: text },
      emittedAtMs: 99,
      seq: 7 + offset,
    })),
  );
});

test('a frame is written with the version for those who want it', () => {
  const [frame] = render({ seq: 1, atMs: 1, event: { type: 'warned', turnId: null, message: 'm' } }, context());
  expect(JSON.parse(frame!.encoded(false).toString())).not.toHaveProperty('jsonrpc');
  expect(JSON.parse(frame!.encoded(true).toString())).toMatchObject({ jsonrpc: '2.0', method: 'warning' });
});

describe('joined deltas', () => {
  const events = fc.array(
    fc.oneof(
      fc.record({
        stream: fc.constantFrom('text', 'summary'),
        itemId: fc.constantFrom('a', 'b'),
        index: fc.constantFrom(0, 1),
        parts: fc.array(fc.string(), { minLength: 1, maxLength: 3 }),
      }),
      fc.constant(null),
    ),
  );

  /** A page of the log from drawn events; null stands for one that is no delta. */
  function page(drawn: readonly (Omit<DeltaEvent, 'type' | 'turnId'> | null)[]): StoredEvent[] {
    let seq = 1;
    return drawn.map((each) => {
      const event: ThreadEvent = each ? { type: 'delta', turnId: 't', ...each } : contextAdded('t', 'x');
      const stored = { seq, atMs: seq, event };
      seq += span(event);
      return stored;
    });
  }

  const isDelta = (stored: StoredEvent): stored is StoredEvent<DeltaEvent> => stored.event.type === 'delta';
  const textOf = (stored: StoredEvent<DeltaEvent>) => {
    const { stream, itemId, index, parts } = stored.event;
    return { of: `${stream} ${itemId} ${index}`, text: parts.join('') };
  };

  test('hold the same text in the same order, and end at the same places', () => {
    fc.assert(
      fc.property(events, (drawn) => {
        const before = page(drawn);
        const merged = mergeDeltas(before);
        expect(merged.filter((each) => !isDelta(each))).toEqual(before.filter((each) => !isDelta(each)));
        for (const name of ['text a 0', 'text a 1', 'text b 0', 'summary b 1']) {
          const whole = (all: StoredEvent[]) =>
            all
              .filter(isDelta)
              .map(textOf)
              .filter(({ of }) => of === name)
              .map(({ text }) => text)
              .join('');
          expect(whole(merged)).toBe(whole(before));
        }
        const places = merged.map(({ seq }) => seq);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        expect(before.map(lastSeq)).toEqual(expect.arrayContaining(places));
        if (before.length > 0) expect(lastSeq(merged.at(-1)!)).toBe(lastSeq(before.at(-1)!));
      }),
    );
  });

  test('carry the last place of their parts, and one part each', () => {
    const merged = mergeDeltas(
      page([
        { stream: 'text', itemId: 'a', parts: ['x', 'y'] },
        { stream: 'text', itemId: 'a', parts: ['z'] },
      ]),
    );
    expect(merged).toMatchObject([{ seq: 3, event: { parts: ['xyz'] } }]);
  });

  test('do not grow without bound', () => {
    const long = 'x'.repeat(200 * 1024);
    const merged = mergeDeltas(
      page(Array.from({ length: 10 }, () => ({ stream: 'text' as const, itemId: 'a', parts: [long] }))),
    );
    expect(merged.length).toBeGreaterThan(2);
    expect(
      merged
        .filter(isDelta)
        .map((each) => textOf(each).text)
        .join(''),
    ).toHaveLength(10 * long.length);
  });
});
