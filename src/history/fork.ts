// A fork: what the turns of a thread were at some point of its log, as another thread with storage of its own.

import type { ContextItem } from '../model/context.ts';
import { type DeltaEvent, lastSeq, type StoredEvent, type ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import { noSuchThread } from '../model/missing.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { copyRows, NotCopied, OF_THE_THREAD } from './fork-rows.ts';
import { keptRecords } from './kept-records.ts';
import { type CopyTarget, LogCopy } from './log-copy.ts';
import { prepare } from './log-writer.ts';
import type { Source } from './reader.ts';
import { decode } from './records.ts';
import { inSteps } from './rows.ts';
import { DELTA_STEP } from './spent-deltas.ts';
import type { EventToStore } from './store.ts';
import type { TurnSpan } from './tables.ts';

const OUTCOME_UNKNOWN = 'this conversation was forked before the call ended; its outcome is unknown';
const FORKED_NOTE = 'This conversation was forked while the previous turn ran; here that turn ends as interrupted.';

export interface ForkRequest {
  readonly source: ThreadId;
  readonly at: Seq;
  readonly meta: ThreadMeta;
  readonly now: () => number;
  /** Inside the last transaction. */
  readonly record: () => void;
}

/** See `ThreadStore.fork`. */
export async function forkThread(target: CopyTarget, request: ForkRequest, isQuick = true): Promise<Seq> {
  const { source, at, meta, now, record } = request;
  const { rows, keys } = target;
  const isThere = () => {
    if (rows.get(keys.head(source)) === undefined) throw noSuchThread(source);
  };
  isThere();
  const copy = await LogCopy.begin(target, meta);
  try {
    const open = new OpenParts();
    const created: EventToStore = { atMs: meta.createdAtMs, event: { type: 'threadCreated', meta } };
    const first = prepare(0, [created]);
    await target.blobs.write(new Map(first.flatMap(({ encoded }) => [...encoded.contents])));
    await copy.add(first.map(({ stored, encoded }) => ({ stored, text: encoded.text, refs: encoded.refs })));
    const done = isQuick ? await copyRows(target, copy, source, at, isThere) : 0;
    for await (const records of keptRecords(target, source, done + 1, at)) {
      const taken = records.filter((record) => 'gap' in record || !OF_THE_THREAD.has(record.stored.event.type));
      for (const record of taken) if (!('gap' in record)) open.note(record.stored.event);
      await copy.add(taken, isThere);
    }
    const texts =
      copy.open.size === 0 ? new Map<ItemId, string>() : streamedTexts(target, source, [...copy.open.values()], at);
    const atMs = now();
    const endings = [...copy.open.values()].flatMap((turn) => open.endingsOf(turn, texts, atMs, meta));
    const read: ThreadEvent = { type: 'threadRead', throughTurnId: null, revision: meta.readState.revision };
    const last = [...endings, read].map((event) => ({ atMs, event }));
    return await finish(target, copy, last, record);
  } catch (error) {
    await copy.abandon();
    if (error instanceof NotCopied) return forkThread(target, request, false);
    throw error;
  }
}

/** With the long values of what is added on disk before it. */
async function finish(target: CopyTarget, copy: LogCopy, last: readonly EventToStore[], record: () => void) {
  const contents = new Map(prepare(copy.seq, last).flatMap(({ encoded }) => [...encoded.contents]));
  await target.blobs.write(contents);
  try {
    return await copy.finish(last, record);
  } finally {
    target.blobs.settle(contents);
  }
}

/** What was streamed up to `at` for items of these turns, as far as it is still there. */
function streamedTexts({ rows, keys }: Source, id: ThreadId, turns: readonly TurnSpan[], at: Seq): Map<ItemId, string> {
  const ids = new Set(turns.map((turn) => turn.id));
  const from = Math.min(...turns.map((turn) => turn.seq));
  const pieces = new Map<ItemId, string[]>();
  const range = { from: keys.deltasFrom(id, from), to: keys.deltasFrom(id, at + 1) };
  for (const row of inSteps(rows, range, DELTA_STEP)) {
    if (row.isDamaged) continue;
    const { value } = decode<StoredEvent<DeltaEvent>>(row.text);
    if (!ids.has(value.event.turnId)) continue;
    const parts = lastSeq(value) > at ? value.event.parts.slice(0, at + 1 - value.seq) : value.event.parts;
    const known = pieces.get(value.event.itemId);
    if (known) known.push(...parts);
    else pieces.set(value.event.itemId, [...parts]);
  }
  return new Map([...pieces].map(([itemId, parts]) => [itemId, parts.join('')]));
}

/** The items and calls of turns that have not ended. */
class OpenParts {
  readonly #items = new Map<TurnId, Map<ItemId, Item>>();
  readonly #calls = new Map<TurnId, Set<string>>();

  note(event: ThreadEvent): void {
    switch (event.type) {
      case 'turnStarted':
        this.#items.set(event.turnId, new Map());
        this.#calls.set(event.turnId, new Set());
        return;
      case 'itemStarted':
        this.#items.get(event.turnId)?.set(event.item.id, event.item);
        return;
      case 'itemCompleted':
        this.#items.get(event.turnId)?.delete(event.item.id);
        return;
      case 'contextAdded':
        for (const item of event.items) {
          if (item.type === 'toolCall') this.#calls.get(event.turnId)?.add(item.callId);
          if (item.type === 'toolOutput') this.#calls.get(event.turnId)?.delete(item.callId);
        }
        return;
      case 'turnCompleted':
        this.#forget(event.turnId);
        return;
      case 'turnsReverted':
        for (const turnId of event.turnIds) this.#forget(turnId);
    }
  }

  endingsOf(turn: TurnSpan, texts: ReadonlyMap<ItemId, string>, atMs: number, meta: ThreadMeta): ThreadEvent[] {
    const turnId = turn.id;
    const items = [...(this.#items.get(turnId)?.values() ?? [])].map((item) => ended(item, texts.get(item.id), atMs));
    const outputs = [...(this.#calls.get(turnId) ?? [])].map(
      (callId): ContextItem => ({ type: 'toolOutput', callId, output: OUTCOME_UNKNOWN, success: false }),
    );
    const message = items.findLast((item) => item.type === 'agentMessage');
    return [
      ...items.map((item): ThreadEvent => ({ type: 'itemCompleted', turnId, item })),
      { type: 'contextAdded', turnId, items: [...outputs, { type: 'note', text: FORKED_NOTE }] },
      {
        type: 'turnCompleted',
        turnId,
        rootTurnId: turn.rootTurnId,
        status: 'interrupted',
        error: null,
        startedAtMs: turn.startedAtMs,
        completedAtMs: atMs,
        durationMs: null,
        lastMessageId: message?.id ?? turn.lastMessageId,
        revision: meta.readState.revision,
      },
    ];
  }

  #forget(turnId: TurnId): void {
    this.#items.delete(turnId);
    this.#calls.delete(turnId);
  }
}

/** What a call that was under way says of itself. */
const CUT_OFF = 'the call was cut off; whether it was carried out is not known';

function ended(item: Item, text: string | undefined, completedAtMs: number): Item {
  switch (item.type) {
    case 'agentMessage':
      return { ...item, text: text ?? item.text, completedAtMs };
    case 'reasoning':
      return { ...item, content: text === undefined ? item.content : [text], completedAtMs };
    case 'commandExecution':
      return {
        ...item,
        status: 'failed',
        aggregatedOutput: text ?? item.aggregatedOutput,
        outcome: 'unknown',
        completedAtMs,
      };
    case 'fileChange':
      return { ...item, status: 'failed', outcome: 'unknown', completedAtMs };
    case 'plan':
      return { ...item, text: text ?? item.text, completedAtMs };
    case 'dynamicToolCall':
      return { ...item, status: 'failed', contentItems: [], success: false, outcome: 'unknown', completedAtMs };
    case 'mcpToolCall':
      return { ...item, status: 'failed', error: { message: CUT_OFF }, outcome: 'unknown', completedAtMs };
    default:
      return { ...item, completedAtMs };
  }
}
