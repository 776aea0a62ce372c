// `heddle chat` on a real terminal: turns, questions, Ctrl-C, the end, and going on with a thread.

import { spawn } from '@lydell/node-pty';
import { afterEach, expect, test } from 'vitest';
import { EXECUTABLE, run, scratch } from './executable.ts';

class Chat {
  readonly #terminal: ReturnType<typeof spawn>;
  readonly ended: Promise<number>;
  #text = '';
  #read = 0;
  #waiting = () => {};

  constructor(data: string, ...args: readonly string[]) {
    const home = scratch();
    this.#terminal = spawn(process.execPath, [EXECUTABLE, 'chat', '--backend', 'mock', '--data-dir', data, ...args], {
      cols: 100,
      rows: 40,
      cwd: home,
      env: { PATH: process.env.PATH ?? '', HOME: home, TERM: 'dumb' },
    });
    this.#terminal.onData((piece) => {
      this.#text += piece;
      this.#waiting();
    });
    this.ended = new Promise((resolve) => this.#terminal.onExit(({ exitCode }) => resolve(exitCode)));
    open.add(this);
  }

  type(text: string): void {
    this.#terminal.write(text);
  }

  /** What was shown up to and with this, since the last time. */
  async shown(pattern: RegExp): Promise<string> {
    for (;;) {
      const rest = this.#text.slice(this.#read);
      const found = pattern.exec(rest);
      if (found) {
        const end = found.index + found[0].length;
        this.#read += end;
        return rest.slice(0, end);
      }
      const more = new Promise<boolean>((resolve) => {
        this.#waiting = () => resolve(true);
      });
      const isOpen = await Promise.race([more, this.ended.then(() => false)]);
      if (!isOpen && !pattern.test(this.#text.slice(this.#read)))
        throw new Error(`it ended before it showed ${pattern}:\n${this.#text}`);
    }
  }

  kill(): void {
    this.#terminal.kill('SIGKILL');
  }
}

const open = new Set<Chat>();

afterEach(async () => {
  for (const chat of open) {
    chat.kill();
    await chat.ended;
  }
  open.clear();
});

const PROMPT = /> $/;

test('each line is a turn, and the thread can be gone on with', async () => {
  const data = scratch();
  const chat = new Chat(data);
  await chat.shown(PROMPT);
  chat.type('say Good morning\r');
  await chat.shown(/Good morning\r\n> $/);
  chat.type('run printf found\r');
  await chat.shown(/\$ .*printf found[\s\S]*found[\s\S]*Done\.\r\n> $/);
  chat.type('/quit\r');
  const [, thread] = /--thread (\S+)/.exec(await chat.shown(/--thread \S+\r\n/)) as RegExpExecArray;
  expect(await chat.ended).toBe(0);
  const again = new Chat(data, '--thread', thread as string);
  await again.shown(/> say Good morning\r\nGood morning\r\n[\s\S]*> $/);
  again.type('\u0004');
  expect(await again.ended).toBe(0);
});

test('an approval is asked in between, and answered by a key', async () => {
  const chat = new Chat(scratch());
  await chat.shown(PROMPT);
  chat.type('run! echo outside\r');
  await chat.shown(/\[y\]es.*\? /);
  chat.type('n\r');
  await chat.shown(/declined: it did not run[\s\S]*> $/);
  chat.type('run! echo outside\r');
  await chat.shown(/\[y\]es.*\? /);
  chat.type('y\r');
  await chat.shown(/outside\r\n[\s\S]*Done\.\r\n> $/);
});

test('Ctrl-C stops what runs, and ends the conversation where nothing does', async () => {
  const chat = new Chat(scratch());
  await chat.shown(PROMPT);
  chat.type('say 100000 words at 50 a second\r');
  await chat.shown(/a second[\r\n]+(\w+ ){3}/);
  chat.type('\u0003');
  await chat.shown(/the turn was interrupted\r\n> $/);
  chat.type('\u0003');
  await chat.shown(/--thread \S+/);
  expect(await chat.ended).toBe(0);
});

test('without a terminal it says what to use instead', async () => {
  const { code, stderr } = await run(['chat', '--data-dir', scratch()]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('heddle exec') });
});
