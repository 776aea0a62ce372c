// What comes back in the Responses wire form, one server event at a time.

import { modelNameOf } from '../../model/client-tool.ts';
import type { WebSearchAction } from '../../model/web-search.ts';
import type { ModelEvent } from './client.ts';
import { ModelError } from './client.ts';
import type { EventBatch } from './event-batch.ts';
import { countOf, type Loose, listOf, numberOf, parseLoosely, recordOf, textOf } from './loose.ts';
import { hintedDelayMs } from './retry-hint.ts';
import { usageOf } from './usage.ts';

/** Of the parts of a thought: each part below it is kept in mind. */
const MAX_INDEX = 1_000;

type Phase = Extract<ModelEvent, { type: 'messageStarted' }>['phase'];

/** Where a stream stands: which items have been announced, and whether tools were called. */
export class ResponsesEvents {
  readonly #batch: EventBatch;
  /** Index of the output item that is open, so that an item which comes whole is still announced. */
  #open: number | undefined;
  #calls = 0;
  readonly #watchedTool: string | undefined;
  /** Calls of the watched tool, by the place of their item. */
  readonly #watched = new Map<number, string>();

  constructor(batch: EventBatch, watchedTool?: string) {
    this.#batch = batch;
    this.#watchedTool = watchedTool;
  }

  /** Adds what the event says to the batch; true: it was the last of the answer. Throws a ModelError for a reported failure. */
  accept(data: string): boolean {
    if (data === '[DONE]') return false;
    const event = recordOf(parseLoosely(data));
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#batch.addText(textOf(event.delta));
        return false;
      case 'response.reasoning_summary_text.delta':
        this.#batch.addNumberedText('summaryText', countOf(event.summary_index, MAX_INDEX), textOf(event.delta));
        return false;
      case 'response.reasoning_text.delta':
        this.#batch.addNumberedText('reasoningText', countOf(event.content_index, MAX_INDEX), textOf(event.delta));
        return false;
      case 'response.reasoning_summary_part.added':
        this.#batch.add({ type: 'summaryPartAdded', index: countOf(event.summary_index, MAX_INDEX) });
        return false;
      case 'response.custom_tool_call_input.delta':
      case 'response.function_call_arguments.delta':
        this.#hear(event);
        return false;
      case 'response.output_item.added':
        this.#begin(event);
        return false;
      case 'response.output_item.done':
        this.#finishItem(event);
        return false;
      default:
        return this.#acceptRare(event);
    }
  }

  #acceptRare(event: Loose): boolean {
    const response = recordOf(event.response);
    switch (event.type) {
      case 'response.completed':
        this.#end(response, this.#calls > 0 ? 'toolCalls' : 'stop');
        return true;
      case 'response.incomplete':
        this.#end(response, incompleteReason(response));
        return true;
      case 'response.failed':
        throw reportedFailure(recordOf(response.error));
      case 'error':
        throw reportedFailure('error' in event ? recordOf(event.error) : event);
      case undefined:
        throw new ModelError('the stream held an event that is no JSON object', { kind: 'stream' });
      default:
        return false;
    }
  }

  #begin(event: Loose): void {
    const item = recordOf(event.item);
    if (this.#watchedTool !== undefined && item.name === this.#watchedTool)
      this.#watched.set(numberOf(event.output_index), textOf(item.call_id));
    if (item.type === 'message') this.#batch.add({ type: 'messageStarted', id: idIn(item), phase: phaseIn(item) });
    else if (item.type === 'reasoning') this.#batch.add({ type: 'reasoningStarted', id: idIn(item) });
    else if (item.type === 'web_search_call') this.#batch.add(searchIn(item, false));
    else return;
    this.#open = numberOf(event.output_index);
  }

  #hear(event: Loose): void {
    const callId = this.#watched.get(numberOf(event.output_index));
    if (callId) this.#batch.addInput(callId, textOf(event.delta));
  }

  #finishItem(event: Loose): void {
    const item = recordOf(event.item);
    const isAnnounced = this.#open !== undefined && this.#open === numberOf(event.output_index);
    switch (item.type) {
      case 'message':
        if (!isAnnounced) this.#begin(event);
        this.#batch.add({ type: 'messageCompleted', text: messageText(item), phase: phaseIn(item) });
        break;
      case 'reasoning':
        if (!isAnnounced) this.#begin(event);
        this.#batch.add({
          type: 'reasoningCompleted',
          summary: textsOf(item.summary),
          content: textsOf(item.content),
          sealed: textOf(item.encrypted_content) || null,
        });
        break;
      case 'web_search_call':
        if (!isAnnounced) this.#begin(event);
        this.#batch.add(searchIn(item, true));
        break;
      case 'function_call':
        this.#call(item, textOf(item.arguments));
        return;
      case 'custom_tool_call':
        this.#call(item, JSON.stringify({ input: textOf(item.input) }), { custom: true });
        return;
      default:
        return;
    }
    this.#open = undefined;
  }

  #call(item: Loose, argumentsText: string, form: { readonly custom?: true } = {}): void {
    this.#calls += 1;
    const callId = textOf(item.call_id) || null;
    const name = modelNameOf(textOf(item.namespace) || null, textOf(item.name));
    this.#batch.add({ type: 'toolCall', callId, name, arguments: argumentsText, ...form });
  }

  #end(response: Loose, reason: Extract<ModelEvent, { type: 'finished' }>['reason']): void {
    const usage = recordOf(response.usage);
    if ('input_tokens' in usage) this.#batch.add({ type: 'usage', usage: responsesUsage(usage) });
    this.#batch.add({ type: 'finished', reason });
  }
}

