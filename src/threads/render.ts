// Stored events to notifications of the native dialect, each encoded once for all who get it.

import { approvalRequest } from '../approvals/questions.ts';
import { serverRequestResolved } from '../approvals/requests.ts';
import { longJson } from '../base/long-json.ts';
import { isWorthReading } from '../history/tables.ts';
import type { Proposal } from '../model/approval.ts';
import { type DeltaEvent, type EventOf, lastSeq, type StoredEvent } from '../model/event.ts';
import type { ApprovalId, ItemId, Seq, ThreadId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import type { ReadState, ThreadStatus, WaitingFlag } from '../model/thread.ts';
import type { Turn } from '../model/turn.ts';
import type { Notification, Params } from '../rpc/declare.ts';
import { notificationFrame, requestFrame } from '../rpc/message.ts';
import { Frame } from './frame.ts';
import * as tell from './notifications.ts';
import { seconds, settingsView } from './view.ts';

/** What rendering needs to know beside the event itself. */
export interface RenderContext {
  readonly threadId: ThreadId;
  /** The message with which a turn ended. */
  item(itemId: string): Item | undefined;
  /** The id under which clients are asked; undefined: the question has ended. */
  requestIdOf(approvalId: ApprovalId): number | undefined;
  /** The question to a client that goes out with the beginning of this item. */
  callOf?(itemId: ItemId): Frame | undefined;
  /** After the event, if the event is the newest; so are the next two. */
  readState(): ReadState;
  status(): ThreadStatus;
  /** What the thread waits for outside of its turns. */
  asideFlags(): WaitingFlag[];
}

/** Long texts would be there four times: in the value, as JSON, in the frame around it, and as its bytes. */
const encoded = (method: string, params: unknown, emittedAtMs: number, seq?: Seq): string | Buffer =>
  longJson({ method, params, emittedAtMs, seq }) ?? notificationFrame(method, JSON.stringify(params), emittedAtMs, seq);

/**
 * The frames of one event, in order. The last one that belongs to the event's own place carries `seq`; what only mirrors it in the
 * list of threads does not, so that a client that was cut off in between gets the event again.
 */
export function render(stored: StoredEvent, context: RenderContext): Frame[] {
  const { event, atMs, seq } = stored;
  const { threadId } = context;
  const frame = <P>(kind: Notification, params: P, place?: Seq) =>
    new Frame(kind.method, encoded(kind.method, params, atMs, place), { experimental: kind.experimental });
  const status = (value: ThreadStatus) => frame(tell.threadStatusChanged, { threadId, status: value });
  switch (event.type) {
    case 'delta':
      return renderDelta(event, seq, atMs, threadId);
    case 'turnStarted': {
      const turn: Turn = {
        ...EMPTY_TURN,
        id: event.turnId,
        rootTurnId: event.rootTurnId,
        startedAt: seconds(event.startedAtMs),
      };
      return [status(active(context.asideFlags())), frame(tell.turnStarted, { threadId, turn }, seq)];
    }
    case 'itemStarted': {
      const { item, turnId } = event;
      const started = frame(tell.itemStarted, { item, threadId, turnId, startedAtMs: item.startedAtMs ?? atMs }, seq);
      const call = context.callOf?.(item.id);
      return call ? [started, call] : [started];
    }
    case 'itemCompleted': {
      const { item, turnId } = event;
      const completedAtMs = item.completedAtMs ?? atMs;
      return [frame(tell.itemCompleted, { item, threadId, turnId, contentTokenCount: null, completedAtMs }, seq)];
    }
    case 'summaryPartAdded': {
      const { turnId, itemId, index } = event;
      return [frame(tell.reasoningSummaryPartAdded, { threadId, turnId, itemId, summaryIndex: index }, seq)];
    }
    case 'terminalInteraction': {
      const { turnId, itemId, processId, stdin } = event;
      return [frame(tell.terminalInteraction, { threadId, turnId, itemId, processId, stdin }, seq)];
    }
    case 'patchWritten': {
      const { turnId, itemId, changes } = event;
      return [frame(tell.patchUpdated, { threadId, turnId, itemId, changes }, seq)];
    }
    case 'turnDiffUpdated':
      return [frame(tell.turnDiffUpdated, { threadId, turnId: event.turnId, diff: event.diff }, seq)];
    case 'planUpdated': {
      const { turnId, explanation, plan } = event;
      return [frame(tell.turnPlanUpdated, { threadId, turnId, explanation, plan }, seq)];
    }
    case 'usageReported': {
      const { turnId, total, last, contextWindow } = event;
      const tokenUsage = { total, last, modelContextWindow: contextWindow };
      return [frame(tell.threadTokenUsageUpdated, { threadId, turnId, tokenUsage }, seq)];
    }
    case 'errorReported': {
      const { error, willRetry, turnId } = event;
      const notice = frame(tell.errorNotice, { error, willRetry, threadId, turnId }, seq);
      return willRetry ? [notice] : [status({ type: 'systemError' }), notice];
    }
    case 'warned': {
      const refusal = event.isRefusal ? { refused: true as const } : {};
      return [frame(tell.warning, { threadId, message: event.message, ...refusal }, seq)];
    }
    case 'settingsChanged':
      return [frame(tell.threadSettingsUpdated, { threadId, threadSettings: settingsView(event.settings) }, seq)];
    case 'approvalRequested': {
      const requestId = context.requestIdOf(event.proposal.id);
      const waiting = event.flags ? [status(active(event.flags))] : [];
      return requestId === undefined ? waiting : [...waiting, questionFrame(threadId, event.proposal, requestId)];
    }
    case 'approvalResolved': {
      const resolved = frame(serverRequestResolved, { threadId, requestId: event.requestId }, seq);
      const { resolution, flags, turnId } = event;
      // The end of the turn follows at once, with a status of its own.
      const isOfEnd = resolution.by === 'interrupt' && !resolution.isGone;
      if (!flags || isOfEnd) return [resolved];
      return [resolved, status(turnId === '' && flags.length === 0 ? context.status() : active(flags))];
    }
    case 'turnCompleted': {
      const message = event.lastMessageId === null ? undefined : context.item(event.lastMessageId);
      const turn: Turn = {
        id: event.turnId,
        rootTurnId: event.rootTurnId,
        items: message ? [message] : [],
        itemsView: message ? 'summary' : 'notLoaded',
        status: event.status,
        error: event.error,
        startedAt: seconds(event.startedAtMs),
        completedAt: event.completedAtMs === null ? null : seconds(event.completedAtMs),
        durationMs: event.durationMs,
      };
      const read = !isWorthReading(event)
        ? []
        : [
            frame(tell.threadReadStateChanged, {
              threadId,
              readState: { ...context.readState(), revision: event.revision },
            }),
          ];
      // A failure has told its status with the error.
      const flags = context.asideFlags();
      const rest = event.status === 'failed' ? [] : [status(flags.length > 0 ? active(flags) : { type: 'idle' })];
      return [...read, ...rest, frame(tell.turnCompleted, { threadId, turn }, seq)];
    }
    case 'goalChanged': {
      const { goal, turnId } = event;
      return [
        goal
          ? frame(tell.threadGoalUpdated, { threadId, turnId, goal }, seq)
          : frame(tell.threadGoalCleared, { threadId }, seq),
      ];
    }
    case 'queueChanged':
      return [frame(tell.threadQueueChanged, { threadId }, seq)];
    case 'sectionChanged':
      return [frame(tell.threadSectionChanged, { threadId, sectionId: event.section?.id ?? null }, seq)];
    case 'attachmentAdded':
    case 'attachmentRemoved':
      return [frame(tell.threadAttachmentUpdated, attachmentNews(threadId, event), seq)];
    case 'turnsReverted':
      return [frame(tell.threadReverted, { threadId }, seq)];
    case 'threadNamed':
      return [
        frame(tell.threadNameUpdated, { threadId, ...(event.name === null ? {} : { threadName: event.name }) }, seq),
      ];
    case 'threadCreated':
    case 'threadArchived':
    case 'threadUnarchived':
    case 'threadRead':
    case 'threadUnread':
    case 'gitInfoChanged':
    case 'contextAdded':
    case 'terminalLeft':
    case 'steered':
      return [];
  }
}

/** What is told of an attachment: which one, never what is in it. */
export function attachmentNews(
  threadId: ThreadId,
  event: EventOf<'attachmentAdded'> | EventOf<'attachmentRemoved'>,
): Params<typeof tell.threadAttachmentUpdated> {
  if (event.type === 'attachmentRemoved') {
    const { attachmentType, identityKey, attachmentId } = event;
    return { threadId, attachmentType, identityKey, attachmentId, operation: 'deleted' };
  }
  const { attachmentType, identityKey, id: attachmentId } = event.attachment;
  return { threadId, attachmentType, identityKey, attachmentId, operation: 'created' };
}

const EMPTY_TURN: Omit<Turn, 'id' | 'rootTurnId' | 'startedAt'> = {
  items: [],
  itemsView: 'notLoaded',
  status: 'inProgress',
  error: null,
  completedAt: null,
  durationMs: null,
};

const active = (activeFlags: WaitingFlag[]): ThreadStatus => ({ type: 'active', activeFlags });

/** A standing question as a request to a client. */
export function questionFrame(threadId: ThreadId, proposal: Proposal, requestId: number): Frame {
  const frame = (mayRemember: boolean, withoutRules?: Frame): Frame => {
    const { method, params } = approvalRequest(threadId, proposal, { mayRemember });
    const text = requestFrame(String(requestId), method, params, false);
    return new Frame(method, text, { question: { approvalId: proposal.id, requestId, withoutRules } });
  };
  return proposal.kind === 'command' || proposal.kind === 'mcpToolCall' ? frame(true, frame(false)) : frame(true);
}

const DELTAS = {
  text: { method: tell.agentMessageDelta.method, index: undefined },
  output: { method: tell.commandOutputDelta.method, index: undefined },
  plan: { method: tell.planDelta.method, index: undefined },
  summary: { method: tell.reasoningSummaryTextDelta.method, index: 'summaryIndex' },
  reasoning: { method: tell.reasoningTextDelta.method, index: 'contentIndex' },
  progress: { method: tell.mcpToolCallProgress.method, index: undefined },
} as const;

/** One notification a part; only the text and the place differ, so the rest is written once. */
function renderDelta(event: DeltaEvent, seq: Seq, atMs: number, threadId: ThreadId): Frame[] {
  const { method, index } = DELTAS[event.stream];
  const place = index === undefined ? '' : `,"${index}":${event.index ?? 0}`;
  const start = `{"method":"${method}","params":{"threadId":${JSON.stringify(threadId)},"turnId":${JSON.stringify(event.turnId)},"itemId":${JSON.stringify(event.itemId)}${place},"${event.stream === 'progress' ? 'message' : 'delta'}":`;
  const end = `},"emittedAtMs":${atMs},"seq":`;
  return event.parts.map((part, offset) => new Frame(method, `${start}${JSON.stringify(part)}${end}${seq + offset}}`));
}

/** Joins neighbouring deltas of one text, for whoever reads the log later; the joined delta carries the last place. */
export function mergeDeltas(page: readonly StoredEvent[]): StoredEvent[] {
  const merged: StoredEvent[] = [];
  for (const stored of page) {
    const last = merged.at(-1);
    if (stored.event.type !== 'delta') {
      merged.push(stored);
      continue;
    }
    const text = stored.event.parts.join('');
    const place = lastSeq(stored);
    if (last?.event.type === 'delta' && isSameText(last.event, stored.event) && !isLong(last.event)) {
      const parts = [`${last.event.parts[0]}${text}`];
      merged[merged.length - 1] = { seq: place, atMs: stored.atMs, event: { ...last.event, parts } };
    } else {
      merged.push({ seq: place, atMs: stored.atMs, event: { ...stored.event, parts: [text] } });
    }
  }
  return merged;
}

/** Characters above which a joined delta takes no more, so that no frame nears the limit. */
const MAX_JOINED = 256 * 1024;

const isLong = (event: DeltaEvent): boolean => (event.parts[0]?.length ?? 0) > MAX_JOINED;

function isSameText(a: DeltaEvent, b: DeltaEvent): boolean {
  // Each message of progress is one of its own.
  return a.stream !== 'progress' && a.itemId === b.itemId && a.stream === b.stream && a.index === b.index;
}
