// A review as a turn of its own: a second look by the model, which reads and changes nothing.

import type { Backend, TurnRequest } from '../agent/backend.ts';
import { runTurn } from '../agent/loop.ts';
import { takesImages } from '../agent/modalities.ts';
import { hintOf, questionOf, quiet, REVIEW_INSTRUCTIONS, type ReviewTarget, reviewText } from '../agent/review.ts';
import { CommandSessions } from '../agent/sessions.ts';
import type { ToolParts } from '../agent/tools.ts';
import { Grants } from '../approvals/grants.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { cancelledBy } from '../base/signals.ts';
import type { ThreadEvent } from '../model/event.ts';
import { newId, type TurnId } from '../model/ids.ts';
import { agentMessage, type Item, reviewMode, userMessage } from '../model/item.ts';
import { readingOnly as withoutWriting } from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { TokenUsage, TurnError } from '../model/turn.ts';
import { withTools } from './backend-run.ts';
import { type OwnTurn, TurnFailed } from './own-work.ts';

export interface ReviewParts {
  readonly backend: Backend;
  readonly tools: ToolParts;
  readonly clock: Clock;
  readonly log: Log;
  /** Which model reviews; null: that of the thread. */
  readonly model: string | null;
  /** Of the thread so far. */
  readonly usage: TokenUsage;
}

/** Shown from its first event to its last; however it ends, clients are told that the review is over. */
export function review(turnId: TurnId, target: ReviewTarget, parts: ReviewParts): OwnTurn {
  const atMs = parts.clock.now();
  const text = hintOf(target);
  const content = [{ type: 'text' as const, text, text_elements: [] }];
  return {
    kind: 'review',
    events: [
      ...whole(turnId, reviewMode('enteredReviewMode', newId(), text, atMs), atMs),
      ...whole(turnId, userMessage(newId(), content, null, atMs), atMs),
    ],
    work: async (port, signal, spent) => {
      const words = await lookedAt(target, port, parts, spent, signal);
      await port.append(closing(turnId, text, reviewText(words), parts.clock.now()));
      return [];
    },
  };
}

const whole = (turnId: TurnId, item: Item, completedAtMs: number): ThreadEvent[] => [
  { type: 'itemStarted', turnId, item },
  { type: 'itemCompleted', turnId, item: { ...item, completedAtMs } },
];

/** The reviewer's own words. */
async function lookedAt(
  target: ReviewTarget,
  turn: TurnPort,
  { backend, tools, clock, log, usage, model }: ReviewParts,
  spent: () => TurnError | undefined,
  signal: AbortSignal,
): Promise<string> {
  // What was granted to the thread was not granted to its reviewers.
  const port = { ...turn, settings: () => readingOnly(turn.settings(), model), grants: new Grants() };
  const reviewer = quiet(backend);
  const request = { ...requestOf(target, port), isBlind: !(await takesImages(backend, port.settings())) };
  // Nobody else knows of what the reviewer runs.
  const sessions = new CommandSessions();
  const { result: end } = await withTools(port, { tools, ofThread: { sessions } }, signal, (host) =>
    runTurn(
      { port, backend: reviewer.backend, tools: host, request, usage, now: () => clock.now(), spent, log },
      signal,
    ),
  ).finally(() => sessions.close());
  if (end.status === 'failed') throw new TurnFailed(end.error);
  if (end.status !== 'completed') throw cancelledBy(signal);
  return reviewer.words();
}

/** Nobody is asked and no client is called, so that nothing can happen that changes what is reviewed. */
const readingOnly = (settings: ThreadSettings, model: string | null): ThreadSettings => ({
  ...settings,
  model: model ?? settings.model,
  approvalPolicy: 'never',
  sandboxPolicy: withoutWriting(settings.sandboxPolicy),
  permissionProfile: null,
  collaborationMode: null,
  dynamicTools: [],
});

function requestOf(target: ReviewTarget, port: TurnPort): TurnRequest {
  const text = questionOf(target);
  return {
    threadId: port.threadId,
    turnId: port.turnId,
    settings: port.settings(),
    instructions: REVIEW_INSTRUCTIONS,
    context: [{ type: 'user', content: [{ type: 'text', text, text_elements: [] }] }],
    steering: { signal: new AbortController().signal, take: () => [] },
  };
}

/** What people see of its end, and what the next turn's model is told of it. */
function closing(turnId: TurnId, hint: string, text: string, atMs: number): ThreadEvent[] {
  const message = { ...agentMessage(`msg_${newId()}`, null, atMs), text };
  const note = `A reviewer was asked to look at: ${hint}. What follows is its review.`;
  return [
    ...whole(turnId, reviewMode('exitedReviewMode', newId(), text, atMs), atMs),
    ...whole(turnId, message, atMs),
    {
      type: 'contextAdded',
      turnId,
      items: [
        { type: 'note', text: note },
        { type: 'assistant', id: message.id, text, phase: null },
      ],
    },
  ];
}
