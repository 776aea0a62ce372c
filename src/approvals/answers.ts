// What an answer of a client means: a decision within what was asked, or why it is none.

import type { z } from 'zod';
import {
  type Consent,
  type Decision,
  type ElicitationDecision,
  McpConsent,
  type PermissionGrant,
  type Proposal,
  type ProposalOf,
  type UserAnswers,
} from '../model/approval.ts';
import type { ElicitationContent } from '../model/elicitation.ts';
import { readContent } from './form.ts';
import { availableDecisions, canBeRemembered } from './questions.ts';
import { commandApproval, ElicitationAnswer, fileChangeApproval, userInputRequest, WireGrant } from './requests.ts';

export type ReadAnswer<D = Decision> =
  /** `leftOut`: what it said beyond the question, which does not count. `content`: for who asked alone. */
  | { readonly decision: D; readonly leftOut?: string; readonly content?: ElicitationContent }
  | { readonly problem: string };

/** What a client sent back, as its response has it. */
export interface RawAnswer {
  readonly result?: unknown;
  readonly error?: unknown;
}

export function readAnswer(proposal: Proposal, answer: RawAnswer): ReadAnswer {
  if (answer.error !== undefined) return { problem: 'the client answered with an error' };
  switch (proposal.kind) {
    case 'command':
    case 'terminalInput':
    case 'fileChange':
      return readConsent(proposal, answer.result);
    case 'permissions':
      return readGrant(proposal, answer.result);
    case 'userInput':
      return readUserAnswers(proposal, answer.result);
    case 'mcpToolCall':
      return readToolConsent(proposal, answer.result);
    case 'elicitation':
      return readElicited(proposal, answer.result);
  }
}

function readConsent(
  proposal: ProposalOf<'command' | 'terminalInput' | 'fileChange'>,
  result: unknown,
): ReadAnswer<Consent> {
  const asked = proposal.kind === 'fileChange' ? fileChangeApproval : commandApproval;
  const parsed = asked.result().safeParse(result);
  if (!parsed.success) return { problem: 'the answer does not have the shape {"decision": one of availableDecisions}' };
  const { decision } = parsed.data;
  const offered = availableDecisions(proposal, { mayRemember: true }) ?? [];
  const isOffered = offered.some((each) => JSON.stringify(each) === JSON.stringify(decision));
  return isOffered
    ? { decision }
    : { problem: `the decision ${JSON.stringify(decision).slice(0, 200)} was not offered` };
}

/** Never more than was asked: what goes beyond it is left out, and named. */
function readGrant({ permissions: asked }: ProposalOf<'permissions'>, result: unknown): ReadAnswer<PermissionGrant> {
  const parsed = WireGrant().safeParse(result);
  if (!parsed.success) return { problem: 'the answer does not have the shape {"permissions", "scope"}' };
  const { permissions, scope, strictAutoReview } = parsed.data;
  if (strictAutoReview) return { problem: 'strictAutoReview is not supported: commands are approved by people' };
  const given = granted(permissions);
  if (given.denies) return { problem: 'a grant that leaves a part of it out cannot be held' };
  const within = (paths: readonly string[], most: readonly string[]) => most.filter((path) => paths.includes(path));
  const decision = {
    permissions: {
      network: given.network && asked.network,
      read: within(given.read, [...asked.read, ...asked.write.filter((path) => !asked.read.includes(path))]),
      write: within(given.write, asked.write),
    },
    scope,
  };
  const counted = [...decision.permissions.read, ...decision.permissions.write];
  const beyond = [
    ...given.other,
    ...[...given.read, ...given.write].filter((path) => !counted.includes(path)),
    ...(given.network && !asked.network ? ['the network'] : []),
  ];
  return beyond.length === 0 ? { decision } : { decision, leftOut: [...new Set(beyond)].join(', ').slice(0, 1_000) };
}

function granted({ network, fileSystem }: z.output<ReturnType<typeof WireGrant>>['permissions']) {
  const entries = fileSystem?.entries ?? [];
  const paths = (access: 'read' | 'write') =>
    entries.flatMap(({ path, ...entry }) => (path.type === 'path' && entry.access === access ? [path.path] : []));
  const other = entries.filter(({ path }) => path.type !== 'path');
  return {
    network: network?.enabled === true,
    denies: entries.some(({ access }) => access === 'deny'),
    read: [...(fileSystem?.read ?? []), ...paths('read')],
    write: [...(fileSystem?.write ?? []), ...paths('write')],
    other: other.map(({ path }) => JSON.stringify(path)),
  };
}

function readUserAnswers({ questions }: ProposalOf<'userInput'>, result: unknown): ReadAnswer<UserAnswers> {
  const parsed = userInputRequest.result().safeParse(result);
  if (!parsed.success) return { problem: 'the answer does not have the shape {"answers": {id: {"answers": [text]}}}' };
  const given = Object.entries(parsed.data.answers);
  const asked = new Set(questions.map(({ id }) => id));
  const answers = Object.fromEntries(given.filter(([id]) => asked.has(id)));
  const beyond = given.flatMap(([id]) => (asked.has(id) ? [] : [id]));
  return beyond.length === 0
    ? { decision: { answers } }
    : { decision: { answers }, leftOut: beyond.join(', ').slice(0, 1_000) };
}

/** In the form of an elicitation; from elsewhere than the connection also as the decision itself. */
function readToolConsent(proposal: ProposalOf<'mcpToolCall'>, result: unknown): ReadAnswer<McpConsent> {
  const decision = toolDecision(result);
  if (decision === undefined)
    return { problem: 'the answer does not have the shape {"action": accept, decline or cancel}' };
  const beyond = 'to remember it in a way that was not offered';
  if (decision === 'unknown') return { decision: 'accept', leftOut: beyond };
  return decision === 'acceptAlways' && !canBeRemembered(proposal)
    ? { decision: 'acceptForSession', leftOut: beyond }
    : { decision };
}

function readElicited({ question }: ProposalOf<'elicitation'>, result: unknown): ReadAnswer<ElicitationDecision> {
  const parsed = ElicitationAnswer().safeParse(result);
  if (!parsed.success)
    return { problem: 'the answer does not have the shape {"action": accept, decline or cancel, "content"}' };
  const { action, content } = parsed.data;
  if (action !== 'accept' || question.mode === 'url') return { decision: { action } };
  const read = readContent(question.requestedSchema, content ?? {});
  if ('problem' in read) return read;
  const answer = { decision: { action, fields: Object.keys(read.content) }, content: read.content };
  return read.leftOut.length === 0 ? answer : { ...answer, leftOut: read.leftOut.join(', ').slice(0, 1_000) };
}

function toolDecision(result: unknown): McpConsent | 'unknown' | undefined {
  const plain = McpConsent().safeParse((result as { readonly decision?: unknown } | null | undefined)?.decision);
  if (plain.success) return plain.data;
  const parsed = ElicitationAnswer().safeParse(result);
  if (!parsed.success) return undefined;
  const { action, _meta } = parsed.data;
  if (action !== 'accept' || _meta?.persist === undefined || _meta.persist === null) return action;
  if (_meta.persist === 'session') return 'acceptForSession';
  return _meta.persist === 'always' ? 'acceptAlways' : 'unknown';
}
