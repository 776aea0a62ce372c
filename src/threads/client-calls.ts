// Questions to clients to run tools of their own: each goes to one client, because two would do the work twice.

import type { ClientAnswer, ClientQuestion } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { deferred, onAbort } from '../base/signals.ts';
import type { ItemId, ThreadId, TurnId } from '../model/ids.ts';
import type { ResponseMessage } from '../rpc/message.ts';
import { requestFrame } from '../rpc/message.ts';
import { clientToolCall } from './client-tool-methods.ts';
import type { Subscriber } from './cursor.ts';
import { Frame } from './frame.ts';

export interface ClientCallParts {
  readonly clock: Clock;
  readonly tools: {
    /** Gives ids from the counter of the process. */
    readonly broker: { newRequestId(): number };
    /** How long an answer is waited for, in milliseconds. */
    readonly clientToolLifeMs: () => number;
  };
}

export interface Listeners {
  /** Who listens to the thread now, those who have listened longest first. */
  readonly subscribers: () => readonly Subscriber[];
  /** Name of the client that began the thread, and so declared its tools. */
  readonly originator: () => string;
}

interface Asked {
  readonly frame: Frame;
  /** It is on the wire, or was: the client may have begun. */
  wasSent: boolean;
}

type Outcome = ClientAnswer | { readonly kind: 'unknownMethod' };

export class ClientCalls {
  readonly #threadId: ThreadId;
  readonly #parts: ClientCallParts;
  readonly #listeners: Listeners;
  readonly #standing = new Map<ItemId, Asked>();

  constructor(threadId: ThreadId, parts: ClientCallParts, listeners: Listeners) {
    this.#threadId = threadId;
    this.#parts = parts;
    this.#listeners = listeners;
  }

  /** The question that is to go out with the beginning of an item, once. */
  frameOf(itemId: ItemId): Frame | undefined {
    const asked = this.#standing.get(itemId);
    return asked?.wasSent ? undefined : asked?.frame;
  }

  /**
   * Asks the client that declared the tools, or one of its name; another one is asked only when the first cannot have begun. `begin`
   * shows the item, with which the first question goes out. Never rejects but as `begin` does.
   */
  async ask(
    turnId: TurnId,
    question: ClientQuestion,
    begin: () => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<ClientAnswer> {
    const tried = new Set<string>();
    let answer: ClientAnswer = { kind: 'nobody' };
    let hasBegun = false;
    for (;;) {
      const to = signal.aborted ? undefined : this.#next(tried);
      if (!to) {
        if (!hasBegun) await begin();
        return signal.aborted ? { kind: 'stopped', wasAsked: false } : answer;
      }
      tried.add(to.id);
      const outcome = await this.#askOne(to, turnId, question, hasBegun ? undefined : begin, signal);
      hasBegun = true;
      if (outcome.kind === 'unknownMethod') answer = { kind: 'error' };
      else if (outcome.kind !== 'nobody') return outcome;
    }
  }

  #next(tried: ReadonlySet<string>): Subscriber | undefined {
    const free = this.#listeners
      .subscribers()
      .filter((each) => !tried.has(each.id) && !each.signal.aborted && each.principal.permissions.has('thread:write'));
    const name = this.#listeners.originator();
    return free.find((each) => each.clientName === name) ?? free[0];
  }

  async #askOne(
    to: Subscriber,
    turnId: TurnId,
    question: ClientQuestion,
    begin: (() => Promise<unknown>) | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { clock, tools } = this.#parts;
    const ended = deferred<Outcome>();
    const end = (outcome: Outcome) => {
      // What has ended goes to nobody any more.
      this.#standing.delete(itemId);
      ended.resolve(outcome);
    };
    const { itemId, namespace, tool } = question;
    const params = { threadId: this.#threadId, turnId, callId: itemId, namespace, tool, arguments: question.arguments };
    const requestId = tools.broker.newRequestId();
    const text = requestFrame(String(requestId), clientToolCall.method, params, false);
    const call = {
      requestId,
      to: to.id,
      sent: () => {
        asked.wasSent = true;
      },
      answered: (answer: ResponseMessage) => end(outcomeOf(answer)),
    };
    const asked: Asked = { frame: new Frame(clientToolCall.method, text, { call }), wasSent: false };
    const lost = (why: string): Outcome => (asked.wasSent ? { kind: 'lost', why } : { kind: 'nobody' });
    this.#standing.set(itemId, asked);
    const release = [
      onAbort(signal, () => end({ kind: 'stopped', wasAsked: asked.wasSent })),
      onAbort(to.signal, () => end(lost('the connection of the client has ended'))),
      clock.timer(tools.clientToolLifeMs(), () => end(lost('the client has not answered in time'))),
    ];
    try {
      if (begin) await begin();
      else to.send([asked.frame]);
      return await ended.promise;
    } finally {
      this.#standing.delete(itemId);
      to.forget(requestId);
      for (const each of release) each();
    }
  }
}

const METHOD_NOT_FOUND = -32601;

function outcomeOf(answer: ResponseMessage): Outcome {
  if (answer.error === undefined) return { kind: 'result', result: answer.result };
  const { code } = answer.error as { readonly code?: unknown };
  return code === METHOD_NOT_FOUND ? { kind: 'unknownMethod' } : { kind: 'error' };
}
