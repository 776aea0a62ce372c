// One question while it stands: who was asked, and how it ends.

import { type Deferred, deferred } from '../base/signals.ts';
import type { Proposal, Resolution } from '../model/approval.ts';
import type { ElicitationContent } from '../model/elicitation.ts';

/** How a question ends, and what people should know about that. */
export interface End {
  readonly resolution: Resolution;
  readonly warning?: string;
  /** What was filled in, for who asked alone. */
  readonly content?: ElicitationContent | undefined;
}

export interface Standing {
  readonly proposal: Proposal;
  readonly requestId: number;
  /** The first one that counts; it is not stored yet. */
  end: End | undefined;
  readonly ended: Deferred<End>;
  /** The end is stored. */
  readonly stored: Deferred<Resolution>;
  /** Connections that were asked, are there, and have not given an unclear answer; what frees each. */
  readonly asked: Map<string, () => void>;
  /** Its end was stored with the end of what it belonged to. */
  isDismissed: boolean;
  /** What an unclear answer comes to when nobody else is left to give one. */
  unclear: End | undefined;
}

/** One that nobody has been asked yet. */
export function newStanding(proposal: Proposal, requestId: number): Standing {
  const standing: Standing = {
    ...{ proposal, requestId },
    end: undefined,
    ended: deferred<End>(),
    stored: deferred<Resolution>(),
    asked: new Map(),
    isDismissed: false,
    unclear: undefined,
  };
  // Who asked for it may be gone.
  standing.stored.promise.catch(() => {});
  return standing;
}

/** This connection can give no answer any more; whether it could. */
export function free(standing: Standing, connection: string): boolean {
  standing.asked.get(connection)?.();
  return standing.asked.delete(connection);
}

/** An unclear answer is a refusal, unless others may still give one that counts. Gives whether it is. */
export function endUnclear(standing: Standing): boolean {
  if (!standing.unclear || standing.asked.size > 0) return false;
  return settle(standing, standing.unclear);
}

/** Whether this end is the one that counts. */
export function settle(standing: Standing, end: End): boolean {
  if (standing.end) return false;
  standing.end = end;
  standing.ended.resolve(end);
  return true;
}
