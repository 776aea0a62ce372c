// How a turn is brought to its end: every open item is completed, every tool call has an output, and the end is the last event.

import type { TurnEnd } from '../agent/loop.ts';
import type { ContextItem } from '../model/context.ts';
import type { ThreadEvent } from '../model/event.ts';
import type { ItemId } from '../model/ids.ts';
import { newId } from '../model/ids.ts';
import { type Item, reviewMode } from '../model/item.ts';
import type { LiveThread, OpenTurn } from './state.ts';
import { messageEvents } from './steering.ts';

export interface Ending {
  readonly end: TurnEnd;
  readonly atMs: number;
  /** Text that was streamed for items that are open, where it is known. */
  readonly texts: ReadonlyMap<ItemId, string>;
  /** The server stopped while the turn ran: what was under way has an unknown outcome. */
  readonly isRecovered: boolean;
  /** What the model has been shown, to find calls without an output. */
  readonly context: readonly ContextItem[];
}

/** What the next turn's model is told about work that was stopped. */
const INTERRUPTED_NOTE =
  'The previous turn was interrupted before it was finished. Commands that were running have been stopped and may have had effects; check before you rely on them or repeat them.';

export function endingEvents(thread: LiveThread, turn: OpenTurn, ending: Ending): ThreadEvent[] {
  const { end, atMs } = ending;
  const turnId = turn.id;
  const closed = [...turn.items.values()].map((item) => closedItem(item, turn, ending));
  const lastMessage = closed.findLast((item) => item.type === 'agentMessage') ?? turn.lastMessage;
  const unanswered = end.status === 'completed' ? [] : outputsFor(ending.context);
  const note: ContextItem[] = end.status === 'interrupted' ? [{ type: 'note', text: INTERRUPTED_NOTE }] : [];
  const said = ending.isRecovered ? closed.flatMap(spoken) : [];
  const context = [...said, ...unanswered, ...note];
  return [
    ...closed.map((item): ThreadEvent => ({ type: 'itemCompleted', turnId, item })),
    ...(turn.isReviewing ? endOfReview(turnId, atMs) : []),
    ...turn.steered.flatMap((input) => messageEvents(input, atMs)),
    ...(context.length > 0 ? [{ type: 'contextAdded' as const, turnId, items: context }] : []),
    ...(end.status === 'failed'
      ? [{ type: 'errorReported' as const, turnId, error: end.error, willRetry: false }]
      : []),
    {
      type: 'turnCompleted',
      turnId,
      rootTurnId: turn.rootTurnId,
      status: end.status,
      error: end.status === 'failed' ? end.error : null,
      startedAtMs: turn.startedAtMs,
      completedAtMs: ending.isRecovered ? null : atMs,
      durationMs: ending.isRecovered ? null : Math.max(0, atMs - turn.startedAtMs),
      lastMessageId: lastMessage?.id ?? null,
      revision: end.status === 'interrupted' ? thread.meta.readState.revision : newId(),
    },
  ];
}

/** Clients wait for it to leave their view of a review. */
function endOfReview(turnId: string, atMs: number): ThreadEvent[] {
  const item = reviewMode('exitedReviewMode', newId(), 'The review was stopped before it was finished.', atMs);
  return [
    { type: 'itemStarted', turnId, item },
    { type: 'itemCompleted', turnId, item: { ...item, completedAtMs: atMs } },
  ];
}

const CUT_OFF = 'the call was cut off; whether it was carried out is not known';

function closedItem(item: Item, turn: OpenTurn, ending: Ending): Item {
  const completedAtMs = ending.atMs;
  const text = ending.texts.get(item.id);
  switch (item.type) {
    case 'userMessage':
    case 'contextCompaction':
    case 'imageView':
    case 'webSearch':
    case 'enteredReviewMode':
    case 'exitedReviewMode':
      return { ...item, completedAtMs };
    case 'dynamicToolCall':
      return { ...item, status: 'failed', contentItems: [], success: false, outcome: 'unknown', completedAtMs };
    case 'mcpToolCall':
      return wasAsked(item, turn)
        ? { ...item, status: 'failed', error: { message: 'nobody has allowed the call' }, completedAtMs }
        : { ...item, status: 'failed', error: { message: CUT_OFF }, outcome: 'unknown', completedAtMs };
    case 'agentMessage':
    case 'plan':
      return { ...item, text: text ?? item.text, completedAtMs };
    case 'reasoning':
      return { ...item, content: text === undefined ? item.content : [text], completedAtMs };
    case 'fileChange':
      // A change that had begun is finished or taken back before a turn ends, unless the server itself is stopped.
      return wasAsked(item, turn) || !ending.isRecovered
        ? { ...item, status: 'declined', completedAtMs }
        : { ...item, status: 'failed', outcome: 'unknown', completedAtMs };
    case 'commandExecution': {
      const isAsked = wasAsked(item, turn);
      const hasBegun = item.source !== 'agent';
      return {
        ...item,
        status: hasBegun && !isAsked ? 'failed' : 'declined',
        aggregatedOutput: text ?? item.aggregatedOutput,
        ...(ending.isRecovered && !isAsked ? { status: 'failed' as const, outcome: 'unknown' as const } : {}),
        completedAtMs,
      };
    }
  }
}

/** The question whether it may begin stands. */
const wasAsked = (item: Item, turn: OpenTurn): boolean =>
  [...turn.questions.values()].some(({ proposal }) => proposal.itemId === item.id && proposal.kind !== 'elicitation');

function spoken(item: Item): ContextItem[] {
  return item.type === 'agentMessage' && item.text !== ''
    ? [{ type: 'assistant', id: item.id, text: item.text, phase: item.phase }]
    : [];
}

/** Outputs for the calls that have none, so that the model's view stays well formed. */
function outputsFor(context: readonly ContextItem[]): ContextItem[] {
  const answered = new Set(context.flatMap((item) => (item.type === 'toolOutput' ? [item.callId] : [])));
  return context.flatMap((item): ContextItem[] =>
    item.type === 'toolCall' && !answered.has(item.callId)
      ? [{ type: 'toolOutput', callId: item.callId, output: 'aborted by user; the outcome is unknown', success: false }]
      : [],
  );
}
