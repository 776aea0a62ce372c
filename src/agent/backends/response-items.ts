// One answer of a model turned into items: model events in, backend events and context out.

import { GrowingText } from '../../base/growing-text.ts';
import type { ContextItem } from '../../model/context.ts';
import type { ItemId } from '../../model/ids.ts';
import type { ThreadSettings } from '../../model/thread.ts';
import type { WebSearchAction } from '../../model/web-search.ts';
import type { BackendEvent } from '../backend.ts';
import { isPlanning } from '../collaboration.ts';
import type { ModelEvent } from '../models/client.ts';
import { PatchPreview } from '../patch/preview.ts';
import type { Conversation } from './conversation.ts';
import { PlanningMessage } from './proposed-plan.ts';

type Phase = Extract<ModelEvent, { type: 'messageStarted' }>['phase'];
interface OpenMessage {
  readonly type: 'message';
  readonly id: ItemId;
  readonly phase: Phase;
  readonly text: GrowingText;
  /** Of a turn that plans: what people are shown of it. */
  readonly planning: PlanningMessage | undefined;
}
interface OpenReasoning {
  readonly type: 'reasoning';
  readonly id: ItemId;
  readonly summary: GrowingText[];
  readonly content: GrowingText[];
}

export class ResponseItems {
  readonly #conversation: Conversation;
  readonly #provider: string;
  readonly #contextWindow: number | null;
  readonly #isPlanning: boolean;
  /** Reasoning and calls that wait for what makes them whole. */
  #pending: ContextItem[] = [];
  #open: OpenMessage | OpenReasoning | undefined;
  /** The search of the provider that is under way. */
  #search: { readonly itemId: ItemId; readonly action: WebSearchAction } | undefined;
  #patch: { readonly callId: string; readonly preview: PatchPreview } | undefined;
  #finished: Extract<ModelEvent, { type: 'finished' }>['reason'] | undefined;

  constructor(conversation: Conversation, settings: ThreadSettings, contextWindow: number | null) {
    this.#conversation = conversation;
    this.#provider = settings.modelProvider;
    this.#contextWindow = contextWindow;
    this.#isPlanning = isPlanning(settings);
  }

  /** Why the answer ended, once it has. */
  get finished() {
    return this.#finished;
  }

  accept(events: readonly ModelEvent[]): readonly BackendEvent[] {
    const out: BackendEvent[] = [];
    for (const [index, event] of events.entries()) this.#accept(event, events[index + 1], out);
    return out;
  }

  #preview({ callId, parts }: Extract<ModelEvent, { type: 'toolInput' }>, out: BackendEvent[]): void {
    if (this.#patch?.callId !== callId) this.#patch = { callId, preview: new PatchPreview() };
    const changes = this.#patch.preview.add(parts);
    if (changes) out.push({ type: 'patchWritten', callId, changes });
  }

  /** Ends the open item with what there is of it; `keep`: the model is to know what it had said when it was stopped. */
  cutShort(keep: boolean): readonly BackendEvent[] {
    const out: BackendEvent[] = [];
    const open = this.#open;
    if (open?.type === 'message') {
      const text = open.text.toString();
      out.push(...completed(open, text));
      if (keep) this.#addContext(said(open, text), out);
    }
    if (open?.type === 'reasoning') {
      const [summary, content] = [open.summary.map(String), open.content.map(String)];
      out.push({ type: 'reasoningCompleted', itemId: open.id, summary, content });
    }
    this.#open = undefined;
    // Calls that were never made, and reasoning whose rest is missing, would only confuse the model.
    this.#pending = [];
    return out;
  }

