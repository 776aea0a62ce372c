// The actor of one loaded thread: one writer of its log, one running turn at most, and everyone who listens.

import type { Backend } from '../agent/backend.ts';
import { runTurn } from '../agent/loop.ts';
import { createToolHost, type ToolParts } from '../agent/tools.ts';
import { SERVER_STOPS } from '../approvals/broker.ts';
import { Grants } from '../approvals/grants.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Mailbox } from '../base/mailbox.ts';
import { deferred } from '../base/signals.ts';
import type { Once, ThreadStore } from '../history/store.ts';
import { lastSeq, type StoredEvent, type ThreadEvent } from '../model/event.ts';
import { type ItemId, newId, type Seq, type ThreadId, type TurnId } from '../model/ids.ts';
import { previewOf, type UserInput } from '../model/input.ts';
import type { ThreadMeta, ThreadSettings, ThreadStatus } from '../model/thread.ts';
import type { Cursor, Subscriber } from './cursor.ts';
import { LogWriter } from './log-writer.ts';
import { Publisher } from './publisher.ts';
import { applyEvent, type LiveThread, onlyWaitsForPeople, statusOf, waitingFlags } from './state.ts';
import { messageEvents, SteeringBox } from './steering.ts';
import { endingEvents } from './turn-ending.ts';

export interface RuntimeParts {
  readonly store: ThreadStore;
  readonly backend: Backend;
  readonly tools: ToolParts;
  readonly clock: Clock;
  readonly log: Log;
  /** Told after each publication, for those who only see the list of threads. */
  readonly published: (runtime: ThreadRuntime, events: readonly StoredEvent[]) => void;
  /** The log cannot be written: the thread has to be loaded again. */
  readonly failed: (runtime: ThreadRuntime) => void;
}

export interface TurnInput {
  readonly turnId: TurnId;
  readonly rootTurnId: TurnId | undefined;
  readonly input: readonly UserInput[];
  readonly clientId: string | null;
  readonly outputSchema: unknown;
}

interface RunningTurn {
  readonly id: TurnId;
  readonly abort: AbortController;
  readonly steering: SteeringBox;
  /** Nothing of the turn can have an effect any more. */
  readonly settled: ReturnType<typeof deferred<void>>;
  /** … and its end is stored, or it was left standing for the next start. */
  readonly done: ReturnType<typeof deferred<void>>;
}

/** How long an interrupt waits for what runs, in milliseconds. */
const SETTLE_MS = 10_000;

export class ThreadRuntime implements Closable {
  readonly threadId: ThreadId;
  readonly grants = new Grants();
  readonly #parts: RuntimeParts;
  readonly #mailbox = new Mailbox();
  readonly #writer: LogWriter;
  readonly #publisher: Publisher;
  /** With everything accepted, on disk or on its way. */
  #accepted: LiveThread;
  /** With what is on disk. */
  #stored: LiveThread;
  #running: RunningTurn | undefined;

