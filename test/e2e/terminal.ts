// The executable on a real terminal, as a person uses it: keys in, a screen of text out.

import { spawn } from '@lydell/node-pty';
import { afterEach } from 'vitest';
import { EXECUTABLE, scratch } from './executable.ts';

export interface TerminalOptions {
  /** Default 100. */
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** With its arguments; default: our executable. */
  readonly program?: string;
}

export class Terminal {
  readonly #terminal: ReturnType<typeof spawn>;
  /** With the exit code. */
  readonly ended: Promise<number>;
  #text = '';
  #read = 0;
  #waiting = () => {};

  constructor(args: readonly string[], options: TerminalOptions = {}) {
    const home = scratch();
    const own = options.program === undefined ? [EXECUTABLE] : [];
    this.#terminal = spawn(options.program ?? process.execPath, [...own, ...args], {
      cols: options.columns ?? 100,
      rows: 40,
      cwd: home,
      env: { PATH: process.env.PATH ?? '', HOME: home, TERM: 'dumb', LANG: 'C.UTF-8', ...options.environment },
    });
    this.#terminal.onData((piece) => {
      this.#text += piece;
      this.#waiting();
    });
    this.ended = new Promise((resolve) => this.#terminal.onExit(({ exitCode }) => resolve(exitCode)));
    open.add(this);
  }

  /** Everything so far. */
  get text(): string {
    return this.#text;
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

const open = new Set<Terminal>();

afterEach(async () => {
  for (const terminal of open) {
    terminal.kill();
    await terminal.ended;
  }
  open.clear();
});