  #accept(event: ModelEvent, next: ModelEvent | undefined, out: BackendEvent[]): void {
    switch (event.type) {
      case 'messageStarted':
        this.#startMessage(event.id, event.phase, out, next?.type === 'messageCompleted' ? next.text : '');
        return;
      case 'text': {
        const message = this.#message(out);
        message.text.add(event.parts);
        out.push(...(message.planning?.add(event.parts) ?? [{ type: 'text', itemId: message.id, parts: event.parts }]));
        return;
      }
      case 'messageCompleted':
        this.#completeMessage(this.#message(out), event.text, event.phase, out);
        return;
      case 'reasoningStarted':
        this.#startReasoning(event.id, out);
        return;
      case 'summaryPartAdded':
        out.push({ type: 'summaryPartAdded', itemId: this.#reasoning(out).id, index: event.index });
        return;
      case 'summaryText':
      case 'reasoningText': {
        const reasoning = this.#reasoning(out);
        const texts = event.type === 'summaryText' ? reasoning.summary : reasoning.content;
        for (let index = texts.length; index <= event.index; index++) texts.push(new GrowingText());
        texts[event.index]?.add(event.parts);
        out.push({ type: event.type, itemId: reasoning.id, index: event.index, parts: event.parts });
        return;
      }
      case 'reasoningCompleted':
        this.#completeReasoning(event, out);
        return;
      case 'toolInput':
        this.#preview(event, out);
        return;
      case 'toolCall': {
        const callId = this.#conversation.claim(event.callId, 'call');
        const { name, arguments: given, custom } = event;
        this.#pending.push({ type: 'toolCall', callId, name, arguments: given, ...(custom ? { custom } : {}) });
        return;
      }
      case 'webSearch':
        this.#followSearch(event, out);
        return;
      case 'usage':
        out.push({ type: 'usage', usage: event.usage, contextWindow: this.#contextWindow });
        return;
      case 'finished':
        this.#finish(event.reason, out);
    }
  }

  /** `text`: of a message that comes whole. */
  #startMessage(id: string | null, phase: Phase, out: BackendEvent[], text = ''): OpenMessage {
    const itemId = this.#conversation.claim(id, 'msg');
    const planning = this.#isPlanning ? new PlanningMessage(itemId, phase) : undefined;
    const open: OpenMessage = { type: 'message', id: itemId, phase, text: new GrowingText(), planning };
    this.#open = open;
    if (!planning) out.push({ type: 'messageStarted', itemId, phase, ...(text === '' ? {} : { text }) });
    return open;
  }

  #startReasoning(id: string | null, out: BackendEvent[]): OpenReasoning {
    const open: OpenReasoning = {
      type: 'reasoning',
      id: this.#conversation.claim(id, 'rs'),
      summary: [],
      content: [],
    };
    this.#open = open;
    out.push({ type: 'reasoningStarted', itemId: open.id });
    return open;
  }

  #followSearch({ id, action, isDone }: Extract<ModelEvent, { type: 'webSearch' }>, out: BackendEvent[]): void {
    if (isDone && this.#search) {
      out.push({ type: 'searchCompleted', itemId: this.#search.itemId, action });
      this.#search = undefined;
      return;
    }
    // One that nothing more was told of.
    if (this.#search) out.push({ type: 'searchCompleted', ...this.#search });
    const itemId = this.#conversation.claim(id, 'ws');
    this.#search = isDone ? undefined : { itemId, action };
    out.push({ type: 'searchStarted', itemId, action });
    if (isDone) out.push({ type: 'searchCompleted', itemId, action });
  }

  #message(out: BackendEvent[]): OpenMessage {
    return this.#open?.type === 'message' ? this.#open : this.#startMessage(null, null, out);
  }

  #reasoning(out: BackendEvent[]): OpenReasoning {
    return this.#open?.type === 'reasoning' ? this.#open : this.#startReasoning(null, out);
  }

  /** What was said is the model's own from now on, with the reasoning that led to it, even if the answer breaks off. */
  #completeMessage(open: OpenMessage, text: string, phase: Phase, out: BackendEvent[]): void {
    out.push(...completed(open, text));
    const message = said({ ...open, phase: phase ?? open.phase }, text);
    const lastCall = this.#pending.findLastIndex((item) => item.type === 'toolCall');
    if (message.length > 0) this.#addContext([...this.#pending.splice(lastCall + 1), ...message], out);
    this.#open = undefined;
  }

  #completeReasoning(event: Extract<ModelEvent, { type: 'reasoningCompleted' }>, out: BackendEvent[]): void {
    const { id } = this.#reasoning(out);
    const summary = [...event.summary];
    const content = [...event.content];
    out.push({ type: 'reasoningCompleted', itemId: id, summary, content });
    this.#pending.push({ type: 'reasoning', id, summary, content, provider: this.#provider, sealed: event.sealed });
    this.#open = undefined;
  }

  /** Only an answer that is whole may have its calls made. */
  #finish(reason: Extract<ModelEvent, { type: 'finished' }>['reason'], out: BackendEvent[]): void {
    this.#finished = reason;
    if (reason === 'stop' || reason === 'toolCalls') this.#addContext(this.#pending, out);
    this.#pending = [];
  }

  #addContext(items: readonly ContextItem[], out: BackendEvent[]): void {
    if (items.length === 0) return;
    this.#conversation.add(items);
    out.push({ type: 'contextAdded', items });
  }
}

function completed({ id, planning }: OpenMessage, text: string): readonly BackendEvent[] {
  return planning?.complete(text) ?? [{ type: 'messageCompleted', itemId: id, text }];
}

/** The message in the model's view; nothing where nothing was said. */
const said = (message: { readonly id: ItemId; readonly phase: Phase }, text: string): readonly ContextItem[] =>
  text === '' ? [] : [{ type: 'assistant', id: message.id, text, phase: message.phase }];
