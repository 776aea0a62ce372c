// What a tool gave back, no larger than the history and a frame can hold.

import type { CallAnswer } from './call.ts';

/** Characters of JSON of one result. */
const MAX_RESULT = 4 * 1024 * 1024;
/** Of one text in a result that is too long. */
const MAX_TEXT = 256 * 1024;

export interface ToolResult {
  readonly content: unknown[];
  readonly structuredContent: unknown;
  readonly isError: boolean;
  readonly meta: unknown;
}

/** The result itself while it fits; else its beginning, with a word about what was left out. */
export function cappedResult(answer: Extract<CallAnswer, { kind: 'result' }>): ToolResult {
  const { structuredContent, isError, meta } = answer;
  const whole = { content: [...answer.content], structuredContent, isError, meta };
  const size = sizeOf(whole);
  if (size === TOO_DEEP)
    return { ...whole, content: [textPart('[the result was nested too deeply]')], structuredContent: null, meta: null };
  if (size <= MAX_RESULT) return whole;
  const content: unknown[] = [];
  let room = MAX_RESULT - 1_024;
  for (const part of answer.content) {
    const short = shortened(part);
    room -= sizeOf(short);
    if (room < 0) break;
    content.push(short);
  }
  const text = `[the result had ${size} characters; what is beyond ${MAX_RESULT} was left out]`;
  return { content: [...content, textPart(text)], structuredContent: null, isError, meta: null };
}

const textPart = (text: string) => ({ type: 'text', text });

const TOO_DEEP = Number.POSITIVE_INFINITY;

function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return TOO_DEEP;
  }
}

function shortened(part: unknown): unknown {
  const { type, text } = (part ?? {}) as { readonly type?: unknown; readonly text?: unknown };
  if (type !== 'text' || typeof text !== 'string' || text.length <= MAX_TEXT) return part;
  const half = MAX_TEXT / 2;
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '');
  const tail = text.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
  return { type, text: `${head}\n[… ${text.length - MAX_TEXT} characters left out …]\n${tail}` };
}
