// One turn while it runs: what drives it, what may stop it, and when nothing of it can have an effect any more.

import type { Backend } from '../agent/backend.ts';
import type { TurnEnd } from '../agent/loop.ts';
import type { ThreadTools, ToolParts } from '../agent/tools.ts';
import { SERVER_STOPS } from '../approvals/broker.ts';
import type { Grants } from '../approvals/grants.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { deferred } from '../base/signals.ts';
import type { Budgets } from '../config/budgets.ts';
import type { ThreadStore } from '../history/store.ts';
import type { ContextItem } from '../model/context.ts';
import type { EventOf, ThreadEvent } from '../model/event.ts';
import { type ItemId, newId, type TurnId } from '../model/ids.ts';
import type { ThreadSettings } from '../model/thread.ts';
import { runBackend } from './backend-run.ts';
import { TurnBudget } from './budget.ts';
import type { ClientCalls } from './client-calls.ts';
import { type OwnTurn, type OwnWork, TurnFailed } from './own-work.ts';
import { given } from './settings.ts';
import { onlyWaitsForPeople } from './state.ts';
import { SteeringBox } from './steering.ts';
import type { ThreadLog } from './thread-log.ts';
import { endingEvents } from './turn-ending.ts';

export interface TurnParts {
  readonly store: ThreadStore;
  readonly backend: Backend;
  readonly tools: ToolParts;
  readonly grants: Grants;
  readonly budgets: () => Budgets;
  readonly calls: ClientCalls;
  /** What of the thread outlasts the turn. */
  readonly ofThread: ThreadTools;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long an interrupt waits for what runs, in milliseconds. */
const SETTLE_MS = 10_000;

/** Why the turn's own clock stopped it. */
const OUT_OF_TIME = 'the time of the turn is used up';

const NO_TEXTS: ReadonlyMap<ItemId, string> = new Map();

export class RunningTurn {
  readonly id: TurnId;
  /** Its end is stored, or it was left standing for the next start of the server; never rejects. */
  readonly done: Promise<void>;
  #hasCompleted = false;
  readonly #thread: ThreadLog;
  readonly #parts: TurnParts;
  readonly #abort = new AbortController();
  readonly #steering: SteeringBox;
  readonly #settled = deferred();
  readonly #done = deferred();
  readonly #own: OwnTurn | undefined;
  readonly #budget: TurnBudget;
  readonly #beside = new Set<Promise<void>>();
  readonly #notes: ContextItem[] = [];
  #isEnding = false;
  #isLeftStanding = false;
  /** Of the backend's patches and commands, when it has ended. */
  #diff: EventOf<'turnDiffUpdated'> | undefined;
  /** What the turn runs under, whatever is set for later turns meanwhile. */
  #settings: ThreadSettings | undefined;

  /** `own`: what the turn does in place of asking the backend. */
  constructor(id: TurnId, thread: ThreadLog, parts: TurnParts, own?: OwnTurn) {
    this.#own = own;
    this.id = id;
    this.done = this.#done.promise;
    this.#thread = thread;
    this.#parts = parts;
    const goal = () => thread.accepted.meta.goal;
    this.#budget = new TurnBudget(parts.budgets(), goal, parts.clock);
    const lost = (error: unknown) =>
      parts.log.error({ err: error, threadId: thread.threadId }, 'input could not be stored');
    this.#steering = new SteeringBox(
      (events) => void thread.append(events).catch(lost),
      () => parts.clock.now(),
    );
  }

  /** Its end is stored, and it was neither interrupted nor a failure. */
  get hasCompleted(): boolean {
    return this.#hasCompleted;
  }

  /** Set on one that takes no input. */
  get kind(): OwnTurn['kind'] {
    return this.#own?.kind;
  }

  /** Changes how the rest of the turn asks its model. */
  adjust(wishes: Partial<Pick<ThreadSettings, 'model' | 'effort' | 'summary' | 'serviceTier'>>): void {
    this.#settings = { ...(this.#settings ?? this.#ofTurn()), ...wishes };
  }

  /** Announces input; see `SteeringBox`. */
  expectInput(): ReturnType<SteeringBox['expect']> {
    return this.#steering.expect();
  }

