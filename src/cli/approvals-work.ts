// Lists questions that stand, and answers one, over the running server.

import { text } from 'node:stream/consumers';
import { fieldsOf } from '../approvals/form.ts';
import { approvalPending, approvalResolve } from '../approvals/methods.ts';
import { permissionsApproval, userInputRequest } from '../approvals/requests.ts';
import { AppError } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { Result } from '../rpc/declare.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { filledIn } from './form-typed.ts';
import { grantOf, type Question, questionOf } from './questions.ts';
import { type ServerChoice, withServer } from './running-server.ts';
import { folded, roomOf, visible, WIDEST } from './terminal.ts';

type Pending = Result<typeof approvalPending>['data'][number];

/** Prints to standard output. */
export function listApprovals(
  options: ServerChoice & { readonly thread: string | undefined; readonly json: boolean },
): Promise<ExitCode> {
  return withServer(options, async (client) => {
    let count = 0;
    for await (const pending of everyPending(client, options.thread)) {
      count += 1;
      process.stdout.write(options.json ? `${JSON.stringify(pending)}\n` : `${linesOf(pending).join('\n')}\n\n`);
    }
    if (count === 0 && !options.json) process.stdout.write('nothing waits for an answer\n');
    return EXIT.done;
  });
}

export interface TypedAnswer {
  readonly id: string;
  readonly decision: string | undefined;
  /** `id=answer` each. */
  readonly said: readonly string[];
  /** What is filled into a form, as JSON; `-`: standard input has it. */
  readonly content?: string | undefined;
}

/** Says on standard output what was answered. Rejects as *invalid* when the decision does not fit the question. */
export function answerApproval(options: ServerChoice & TypedAnswer): Promise<ExitCode> {
  return withServer(options, async (client) => {
    const pending = await find(client, options.id);
    const content = options.content === '-' ? await text(process.stdin) : options.content;
    const decision = decisionOf(pending, { ...options, content });
    await client.request(approvalResolve, { approvalId: pending.approvalId, nonce: pending.nonce, decision });
    process.stdout.write(`answered: ${visible(questionOf(pending.method, pending.params).about)}\n`);
    return EXIT.done;
  });
}

async function* everyPending(client: Client, threadId?: string): AsyncGenerator<Pending> {
  let cursor: string | null = null;
  do {
    const page: Result<typeof approvalPending> = await client.request(approvalPending, { cursor, threadId });
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

async function find(client: Client, id: string): Promise<Pending> {
  for await (const pending of everyPending(client)) if (pending.approvalId === id) return pending;
  throw new AppError('notFound', `no question ${id} stands; \`heddle approvals list\` shows those that do`);
}

function decisionOf(pending: Pending, typed: TypedAnswer): string | Record<string, unknown> {
  const { decision, said } = typed;
  const { form } = questionOf(pending.method, pending.params);
  if (form && pending.kind === 'elicitation') return filledIn(form, typed);
  if (typed.content !== undefined) throw new AppError('invalid', '`--content` is for questions with a form');
  if (pending.method === userInputRequest.method) return answersOf(decision, said);
  if (said.length > 0) throw new AppError('invalid', '`--say` is for questions in words; type a decision');
  const offered = decisionsOf(pending);
  if (decision === undefined || !offered.has(decision))
    throw new AppError('invalid', `type one of these decisions: ${[...offered.keys()].join(', ')}`);
  if (pending.method === permissionsApproval.method) return { ...grantOf(pending.params, decision) };
  return offered.get(decision) ?? decision;
}

/** What can be typed behind the id of a question with these decisions. */
export function waysToAnswer(
  method: string,
  { availableDecisions, form }: Pick<Question, 'availableDecisions' | 'form'>,
): readonly string[] {
  const [field] = form ? fieldsOf(form) : [];
  if (field) return ['accept --say field=answer', 'accept --content JSON', 'decline', 'cancel'];
  return method === userInputRequest.method
    ? ['--say id=answer', 'decline']
    : [...typedDecisions(availableDecisions).keys()];
}

const decisionsOf = ({ method, params, availableDecisions }: Pending) =>
  typedDecisions(availableDecisions ?? questionOf(method, params).availableDecisions);

/** What can be typed, and what it stands for. */
function typedDecisions(offered: readonly unknown[]): ReadonlyMap<string, string | Record<string, unknown>> {
  const typed: [string, string | Record<string, unknown>][] = [];
  for (const each of offered) {
    if (each === 'acceptAlways') typed.push(['always', each]);
    else if (typeof each === 'string') typed.push([each, each]);
    else if (typeof each === 'object' && each !== null) typed.push(['always', { ...each }]);
  }
  return new Map(typed);
}

/** `decline` answers nothing. */
function answersOf(decision: string | undefined, said: readonly string[]): Record<string, unknown> {
  if (decision === 'decline' && said.length === 0) return { answers: {} };
  if (decision !== undefined || said.length === 0)
    throw new AppError('invalid', 'this question is answered in words: `--say id=answer`, or `decline`');
  const answers: Record<string, { answers: string[] }> = {};
  for (const each of said) {
    const at = each.indexOf('=');
    if (at < 1) throw new AppError('invalid', `\`--say ${each}\` has no \`=\`; type \`--say id=answer\``);
    const known = answers[each.slice(0, at)]?.answers ?? [];
    answers[each.slice(0, at)] = { answers: [...known, each.slice(at + 1)] };
  }
  return { answers };
}

function linesOf(pending: Pending): readonly string[] {
  const question = questionOf(pending.method, pending.params);
  const width = Math.min(roomOf(process.stdout), WIDEST);
  const [, ...lines] = question.lines(width - 2);
  const offered = { ...question, availableDecisions: pending.availableDecisions ?? question.availableDecisions };
  const until = new Date(pending.expiresAt * 1000).toISOString();
  return [
    ...folded(`${pending.approvalId} of thread ${pending.threadId}, until ${until}`, width),
    ...lines.map((line) => `  ${line}`),
    ...folded(`answers: ${waysToAnswer(pending.method, offered).join(', ')}`, width - 2).map((line) => `  ${line}`),
  ];
}
