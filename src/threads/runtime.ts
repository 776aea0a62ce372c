// The actor of one loaded thread: one writer of its log, one running turn at most, and everyone who listens.

import type { OwnSettings } from '../agent/backend.ts';
import { backendFor } from '../agent/backend-for.ts';
import { CommandSessions } from '../agent/sessions.ts';
import { Grants } from '../approvals/grants.ts';
import type { GrantHolder } from '../approvals/thread-port.ts';
import { type Closable, closeOnce } from '../base/close.ts';
import { Mailbox } from '../base/mailbox.ts';
import type { Once } from '../history/store.ts';
import type { Proposal } from '../model/approval.ts';
import type { StoredEvent, ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { UserInput } from '../model/input.ts';
import type { ThreadMeta, ThreadSettings, ThreadStatus } from '../model/thread.ts';
import { ClientCalls } from './client-calls.ts';
import { isArchived, isBusy } from './conflicts.ts';
import type { Subscriber } from './cursor.ts';
import { interrupt } from './interrupting.ts';
import { type ReviewRequest, startCompaction, startReview, startShell } from './own-turns.ts';
import type { OwnTurn } from './own-work.ts';
import { recover } from './recovery.ts';
import { RunningTurn } from './running-turn.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { shownOfTurn } from './shown-input.ts';
import { type LiveThread, questionsOf, statusOf } from './state.ts';
import { steer } from './steer.ts';
import { type Place, type Subscription, ThreadLog } from './thread-log.ts';
import { ThreadMcp } from './thread-mcp.ts';
import { ThreadQueue } from './thread-queue.ts';
import type { TurnSlot } from './turn-slot.ts';
import { type SteerInput, startEvents, type TurnInput } from './turn-start.ts';
import type { ShellRequest } from './user-shell.ts';

export class ThreadRuntime implements Closable {
  readonly threadId: ThreadId;
  readonly #parts: RuntimeParts;
  readonly #grants = new Grants();
  readonly #calls: ClientCalls;
  /** The commands of its turns that run. */
  readonly sessions = new CommandSessions();
  readonly #mailbox = new Mailbox();
  readonly #log: ThreadLog;
  readonly #slot: TurnSlot;
  readonly queue: ThreadQueue;
  readonly mcp: ThreadMcp;
  /** Over what is configured, as long as it is loaded. */
  ownSettings: OwnSettings | undefined;
  #running: RunningTurn | undefined;

  constructor(parts: RuntimeParts, thread: LiveThread) {
    const { store, clock, log, contexts, validates } = parts;
    const { broker } = parts.tools;
    this.#parts = { ...parts, backend: backendFor(parts.backend, () => this.ownSettings) };
    this.threadId = thread.meta.id;
    const published = (events: readonly StoredEvent[]) => parts.published(this, events);
    const failed = () => {
      this.#running?.leave();
      void this.sessions.close();
      void this.mcp.close();
      parts.failed(this);
    };
    this.#calls = new ClientCalls(this.threadId, parts, {
      subscribers: () => this.#log.subscribers,
      originator: () => this.meta.originator,
    });
    const callOf = (itemId: ItemId) => this.#calls.frameOf(itemId);
    this.#log = new ThreadLog({ store, broker, contexts, callOf, validates, clock, log, published, failed }, thread);
    this.mcp = new ThreadMcp(parts, this.#log);
    this.#slot = {
      threadId: this.threadId,
      parts: this.#parts,
      mailbox: this.#mailbox,
      log: this.#log,
      running: () => this.#running,
      lastStopped: undefined,
      accept: (turn, before, once, own) => this.#accept(turn, before, once, own),
      begin: (turnId) => this.begin(turnId),
    };
    this.queue = new ThreadQueue(this.#slot);
  }

  get meta(): ThreadMeta {
    return this.#log.stored.meta;
  }

  get status(): ThreadStatus {
    return statusOf(this.#log.stored);
  }

  get activeTurnId(): TurnId | undefined {
    return this.#log.accepted.turn?.id;
  }

  /** Those that stand, as they are on disk. */
  get questions(): readonly Proposal[] {
    return questionsOf(this.#log.stored).map(({ proposal }) => proposal);
  }

  /** What holds for the thread while it is loaded. */
  get grants(): GrantHolder {
    return this.#grants;
  }

  get isBusy(): boolean {
    return this.#running !== undefined || !this.#mailbox.isIdle || this.#log.accepted.asides.size > 0;
  }

  /** Busy with something that a stop of the server would end. */
  get isWorking(): boolean {
    const { questions } = this;
    return this.isBusy && (questions.length === 0 || questions.some(({ kind }) => kind === 'elicitation'));
  }

  get isCompacting(): boolean {
    return this.#running?.kind === 'compact';
  }

  get subscribers(): readonly Subscriber[] {
    return this.#log.subscribers;
  }

  /** Where it stands now, for who reads it without joining. */
  place(): Place {
    return this.#log.place();
  }

  still<T>(work: () => Promise<T>): Promise<T> {
    return this.#log.still(work);
  }

  /** Joins behind `after`, by default behind what is on disk. */
  subscribe(subscriber: Subscriber, after?: Seq): Subscription {
    return this.mcp.joining(this.#log.subscribe(subscriber, after));
  }

  unsubscribe(subscriber: Subscriber): boolean {
    return this.#log.unsubscribe(subscriber);
  }

  /** Keeps the news back until the reply that causes them is out. */
  hold(): () => void {
    return this.#log.hold();
  }

  /** Stores events of the thread that belong to no running turn; settles when they are on disk. */
  change(events: readonly ThreadEvent[], once?: Once): Promise<Seq> {
    return this.#mailbox.run(() => this.#log.append(events, once));
  }

  /** The same with an answer that shows the thread as it is with these events: its `head` is the place of the last one. */
  answer<R>(
    events: readonly ThreadEvent[],
    show: (thread: LiveThread, status: ThreadStatus) => R,
    once: (answer: R) => Once | undefined,
  ): Promise<R> {
    const shown = (thread: LiveThread) => show(thread, statusOf(thread));
    return this.#mailbox.run(() => this.#log.answer(events, shown, once));
  }

  /** Adopts settings; rejects as *conflict* while a turn runs. */
  adopt(settings: ThreadSettings): Promise<void> {
    return this.#mailbox.run(async () => {
      this.#requireIdle();
      await this.#log.append([{ type: 'settingsChanged', settings }]);
    });
  }

  /** Accepts a turn: stored when this settles, not yet running, and interruptible from then on. */
  startTurn(turn: TurnInput, settings: ThreadSettings | undefined, once?: Once): Promise<void> {
    return this.#mailbox.run(async () => {
      const before: ThreadEvent[] = settings ? [{ type: 'settingsChanged', settings }] : [];
      await this.#accept(turn, before, once);
    });
  }

  /** Lets an accepted turn run; one that was interrupted meanwhile only ends. */
  begin(turnId: TurnId): void {
    const running = this.#running;
    if (running?.id === turnId) void this.#drive(running);
  }

  /** Accepts a command of the user; it runs once the returned function has been called. */
  startShell(wanted: ShellRequest, once?: Once): Promise<() => void> {
    return startShell(this.#slot, wanted, once);
  }

  /** Accepts a turn that compacts the model's view; *conflict* while a turn runs. */
  startCompaction(once?: Once): Promise<() => void> {
    return startCompaction(this.#slot, once);
  }

  /** Accepts a turn that reviews changes; *conflict* while a turn runs. */
  startReview(wanted: ReviewRequest, once?: Once): Promise<() => void> {
    return startReview(this.#slot, wanted, once);
  }

  /** Changes how the rest of the turn asks its model; false: it does not run. */
  adjustTurn(turnId: TurnId, wishes: Parameters<RunningTurn['adjust']>[0]): boolean {
    if (this.#running?.id !== turnId) return false;
    this.#running.adjust(wishes);
    return true;
  }

  /** Adds input to the running turn: on disk when this settles. False: the turn is ending and takes no more. */
  steer(expected: TurnId, input: SteerInput, once?: Once): Promise<boolean> {
    return steer(this.#slot, expected, { ...input, shown: () => this.#shown(input) }, once);
  }

  /** Settles when this turn has ended. */
  async ended(turnId: TurnId): Promise<void> {
    if (this.#running?.id === turnId) await this.#running.done;
  }

  /** Stops the running turn; see `interrupting.ts`. */
  interrupt(turnId: TurnId): Promise<void> {
    return interrupt(this.#slot, turnId);
  }

  /** Ends whatever runs, commands that were left running too, and makes a change before anything that waits can begin. */
  async betweenTurns<T>(change: () => Promise<T>): Promise<T> {
    const release = this.queue.holdBack();
    try {
      // What was handed in before may still begin a turn.
      await this.#mailbox.run(() => {});
      const running = this.#running;
      if (running) {
        await running.interrupt();
        await running.done;
      }
      await this.sessions.end();
      return await change();
    } finally {
      release();
    }
  }

  /** After a restart: goes on with a turn that only waits for people, or ends one that the stop of the server cut off. */
  async recover(texts: ReadonlyMap<ItemId, string>): Promise<void> {
    const turnId = await recover(this.#log, this.#parts, texts);
    if (turnId === undefined) return;
    this.#running = this.#prepare(turnId);
    void this.#drive(this.#running);
  }

  /** Ends what runs without ending turns that only wait for people; everything accepted is on disk when this settles. */
  readonly close = closeOnce(async () => {
    this.#running?.leave();
    await Promise.all([this.#running?.done, this.sessions.close(), this.mcp.endQuestions()]);
    const ending = this.mcp.close();
    await this.#mailbox.close();
    await this.#log.settled();
    this.#log.forget();
    await ending;
  });

  /** Stores the beginning of a turn; what goes with it is in the same transaction. */
  async #accept(turn: TurnInput, before: readonly ThreadEvent[], once?: Once, own?: OwnTurn): Promise<void> {
    this.#requireIdle();
    if (this.#log.accepted.meta.archived) throw isArchived(this.threadId);
    const shown = await this.#shown(turn);
    this.#running = this.#prepare(turn.turnId, own);
    try {
      const events = startEvents(turn, shown, this.#parts.clock.now());
      await this.#log.append([...before, ...events, ...(own?.events ?? [])], once);
    } catch (error) {
      this.#running = undefined;
      throw error;
    }
  }

  #shown(input: SteerInput): Promise<UserInput[] | undefined> {
    const { hasEnvironment, cwd } = this.meta.settings;
    return shownOfTurn(input, this.#parts, hasEnvironment ? cwd : undefined);
  }

  #requireIdle(): void {
    const active = this.activeTurnId;
    if (active !== undefined) throw isBusy(this.threadId, active);
  }

  #prepare(turnId: TurnId, work?: OwnTurn): RunningTurn {
    const { store, backend, tools, budgets, clock, log } = this.#parts;
    const ofThread = { sessions: this.sessions, mcp: this.mcp.servers };
    const own = { grants: this.#grants, calls: this.#calls, ofThread };
    return new RunningTurn(turnId, this.#log, { store, backend, tools, budgets, clock, log, ...own }, work);
  }

  async #drive(running: RunningTurn): Promise<void> {
    await running.drive((store) =>
      this.#mailbox.run(async () => {
        await store();
        this.#running = undefined;
      }),
    );
    if (this.#running === running) this.#running = undefined;
    if (running.hasCompleted) void this.queue.beginNext();
  }
}