  /**
   * Keeps the turn from ending until the returned function has been called and the work that it was given is done. Undefined: the
   * turn is ending already.
   */
  join(): ((work: OwnWork | undefined) => void) | undefined {
    if (this.#isEnding) return undefined;
    const given = deferred<OwnWork | undefined>();
    const beside = given.promise.then((work) => work && this.#do(work)).catch(() => {});
    this.#beside.add(beside);
    void beside.then(() => this.#beside.delete(beside));
    return given.resolve;
  }

  /** Settles when nothing of the turn can have an effect any more; rejects as *notSettled* after ten seconds. */
  async interrupt(): Promise<void> {
    this.#abort.abort('interrupted');
    const late = deferred<never>();
    const what = { threadId: this.#thread.threadId, turnId: this.id };
    const cancel = this.#parts.clock.timer(SETTLE_MS, () =>
      late.reject(new AppError('notSettled', 'the turn is being stopped, but something of it still runs', what)),
    );
    try {
      await Promise.race([this.#settled.promise, late.promise]);
    } finally {
      cancel();
    }
  }

  /** It was left standing, and no answer that was on its way has ended that since. */
  #stillStands(): boolean {
    const { turn } = this.#thread.accepted;
    return this.#isLeftStanding && turn !== null && onlyWaitsForPeople(turn);
  }

  /** The server stops: a turn that only waits for people is left standing, any other ends as interrupted. */
  leave(): void {
    const { turn } = this.#thread.accepted;
    // Before the abort: a command that runs beside a question is gone afterwards, and must not look as if it had never begun.
    if (!this.#abort.signal.aborted) this.#isLeftStanding = turn !== null && onlyWaitsForPeople(turn);
    this.#abort.abort(SERVER_STOPS);
  }

  /** Runs to the end; `finish` stores the last events in the order of the thread's other changes. Never rejects. */
  async drive(finish: (store: () => Promise<void>) => Promise<void>): Promise<void> {
    this.#settings ??= this.#ofTurn();
    // The reply to its start leaves first: a long conversation takes its time until it is on its way to the model.
    await new Promise(setImmediate);
    try {
      const end = await this.#run();
      this.#settled.resolve();
      if (!this.#stillStands()) await finish(() => this.#storeEnd(end));
    } catch (error) {
      this.#parts.log.error(
        { err: error, threadId: this.#thread.threadId, turnId: this.id },
        'the end of a turn could not be stored',
      );
    } finally {
      this.#settled.resolve();
      this.#done.resolve();
    }
  }

  async #run(): Promise<TurnEnd> {
    const startedAtMs = this.#thread.accepted.turn?.startedAtMs ?? this.#parts.clock.now();
    // What the user runs has a time limit of its own.
    const isTimed = this.#own === undefined || this.#own.kind !== undefined;
    const stopTimer = isTimed ? this.#budget.onTime(startedAtMs, () => this.#abort.abort(OUT_OF_TIME)) : () => {};
    try {
      let end = await (this.#own ? this.#runOwn(this.#own.work) : this.#runBackend());
      while (await this.#goesOn(end)) end = await this.#runBackend();
      const wasStopped = this.#abort.signal.reason === OUT_OF_TIME && end.status === 'interrupted';
      const error = wasStopped ? this.#budget.spent() : undefined;
      return error ? { status: 'failed', error } : end;
    } finally {
      stopTimer();
      while (this.#beside.size > 0) await Promise.all(this.#beside);
      if (this.#abort.signal.aborted) await this.#parts.ofThread.sessions.end([this.id]);
      this.#isEnding = true;
    }
  }

  /**
   * Whether there is input that came too late for an answer: it is answered by a further one. Whoever runs commands beside the turn
   * may hand in more until they have ended.
   */
  async #goesOn(end: TurnEnd): Promise<boolean> {
    if (this.kind) return false;
    while (this.#beside.size > 0) await Promise.all(this.#beside);
    if (end.status !== 'completed' || this.#abort.signal.aborted || (await this.#steering.close())) return false;
    this.#steering.take();
    return true;
  }

  async #runOwn(work: OwnWork): Promise<TurnEnd> {
    try {
      if (!this.#abort.signal.aborted) await this.#do(work);
    } catch (error) {
      if (!(error instanceof TurnFailed)) throw error;
      return { status: 'failed', error: error.error };
    }
    return { status: this.#abort.signal.aborted ? 'interrupted' : 'completed' };
  }

  async #do(work: OwnWork): Promise<void> {
    try {
      this.#notes.push(...(await work(this.#port(), this.#abort.signal, () => this.#budget.spent())));
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      if (error instanceof TurnFailed) throw error;
      const about = { err: error, threadId: this.#thread.threadId, turnId: this.id };
      this.#parts.log.error(about, 'work of a turn failed');
    }
  }

  async #runBackend(): Promise<TurnEnd> {
    const { backend, clock, log, tools, ofThread } = this.#parts;
    const { turn } = this.#thread.accepted;
    // A turn that begins has asked nothing yet.
    const isResumed = turn !== null && turn.questions.size > 0;
    const parts = { backend, tools, ofThread, clock, log, thread: this.#thread, steering: this.#steering };
    const port = this.#port(isResumed);
    const spent = () => this.#budget.spent();
    const run = {
      ...parts,
      port,
      spent,
      ...(turn?.outputSchema === undefined ? {} : { outputSchema: turn.outputSchema }),
    };
    const { end, diff } = await runBackend(run, this.#abort.signal);
    this.#diff = diff;
    return end;
  }

  async #storeEnd(end: TurnEnd): Promise<void> {
    const { clock, grants } = this.#parts;
    const context = end.status === 'completed' ? [] : await this.#thread.context();
    const thread = this.#thread.accepted;
    if (!thread.turn) return;
    const ending = { end, atMs: clock.now(), texts: NO_TEXTS, isRecovered: false, context };
    grants.endTurn();
    const events = endingEvents(thread, thread.turn, ending);
    const dismissed = this.#parts.tools.broker.dismiss([...thread.turn.questions.values()]);
    // In the order of the model's view they may not come between a call and its output.
    const notes = this.#notes.map((note): ThreadEvent => ({ type: 'contextAdded', turnId: this.id, items: [note] }));
    const more = [...(this.#diff ? [this.#diff] : []), ...this.#budget.goalEvents(this.id)];
    await this.#thread.append([...dismissed, ...events.slice(0, -1), ...notes, ...more, ...events.slice(-1)]);
    this.#hasCompleted = end.status === 'completed';
  }

  #ofTurn(): ThreadSettings {
    const { meta, turn } = this.#thread.accepted;
    return { ...meta.settings, ...given(turn?.own ?? {}) };
  }

  #port(isResumed = false): TurnPort {
    const thread = this.#thread;
    const { store, grants, calls } = this.#parts;
    const taken = new Set<ItemId>();
    return {
      threadId: thread.threadId,
      turnId: this.id,
      grants,
      isCapped: () => thread.accepted.turn?.isCapped ?? false,
      settings: () => this.#settings ?? this.#ofTurn(),
      append: (events) => {
        for (const event of events) if (event.type === 'usageReported') this.#budget.spend(event.last);
        return thread.append(events);
      },
      stream: (delta) => thread.stream(delta),
      uniqueItemId: async (id, prefix) => {
        const isFree = id !== null && !taken.has(id) && !(await store.item(thread.threadId, id));
        const unique = isFree ? id : `${prefix}_${newId()}`;
        taken.add(unique);
        return unique;
      },
      audience: () => thread.audience,
      askClient: (question, begin, signal) => calls.ask(this.id, question, begin, signal),
      standing: (callId) => {
        const { turn } = thread.accepted;
        const questions = [...(turn?.questions.values() ?? [])];
        const proposal = questions.find((each) => each.proposal.callId === callId)?.proposal;
        return proposal && { proposal, item: turn?.items.get(proposal.itemId) };
      },
      earlierDiff: () => this.#diff?.diff ?? (isResumed ? (thread.accepted.turn?.diff ?? null) : null),
    };
  }
}
