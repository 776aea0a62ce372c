// How `heddle exec` answers when something needs approval: a person at the terminal decides, or nobody is there and it is no.

import { createInterface } from 'node:readline/promises';
import {
  commandApproval,
  elicitationRequest,
  fileChangeApproval,
  permissionsApproval,
  userInputRequest,
} from '../approvals/requests.ts';
import type { Answer } from '../client/questions.ts';
import type { Result } from '../rpc/declare.ts';
import { choicesOf, choiceTyped, type Decision, promptOf } from './choices.ts';
import type { ExecOutput } from './exec-output.ts';
import { fillIn } from './form-asking.ts';
import { elicitationAnswerOf, grantOf, type Question, questionOf } from './questions.ts';
import { visible } from './terminal.ts';

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
    output.note(`declined, because nobody is here to ask: ${question.about}`, 'yellow');
    return 'decline';
  };
  const inTurn = <T>(work: () => Promise<T>, otherwise: T): Promise<T> => {
    const turn = before.then(work).catch(() => otherwise);
    before = turn;
    return turn;
  };
  const noted = <T>(said: T, decision: unknown, signal: AbortSignal): T => {
    if (!signal.aborted && (decision === 'decline' || decision === 'cancel')) hasRefused = true;
    return said;
  };
  const answer = async (question: Question, signal: AbortSignal): Promise<Decision> => {
    const decision = await inTurn<Decision>(() => decide(question, signal), 'decline');
    return noted(decision, decision, signal);
  };
  const elicited: Answer = async (params, signal) => {
    const question = questionOf(elicitationRequest.method, params);
    const said = await inTurn(async () => {
      const decision = await decide(question, signal);
      const isFilledIn = decision === 'accept' && question.form && asking;
      return isFilledIn ? fillIn(question.form, asking, output, signal) : elicitationAnswerOf(decision);
    }, elicitationAnswerOf('decline'));
    return noted(said, said.action, signal);
  };
  const consent =
    (method: string): Answer =>
    async (params, signal) => ({ decision: await answer(questionOf(method, params), signal) });
  const answers: Readonly<Record<string, Answer>> = {
    [commandApproval.method]: consent(commandApproval.method),
    [fileChangeApproval.method]: consent(fileChangeApproval.method),
    [permissionsApproval.method]: async (params, signal) =>
      grantOf(params, await answer(questionOf(permissionsApproval.method, params), signal)),
    [elicitationRequest.method]: elicited,
  };
  if (asking === undefined) return { answers, hasRefused: () => hasRefused };
  const inWords: Answer = async (params, signal) => {
    const turn = before.then(() => askInWords(params, asking, output, signal));
    before = turn.catch(() => {});
    return turn;
  };
  return { answers: { ...answers, [userInputRequest.method]: inWords }, hasRefused: () => hasRefused };
}

/** What nobody answers, the client refuses. An empty line is no answer. */
async function askInWords(
  params: unknown,
  asking: Asking,
  output: ExecOutput,
  signal: AbortSignal,
): Promise<Result<typeof userInputRequest>> {
  for (const line of questionOf(userInputRequest.method, params).lines(asking.width)) output.note(line, 'yellow');
  const answers: Record<string, { answers: string[] }> = {};
  for (const { id } of userInputRequest.params().parse(params).questions) {
    const typed = (await asking.prompt(`${visible(id)}: `, signal)).trim();
    if (typed !== '') answers[id] = { answers: [typed] };
  }
  return { answers };
}

async function ask(question: Question, asking: Asking, output: ExecOutput, signal: AbortSignal): Promise<Decision> {
  for (const line of question.lines(asking.width)) output.note(line, 'yellow');
  const choices = choicesOf(question);
  const prompt = promptOf(choices, asking);
  for (;;) {
    const chosen = choiceTyped(choices, await asking.prompt(prompt, signal));
    if (chosen) return chosen.decision;
  }
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
