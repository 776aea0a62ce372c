// Programs that the helper starts for us: asked for in lines, told of in lines, their ends included.

import type { Readable, Writable } from 'node:stream';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type Deferred, deferred } from '../base/signals.ts';
import type { ChildExit, Launched, Order, Refusal } from './launch.ts';
import { MARK_VARIABLE } from './marks.ts';
import { startOf } from './processes.ts';
import { endTree, killGroup } from './tree.ts';

/** A pipe that may keep this process alive or not. */
type Held = Readable & { ref(): void; unref(): void };

interface Asked {
  readonly mark: string;
  readonly answer: Deferred<Launched | Refusal>;
  readonly exit: Deferred<ChildExit>;
  running?: { readonly pid: number; readonly started: string };
  hasExited: boolean;
}

type Told =
  | { readonly ready: true }
  | { readonly unmarked: string }
  | { readonly id: number; readonly pid: number; readonly start: string }
  | { readonly id: number; readonly refusal: Refusal }
  | { readonly id: number; readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** With these it cannot reach our descriptors at all. */
const NEVER: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENOENT']);

/** Milliseconds between two calls to go on. */
const GO_ON_MS = 500;

/** Characters of an unintelligible line that are logged. */
const SHOWN = 200;

export interface OrdersParts {
  /** Continues the helper if it has been stopped: what it has started may do that, being of the same user. */
  readonly goOn: () => void;
  /** The helper cannot set the mark in the limit, or not any more. */
  readonly unmarked: (reason: string) => void;
  readonly log: Log;
}

/** Undefined: something else than the helper's own code wrote the line, e.g. the runtime that it runs on. */
function read(line: string): Told | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Told) : undefined;
  } catch {
    return undefined;
  }
}

/** The orders of one helper process. Its pipe keeps this process alive while something that it started runs. */
export class Orders {
  readonly #input: Writable;
  readonly #output: Held;
  readonly #goOn: () => void;
  readonly #unmarked: (reason: string) => void;
  readonly #asked = new Map<number, Asked>();
  #calling: NodeJS.Timeout | undefined;
  #count = 0;
  #rest = '';
  #isReady = false;

  constructor(input: Writable, output: Readable, { goOn, unmarked, log }: OrdersParts) {
    this.#input = input;
    this.#goOn = goOn;
    this.#unmarked = unmarked;
    this.#output = output as Held;
    this.#output.unref();
    output.setEncoding('utf8');
    output.on('error', () => {}); // its end is told by the process
    output.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() as string;
      for (const line of lines) {
        const told = read(line);
        if (told) this.#take(told);
        else log.warn({ line: line.slice(0, SHOWN) }, 'the helper that starts programs said something unintelligible');
      }
    });
  }

  /** It has begun to listen and has not failed. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Rejects as *unavailable* when the helper ends meanwhile. */
  start(order: Order): Promise<Launched | Refusal> {
    const id = this.#count++;
    const mark = order.env[MARK_VARIABLE] ?? '';
    const asked: Asked = { mark, answer: deferred(), exit: deferred(), hasExited: false };
    this.#asked.set(id, asked);
    this.#output.ref();
    this.#calling ??= setInterval(this.#goOn, GO_ON_MS).unref();
    this.#input.write(`=${JSON.stringify({ id, ...order, server: process.pid })}\n`);
    return asked.answer.promise;
  }

  /** Takes no more orders. */
  stop(): void {
    this.#isReady = false;
  }

  /** The helper has ended: how its programs end cannot be told any more, so they end now. */
  gone(): void {
    this.stop();
    for (const [id, asked] of this.#asked) {
      const { running, mark } = asked;
      if (running) {
        if (startOf(running.pid) === running.started) killGroup(running.pid);
        this.#ended(id, asked, { code: null, signal: 'SIGKILL' });
      } else {
        // It may have been started all the same.
        void endTree({ pid: -1, mark }, { graceMs: 0 });
        this.#forget(id);
        asked.answer.reject(new AppError('unavailable', 'the helper that starts programs has ended'));
      }
    }
  }

  #take(told: Told): void {
    if ('ready' in told) {
      this.#isReady = true;
      return;
    }
    if ('unmarked' in told) {
      this.#unmarked(told.unmarked);
      return;
    }
    const asked = this.#asked.get(told.id);
    if (!asked) return;
    if ('pid' in told) {
      asked.running = { pid: told.pid, started: told.start };
      asked.answer.resolve({
        pid: told.pid,
        started: told.start === '' ? undefined : told.start,
        isGuarded: true,
        exited: asked.exit.promise,
        hasExited: () => asked.hasExited,
        sideChannel: null,
      });
    } else if ('refusal' in told) {
      if (told.refusal.isHelpers && NEVER.has(told.refusal.code)) this.#isReady = false;
      this.#forget(told.id);
      asked.answer.resolve(told.refusal);
    } else this.#ended(told.id, asked, { code: told.code, signal: told.signal });
  }

  #ended(id: number, asked: Asked, exit: ChildExit): void {
    asked.hasExited = true;
    this.#forget(id);
    asked.exit.resolve(exit);
  }

  #forget(id: number): void {
    this.#asked.delete(id);
    if (this.#asked.size > 0) return;
    this.#output.unref();
    clearInterval(this.#calling);
    this.#calling = undefined;
  }
}
