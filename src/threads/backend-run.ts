// A turn's backend from its start to its end: its tools, and room in the model's view whenever that is full.

import type { Backend, ToolHost, TurnRequest } from '../agent/backend.ts';
import { instructionsOf } from '../agent/collaboration.ts';
import { runTurn, type TurnEnd, type TurnStop } from '../agent/loop.ts';
import { takesImages } from '../agent/modalities.ts';
import { createToolHost, type ThreadTools, type ToolParts } from '../agent/tools.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { onAbort } from '../base/signals.ts';
import type { ServerSet } from '../mcp/server-set.ts';
import type { EventOf } from '../model/event.ts';
import { type TurnError, turnError } from '../model/turn.ts';
import { compaction } from './compaction.ts';
import { TurnFailed } from './own-work.ts';
import type { SteeringBox } from './steering.ts';
import type { ThreadLog } from './thread-log.ts';

export interface BackendRun {
  readonly port: TurnPort;
  readonly thread: ThreadLog;
  readonly backend: Backend;
  readonly tools: ToolParts;
  readonly ofThread: ThreadTools;
  readonly steering: SteeringBox;
  readonly outputSchema?: unknown;
  /** Why nothing more may be asked or done, once that is so. */
  readonly spent: () => TurnError | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface BackendOutcome {
  readonly end: TurnEnd;
  /** All that its patches have changed. */
  readonly diff: EventOf<'turnDiffUpdated'> | undefined;
}

/** When it settles nothing of the backend and its tools is left. */
export async function runBackend(run: BackendRun, signal: AbortSignal): Promise<BackendOutcome> {
  const { port, backend, clock, log, thread, tools, ofThread, spent } = run;
  const missing = await missingServers(run, signal);
  if (missing) return { end: missing, diff: undefined };
  const { result, diff } = await withTools(port, { tools, ofThread }, signal, (host) => {
    const ask = async (room: TurnRequest['room']): Promise<TurnStop> => {
      const request = await requestOf(run, room);
      const { usage } = thread.accepted.meta;
      return runTurn({ port, backend, tools: host, request, usage, now: () => clock.now(), spent, log }, signal);
    };
    return untilDone(run, ask, signal);
  });
  if (result.status === 'interrupted') await ofThread.sessions.end([port.turnId]);
  return { end: result, diff };
}

/** How the turn ends for want of MCP servers that it needs; undefined: they are there. */
async function missingServers(
  { ofThread: { mcp }, thread }: BackendRun,
  signal: AbortSignal,
): Promise<TurnEnd | undefined> {
  try {
    // A call that people were asked about before a restart is made as soon as it is allowed.
    const questions = [...(thread.accepted.turn?.questions.values() ?? [])];
    const asked = questions.flatMap(({ proposal }) => (proposal.kind === 'mcpToolCall' ? [proposal.server] : []));
    await mcp?.settled(signal, asked);
    return undefined;
  } catch (error) {
    if (signal.aborted) return { status: 'interrupted' };
    if (!isAppError(error)) throw error;
    return { status: 'failed', error: turnError(error.message, 'other') };
  }
}

/** Gives a turn's work its tools, and ends whatever of them still runs when the work is over. */
export async function withTools<T>(
  port: TurnPort,
  { tools, ofThread }: { readonly tools: ToolParts; readonly ofThread: ThreadTools },
  signal: AbortSignal,
  work: (host: ToolHost) => Promise<T>,
): Promise<{ readonly result: T; readonly diff: EventOf<'turnDiffUpdated'> | undefined }> {
  const over = new AbortController();
  const free = onAbort(signal, () => {
    over.abort(signal.reason);
    // What earlier turns have left running goes on.
    void ofThread.sessions.end([port.turnId]);
  });
  const host = createToolHost(port, tools, ofThread, over.signal);
  let result: T;
  try {
    result = await work(host);
  } finally {
    // A turn may end while calls beside the one that ended it still run.
    free();
    over.abort('the turn is over');
    await host.settled();
  }
  return { result, diff: host.diff() };
}

/** What came too late for an answer is answered by a further one: the turn ends when nobody can have been told that it is taken. */
async function untilDone(
  run: BackendRun,
  ask: (room: TurnRequest['room']) => Promise<TurnStop>,
  signal: AbortSignal,
): Promise<TurnEnd> {
  for (;;) {
    const end = await untilAnswered(run, ask, signal);
    if (end.status !== 'completed' || !(await run.steering.hasMore())) return end;
    run.steering.take();
  }
}

/** Each round makes room at most once, and only after an answer that showed that the last time did help. */
async function untilAnswered(
  run: BackendRun,
  ask: (room: TurnRequest['room']) => Promise<TurnStop>,
  signal: AbortSignal,
): Promise<TurnEnd> {
  let stop: TurnStop = run.thread.accepted.view.isFull ? { status: 'contextFull' } : await ask('limited');
  while (stop.status === 'contextFull') {
    const failure = await makeRoom(run, signal);
    if (failure) return failure;
    stop = await ask('justMade');
  }
  return stop;
}

/** Replaces the model's view by a shorter one, as an item of the turn. */
async function makeRoom(run: BackendRun, signal: AbortSignal): Promise<TurnEnd | undefined> {
  const { port, thread, backend, clock, log } = run;
  const { usage } = thread.accepted.meta;
  const { events, work } = compaction(port.turnId, { backend, clock, context: () => thread.context(), usage });
  try {
    if (signal.aborted) return { status: 'interrupted' };
    await port.append(events);
    await work(port, signal, run.spent);
    return undefined;
  } catch (error) {
    if (signal.aborted || isAppError(error, 'cancelled')) return { status: 'interrupted' };
    if (error instanceof TurnFailed) return { status: 'failed', error: error.error };
    log.error(
      { err: error, threadId: port.threadId, turnId: port.turnId },
      'the view of a model could not be shortened',
    );
    return { status: 'failed', error: turnError('the conversation could not be summarised to make room', 'other') };
  }
}

const mcpOf = (mcp: ServerSet) => ({
  hasMcpResources: () => mcp.hasResources,
  mcpTools: () =>
    mcp.offered().map(({ name, server, tool }) => ({
      ...{ name, server, tool: tool.name, description: tool.description ?? '' },
      parameters: tool.inputSchema,
    })),
});

async function requestOf(run: BackendRun, room: TurnRequest['room']): Promise<TurnRequest> {
  const { port, thread, backend, tools, clock, steering, outputSchema, ofThread } = run;
  const settings = port.settings();
  return {
    threadId: port.threadId,
    turnId: port.turnId,
    get settings() {
      return port.settings();
    },
    instructions: instructionsOf(settings, { nowMs: clock.now(), shell: tools.environment.SHELL }),
    context: await thread.context(),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(room === undefined ? {} : { room }),
    contextTokens: thread.accepted.view.tokens,
    ...(ofThread.mcp ? mcpOf(ofThread.mcp) : {}),
    isBlind: !(await takesImages(backend, settings)),
    steering,
  };
}
