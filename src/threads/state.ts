// Pure: what is known about a loaded thread, as a function of its events: settings and the open turn, never the whole history.

import { derive, type TableReader } from '../history/tables.ts';
import type { Proposal } from '../model/approval.ts';
import type { ContextItem } from '../model/context.ts';
import type { EventOf, StoredEvent } from '../model/event.ts';
import type { ApprovalId, ItemId, Seq, TurnId } from '../model/ids.ts';
import type { Item, ItemOf } from '../model/item.ts';
import type { ThreadMeta, ThreadStatus, WaitingFlag } from '../model/thread.ts';

export interface OpenTurn {
  readonly id: TurnId;
  readonly rootTurnId: TurnId;
  readonly seq: Seq;
  readonly startedAtMs: number;
  readonly outputSchema: unknown;
  /** Somebody under the operator's ceiling drives it, alone or with others. */
  readonly isCapped: boolean;
  readonly own: EventOf<'turnStarted'>['own'];
  /** A review has begun in it and not ended. */
  readonly isReviewing: boolean;
  /** Items that were begun and not completed. */
  readonly items: ReadonlyMap<ItemId, Item>;
  readonly lastMessage: ItemOf<'agentMessage'> | null;
  readonly questions: ReadonlyMap<ApprovalId, StandingQuestion>;
  /** What it has done to files, as it was told last. */
  readonly diff: string | null;
  /** Input that was accepted and not taken yet. */
  readonly steered: readonly EventOf<'steered'>[];
}

export interface StandingQuestion {
  readonly proposal: Proposal;
  /** Of the process in which it was asked first. */
  readonly requestId: number;
  readonly seq: Seq;
}

export interface LiveThread {
  readonly meta: ThreadMeta;
  readonly head: Seq;
  readonly turn: OpenTurn | null;
  /** Questions that belong to no turn. Of an earlier process only the row of the thread knows. */
  readonly asides: ReadonlyMap<ApprovalId, StandingQuestion>;
  readonly view: ModelView;
}

/** How full the model's view of the thread is, as far as it is known since the thread was loaded. */
export interface ModelView {
  /** What the provider counted for the last request and its answer. */
  readonly tokens: number | null;
  /** The model has refused it as too long. */
  readonly isFull: boolean;
}

export const UNKNOWN_VIEW: ModelView = { tokens: null, isFull: false };

/** Rows are the store's concern; the meta does not depend on them. */
const NO_TABLES: TableReader = { turn: () => undefined, itemSeq: () => undefined };

export function applyEvent(thread: LiveThread, stored: StoredEvent, lastSeq: Seq): LiveThread {
  if (stored.event.type === 'delta') return { ...thread, head: lastSeq };
  const { meta } = derive(thread.meta, stored, NO_TABLES);
  const reverted = stored.event.type === 'turnsReverted' ? stored.event.turnIds.length : 0;
  const turnCount = meta.turnCount - reverted;
  return {
    meta: reverted === 0 ? meta : { ...meta, turnCount },
    head: lastSeq,
    turn: applyToTurn(thread.turn, stored),
    asides: asidesAfter(thread.asides, stored),
    view: viewAfter(thread.view, stored.event),
  };
}

function viewAfter(view: ModelView, event: StoredEvent['event']): ModelView {
  switch (event.type) {
    case 'usageReported':
      return { tokens: event.last.totalTokens || null, isFull: false };
    case 'errorReported':
      return event.error.codexErrorInfo === 'contextWindowExceeded' ? { ...view, isFull: true } : view;
    case 'contextAdded':
      return event.replaces ? UNKNOWN_VIEW : view;
    case 'turnsReverted':
      return UNKNOWN_VIEW;
    case 'itemCompleted':
      // What a reviewer was counted is not the size of this view.
      return event.item.type === 'exitedReviewMode' ? UNKNOWN_VIEW : view;
    default:
      return view;
  }
}

function asidesAfter(asides: LiveThread['asides'], { seq, event }: StoredEvent): LiveThread['asides'] {
  if (event.type !== 'approvalRequested' && event.type !== 'approvalResolved') return asides;
  if (event.turnId !== '') return asides;
  const after = new Map(asides);
  if (event.type === 'approvalResolved') after.delete(event.approvalId);
  else after.set(event.proposal.id, { proposal: event.proposal, requestId: event.requestId, seq });
  return after;
}

