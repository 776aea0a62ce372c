// Makes a shorter view of a thread for the model: its own summary, and the user's last words as they were.

import { NO_PERMISSIONS } from '../approvals/grants.ts';
import { AppError } from '../base/errors.ts';
import type { ContextItem } from '../model/context.ts';
import type { TokenUsage, TurnError } from '../model/turn.ts';
import { turnError } from '../model/turn.ts';
import type { Backend, ToolHost, TurnRequest } from './backend.ts';

/** What the model is asked, as the last words of the user. */
export const COMPACTION_PROMPT =
  'Summarise this conversation for a colleague who goes on with it and sees nothing but your summary: the task and its constraints, what was decided and why, what has been done (files, commands, results), what is left, and what must not be forgotten. Answer with the summary alone; run no commands.';

const SUMMARY_INTRODUCTION = 'The conversation so far was summarised to make room. The summary:';

/** Characters of the user's own words that stay as they were, the newest first. */
const KEPT_WORDS = 40_000;
/** How often the older half is left out when the conversation does not fit into the model any more. */
const MAX_HALVINGS = 4;

export interface Reports {
  usage(usage: TokenUsage, contextWindow: number | null): void;
  retrying(error: TurnError): void;
}

export type Compaction = { readonly items: readonly ContextItem[] } | { readonly failed: TurnError };

/**
 * Asks the backend's model for a summary of `request.context`; what the user said at its end and nobody has answered stays as it
 * is. Throws as *cancelled* when the signal aborts.
 */
export async function compact(
  backend: Backend,
  request: TurnRequest,
  reports: Reports,
  signal: AbortSignal,
): Promise<Compaction> {
  const answered = request.context.findLastIndex((item) => item.type !== 'user') + 1 || request.context.length;
  const past = request.context.slice(0, answered);
  let context: readonly ContextItem[] = past;
  for (let halvings = 0; ; halvings += 1) {
    const outcome = await summarise(backend, { ...request, context }, reports, signal);
    if ('summary' in outcome)
      return {
        items: [
          ...past.filter(isLasting),
          ...lastWords(past),
          noteOf(outcome.summary),
          ...request.context.slice(answered),
        ],
      };
    const isTooLong = outcome.failed.codexErrorInfo === 'contextWindowExceeded';
    if (!isTooLong || halvings === MAX_HALVINGS) return outcome;
    context = newerHalf(context);
  }
}

async function summarise(
  backend: Backend,
  request: TurnRequest,
  reports: Reports,
  signal: AbortSignal,
): Promise<{ readonly summary: string } | { readonly failed: TurnError }> {
  const asked: ContextItem = { type: 'user', content: [{ type: 'text', text: COMPACTION_PROMPT, text_elements: [] }] };
  let summary = '';
  for await (const events of backend.run({ ...request, context: [...request.context, asked] }, NO_TOOLS, signal)) {
    for (const event of events) {
      if (event.type === 'failed') return { failed: event.error };
      if (event.type === 'messageCompleted') summary = event.text;
      if (event.type === 'usage') reports.usage(event.usage, event.contextWindow);
      if (event.type === 'retrying') reports.retrying(event.error);
    }
  }
  if (signal.aborted) throw new AppError('cancelled', 'the summary is no longer wanted');
  return summary.trim() === '' ? { failed: turnError('the model gave no summary', 'other') } : { summary };
}

const ONLY_SUMMARY = 'only a summary is asked for';

const NO_TOOLS: ToolHost = {
  runCommand: async () => ({ kind: 'refused', reason: ONLY_SUMMARY }),
  writeToCommand: async () => ({ kind: 'refused', reason: ONLY_SUMMARY }),
  changeFiles: async () => ({ kind: 'refused', reason: ONLY_SUMMARY }),
  requestPermissions: async () => ({ permissions: NO_PERMISSIONS, scope: 'turn' }),
  askUser: async () => ({ answers: {} }),
  callClientTool: async () => ({ success: false, content: [{ type: 'inputText', text: ONLY_SUMMARY }] }),
  callMcpTool: async () => ({ kind: 'failed', reason: ONLY_SUMMARY }),
  askMcpResources: async () => ({ kind: 'failed', reason: ONLY_SUMMARY }),
  viewImage: async () => ({ kind: 'problem', problem: ONLY_SUMMARY }),
  updatePlan: async () => {},
};

const noteOf = (summary: string): ContextItem => ({ type: 'note', text: `${SUMMARY_INTRODUCTION}\n\n${summary}` });

const isLasting = (item: ContextItem): boolean => item.type === 'note' && item.isLasting === true;

function lastWords(context: readonly ContextItem[]): ContextItem[] {
  const kept: ContextItem[] = [];
  let left = KEPT_WORDS;
  for (const item of context.toReversed()) {
    if (item.type !== 'user') continue;
    left -= JSON.stringify(item.content).length;
    if (left < 0) break;
    kept.push(item);
  }
  return kept.reverse();
}

/** Begins with words of the user, so that no output of a tool is without its call. */
function newerHalf(context: readonly ContextItem[]): readonly ContextItem[] {
  const half = context.slice(Math.ceil(context.length / 2));
  const begin = half.findIndex((item) => item.type === 'user');
  return begin < 0 ? half.filter((item) => item.type === 'assistant' || item.type === 'note') : half.slice(begin);
}
