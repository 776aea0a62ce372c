// What goes out in the Responses wire form.

import type { ContextItem, OutputPart } from '../../model/context.ts';
import type { UserInput } from '../../model/input.ts';
import type { ModelRequest, ProviderAccess, ToolSpec } from './client.ts';
import { parseLoosely, recordOf, textOf } from './loose.ts';
import { noteText, placeholder, wellFormed } from './well-formed.ts';

type Body = Record<string, unknown>;

type Provider = Pick<ProviderAccess, 'id' | 'hasCustomTools'>;

/** The body of the request; reasoning sealed by another provider is left out. */
export function responsesBody(request: ModelRequest, provider: Provider): Body {
  const context = withoutLooseReasoning(wellFormed(request.context));
  const custom = new Set(
    provider.hasCustomTools ? context.flatMap((item) => (isCustom(item) ? [item.callId] : [])) : [],
  );
  return {
    model: request.model,
    instructions: request.instructions,
    input: context.flatMap((item) => inputOf(item, provider.id, custom)),
    tools: request.tools.map((tool) => toolOf(tool, provider)),
    tool_choice: 'auto',
    parallel_tool_calls: true,
    ...reasoningOf(request),
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: request.cacheKey,
    ...formatOf(request.outputSchema),
    ...tierOf(request.serviceTier),
  };
}

const isCustom = (item: ContextItem): item is Extract<ContextItem, { type: 'toolCall' }> =>
  item.type === 'toolCall' && item.custom === true;

function toolOf({ custom, ...tool }: ToolSpec, { hasCustomTools }: Provider): Body {
  if (custom === undefined || !hasCustomTools) return { type: 'function', strict: false, ...tool };
  return { type: 'custom', name: tool.name, description: tool.description, format: { type: 'grammar', ...custom } };
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

/** `fast` is what clients call it. */
function tierOf(tier: string | null | undefined): Body {
  if (!tier || tier === 'default') return {};
  return { service_tier: tier === 'fast' ? 'priority' : tier };
}

function formatOf(schema: unknown): Body {
  if (schema === undefined || schema === null) return {};
  return { text: { format: { type: 'json_schema', name: 'final_answer', strict: true, schema } } };
}

/** `custom`: the calls whose text goes out as such. */
function inputOf(item: ContextItem, providerId: string, custom: ReadonlySet<string>): readonly Body[] {
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
    case 'toolCall': {
      const call = { call_id: item.callId, name: item.name };
      if (!custom.has(item.callId)) return [{ type: 'function_call', ...call, arguments: item.arguments }];
      const input = textOf(recordOf(parseLoosely(item.arguments)).input);
      return [{ type: 'custom_tool_call', ...call, input }];
    }
    case 'toolOutput': {
      const type = custom.has(item.callId) ? 'custom_tool_call_output' : 'function_call_output';
      return [{ type, call_id: item.callId, output: item.content?.map(outputPart) ?? item.output }];
    }
  }
}

/** Providers refuse ids that do not look like their own. */
const idOf = (id: string, prefix: string): Body => (id.startsWith(prefix) ? { id } : {});

const outputPart = (part: OutputPart): Body =>
  part.type === 'text' ? { type: 'input_text', text: part.text } : { type: 'input_image', image_url: part.url };

function contentOf(input: UserInput): Body {
  if (input.type === 'text') return { type: 'input_text', text: input.text };
  if (input.type === 'image' && (input.url ?? input.fileId) !== undefined) {
    const source = input.url === undefined ? { file_id: input.fileId } : { image_url: input.url };
    return { type: 'input_image', ...source, detail: input.detail ?? 'auto' };
  }
  return { type: 'input_text', text: placeholder(input) };
}
