// How `heddle exec` answers when a command needs approval: a person at the terminal decides, or nobody is there and it is no.

import { createInterface } from 'node:readline/promises';
import { commandApproval } from '../approvals/requests.ts';
import type { Answer } from '../client/client.ts';
import type { Params, Result } from '../rpc/declare.ts';
import type { ExecOutput } from './exec-output.ts';
import { folded, visible } from './terminal.ts';

type Decision = Result<typeof commandApproval>['decision'];
type Question = Params<typeof commandApproval>;

export interface Approvals {
  readonly answers: Readonly<Record<string, Answer>>;
  /** Whether anything was refused. */
  readonly hasRefused: () => boolean;
}

export interface Asking {
  /** Resolves with what the person typed; rejects when nothing more will be typed, or on abort. */
  prompt(text: string, signal: AbortSignal): Promise<string>;
  /** Of the terminal, in characters. */
  readonly width: number;
}

/** `asking` undefined: every question is declined. Questions are asked one after the other. */
export function createApprovals(output: ExecOutput, asking: Asking | undefined): Approvals {
  let hasRefused = false;
  let before: Promise<unknown> = Promise.resolve();
  const decide = async (question: Question, signal: AbortSignal): Promise<Decision> => {
    if (asking) return ask(question, asking, output, signal);
    output.note(`declined, because nobody is here to ask: ${question.command}`, 'yellow');
    return 'decline';
  };
  const answer: Answer = async (params, signal) => {
    const question = commandApproval.params().parse(params);
    const turn = before.then(() => decide(question, signal)).catch((): Decision => 'decline');
    before = turn;
    const decision = await turn;
    if (!signal.aborted && (decision === 'decline' || decision === 'cancel')) hasRefused = true;
    return { decision };
  };
  return { answers: { [commandApproval.method]: answer }, hasRefused: () => hasRefused };
}

const CHOICES: readonly { readonly key: string; readonly decision: Decision; readonly label: string }[] = [
  { key: 'y', decision: 'accept', label: '[y]es' },
  { key: 's', decision: 'acceptForSession', label: 'yes for this [s]ession' },
  { key: 'n', decision: 'decline', label: '[n]o' },
  { key: 'c', decision: 'cancel', label: 'no, and [c]ancel the turn' },
];

async function ask(question: Question, asking: Asking, output: ExecOutput, signal: AbortSignal): Promise<Decision> {
  for (const line of linesOf(question, asking.width)) output.note(line, 'yellow');
  const offered = CHOICES.filter(({ decision }) => question.availableDecisions.includes(decision));
  const prompt = folded(`${offered.map(({ label }) => label).join(', ')}? `, asking.width).join('\n');
  for (;;) {
    const typed = (await asking.prompt(prompt, signal)).trim().toLowerCase();
    const chosen = offered.find(
      ({ key }) => key === typed || (typed === 'yes' && key === 'y') || (typed === 'no' && key === 'n'),
    );
    if (chosen) return chosen.decision;
  }
}

/** The command is shown whole: what is not seen cannot be approved. */
function linesOf({ command, cwd, reason, heddle }: Question, width: number): readonly string[] {
  const how: Readonly<Record<typeof heddle.sandbox, string>> = {
    sandboxed: 'It would run inside the sandbox.',
    bare: 'It would run OUTSIDE the sandbox.',
    unavailable: 'This host has no sandbox: it would run WITHOUT one.',
  };
  return [
    '',
    'A command needs your approval:',
    ...folded(visible(command), width - 4).map((line) => `    ${line}`),
    ...folded(`in ${visible(cwd)}`, width),
    ...(reason ? folded(`because: ${visible(reason)}`, width) : []),
    ...folded(how[heddle.sandbox], width),
  ];
}

const DEFAULT_WIDTH = 80;
const NARROWEST = 20;

/** The terminal of this process, or undefined where there is none to ask on. Ctrl-C there is Ctrl-C to the process. */
export function terminalAsking(): Asking | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return {
    get width() {
      return Math.max(NARROWEST, Math.min(process.stderr.columns || DEFAULT_WIDTH, DEFAULT_WIDTH));
    },
    async prompt(text, signal) {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      const over = new AbortController();
      lines.once('close', () => over.abort());
      lines.on('SIGINT', () => process.emit('SIGINT'));
      try {
        return await lines.question(text, { signal: AbortSignal.any([signal, over.signal]) });
      } finally {
        lines.close();
      }
    },
  };
}
