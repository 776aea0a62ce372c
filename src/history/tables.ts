// Pure: what an event changes in the catalogue row, the turns, the items, the context index and the open turns of its thread.

import type { EventOf, StoredEvent } from '../model/event.ts';
import type { ApprovalId, ItemId, Seq, TurnId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import type { Attachment, ThreadMeta } from '../model/thread.ts';
import { wholeMeta } from './catalogue-row.ts';
import type { ItemPlace } from './gaps.ts';
import type { ItemRow, TurnRow } from './store.ts';

/** A turn's row with where its records end: nothing of it lies behind `endSeq`. */
export interface TurnSpan extends TurnRow {
  /** Absent while the turn is open. */
  readonly endSeq?: Seq;
}

/** The tables as they are before the event. */
export interface TableReader {
  turn(turnId: TurnId): TurnSpan | undefined;
  itemSeq(itemId: ItemId): Seq | undefined;
}

/** Tables of a thread of which nothing is known. */
export const NO_TABLES: TableReader = { turn: () => undefined, itemSeq: () => undefined };

export type Change =
  | { readonly change: 'turn'; readonly row: TurnSpan }
  | { readonly change: 'item'; readonly row: ItemRow }
  | { readonly change: 'itemPlace'; readonly itemId: ItemId; readonly seq: Seq }
  | { readonly change: 'context'; readonly seq: Seq; readonly turnId: TurnId }
  | { readonly change: 'turnOpened'; readonly turnId: TurnId; readonly seq: Seq }
  /** A question that belongs to no turn stands, or does so no longer. */
  | { readonly change: 'asideOpened'; readonly approvalId: ApprovalId; readonly seq: Seq }
  | { readonly change: 'asideClosed'; readonly approvalId: ApprovalId }
  | { readonly change: 'attachment'; readonly seq: Seq; readonly attachment: Attachment }
  | { readonly change: 'attachmentRemoved'; readonly attachmentType: string; readonly identityKey: string }
  /** The turn is no longer open, and its deltas go, but for those of the items named. */
  | { readonly change: 'turnClosed'; readonly row: TurnSpan; readonly running: readonly ItemId[] }
  /** An item of a turn that has ended is over too; of the turn, only the deltas of the items named stay. */
  | { readonly change: 'itemClosed'; readonly turn: TurnSpan; readonly running: readonly ItemId[] }
  /** The turn, its items and its context leave the tables. */
  | { readonly change: 'turnReverted'; readonly row: TurnSpan };

export interface Derived {
  /** The same object when the event does not change it. */
  readonly meta: ThreadMeta;
  readonly changes: readonly Change[];
}

/** Longest preview in the catalogue, in UTF-16 units: the row is written at each turn. */
export const MAX_PREVIEW = 2000;

const NOTHING: readonly Change[] = [];

export function derive(meta: ThreadMeta, stored: StoredEvent, tables: TableReader): Derived {
  const { event, seq } = stored;
  switch (event.type) {
    case 'threadCreated':
      return { meta: wholeMeta(event.meta), changes: NOTHING };
    case 'threadNamed':
      return { meta: { ...meta, name: event.name }, changes: NOTHING };
    case 'threadArchived':
    case 'threadUnarchived':
      return { meta: { ...meta, archived: event.type === 'threadArchived' }, changes: NOTHING };
    case 'settingsChanged':
      return { meta: { ...meta, settings: event.settings }, changes: NOTHING };
    case 'threadRead':
      return { meta: { ...meta, readState: { firstUnread: null, revision: event.revision } }, changes: NOTHING };
    case 'threadUnread':
      return {
        meta: { ...meta, readState: { firstUnread: { type: 'threadStart' }, revision: event.revision } },
        changes: NOTHING,
      };
    case 'gitInfoChanged':
      return { meta: { ...meta, gitInfo: event.gitInfo }, changes: NOTHING };
    case 'goalChanged':
      // As in the reference, a thread that begins with a goal is known by it, also when it is gone.
      return {
        meta: { ...meta, goal: event.goal, preview: meta.preview || previewText(event.goal?.objective ?? '') },
        changes: NOTHING,
      };
    case 'queueChanged':
      return { meta: { ...meta, queue: event.queue }, changes: NOTHING };
    case 'sectionChanged':
      return { meta: { ...meta, section: event.section }, changes: NOTHING };
    case 'attachmentAdded':
      return {
        meta: meta.hasAttachments ? meta : { ...meta, hasAttachments: true },
        changes: [{ change: 'attachment', seq, attachment: event.attachment }],
      };
    case 'attachmentRemoved': {
      const { attachmentType, identityKey } = event;
      return { meta, changes: [{ change: 'attachmentRemoved', attachmentType, identityKey }] };
    }
    case 'approvalRequested':
      return event.turnId === '' ? openAside(meta, seq, event) : { meta, changes: NOTHING };
    case 'approvalResolved':
      return event.turnId === '' ? closeAside(meta, event) : { meta, changes: NOTHING };
    case 'usageReported':
      return { meta: { ...meta, usage: event.total }, changes: NOTHING };
    case 'turnStarted':
      return startTurn(meta, stored, event);
    case 'itemStarted':
      return { meta, changes: placeItem(seq, event, tables) };
    case 'itemCompleted':
      return completeItem(meta, seq, event, tables);
    case 'terminalLeft': {
      const { turnId, itemId } = event;
      return { meta: { ...meta, terminals: [...meta.terminals, { turnId, itemId }] }, changes: NOTHING };
    }
    case 'contextAdded':
      return { meta, changes: addContext(seq, event.turnId, tables) };
    case 'turnCompleted':
      return completeTurn(meta, stored, event, tables);
    case 'turnsReverted':
      return revertTurns(meta, event, tables);
    default:
      return { meta, changes: NOTHING };
  }
}

function openAside(meta: ThreadMeta, seq: Seq, event: EventOf<'approvalRequested'>): Derived {
  const { requestId } = event;
  const { id: approvalId, nonce } = event.proposal;
  const asides = [...meta.asides, { approvalId, nonce, requestId }];
  return { meta: { ...meta, asides }, changes: [{ change: 'asideOpened', approvalId, seq }] };
}

function closeAside(meta: ThreadMeta, { approvalId }: EventOf<'approvalResolved'>): Derived {
  const asides = meta.asides.filter((each) => each.approvalId !== approvalId);
  return { meta: { ...meta, asides }, changes: [{ change: 'asideClosed', approvalId }] };
}

function startTurn(meta: ThreadMeta, { seq, atMs }: StoredEvent, event: EventOf<'turnStarted'>): Derived {
  const { turnId } = event;
  const row: TurnSpan = {
    id: turnId,
    seq,
    rootTurnId: event.rootTurnId,
    status: 'inProgress',
    error: null,
    startedAtMs: event.startedAtMs,
    completedAtMs: null,
    durationMs: null,
    firstUserItemId: null,
    lastMessageId: null,
  };
  return {
    meta: {
      ...meta,
      turnCount: meta.turnCount + 1,
      ...touched(meta, atMs),
      preview: meta.preview || previewText(event.preview),
      failed: false,
    },
    changes: [
      { change: 'turn', row },
      { change: 'turnOpened', turnId, seq },
    ],
  };
}

const previewText = (text: string): string => text.slice(0, MAX_PREVIEW).replace(/[\ud800-\udbff]$/, '');

/** What a fork has from its source is older than itself. */
function touched({ createdAtMs }: ThreadMeta, atMs: number): Pick<ThreadMeta, 'updatedAtMs' | 'recencyAtMs'> {
  const ms = Math.max(createdAtMs, atMs);
  return { updatedAtMs: ms, recencyAtMs: ms };
}

function placeItem(
  seq: Seq,
  { turnId, item }: EventOf<'itemStarted'> | EventOf<'itemCompleted'>,
  tables: TableReader,
): readonly Change[] {
  const place = tables.itemSeq(item.id);
  const changes: Change[] = [{ change: 'item', row: { seq: place ?? seq, turnId, item } }];
  const turn = tables.turn(turnId);
  if (place !== undefined || turn === undefined) return changes;
  const row = withItem(turn, item, seq);
  if (row !== turn) changes.push({ change: 'turn', row });
  return changes;
}

function completeItem(meta: ThreadMeta, seq: Seq, event: EventOf<'itemCompleted'>, tables: TableReader): Derived {
  const changes = placeItem(seq, event, tables);
  const { id } = event.item;
  const terminals = meta.terminals.filter(({ itemId }) => itemId !== id);
  if (terminals.length === meta.terminals.length) return { meta, changes };
  const turn = tables.turn(event.turnId);
  const hasEnded = turn?.endSeq !== undefined;
  return {
    meta: { ...meta, terminals },
    changes: hasEnded ? [...changes, { change: 'itemClosed', turn, running: runningIn(terminals, turn.id) }] : changes,
  };
}

/** What follows from the beginning of an item of which only the place is left. */
export function derivePlace({ seq, turnId, itemId, type }: ItemPlace, tables: TableReader): readonly Change[] {
  if (tables.itemSeq(itemId) !== undefined) return NOTHING;
  const turn = tables.turn(turnId);
  const row = turn && withItem(turn, { id: itemId, type }, seq);
  const place: Change = { change: 'itemPlace', itemId, seq };
  return row === undefined || row === turn ? [place] : [place, { change: 'turn', row }];
}

/** The turn's row after a new item of it; the same object when nothing changes. */
function withItem(turn: TurnSpan, item: Pick<Item, 'id' | 'type'>, seq: Seq): TurnSpan {
  const span = reaching(turn, seq);
  if (item.type === 'userMessage' && span.firstUserItemId === null) return { ...span, firstUserItemId: item.id };
  if (item.type === 'agentMessage') return { ...span, lastMessageId: item.id };
  return span;
}

/** A turn that has ended covers what is added to it afterwards. */
const reaching = (turn: TurnSpan, seq: Seq): TurnSpan =>
  turn.endSeq !== undefined && turn.endSeq < seq ? { ...turn, endSeq: seq } : turn;

function addContext(seq: Seq, turnId: TurnId, tables: TableReader): readonly Change[] {
  const context: Change = { change: 'context', seq, turnId };
  const turn = tables.turn(turnId);
  return turn?.endSeq === undefined ? [context] : [context, { change: 'turn', row: reaching(turn, seq) }];
}

function completeTurn(
  meta: ThreadMeta,
  { seq, atMs }: StoredEvent,
  event: EventOf<'turnCompleted'>,
  tables: TableReader,
): Derived {
  const after: ThreadMeta = {
    ...meta,
    ...touched(meta, atMs),
    failed: event.status === 'failed',
    readState: isWorthReading(event)
      ? {
          firstUnread: meta.readState.firstUnread ?? { type: 'turn', turnId: event.turnId },
          revision: event.revision,
        }
      : meta.readState,
  };
  const turn = tables.turn(event.turnId);
  if (turn === undefined) return { meta: after, changes: NOTHING };
  const row: TurnSpan = {
    ...turn,
    status: event.status,
    error: event.error,
    startedAtMs: event.startedAtMs,
    completedAtMs: event.completedAtMs,
    durationMs: event.durationMs,
    lastMessageId: event.lastMessageId ?? turn.lastMessageId,
    endSeq: seq,
  };
  return {
    meta: after,
    changes: [
      { change: 'turn', row },
      {
        change: 'turnClosed',
        row,
        running: runningIn(meta.terminals, row.id),
      },
    ],
  };
}

const runningIn = (terminals: ThreadMeta['terminals'], id: TurnId): ItemId[] =>
  terminals.flatMap(({ turnId, itemId }) => (turnId === id ? [itemId] : []));

/** A turn leaves something unread when it ended with words or a failure; as in the reference. */
export const isWorthReading = (event: EventOf<'turnCompleted'>): boolean =>
  event.status === 'failed' || (event.status === 'completed' && event.lastMessageId !== null);

function revertTurns(meta: ThreadMeta, event: EventOf<'turnsReverted'>, tables: TableReader): Derived {
  const rows = event.turnIds.map((turnId) => tables.turn(turnId)).filter((row) => row !== undefined);
  const { firstUnread } = meta.readState;
  const readState =
    firstUnread?.type === 'turn' && event.turnIds.includes(firstUnread.turnId)
      ? { ...meta.readState, firstUnread: null }
      : meta.readState;
  return {
    meta: {
      ...meta,
      turnCount: Math.max(0, meta.turnCount - rows.length),
      readState,
      terminals: meta.terminals.filter(({ turnId }) => !event.turnIds.includes(turnId)),
    },
    changes: rows.map((row) => ({ change: 'turnReverted', row })),
  };
}
