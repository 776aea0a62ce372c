// One turn: what a backend reports becomes items of the thread; everything that was begun is completed, however the turn ends.

import type { TurnPort } from '../approvals/thread-port.ts';
import { isAppError } from '../base/errors.ts';
import { GrowingText } from '../base/growing-text.ts';
import type { Log } from '../base/log.ts';
import { throwIfAborted } from '../base/signals.ts';
import type { ContextItem } from '../model/context.ts';
import type { EventOf, ThreadEvent } from '../model/event.ts';
import type { ItemId } from '../model/ids.ts';
import { agentMessage, type Item, planItem, reasoning, webSearch } from '../model/item.ts';
import { addUsage, type TokenUsage, type TurnError, turnError } from '../model/turn.ts';
import type { Backend, BackendEvent, ToolHost, TurnRequest } from './backend.ts';

export type TurnEnd =
  | { readonly status: 'completed' }
  | { readonly status: 'failed'; readonly error: TurnError }
  | { readonly status: 'interrupted' };

/** `contextFull`: the turn goes on when the model's view has been made shorter. */
export type TurnStop = TurnEnd | { readonly status: 'contextFull' };

export interface LoopOptions {
  readonly port: TurnPort;
  readonly backend: Backend;
  readonly tools: ToolHost;
  readonly request: TurnRequest;
  /** Tokens of the thread before this turn. */
  readonly usage: TokenUsage;
  /** Why nothing more may be asked or done, once that is so; an answer that needs neither is still whole. */
  readonly spent: () => TurnError | undefined;
  readonly now: () => number;
  readonly log: Log;
}

/**
 * Runs the backend to its end or until the signal aborts; never rejects. When it settles, no item of the backend's own is open
 * and everything is handed to the log. Items of tools are completed by the tools.
 */
export async function runTurn(options: LoopOptions, signal: AbortSignal): Promise<TurnStop> {
  const spentAlready = options.spent();
  if (spentAlready) return { status: 'failed', error: spentAlready };
  const recorder = new Recorder(options);
  try {
    for await (const events of options.backend.run(options.request, options.tools, signal)) {
      throwIfAborted(signal);
      const spentBefore = options.spent();
      if (spentBefore) return { status: 'failed', error: spentBefore };
      const error = await recorder.take(events);
      if (error) return { status: 'failed', error };
      if (events.some(({ type }) => type === 'contextFull')) return { status: 'contextFull' };
      const spent = events.some(holdsCalls) ? options.spent() : undefined;
      if (spent) return { status: 'failed', error: spent };
    }
    return signal.aborted ? { status: 'interrupted' } : { status: 'completed' };
  } catch (error) {
    if (signal.aborted || isAppError(error, 'cancelled')) return { status: 'interrupted' };
    options.log.error(
      { err: error, threadId: options.request.threadId, turnId: options.request.turnId },
      'a turn failed by a defect',
    );
    return {
      status: 'failed',
      error: turnError('the turn failed inside the server; its log has the details', 'other'),
    };
  } finally {
    await recorder
      .completeOpenItems()
      .catch((error: unknown) => options.log.error({ err: error }, 'open items could not be stored'));
  }
}

const holdsCalls = (event: BackendEvent): boolean =>
  event.type === 'contextAdded' && event.items.some((item) => item.type === 'toolCall');

type TextEvent = Extract<BackendEvent, { type: 'text' | 'planText' | 'summaryText' | 'reasoningText' }>;

const isText = (event: BackendEvent): event is TextEvent =>
  event.type === 'text' || event.type === 'planText' || event.type === 'summaryText' || event.type === 'reasoningText';

/** Characters of streamed text that may be on their way to the disk before the model is slowed down. */
const MAX_WAITING_TEXT = 1024 * 1024;

/** Bytes of UTF-8 of one message or thought; what comes beyond ends the turn, because the whole would not fit into a frame. */
const MAX_ITEM_BYTES = 12 * 1024 * 1024;
const MAX_PART = 64 * 1024;

const textLength = (event: ThreadEvent): number =>
  event.type === 'delta' ? event.parts.reduce((sum, part) => sum + part.length, 0) : 0;

