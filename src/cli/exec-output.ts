// What `heddle exec` prints: the answer to standard output, the work around it to standard error; or each notification as JSON.

import type { WriteStream } from 'node:tty';
import { paramsOf, type ServerNotification } from '../client/client.ts';
import type { Item, ItemOf } from '../model/item.ts';
import {
  agentMessageDelta,
  commandOutputDelta,
  errorNotice,
  itemCompleted,
  itemStarted,
  reasoningSummaryTextDelta,
  threadStatusChanged,
  turnPlanUpdated,
  warning,
} from '../threads/notifications.ts';
import { bodyOf, headOf } from './file-changes.ts';
import { type Paint, paintFor, type Style, visible } from './terminal.ts';

export interface ExecOutput {
  show(notification: ServerNotification): void;
  /** A line of our own, beside what the server tells. */
  note(text: string, style?: Style): void;
}

type Stream = Pick<WriteStream, 'write' | 'isTTY'>;

export interface Streams {
  readonly out: Stream;
  readonly err: Stream;
}

export function jsonOutput({ out, err }: Streams): ExecOutput {
  return {
    show: (notification) => void out.write(`${JSON.stringify(notification)}\n`),
    note: (text) => void err.write(`${text}\n`),
  };
}

/** Milliseconds in which a question that is ours to answer has come. */
const SOON_MS = 500;

const MARKS = { completed: '[x]', inProgress: '[>]', pending: '[ ]' } as const;

/** Keeps lines whole: a text that goes to the other stream of one terminal begins on a line of its own. */
export class PlainOutput implements ExecOutput {
  readonly #streams: Streams;
  readonly #paint: Paint;
  readonly #isOneScreen: boolean;
  #openLine: keyof Streams | undefined;
  #soon: NodeJS.Timeout | undefined;

  constructor(streams: Streams, environment: Readonly<Record<string, string | undefined>>) {
    this.#streams = streams;
    this.#paint = paintFor(streams.err, environment);
    this.#isOneScreen = streams.out.isTTY === true && streams.err.isTTY === true;
  }

  note(text: string, style: Style = 'dim'): void {
    this.#line('err', this.#paint(style, visible(text)));
  }

  show(notification: ServerNotification): void {
    const message = paramsOf(notification, agentMessageDelta);
    if (message) this.#write('out', this.#streams.out.isTTY ? visible(message.delta) : message.delta);
    const work = paramsOf(notification, commandOutputDelta) ?? paramsOf(notification, reasoningSummaryTextDelta);
    if (work) this.#write('err', this.#paint('dim', visible(work.delta)), work.delta.endsWith('\n'));
    const begun = paramsOf(notification, itemStarted)?.item;
    if (begun?.type === 'commandExecution') this.note(`$ ${begun.command}`, 'bold');
    if (begun?.type === 'fileChange') this.#changes(begun);
    if (begun?.type === 'webSearch') this.note(`searches the web: ${begun.query}`, 'bold');
    if (begun?.type === 'imageView') this.note(`looks at ${begun.path}`, 'bold');
    if (begun?.type === 'mcpToolCall') this.#call(begun.server, begun);
    if (begun?.type === 'dynamicToolCall') this.#call(begun.namespace, begun);
    const steps = paramsOf(notification, turnPlanUpdated)?.plan ?? [];
    for (const { step, status } of steps) this.note(`${MARKS[status]} ${step}`);
    const done = paramsOf(notification, itemCompleted)?.item;
    if (done) this.#completed(done);
    const failure = paramsOf(notification, errorNotice);
    if (failure?.willRetry)
      this.note([failure.error.message, failure.error.additionalDetails].filter(Boolean).join(': '), 'yellow');
    const status = paramsOf(notification, threadStatusChanged)?.status;
    if (status?.type === 'active' && status.activeFlags.includes('waitingOnApproval'))
      this.#noteSoon('it waits for an approval that others may give', 'yellow');
    const said = paramsOf(notification, warning);
    if (said) this.note(`warning: ${said.message}`, 'yellow');
  }

  #call(of: string | null, { tool, arguments: given }: ItemOf<'mcpToolCall' | 'dynamicToolCall'>): void {
    this.note(`calls ${of === null ? '' : `${of}/`}${tool} ${JSON.stringify(given)}`, 'bold');
  }

  #changes({ changes }: ItemOf<'fileChange'>): void {
    for (const change of changes) {
      this.note(headOf(change), 'bold');
      for (const line of bodyOf(change)) this.note(line);
    }
  }

  /** Unless something else is printed meanwhile, such as the question itself. */
  #noteSoon(text: string, style: Style): void {
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => this.note(text, style), SOON_MS).unref();
  }

  #completed(item: Item): void {
    if (item.type === 'agentMessage') this.#endLine('out');
    if (item.type === 'reasoning') this.#endLine('err');
    if (item.type === 'fileChange' && item.status === 'declined') this.note('declined: nothing was changed', 'yellow');
    if (item.type === 'fileChange' && item.status === 'failed') this.note('the files could not be changed', 'yellow');
    if (item.type === 'mcpToolCall' && item.status === 'failed')
      this.note(`the call failed: ${item.error?.message ?? 'the tool says so'}`, 'yellow');
    if (item.type === 'dynamicToolCall' && item.status === 'failed') this.note('the call failed', 'yellow');
    if (item.type !== 'commandExecution') return;
    this.#endLine('err');
    if (item.status === 'declined') this.note('declined: it did not run', 'yellow');
    else if (item.exitCode !== null && item.exitCode !== 0) this.note(`exit code ${item.exitCode}`, 'yellow');
  }

  #line(to: keyof Streams, text: string): void {
    this.#endLine(to);
    this.#write(to, `${text}\n`, true);
  }

  #write(to: keyof Streams, text: string, endsLine = text.endsWith('\n')): void {
    if (text === '') return;
    clearTimeout(this.#soon);
    if (this.#isOneScreen && this.#openLine !== to) this.#endLine(this.#openLine);
    this.#streams[to].write(text);
    if (endsLine) this.#openLine = undefined;
    else this.#openLine = to;
  }

  #endLine(of: keyof Streams | undefined): void {
    if (of === undefined || this.#openLine === undefined) return;
    if (this.#openLine !== of && !this.#isOneScreen) return;
    this.#streams[this.#openLine].write('\n');
    this.#openLine = undefined;
  }
}
