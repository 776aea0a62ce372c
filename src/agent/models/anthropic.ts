// Models behind the Anthropic messages wire form, through its library.

import { bundle, type StreamForm } from './bundling-fetch.ts';
import { type ModelClient, ModelError, type ModelEvent, type ModelRequest, type ProviderAccess } from './client.ts';
import { endpoint, requestHeaders } from './endpoint.ts';
import type { ModelHttp } from './http.ts';
import type { LibraryCall, LibraryPrompt } from './library.ts';
import { libraryEvents, type ReasoningForm } from './library-events.ts';
import { libraryPrompt, libraryTools, type Reasoning, type ReasoningPart } from './library-prompt.ts';
import { parseLoosely, recordOf, textOf } from './loose.ts';
import { hintedDelayMs } from './retry-hint.ts';

/** The library takes 4096 for models that it does not know, and lowers this for those with less. */
const MAX_OUTPUT_TOKENS = 32_000;

/** Characters of an image in base64: the provider refuses a request with a larger one. */
const MAX_IMAGE = 5 * 1024 * 1024;

/** Thinking tokens; for models that take no budget the library asks for adaptive thinking instead. */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 10_000,
  high: 24_000,
  xhigh: 32_000,
};

export function anthropicClient(access: ProviderAccess, http: ModelHttp): ModelClient {
  return { stream: (request, signal) => stream(access, http, request, signal) };
}

async function* stream(
  access: ProviderAccess,
  http: ModelHttp,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], void> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  const authorization = access.apiKey === undefined ? {} : { 'x-api-key': access.apiKey };
  const headers = { 'anthropic-version': '2023-06-01', ...requestHeaders(access, authorization) };
  const bundled = bundle(http, anthropicForm, headers, access.streamIdleMs, signal);
  const model = createAnthropic({
    baseURL: endpoint({ ...access, query: {} }, '').replace(/\/$/, ''),
    // Never sent: headers are ours. Without one the library would look into the environment.
    apiKey: 'unused',
    fetch: (_, init) => bundled.fetch(endpoint(access, 'messages'), init),
  })(request.model);
  yield* libraryEvents(() => model.doStream(callOf(request, access, signal)), bundled, thinking, request.watchedTool);
}

/** Kept as JSON: the signature of a visible block, or the data of a hidden one. */
const thinking: ReasoningForm = {
  text: 'summaryText',
  seal(metadata) {
    const seal = Object.assign({}, ...metadata.map((each) => each.anthropic));
    return Object.keys(seal).length === 0 ? null : JSON.stringify(seal);
  },
};

function callOf(request: ModelRequest, access: ProviderAccess, signal: AbortSignal): LibraryCall {
  const tools = libraryTools(request);
  const shown = (item: Reasoning): ReasoningPart | undefined => {
    if (item.provider !== access.id || item.sealed === null) return undefined;
    const anthropic = recordOf(parseLoosely(item.sealed)) as Record<string, string>;
    return { type: 'reasoning', text: item.summary.join(''), providerOptions: { anthropic } };
  };
  const prompt = libraryPrompt(request, shown, { inOutputs: true, maxData: MAX_IMAGE });
  return {
    prompt: cached(prompt),
    maxOutputTokens: MAX_OUTPUT_TOKENS,
    ...(tools?.length ? { tools, toolChoice: { type: 'auto' } } : {}),
    ...(request.outputSchema === undefined
      ? {}
      : { responseFormat: { type: 'json', schema: request.outputSchema as object } }),
    providerOptions: { anthropic: thinkingOptions(request.effort) },
    abortSignal: signal,
  };
}

function thinkingOptions(effort: string | null) {
  if (effort === 'none') return {};
  const budgetTokens = BUDGETS[effort ?? 'medium'] ?? BUDGETS.medium ?? 10_000;
  return { thinking: { type: 'enabled', budgetTokens } };
}

/** Marks the instructions and the end of the prompt, so that the next request finds all of it in the provider's cache. */
function cached(prompt: LibraryPrompt): LibraryPrompt {
  const mark = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } };
  return prompt.map((message, index) =>
    message.role === 'system' || index === prompt.length - 1 ? { ...message, ...mark } : message,
  );
}

export const anthropicForm: StreamForm = {
  plainText(event) {
    if (event.type !== 'content_block_delta') return undefined;
    const delta = recordOf(event.delta);
    const text = textOf(
      delta.type === 'text_delta' ? delta.text : delta.type === 'thinking_delta' ? delta.thinking : '',
    );
    return text === '' ? undefined : { key: `${event.index} ${delta.type}`, text };
  },
  withText(event, text) {
    const delta = recordOf(event.delta);
    return { ...event, delta: { ...delta, [delta.type === 'text_delta' ? 'text' : 'thinking']: text } };
  },
  failure(event) {
    if (event.type !== 'error') return undefined;
    const error = recordOf(event.error);
    const message = textOf(error.message) || 'the model reported a failure without a reason';
    const fault = { kind: 'reported', code: textOf(error.type) || null } as const;
    return new ModelError(message, fault, { retryAfterMs: hintedDelayMs(message) });
  },
  isLast: (_, event) => event.type === 'message_stop',
  mayEndAfter: () => false,
};
