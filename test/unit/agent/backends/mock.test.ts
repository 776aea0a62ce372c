// The mock backend: its script, over the real loop, and the backend that only says what to configure.

import { expect, test } from 'vitest';
import { createMockBackend } from '../../../../src/agent/backends/mock.ts';
import { readScript } from '../../../../src/agent/backends/mock-script.ts';
import { createUnavailableBackend } from '../../../../src/agent/backends/unavailable.ts';
import { contextIn, house, hurriedClock, outcome, turnOf, userSays } from './turn.ts';

const never = new AbortController().signal;

async function play(script: string, signal = never) {
  const clock = hurriedClock();
  const tools = house();
  const backend = createMockBackend({ clock });
  const result = await outcome(backend.run(turnOf([userSays(script)]), tools, signal));
  return { ...result, tools, waits: clock.waits };
}

test('words come in deltas at their pace', async () => {
  const { events, waits } = await play('say 5 words at 50 a second');
  const deltas = events.flatMap((event) => (event.type === 'text' ? event.parts : []));
  expect(deltas).toEqual(['word1 ', 'word2 ', 'word3 ', 'word4 ', 'word5 ']);
  expect(waits).toEqual([20, 20, 20, 20]);
});

test('commands side by side, then one that waits for them, then the closing words', async () => {
  const { events, tools } = await play('think about it\nrun one\nrun! two\n\nrun three');
  expect(tools.commands.map(({ command }) => [command.line, command.escalate])).toEqual([
    ['one', false],
    ['two', true],
    ['three', false],
  ]);
  expect(contextIn(events).map((item) => item.type)).toEqual([
    'reasoning',
    'toolCall',
    'toolCall',
    'toolOutput',
    'toolOutput',
    'toolCall',
    'toolOutput',
    'assistant',
  ]);
});

test('a run that was stopped half-way goes on where it stood', async () => {
  const first = await play('say one\nrun two\nsay three');
  const context = [userSays('say one\nrun two\nsay three'), ...contextIn(first.events).slice(0, 2)];
  const tools = house();
  const rest = await outcome(createMockBackend().run(turnOf(context), tools, never));
  expect(tools.commands.map(({ command }) => command.line)).toEqual(['two']);
  expect(contextIn(rest.events)).toEqual([
    expect.objectContaining({ type: 'toolOutput' }),
    expect.objectContaining({ type: 'assistant', text: 'three' }),
  ]);
});

test.each([
  ['fail', 'other', 1],
  ['fail overloaded', 'serverOverloaded', 1],
  ['fail cut', 'other', 2],
])('%s', async (script, info, count) => {
  const { events } = await play(script);
  expect(events).toHaveLength(count);
  expect(events.at(-1)).toMatchObject({ type: 'failed', error: { codexErrorInfo: info } });
});

test('hang says nothing until it is stopped', async () => {
  const abort = new AbortController();
  const run = createMockBackend().run(turnOf([userSays('say hi\nhang')]), house(), abort.signal);
  let text = '';
  const reading = (async () => {
    for await (const events of run)
      for (const event of events) {
        if (event.type === 'messageCompleted') {
          text = event.text;
          abort.abort();
        }
      }
  })();
  await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
  expect(text).toBe('hi');
});

test('any other text is answered with how to write a script', async () => {
  const { events } = await play('Hello, who are you?');
  expect(contextIn(events)).toMatchObject([{ type: 'assistant', text: expect.stringContaining('mock model') }]);
  expect(events.filter((event) => event.type === 'text').length).toBeGreaterThan(3);
});

test.each(['say', 'run', 'fail sideways', 'say 0 words', 'hang on', 'say hi\nnonsense'])('%j is no script', (text) => {
  expect(readScript(text)).toMatchObject([{ type: 'say', perSecond: 100 }]);
});

test('the backend without a model fails each turn with what to configure', async () => {
  const backend = createUnavailableBackend();
  const { events } = await outcome(backend.run(turnOf([userSays('hi')]), house(), never));
  expect(events).toEqual([
    {
      type: 'failed',
      error: expect.objectContaining({ message: expect.stringMatching(/model_providers.*--backend mock/) }),
    },
  ]);
  expect(await backend.models()).toMatchObject([{ displayName: 'No model configured', isDefault: true }]);
});

test('patches are called with the patch tool, side by side with what follows', async () => {
  const { events, tools } = await play(
    'patch add a.txt one\\ntwo ; move b.txt c.txt\nrun one\n\npatch replace a.txt x => y',
  );
  expect(tools.changes.map(({ changes }) => changes)).toEqual([
    [
      { type: 'add', path: 'a.txt', content: 'one\ntwo\n' },
      { type: 'update', path: 'b.txt', moveTo: 'c.txt', chunks: [] },
    ],
    [expect.objectContaining({ type: 'update', path: 'a.txt', moveTo: null })],
  ]);
  expect(tools.commands).toHaveLength(1);
  expect(contextIn(events).at(-1)).toMatchObject({ type: 'assistant', text: 'Done.' });
});

test('as many blanks as one likes are no trouble', () => {
  const blanks = ' '.repeat(200_000);
  const [step] = readScript(`patch replace a.txt x${blanks}y${blanks}=>${blanks}z${blanks};${blanks}delete b.txt`);
  expect(step).toMatchObject({
    arguments: { input: expect.stringContaining(`\n-x${blanks}y\n+z\n*** Delete File: b.txt\n`) },
  });
});

test.each([
  'patch',
  'patch add',
  'patch replace a.txt x',
  'patch move a.txt',
  'patch delete a b',
  'patch delete a ; hop',
])('%j is no step', (line) => {
  expect(readScript(line)).toMatchObject([{ type: 'say' }]);
});