/** A text as pieces that each fit a frame with ease; no character is cut apart. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > MAX_PART) {
    const isPair = (text.charCodeAt(from + MAX_PART - 1) & 0xfc00) === 0xd800;
    const to = from + MAX_PART - (isPair ? 1 : 0);
    parts.push(text.slice(from, to));
    from = to;
  }
  parts.push(text.slice(from));
  return parts;
}

interface OpenItem {
  item: Extract<Item, { type: 'agentMessage' | 'plan' | 'reasoning' | 'webSearch' }>;
  /** Of a message or plan. */
  readonly text: GrowingText;
  readonly summary: GrowingText[];
  readonly content: GrowingText[];
  /** Of all its texts. */
  bytes: number;
}

/** Turns the reports of one backend into stored events. */
class Recorder {
  readonly #options: LoopOptions;
  readonly #turn: { readonly turnId: string };
  /** By the backend's own id. */
  readonly #open = new Map<ItemId, OpenItem>();
  #usage: TokenUsage;
  /** Characters handed over since the log was last waited for. */
  #waitingText = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#turn = { turnId: options.request.turnId };
    this.#usage = options.usage;
  }

  /** Hands over what one read brought, as one; gives the error that ends the turn, if it holds one. */
  async take(events: readonly BackendEvent[]): Promise<TurnError | undefined> {
    const stored: ThreadEvent[] = [];
    let mustBeDurable = false;
    for (const event of events) {
      if (event.type === 'failed') {
        await this.#hand(stored, false);
        return event.error;
      }
      mustBeDurable ||= holdsCalls(event);
      if (this.#isTooLong(event)) {
        await this.#hand(stored, false);
        return turnError(`the model said more than ${MAX_ITEM_BYTES} bytes in one item`, 'other');
      }
      if (isText(event)) stored.push(...this.#textOf(event));
      else stored.push(...(await this.#eventsOf(event)));
    }
    await this.#hand(stored, mustBeDurable);
    return undefined;
  }

  /** Waits for the disk where it must, or when too much text is on its way there. */
  async #hand(events: readonly ThreadEvent[], mustBeDurable: boolean): Promise<void> {
    if (events.length === 0) return;
    const done = this.#options.port.append(events);
    this.#waitingText += events.reduce((sum, event) => sum + textLength(event), 0);
    if (mustBeDurable || this.#waitingText > MAX_WAITING_TEXT) {
      await done;
      this.#waitingText = 0;
    } else {
      done.catch((error: unknown) => this.#options.log.error({ err: error }, 'events of a turn could not be stored'));
    }
  }

  /** Completes what the backend left open, with the text so far; what it said becomes part of the model's view. */
  async completeOpenItems(): Promise<void> {
    const events: ThreadEvent[] = [];
    for (const open of this.#open.values()) {
      const item = this.#finished(open);
      events.push({ type: 'itemCompleted', ...this.#turn, item });
      if (item.type === 'agentMessage' && item.text !== '') {
        const said: ContextItem = { type: 'assistant', id: item.id, text: item.text, phase: item.phase };
        events.push({ type: 'contextAdded', ...this.#turn, items: [said] });
      }
    }
    this.#open.clear();
    if (events.length > 0) await this.#options.port.append(events);
  }

  #textOf(event: TextEvent): ThreadEvent[] {
    const open = this.#open.get(event.itemId);
    if (!open) return [];
    const parts = event.parts.flatMap(partsOf);
    for (const part of parts) open.bytes += Buffer.byteLength(part);
    const { turnId } = this.#turn;
    const itemId = open.item.id;
    if (event.type === 'text' || event.type === 'planText') {
      open.text.add(event.parts);
      return [{ type: 'delta', turnId, itemId, parts, stream: event.type === 'text' ? 'text' : 'plan' }];
    }
    const isSummary = event.type === 'summaryText';
    const texts = isSummary ? open.summary : open.content;
    const text = texts[event.index] ?? new GrowingText();
    texts[event.index] = text;
    text.add(event.parts);
    const stream = isSummary ? 'summary' : 'reasoning';
    return [{ type: 'delta', turnId, itemId, parts, stream, index: event.index }];
  }

  #isTooLong(event: BackendEvent): boolean {
    if (event.type === 'messageCompleted' || event.type === 'planCompleted')
      return Buffer.byteLength(event.text) > MAX_ITEM_BYTES;
    if (!isText(event)) return false;
    const before = this.#open.get(event.itemId)?.bytes ?? 0;
    return event.parts.reduce((sum, part) => sum + Buffer.byteLength(part), before) > MAX_ITEM_BYTES;
  }

  async #eventsOf(event: Exclude<BackendEvent, TextEvent | { type: 'failed' }>): Promise<ThreadEvent[]> {
    switch (event.type) {
      case 'messageStarted':
        return [
          await this.#begin(
            event.itemId,
            (id, atMs) => ({ ...agentMessage(id, event.phase, atMs), text: event.text ?? '' }),
            'msg',
          ),
        ];
      case 'reasoningStarted':
        return [await this.#begin(event.itemId, reasoning, 'rs')];
      case 'searchStarted':
        return [await this.#begin(event.itemId, (id, atMs) => webSearch(id, event.action, atMs), 'ws')];
      case 'searchCompleted':
        return this.#complete(event.itemId, (item) =>
          item.type === 'webSearch' ? { ...webSearch(item.id, event.action, 0), startedAtMs: item.startedAtMs } : item,
        );
      case 'planStarted':
        return [await this.#begin(event.itemId, planItem, 'plan')];
      case 'planCompleted':
        return this.#complete(event.itemId, (item) => (item.type === 'plan' ? { ...item, text: event.text } : item));
      case 'messageCompleted':
        return this.#complete(event.itemId, (item) =>
          item.type === 'agentMessage' ? { ...item, text: event.text } : item,
        );
      case 'reasoningCompleted':
        return this.#complete(event.itemId, (item) =>
          item.type === 'reasoning' ? { ...item, summary: [...event.summary], content: [...event.content] } : item,
        );
      case 'summaryPartAdded': {
        const open = this.#open.get(event.itemId);
        return open ? [{ type: 'summaryPartAdded', ...this.#turn, itemId: open.item.id, index: event.index }] : [];
      }
      case 'patchWritten':
        return [{ type: 'patchWritten', ...this.#turn, itemId: event.callId, changes: [...event.changes] }];
      case 'contextAdded':
        return [{ type: 'contextAdded', ...this.#turn, items: [...event.items] }];
      case 'usage':
        return [this.#report(event.usage, event.contextWindow)];
      case 'retrying':
        await this.completeOpenItems();
        return [{ type: 'errorReported', ...this.#turn, error: event.error, willRetry: true }];
      case 'warning':
        return [{ type: 'warned', ...this.#turn, message: event.message }];
      case 'contextFull':
        return [];
    }
  }

  async #begin(
    own: ItemId,
    make: (id: ItemId, atMs: number) => OpenItem['item'],
    prefix: string,
  ): Promise<ThreadEvent> {
    const id = await this.#options.port.uniqueItemId(own === '' ? null : own, prefix);
    const item = make(id, this.#options.now());
    this.#open.set(own, { item, text: new GrowingText(), summary: [], content: [], bytes: 0 });
    return { type: 'itemStarted', ...this.#turn, item };
  }

  #complete(own: ItemId, finish: (item: OpenItem['item']) => OpenItem['item']): ThreadEvent[] {
    const open = this.#open.get(own);
    if (!open) return [];
    this.#open.delete(own);
    const item = { ...finish(open.item), completedAtMs: this.#options.now() };
    return [{ type: 'itemCompleted', ...this.#turn, item }];
  }

  #finished(open: OpenItem): OpenItem['item'] {
    const completedAtMs = this.#options.now();
    if (open.item.type === 'webSearch') return { ...open.item, completedAtMs };
    if (open.item.type !== 'reasoning') return { ...open.item, text: open.text.toString(), completedAtMs };
    const texts = (grown: GrowingText[]) => Array.from(grown, (text) => text?.toString() ?? '');
    return { ...open.item, summary: texts(open.summary), content: texts(open.content), completedAtMs };
  }

  #report(usage: TokenUsage, contextWindow: number | null): EventOf<'usageReported'> {
    this.#usage = addUsage(this.#usage, usage);
    return { type: 'usageReported', ...this.#turn, total: this.#usage, last: usage, contextWindow };
  }
}