function applyToTurn(turn: OpenTurn | null, { seq, event }: StoredEvent): OpenTurn | null {
  if (event.type === 'turnStarted') {
    const { turnId: id, rootTurnId, startedAtMs, outputSchema, isCapped = false, own } = event;
    const nothing = { isReviewing: false, items: new Map(), lastMessage: null, questions: new Map() };
    return { id, rootTurnId, seq, startedAtMs, outputSchema, isCapped, own, ...nothing, steered: [], diff: null };
  }
  if (!turn || !('turnId' in event) || event.turnId !== turn.id) return turn;
  switch (event.type) {
    case 'turnCompleted':
      return null;
    case 'itemStarted':
      return {
        ...turn,
        items: new Map(turn.items).set(event.item.id, event.item),
        steered: withoutItem(turn, event.item.id),
      };
    case 'itemCompleted': {
      const items = new Map(turn.items);
      items.delete(event.item.id);
      const { type } = event.item;
      const isReviewing = type === 'enteredReviewMode' || (turn.isReviewing && type !== 'exitedReviewMode');
      return {
        ...turn,
        isReviewing,
        items,
        lastMessage: event.item.type === 'agentMessage' ? event.item : turn.lastMessage,
      };
    }
    case 'approvalRequested': {
      const { proposal, requestId } = event;
      return { ...turn, questions: new Map(turn.questions).set(proposal.id, { proposal, requestId, seq }) };
    }
    case 'terminalLeft': {
      const items = new Map(turn.items);
      items.delete(event.itemId);
      return { ...turn, items };
    }
    case 'approvalResolved': {
      const questions = new Map(turn.questions);
      questions.delete(event.approvalId);
      return { ...turn, questions };
    }
    case 'turnDiffUpdated':
      return { ...turn, diff: event.diff };
    case 'steered':
      return { ...turn, steered: [...turn.steered, event], isCapped: turn.isCapped || event.isCapped === true };
    default:
      return turn;
  }
}

function withoutItem(turn: OpenTurn, itemId: ItemId): OpenTurn['steered'] {
  return turn.steered.some((each) => each.itemId === itemId)
    ? turn.steered.filter((each) => each.itemId !== itemId)
    : turn.steered;
}

/** All that stand: those of the turn, and those of none. */
export function questionsOf({ turn, asides }: Pick<LiveThread, 'turn' | 'asides'>): readonly StandingQuestion[] {
  return [...(turn?.questions.values() ?? []), ...asides.values()];
}

export function waitingFlags(thread: Pick<LiveThread, 'turn' | 'asides'>): WaitingFlag[] {
  const kinds = questionsOf(thread).map(({ proposal }) => proposal.kind);
  return [
    ...(kinds.some((kind) => kind !== 'userInput') ? (['waitingOnApproval'] as const) : []),
    ...(kinds.includes('userInput') ? (['waitingOnUserInput'] as const) : []),
  ];
}

export function statusOf(thread: LiveThread): ThreadStatus {
  const { meta, turn, asides } = thread;
  if (turn || asides.size > 0) return { type: 'active', activeFlags: waitingFlags(thread) };
  return meta.failed ? { type: 'systemError' } : { type: 'idle' };
}

/** What a server itself asks is asked by its process, and does not outlive it. */
const isPassing = ({ proposal }: StandingQuestion): boolean => proposal.kind === 'elicitation';

const lasting = (turn: OpenTurn): readonly StandingQuestion[] =>
  [...turn.questions.values()].filter((each) => !isPassing(each));

/** Questions that a stop of the server ends, also where their turn goes on. */
export const passing = (turn: OpenTurn): readonly StandingQuestion[] => [...turn.questions.values()].filter(isPassing);

/** Nothing is under way but questions to people: such a turn survives a stop of the server. */
export function onlyWaitsForPeople(turn: OpenTurn): boolean {
  const proposals = lasting(turn).map(({ proposal }) => proposal);
  if (proposals.length === 0 || turn.steered.length > 0) return false;
  // What would be typed into it does not outlive the command.
  if (proposals.some(({ kind }) => kind === 'terminalInput')) return false;
  const asked = new Set(proposals.map(({ itemId }) => itemId));
  return [...turn.items.keys()].every((itemId) => asked.has(itemId));
}

/** Every call of the model without an output waits for people: one that does not may have had effects, and is not made again. */
export function isEveryCallAsked(turn: OpenTurn, context: readonly ContextItem[]): boolean {
  const asked = new Set([...turn.questions.values()].map(({ proposal }) => proposal.callId));
  const answered = new Set(context.flatMap((item) => (item.type === 'toolOutput' ? [item.callId] : [])));
  return context.every((item) => item.type !== 'toolCall' || answered.has(item.callId) || asked.has(item.callId));
}
