// Runs the built executable as its users do: a process of its own, a data directory of its own, an environment that holds nothing else.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const EXECUTABLE = join(ROOT, 'bin/heddle.js');
/** What clients of the reference are given. */
export const DROP_IN = join(ROOT, 'bin/heddle-codex.js');

/** The end of a process: its code, or the signal that ended it. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Run extends Ending {
  readonly stdout: string;
  readonly stderr: string;
}

const folders: string[] = [];
const running = new Set<ChildProcessWithoutNullStreams>();

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/heddle.cjs')))
    throw new Error('there is no build: run `npm run build`, or `npm test`');
});

afterEach(async () => {
  await Promise.all(
    [...running].map((child) => {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      return ended;
    }),
  );
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder that is gone after the test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-e2e-'));
  folders.push(folder);
  return folder;
}

export interface LaunchOptions {
  /** Default: our own. */
  readonly executable?: string;
  /** In place of Node and the executable. */
  readonly command?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Loaded before the executable. */
  readonly preload?: string;
}

export class Program {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Run>;
  stdout = '';
  stderr = '';
  readonly #waiting = new Set<() => void>();

  constructor(args: readonly string[], options: LaunchOptions = {}) {
    const preload = options.preload === undefined ? [] : ['--require', options.preload];
    const script = options.command === undefined ? [...preload, options.executable ?? EXECUTABLE] : [];
    const home = scratch();
    this.child = spawn(options.command ?? process.execPath, [...script, ...args], {
      cwd: options.cwd ?? home,
      env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', HEDDLE_VALIDATE: '1', ...options.environment },
      stdio: 'pipe',
    });
    running.add(this.child);
    this.child.stdin.on('error', () => {});
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => this.#heard('stdout', text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => this.#heard('stderr', text));
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        running.delete(this.child);
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
        for (const look of this.#waiting) look();
      });
    });
  }

  /** Resolves with the match once the stream holds it; rejects when the program ends without. */
  async said(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match) return match;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        await this.ended;
        const last = pattern.exec(this[stream]);
        if (last) return last;
        throw new Error(`it ended (${this.child.exitCode}) before it said ${pattern}:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
  }

  write(...messages: readonly object[]): void {
    for (const message of messages) this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #heard(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text;
    for (const look of this.#waiting) look();
  }
}

/** Runs to the end. */
export function run(args: readonly string[], options: LaunchOptions & { readonly input?: string } = {}): Promise<Run> {
  const program = new Program(args, options);
  program.child.stdin.end(options.input ?? '');
  return program.ended;
}

/** A server that listens, with its first address; on the scripted backend where the arguments name none. */
export async function serve(
  args: readonly string[],
  options: LaunchOptions = {},
): Promise<{ program: Program; address: string }> {
  const backend = args.includes('--backend') ? [] : ['--backend', 'mock'];
  const program = new Program(['app-server', ...backend, ...args], options);
  const [, address] = await program.said('stderr', /listening on: (\S+)\n/);
  return { program, address: address! };
}

/** Every line of the protocol, parsed; throws where one is not whole JSON. */
export function protocolLines(stdout: string): Record<string, unknown>[] {
  if (stdout === '') return [];
  if (!stdout.endsWith('\n')) throw new Error(`the last line is not whole: ${stdout.slice(-200)}`);
  return stdout
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export const INITIALIZE = {
  id: 'init',
  method: 'initialize',
  params: { clientInfo: { name: 'e2e', version: '1.0.0' }, capabilities: { experimentalApi: true } },
};

export const text = (prompt: string) => [{ type: 'text' as const, text: prompt, text_elements: [] }];
