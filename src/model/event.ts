// Everything that is ever stored and shown about a thread, as events of its log.

import { z } from 'zod';
import { Proposal, Resolution } from './approval.ts';
import { ContextItem } from './context.ts';
import type { Seq } from './ids.ts';
import { UserInput } from './input.ts';
import { FileUpdateChange, Item } from './item.ts';
import { Plan } from './plan.ts';
import { type Infer, schema } from './schema.ts';
import {
  Attachment,
  GitInfo,
  Goal,
  QueuedSubmission,
  SectionPlace,
  ThreadMeta,
  ThreadSettings,
  WaitingFlag,
} from './thread.ts';
import { TokenUsage, TurnError } from './turn.ts';

const inTurn = { turnId: z.string() };
/** The flags of the thread after the event, when it changes them. */
const flags = z.array(WaitingFlag()).optional();

/** Text that streams: which text of the item, and for numbered parts which part. Of `progress` each part is a message of its own. */
export const DeltaStream = schema(() => z.enum(['text', 'summary', 'reasoning', 'output', 'plan', 'progress']));

/**
 * A superseded event type is never changed, only replaced by a new one.
 * `delta` is the only kind outside the hash chain: it is dropped when its turn is over, and each of its parts takes a sequence
 * number of its own.
 */
export const ThreadEvent = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('threadCreated'), meta: ThreadMeta() }),
    z.object({ type: z.literal('threadNamed'), name: z.string().nullable() }),
    z.object({ type: z.literal('threadArchived') }),
    z.object({ type: z.literal('threadUnarchived') }),
    z.object({ type: z.literal('settingsChanged'), settings: ThreadSettings() }),
    z.object({ type: z.literal('threadRead'), throughTurnId: z.string().nullable(), revision: z.string() }),
    z.object({ type: z.literal('threadUnread'), revision: z.string() }),
    z.object({ type: z.literal('gitInfoChanged'), gitInfo: GitInfo().nullable() }),
    z.object({ type: z.literal('goalChanged'), goal: Goal().nullable(), turnId: z.string().nullable() }),
    z.object({ type: z.literal('queueChanged'), queue: z.array(QueuedSubmission()) }),
    z.object({ type: z.literal('sectionChanged'), section: SectionPlace().nullable() }),
    z.object({ type: z.literal('attachmentAdded'), attachment: Attachment() }),
    z.object({
      type: z.literal('attachmentRemoved'),
      attachmentId: z.string(),
      attachmentType: z.string(),
      identityKey: z.string(),
    }),
    z.object({
      type: z.literal('turnStarted'),
      ...inTurn,
      rootTurnId: z.string(),
      startedAtMs: z.number(),
      preview: z.string(),
      outputSchema: z.unknown().optional(),
      /** Begun by somebody whom the operator's ceiling holds: what others were allowed before does not widen it. */
      isCapped: z.literal(true).optional(),
      /** What goes before the settings of the thread, in this turn alone. */
      own: z.object({ serviceTier: z.string().optional(), hasEnvironment: z.literal(false).optional() }).optional(),
    }),
    z.object({ type: z.literal('itemStarted'), ...inTurn, item: Item() }),
    z.object({ type: z.literal('itemCompleted'), ...inTurn, item: Item() }),
    z.object({
      type: z.literal('delta'),
      ...inTurn,
      itemId: z.string(),
      stream: DeltaStream(),
      /** Number of the part for `summary` and `reasoning`. */
      index: z.number().optional(),
      parts: z.array(z.string()),
    }),
    /** A numbered part of a reasoning summary begins. */
    z.object({ type: z.literal('summaryPartAdded'), ...inTurn, itemId: z.string(), index: z.number() }),
    /** The command of the item runs on while the turn does something else, and maybe after it. */
    z.object({ type: z.literal('terminalLeft'), ...inTurn, itemId: z.string() }),
    /** The turn writes to the command of an item that may be of an earlier turn, or looks at it: nothing is written then. */
    z.object({
      type: z.literal('terminalInteraction'),
      ...inTurn,
      itemId: z.string(),
      processId: z.string(),
      stdin: z.string(),
    }),
    /** All that patches have changed in the turn so far, as git shows it. */
    /** What the model has written so far of a patch that may become this item. */
    z.object({ type: z.literal('patchWritten'), ...inTurn, itemId: z.string(), changes: z.array(FileUpdateChange()) }),
    z.object({ type: z.literal('turnDiffUpdated'), ...inTurn, diff: z.string() }),
    /** The agent's list of steps as it is now. */
    z.object({ type: z.literal('planUpdated'), ...inTurn, ...Plan().shape }),
    /** Input that was accepted while the turn ran; it becomes a message when the backend takes it. */
    z.object({
      type: z.literal('steered'),
      ...inTurn,
      itemId: z.string(),
      clientId: z.string().nullable(),
      content: z.array(UserInput()),
      /** What the model is shown of it, where that is something else. */
      shown: z.array(UserInput()).optional(),
      /** From here on the turn is held as if it had been begun under the ceiling. */
      isCapped: z.literal(true).optional(),
    }),
    /** An empty `turnId`: a client put it there, outside any turn. `replaces`: the model's view begins anew with it. */
    z.object({
      type: z.literal('contextAdded'),
      ...inTurn,
      items: z.array(ContextItem()),
      replaces: z.literal(true).optional(),
    }),
    z.object({
      type: z.literal('usageReported'),
      ...inTurn,
      total: TokenUsage(),
      last: TokenUsage(),
      contextWindow: z.number().nullable(),
    }),
    z.object({ type: z.literal('errorReported'), ...inTurn, error: TurnError(), willRetry: z.boolean() }),
    z.object({
      type: z.literal('warned'),
      turnId: z.string().nullable(),
      message: z.string(),
      /** Something that was asked for was refused, and no item shows it. */
      isRefusal: z.literal(true).optional(),
    }),
    /** An empty `turnId`: the question belongs to no turn. */
    z.object({ type: z.literal('approvalRequested'), ...inTurn, proposal: Proposal(), requestId: z.number(), flags }),
    z.object({
      type: z.literal('approvalResolved'),
      ...inTurn,
      approvalId: z.string(),
      requestId: z.number(),
      resolution: Resolution(),
      flags,
    }),
    z.object({
      type: z.literal('turnCompleted'),
      ...inTurn,
      rootTurnId: z.string(),
      status: z.enum(['completed', 'interrupted', 'failed']),
      error: TurnError().nullable(),
      startedAtMs: z.number(),
      completedAtMs: z.number().nullable(),
      durationMs: z.number().nullable(),
      /** The last message of the agent in this turn; its text is in the item. */
      lastMessageId: z.string().nullable(),
      revision: z.string(),
    }),
    /** The turns from `firstTurnId` on no longer count; they stay in the log. */
    z.object({ type: z.literal('turnsReverted'), firstTurnId: z.string(), turnIds: z.array(z.string()) }),
  ]),
);
export type ThreadEvent = Infer<typeof ThreadEvent>;
export type EventOf<T extends ThreadEvent['type']> = Extract<ThreadEvent, { type: T }>;
export type DeltaEvent = EventOf<'delta'>;

/** An event in its place. A delta with n parts holds the numbers `seq` to `seq + n - 1`. */
export interface StoredEvent<E extends ThreadEvent = ThreadEvent> {
  readonly seq: Seq;
  /** Epoch milliseconds of acceptance. */
  readonly atMs: number;
  readonly event: E;
}

/** How many sequence numbers an event takes. */
export const span = (event: ThreadEvent): number => (event.type === 'delta' ? event.parts.length : 1);

/** The last sequence number of a stored event. */
export const lastSeq = (stored: StoredEvent): Seq => stored.seq + span(stored.event) - 1;
