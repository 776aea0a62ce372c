// The terminal of a person: questions and the line that is being typed do not get into each other's way.

import { PassThrough } from 'node:stream';
import { setImmediate as soon } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { deferred } from '../../../src/base/signals.ts';
import { TerminalAsking } from '../../../src/cli/terminal-asking.ts';

/** What moves the cursor and clears the screen. */
const ESCAPE = '\u001b';
const MOVES = new RegExp(`${ESCAPE}\\[\\d*[A-Z]`, 'g');

function stage() {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
  let text = '';
  let waiting = () => {};
  output.setEncoding('utf8').on('data', (piece: string) => {
    text = (text + piece).replace(MOVES, '');
    waiting();
  });
  /** Since the last time, without the ways in which the cursor is moved. */
  const shown = async (end: string): Promise<string> => {
    while (!text.includes(end))
      await new Promise<void>((resolve) => {
        waiting = resolve;
      });
    const upTo = text.slice(0, text.indexOf(end) + end.length);
    text = text.slice(upTo.length);
    return upTo;
  };
  let seen = deferred();
  const asking = new TerminalAsking(input, output, () => seen.promise);
  const see = () => {
    seen.resolve();
    seen = deferred();
  };
  return { asking, input, shown, see, rest: () => text };
}

const { signal } = new AbortController();

test('a line is put away for questions, and given back as it was, with the cursor where it was', async () => {
  const { asking, input, shown } = stage();
  const line = asking.line('> ', signal);
  input.write('ab cd\u001b[D\u001b[D');
  await shown('cd');
  await soon();
  const first = asking.apart(() => asking.prompt('first: ', signal));
  const second = asking.apart(async () => (await first) + (await asking.prompt('second: ', signal)));
  expect(await shown('first: ')).not.toContain('> ');
  input.write('one\r');
  expect(await shown('second: ')).not.toContain('> ');
  input.write('two\r');
  expect(await second).toBe('onetwo');
  await shown('> ');
  await shown('ab cd');
  await soon();
  input.write('X\r');
  expect(await line).toBe('ab Xcd');
});

test('a line is asked for only when no question stands any more', async () => {
  const { asking, input, shown, rest } = stage();
  const question = asking.apart(() => asking.prompt('sure? ', signal));
  await shown('sure? ');
  const line = asking.line('> ', signal);
  await soon();
  expect(rest()).toBe('');
  input.write('y\r');
  expect(await question).toBe('y');
  await shown('> ');
  input.write('hello\r');
  expect(await line).toBe('hello');
});

test('a question that lapses leaves its row, and the line comes back', async () => {
  const { asking, input, shown } = stage();
  const line = asking.line('> ', signal);
  input.write('kept');
  await shown('kept');
  const lapse = new AbortController();
  const question = asking.apart(() => asking.prompt('sure? ', lapse.signal));
  await shown('sure? ');
  lapse.abort();
  await expect(question).rejects.toThrow();
  expect(await shown('> ')).toMatch(/^\r\n/);
  await shown('kept');
  input.write('\r');
  expect(await line).toBe('kept');
});

test('the end of the input ends the question and the line, and whoever asks later is told', async () => {
  const { asking, input, shown } = stage();
  const line = asking.line('> ', signal);
  line.catch(() => {});
  await shown('> ');
  const question = asking.apart(() => asking.prompt('sure? ', signal));
  question.catch(() => {});
  await shown('sure? ');
  input.end();
  await expect(question).rejects.toThrow();
  await expect(line).rejects.toThrow('nothing more will be typed');
  await expect(asking.apart(() => asking.prompt('sure? ', signal))).rejects.toThrow('nothing more will be typed');
});

test('whoever gives the line up while a question stands does not wait for its answer', async () => {
  const { asking } = stage();
  const answer = deferred<string>();
  const question = asking.apart(() => answer.promise);
  const over = new AbortController();
  const line = asking.line('> ', over.signal);
  over.abort();
  await expect(line).rejects.toThrow();
  answer.resolve('late');
  expect(await question).toBe('late');
});

test('what is typed before a question is shown is no answer to it', async () => {
  const { asking, input, shown, see } = stage();
  input.write('y\r');
  const question = asking.apart(async () => {
    await asking.dropTyped();
    return asking.prompt('sure? ', signal);
  });
  await soon();
  input.write('yes\ry');
  await soon();
  see();
  await shown('sure? ');
  input.write('n\r');
  expect(await question).toBe('n');
});
