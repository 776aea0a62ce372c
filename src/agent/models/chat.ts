// Models behind the chat completions wire form, through the library for servers compatible with it.

import { bundle, type StreamForm } from './bundling-fetch.ts';
import { type ModelClient, ModelError, type ModelEvent, type ModelRequest, type ProviderAccess } from './client.ts';
import { endpoint, requestHeaders } from './endpoint.ts';
import type { ModelHttp } from './http.ts';
import type { LibraryCall } from './library.ts';
import { libraryEvents, type ReasoningForm } from './library-events.ts';
import { libraryPrompt, libraryTools } from './library-prompt.ts';
import { type Loose, listOf, recordOf, textOf } from './loose.ts';
import { hintedDelayMs } from './retry-hint.ts';

/** The library's name for the provider, under which it looks for options. */
const NAME = 'chat';

export function chatClient(access: ProviderAccess, http: ModelHttp): ModelClient {
  return { stream: (request, signal) => stream(access, http, request, signal) };
}

async function* stream(
  access: ProviderAccess,
  http: ModelHttp,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], void> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const authorization = access.apiKey === undefined ? {} : { authorization: `Bearer ${access.apiKey}` };
  const bundled = bundle(http, chatForm, requestHeaders(access, authorization), access.streamIdleMs, signal);
  const provider = createOpenAICompatible({
    name: NAME,
    // The address comes from the library with its own path; the check is ours.
    baseURL: endpoint({ ...access, query: {} }, '').replace(/\/$/, ''),
    queryParams: { ...access.query },
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: bundled.fetch,
  });
  yield* libraryEvents(
    () => provider.chatModel(request.model).doStream(callOf(request, access, signal)),
    bundled,
    rawReasoning,
    request.watchedTool,
  );
}

const rawReasoning: ReasoningForm = { text: 'reasoningText', seal: () => null };

function callOf(request: ModelRequest, access: ProviderAccess, signal: AbortSignal): LibraryCall {
  const tools = libraryTools(request);
  return {
    prompt: libraryPrompt(
      request,
      (item, isCurrent) => {
        // Some servers demand the reasoning of the work under way, and none wants older one.
        const isShown = isCurrent && item.provider === access.id && item.content.length > 0;
        return isShown ? { type: 'reasoning', text: item.content.join('\n') } : undefined;
      },
      // Messages of tools are text in this form.
      { inOutputs: false, maxData: Number.POSITIVE_INFINITY },
    ),
    ...(tools?.length ? { tools, toolChoice: { type: 'auto' } } : {}),
    ...(request.outputSchema === undefined ? {} : { responseFormat: formatOf(request.outputSchema) }),
    ...(request.effort === null ? {} : { providerOptions: { [NAME]: { reasoningEffort: request.effort } } }),
    abortSignal: signal,
  };
}

function formatOf(schema: unknown): NonNullable<LibraryCall['responseFormat']> {
  return { type: 'json', name: 'final_answer', schema: schema as object };
}

const choiceIn = (event: Loose): Loose => recordOf(listOf(event.choices)[0]);

export const chatForm: StreamForm = {
  plainText(event) {
    const choice = choiceIn(event);
    const delta = recordOf(choice.delta);
    const members = Object.keys(delta).filter((name) => name !== 'role' && delta[name] != null);
    const [key] = members;
    if (members.length !== 1 || choice.finish_reason != null || event.usage != null) return undefined;
    if (key !== 'content' && key !== 'reasoning_content') return undefined;
    const text = textOf(delta[key]);
    return text === '' ? undefined : { key, text };
  },
  withText(event, text) {
    const choice = choiceIn(event);
    const delta = recordOf(choice.delta);
    const key = delta.content == null ? 'reasoning_content' : 'content';
    return { ...event, choices: [{ ...choice, delta: { ...delta, [key]: text } }] };
  },
  failure(event) {
    if (event.error == null) return undefined;
    const error = recordOf(event.error);
    const message = textOf(error.message) || textOf(event.error) || 'the model reported a failure without a reason';
    const code = textOf(error.code) || textOf(error.type) || null;
    return new ModelError(message, { kind: 'reported', code }, { retryAfterMs: hintedDelayMs(message) });
  },
  isLast: (data) => data === '[DONE]',
  mayEndAfter: (event) => choiceIn(event).finish_reason != null,
};
