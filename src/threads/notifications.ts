// Everything that threads tell clients, as declared messages.

import { z } from 'zod';
import { FileUpdateChange, Item } from '../model/item.ts';
import { Plan } from '../model/plan.ts';
import { Goal, ReadState, Thread, ThreadStatus } from '../model/thread.ts';
import { TokenUsage, Turn, TurnError } from '../model/turn.ts';
import { notification } from '../rpc/declare.ts';
import { WireSettings } from './schema.ts';

const ofThread = { threadId: z.string() };
const ofTurn = { ...ofThread, turnId: z.string() };
const ofItem = { ...ofTurn, itemId: z.string() };
const threadOnly = () => z.object(ofThread);
const delta = () => z.object({ ...ofItem, delta: z.string() });

export const threadStarted = notification('thread/started', () => z.object({ thread: Thread() }));
export const threadStatusChanged = notification('thread/status/changed', () =>
  z.object({ ...ofThread, status: ThreadStatus() }),
);
export const threadNameUpdated = notification('thread/name/updated', () =>
  z.object({ ...ofThread, threadName: z.string().optional() }),
);
export const threadArchived = notification('thread/archived', threadOnly);
export const threadUnarchived = notification('thread/unarchived', threadOnly);
export const threadDeleted = notification('thread/deleted', threadOnly);
export const threadClosed = notification('thread/closed', threadOnly);
export const threadGoalCleared = notification('thread/goal/cleared', threadOnly);
export const threadGoalUpdated = notification('thread/goal/updated', () =>
  z.object({ ...ofThread, turnId: z.string().nullable(), goal: Goal() }),
);
export const threadQueueChanged = notification('thread/queue/changed', threadOnly);
export const threadSectionChanged = notification('thread/section/changed', () =>
  z.object({ ...ofThread, sectionId: z.string().nullable() }),
);
export const threadAttachmentUpdated = notification('thread/attachment/updated', () =>
  z.object({
    ...ofThread,
    attachmentType: z.string(),
    identityKey: z.string(),
    attachmentId: z.string(),
    operation: z.enum(['created', 'deleted']),
  }),
);
export const threadReverted = notification('thread/reverted', threadOnly);
export const threadReadStateChanged = notification(
  'thread/readState/changed',
  () => z.object({ ...ofThread, readState: ReadState() }),
  { experimental: true },
);
export const threadSettingsUpdated = notification('thread/settings/updated', () =>
  z.object({ ...ofThread, threadSettings: WireSettings() }),
);
export const threadTokenUsageUpdated = notification('thread/tokenUsage/updated', () =>
  z.object({
    ...ofTurn,
    tokenUsage: z.object({ total: TokenUsage(), last: TokenUsage(), modelContextWindow: z.int().nullable() }),
  }),
);
export const turnStarted = notification('turn/started', () => z.object({ ...ofThread, turn: Turn() }));
export const turnCompleted = notification('turn/completed', () => z.object({ ...ofThread, turn: Turn() }));
export const turnDiffUpdated = notification('turn/diff/updated', () => z.object({ ...ofTurn, diff: z.string() }));
export const patchUpdated = notification('item/fileChange/patchUpdated', () =>
  z.object({ ...ofTurn, itemId: z.string(), changes: z.array(FileUpdateChange()) }),
);
export const turnPlanUpdated = notification('turn/plan/updated', () => z.object({ ...ofTurn, ...Plan().shape }));
export const itemStarted = notification('item/started', () =>
  z.object({ item: Item(), ...ofTurn, startedAtMs: z.int() }),
);
export const itemCompleted = notification('item/completed', () =>
  z.object({ item: Item(), ...ofTurn, contentTokenCount: z.int().min(0).nullable(), completedAtMs: z.int() }),
);
export const agentMessageDelta = notification('item/agentMessage/delta', delta);
export const planDelta = notification('item/plan/delta', delta);
export const commandOutputDelta = notification('item/commandExecution/outputDelta', delta);
export const terminalInteraction = notification('item/commandExecution/terminalInteraction', () =>
  z.object({ ...ofItem, processId: z.string(), stdin: z.string() }),
);
export const reasoningSummaryPartAdded = notification('item/reasoning/summaryPartAdded', () =>
  z.object({ ...ofItem, summaryIndex: z.int() }),
);
export const reasoningSummaryTextDelta = notification('item/reasoning/summaryTextDelta', () =>
  z.object({ ...ofItem, delta: z.string(), summaryIndex: z.int() }),
);
export const reasoningTextDelta = notification('item/reasoning/textDelta', () =>
  z.object({ ...ofItem, delta: z.string(), contentIndex: z.int() }),
);
export const mcpToolCallProgress = notification('item/mcpToolCall/progress', () =>
  z.object({ ...ofItem, message: z.string() }),
);
export const errorNotice = notification('error', () =>
  z.object({ error: TurnError(), willRetry: z.boolean(), ...ofTurn }),
);
export const warning = notification('warning', () =>
  z.object({
    threadId: z.string().nullable(),
    message: z.string(),
    /** Ours: a command or a change of files was refused without a question, and no item shows it. */
    refused: z.literal(true).optional(),
  }),
);

export const deprecationNotice = notification('deprecationNotice', () =>
  z.object({ summary: z.string(), details: z.string().nullable() }),
);

export const threadNotifications = {
  deprecationNotice,
  threadStarted,
  threadStatusChanged,
  threadNameUpdated,
  threadArchived,
  threadUnarchived,
  threadDeleted,
  threadClosed,
  threadGoalCleared,
  threadGoalUpdated,
  threadQueueChanged,
  threadSectionChanged,
  threadAttachmentUpdated,
  threadReverted,
  threadReadStateChanged,
  threadSettingsUpdated,
  threadTokenUsageUpdated,
  turnStarted,
  turnCompleted,
  turnDiffUpdated,
  patchUpdated,
  turnPlanUpdated,
  itemStarted,
  itemCompleted,
  agentMessageDelta,
  planDelta,
  commandOutputDelta,
  terminalInteraction,
  reasoningSummaryPartAdded,
  reasoningSummaryTextDelta,
  reasoningTextDelta,
  mcpToolCallProgress,
  errorNotice,
  warning,
};
