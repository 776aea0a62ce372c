// Listening again to a thread, behind the last event that was told of it, or with a gap where that is no longer possible.

import type { Params } from '../rpc/declare.ts';
import { threadResume } from '../threads/thread-methods.ts';
import type { Client } from './client.ts';
import { isStaleCursor } from './errors.ts';
import type { Gap } from './news.ts';
import type { OverloadGate } from './overload.ts';
import type { RequestResult } from './typed.ts';

export interface ResumeParts {
  readonly gate: OverloadGate;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called before anything behind the gap is read. */
  readonly gap: (gap: Gap) => void;
}

/** `seq` undefined: it is not known where the thread stood. Rejects as the server does, except for a stale cursor. */
export async function resumeBehind(
  client: Client,
  threadId: string,
  seq: number | undefined,
  parts: ResumeParts,
): Promise<void> {
  if (seq === undefined) return resumeAnew(client, threadId, undefined, parts);
  try {
    await resume(client, { threadId, excludeTurns: true, afterEventSeq: seq }, parts);
  } catch (error) {
    if (!isStaleCursor(error)) throw error;
    await resumeAnew(client, threadId, seq, parts);
  }
}

/** What came in between is not told; that it is missing is. */
function resumeAnew(client: Client, threadId: string, after: number | undefined, parts: ResumeParts): Promise<void> {
  return resume(client, { threadId }, parts, ({ thread, headSeq }) => parts.gap({ threadId, after, headSeq, thread }));
}

async function resume(
  client: Client,
  params: Params<typeof threadResume>,
  { gate, signal, timeoutMs }: ResumeParts,
  answered: (result: RequestResult<'thread/resume'>) => void = () => {},
): Promise<void> {
  await gate.run(() => client.request(threadResume, params, { signal, timeoutMs, answered }), signal);
}
