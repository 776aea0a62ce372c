// Tools of MCP servers, as tools of the model: how they are offered, and what the model gets back.

import type { OutputPart } from '../../model/context.ts';
import { checkedImageUrl } from '../../model/image.ts';
import type { McpResult, McpToolOffer, TurnRequest } from '../backend.ts';
import { parseLoosely } from '../models/loose.ts';
import { shortened } from './output-text.ts';
import { failed, type Tool, type ToolAnswer } from './tool.ts';

/** Of the servers that are there now. Their own words describe them: those of third parties, as the model is told. */
export const mcpToolsOf = (turn: TurnRequest): readonly Tool[] => (turn.mcpTools?.() ?? []).map(toolOf);

const MAX_DESCRIPTION = 4_000;

function toolOf({ name, server, tool, description, parameters }: McpToolOffer): Tool {
  const words = description.slice(0, MAX_DESCRIPTION);
  return {
    spec: { name, description: words === '' ? `The tool ${tool} of the MCP server ${server}.` : words, parameters },
    async run(call, _turn, tools) {
      // Models leave out the arguments of a tool that takes none.
      const given = call.arguments.trim() === '' ? {} : parseLoosely(call.arguments);
      if (typeof given !== 'object' || given === null || Array.isArray(given))
        return failed(`The arguments of ${name} are no JSON object.`);
      const wish = { server, tool, arguments: given as Record<string, unknown> };
      return answerOf(await tools.callMcpTool(call.callId, wish));
    },
  };
}

/** Tokens of text of one answer that the model is shown at most. */
const MAX_OUTPUT_TOKENS = 10_000;

/** What the model gets back of a call. */
export function answerOf(result: McpResult): ToolAnswer {
  if (result.kind === 'failed') return failed(result.reason);
  const success = !result.isError;
  // What has a structure of its own says the same there, and without doubt.
  if (result.structuredContent !== null && result.structuredContent !== undefined)
    return { output: shortened(JSON.stringify(result.structuredContent), MAX_OUTPUT_TOKENS), success };
  const parts = result.content.map(partOf);
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const output = shortened(text, MAX_OUTPUT_TOKENS);
  const images = parts.filter((part) => part.type === 'image');
  if (images.length === 0) return { output, success };
  const content = output === text ? parts : [{ type: 'text' as const, text: output }, ...images];
  return { output, success, content };
}

function partOf(part: unknown): OutputPart {
  const { type, text, data, mimeType } = (part ?? {}) as Readonly<Record<string, unknown>>;
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  if (type === 'image' && typeof data === 'string') {
    const checked = checkedImageUrl(`data:${typeof mimeType === 'string' ? mimeType : 'image/png'};base64,${data}`);
    return 'url' in checked
      ? { type: 'image', url: checked.url }
      : { type: 'text', text: 'image content omitted because it could not be processed' };
  }
  if (type === 'audio') return { type: 'text', text: 'audio content omitted because models are not given any' };
  return { type: 'text', text: JSON.stringify(part) };
}
