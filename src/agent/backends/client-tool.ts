// Tools that clients declare, as tools of the model: how they are offered, how a call is checked, what the model gets back.

import { messageOf } from '../../base/errors.ts';
import {
  argumentsShape,
  type ClientFunction,
  type ClientTool,
  type ClientToolContent,
  clientFunctions,
} from '../../model/client-tool.ts';
import type { OutputPart } from '../../model/context.ts';
import { checkedImageUrl } from '../../model/image.ts';
import type { ThreadSettings } from '../../model/thread.ts';
import { shortened } from './output-text.ts';
import { failed, readArguments, type Tool, type ToolAnswer } from './tool.ts';

export function clientToolsOf({ dynamicTools }: ThreadSettings): Tool[] {
  // They were checked when they were declared.
  return clientFunctions(dynamicTools as readonly unknown[] as readonly ClientTool[]).map(toolOf);
}

function toolOf(declared: ClientFunction): Tool {
  const { modelName: name, description, inputSchema, namespace, tool } = declared;
  const parameters = typeof inputSchema === 'object' ? inputSchema : { type: 'object', properties: {} };
  return {
    spec: { name, description, parameters },
    async run(call, _turn, tools) {
      // Models leave out the arguments of a tool that takes none.
      const text = call.arguments.trim() === '' ? '{}' : call.arguments;
      const problem = problemOf(declared, text);
      if (problem !== undefined) return failed(problem);
      // As the model gave them: reading by the schema may fill in and leave out.
      const given: unknown = JSON.parse(text);
      const { success, content } = await tools.callClientTool(call.callId, { namespace, tool, arguments: given });
      return { success, ...outputOf(content) };
    },
  };
}

function problemOf({ modelName, inputSchema }: ClientFunction, text: string): string | undefined {
  try {
    const read = readArguments(modelName, argumentsShape(inputSchema), text);
    return 'problem' in read ? read.problem : undefined;
  } catch (error) {
    return `The schema of ${modelName} cannot be checked: ${messageOf(error)}`;
  }
}

/** Tokens of text of one answer that the model is shown at most. */
const MAX_OUTPUT_TOKENS = 10_000;
const OMITTED = 'image content omitted because it could not be processed';

/** An answer for the model: all of it as text, and in its parts where it holds images. */
function outputOf(items: readonly ClientToolContent[]): Pick<ToolAnswer, 'output' | 'content'> {
  const parts = items.map(partOf);
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const output = shortened(text, MAX_OUTPUT_TOKENS);
  if (parts.every((part) => part.type === 'text')) return { output };
  const images = parts.filter((part) => part.type === 'image');
  // A text that had to be shortened no longer lies in parts.
  const content = output === text ? parts : [{ type: 'text' as const, text: output }, ...images];
  return { output, content };
}

function partOf(item: ClientToolContent): OutputPart {
  switch (item.type) {
    case 'inputText':
      return { type: 'text', text: item.text };
    case 'inputImage': {
      const checked = checkedImageUrl(item.imageUrl);
      return 'url' in checked ? { type: 'image', url: checked.url } : { type: 'text', text: OMITTED };
    }
    case 'inputAudio':
      return { type: 'text', text: 'audio content omitted because models are not given any' };
  }
}
