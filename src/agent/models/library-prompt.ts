// A context as the prompt of the provider libraries.

import type { ContextItem } from '../../model/context.ts';
import type { UserInput } from '../../model/input.ts';
import type { ModelRequest } from './client.ts';
import type { LibraryCall, LibraryMessage, LibraryPrompt } from './library.ts';
import { parseLoosely, recordOf } from './loose.ts';
import { noteText, placeholder, wellFormed } from './well-formed.ts';

type Of<R extends LibraryMessage['role']> = Extract<LibraryMessage, { role: R }>;
type Reasoning = Extract<ContextItem, { type: 'reasoning' }>;
export type ReasoningPart = Extract<Of<'assistant'>['content'][number], { type: 'reasoning' }>;

/**
 * `reasoning` says how the model is shown its own reasoning again, if at all; `isCurrent`: it belongs to the work since the
 * last words of the user.
 */
export function libraryPrompt(
  request: ModelRequest,
  reasoning: (item: Reasoning, isCurrent: boolean) => ReasoningPart | undefined,
): LibraryPrompt {
  const prompt: LibraryPrompt = request.instructions === '' ? [] : [{ role: 'system', content: request.instructions }];
  const names = new Map<string, string>();
  const context = wellFormed(request.context);
  const lastUser = context.findLastIndex((item) => item.type === 'user');
  for (const [index, item] of context.entries()) {
    switch (item.type) {
      case 'user':
        prompt.push({ role: 'user', content: item.content.map(inputPart) });
        break;
      case 'raw': {
        const text = rawText(item.item);
        if (text === '') break;
        if (item.item.role === 'assistant') prompt.push({ role: 'assistant', content: [{ type: 'text', text }] });
        else prompt.push({ role: 'user', content: [{ type: 'text', text }] });
        break;
      }
      case 'note':
        prompt.push({ role: 'user', content: [{ type: 'text', text: noteText(item.text) }] });
        break;
      case 'assistant':
        assistant(prompt).push({ type: 'text', text: item.text });
        break;
      case 'reasoning': {
        const part = reasoning(item, index > lastUser);
        if (part) assistant(prompt).push(part);
        break;
      }
      case 'toolCall':
        names.set(item.callId, item.name);
        assistant(prompt).push({
          type: 'tool-call',
          toolCallId: item.callId,
          toolName: item.name,
          input: argumentsOf(item.arguments),
        });
        break;
      case 'toolOutput':
        results(prompt).push({
          type: 'tool-result',
          toolCallId: item.callId,
          toolName: names.get(item.callId) ?? 'unknown',
          output: { type: item.success ? 'text' : 'error-text', value: item.output },
        });
    }
  }
  // A message of the assistant at the end would be taken for the beginning of its next one.
  if (prompt.at(-1)?.role === 'assistant')
    prompt.push({ role: 'user', content: [{ type: 'text', text: noteText('Go on.') }] });
  return prompt;
}

export const libraryTools = (request: ModelRequest): LibraryCall['tools'] =>
  request.tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    inputSchema: tool.parameters,
  }));

/** The parts of the message that is being built, which is begun if the last one is another's. */
function assistant(prompt: LibraryPrompt): Of<'assistant'>['content'] {
  const last = prompt.at(-1);
  if (last?.role === 'assistant') return last.content;
  const begun: Of<'assistant'> = { role: 'assistant', content: [] };
  prompt.push(begun);
  return begun.content;
}

function results(prompt: LibraryPrompt): Of<'tool'>['content'] {
  const last = prompt.at(-1);
  if (last?.role === 'tool') return last.content;
  const begun: Of<'tool'> = { role: 'tool', content: [] };
  prompt.push(begun);
  return begun.content;
}

/** Providers demand an object, also where the model once wrote none. */
function argumentsOf(text: string): object {
  const parsed = parseLoosely(text);
  return parsed === undefined ? { unreadable: text } : recordOf(parsed);
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

function inputPart(input: UserInput): Of<'user'>['content'][number] {
  if (input.type === 'text') return { type: 'text', text: input.text };
  if (input.type === 'image' && input.url !== undefined) {
    const data = DATA_URL.exec(input.url);
    if (data) return { type: 'file', mediaType: data[1] ?? 'image/png', data: data[2] ?? '' };
    if (URL.canParse(input.url)) return { type: 'file', mediaType: 'image/*', data: new URL(input.url) };
  }
  return { type: 'text', text: placeholder(input) };
}

/** The words of an item in the Responses form; other forms know no more of it. */
function rawText(item: Readonly<Record<string, unknown>>): string {
  const content = Array.isArray(item.content) ? item.content : [];
  return content
    .map((part: unknown) => (part as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}
