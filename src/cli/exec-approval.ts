// How `heddle exec` answers when something needs approval: a person at the terminal decides, or nobody is there and it is no.

import {
  commandApproval,
  elicitationRequest,
  fileChangeApproval,
  permissionsApproval,
  userInputRequest,
} from '../approvals/requests.ts';
import { throwIfAborted } from '../base/signals.ts';
import type { Answer } from '../client/questions.ts';
import type { Result } from '../rpc/declare.ts';
import { choicesOf, choiceTyped, type Decision, promptOf } from './choices.ts';
import type { ExecOutput } from './exec-output.ts';
import { fillIn } from './form-asking.ts';
import { elicitationAnswerOf, grantOf, type Question, questionOf } from './questions.ts';
import { visible } from './terminal.ts';
import type { Asking } from './terminal-asking.ts';

export interface Approvals {
  readonly answers: Readonly<Record<string, Answer>>;
  /** Whether anything was refused. */
  readonly hasRefused: () => boolean;
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
  /** Rejects as `work` does. What has lapsed while it waited is not shown any more. */
  const queued = <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const last = before;
    const show = async (): Promise<T> => {
      await last;
      throwIfAborted(signal);
      await asking?.dropTyped();
      throwIfAborted(signal);
      return work().catch((error: unknown) => {
        if (signal.aborted)
          output.note('this is not asked any more: it was answered elsewhere, or has lapsed', 'yellow');
        throw error;
      });
    };
    const turn = asking ? asking.apart(show) : show();
    before = turn.catch(() => {});
    return turn;
  };
  const noted = <T>(said: T, decision: unknown, signal: AbortSignal): T => {
    if (!signal.aborted && (decision === 'decline' || decision === 'cancel')) hasRefused = true;
    return said;
  };
  const answer = async (question: Question, signal: AbortSignal): Promise<Decision> => {
    const decision = await queued(() => decide(question, signal), signal).catch((): Decision => 'decline');
    return noted(decision, decision, signal);
  };
  const elicited: Answer = async (params, signal) => {
    const question = questionOf(elicitationRequest.method, params);
    const said = await queued(async () => {
      const decision = await decide(question, signal);
      const isFilledIn = decision === 'accept' && question.form && asking;
      return isFilledIn ? fillIn(question.form, asking, output, signal) : elicitationAnswerOf(decision);
    }, signal).catch(() => elicitationAnswerOf('decline'));
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
  const inWords: Answer = (params, signal) => queued(() => askInWords(params, asking, output, signal), signal);
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
