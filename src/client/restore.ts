// After a cut: listens again to every thread that was listened to, behind the last event that was told of it.

import { AppError } from '../base/errors.ts';
import type { Params } from '../rpc/declare.ts';
import { threadResume } from '../threads/thread-methods.ts';
import type { Client } from './client.ts';
import { isCut, isOverload, isStaleCursor, RequestError } from './errors.ts';
import type { Gap } from './news.ts';
import type { OverloadGate } from './overload.ts';
import type { Places } from './places.ts';

export interface RestoreParts {
  readonly places: Places;
  readonly gate: OverloadGate;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly gap: (gap: Gap) => void;
  readonly lost: (threadId: string, error: RequestError) => void;
}

/** Rejects when the connection ends meanwhile, or the server stays overloaded. */
export async function restoreThreads(client: Client, parts: RestoreParts): Promise<void> {
  for (const { threadId, seq } of parts.places.all())
    try {
      if (seq === undefined) await resumeAnew(client, threadId, undefined, parts);
      else await resumeBehind(client, threadId, seq, parts);
    } catch (error) {
      if (!(error instanceof AppError) || isCut(error) || isOverload(error) || parts.signal.aborted) throw error;
      parts.lost(threadId, new RequestError(error));
    }
}

async function resumeBehind(client: Client, threadId: string, seq: number, parts: RestoreParts): Promise<void> {
  try {
    await resume(client, { threadId, excludeTurns: true, afterEventSeq: seq }, parts);
  } catch (error) {
    if (!isStaleCursor(error)) throw error;
    await resumeAnew(client, threadId, seq, parts);
  }
}

/** What came in between is not told; that it is missing is. */
function resumeAnew(client: Client, threadId: string, after: number | undefined, parts: RestoreParts): Promise<void> {
  return resume(client, { threadId }, parts, ({ thread, headSeq }) => {
    parts.places.listening(threadId, headSeq);
    parts.gap({ threadId, after, headSeq, thread });
  });
}

type Resumed = Awaited<ReturnType<typeof resumed>>;
const resumed = (client: Client, params: Params<typeof threadResume>) => client.request(threadResume, params);

async function resume(
  client: Client,
  params: Params<typeof threadResume>,
  { gate, signal, timeoutMs }: RestoreParts,
  answered: (result: Resumed) => void = () => {},
): Promise<void> {
  await gate.run(() => client.request(threadResume, params, { signal, timeoutMs, answered }), signal);
}
