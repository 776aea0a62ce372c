// A context as the prompt of the provider libraries.

import type { ContextItem } from '../../model/context.ts';
import type { UserInput } from '../../model/input.ts';
import type { ModelRequest } from './client.ts';
import type { LibraryCall, LibraryMessage, LibraryPrompt } from './library.ts';
import { parseLoosely, recordOf } from './loose.ts';
import { noteText, placeholder, wellFormed } from './well-formed.ts';

type Of<R extends LibraryMessage['role']> = Extract<LibraryMessage, { role: R }>;
export type Reasoning = Extract<ContextItem, { type: 'reasoning' }>;
export type ReasoningPart = Extract<Of<'assistant'>['content'][number], { type: 'reasoning' }>;

/** What a wire form knows of images. */
export interface ImageForm {
  /** Outputs of tools may hold them; else they follow the outputs as words of the user. */
  readonly inOutputs: boolean;
  /** Characters of base64 of the largest. */
  readonly maxData: number;
}

/**
 * `reasoning` says how the model is shown its own reasoning again, if at all; `isCurrent`: it belongs to the work since the
 * last words of the user.
 */
export function libraryPrompt(
  request: ModelRequest,
  reasoning: (item: Reasoning, isCurrent: boolean) => ReasoningPart | undefined,
  images: ImageForm,
): LibraryPrompt {
  const prompt: LibraryPrompt = request.instructions === '' ? [] : [{ role: 'system', content: request.instructions }];
  const names = new Map<string, string>();
  const context = wellFormed(request.context);
  const lastUser = context.findLastIndex((item) => item.type === 'user');
  /** Images of outputs, which go behind all outputs of an answer. */
  let behind: Of<'user'>['content'] = [];
  for (const [index, item] of context.entries()) {
    if (item.type !== 'toolOutput' && behind.length > 0) {
      prompt.push({ role: 'user', content: behind });
      behind = [];
    }
    switch (item.type) {
      case 'user':
        prompt.push({ role: 'user', content: item.content.map((part) => inputPart(part, images)) });
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
          output: outputOf(item, images),
        });
        if (!images.inOutputs) behind.push(...shownBehind(item, images));
    }
  }
  if (behind.length > 0) prompt.push({ role: 'user', content: behind });
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

type InputPart = Of<'user'>['content'][number];

function inputPart(input: UserInput, images: ImageForm): InputPart {
  if (input.type === 'text') return { type: 'text', text: input.text };
  const image = input.type === 'image' && input.url !== undefined ? filePart(input.url, images) : undefined;
  return image ?? { type: 'text', text: placeholder(input) };
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

/** Undefined for what is no URL. */
function filePart(url: string, { maxData }: ImageForm): InputPart | undefined {
  const data = DATA_URL.exec(url);
  if (data && (data[2] ?? '').length > maxData) return { type: 'text', text: TOO_LARGE };
  if (data) return { type: 'file', mediaType: data[1] ?? 'image/png', data: data[2] ?? '' };
  return URL.canParse(url) ? { type: 'file', mediaType: 'image/*', data: new URL(url) } : undefined;
}

const TOO_LARGE = '[an image that is larger than the provider takes]';

type Output = Extract<ContextItem, { type: 'toolOutput' }>;
type ToolOutput = Extract<Of<'tool'>['content'][number], { type: 'tool-result' }>['output'];

function outputOf({ output, success, content }: Output, images: ImageForm): ToolOutput {
  if (!content?.some((part) => part.type === 'image')) return { type: success ? 'text' : 'error-text', value: output };
  if (!images.inOutputs) return { type: 'text', value: [output, IMAGES_BEHIND].filter(Boolean).join('\n') };
  return {
    type: 'content',
    value: content.map((part) => {
      if (part.type === 'text') return part;
      const file = filePart(part.url, images);
      if (file?.type === 'text') return { type: 'text', text: file.text };
      return file?.data instanceof URL
        ? { type: 'image-url', url: part.url }
        : { type: 'image-data', mediaType: file?.mediaType ?? 'image/png', data: String(file?.data ?? '') };
    }),
  };
}

const IMAGES_BEHIND = 'Its images follow the outputs.';

function shownBehind({ callId, content = [] }: Output, images: ImageForm): InputPart[] {
  const files = content.flatMap((part) => (part.type === 'image' ? (filePart(part.url, images) ?? []) : []));
  return files.length === 0 ? [] : [{ type: 'text', text: noteText(`Images of the output of ${callId}:`) }, ...files];
}

/** The words of an item in the Responses form; other forms know no more of it. */
function rawText(item: Readonly<Record<string, unknown>>): string {
  const content = Array.isArray(item.content) ? item.content : [];
  return content
    .map((part: unknown) => (part as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}