function searchIn(item: Loose, isDone: boolean): ModelEvent {
  return { type: 'webSearch', id: idIn(item), action: actionIn(recordOf(item.action)), isDone };
}

function actionIn(action: Loose): WebSearchAction {
  const told = (name: string) => textOf(action[name]) || null;
  switch (action.type) {
    case 'search': {
      const queries = Array.isArray(action.queries) ? action.queries.map(textOf) : null;
      return { type: 'search', query: told('query'), queries };
    }
    case 'open_page':
      return { type: 'openPage', url: told('url') };
    case 'find_in_page':
      return { type: 'findInPage', url: told('url'), pattern: told('pattern') };
    default:
      return { type: 'other' };
  }
}

const idIn = (item: Loose): string | null => textOf(item.id) || null;

function phaseIn(item: Loose): Phase {
  const phase = item.phase;
  return phase === 'commentary' || phase === 'final_answer' ? phase : null;
}

function messageText(item: Loose): string {
  return listOf(item.content)
    .map((part) => textOf(recordOf(part).text) || textOf(recordOf(part).refusal))
    .join('');
}

const textsOf = (parts: unknown): readonly string[] => listOf(parts).map((part) => textOf(recordOf(part).text));

function responsesUsage(usage: Loose) {
  return usageOf({
    input: numberOf(usage.input_tokens),
    cached: numberOf(recordOf(usage.input_tokens_details).cached_tokens),
    cacheWritten: 0,
    output: numberOf(usage.output_tokens),
    reasoning: numberOf(recordOf(usage.output_tokens_details).reasoning_tokens),
  });
}

function incompleteReason(response: Loose): 'length' | 'contentFilter' {
  const reason = textOf(recordOf(response.incomplete_details).reason);
  if (reason === 'max_output_tokens') return 'length';
  if (reason === 'content_filter') return 'contentFilter';
  throw new ModelError(`the model stopped: ${reason || 'no reason given'}`, { kind: 'reported', code: 'incomplete' });
}

function reportedFailure(error: Loose): ModelError {
  const message = textOf(error.message) || 'the model reported a failure without a reason';
  const code = textOf(error.code) || textOf(error.type);
  return new ModelError(
    message,
    { kind: 'reported', code: code === 'error' || code === '' ? null : code },
    { retryAfterMs: hintedDelayMs(message) },
  );
}
