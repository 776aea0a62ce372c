// One command of a model, from its start to the end of its item, however many calls and turns lie between.

import { NO_PERMISSIONS } from '../approvals/grants.ts';
import type { RunsAs } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import type { Clock } from '../base/clock.ts';
import { Mailbox } from '../base/mailbox.ts';
import { deferred, throwIfAborted, unlessAborted } from '../base/signals.ts';
import type { Permissions } from '../model/approval.ts';
import type { TurnId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { ProcessInput } from '../process/input.ts';
import { OUTPUT_CAP, OutputCollector, TextDeltas } from '../process/output.ts';
import type { RunResult } from '../process/run.ts';
import { type RunnerParts, type StartRequest, startCommand } from '../process/runner.ts';
import type { CommandReading, WriteResult } from './backend.ts';
import { endedCommand } from './command-item.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import { permissionsOf } from './permissions.ts';

export interface SessionParts {
  readonly runner: RunnerParts;
  readonly clock: Clock;
}

export interface SessionStart {
  /** Of the turn that starts it; its events go on when that turn has ended. */
  readonly port: TurnPort;
  /** Stored as begun. */
  readonly item: ItemOf<'commandExecution'>;
  /** As the model wrote it. */
  readonly line: string;
  readonly request: Omit<StartRequest, 'onOutput' | 'deliverAtMost'>;
  readonly runs: RunsAs;
  /** It alone was allowed more than its sandbox. */
  readonly hasMore: boolean;
}

/** What a terminal makes an interrupt of. */
const INTERRUPT = '\u0003';

/** To look at a command and to end it needs no consent. */
export const isHarmless = (chars: string): boolean => chars === '' || chars === INTERRUPT;

export class CommandSession {
  readonly #start: SessionStart;
  readonly #parts: SessionParts;
  readonly #terms: ReturnType<typeof policyDigests>;
  readonly #wasCapped: boolean;
  /** Beyond the policy, as people granted it. */
  readonly #permissions: Permissions;
  readonly #owner = new AbortController();
  readonly #lane = new Mailbox();
  readonly #started = deferred();
  readonly #ended = deferred<RunResult>();
  readonly #deltas = new TextDeltas();
  readonly #text = new TextDeltas();
  #unread = new OutputCollector();
  #shownBytes = 0;
  #input: ProcessInput | undefined;
  #result: RunResult | undefined;
  #isOver = false;
  #isLeft = false;
  #isTold = false;
  /** Its item is completed and nothing that it started is left. Never rejects. */
  readonly settled: Promise<void>;

  constructor(start: SessionStart, parts: SessionParts) {
    this.#start = start;
    this.#parts = parts;
    this.#terms = policyDigests(start.port.settings());
    this.#wasCapped = start.port.isCapped();
    this.#permissions = permissionsOf(start.port);
    this.#ended.promise.catch(() => {}); // told by `read`
    this.settled = this.#run().catch((error: unknown) => {
      this.#isOver = true;
      this.#started.resolve();
      this.#ended.reject(error);
    });
  }

  /** By which the model knows it; null: it could not be started. */
  get number(): string | null {
    return this.#start.item.processId;
  }

  get turnId(): TurnId {
    return this.#start.port.turnId;
  }

  get line(): string {
    return this.#start.line;
  }

  get runs(): RunsAs {
    return this.#start.runs;
  }

  get hasMore(): boolean {
    return this.#start.hasMore;
  }

  get item(): ItemOf<'commandExecution'> {
    return this.#start.item;
  }

  get isRunning(): boolean {
    return !this.#isOver;
  }

  /** It has ended, and its item is completed. Never rejects. */
  get ended(): Promise<unknown> {
    return this.#ended.promise.catch(() => {});
  }

  /** The call that started it has ended before it. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** The model knows that it has ended. */
  get isTold(): boolean {
    return this.#isTold;
  }

  /** Ends its whole tree; what it prints from now on is thrown away. Settles when nothing of it is left; never rejects. */
  async end(): Promise<void> {
    this.#owner.abort('ended');
    await this.settled;
  }

  /**
   * Waits for its end, but no longer than `waitMs`, then takes what was printed since the last time: everything is given out once.
   * One that runs on is left running from then on. Rejects as *cancelled* when the signal aborts, with nothing taken.
   */
  read(waitMs: number | undefined, signal: AbortSignal): Promise<CommandReading> {
    return this.#lane.run(() => this.#read(waitMs, signal));
  }

  /**
   * Writes to its terminal, unless `chars` is empty, and reads as `read` does; the interrupt character alone ends a command that has
   * no terminal. What is written is stored first. Nothing is written to one that has ended, or by a turn that may not.
   */
  write(chars: string, waitMs: number, port: TurnPort, signal: AbortSignal): Promise<WriteResult> {
    return this.#lane.run(async () => {
      throwIfAborted(signal); // while others of the turn had their time with it
      const barred = this.barredFor(port, chars);
      if (barred !== undefined) return { kind: 'refused', reason: barred };
      if (this.isRunning) {
        await this.#tell(port, chars);
        throwIfAborted(signal);
        if (this.#input)
          void this.#input.write(Buffer.from(chars), signal).catch(() => {}); // its end is read below
        else if (chars === INTERRUPT) void this.end();
      }
      return this.#read(waitMs, signal);
    });
  }

  /** Why this turn may not write that to it, if it may not. */
  barredFor(port: TurnPort, chars: string): string | undefined {
    if (isHarmless(chars) || !this.isRunning) return undefined;
    if (!this.#input) return 'this command was started without a terminal and takes no input but U+0003, which ends it';
    if (!isPolicyAsShown(this.#terms, port.settings()) || !this.#isAllowedStill(port))
      return 'the settings under which this command was accepted have changed; end it and run it anew';
    // What was accepted for others does not widen a turn that is held under the ceiling.
    const { runs, hasMore } = this.#start;
    if (port.isCapped() && !this.#wasCapped && (runs !== 'sandboxed' || hasMore))
      return 'this command may do more than the sandbox, which was not accepted for those who drive this turn';
    return undefined;
  }

  async #run(): Promise<void> {
    const { request, item } = this.#start;
    const onOutput = (chunk: Buffer) => this.#take(chunk);
    const started = { ...request, onOutput, deliverAtMost: Number.POSITIVE_INFINITY };
    const running = await startCommand(started, this.#parts.runner, this.#owner.signal);
    this.#input = running.input;
    this.#started.resolve();
    const result = await running.result;
    this.#unread.push(Buffer.from(result.spawnError ? result.output : this.#text.end()));
    await this.#show(this.#deltas.end());
    this.#isOver = true;
    const ended = endedCommand(item, result, this.#parts.clock.now());
    const mark = this.#start.runs === 'unavailable' ? { sandbox: 'unavailable' as const } : {};
    // As in the reference, for what no call waited for.
    const code = result.aborted && this.#isLeft ? { exitCode: -1 } : {};
    await this.#start.port.append([
      { type: 'itemCompleted', turnId: this.turnId, item: { ...ended, ...mark, ...code } },
    ]);
    this.#result = result;
    this.#ended.resolve(result);
    await result.settled;
  }

  #take(chunk: Buffer): Promise<void> | undefined {
    this.#unread.push(Buffer.from(this.#text.push(chunk)));
    const part = chunk.subarray(0, OUTPUT_CAP - this.#shownBytes);
    if (part.length === 0) return undefined;
    this.#shownBytes += part.length;
    return this.#show(this.#deltas.push(part));
  }

  async #show(piece: string): Promise<void> {
    if (piece === '') return;
    const { turnId } = this;
    await this.#start.port.stream({ type: 'delta', turnId, itemId: this.item.id, stream: 'output', parts: [piece] });
  }

  #isAllowedStill(port: TurnPort): boolean {
    const given = fingerprint(this.#permissions);
    return given === fingerprint(NO_PERMISSIONS) || given === fingerprint(permissionsOf(port));
  }

  async #tell(port: TurnPort, stdin: string): Promise<void> {
    const { turnId } = port;
    const processId = this.number ?? '';
    await port.append([{ type: 'terminalInteraction', turnId, itemId: this.item.id, processId, stdin }]);
  }

  async #read(waitMs: number | undefined, signal: AbortSignal): Promise<CommandReading> {
    await unlessAborted(this.#started.promise, signal);
    const { clock } = this.#parts;
    const began = clock.elapsed();
    const timeUp = deferred();
    const cancel = waitMs === undefined ? () => {} : clock.timer(waitMs, timeUp.resolve);
    try {
      await unlessAborted(Promise.race([this.#ended.promise, timeUp.promise]), signal);
    } finally {
      cancel();
    }
    if (this.#isOver) await this.#ended.promise;
    const durationMs = clock.elapsed() - began;
    if (!this.#result) await this.#leave();
    const output = this.#unread.text();
    this.#unread = new OutputCollector();
    if (!this.#result) return { kind: 'running', session: this.number ?? '', output, durationMs };
    this.#isTold = true;
    const { exitCode, timedOut } = this.#result;
    return { kind: 'ran', exitCode, output, durationMs, timedOut };
  }

  /** From now on it is no longer part of what its turn waits for. */
  async #leave(): Promise<void> {
    if (this.#isLeft || this.#isOver) return;
    this.#isLeft = true;
    await this.#start.port.append([{ type: 'terminalLeft', turnId: this.turnId, itemId: this.item.id }]);
  }
}
