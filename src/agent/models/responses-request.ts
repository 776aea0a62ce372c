// What goes out in the Responses wire form.

import type { ContextItem } from '../../model/context.ts';
import type { UserInput } from '../../model/input.ts';
import type { ModelRequest } from './client.ts';
import { noteText, placeholder, wellFormed } from './well-formed.ts';

type Body = Record<string, unknown>;

/** The body of the request; reasoning sealed by another provider than `providerId` is left out. */
export function responsesBody(request: ModelRequest, providerId: string): Body {
  return {
    model: request.model,
    instructions: request.instructions,
    input: withoutLooseReasoning(wellFormed(request.context)).flatMap((item) => inputOf(item, providerId)),
    tools: request.tools.map((tool) => ({ type: 'function', strict: false, ...tool })),
    tool_choice: 'auto',
    parallel_tool_calls: true,
    ...reasoningOf(request),
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: request.cacheKey,
    ...formatOf(request.outputSchema),
  };
}

/** The API refuses reasoning that leads to nothing. */
function withoutLooseReasoning(context: readonly ContextItem[]): readonly ContextItem[] {
  return context.filter((item, index) => {
    if (item.type !== 'reasoning') return true;
    let next = context[index + 1];
    for (let at = index + 2; next?.type === 'reasoning'; at++) next = context[at];
    return next?.type === 'assistant' || next?.type === 'toolCall';
  });
}

function reasoningOf(request: ModelRequest): Body {
  const summary = request.summary === 'none' ? null : request.summary;
  if (request.effort === null && summary === null) return {};
  return {
    reasoning: {
      ...(request.effort === null ? {} : { effort: request.effort }),
      ...(summary === null ? {} : { summary }),
    },
  };
}

function formatOf(schema: unknown): Body {
  if (schema === undefined || schema === null) return {};
  return { text: { format: { type: 'json_schema', name: 'final_answer', strict: true, schema } } };
}

function inputOf(item: ContextItem, providerId: string): readonly Body[] {
  switch (item.type) {
    case 'user':
      return [{ type: 'message', role: 'user', content: item.content.map(contentOf) }];
    case 'raw':
      return [item.item];
    case 'note':
      return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: noteText(item.text) }] }];
    case 'assistant':
      return [
        {
          type: 'message',
          role: 'assistant',
          ...idOf(item.id, 'msg_'),
          ...(item.phase === null ? {} : { phase: item.phase }),
          content: [{ type: 'output_text', text: item.text, annotations: [] }],
        },
      ];
    case 'reasoning':
      if (item.provider !== providerId || item.sealed === null) return [];
      return [
        {
          type: 'reasoning',
          ...idOf(item.id, 'rs_'),
          summary: item.summary.map((text) => ({ type: 'summary_text', text })),
          encrypted_content: item.sealed,
        },
      ];
    case 'toolCall':
      return [{ type: 'function_call', call_id: item.callId, name: item.name, arguments: item.arguments }];
    case 'toolOutput':
      return [{ type: 'function_call_output', call_id: item.callId, output: item.output }];
  }
}

/** Providers refuse ids that do not look like their own. */
const idOf = (id: string, prefix: string): Body => (id.startsWith(prefix) ? { id } : {});

function contentOf(input: UserInput): Body {
  if (input.type === 'text') return { type: 'input_text', text: input.text };
  if (input.type === 'image' && (input.url ?? input.fileId) !== undefined) {
    const source = input.url === undefined ? { file_id: input.fileId } : { image_url: input.url };
    return { type: 'input_image', ...source, detail: input.detail ?? 'auto' };
  }
  return { type: 'input_text', text: placeholder(input) };
}
