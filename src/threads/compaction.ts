// Compaction as work of a turn: the model's view is replaced, what people see of the thread is not.

import type { Backend, TurnRequest } from '../agent/backend.ts';
import { instructionsOf } from '../agent/collaboration.ts';
import { compact } from '../agent/compaction.ts';
import { takesImages } from '../agent/modalities.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import type { ContextItem } from '../model/context.ts';
import type { ThreadEvent } from '../model/event.ts';
import { newId, type TurnId } from '../model/ids.ts';
import { contextCompaction, type ItemOf } from '../model/item.ts';
import { addUsage, type TokenUsage } from '../model/turn.ts';
import { type OwnWork, TurnFailed } from './own-work.ts';

export interface CompactionParts {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly context: () => Promise<readonly ContextItem[]>;
  /** Of the thread so far. */
  readonly usage: TokenUsage;
}

/** The item that stands for a compaction, and the work that completes it. */
export function compaction(turnId: TurnId, parts: CompactionParts): { events: ThreadEvent[]; work: OwnWork } {
  const item = contextCompaction(newId(), parts.clock.now());
  return {
    events: [{ type: 'itemStarted', turnId, item }],
    work: (port, signal) => replaceContext(item, port, parts, signal),
  };
}

async function replaceContext(
  item: ItemOf<'contextCompaction'>,
  port: TurnPort,
  { backend, clock, context, usage }: CompactionParts,
  signal: AbortSignal,
): Promise<readonly ContextItem[]> {
  const { turnId } = port;
  let total = usage;
  const tell = (event: ThreadEvent) => void port.append([event]).catch(() => {});
  const outcome = await compact(
    backend,
    await requestOf(port, { backend, clock }, await context()),
    {
      usage: (last, contextWindow) => {
        total = addUsage(total, last);
        tell({ type: 'usageReported', turnId, total, last, contextWindow });
      },
      retrying: (error) => tell({ type: 'errorReported', turnId, error, willRetry: true }),
    },
    signal,
  );
  if ('failed' in outcome) throw new TurnFailed(outcome.failed);
  // In one transaction: a view without what it replaces, and an item that says so, or neither.
  await port.append([
    { type: 'contextAdded', turnId, items: [...outcome.items], replaces: true },
    { type: 'itemCompleted', turnId, item: { ...item, completedAtMs: clock.now() } },
  ]);
  return [];
}

async function requestOf(
  port: TurnPort,
  { backend, clock }: Pick<CompactionParts, 'backend' | 'clock'>,
  context: readonly ContextItem[],
): Promise<TurnRequest> {
  // A summary is no plan, also while people plan.
  const settings = { ...port.settings(), collaborationMode: null };
  const instructions = instructionsOf(settings, { nowMs: clock.now() });
  const { threadId, turnId } = port;
  const isBlind = !(await takesImages(backend, settings));
  return { threadId, turnId, settings, instructions, context, isBlind, steering: NO_STEERING };
}

const NO_STEERING = { signal: new AbortController().signal, take: () => [] };