  constructor(parts: RuntimeParts, thread: LiveThread) {
    const { store, clock, log } = parts;
    this.#parts = parts;
    this.threadId = thread.meta.id;
    this.#accepted = thread;
    this.#stored = thread;
    this.#publisher = new Publisher(
      {
        threadId: this.threadId,
        store,
        broker: parts.tools.broker,
        log,
        readState: () => this.#stored.meta.readState,
        published: (events) => parts.published(this, events),
      },
      thread.head,
    );
    this.#writer = new LogWriter(
      {
        store,
        threadId: this.threadId,
        clock,
        committed: (batch) => this.#committed(batch),
        failed: (error) => {
          log.error({ err: error, threadId: this.threadId }, 'the history of a thread could not be written');
          this.#running?.abort.abort(SERVER_STOPS);
          parts.failed(this);
        },
      },
      thread.head,
    );
  }

  get meta(): ThreadMeta {
    return this.#stored.meta;
  }

  get status(): ThreadStatus {
    return statusOf(this.#stored);
  }

  get activeTurnId(): TurnId | undefined {
    return this.#accepted.turn?.id;
  }

  /** The place of the last event that has been shown. */
  get seq(): Seq {
    return this.#publisher.seq;
  }

  get isBusy(): boolean {
    return this.#running !== undefined || !this.#mailbox.isIdle;
  }

  get subscribers(): readonly Subscriber[] {
    return this.#publisher.subscribers;
  }

  // ---- listening

  /** A cursor and the thread as it was at its place, taken in one step; nothing is sent before `start`. */
  subscribe(
    subscriber: Subscriber,
    after?: Seq,
  ): { readonly cursor: Cursor; readonly thread: LiveThread; start(): void } {
    if (after !== undefined && after > this.seq) {
      const range = { kind: 'stale_cursor', threadId: this.threadId, oldestSeq: 0, headSeq: this.seq };
      throw new AppError('conflict', `there is no event ${after} yet: the last one is ${this.seq}`, range);
    }
    const cursor = this.#publisher.subscribe(subscriber, after);
    return {
      cursor,
      thread: this.#stored,
      start: () => {
        this.#publisher.ask(cursor, this.#stored);
        cursor.start();
      },
    };
  }

  unsubscribe(subscriber: Subscriber): boolean {
    return this.#publisher.unsubscribe(subscriber);
  }

  /** Keeps the news back until the reply that causes them is out. */
  hold(): () => void {
    return this.#publisher.hold();
  }

  // ---- changing

  /** Stores events of the thread that belong to no running turn. */
  change(events: readonly ThreadEvent[], once?: Once): Promise<Seq> {
    return this.#mailbox.run(() => this.#append(events, once));
  }

  /** Adopts settings; rejects as *conflict* while a turn runs. */
  adopt(settings: ThreadSettings): Promise<void> {
    return this.#mailbox.run(async () => {
      this.#requireIdle();
      await this.#append([{ type: 'settingsChanged', settings }]);
    });
  }

  /** Accepts a turn: stored when this settles, not yet running, and interruptible from then on. */
  startTurn(turn: TurnInput, settings: ThreadSettings | undefined, once?: Once): Promise<void> {
    return this.#mailbox.run(async () => {
      this.#requireIdle();
      const { turnId, input, clientId, outputSchema } = turn;
      const atMs = this.#parts.clock.now();
      const adopted: ThreadEvent[] = settings ? [{ type: 'settingsChanged', settings }] : [];
      const started: ThreadEvent = {
        type: 'turnStarted',
        turnId,
        rootTurnId: turn.rootTurnId ?? turnId,
        startedAtMs: atMs,
        preview: previewOf(input),
        ...(outputSchema === undefined ? {} : { outputSchema }),
      };
      const message =
        input.length === 0 ? [] : messageEvents({ turnId, itemId: newId(), content: [...input], clientId }, atMs);
      this.#running = this.#prepare(turnId);
      try {
        await this.#append([...adopted, started, ...message], once);
      } catch (error) {
        this.#running = undefined;
        throw error;
      }
    });
  }

  /** Lets an accepted turn run; its news may be shown from here on. */
  begin(turnId: TurnId): void {
    const running = this.#running;
    if (running?.id === turnId) void this.#drive(running);
  }

  /** Adds input to the running turn: on disk when this settles. */
  steer(expected: TurnId, input: readonly UserInput[], clientId: string | null, once?: Once): Promise<void> {
    return this.#mailbox.run(async () => {
      const running = this.#running;
      const active = this.activeTurnId;
      if (!running || active === undefined)
        throw new AppError('conflict', 'no active turn to steer', { threadId: this.threadId });
      if (active !== expected) {
        throw new AppError('conflict', `expected active turn id \`${expected}\` but found \`${active}\``, {
          threadId: this.threadId,
          activeTurnId: active,
        });
      }
      const content = [...input];
      const event = { type: 'steered' as const, turnId: active, itemId: newId(), clientId, content };
      await this.#append([event], once);
      running.steering.put(event);
    });
  }

  /**
   * Stops the running turn; settles when nothing of it can have an effect any more. An empty id means whatever runs. Rejects as
   * *conflict* when another turn or none runs, as *notSettled* when something still runs after ten seconds.
   */
  async interrupt(turnId: TurnId): Promise<void> {
    const running = this.#running;
    const active = this.activeTurnId;
    if (!running || active === undefined) {
      if (turnId === '') return;
      throw new AppError('conflict', 'no active turn to interrupt', { threadId: this.threadId });
    }
    if (turnId !== '' && turnId !== active) {
      throw new AppError('conflict', `expected active turn id ${turnId} but found ${active}`, {
        threadId: this.threadId,
        turnId,
        activeTurnId: active,
      });
    }
    running.abort.abort('interrupted');
    await this.#settles(running);
  }

  /** Interrupts whatever runs and waits until its end is stored. */
  async endTurn(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    await this.interrupt('');
    await running.done.promise;
  }

  // ---- after a restart

  /** Goes on with a turn that only waits for people, or ends one that the stop of the server cut off. */
  async recover(texts: ReadonlyMap<ItemId, string>): Promise<void> {
    const { turn } = this.#accepted;
    if (!turn) return;
    if (onlyWaitsForPeople(turn)) {
      this.#running = this.#prepare(turn.id);
      void this.#drive(this.#running);
      return;
    }
    const context = await this.#parts.store.context(this.threadId);
    const ending = {
      end: { status: 'interrupted' as const },
      atMs: this.#parts.clock.now(),
      texts,
      isRecovered: true,
      context,
    };
    await this.#append(endingEvents(this.#accepted, turn, ending));
  }

  /** Ends what runs without ending turns that only wait for people; everything accepted is on disk when this settles. */
  readonly close = closeOnce(async () => {
    const running = this.#running;
    running?.abort.abort(SERVER_STOPS);
    await running?.done.promise;
    await this.#mailbox.close();
    await this.#writer.settled();
  });

  // ---- inside

  #requireIdle(): void {
    const active = this.activeTurnId;
    if (active === undefined) return;
    throw new AppError('conflict', 'thread already has an active turn', {
      threadId: this.threadId,
      activeTurnId: active,
    });
  }

  #append(events: readonly ThreadEvent[], once?: Once): Promise<Seq> {
    const placed = events.map((event) => this.#accept(event));
    return this.#writer.append(placed, once);
  }

  /** Follows the event in the accepted state; the flags of the thread go with the events that change them. */
  #accept(event: ThreadEvent): ThreadEvent {
    const before = waitingFlags(this.#accepted.turn);
    const seq = this.#accepted.head + 1;
    const stored = { seq, atMs: this.#parts.clock.now(), event };
    this.#accepted = applyEvent(this.#accepted, stored, lastSeq(stored));
    if (event.type !== 'approvalRequested' && event.type !== 'approvalResolved') return event;
    const after = waitingFlags(this.#accepted.turn);
    return after.length === before.length ? event : { ...event, flags: after };
  }

  #committed(batch: readonly StoredEvent[]): void {
    for (const stored of batch) this.#stored = applyEvent(this.#stored, stored, lastSeq(stored));
    this.#publisher.committed(batch);
  }

  #prepare(id: TurnId): RunningTurn {
    const report = (error: unknown) =>
      this.#parts.log.error({ err: error, threadId: this.threadId }, 'input could not be stored');
    const steering = new SteeringBox(
      (events) => void this.#append(events).catch(report),
      () => this.#parts.clock.now(),
    );
    return { id, abort: new AbortController(), steering, settled: deferred(), done: deferred() };
  }

  async #drive(running: RunningTurn): Promise<void> {
    const { signal } = running.abort;
    try {
      const end = await this.#run(running);
      running.settled.resolve();
      const { turn } = this.#accepted;
      const isLeftStanding = signal.reason === SERVER_STOPS && turn !== null && onlyWaitsForPeople(turn);
      if (turn && !isLeftStanding) await this.#finish(end);
    } catch (error) {
      this.#parts.log.error(
        { err: error, threadId: this.threadId, turnId: running.id },
        'the end of a turn could not be stored',
      );
    } finally {
      running.settled.resolve();
      if (this.#running === running) this.#running = undefined;
      running.done.resolve();
    }
  }

  async #run(running: RunningTurn) {
    const { store, backend, clock, log } = this.#parts;
    const { signal } = running.abort;
    const { meta, turn } = this.#accepted;
    const port = this.#port(running.id);
    const request = {
      threadId: this.threadId,
      turnId: running.id,
      settings: meta.settings,
      instructions: [meta.settings.baseInstructions, meta.settings.developerInstructions].filter(Boolean).join('\n\n'),
      context: await store.context(this.threadId),
      ...(turn?.outputSchema === undefined ? {} : { outputSchema: turn.outputSchema }),
      steering: running.steering,
    };
    const tools = createToolHost(port, this.#parts.tools, signal);
    return runTurn({ port, backend, tools, request, usage: meta.usage, now: () => clock.now(), log }, signal);
  }

  /** Stores the end of the turn; what arrived in the meantime is part of it. */
  #finish(end: Awaited<ReturnType<typeof runTurn>>): Promise<void> {
    return this.#mailbox.run(async () => {
      await this.#writer.settled();
      const { turn } = this.#accepted;
      if (!turn) return;
      const context = end.status === 'completed' ? [] : await this.#parts.store.context(this.threadId);
      const ending = { end, atMs: this.#parts.clock.now(), texts: NO_TEXTS, isRecovered: false, context };
      const stored = this.#append(endingEvents(this.#accepted, turn, ending));
      this.#running = undefined;
      this.grants.endTurn();
      await stored;
    });
  }

  async #settles(running: RunningTurn): Promise<void> {
    let cancel = () => {};
    const late = new Promise<never>((_resolve, reject) => {
      const error = new AppError('notSettled', 'the turn is being stopped, but something of it still runs', {
        threadId: this.threadId,
        turnId: running.id,
      });
      cancel = this.#parts.clock.timer(SETTLE_MS, () => reject(error));
    });
    try {
      await Promise.race([running.settled.promise, late]);
    } finally {
      cancel();
    }
  }

  #port(turnId: TurnId): TurnPort {
    const taken = new Set<ItemId>();
    return {
      threadId: this.threadId,
      turnId,
      grants: this.grants,
      settings: () => this.#accepted.meta.settings,
      append: (events) => this.#append(events),
      stream: (delta) => {
        this.#accepted = { ...this.#accepted, head: this.#accepted.head + delta.parts.length };
        return this.#writer.stream(delta);
      },
      uniqueItemId: async (id, prefix) => {
        const isFree = id !== null && !taken.has(id) && !(await this.#parts.store.item(this.threadId, id));
        const unique = isFree ? id : `${prefix}_${newId()}`;
        taken.add(unique);
        return unique;
      },
      audience: () =>
        this.subscribers
          .map((subscriber) => subscriber.principal)
          .filter((each) => each.permissions.has('approval:resolve')),
      standing: (callId) => {
        const { turn } = this.#accepted;
        const proposal = [...(turn?.questions.values() ?? [])].find(
          (each) => each.proposal.callId === callId,
        )?.proposal;
        const item = proposal && turn?.items.get(proposal.itemId);
        return item ? { item, proposal } : undefined;
      },
    };
  }
}

const NO_TEXTS: ReadonlyMap<ItemId, string> = new Map();
