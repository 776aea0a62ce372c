// A context as every wire form demands it: each tool call followed by exactly one output, in the order of the calls.

import type { ContextItem } from '../../model/context.ts';

type Output = Extract<ContextItem, { type: 'toolOutput' }>;

/** What the model is told of a call whose end nobody recorded. */
const UNKNOWN_OUTCOME = 'This call was interrupted; whether it had an effect is not known.';

/**
 * Outputs stand behind the calls of their response, in the order of the calls, however they were recorded; a call
 * without output gets one that says so, and an output without call is left out.
 */
export function wellFormed(context: readonly ContextItem[]): readonly ContextItem[] {
  const outputs = new Map<string, Output>();
  for (const item of context) if (item.type === 'toolOutput') outputs.set(item.callId, item);
  const result: ContextItem[] = [];
  let waiting: string[] = [];
  const answerWaiting = () => {
    for (const callId of waiting) result.push(outputs.get(callId) ?? unanswered(callId));
    waiting = [];
  };
  for (const item of context) {
    if (item.type === 'toolOutput') {
      answerWaiting();
      continue;
    }
    if (item.type === 'user' || item.type === 'note') answerWaiting();
    if (item.type === 'toolCall') waiting.push(item.callId);
    result.push(item);
  }
  answerWaiting();
  return result;
}

const unanswered = (callId: string): Output => ({
  type: 'toolOutput',
  callId,
  output: UNKNOWN_OUTCOME,
  success: false,
});

/** A word of the server in a wire form that knows only users and assistants: marked, so that it is not taken for one's. */
export function noteText(text: string): string {
  return text.trimStart().startsWith('<') ? text : `<note>\n${text}\n</note>`;
}

/** What stands for an input that has no form on the wire. */
export function placeholder(input: { readonly type: string; readonly name?: string; readonly path?: string }): string {
  const { name, path } = input;
  return `[${input.type}: ${[name, path].filter((each) => each !== undefined).join(', at ') || 'not shown'}]`;
}
