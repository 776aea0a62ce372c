// What `heddle attach` shows: news of a thread as `heddle chat` shows them, and questions with the command that answers them; or all of it as JSON.

import type { News } from '../client/news.ts';
import type { RequestResult } from '../client/typed.ts';
import { waysToAnswer } from './approvals-work.ts';
import { PlainOutput } from './exec-output.ts';
import { type Question, questionOf, unknownQuestion } from './questions.ts';
import { flagsTo, type ServerChoice } from './running-server.ts';
import { type Style, widthOf } from './terminal.ts';

export interface View {
  begins(thread: RequestResult<'thread/read'>['thread']): void;
  news(news: News): void;
  /** The signal aborts when it has been answered, or lapsed. */
  question(method: string, params: unknown, signal: AbortSignal): void;
  note(text: string, style?: Style): void;
  /** Nothing is shown any more. */
  close(): void;
}

export function attachView(options: ServerChoice & { readonly json: boolean }): View {
  return options.json ? jsonView() : new PlainView(options);
}

/** Notifications and questions on standard output, with the same members as on the wire; words on standard error. */
function jsonView(): View {
  const line = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
  return {
    begins() {},
    news: line,
    question: (method, params) => line({ method, params }),
    note: (text) => void process.stderr.write(`${text}\n`),
    close() {},
  };
}

type Item = News<'item/completed'>['params']['item'];

class PlainView implements View {
  readonly #options: ServerChoice;
  readonly #output = new PlainOutput({ out: process.stdout, err: process.stderr }, process.env);
  /** How much of items that are open was shown in pieces. */
  readonly #shown = new Map<string, number>();
  readonly #asked = new Set<string>();
  #isClosed = false;

  constructor(options: ServerChoice) {
    this.#options = options;
  }

  begins({ id, name, preview, cwd }: RequestResult<'thread/read'>['thread']): void {
    const title = (name ?? preview).replace(/\s+/g, ' ').slice(0, 60);
    if (process.stderr.isTTY) this.note(`${title === '' ? id : title} in ${cwd}; Ctrl-C leaves, the turn goes on`);
  }

  news(news: News): void {
    const { method, params } = news;
    if (method === 'item/started') this.#begun(params.item);
    if (method === 'item/agentMessage/delta' || method === 'item/commandExecution/outputDelta')
      this.#shown.set(params.itemId, (this.#shown.get(params.itemId) ?? 0) + params.delta.length);
    if (method === 'item/completed') this.#rest(params);
    // Who sees the question need not be told that there is one.
    if (method !== 'thread/status/changed' || this.#asked.size === 0) this.#output.show(news);
    if (method === 'item/completed') this.#shown.delete(params.item.id);
    const words = wordsAbout(news);
    if (words) this.note(...words);
  }

  question(method: string, params: unknown, signal: AbortSignal): void {
    const { approvalId } = (params as { heddle?: { approvalId?: string } }).heddle ?? {};
    const key = approvalId ?? JSON.stringify(params);
    // After a cut it is asked again.
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    const question = understood(method, params);
    for (const line of question.lines(widthOf(process.stderr))) this.note(line, 'yellow');
    if (approvalId !== undefined) {
      const [first = 'decline', ...others] = waysToAnswer(method, question);
      this.note(`answer it from another terminal:\n  ${this.#command(approvalId, first)}`, 'yellow');
      if (others.length > 0) this.note(`  or with: ${others.join(', ')}`, 'yellow');
    }
    signal.addEventListener('abort', () => {
      if (this.#asked.delete(key) && !this.#isClosed) this.note('it has been answered');
    });
  }

  note(text: string, style?: Style): void {
    this.#output.note(text, style);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** With the flags that lead to the same server. */
  #command(approvalId: string, answer: string): string {
    return `heddle approvals answer ${approvalId} ${answer}${flagsTo(this.#options)}`;
  }

  #begun(item: Item): void {
    if (item.type !== 'userMessage') return;
    for (const part of item.content) this.note(`> ${part.type === 'text' ? part.text : `(${part.type})`}`, 'bold');
  }

  /** Of turns that are over no pieces are kept; the whole item has what was not shown. */
  #rest({ item, ...ids }: News<'item/completed'>['params']): void {
    const shown = this.#shown.get(item.id) ?? 0;
    const place = { threadId: ids.threadId, turnId: ids.turnId, itemId: item.id };
    if (item.type === 'agentMessage' && item.text.length > shown)
      this.#output.show({ method: 'item/agentMessage/delta', params: { ...place, delta: item.text.slice(shown) } });
    // Long output is cut in the middle, so that only all of it can be shown instead of its pieces.
    if (item.type === 'commandExecution' && shown === 0 && item.aggregatedOutput)
      this.#output.show({
        method: 'item/commandExecution/outputDelta',
        params: { ...place, delta: item.aggregatedOutput },
      });
  }
}

/** One of another version is told as one that cannot be shown. */
function understood(method: string, params: unknown): Question {
  try {
    return questionOf(method, params);
  } catch {
    return unknownQuestion(method);
  }
}

/** What is worth a line of its own and shown by no item. */
function wordsAbout(news: News): readonly [string, Style?] | undefined {
  switch (news.method) {
    case 'turn/completed':
      if (news.params.turn.status === 'completed') return undefined;
      return [`the turn ${outcomeOf(news.params.turn)}`, news.params.turn.status === 'failed' ? 'red' : 'yellow'];
    case 'thread/archived':
      return ['the thread was archived', 'yellow'];
    case 'thread/deleted':
      return ['the thread was deleted', 'red'];
    case 'client/gap':
      return ['some of what happened is missing here; `heddle threads show` has it', 'yellow'];
    case 'client/lost':
      return [`the thread cannot be watched any more: ${news.params.error.message}`, 'red'];
    default:
      return undefined;
  }
}

/** What is said of a turn that is over. */
export function outcomeOf({ status, error }: Pick<RequestResult<'turn/start'>['turn'], 'status' | 'error'>): string {
  if (status === 'failed') return `failed: ${error?.message ?? 'no reason given'}`;
  return status === 'interrupted' ? 'was interrupted' : 'is complete';
}
